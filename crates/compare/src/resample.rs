//! Intervals by resampling ops.
//!
//! Ops differ between one suite and the next, and all samples of an op share the traits that make it
//! hard: so whole ops are drawn, with all their samples (the cluster bootstrap). Every statistic
//! here is a function of per-op numbers, so that one set of draws serves them all.
//!
//! The ends are percentiles, taken further out than 2.5 % by as much as a t interval is wider than a
//! normal one. Plain percentiles cover too little with few ops; BCa would correct a skew that it has to
//! estimate from the same few ops, and breaks where nearly all ops are solved or none.
//!
//! Source: Davison and Hinkley, Bootstrap Methods, 3.8 (clusters); Hesterberg, What Teachers Should
//! Know about the Bootstrap, 2015 (expanded percentiles); Clopper and Pearson 1934.

use kgen_measure::stats::{quantile, sorted, two_sided_tail};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{MIN_OPS, summary::Estimate};

/// Draws behind every interval.
pub(crate) const N_DRAWS: usize = 2000;

/// Seed of all draws.
const SEED: u64 = 0x6b67_656e;

/// A 97.5 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Draws of so many ops with replacement: how often each draw has each op.
pub(crate) struct Draws {
    n_ops: usize,
    counts: Vec<u16>,
}

/// The input of a statistic, per op: the ratio of the sums of both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Column {
    /// The op's part above.
    pub(crate) above: Vec<f64>,
    /// Its part below; 0 leaves it out, 1 makes the ratio a mean.
    pub(crate) below: Vec<f64>,
}

impl Column {
    /// Makes a column of means: an op without one is left out.
    pub(crate) fn of_means(means: impl Iterator<Item = Option<f64>>) -> Self {
        let parts = means.map(|mean| (mean.unwrap_or(0.0), f64::from(u8::from(mean.is_some()))));
        let (above, below) = parts.unzip();
        Self { above, below }
    }

    /// The ops that carry it.
    fn n_ops(&self) -> usize {
        self.below.iter().filter(|part| **part > 0.0).count()
    }

    fn value(&self) -> Option<f64> {
        ratio(self.above.iter().sum(), self.below.iter().sum())
    }

    /// Returns whether all ops that carry it have this mean.
    fn is_all(&self, value: f64) -> bool {
        let pairs = self.above.iter().zip(&self.below);
        pairs
            .filter(|(_, below)| **below > 0.0)
            .all(|(above, below)| (above - value * below).abs() <= 1e-12 * below)
    }
}

fn ratio(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then_some(above / below)
}

impl Draws {
    /// Draws from so many ops.
    pub(crate) fn new(n_ops: usize) -> Self {
        let mut counts = vec![0_u16; if n_ops < MIN_OPS { 0 } else { N_DRAWS * n_ops }];
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        for draw in counts.chunks_exact_mut(n_ops.max(1)) {
            for _ in 0..n_ops {
                draw[below(&mut rng, n_ops)] += 1;
            }
        }
        Self { n_ops, counts }
    }

    fn iter(&self) -> impl Iterator<Item = &[u16]> {
        self.counts.chunks_exact(self.n_ops.max(1))
    }

    /// Estimates a share: a mean of numbers in 0 to 1.
    ///
    /// Where all ops agree on 0 or 1 there is nothing to resample: the other end is then that of the
    /// exact interval for so many ops.
    pub(crate) fn share(&self, column: &Column) -> Option<Estimate> {
        let estimate = self.mean(column, |mean| mean)?;
        let n = column.n_ops();
        if n < MIN_OPS {
            return Some(estimate);
        }
        let far = 0.025_f64.powf(1.0 / count(n));
        Some(if column.is_all(1.0) {
            Estimate { low: Some(far), high: Some(1.0), ..estimate }
        } else if column.is_all(0.0) {
            Estimate { low: Some(0.0), high: Some(1.0 - far), ..estimate }
        } else {
            estimate
        })
    }

    /// Estimates a mean or a ratio, as `shown` turns it into the shown value (a logarithm into a
    /// factor); it must not decrease. `None` where no op carries it.
    pub(crate) fn mean(&self, column: &Column, shown: fn(f64) -> f64) -> Option<Estimate> {
        let drawn = |draw: &[u16]| {
            let (mut above, mut below) = (0.0, 0.0);
            for ((a, b), n) in column.above.iter().zip(&column.below).zip(draw) {
                above += a * f64::from(*n);
                below += b * f64::from(*n);
            }
            ratio(above, below)
        };
        self.estimate(column.value()?, column.n_ops(), drawn, shown)
    }

    /// Estimates a difference or the logarithm of a factor. Where all ops agree there is no
    /// interval: resampling them shows nothing.
    pub(crate) fn difference(
        &self,
        differences: &[f64],
        shown: fn(f64) -> f64,
    ) -> Option<Estimate> {
        let column = Column::of_means(differences.iter().copied().map(Some));
        let estimate = self.mean(&column, shown)?;
        let agreed = column.is_all(*differences.first()?);
        Some(if agreed { Estimate { low: None, high: None, ..estimate } } else { estimate })
    }

