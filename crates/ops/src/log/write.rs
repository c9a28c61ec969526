//! Prints calls, so that tests read them back.

use std::fmt::{self, Write as _};

use super::{Call, LogGen, LogTensor, Value};

/// Prints calls as a log: a line per op where it changes, a line per call.
pub(super) fn write_log(calls: &[Call]) -> String {
    let mut text = String::new();
    let mut operator = None;
    for call in calls {
        let name = call.full_name();
        if operator.as_ref() != Some(&name) {
            writeln!(text, "Operator: {name}").expect("a string grows");
        }
        operator = Some(name);
        writeln!(text, "{}", Counted(call)).expect("a string grows");
    }
    text
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.full_name(), Counted(self))
    }
}

/// A call without its name.
struct Counted<'a>(&'a Call);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { count, args, kwargs, .. } = self.0;
        write!(f, "cnt: {count}, ((")?;
        separated(f, args, |f, value| write!(f, "{value}"))?;
        // A tuple of one value ends with a comma, as Python's does.
        write!(f, "{}), {{", if args.len() == 1 { "," } else { "" })?;
        separated(f, kwargs, |f, (name, value)| write!(f, "'{name}': {value}"))?;
        f.write_str("})")
    }
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    item: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, value) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        item(f, value)?;
    }
    Ok(())
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(tensor) => write!(f, "{tensor}"),
            Self::List(values) => {
                f.write_str("[")?;
                separated(f, values, |f, value| write!(f, "{value}"))?;
                f.write_str("]")
            }
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) if value.is_nan() => f.write_str("nan"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::None => f.write_str("None"),
            Self::DType(dtype) => write!(f, "{dtype}"),
            Self::Str(text) => quoted(f, text),
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for character in text.chars() {
        match character {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\\' => f.write_str("\\\\")?,
            _ if character == quote => write!(f, "\\{quote}")?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char(quote)
}

impl fmt::Display for LogTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("T([")?;
        separated(f, &self.shape, |f, extent| write!(f, "{extent}"))?;
        write!(f, "], {}", self.dtype)?;
        if let Some(stride) = &self.stride {
            f.write_str(", stride=(")?;
            separated(f, stride, |f, stride| write!(f, "{stride}"))?;
            f.write_str(if stride.len() == 1 { ",)" } else { ")" })?;
        }
        if self.offset > 0 {
            write!(f, ", offset={}", self.offset)?;
        }
        match self.generator {
            Some(generator) => write!(f, ", gen={generator})"),
            None => f.write_str(")"),
        }
    }
}

impl fmt::Display for LogGen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => f.write_str("normal"),
            Self::Int { low, high } => write!(f, "int({low},{high})"),
            Self::Index { bound } => write!(f, "index({bound})"),
            Self::Perm => f.write_str("perm"),
            Self::Mask { p } => write!(f, "mask({p:?})"),
            Self::Ones => f.write_str("ones"),
        }
    }
}
