//! Gradients of windows: of an average at every place of its window, of a maximum at its own.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Param, Role,
            Shaped, generators, integer_limit, sum_limit,
        },
        backward::check,
        index::{index_spec, read},
        reduce::floating,
        sum::Sum,
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
        check("grad_output", call.tensor("grad_output")?, spec.dtype, &shape)?;
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

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }
}

/// The gradient of maxima of windows of two dimensions: each added where its maximum is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaximumBackward;

const MAXIMUM: Pool = Pool { fold: Fold::MaximumAt, spatial: 2, adaptive: false };

impl MaximumBackward {
    /// Adds a function of the gradients.
    fn add(call: &Call<'_>, inputs: &Inputs<'_>, of: impl Fn(f64) -> f64) -> Result<Array, Error> {
        let windows = Windows::of(&MAXIMUM, call)?;
        let n_input: usize = windows.input.iter().product();
        let n_output: usize = windows.output.iter().product();
        let places = read(inputs.get("indices")?, "indices", n_input, false)?;
        let grads = inputs.get("grad_output")?.array().as_slice().unwrap_or(&[]);
        let shape = &call.tensor("self")?.shape;
        let mut out = vec![Sum::default(); shape.iter().product()];
        for (index, (&grad, place)) in grads.iter().zip(places).enumerate() {
            out[index / n_output * n_input + place].add(of(grad));
        }
        let out = out.into_iter().map(Sum::value).collect();
        Ok(Array::from_shape_vec(IxDyn(shape), out).expect("one value per element"))
    }
}

impl Engine for MaximumBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = floating(call, "self")?;
        let shape = Windows::of(&MAXIMUM, call)?.shape();
        check("grad_output", call.tensor("grad_output")?, spec.dtype, &shape)?;
        check("indices", index_spec(call, "indices")?, DType::I64, &shape)?;
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![Self::add(call, inputs, |grad| grad)?])
    }

    /// `sqrt(Σ g²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![Self::add(call, inputs, |grad| grad * grad)?.mapv(f64::sqrt)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        Windows::of(&MAXIMUM, call).map_or(1, |windows| windows.largest().max(1))
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("grad_output").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// The shape of self counts, not its elements.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name == "self").then_some(0)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        let windows = Windows::of(&MAXIMUM, call);
        windows.map_or(1, |windows| windows.input.iter().product::<usize>() as u64)
    }

    /// A kernel may look for an element among the indices of the windows that hold it alone.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let windows = Windows::of(&MAXIMUM, call).ok().filter(|_| param.name == "indices");
        match windows.and_then(|windows| windows.image()) {
            Some([rows, columns]) => Ok(Gen::InWindow { rows, columns }),
            None => generators::by_role(self, call, param),
        }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let dtype = call.case.dtype;
        Ok((integer_limit(dtype).min(sum_limit(dtype) / self.accumulation_len(call)), row))
    }
}
