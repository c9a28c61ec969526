//! Gradients of averages of windows: each gradient, divided, at every place of its window.

use ndarray::IxDyn;

use crate::reference::Error;

use super::{
    super::{
        super::{Array, Call, Engine, InferError, Inputs, Shaped},
        reduce::floating,
    },
    Divisor, Fold, Pool, each,
    windows::Windows,
};

/// The gradient of an average of windows of two dimensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AverageBackward;

const FORWARD: Pool = Pool { fold: Fold::Average, spatial: 2, adaptive: false };

impl AverageBackward {
    /// Adds a function of gradients and their divisors.
    fn add(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        of: impl Fn(f64, f64) -> f64,
    ) -> Result<Array, Error> {
        let (windows, divisor) = (Windows::of(&FORWARD, call)?, Divisor::of(call)?);
        let grads = inputs.get("grad_output")?.array().as_slice().unwrap_or(&[]);
        let n_input: usize = windows.input.iter().product();
        let n_output: usize = windows.output.iter().product();
        let shape = &call.tensor("self")?.shape;
        let mut out = vec![0.0; shape.iter().product()];
        for (index, &grad) in grads.iter().enumerate() {
            let window =
                windows.window(super::super::conv::split(index % n_output, windows.output));
            let value = of(grad, divisor.value(window));
            let plane = &mut out[index / n_output * n_input..][..n_input];
            each(window, windows.input, |at| plane[at] += value);
        }
        Ok(Array::from_shape_vec(IxDyn(shape), out).expect("one value per element"))
    }
}

impl Engine for AverageBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = floating(call, "self")?;
        let shape = Windows::of(&FORWARD, call)?.shape();
        Divisor::of(call)?;
        let grad = call.tensor("grad_output")?;
        if grad.dtype != spec.dtype {
            return Err(InferError::dtype("grad_output", grad.dtype, spec.dtype.name()));
        }
        if grad.shape != shape {
            return Err(InferError::shape("grad_output", &grad.shape, format!("{shape:?}")));
        }
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![Self::add(call, inputs, |grad, divisor| grad / divisor)?])
    }

    /// `sqrt(Σ (g / divisor)²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let squares = Self::add(call, inputs, |grad, divisor| (grad / divisor).powi(2))?;
        Ok(Some(vec![squares.mapv(f64::sqrt)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        Windows::of(&FORWARD, call).map_or(1, |windows| windows.largest().max(1))
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let largest = Windows::of(&FORWARD, call).map_or(1, |windows| windows.largest());
        call.tensor("grad_output").map_or(0.0, |spec| (spec.numel() * largest) as f64)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// The shape of self counts, not its elements.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name == "self").then_some(0)
    }

    fn large(&self, dtype: crate::record::DType) -> f64 {
        if dtype == crate::record::DType::F16 { 1e3 } else { 1e15 }
    }
}