    /// Estimates the median over the ops that have a value.
    pub(crate) fn median(&self, values: &[Option<f64>]) -> Option<Estimate> {
        let present = values.iter().enumerate().filter_map(|(op, value)| Some(((*value)?, op)));
        let mut ascending: Vec<(f64, usize)> = present.collect();
        ascending.sort_by(|a, b| a.0.total_cmp(&b.0));
        let value = quantile(&ascending.iter().map(|(value, _)| *value).collect::<Vec<_>>(), 0.5)?;
        let drawn = |draw: &[u16]| {
            let total: usize = ascending.iter().map(|(_, op)| usize::from(draw[*op])).sum();
            // The two in the middle, which are one where the total is odd.
            let at = |rank: usize| {
                let mut seen = 0;
                ascending.iter().find_map(|(value, op)| {
                    seen += usize::from(draw[*op]);
                    (rank < seen).then_some(*value)
                })
            };
            Some(f64::midpoint(at(total.checked_sub(1)? / 2)?, at(total / 2)?))
        };
        self.estimate(value, ascending.len(), drawn, |median| median)
    }

    fn estimate(
        &self,
        value: f64,
        n_ops: usize,
        drawn: impl Fn(&[u16]) -> Option<f64>,
        shown: fn(f64) -> f64,
    ) -> Option<Estimate> {
        let value = shown(value);
        let unknown = Estimate { value, low: None, high: None, n_ops };
        if n_ops < MIN_OPS {
            return Some(unknown);
        }
        // A draw that has none of the ops that carry it says nothing.
        let ascending = sorted(&self.iter().filter_map(drawn).collect::<Vec<f64>>());
        let tail = expanded_tail(n_ops);
        let end = |q: f64| quantile(&ascending, q).map(shown);
        Some(Estimate { low: end(tail), high: end(1.0 - tail), ..unknown })
    }
}

/// Returns a number below `n`, of at most 2^32; its bias is far below the noise of draws.
fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    let product = u64::from(rng.next_u32()) * n as u64;
    usize::try_from(product >> 32).expect("it is below a usize")
}

/// Returns the percentile to take in place of 2.5 %: that of a normal distribution at the t
/// interval's end, stretched as dividing by `n` and not `n - 1` makes draws too narrow.
fn expanded_tail(n_ops: usize) -> f64 {
    let n = count(n_ops);
    let end = (n / (n - 1.0)).sqrt() * t_quantile(n - 1.0);
    two_sided_tail(end) / 2.0
}

/// Returns the 97.5 % quantile of Student's distribution with at least 4 degrees of freedom, to three
/// digits.
///
/// Source: Abramowitz and Stegun 26.7.5.
fn t_quantile(freedom: f64) -> f64 {
    let z = |power: i32| Z.powi(power);
    Z + (z(3) + Z) / (4.0 * freedom)
        + (5.0 * z(5) + 16.0 * z(3) + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * z(7) + 19.0 * z(5) + 17.0 * z(3) - 15.0 * Z) / (384.0 * freedom.powi(3))
        + (79.0 * z(9) + 776.0 * z(7) + 1482.0 * z(5) - 1920.0 * z(3) - 945.0 * Z)
            / (92_160.0 * freedom.powi(4))
}

#[expect(clippy::cast_precision_loss, reason = "counts of ops and samples are small")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_are_those_of_scipy() {
        // scipy.stats.t.ppf(0.975, n)
        for (freedom, expected) in
            [(4.0, 2.776_445), (9.0, 2.262_157), (29.0, 2.045_230), (999.0, 1.962_341)]
        {
            let found = t_quantile(freedom);
            assert!((found - expected).abs() < 2e-3, "{freedom}: {found}");
        }
        assert!(expanded_tail(5) < 0.002 && (expanded_tail(10_000) - 0.025).abs() < 1e-4);
    }

    #[test]
    fn draws_are_whole_ops_and_always_the_same() {
        let draws = Draws::new(7);
        assert_eq!(draws.iter().count(), N_DRAWS);
        assert!(draws.iter().all(|draw| draw.iter().sum::<u16>() == 7));
        assert_eq!(draws.counts, Draws::new(7).counts);
        let mean = draws.counts.iter().map(|n| f64::from(*n)).sum::<f64>() / 14_000.0;
        assert!((mean - 1.0).abs() < 1e-12);
        let first: f64 = draws.iter().map(|draw| f64::from(draw[0])).sum::<f64>() / 2000.0;
        assert!((first - 1.0).abs() < 0.1, "{first}");
    }

    #[test]
    fn few_ops_have_no_interval_and_agreement_has_the_exact_one() {
        let ones = |n: usize| Column { above: vec![1.0; n], below: vec![1.0; n] };
        let few = Draws::new(4).share(&ones(4)).unwrap();
        assert_eq!((few.n_ops, few.interval()), (4, None));
        let all = Draws::new(20).share(&ones(20)).unwrap();
        // scipy.stats.binomtest(20, 20).proportion_ci(method="exact")
        assert!((all.low.unwrap() - 0.831_566_5).abs() < 1e-6 && all.high == Some(1.0), "{all:?}");
        let none = Draws::new(20).share(&Column { above: vec![0.0; 20], below: vec![1.0; 20] });
        assert!((none.unwrap().high.unwrap() - 0.168_433_5).abs() < 1e-6);
        assert_eq!(Draws::new(6).share(&Column { above: vec![0.0; 6], below: vec![0.0; 6] }), None);
        assert_eq!(Draws::new(6).difference(&[0.0; 6], |d| d).unwrap().interval(), None);
    }

    #[test]
    fn medians_of_draws_are_medians() {
        let values: Vec<Option<f64>> = (0..9).map(|n| (n != 4).then(|| f64::from(n))).collect();
        let found = Draws::new(9).median(&values).unwrap();
        assert!((found.value - 4.0).abs() < 1e-12 && found.n_ops == 8, "{found:?}");
        let [low, high] = found.interval().unwrap();
        assert!((0.0..=2.5).contains(&low) && (5.5..=8.0).contains(&high), "{found:?}");
        assert_eq!(Draws::new(3).median(&[None, None, None]), None);
    }
}
