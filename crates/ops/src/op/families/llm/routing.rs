//! Routing to experts: the largest probabilities of a softmax.

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::super::{
    super::{Array, Call, Engine, InferError, Inputs, Shaped},
    softmax::probabilities,
    sum::sum,
};

/// Softmax, then the k largest with their places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopkSoftmax;

/// Relative distance at which two probabilities may change places: some roundings of f32.
const NEAR: f64 = 1e-6;

/// Probabilities below this may be 0 in f32.
const TINY: f64 = 1e-37;

fn k(call: &Call<'_>) -> Result<usize, InferError> {
    let experts = call.tensor("gating")?.shape.last().copied().unwrap_or(0);
    let k = call.int("k")?;
    let wanted = format!("in 0..={experts}");
    usize::try_from(k)
        .ok()
        .filter(|&k| k <= experts)
        .ok_or_else(|| InferError::value("k", k, wanted))
}

/// Returns the probabilities of each row.
fn rows(inputs: &Inputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
    let input = inputs.get("gating")?;
    let experts = input.shape.last().copied().unwrap_or(1).max(1);
    let logits: Vec<f64> = input.array().iter().copied().collect();
    let row = |number: usize| probabilities(&logits[number * experts..][..experts]);
    Ok(parallel::map(logits.len() / experts, &row))
}

/// Returns the places of the k largest in falling order, the first of equal ones first.
fn largest(row: &[f64], k: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..row.len()).collect();
    places.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
    places.truncate(k);
    places
}

/// Returns the probabilities at some places, divided by their sum where asked for.
fn weights(row: &[f64], places: &[usize], renormalize: bool) -> Vec<f64> {
    let chosen: Vec<f64> = places.iter().map(|&place| row[place]).collect();
    let total = if renormalize { sum(chosen.iter().copied()) } else { 1.0 };
    chosen.into_iter().map(|p| p / total).collect()
}

/// Returns whether places of one row are a right choice: different ones, whose probabilities are,
/// within rounding, those of the reference's choice.
fn right(row: &[f64], got: &[f64], expected: &[usize]) -> bool {
    let mut seen = vec![false; row.len()];
    let near = |a: f64, b: f64| (a - b).abs() <= NEAR * b + TINY || (a.is_nan() && b.is_nan());
    got.iter().zip(expected).all(|(&place, &wanted)| {
        let place = (0..row.len()).find(|&at| (at as f64).total_cmp(&place).is_eq());
        place.is_some_and(|place| {
            !std::mem::replace(&mut seen[place], true) && near(row[place], row[wanted])
        })
    })
}

impl Engine for TopkSoftmax {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("gating")?;
        if !spec.dtype.is_float() {
            return Err(InferError::dtype("gating", spec.dtype, "a floating-point type"));
        }
        if spec.ndim() == 0 {
            return Err(InferError::shape("gating", &[], "[.., experts]"));
        }
        call.bool("renormalize")?;
        let mut shape = spec.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = k(call)?;
        }
        let dtype = if spec.dtype == DType::F64 { DType::F64 } else { DType::F32 };
        Ok(vec![(dtype, shape.clone()), (DType::I64, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (k, renormalize) = (k(call)?, call.bool("renormalize")?);
        let (mut values, mut indices) = (Vec::new(), Vec::new());
        for row in rows(inputs)? {
            let places = largest(&row, k);
            values.extend(weights(&row, &places, renormalize));
            indices.extend(places.into_iter().map(|place| place as f64));
        }
        let mut shape = inputs.get("gating")?.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = k;
        }
        let array =
            |values| Array::from_shape_vec(IxDyn(&shape), values).expect("k values per row");
        Ok(vec![array(values), array(indices)])
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("gating").ok().and_then(|spec| spec.shape.last().copied()).unwrap_or(1)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        6.0 * call.tensor("gating").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn large(&self, _dtype: DType) -> f64 {
        1e4
    }

    fn shifted(&self) -> (f64, f64) {
        (1000.0, 3.0)
    }

    /// Which of equal probabilities is chosen is open, within rounding.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Ok(k), Ok(rows)) = (k(call), rows(inputs)) else { return };
        let ([_, indices], [_, wanted]) = (got, expected) else { return };
        let (Some(indices), Some(wanted)) = (indices.as_slice_mut(), wanted.as_slice()) else {
            return;
        };
        if k == 0 {
            return;
        }
        let pairs = indices.chunks_exact_mut(k).zip(wanted.chunks_exact(k));
        for ((got, wanted), row) in pairs.zip(&rows) {
            if right(row, got, &largest(row, k)) {
                got.copy_from_slice(wanted);
            }
        }
    }

    fn leaves_choices(&self) -> bool {
        true
    }
}
