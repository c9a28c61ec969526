//! The ratio of two implementations from paired samples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::{Centre, centre, median, signed_rank};

/// The smallest difference that matters, as a share: ratios between 1/1.01 and 1.01 are the same.
pub const PRACTICAL: f64 = 0.01;

/// The level of the test and, as its complement, of the interval.
const LEVEL: f64 = 0.01;

/// Normal quantile of the interval.
pub(crate) const ERRORS: f64 = 2.576;

/// The verdict of the samples on the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeVerdict {
    /// Faster than the baseline by more than [`PRACTICAL`].
    Faster,
    /// Slower by more than that.
    Slower,
    /// Neither is faster by more than that.
    Same,
    /// The samples do not decide.
    Ambiguous,
}

impl TimeVerdict {
    /// Its name in tables and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// Judges an interval of the speedup and a p value, each at its 1 % level.
    #[must_use]
    pub fn of([low, high]: [f64; 2], p: f64) -> Self {
        let [least, most] = [1.0 / (1.0 + PRACTICAL), 1.0 + PRACTICAL];
        if low > most && p < LEVEL {
            Self::Faster
        } else if high < least && p < LEVEL {
            Self::Slower
        } else if low >= least && high <= most {
            Self::Same
        } else {
            Self::Ambiguous
        }
    }
}

/// Candidate against baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Time of the baseline over that of the candidate: above 1 the candidate is faster.
    pub speedup: f64,
    /// Its 99 % interval.
    pub ci: [f64; 2],
    /// Two-sided p value of the signed-rank test that the ratio is 1.
    pub p: f64,
    /// The conclusion.
    pub verdict: TimeVerdict,
    /// Blocks it rests on.
    pub n_blocks: u32,
}

impl Comparison {
    /// Compares from blocks `[a1, b1, b2, a2]`, where `a` are times of the baseline and `b` of the
    /// candidate, `a1` beside `b1` and `a2` beside `b2` in time.
    ///
    /// Of each block counts half the sum of its two log ratios, which a linear drift of the clock
    /// leaves as it is. The speedup is the exponential of their Hodges-Lehmann centre, the interval
    /// that of the ratios which Wilcoxon's test does not reject, and p is that of the ratio 1: one
    /// set of ranks decides all three. `None` without blocks or with a time that is not positive and
    /// finite.
    #[must_use]
    pub fn of(blocks: &[[f64; 4]]) -> Option<Self> {
        let ratios = log_ratios(blocks)?;
        let Centre { estimate, interval } = centre(&ratios, ERRORS)?;
        let (speedup, ci) = (estimate.exp(), interval.map(f64::exp));
        let p = signed_rank(&ratios).p;
        let n_blocks = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        Some(Self { speedup, ci, p, verdict: TimeVerdict::of(ci, p), n_blocks })
    }

    /// Returns the comparison seen from the other arm: the candidate's time over the baseline's.
    #[must_use]
    pub fn swapped(&self) -> Self {
        let ci = [1.0 / self.ci[1], 1.0 / self.ci[0]];
        Self { speedup: 1.0 / self.speedup, ci, verdict: TimeVerdict::of(ci, self.p), ..*self }
    }

    /// Joins comparisons of the same two arms from several processes; `None` without any.
    ///
    /// The speedup is the median of theirs. The interval reaches from the lowest to the highest
    /// bound and p is the largest, so that a verdict stands only if it would in every process.
    #[must_use]
    pub fn across(parts: &[Self]) -> Option<Self> {
        let speedups: Vec<f64> = parts.iter().map(|part| part.speedup).collect();
        let speedup = median(&speedups)?;
        let low = parts.iter().map(|part| part.ci[0]).fold(f64::INFINITY, f64::min);
        let high = parts.iter().map(|part| part.ci[1]).fold(f64::NEG_INFINITY, f64::max);
        let p = parts.iter().map(|part| part.p).fold(0.0, f64::max);
        let n_blocks = parts.iter().map(|part| part.n_blocks).sum();
        let ci = [low, high];
        Some(Self { speedup, ci, p, verdict: TimeVerdict::of(ci, p), n_blocks })
    }
}

/// One log ratio per block; `None` with a time that is not positive and finite.
pub(crate) fn log_ratios(blocks: &[[f64; 4]]) -> Option<Vec<f64>> {
    let is_time = |time: &f64| time.is_finite() && *time > 0.0;
    blocks
        .iter()
        .map(|block| {
            let [a1, b1, b2, a2] = block;
            block.iter().all(is_time).then(|| 0.5 * ((a1 / b1).ln() + (a2 / b2).ln()))
        })
        .collect()
}

