//! Losses: per-element or per-row values, kept, averaged or summed.

use ndarray::IxDyn;

use crate::{record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, InferError, Inputs, Param, Role, Shaped, generators::EXACT_SUM,
        integer_limit, promote, sum_limit,
    },
    pointwise::apply,
    softmax::{maximum, probabilities},
    sum::sum,
};

/// What a loss does with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Returns them.
    Keep,
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
}

impl Reduction {
    /// Reads a loss's `reduction`: 0 none, 1 mean, 2 sum.
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, InferError> {
        match call.int("reduction")? {
            0 => Ok(Self::Keep),
            1 => Ok(Self::Mean),
            2 => Ok(Self::Sum),
            other => {
                let wanted = "0 (none), 1 (mean) or 2 (sum)";
                Err(InferError::value("reduction", other, wanted))
            }
        }
    }

    /// Returns the shape that is left of a shape.
    pub(crate) fn shape(self, shape: &[usize]) -> Vec<usize> {
        if self == Self::Keep { shape.to_vec() } else { Vec::new() }
    }

    /// Reduces values of which `count` (their number, or the sum of their weights) take part in a
    /// mean.
    pub(crate) fn apply(self, values: Array, count: f64) -> Array {
        let total = |values: Array| sum(values.iter().copied());
        match self {
            Self::Keep => values,
            Self::Mean => scalar(total(values) / count),
            Self::Sum => scalar(total(values)),
        }
    }

    /// Reduces the spreads of independent values: squares add up.
    pub(crate) fn spread(self, spread: Array, count: f64) -> Array {
        let total = |spread: Array| sum(spread.iter().map(|spread| spread * spread)).sqrt();
        match self {
            Self::Keep => spread,
            Self::Mean => scalar(total(spread) / count),
            Self::Sum => scalar(total(spread)),
        }
    }
}

fn scalar(value: f64) -> Array {
    Array::from_elem(IxDyn(&[]), value)
}

/// Squared difference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mse;

impl Engine for Mse {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let (left, right) = (call.tensor("self")?, call.tensor("target")?);
        if left.shape != right.shape {
            let wanted = format!("{:?}, that of self", left.shape);
            return Err(InferError::shape("target", &right.shape, wanted));
        }
        let dtype = promote([left, right], &[]);
        if !dtype.is_float() {
            return Err(InferError::dtype("self", dtype, "a floating-point type"));
        }
        Ok(vec![(dtype, Reduction::of(call)?.shape(&left.shape))])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let operands = [inputs.get("self")?, inputs.get("target")?];
        let values = apply(&operands, |at| (at[0] - at[1]).powi(2))?;
        let count = values.len() as f64;
        Ok(vec![Reduction::of(call)?.apply(values, count)])
    }

    /// `2 |x - y| sqrt(x² + y²)` per element.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let operands = [inputs.get("self")?, inputs.get("target")?];
        let spread = apply(&operands, |at| 2.0 * (at[0] - at[1]).abs() * at[0].hypot(at[1]))?;
        let count = spread.len() as f64;
        Ok(Some(vec![Reduction::of(call)?.spread(spread, count)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        match Reduction::of(call) {
            Ok(Reduction::Keep) => 1,
            _ => call.tensor("self").map_or(1, |spec| spec.numel()),
        }
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        3.0 * call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 150.0 } else { 1e15 }
    }

    fn exact(
        &self,
        call: &Call<'_>,
        _role: Role,
        row: usize,
    ) -> Result<(usize, usize), &'static str> {
        let len = self.accumulation_len(call).max(1);
        let dtype = call.case.dtype;
        let reduction = Reduction::of(call).unwrap_or(Reduction::Keep);
        if reduction == Reduction::Mean && !len.is_power_of_two() {
            return Err("a mean is exact only over a power of two");
        }
        let sum = if reduction == Reduction::Sum { sum_limit(dtype) } else { EXACT_SUM };
        Ok(((sum / len).isqrt().div_euclid(2).min(integer_limit(dtype) / 2), row))
    }
}

/// Negative log-likelihood of softmax at a class index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrossEntropy;

/// The rows of logits that count, and how.
struct Rows<'a> {
    logits: &'a [f64],
    classes: usize,
    /// The class of each row; `None` where it is ignored.
    targets: Vec<Option<usize>>,
    smoothing: f64,
}

