//! Formulas of elementwise ops, as `PyTorch` defines them, in f64.
//!
//! A formula that needs no number of its call is a plain function of f64; the others bind their
//! numbers first and refuse those that the op is not defined for.

pub(super) mod activation;
pub(super) mod arithmetic;
pub(super) mod backward;
pub(super) mod logic;
pub(super) mod math;
pub(super) mod select;
pub(super) mod special;

#[cfg(test)]
mod tests;

use crate::record::{DType, tensor::round_to};

use super::{Call, InferError, Scalar, families::pointwise::Formula};

/// A formula whose numbers are bound, or why they cannot be.
pub(super) type Bound = Result<Formula, InferError>;

/// Scale below which an error does not count, where results underflow: for x under -88, exp(-x) is
/// Inf in f32 and silu 0, which is off by up to 2e-37.
const FLOOR: f64 = 1e-29;

/// [`FLOOR`] as the scale of an op.
pub(super) const fn floor_scale(_x: f64) -> f64 {
    FLOOR
}

/// |x|, 0 where it is not finite: the scale of formulas that cancel.
pub(super) fn magnitude(x: f64) -> f64 {
    if x.is_finite() { x.abs() } else { 0.0 }
}

/// Returns a number as an integer type holds it, or as it is where the computation is done in a
/// floating-point type.
///
/// Fractions are cut off; numbers beyond the type's range are refused, negative integers for u8 wrap.
fn number(call: &Call<'_>, name: &str, dtype: DType) -> Result<f64, InferError> {
    fitting(name, call.scalar(name)?, dtype)
}

/// As [`number`], for a number that may be left out.
fn opt_number(call: &Call<'_>, name: &str, dtype: DType) -> Result<Option<f64>, InferError> {
    call.opt_scalar(name)?.map(|value| fitting(name, value, dtype)).transpose()
}

/// As [`number`], for a number that is read.
pub(crate) fn fitting(name: &str, given: Scalar, dtype: DType) -> Result<f64, InferError> {
    let value = given.value();
    if !dtype.is_int() {
        return Ok(if dtype == DType::Bool { round_to(dtype, value) } else { value });
    }
    let limit = dtype.max_value();
    let lowest = match (dtype, given) {
        (DType::U8, Scalar::Float(_)) => 0.0,
        (DType::U8, _) => -limit,
        _ => -limit - 1.0,
    };
    if !(lowest..=limit).contains(&value.trunc()) {
        return Err(InferError::value(name, value, format!("in the range of {dtype}")));
    }
    Ok(round_to(dtype, value))
}

/// Returns a number converted to the type of the computation, as comparisons do: rounded, or cut to
/// the low bits of an integer type.
fn converted(call: &Call<'_>, name: &str, dtype: DType) -> Result<f64, InferError> {
    Ok(round_to(dtype, call.number(name)?))
}

/// Returns a factor that must be of the result's kind: no fraction for integers, no truth value
/// for numbers.
fn factor(call: &Call<'_>, name: &str, dtype: DType) -> Result<f64, InferError> {
    let scalar = call.scalar(name)?;
    match scalar {
        Scalar::Float(value) if !dtype.is_float() => {
            Err(InferError::value(name, value, format!("an integer, as the result is {dtype}")))
        }
        Scalar::Bool(value) if dtype != DType::Bool => {
            Err(InferError::value(name, value, "a number, as the result is no bool"))
        }
        _ => Ok(scalar.value()),
    }
}