/// Rebuilds the blocks from the samples of the two arms, each in the order taken.
///
/// `width` samples make one position of a block, of which the median counts. Samples that do not
/// fill a block are left out.
#[must_use]
pub fn blocks_of(baseline: &[f64], candidate: &[f64], width: u32) -> Vec<[f64; 4]> {
    let width = usize::try_from(width).unwrap_or(usize::MAX).max(1);
    let position = |samples: &[f64]| median(samples).unwrap_or(f64::NAN);
    baseline
        .chunks_exact(2 * width)
        .zip(candidate.chunks_exact(2 * width))
        .map(|(a, b)| {
            let (a1, a2) = a.split_at(width);
            let (b1, b2) = b.split_at(width);
            [position(a1), position(b1), position(b2), position(a2)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_linear_drift_cancels_in_each_block() {
        // The clock slows down by 1 % per sample; both arms take 10 µs at its start.
        let time = |position: i32| 10.0 * 1.01f64.powi(position);
        let blocks: Vec<[f64; 4]> =
            (0..16).map(|block| [0, 1, 2, 3].map(|i| time(4 * block + i))).collect();
        let found = Comparison::of(&blocks).unwrap();
        assert!(close(found.speedup, 1.0) && close(found.ci[0], 1.0) && close(found.ci[1], 1.0));
        assert_eq!(found.verdict, TimeVerdict::Same);
    }

    #[test]
    fn swapped_arms_give_the_mirrored_verdict() {
        let blocks: Vec<[f64; 4]> =
            (0..16).map(|i| [20.0 + 0.01 * f64::from(i), 10.0, 10.0, 20.0]).collect();
        let swapped: Vec<[f64; 4]> = blocks.iter().map(|[a, b, c, d]| [*b, *a, *d, *c]).collect();
        let (forth, back) = (Comparison::of(&blocks).unwrap(), Comparison::of(&swapped).unwrap());
        assert_eq!((forth.verdict, back.verdict), (TimeVerdict::Faster, TimeVerdict::Slower));
        assert!(close(forth.speedup * back.speedup, 1.0));
        assert!(close(forth.p, back.p));
        assert_eq!(forth.swapped().verdict, back.verdict);
        assert!(close(forth.swapped().ci[0], back.ci[0]));
    }

    #[test]
    fn verdicts_need_interval_and_test() {
        use TimeVerdict::{Ambiguous, Faster, Same, Slower};
        for (ci, p, verdict) in [
            ([1.011, 1.03], 1e-4, Faster),
            ([1.011, 1.03], 0.02, Ambiguous),
            ([1.009, 1.03], 1e-4, Ambiguous),
            ([0.95, 0.99], 1e-4, Slower),
            ([0.95, 0.9905], 1e-4, Ambiguous),
            ([0.995, 1.005], 1e-4, Same),
            ([0.98, 1.005], 0.5, Ambiguous),
        ] {
            assert_eq!(TimeVerdict::of(ci, p), verdict, "{ci:?}, p = {p}");
        }
    }

    #[test]
    fn blocks_come_back_from_stored_samples() {
        assert_eq!(blocks_of(&[1.0, 4.0, 5.0], &[2.0, 3.0, 6.0], 1), [[1.0, 2.0, 3.0, 4.0]]);
        let baseline = [1.0, 2.0, 9.0, 4.0, 4.0, 5.0];
        let candidate = [6.0, 7.0, 8.0, 9.0, 9.0, 0.5];
        assert_eq!(blocks_of(&baseline, &candidate, 3), [[2.0, 7.0, 9.0, 4.0]]);
    }

    #[test]
    fn processes_must_agree() {
        let part = |speedup: f64, ci: [f64; 2]| Comparison {
            speedup,
            ci,
            p: 1e-6,
            verdict: TimeVerdict::of(ci, 1e-6),
            n_blocks: 48,
        };
        let faster = part(1.05, [1.04, 1.06]);
        let joined = Comparison::across(&[faster, part(1.03, [1.02, 1.04]), faster]).unwrap();
        assert_eq!((joined.verdict, joined.n_blocks), (TimeVerdict::Faster, 144));
        assert!(close(joined.speedup, 1.05) && close(joined.ci[0], 1.02));
        let joined = Comparison::across(&[faster, part(0.95, [0.94, 0.96]), faster]).unwrap();
        assert_eq!(joined.verdict, TimeVerdict::Ambiguous);
        assert_eq!(Comparison::across(&[]), None);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert_eq!(Comparison::of(&[]), None);
        assert_eq!(Comparison::of(&[[1.0, 0.0, 1.0, 1.0]]), None);
    }
}
