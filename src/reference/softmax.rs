//! Softmax along one dimension.

use crate::{
    op::{int_arg, normalise_dim},
    record::Case,
};

use super::{
    Error, parallel,
    sum::sum,
    values::{Dense, Inputs},
};

pub(super) fn evaluate(case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    slices(case, inputs.at(0), |x, out| out.copy_from_slice(&probabilities(x)))
}

/// `y_j sqrt(Σ_i (δ_ij - y_i)² x_i²)`.
pub(super) fn spread(case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    slices(case, inputs.at(0), |x, out| {
        let y = probabilities(x);
        // A probability of 0 (a logit of -Inf) moves nothing.
        let square = |x: f64, y: f64| if y == 0.0 { 0.0 } else { (x * y).powi(2) };
        let all = sum(x.iter().zip(&y).map(|(&x, &y)| square(x, y)));
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(&y) {
            let own = if y == 0.0 { 0.0 } else { (1.0 - 2.0 * y) * x * x };
            *out = y * (all + own).max(0.0).sqrt();
        }
    })
}

/// Softmax of one slice.
pub(super) fn probabilities(x: &[f64]) -> Vec<f64> {
    let max = maximum(x);
    let mut exps: Vec<f64> = x.iter().map(|x| (x - max).exp()).collect();
    let total = sum(exps.iter().copied());
    for value in &mut exps {
        *value /= total;
    }
    exps
}

/// Largest element; NaN if there is one, -Inf of no elements.
pub(super) fn maximum(x: &[f64]) -> f64 {
    x.iter().fold(
        f64::NEG_INFINITY,
        |max, &x| if x.is_nan() || max.is_nan() { f64::NAN } else { max.max(x) },
    )
}

/// Applies a function to every slice along the case's `dim`.
fn slices(
    case: &Case,
    input: &Dense,
    formula: impl Fn(&[f64], &mut [f64]) + Sync,
) -> Result<Vec<f64>, Error> {
    let ndim = input.shape.len();
    let dim = normalise_dim(int_arg(case, "dim")?, ndim)?;
    let len = input.shape.get(dim).copied().unwrap_or(1);
    let inner: usize = input.shape.iter().skip(dim + 1).product();
    let mut out = vec![0.0; input.values.len()];
    if len == 0 || inner == 0 {
        return Ok(out);
    }
    parallel::fill(&mut out, len * inner, |start, share| {
        let mut slice = vec![0.0; len];
        let mut result = vec![0.0; len];
        for (number, block) in share.chunks_mut(len * inner).enumerate() {
            let block_in = &input.values[start + number * len * inner..];
            for column in 0..inner {
                for (position, value) in slice.iter_mut().enumerate() {
                    *value = block_in[position * inner + column];
                }
                formula(&slice, &mut result);
                for (position, value) in result.iter().enumerate() {
                    block[position * inner + column] = *value;
                }
            }
        }
    });
    Ok(out)
}
