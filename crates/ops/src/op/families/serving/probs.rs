//! Probabilities of the likeliest classes, renormalised.

use crate::{
    record::{DType, Gen, InputDistribution},
    reference::{Error, U},
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Locality, Param, Shaped,
        generators,
    },
    super::sum::sum,
    array, flat, of_type, positive, width,
};

/// The classes that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renorm {
    /// The k likeliest, and those as likely as the last of them.
    TopK,
    /// Those of which all likelier ones come to less than p.
    TopP,
}

/// Relative distance at which a result is that of another set.
const NEAR: f64 = 1e-5;

impl Renorm {
    /// Returns, for each class, whether it is kept.
    fn kept(self, call: &Call<'_>, row: &[f64]) -> Result<Vec<bool>, InferError> {
        if self == Self::TopK {
            let mut sorted = row.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let pivot = sorted[positive(call, "top_k")? - 1];
            return Ok(row.iter().map(|&p| p >= pivot).collect());
        }
        let top_p = call.number("top_p")?;
        Ok(likelier(row).into_iter().map(|sum| sum < top_p).collect())
    }
}

/// Returns, for each class, the sum of all that are likelier.
fn likelier(row: &[f64]) -> Vec<f64> {
    let mut places: Vec<usize> = (0..row.len()).collect();
    places.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
    let (mut sums, mut total, mut before) = (vec![0.0; row.len()], 0.0, 0.0);
    for (rank, &place) in places.iter().enumerate() {
        if rank > 0 && row[place] < row[places[rank - 1]] {
            before = total;
        }
        sums[place] = before;
        total += row[place];
    }
    sums
}

/// Divides the kept probabilities by their sum; zeros stay.
fn renormalised(row: &[f64], kept: &[bool]) -> Vec<f64> {
    let chosen: Vec<f64> =
        row.iter().zip(kept).map(|(&p, &kept)| if kept { p } else { 0.0 }).collect();
    let total = sum(chosen.iter().copied());
    let divisor = if total == 0.0 { 1.0 } else { total };
    chosen.into_iter().map(|p| p / divisor).collect()
}

impl Engine for Renorm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        of_type(call, "probs", DType::F32)?;
        let shape = &call.tensor("probs")?.shape;
        let &[_, classes] = shape.as_slice() else {
            return Err(InferError::shape("probs", shape, "[rows, n]"));
        };
        if *self == Self::TopK {
            let k = positive(call, "top_k")?;
            if k > classes.max(1) {
                return Err(InferError::value("top_k", k, format!("in 1..={classes}")));
            }
        } else {
            let p = call.number("top_p")?;
            if !(p > 0.0 && p <= 1.0) {
                return Err(InferError::value("top_p", p, "above 0 and at most 1"));
            }
        }
        Ok(vec![(DType::F32, shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let probs = inputs.get("probs")?;
        let mut out = Vec::with_capacity(probs.numel());
        for row in flat(probs).chunks(width(&probs.shape).max(1)) {
            out.extend(renormalised(row, &self.kept(call, row)?));
        }
        Ok(vec![array(&probs.shape, out)])
    }

    /// `y_i sqrt((1 - y_i)² + Σ y_j² - y_i²)` of the classes that are kept.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let mut outputs = self.evaluate(call, inputs)?;
        for mut row in outputs[0].rows_mut() {
            let squares = sum(row.iter().map(|y| y * y));
            row.mapv_inplace(|y| y * ((1.0 - y).powi(2) + squares - y * y).max(0.0).sqrt());
        }
        Ok(Some(outputs))
    }

    /// Probabilities are compared as they are.
    fn rounds_differences(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("probs").map_or(1, |spec| width(&spec.shape).max(1))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Rows(1)
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        4.0 * n_out as f64
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if call.case.distribution == InputDistribution::Ties {
            return Ok(Gen::Int { low: 0, high: 3 });
        }
        generators::by_role(self, call, param)
    }

    /// A class whose likelier ones come to `top_p`, within the rounding of their sum, may be kept or
    /// not.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Ok(probs), Ok(top_p), true) =
            (inputs.get("probs"), call.number("top_p"), self.leaves_choices())
        else {
            return;
        };
        let classes = width(&probs.shape).max(1);
        let reach = 4.0 * U * (classes as f64).sqrt();
        let ([got], [expected]) = (got, expected) else { return };
        let (Some(got), Some(expected)) = (got.as_slice_mut(), expected.as_slice()) else { return };
        let rows = got.chunks_mut(classes).zip(expected.chunks(classes));
        for ((got, expected), row) in rows.zip(flat(probs).chunks(classes)) {
            let kept: Vec<bool> = got.iter().map(|&y| y != 0.0).collect();
            let open = likelier(row).into_iter().map(|sum| (sum - top_p).abs() <= reach);
            let allowed = kept
                .iter()
                .zip(expected.iter().map(|&y| y != 0.0))
                .zip(open)
                .all(|((&kept, wanted), open)| kept == wanted || open);
            let other = renormalised(row, &kept);
            let near = got.iter().zip(&other).all(|(y, other)| (y - other).abs() <= NEAR * other);
            if allowed && near && kept.iter().zip(expected).any(|(&kept, &y)| kept != (y != 0.0)) {
                got.copy_from_slice(expected);
            }
        }
    }

    fn leaves_choices(&self) -> bool {
        *self == Self::TopP
    }
}
