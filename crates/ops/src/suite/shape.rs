//! The small language of shapes: `[127, 1..64, k] transposed`.

use std::collections::BTreeMap;

use crate::{
    expr::{Expr, Symbols},
    op::Layout,
    record::DType,
};

/// An extent as a suite file gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// A number.
    Fixed(usize),
    /// Drawn anew for each evaluation.
    Range(Range),
    /// One of the case's `axes`, or an expression of them.
    Expr(Expr),
}

impl Extent {
    /// Puts numbers in the place of names.
    pub(super) fn with(&self, known: &Symbols) -> Self {
        let Self::Expr(expr) = self else { return self.clone() };
        let expr = expr.with(known);
        let number = expr.value(&Symbols::new()).and_then(|value| usize::try_from(value).ok());
        number.map_or(Self::Expr(expr), Self::Fixed)
    }
}

/// Numbers from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub first: usize,
    pub last: usize,
    /// Whether each power of two is as likely as the next, not each number.
    pub log: bool,
}

/// Ranges of a case's axes by name.
pub(super) type Axes = BTreeMap<String, Range>;

/// A tensor as a suite file gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TensorText {
    pub dtype: Option<DType>,
    pub shape: Vec<Extent>,
    pub layout: Layout,
}

/// Parses a shape, perhaps with an element type before it and a layout behind it:
/// `i64[127, 1..64] transposed`.
pub(super) fn parse_tensor(text: &str, axes: &Axes) -> Result<TensorText, String> {
    let wrong = || format!("`{text}` is no shape such as \"[127, 1..64]\"");
    let from = text.find('[').ok_or_else(wrong)?;
    let until = text.find(']').ok_or_else(wrong)? + 1;
    if until < from {
        return Err(wrong());
    }
    let dtype = match text[..from].trim() {
        "" => None,
        name => Some(
            name.parse()
                .map_err(|error: crate::record::dtype::UnknownDTypeError| error.to_string())?,
        ),
    };
    let layout = match text[until..].trim() {
        "" => Layout::Contiguous,
        name => name.parse().map_err(|error: crate::op::LayoutError| error.to_string())?,
    };
    Ok(TensorText { dtype, shape: parse_extents(&text[from..until], axes)?, layout })
}

/// Parses `[a, b, ..]`.
pub(super) fn parse_extents(text: &str, axes: &Axes) -> Result<Vec<Extent>, String> {
    let inner = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.ok_or_else(|| format!("`{text}` is no shape such as \"[127, 1..64]\""))?;
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    inner.split(',').map(|extent| parse_extent(extent.trim(), axes)).collect()
}

fn parse_extent(text: &str, axes: &Axes) -> Result<Extent, String> {
    if let Ok(extent) = text.parse() {
        return Ok(Extent::Fixed(extent));
    }
    if text.contains("..") {
        return Ok(Extent::Range(parse_range(text)?));
    }
    if let Some(expr) = Expr::parse(text)
        && expr.names().iter().all(|name| axes.contains_key(*name))
    {
        return Ok(Extent::Expr(expr).with(&Symbols::new()));
    }
    Err(format!("`{text}` is no extent: use a number, a range `1..64` or a name of `axes`"))
}

/// Parses `first..last` or `log first..last`.
pub(super) fn parse_range(text: &str) -> Result<Range, String> {
    let wrong = || format!("`{text}` is no range such as `1..64` or `log 1..4096`");
    let (log, text) = match text.strip_prefix("log ") {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let (first, last) = text.split_once("..").ok_or_else(wrong)?;
    let first: usize = first.trim().parse().map_err(|_| wrong())?;
    let last: usize = last.trim().parse().map_err(|_| wrong())?;
    if first > last {
        return Err(format!("range `{text}` is empty"));
    }
    if log && first == 0 {
        return Err(format!("range `{text}` has no logarithm at 0"));
    }
    Ok(Range { first, last, log })
}
