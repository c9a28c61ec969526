//! The gated linear unit: one half of a tensor times the sigmoid of the other; and its gradient.

use ndarray::{Axis, Slice, concatenate};

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

/// The gradient of [`Glu`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct GluBackward;

/// The gradients of both halves, from the gradient of the result.
const GRADIENTS: [fn(&[f64]) -> f64; 2] = [
    |at| at[0] / (1.0 + (-at[2]).exp()),
    |at| {
        let gate = 1.0 / (1.0 + (-at[2]).exp());
        at[0] * at[1] * gate * (1.0 - gate)
    },
];

/// The scales of both gradients: sigmoids that underflow in f32 may be 0, and 1 less a sigmoid loses
/// digits.
const SCALES: [fn(&[f64]) -> f64; 2] = [
    |at| if at[0].is_finite() { 1e-29 * at[0].abs().max(1.0) } else { 0.0 },
    |at| {
        let gate = 1.0 / (1.0 + (-at[2]).exp());
        let scale = (at[0] * at[1]).abs() * gate.max(1e-29);
        if scale.is_finite() { scale } else { 0.0 }
    },
];

impl GluBackward {
    /// Computes a function of gradient and halves for each half.
    fn both(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        then: impl Fn(&[&Input<'_>], usize) -> Result<Array, InferError>,
    ) -> Result<Vec<Array>, Error> {
        let grad = inputs.get("grad_output")?;
        let part = |number| halves(call, inputs, |both| then(&[grad, both[0], both[1]], number));
        let (first, second) = (part(0)?, part(1)?);
        let joined = concatenate(Axis(dim(call)?), &[first.view(), second.view()]);
        Ok(vec![joined.expect("halves have one shape")])
    }
}

impl Engine for GluBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let (_, half) = Glu.infer(call)?.swap_remove(0);
        let (spec, grad) = (call.tensor("self")?, call.tensor("grad_output")?);
        if grad.dtype != spec.dtype {
            return Err(InferError::dtype("grad_output", grad.dtype, spec.dtype.name()));
        }
        if grad.shape != half {
            return Err(InferError::shape("grad_output", &grad.shape, format!("{half:?}")));
        }
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Self::both(call, inputs, |at, number| apply(at, GRADIENTS[number]))
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(Self::both(call, inputs, |at, number| spread(at, GRADIENTS[number]))?))
    }

    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(Self::both(call, inputs, |at, number| apply(at, SCALES[number]))?))
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        5.0 * n_out as f64
    }

    fn degree(&self) -> u32 {
        2
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 100.0 } else { 1e15 }
    }
}
