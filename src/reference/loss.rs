//! Losses.

use crate::{
    op::{broadcast, int_arg},
    record::Case,
};

use super::{
    Error,
    softmax::{maximum, probabilities},
    sum::sum,
    values::{Inputs, number},
};

/// What a loss does with its per-element or per-row values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reduction {
    Keep,
    Mean,
    Sum,
}

fn reduction(case: &Case) -> Result<Reduction, Error> {
    Ok(match int_arg(case, "reduction")? {
        0 => Reduction::Keep,
        1 => Reduction::Mean,
        _ => Reduction::Sum,
    })
}

/// Reduces values of which `count` take part in a mean.
fn reduce(reduction: Reduction, values: Vec<f64>, count: usize) -> Vec<f64> {
    match reduction {
        Reduction::Keep => values,
        Reduction::Mean => vec![sum(values) / count as f64],
        Reduction::Sum => vec![sum(values)],
    }
}

/// Reduces the spreads of independent values: squares add up.
fn reduce_spread(reduction: Reduction, spread: Vec<f64>, count: usize) -> Vec<f64> {
    let total = |spread: Vec<f64>| sum(spread.into_iter().map(|spread| spread * spread)).sqrt();
    match reduction {
        Reduction::Keep => spread,
        Reduction::Mean => vec![total(spread) / count as f64],
        Reduction::Sum => vec![total(spread)],
    }
}

fn pairs(inputs: &Inputs, formula: impl Fn(f64, f64) -> f64) -> Result<Vec<f64>, Error> {
    let (left, right) = (inputs.at(0), inputs.at(1));
    let shape = broadcast(&left.shape, &right.shape)?;
    let (left, right) = (left.broadcast(&shape), right.broadcast(&shape));
    Ok(left.iter().zip(right.iter()).map(|(&x, &y)| formula(x, y)).collect())
}

pub(super) fn mse(case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let values = pairs(inputs, |x, y| (x - y).powi(2))?;
    let count = values.len();
    Ok(reduce(reduction(case)?, values, count))
}

/// `2 |x - y| sqrt(x² + y²)` per element.
pub(super) fn mse_spread(case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let spread = pairs(inputs, |x, y| 2.0 * (x - y).abs() * x.hypot(y))?;
    let count = spread.len();
    Ok(reduce_spread(reduction(case)?, spread, count))
}

/// The rows of logits that count, and how.
struct Rows<'a> {
    logits: &'a [f64],
    classes: usize,
    /// The class of each row; `None` where it is ignored.
    targets: Vec<Option<usize>>,
    smoothing: f64,
}

impl<'a> Rows<'a> {
    fn read(case: &Case, inputs: &'a Inputs) -> Result<Self, Error> {
        let logits = inputs.at(0);
        let classes = logits.shape[1];
        let ignored = int_arg(case, "ignore_index")?;
        let class = |(row, &target): (usize, &f64)| {
            #[expect(clippy::cast_possible_truncation, reason = "targets are small integers")]
            let target = target as i64;
            if target == ignored {
                return Ok(None);
            }
            match usize::try_from(target) {
                Ok(class) if class < classes => Ok(Some(class)),
                _ => Err(Error::Target { row, target, classes }),
            }
        };
        let targets = inputs.at(1).values.iter().enumerate().map(class);
        Ok(Self {
            logits: &logits.values,
            classes,
            targets: targets.collect::<Result<_, _>>()?,
            smoothing: number(case, "label_smoothing")?,
        })
    }

    fn n_counted(&self) -> usize {
        self.targets.iter().flatten().count()
    }

    /// Applies a function of a row and its class; ignored rows give 0.
    fn map(&self, formula: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
        let rows = self.logits.chunks_exact(self.classes).zip(&self.targets);
        rows.map(|(row, target)| target.map_or(0.0, |target| formula(row, target))).collect()
    }
}

pub(super) fn cross_entropy(case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let rows = Rows::read(case, inputs)?;
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
    Ok(reduce(reduction(case)?, losses, rows.n_counted()))
}

/// `sqrt(Σ_i ((p_i - q_i) x_i)²)` per row, q the smoothed target.
pub(super) fn cross_entropy_spread(case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let rows = Rows::read(case, inputs)?;
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
    Ok(reduce_spread(reduction(case)?, spread, rows.n_counted()))
}

/// The largest finite |logit| of each row, at least 1: `x - max - log(Σ)` cancels where the target
/// has nearly all of the probability.
pub(super) fn cross_entropy_hint(case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let rows = Rows::read(case, inputs)?;
    let scale = rows.map(|row, _| {
        row.iter().filter(|x| x.is_finite()).fold(1.0, |scale, x| x.abs().max(scale))
    });
    Ok(reduce(reduction(case)?, scale, rows.n_counted().max(1)))
}