impl<'a> Rows<'a> {
    fn read(call: &Call<'_>, inputs: &'a Inputs<'_>) -> Result<Self, Error> {
        let logits = inputs.get("self")?;
        let classes = logits.shape[1];
        let ignored = call.int("ignore_index")?;
        let class = |(row, &target): (usize, &f64)| {
            #[expect(clippy::cast_possible_truncation, reason = "targets are small integers")]
            let target = target as i64;
            if target == ignored {
                return Ok(None);
            }
            match usize::try_from(target) {
                Ok(class) if class < classes => Ok(Some(class)),
                _ => Err(Error::Index {
                    name: "target".to_owned(),
                    at: row,
                    index: target,
                    bound: classes,
                }),
            }
        };
        let targets = inputs.get("target")?.array().iter().enumerate().map(class);
        Ok(Self {
            targets: targets.collect::<Result<_, _>>()?,
            logits: logits.array().as_slice().unwrap_or(&[]),
            classes,
            smoothing: call.number("label_smoothing")?,
        })
    }

    fn n_counted(&self) -> usize {
        self.targets.iter().flatten().count()
    }

    /// Applies a function of a row and its class; ignored rows give 0.
    fn map(&self, formula: impl Fn(&[f64], usize) -> f64) -> Array {
        let rows = self.logits.chunks_exact(self.classes).zip(&self.targets);
        let values: Vec<f64> =
            rows.map(|(row, target)| target.map_or(0.0, |target| formula(row, target))).collect();
        Array::from_shape_vec(IxDyn(&[values.len()]), values).expect("one value per row")
    }
}

impl Engine for CrossEntropy {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        let &[n, classes] = spec.shape.as_slice() else {
            return Err(InferError::shape("self", &spec.shape, "[n, c]"));
        };
        if classes == 0 {
            return Err(InferError::shape("self", &spec.shape, "[n, c] with c at least 1"));
        }
        let target = call.tensor("target")?;
        if target.dtype != DType::I64 {
            return Err(InferError::dtype("target", target.dtype, "i64"));
        }
        if target.shape != [n] {
            return Err(InferError::shape("target", &target.shape, format!("[{n}]")));
        }
        if call.opt_tensor("weight").is_some() {
            let wanted = "left out: class weights are not supported";
            return Err(InferError::value("weight", "a tensor", wanted));
        }
        Ok(vec![(spec.dtype, Reduction::of(call)?.shape(&[n]))])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let rows = Rows::read(call, inputs)?;
        let smoothing = rows.smoothing;
        let losses = rows.map(|row, target| {
            let max = maximum(row);
            let log_total = sum(row.iter().map(|x| (x - max).exp())).ln();
            let log_p = |x: f64| (x - max) - log_total;
            let own = -(1.0 - smoothing) * log_p(row[target]);
            if smoothing == 0.0 {
                return own;
            }
            own - smoothing / row.len() as f64 * sum(row.iter().map(|&x| log_p(x)))
        });
        Ok(vec![Reduction::of(call)?.apply(losses, rows.n_counted() as f64)])
    }

    /// `sqrt(Σ_i ((p_i - q_i) x_i)²)` per row, q the smoothed target.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let rows = Rows::read(call, inputs)?;
        let smoothing = rows.smoothing;
        let spread = rows.map(|row, target| {
            let p = probabilities(row);
            let rest = smoothing / row.len() as f64;
            let square = |(class, (&x, &p)): (usize, (&f64, &f64))| {
                let wanted = if class == target { 1.0 - smoothing + rest } else { rest };
                if x.is_finite() { ((p - wanted) * x).powi(2) } else { 0.0 }
            };
            sum(row.iter().zip(&p).enumerate().map(square)).sqrt()
        });
        Ok(Some(vec![Reduction::of(call)?.spread(spread, rows.n_counted() as f64)]))
    }

    /// The largest finite |logit| of each row, at least 1: `x - max - log(Σ)` cancels where the
    /// target has nearly all of the probability.
    fn hint(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let rows = Rows::read(call, inputs)?;
        let scale = rows.map(|row, _| {
            row.iter().filter(|x| x.is_finite()).fold(1.0, |scale, x| x.abs().max(scale))
        });
        let count = rows.n_counted().max(1) as f64;
        Ok(Some(vec![Reduction::of(call)?.apply(scale, count)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("self").ok().and_then(|spec| spec.shape.iter().copied().max()).unwrap_or(1)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        4.0 * call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        let classes = call.tensor("self").ok().and_then(|spec| spec.shape.get(1).copied());
        classes.unwrap_or(1) as u64
    }

    fn large(&self, _dtype: DType) -> f64 {
        1e4
    }

    fn shifted(&self) -> (f64, f64) {
        (1000.0, 3.0)
    }
}
