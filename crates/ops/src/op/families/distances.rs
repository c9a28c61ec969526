//! Distances of all pairs of rows.

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Shaped, broadcast, unravel},
    reduce::floating,
    sum::sum,
};

/// Which pairs of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distances {
    /// Of a row of one tensor and a row of another, in each matrix.
    Between,
    /// Of two rows of one matrix, each pair once.
    Within,
}

/// The rows of a call, and the pairs by the output's index.
struct Rows {
    /// Shape of the output.
    shape: Vec<usize>,
    width: usize,
    p: f64,
}

fn order(call: &Call<'_>) -> Result<f64, InferError> {
    let p = call.number("p")?;
    if p >= 0.0 { Ok(p) } else { Err(InferError::value("p", p, "not negative")) }
}

/// The p-norm of a difference; infinities of one sign differ by NaN.
#[expect(clippy::float_cmp, reason = "orders with a formula of their own")]
fn distance(left: &[f64], right: &[f64], p: f64) -> f64 {
    let gaps = || left.iter().zip(right).map(|(left, right)| (left - right).abs());
    if p == 0.0 {
        gaps().map(|gap| f64::from(u8::from(gap != 0.0))).sum()
    } else if p.is_infinite() {
        gaps().fold(0.0, |most, gap| if gap.is_nan() || gap > most { gap } else { most })
    } else if p == 1.0 {
        sum(gaps())
    } else if p == 2.0 {
        sum(gaps().map(|gap| gap * gap)).sqrt()
    } else {
        sum(gaps().map(|gap| gap.powf(p))).powf(p.recip())
    }
}

impl Distances {
    fn rows(self, call: &Call<'_>) -> Result<Rows, InferError> {
        let p = order(call)?;
        if self == Self::Within {
            let spec = floating(call, "self")?;
            let &[n, width] = spec.shape.as_slice() else {
                return Err(InferError::shape("self", &spec.shape, "[n, k]"));
            };
            return Ok(Rows { shape: vec![n * n.saturating_sub(1) / 2], width, p });
        }
        let (left, right) = (floating(call, "x1")?, floating(call, "x2")?);
        if left.dtype != right.dtype {
            return Err(InferError::dtype("x2", right.dtype, left.dtype.name()));
        }
        if let Some(mode) = call.opt_int("compute_mode")?.filter(|mode| !(0..=2).contains(mode)) {
            return Err(InferError::value("compute_mode", mode, "0, 1 or 2"));
        }
        let [.., rows, width] = left.shape[..] else {
            return Err(InferError::shape("x1", &left.shape, "[.., m, k]"));
        };
        let wanted = format!("[.., n, {width}]");
        let [.., columns, other] = right.shape[..] else {
            return Err(InferError::shape("x2", &right.shape, wanted));
        };
        if other != width {
            return Err(InferError::shape("x2", &right.shape, wanted));
        }
        let batch = broadcast(&left.shape[..left.ndim() - 2], &right.shape[..right.ndim() - 2])?;
        Ok(Rows { shape: [batch.as_slice(), &[rows, columns]].concat(), width, p })
    }
}

/// Returns a tensor's matrices of a batch that it broadcasts to.
fn matrices(array: &Array, batch: &[usize]) -> Vec<f64> {
    let own = array.shape();
    let shape = [batch, &own[own.len() - 2..]].concat();
    let view = array.broadcast(IxDyn(&shape)).expect("the batch is what both broadcast to");
    view.iter().copied().collect()
}

impl Engine for Distances {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = call.first()?.dtype;
        Ok(vec![(dtype, self.rows(call)?.shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let Rows { shape, width, p } = self.rows(call)?;
        let values: Vec<f64> = if *self == Self::Within {
            let flat: Vec<f64> = inputs.get("self")?.array().iter().copied().collect();
            let n = inputs.get("self")?.shape[0];
            let row = |at: usize| &flat[at * width..(at + 1) * width];
            let pairs: Vec<(usize, usize)> =
                (0..n).flat_map(|left| (left + 1..n).map(move |right| (left, right))).collect();
            parallel::map(pairs.len(), &|pair| distance(row(pairs[pair].0), row(pairs[pair].1), p))
        } else {
            let batch = &shape[..shape.len() - 2];
            let left = matrices(inputs.get("x1")?.array(), batch);
            let right = matrices(inputs.get("x2")?.array(), batch);
            let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
            let element = |index: usize| {
                let position =
                    unravel(index, &[shape[..shape.len() - 2].iter().product(), rows, columns]);
                let (own, other) =
                    (position[0] * rows + position[1], position[0] * columns + position[2]);
                distance(&left[own * width..][..width], &right[other * width..][..width], p)
            };
            parallel::map(shape.iter().product(), &element)
        };
        Ok(vec![Array::from_shape_vec(IxDyn(&shape), values).expect("one value per pair")])
    }

    /// |y|: terms are positive, and differences, not inputs, are rounded.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let distances = self.evaluate(call, inputs)?;
        Ok(Some(distances.into_iter().map(|all| all.mapv(f64::abs)).collect()))
    }

    fn rounds_differences(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        self.rows(call).map_or(1, |rows| rows.width)
    }

    /// A difference counts for p = 0 whatever its number is.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        self.rows(call).is_ok_and(|rows| rows.p == 0.0).then_some(0)
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        3.0 * n_out as f64 * self.accumulation_len(call) as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e2 } else { 1e10 }
    }
}
