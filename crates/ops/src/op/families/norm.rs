//! Normalisation over the last dimensions.

use ndarray::IxDyn;
use rayon::prelude::*;

use crate::{record::DType, reference::Error};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Shaped},
    sum::sum,
};

/// Layer and root-mean-square normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowNorm {
    /// Mean and variance.
    Layer,
    /// Root of the mean square.
    Rms,
}

/// One row: its normalised elements and the factor that normalised them.
struct Row {
    /// `(x - mean) * scale`, or `x * scale`.
    hat: Vec<f64>,
    /// `1 / sqrt(var + eps)`.
    scale: f64,
}

fn normalise(norm: RowNorm, x: &[f64], eps: f64) -> Row {
    let n = x.len() as f64;
    let mean = match norm {
        RowNorm::Layer => sum(x.iter().copied()) / n,
        RowNorm::Rms => 0.0,
    };
    let square = sum(x.iter().map(|x| (x - mean).powi(2))) / n;
    let scale = 1.0 / (square + eps).sqrt();
    Row { hat: x.iter().map(|x| (x - mean) * scale).collect(), scale }
}

/// The rounding of a weight counts only where there is one.
fn gained(gain: Option<&[f64]>, hat: f64) -> f64 {
    if gain.is_some() { hat * hat } else { 0.0 }
}

fn at(values: Option<&[f64]>, column: usize, absent: f64) -> f64 {
    values.map_or(absent, |values| values[column])
}

/// eps of a call; left out, it is the machine epsilon of the input's type.
fn eps(call: &Call<'_>) -> Result<f64, InferError> {
    let (digits, _) = call.tensor("input")?.dtype.format().unwrap_or((23, 0));
    Ok(call.opt_number("eps")?.unwrap_or(2f64.powi(-digits)))
}

/// Applies a function (row, weight, bias, eps, output row) to every row.
fn rows(
    call: &Call<'_>,
    inputs: &Inputs<'_>,
    formula: impl Fn(&[f64], Option<&[f64]>, Option<&[f64]>, f64, &mut [f64]) + Sync,
) -> Result<Array, Error> {
    let input = inputs.get("input")?;
    let normalised = call.ints("normalized_shape")?.len();
    let len: usize = input.shape.iter().rev().take(normalised).product();
    let gain = inputs.opt("weight").and_then(|input| input.array().as_slice());
    let bias = inputs.opt("bias").and_then(|input| input.array().as_slice());
    let eps = eps(call)?;
    let mut out = vec![0.0; input.numel()];
    if len > 0 {
        let x = input.array().as_slice().unwrap_or(&[]);
        let rows = out.par_chunks_mut(len).zip(x.par_chunks(len));
        rows.for_each(|(out, x)| formula(x, gain, bias, eps, out));
    }
    Ok(Array::from_shape_vec(IxDyn(&input.shape), out).expect("one value per element"))
}

impl Engine for RowNorm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("input")?;
        if !spec.dtype.is_float() {
            return Err(InferError::dtype("input", spec.dtype, "a floating-point type"));
        }
        let normalised = call.ints("normalized_shape")?;
        let tail = &spec.shape[spec.ndim().saturating_sub(normalised.len())..];
        let fits = tail.iter().map(|&extent| i64::try_from(extent).unwrap_or(i64::MAX));
        if normalised.is_empty() || !fits.eq(normalised.iter().copied()) {
            let wanted = format!("[.., {normalised:?}] (not empty)");
            return Err(InferError::shape("input", &spec.shape, wanted));
        }
        for name in ["weight", "bias"] {
            let Some(tensor) = call.opt_tensor(name) else { continue };
            if tensor.dtype != spec.dtype {
                return Err(InferError::dtype(name, tensor.dtype, spec.dtype.name()));
            }
            if tensor.shape != tail {
                return Err(InferError::shape(name, &tensor.shape, format!("{tail:?}")));
            }
        }
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let out = rows(call, inputs, |x, gain, bias, eps, out| {
            let row = normalise(*self, x, eps);
            for (column, (out, hat)) in out.iter_mut().zip(row.hat).enumerate() {
                *out = hat * at(gain, column, 1.0) + at(bias, column, 0.0);
            }
        })?;
        Ok(vec![out])
    }

    /// `sqrt(w_j² scale² Σ_i ((δ_ij - (c + h_j h_i) / n) x_i)² + (w_j h_j)² + b_j²)` with c = 1
    /// where the mean is subtracted, else 0; h is the normalised row.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let centred = f64::from(u8::from(*self == Self::Layer));
        let out = rows(call, inputs, |x, gain, bias, eps, out| {
            let n = x.len() as f64;
            let Row { hat, scale } = normalise(*self, x, eps);
            let moment =
                |power: i32| sum(x.iter().zip(&hat).map(|(x, hat)| x * x * hat.powi(power)));
            let (plain, first, second) = (moment(0) * centred, moment(1) * centred, moment(2));
            for (column, (out, (&x, &hat))) in out.iter_mut().zip(x.iter().zip(&hat)).enumerate() {
                let others = (plain + 2.0 * hat * first + hat * hat * second) / (n * n);
                let own = x * x * (1.0 - 2.0 * (centred + hat * hat) / n);
                let moved = (own + others).max(0.0) * scale * scale;
                let weighted = at(gain, column, 1.0).powi(2) * (moved + gained(gain, hat));
                *out = (weighted + at(bias, column, 0.0).powi(2)).sqrt();
            }
        })?;
        Ok(Some(vec![out]))
    }

    /// The row's largest normalised value, with gain: sums over the row are as large, and a
    /// variance taken around any of its elements errs on that scale.
    fn hint(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let out = rows(call, inputs, |x, gain, bias, eps, out| {
            let Row { hat, .. } = normalise(*self, x, eps);
            let largest = hat.iter().filter(|hat| hat.is_finite());
            let largest = largest.fold(0.0_f64, |largest, hat| largest.max(hat.abs()));
            for (column, out) in out.iter_mut().enumerate() {
                let scale = (largest * at(gain, column, 1.0)).abs() + at(bias, column, 0.0).abs();
                *out = if scale.is_finite() { scale } else { 0.0 };
            }
        })?;
        Ok(Some(vec![out]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let (Ok(spec), Ok(normalised)) = (call.tensor("input"), call.ints("normalized_shape"))
        else {
            return 1;
        };
        spec.shape.iter().rev().take(normalised.len()).product()
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64 * if *self == Self::Layer { 8.0 } else { 4.0 }
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }
}
