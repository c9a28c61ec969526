//! Softmax along one dimension.

use crate::{record::DType, reference::Error};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Shaped, normalise_dim},
    lanes,
    sum::sum,
};

/// Exponentials divided by their sum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Softmax;

fn dim(call: &Call<'_>) -> Result<usize, InferError> {
    normalise_dim(call.int("dim")?, call.tensor("self")?.ndim())
}

impl Engine for Softmax {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        dim(call)?;
        if !spec.dtype.is_float() {
            return Err(InferError::dtype("self", spec.dtype, "a floating-point type"));
        }
        if call.bool("half_to_float")? {
            return Err(InferError::value("half_to_float", "true", "false"));
        }
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let fill = |x: &[f64], out: &mut [f64]| out.copy_from_slice(&probabilities(x));
        Ok(vec![lanes::map(inputs.get("self")?, dim(call)?, fill)])
    }

    /// `y_j sqrt(Σ_i (δ_ij - y_i)² x_i²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let fill = |x: &[f64], out: &mut [f64]| {
            let y = probabilities(x);
            // A probability of 0 (a logit of -Inf) moves nothing.
            let square = |x: f64, y: f64| if y == 0.0 { 0.0 } else { (x * y).powi(2) };
            let all = sum(x.iter().zip(&y).map(|(&x, &y)| square(x, y)));
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(&y) {
                let own = if y == 0.0 { 0.0 } else { (1.0 - 2.0 * y) * x * x };
                *out = y * (all + own).max(0.0).sqrt();
            }
        };
        Ok(Some(vec![lanes::map(inputs.get("self")?, dim(call)?, fill)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let (Ok(spec), Ok(dim)) = (call.tensor("self"), dim(call)) else { return 1 };
        spec.shape.get(dim).copied().unwrap_or(1)
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        5.0 * n_out as f64
    }

    fn large(&self, _dtype: DType) -> f64 {
        1e4
    }

    fn shifted(&self) -> (f64, f64) {
        (1000.0, 3.0)
    }
}

/// Softmax of one slice.
pub(crate) fn probabilities(x: &[f64]) -> Vec<f64> {
    let max = maximum(x);
    let mut exps: Vec<f64> = x.iter().map(|x| (x - max).exp()).collect();
    let total = sum(exps.iter().copied());
    for value in &mut exps {
        *value /= total;
    }
    exps
}

/// Largest element; NaN if there is one, -Inf of no elements.
pub(crate) fn maximum(x: &[f64]) -> f64 {
    x.iter().fold(
        f64::NEG_INFINITY,
        |max, &x| if x.is_nan() || max.is_nan() { f64::NAN } else { max.max(x) },
    )
}
