//! Signatures in `ATen`'s syntax: `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)
//! -> Tensor`.
//!
//! Arguments that say where a tensor lives (`device`, `layout`, `pin_memory`, `memory_format`) and random
//! generators are not arguments of a kernel and are left out.

use crate::record::{ArgValue, DType};

use super::{Kind, Param, Role};

/// A signature taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Base name, for example `add`.
    pub base: String,
    /// Name of the overload, for example `Tensor`; `default` where the signature names none.
    pub overload: String,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// Names of the outputs, empty for those that have none.
    pub outputs: Vec<String>,
    /// Whether the only output is a list of tensors.
    pub returns_list: bool,
}

/// A text that is no signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{signature}` is no signature: {reason}")]
pub struct SchemaError {
    /// The text.
    pub signature: String,
    /// The mistake.
    pub reason: String,
}

/// Parameters that are not for a kernel.
const LEFT_OUT: [&str; 7] =
    ["Layout", "Device", "MemoryFormat", "Generator", "pin_memory", "non_blocking", "Dimname"];

impl Schema {
    /// Takes a signature apart.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] names the part that cannot be read.
    pub fn parse(signature: &str) -> Result<Self, SchemaError> {
        parse(signature).map_err(|reason| SchemaError { signature: signature.to_owned(), reason })
    }
}

fn parse(signature: &str) -> Result<Schema, String> {
    let text = signature.trim();
    let text = text.strip_prefix("aten::").unwrap_or(text);
    let (name, rest) = text.split_once('(').ok_or("no `(`")?;
    let (params, returns) = rest.rsplit_once("->").ok_or("no `->`")?;
    let params = params.trim().strip_suffix(')').ok_or("no `)` before `->`")?;
    let (base, overload) = name.split_once('.').unwrap_or((name, "default"));
    let mut parsed = Vec::new();
    for text in split(params).into_iter().filter(|text| *text != "*") {
        if !LEFT_OUT.iter().any(|skip| text.starts_with(skip) || names(text) == *skip) {
            parsed.push(param(text)?);
        }
    }
    let returns = returns.trim();
    let inner = returns.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let outputs = split(inner.unwrap_or(returns));
    Ok(Schema {
        base: base.to_owned(),
        overload: overload.to_owned(),
        params: parsed,
        outputs: outputs.iter().map(|text| output_name(text)).collect(),
        returns_list: returns == "Tensor[]",
    })
}

/// Splits at commas outside brackets.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_i32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the name of a parameter.
fn names(text: &str) -> &str {
    let declared = text.split_once('=').map_or(text, |(declared, _)| declared);
    declared.trim().rsplit(' ').next().unwrap_or(declared)
}

fn output_name(text: &str) -> String {
    text.split_once(' ').map_or_else(String::new, |(_, name)| name.trim().to_owned())
}

fn param(text: &str) -> Result<Param, String> {
    let (declared, default) = match text.split_once('=') {
        Some((declared, default)) => (declared.trim(), Some(default.trim())),
        None => (text, None),
    };
    let (kind, name) = declared.rsplit_once(' ').ok_or(format!("`{text}` has no name"))?;
    let optional = kind.ends_with('?');
    let (kind, dims) = read_kind(kind.trim_end_matches('?'))?;
    let demanded = default.is_none();
    let default = match default {
        Some(default) => Some(read_default(kind, default, dims)?),
        // In cases, where calls would have to say None.
        None => optional.then_some(ArgValue::None),
    };
    let role = if kind.holds_tensors() { Role::Second } else { Role::None };
    Ok(Param {
        name: name.to_owned(),
        kind,
        optional,
        default,
        demanded,
        role,
        edges: None,
        choices: &[],
    })
}

/// Reads a type; for a list of known length, the length too.
fn read_kind(text: &str) -> Result<(Kind, Option<usize>), String> {
    let base = text.split_once('(').map_or(text, |(base, _)| base);
    if let Some((element, rest)) = base.split_once('[') {
        let len = rest.trim_end_matches(']').parse().ok();
        let kind = match element {
            "Tensor" | "Tensor?" => Kind::Tensors,
            "int" | "SymInt" => Kind::Ints,
            "float" => Kind::Floats,
            "bool" => Kind::Ints,
            _ => return Err(format!("unknown type `{text}`")),
        };
        return Ok((kind, len));
    }
    let kind = match base {
        "Tensor" => Kind::Tensor,
        "int" | "SymInt" => Kind::Int,
        "float" => Kind::Float,
        "Scalar" => Kind::Scalar,
        "bool" => Kind::Bool,
        "str" => Kind::Str,
        "ScalarType" => Kind::DType,
        _ => return Err(format!("unknown type `{text}`")),
    };
    Ok((kind, None))
}

