//! The gated linear unit: one half of a tensor times the sigmoid of the other.

use ndarray::{Axis, Slice};

use crate::{record::DType, reference::Error};

use super::{
    super::{Array, Call, Engine, InferError, Input, Inputs, Shaped, normalise_dim},
    pointwise::{apply, spread},
    reduce::floating,
};

/// `a * sigmoid(b)` of the halves of a tensor along a dimension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glu;

fn dim(call: &Call<'_>) -> Result<usize, InferError> {
    let spec = floating(call, "self")?;
    if spec.ndim() == 0 {
        return Err(InferError::shape("self", &[], "a tensor with dimensions"));
    }
    let dim = normalise_dim(call.int("dim")?, spec.ndim())?;
    if !spec.shape[dim].is_multiple_of(2) {
        return Err(InferError::shape("self", &spec.shape, "even along the dimension"));
    }
    Ok(dim)
}

fn gated(at: &[f64]) -> f64 {
    at[0] / (1.0 + (-at[1]).exp())
}

/// Calls a function with both halves.
fn halves(
    call: &Call<'_>,
    inputs: &Inputs<'_>,
    then: impl FnOnce(&[&Input<'_>]) -> Result<Array, InferError>,
) -> Result<Array, Error> {
    let (input, axis) = (inputs.get("self")?, Axis(dim(call)?));
    let view = input.view();
    let half = view.len_of(axis) / 2;
    let part = |range: std::ops::Range<usize>| {
        let part = view.slice_axis(axis, Slice::from(range));
        Input::computed(input.dtype, part.as_standard_layout().into_owned())
    };
    let (first, second) = (part(0..half), part(half..2 * half));
    Ok(then(&[&first, &second])?)
}

impl Engine for Glu {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let (spec, dim) = (call.tensor("self")?, dim(call)?);
        let mut shape = spec.shape.clone();
        shape[dim] /= 2;
        Ok(vec![(spec.dtype, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![halves(call, inputs, |both| apply(both, gated))?])
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![halves(call, inputs, |both| spread(both, gated))?]))
    }

    /// Sigmoids that underflow in f32 may be 0.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let scale = |at: &[f64]| if at[0].is_finite() { 1e-29 * at[0].abs().max(1.0) } else { 0.0 };
        Ok(Some(vec![halves(call, inputs, |both| apply(both, scale))?]))
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        4.0 * n_out as f64
    }

    fn degree(&self) -> u32 {
        1
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e4 } else { 1e15 }
    }
}
