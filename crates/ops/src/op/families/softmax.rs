//! Softmax along one dimension, its logarithm, and the logarithm of its denominator.

use crate::{record::DType, reference::Error};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Locality, Shaped, normalise_dim},
    lanes,
    reduce::{dims, keepdim, left, plain, row_locality, slice_len, slice_locality},
    sum::sum,
};

/// Exponentials divided by their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Softmax {
    /// The quotients.
    Plain,
    /// Their logarithms.
    Log,
    /// The quotients; 0 in a slice of nothing but -Inf.
    Safe,
}

/// Logarithm of the sum of exponentials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSumExp;

fn dim(call: &Call<'_>) -> Result<usize, InferError> {
    normalise_dim(call.int("dim")?, call.tensor("self")?.ndim())
}

/// `p x`; a probability of 0 (an element of -Inf) moves nothing.
fn moved(p: f64, x: f64) -> f64 {
    if p == 0.0 { 0.0 } else { p * x }
}

impl Engine for Softmax {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = super::reduce::floating(call, "self")?;
        dim(call)?;
        if *self == Self::Safe {
            let dtype = call.opt_dtype("dtype")?.unwrap_or(spec.dtype);
            if !dtype.is_float() || (dtype != spec.dtype && dtype.size() <= spec.dtype.size()) {
                return Err(InferError::value("dtype", dtype, "that of `self`, or a wider one"));
            }
            return Ok(vec![(dtype, spec.shape.clone())]);
        }
        let dtype = match (call.bool("half_to_float")?, spec.dtype) {
            (false, dtype) => dtype,
            (true, DType::F16) => DType::F32,
            (true, dtype) => {
                return Err(InferError::dtype("self", dtype, "f16, for half_to_float"));
            }
        };
        Ok(vec![(dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let fill = |x: &[f64], out: &mut [f64]| match self {
            Self::Safe if x.iter().all(|&x| x == f64::NEG_INFINITY) => out.fill(0.0),
            Self::Plain | Self::Safe => out.copy_from_slice(&probabilities(x)),
            Self::Log => {
                let max = maximum(x);
                let log = sum(x.iter().map(|x| (x - max).exp())).ln();
                for (out, x) in out.iter_mut().zip(x) {
                    *out = x - max - log;
                }
            }
        };
        Ok(vec![lanes::map(inputs.get("self")?, dim(call)?, fill)])
    }

    /// `y_j sqrt(Σ_i (δ_ij - y_i)² d_i²)`, d the distance to the maximum, which is rounded;
    /// of the logarithm, without the factor `y_j`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let fill = |x: &[f64], out: &mut [f64]| {
            let d = distances(x);
            let y = probabilities(&d);
            let all = sum(d.iter().zip(&y).map(|(&d, &y)| moved(y, d).powi(2)));
            for ((out, &d), &y) in out.iter_mut().zip(&d).zip(&y) {
                *out = match self {
                    Self::Plain | Self::Safe if y == 0.0 => 0.0,
                    Self::Plain | Self::Safe => y * (all + (1.0 - 2.0 * y) * d * d).max(0.0).sqrt(),
                    Self::Log => (all + (1.0 - 2.0 * y) * d * d).max(0.0).sqrt(),
                };
            }
        };
        Ok(Some(vec![lanes::map(inputs.get("self")?, dim(call)?, fill)]))
    }

    fn rounds_differences(&self) -> bool {
        true
    }

    /// Of the logarithm, the distance to the maximum and the logarithm of the sum, which is at
    /// least 1 and rounded: an absolute error however small the result.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if *self != Self::Log {
            return Ok(None);
        }
        let fill = |x: &[f64], out: &mut [f64]| {
            let max = maximum(x);
            let log = sum(x.iter().map(|x| (x - max).exp())).ln();
            for (out, x) in out.iter_mut().zip(x) {
                *out = (max - x) + log.max(1.0);
            }
        };
        Ok(Some(vec![lanes::map(inputs.get("self")?, dim(call)?, fill)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let (Ok(spec), Ok(dim)) = (call.tensor("self"), dim(call)) else { return 1 };
        spec.shape.get(dim).copied().unwrap_or(1)
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        row_locality(call, dim(call))
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

/// Distance of each element to the largest.
fn distances(x: &[f64]) -> Vec<f64> {
    let max = maximum(x);
    x.iter().map(|x| x - max).collect()
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

/// `log Σ exp x` as maximum and the logarithm of the sum relative to it; an infinite maximum is
/// the result.
fn log_sum_exp(x: &[f64]) -> (f64, f64) {
    let max = maximum(x);
    if max.is_infinite() {
        return (max, 0.0);
    }
    (max, sum(x.iter().map(|x| (x - max).exp())).ln())
}

impl Engine for LogSumExp {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = plain(call)?;
        if call.ints("dim")?.is_empty() && spec.ndim() > 0 {
            return Err(InferError::value("dim", "[]", "at least one dimension"));
        }
        let dtype = if spec.dtype.is_float() { spec.dtype } else { DType::F32 };
        Ok(vec![(dtype, left(call)?)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let formula = |x: &[f64]| {
            let (max, log) = log_sum_exp(x);
            max + log
        };
        Ok(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula)])
    }

    /// `sqrt(Σ (p d)²)`, p the softmax and d the distance to the maximum; integers do not move.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if !inputs.get("self")?.dtype.is_float() {
            return Ok(None);
        }
        let formula = |x: &[f64]| {
            let d = distances(x);
            sum(probabilities(&d).iter().zip(&d).map(|(&p, &d)| moved(p, d).powi(2))).sqrt()
        };
        Ok(Some(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula)]))
    }

    fn rounds_differences(&self) -> bool {
        true
    }

    /// The maximum, and the logarithm of a rounded sum of at least 1.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let formula = |x: &[f64]| {
            let (max, log) = log_sum_exp(x);
            max.abs() + log.max(1.0)
        };
        Ok(Some(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        slice_len(call)
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        slice_locality(call)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| 3.0 * spec.numel() as f64)
    }

    fn large(&self, _dtype: DType) -> f64 {
        1e4
    }

    fn shifted(&self) -> (f64, f64) {
        (1000.0, 3.0)
    }
}
