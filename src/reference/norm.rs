//! Normalisation over the last dimensions.

use crate::{
    op::{Norm, ints_arg},
    record::Case,
};

use super::{
    Error, parallel,
    sum::sum,
    values::{Inputs, number},
};

/// One row: its normalised elements and the factor that normalised them.
struct Row {
    /// `(x - mean) * scale`, or `x * scale`.
    hat: Vec<f64>,
    /// `1 / sqrt(var + eps)`.
    scale: f64,
}

fn normalise(norm: Norm, x: &[f64], eps: f64) -> Row {
    let n = x.len() as f64;
    let mean = match norm {
        Norm::Layer => sum(x.iter().copied()) / n,
        Norm::Rms => 0.0,
    };
    let square = sum(x.iter().map(|x| (x - mean).powi(2))) / n;
    let scale = 1.0 / (square + eps).sqrt();
    Row { hat: x.iter().map(|x| (x - mean) * scale).collect(), scale }
}

pub(super) fn evaluate(norm: Norm, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    rows(case, inputs, |x, gain, bias, eps, out| {
        let row = normalise(norm, x, eps);
        for (column, (out, hat)) in out.iter_mut().zip(row.hat).enumerate() {
            *out = hat * at(gain, column, 1.0) + at(bias, column, 0.0);
        }
    })
}

/// `sqrt(w_j² scale² Σ_i ((δ_ij - (c + h_j h_i) / n) x_i)² + (w_j h_j)² + b_j²)` with c = 1 where
/// the mean is subtracted, else 0; h is the normalised row.
pub(super) fn spread(norm: Norm, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let centred = match norm {
        Norm::Layer => 1.0,
        Norm::Rms => 0.0,
    };
    rows(case, inputs, |x, gain, bias, eps, out| {
        let n = x.len() as f64;
        let Row { hat, scale } = normalise(norm, x, eps);
        let moment = |power: i32| sum(x.iter().zip(&hat).map(|(x, hat)| x * x * hat.powi(power)));
        let (plain, first, second) = (moment(0) * centred, moment(1) * centred, moment(2));
        for (column, (out, (&x, &hat))) in out.iter_mut().zip(x.iter().zip(&hat)).enumerate() {
            let others = (plain + 2.0 * hat * first + hat * hat * second) / (n * n);
            let own = x * x * (1.0 - 2.0 * (centred + hat * hat) / n);
            let moved = (own + others).max(0.0) * scale * scale;
            let weighted = at(gain, column, 1.0).powi(2) * (moved + gained(gain, hat));
            *out = (weighted + at(bias, column, 0.0).powi(2)).sqrt();
        }
    })
}

/// The rounding of a weight counts only where there is one.
fn gained(gain: Option<&[f64]>, hat: f64) -> f64 {
    if gain.is_some() { hat * hat } else { 0.0 }
}

fn at(values: Option<&[f64]>, column: usize, absent: f64) -> f64 {
    values.map_or(absent, |values| values[column])
}

/// Applies a function (row, weight, bias, eps, output row) to every row.
fn rows(
    case: &Case,
    inputs: &Inputs,
    formula: impl Fn(&[f64], Option<&[f64]>, Option<&[f64]>, f64, &mut [f64]) + Sync,
) -> Result<Vec<f64>, Error> {
    let input = inputs.at(0);
    let normalised = ints_arg(case, "normalized_shape")?.unwrap_or_default().len();
    let len: usize = input.shape.iter().rev().take(normalised).product();
    let gain = inputs.get("weight").map(|dense| dense.values.as_slice());
    let bias = inputs.get("bias").map(|dense| dense.values.as_slice());
    let eps = number(case, "eps")?;
    let mut out = vec![0.0; input.values.len()];
    if len == 0 {
        return Ok(out);
    }
    parallel::fill(&mut out, len, |start, share| {
        for (number, row) in share.chunks_mut(len).enumerate() {
            let first = start + number * len;
            formula(&input.values[first..first + len], gain, bias, eps, row);
        }
    });
    Ok(out)
}
