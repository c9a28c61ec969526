//! Losses: per-element or per-row values, kept, averaged or summed.

pub(crate) mod classes;
pub(crate) mod distance;
pub(crate) mod elementwise;
pub(crate) mod formulas;

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "indices are exact"
)]
mod tests;

use ndarray::IxDyn;

use super::{
    super::{Array, Call, InferError, generators::EXACT_SUM, sum_limit},
    sum::sum,
};
use crate::record::{DType, TensorSpec};

/// The reduction of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Returns them.
    Keep,
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
}

impl Reduction {
    /// Reads a loss's `reduction`: 0 none, 1 mean, 2 sum.
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, InferError> {
        match call.int("reduction")? {
            0 => Ok(Self::Keep),
            1 => Ok(Self::Mean),
            2 => Ok(Self::Sum),
            other => {
                let wanted = "0 (none), 1 (mean) or 2 (sum)";
                Err(InferError::value("reduction", other, wanted))
            }
        }
    }

    /// Returns the shape that is left of a shape.
    pub(crate) fn shape(self, shape: &[usize]) -> Vec<usize> {
        if self == Self::Keep { shape.to_vec() } else { Vec::new() }
    }

    /// Reduces values of which `count` (their number, or the sum of their weights) take part in a
    /// mean.
    pub(crate) fn apply(self, values: Array, count: f64) -> Array {
        let total = |values: Array| sum(values.iter().copied());
        match self {
            Self::Keep => values,
            Self::Mean => scalar(total(values) / count),
            Self::Sum => scalar(total(values)),
        }
    }

    /// Reduces the spreads of independent values: squares add up.
    pub(crate) fn spread(self, spread: Array, count: f64) -> Array {
        let total = |spread: Array| sum(spread.iter().map(|spread| spread * spread)).sqrt();
        match self {
            Self::Keep => spread,
            Self::Mean => scalar(total(spread) / count),
            Self::Sum => scalar(total(spread)),
        }
    }

    /// Returns the largest sum of values that stays exact where `len` values are added up, or why
    /// there is none.
    pub(crate) fn exact_sum(self, dtype: DType, len: usize) -> Result<usize, &'static str> {
        if self == Self::Mean && !len.is_power_of_two() {
            return Err("a mean is exact only over a power of two");
        }
        // A mean is divided before it is rounded to its type.
        Ok(if self == Self::Mean { EXACT_SUM } else { sum_limit(dtype) })
    }
}

fn scalar(value: f64) -> Array {
    Array::from_elem(IxDyn(&[]), value)
}

/// Refuses a tensor that is not of a floating-point type.
fn check_float(name: &str, spec: &TensorSpec) -> Result<(), InferError> {
    if spec.dtype.is_float() {
        return Ok(());
    }
    Err(InferError::dtype(name, spec.dtype, "a floating-point type"))
}

/// How far a label may be from the number it stands for: labels that are off by a rounding, as
/// inputs are when sensitivity is measured, are still the same labels.
const OFF: f64 = 1e-5;

/// Returns whether a number is a given one: a label, a power.
fn is(x: f64, wanted: f64) -> bool {
    (x - wanted).abs() < OFF
}

/// Returns max(x, 0); NaN where x is.
fn positive(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}
