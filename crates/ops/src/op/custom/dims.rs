//! Symbolic shapes: `[b, s, 2*d]`.

use std::collections::BTreeMap;

use crate::{
    op::InferError,
    record::{DType, TensorSpec, dtype::UnknownDTypeError},
};

/// An extent of a symbolic shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dim {
    /// A number.
    Fixed(usize),
    /// A multiple of a symbol.
    Symbol {
        /// The factor, at least 1.
        factor: usize,
        /// The name.
        name: String,
    },
}

/// Values of symbols.
pub(super) type Symbols = BTreeMap<String, usize>;

/// A symbolic shape, perhaps with an element type: `i64[b, s]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) dtype: Option<DType>,
    pub(super) dims: Vec<Dim>,
}

impl Shape {
    /// Parses `[b, 2*d]` or `i64[b]`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no shape such as \"[b, s, 2*d]\" or \"i64[b]\"");
        let (dtype, rest) = text.trim().split_once('[').ok_or_else(wrong)?;
        let inner = rest.strip_suffix(']').ok_or_else(wrong)?;
        let dtype = match dtype.trim() {
            "" => None,
            name => Some(name.parse().map_err(|error: UnknownDTypeError| error.to_string())?),
        };
        if inner.trim().is_empty() {
            return Ok(Self { dtype, dims: Vec::new() });
        }
        let dims = inner.split(',').map(|dim| Dim::parse(dim.trim()).ok_or_else(wrong));
        Ok(Self { dtype, dims: dims.collect::<Result<_, _>>()? })
    }

    /// Returns the shape's names, each as often as it occurs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.dims.iter().filter_map(|dim| match dim {
            Dim::Fixed(_) => None,
            Dim::Symbol { name, .. } => Some(name.as_str()),
        })
    }

    /// Takes the values of symbols from a tensor of this shape.
    pub(super) fn unify(
        &self,
        name: &str,
        spec: &TensorSpec,
        symbols: &mut Symbols,
    ) -> Result<(), InferError> {
        let wrong =
            |symbols: &Symbols| InferError::shape(name, &spec.shape, self.describe(symbols));
        if spec.shape.len() != self.dims.len() {
            return Err(wrong(symbols));
        }
        for (dim, &extent) in self.dims.iter().zip(&spec.shape) {
            let fits = match dim {
                Dim::Fixed(wanted) => *wanted == extent,
                Dim::Symbol { factor, name } => match symbols.get(name) {
                    Some(known) => known.checked_mul(*factor) == Some(extent),
                    None if extent % factor == 0 => {
                        symbols.insert(name.clone(), extent / factor);
                        true
                    }
                    None => false,
                },
            };
            if !fits {
                return Err(wrong(symbols));
            }
        }
        Ok(())
    }

    /// Returns the extents for values of the symbols; `None` where one is unknown or too large.
    pub(super) fn extents(&self, symbols: &Symbols) -> Option<Vec<usize>> {
        self.dims.iter().map(|dim| dim.extent(symbols)).collect()
    }

    /// Spells the shape, known symbols with their values.
    fn describe(&self, symbols: &Symbols) -> String {
        let dims = self.dims.iter().map(|dim| match (dim.extent(symbols), dim) {
            (Some(extent), Dim::Symbol { .. }) => format!("{dim} = {extent}"),
            _ => dim.to_string(),
        });
        format!("[{}]", dims.collect::<Vec<_>>().join(", "))
    }
}

impl Dim {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(extent) = text.parse() {
            return Some(Self::Fixed(extent));
        }
        let (factor, name) = match text.split_once('*') {
            Some((factor, name)) => (factor.trim().parse().ok()?, name.trim()),
            None => (1, text),
        };
        (factor > 0 && is_name(name)).then(|| Self::Symbol { factor, name: name.to_owned() })
    }

    /// Returns the extent for values of the symbols.
    pub(super) fn extent(&self, symbols: &Symbols) -> Option<usize> {
        match self {
            Self::Fixed(extent) => Some(*extent),
            Self::Symbol { factor, name } => symbols.get(name)?.checked_mul(*factor),
        }
    }
}

impl std::fmt::Display for Dim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(extent) => write!(f, "{extent}"),
            Self::Symbol { factor: 1, name } => f.write_str(name),
            Self::Symbol { factor, name } => write!(f, "{factor}*{name}"),
        }
    }
}

/// Returns whether a text can name something.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 64
}
