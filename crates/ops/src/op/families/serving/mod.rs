//! Ops of serving and training libraries: vLLM, `FlashInfer`, Liger-Kernel.

pub(crate) mod attention;
pub(crate) mod cache;
pub(crate) mod experts;
pub(crate) mod gate;
pub(crate) mod linear_loss;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod packed;
pub(crate) mod probs;
pub(crate) mod quant;
pub(crate) mod state;

#[cfg(test)]
mod tests;

use ndarray::IxDyn;

use crate::record::DType;

use super::super::{Array, Call, InferError, Input, Inputs};

/// Largest finite value of f8e4m3.
const FP8_MAX: f64 = 448.0;

/// Limits a value that is about to be rounded to f8e4m3; NaN stays.
fn saturated(value: f64) -> f64 {
    value.clamp(-FP8_MAX, FP8_MAX)
}

/// Rounds a value as it is stored in f32.
#[expect(clippy::cast_possible_truncation, reason = "it is stored in f32")]
fn stored(value: f64) -> f64 {
    f64::from(value as f32)
}

/// Refuses a tensor that is not of a floating-point type of 16 bits or more.
fn float(call: &Call<'_>, name: &str) -> Result<DType, InferError> {
    let dtype = call.tensor(name)?.dtype;
    if dtype.is_float() && !dtype.is_fp8() {
        return Ok(dtype);
    }
    Err(InferError::dtype(name, dtype, "a floating-point type of at least 16 bits"))
}

/// Refuses a tensor of another type.
fn of_type(call: &Call<'_>, name: &str, wanted: DType) -> Result<(), InferError> {
    let dtype = call.tensor(name)?.dtype;
    if dtype == wanted {
        return Ok(());
    }
    Err(InferError::dtype(name, dtype, wanted.name()))
}

/// Refuses a tensor of another shape.
fn of_shape(call: &Call<'_>, name: &str, wanted: &[usize]) -> Result<(), InferError> {
    let shape = &call.tensor(name)?.shape;
    if shape == wanted {
        return Ok(());
    }
    Err(InferError::shape(name, shape, format!("{wanted:?}")))
}

/// Refuses anything but one number of a type: of shape [] or [1].
fn one_number(call: &Call<'_>, name: &str, dtype: DType) -> Result<(), InferError> {
    of_type(call, name, dtype)?;
    let shape = &call.tensor(name)?.shape;
    if matches!(shape.as_slice(), [] | [1]) {
        return Ok(());
    }
    Err(InferError::shape(name, shape, "[] or [1]"))
}

/// Returns a positive integer argument.
fn positive(call: &Call<'_>, name: &str) -> Result<usize, InferError> {
    let value = call.int(name)?;
    let found = usize::try_from(value).ok().filter(|&value| value > 0);
    found.ok_or_else(|| InferError::value(name, value, "positive"))
}

/// Returns the extent of the last dimension.
fn width(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1)
}

/// Returns the shape with another last dimension.
fn with_width(shape: &[usize], width: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if let Some(last) = shape.last_mut() {
        *last = width;
    }
    shape
}

/// Returns the only element of a tensor, where it is there.
fn number(inputs: &Inputs<'_>, name: &str) -> Option<f64> {
    inputs.opt(name).and_then(|input| input.array().first().copied())
}

/// Returns the elements of a tensor, row-major.
fn flat(input: &Input<'_>) -> Vec<f64> {
    input.array().iter().copied().collect()
}

/// Makes an output of its elements.
fn array(shape: &[usize], values: Vec<f64>) -> Array {
    Array::from_shape_vec(IxDyn(shape), values).expect("one value per element")
}
