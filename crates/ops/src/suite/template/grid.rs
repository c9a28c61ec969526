//! Grids: one case per combination of extents.

use std::collections::BTreeMap;

use super::{CaseError, TemplateValue, key_error};
use crate::{
    expr::Symbols,
    suite::shape::{Axes, Extent, Range, TensorText},
};

/// Most combinations of a grid.
const MAX_POINTS: usize = 4096;

/// The extents that each named axis takes, and how large a tensor may become.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    axes: BTreeMap<String, Vec<usize>>,
    max_elements: usize,
}

/// The extents of the axes at a point of a grid, and the values of a case there.
pub(super) type Point = (Symbols, Vec<(String, TemplateValue)>);

/// Reads the keys `grid` and `max_elements` of a case; without them there is one point.
pub(super) fn read(table: &toml::Table) -> Result<Grid, CaseError> {
    let axes: BTreeMap<String, Vec<usize>> = super::read(table, "grid")?.unwrap_or_default();
    if let Some((name, _)) = axes.iter().find(|(_, extents)| extents.is_empty()) {
        return Err(key_error("grid", format!("axis `{name}` has no extents")));
    }
    let points = axes.values().try_fold(1usize, |n, extents| n.checked_mul(extents.len()));
    if points.is_none_or(|points| points > MAX_POINTS) {
        return Err(key_error("grid", format!("more than {MAX_POINTS} combinations")));
    }
    Ok(Grid { axes, max_elements: super::read(table, "max_elements")?.unwrap_or(usize::MAX) })
}

impl Grid {
    /// Makes the names of its axes known to the parser of shapes.
    pub(super) fn name_axes(&self, axes: &mut Axes) -> Result<(), CaseError> {
        for (name, extents) in &self.axes {
            let (first, last) = (extents[0], extents[0]);
            if axes.insert(name.clone(), Range { first, last, log: false }).is_some() {
                return Err(key_error("grid", format!("`{name}` is one of `axes` too")));
            }
        }
        Ok(())
    }

    /// Returns the points at which no tensor is too large, the last axis fastest, each with the values
    /// there.
    pub(super) fn points(
        &self,
        values: &[(String, TemplateValue)],
    ) -> Result<Vec<Point>, CaseError> {
        let mut points = vec![Symbols::new()];
        for (name, extents) in &self.axes {
            let mut longer = Vec::with_capacity(points.len() * extents.len());
            for point in &points {
                for &extent in extents {
                    let mut point = point.clone();
                    point.insert(name.clone(), i64::try_from(extent).unwrap_or(i64::MAX));
                    longer.push(point);
                }
            }
            points = longer;
        }
        let at = |point: Symbols| {
            let values = values.iter().map(|(name, value)| (name.clone(), value.at(&point)));
            let values: Vec<_> = values.collect();
            (point, values)
        };
        let is_small = |(_, values): &(Symbols, Vec<(String, TemplateValue)>)| {
            let mut tensors = values.iter().flat_map(|(_, value)| value.tensors());
            tensors.all(|tensor| elements(tensor) <= self.max_elements)
        };
        let kept: Vec<_> = points.into_iter().map(at).filter(is_small).collect();
        if kept.is_empty() {
            return Err(key_error("grid", "every combination exceeds `max_elements`"));
        }
        Ok(kept)
    }
}

/// Returns how many elements a tensor has at least.
fn elements(tensor: &TensorText) -> usize {
    let extents = tensor.shape.iter().map(|extent| match extent {
        Extent::Fixed(extent) => *extent,
        Extent::Range(range) => range.first,
        Extent::Expr(_) => 1,
    });
    extents.fold(1, usize::saturating_mul)
}

impl TemplateValue {
    /// Returns the value with the extents of a point.
    pub(super) fn at(&self, point: &Symbols) -> Self {
        let extents =
            |extents: &[Extent]| extents.iter().map(|extent| extent.with(point)).collect();
        let tensor = |text: &TensorText| TensorText { shape: extents(&text.shape), ..text.clone() };
        match self {
            Self::Tensor(text) => Self::Tensor(tensor(text)),
            Self::Tensors(list) => {
                Self::Tensors(list.iter().map(|one| one.as_ref().map(tensor)).collect())
            }
            Self::Extents(values) => Self::Extents(extents(values)),
            Self::Plain(value) => Self::Plain(value.clone()),
        }
    }
}
