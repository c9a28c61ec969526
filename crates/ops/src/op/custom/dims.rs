//! Symbolic shapes: `[b, s, 2*d]`, `[n, h + 2]`.

use crate::{
    expr::{Expr, Symbols},
    op::InferError,
    record::{DType, TensorSpec, dtype::UnknownDTypeError},
};

/// A symbolic shape, perhaps with an element type: `i64[b, s]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) dtype: Option<DType>,
    pub(super) dims: Vec<Expr>,
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
        let dims = inner.split(',').map(|dim| extent(dim).ok_or_else(wrong));
        Ok(Self { dtype, dims: dims.collect::<Result<_, _>>()? })
    }

    /// Returns the shape's names, each as often as it occurs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.dims.iter().flat_map(Expr::names)
    }

    /// Takes the values of symbols that stand alone or by a factor from a tensor of this shape.
    pub(super) fn unify(
        &self,
        name: &str,
        spec: &TensorSpec,
        symbols: &mut Symbols,
    ) -> Result<(), InferError> {
        if spec.shape.len() != self.dims.len() {
            return Err(self.wrong(name, spec, symbols));
        }
        for (dim, &extent) in self.dims.iter().zip(&spec.shape) {
            let Some((factor, symbol)) = dim.multiple() else { continue };
            if symbols.contains_key(symbol) {
                continue;
            }
            let extent = i64::try_from(extent).unwrap_or(i64::MAX);
            if extent % factor != 0 {
                return Err(self.wrong(name, spec, symbols));
            }
            symbols.insert(symbol.to_owned(), extent / factor);
        }
        Ok(())
    }

    /// Checks a tensor of this shape once all symbols have their values.
    pub(super) fn check(
        &self,
        name: &str,
        spec: &TensorSpec,
        symbols: &Symbols,
    ) -> Result<(), InferError> {
        match self.extents(symbols) {
            Some(extents) if extents == spec.shape => Ok(()),
            _ => Err(self.wrong(name, spec, symbols)),
        }
    }

    fn wrong(&self, name: &str, spec: &TensorSpec, symbols: &Symbols) -> InferError {
        InferError::shape(name, &spec.shape, self.describe(symbols))
    }

    /// Returns the extents for values of the symbols; `None` where one is unknown or too large.
    pub(super) fn extents(&self, symbols: &Symbols) -> Option<Vec<usize>> {
        let extent = |dim: &Expr| usize::try_from(dim.value(symbols)?).ok();
        self.dims.iter().map(extent).collect()
    }

    /// Spells the shape, known symbols with their values.
    fn describe(&self, symbols: &Symbols) -> String {
        let dims = self.dims.iter().map(|dim| match (dim.value(symbols), dim) {
            (_, Expr::Number(_)) => dim.to_string(),
            (Some(extent), _) => format!("{dim} = {extent}"),
            _ => dim.to_string(),
        });
        format!("[{}]", dims.collect::<Vec<_>>().join(", "))
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(Expr::to_string).collect();
        write!(f, "{}[{}]", self.dtype.map_or("", DType::name), dims.join(", "))
    }
}

/// Parses an extent; a factor of 0 is none.
fn extent(text: &str) -> Option<Expr> {
    let dim = Expr::parse(text)?;
    let nothing = matches!(&dim, Expr::Binary(left, ..) if **left == Expr::Number(0));
    (!nothing).then_some(dim)
}