pub(super) fn read_default(
    kind: Kind,
    text: &str,
    dims: Option<usize>,
) -> Result<ArgValue, String> {
    let wrong = || format!("default `{text}` does not fit its type");
    if text == "None" {
        return Ok(ArgValue::None);
    }
    let int = |text: &str| match text {
        // at::Reduction of the schema printer.
        "Mean" => Some(1),
        "Sum" => Some(2),
        _ => text.trim().parse::<i64>().ok(),
    };
    Ok(match kind {
        Kind::Int => ArgValue::Int(int(text).ok_or_else(wrong)?),
        Kind::Scalar => match int(text) {
            Some(value) => ArgValue::Int(value),
            None => ArgValue::Float(text.parse().map_err(|_| wrong())?),
        },
        Kind::Float => ArgValue::Float(text.parse().map_err(|_| wrong())?),
        Kind::Bool => ArgValue::Bool(text.eq_ignore_ascii_case("true")),
        Kind::Str => ArgValue::Str(text.trim_matches(['"', '\'']).to_owned()),
        Kind::Ints => {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            match (inner, dims) {
                (Some(inner), _) => {
                    let values = split(inner).into_iter().map(int).collect::<Option<_>>();
                    ArgValue::Ints(values.ok_or_else(wrong)?)
                }
                // `int[2] stride=1` means [1, 1].
                (None, dims) => {
                    ArgValue::Ints(vec![int(text).ok_or_else(wrong)?; dims.unwrap_or(1)])
                }
            }
        }
        Kind::DType => ArgValue::DType(dtype(text).ok_or_else(wrong)?),
        Kind::Tensor | Kind::Tensors | Kind::Floats => return Err(wrong()),
    })
}

/// Reads PyTorch's long name of an element type.
#[must_use]
pub fn dtype(text: &str) -> Option<DType> {
    Some(match text.trim_start_matches("torch.") {
        "float64" | "double" => DType::F64,
        "float32" | "float" => DType::F32,
        "float16" | "half" => DType::F16,
        "bfloat16" => DType::BF16,
        "float8_e4m3fn" => DType::F8E4M3,
        "float8_e5m2" => DType::F8E5M2,
        "int64" | "long" => DType::I64,
        "int32" | "int" => DType::I32,
        "int16" | "short" => DType::I16,
        "int8" => DType::I8,
        "uint8" => DType::U8,
        "bool" => DType::Bool,
        short => return short.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_taken_apart() {
        let schema = Schema::parse(
            "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, \
             ScalarType? dtype=None) -> Tensor",
        )
        .unwrap();
        assert_eq!((schema.base.as_str(), schema.overload.as_str()), ("sum", "dim_IntList"));
        let names: Vec<&str> = schema.params.iter().map(|param| param.name.as_str()).collect();
        assert_eq!(names, ["self", "dim", "keepdim", "dtype"]);
        assert_eq!(schema.params[1].default, Some(ArgValue::None));
        assert_eq!(schema.params[2].default, Some(ArgValue::Bool(false)));
        assert_eq!(schema.outputs, [""]);
    }

    #[test]
    fn lists_enums_and_named_outputs_are_read() {
        let schema = Schema::parse(
            "aten::f(Tensor[] tensors, int[2] stride=1, int[2] pad=[0, 1], int reduction=Mean, \
             Tensor? w={}, *, Device? device=None) -> (Tensor values, Tensor indices)"
                .replace("={}", "")
                .as_str(),
        )
        .unwrap();
        assert_eq!(schema.params.len(), 5);
        assert_eq!(schema.params[1].default, Some(ArgValue::Ints(vec![1, 1])));
        assert_eq!(schema.params[2].default, Some(ArgValue::Ints(vec![0, 1])));
        assert_eq!(schema.params[3].default, Some(ArgValue::Int(1)));
        assert_eq!(schema.params[4].default, Some(ArgValue::None));
        assert_eq!(schema.outputs, ["values", "indices"]);
    }

    #[test]
    fn what_is_no_signature_says_why() {
        for text in
            ["add", "add(Tensor self)", "add(Thing self) -> Tensor", "add(Tensor) -> Tensor"]
        {
            assert!(Schema::parse(text).is_err(), "{text}");
        }
    }
}
