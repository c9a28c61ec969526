//! The ratio of a case's times, new over old, and the verdict on it.

use kgen_measure::{
    Comparison, PRACTICAL,
    stats::{rank_sum, shift},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Options, Verdict};

/// Normal quantile of the 99 % interval.
const ERRORS: f64 = 2.576;

/// The samples that a ratio rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Those of the two entries, by a rank-sum test.
    Recorded,
    /// New ones of both, in alternation, by a signed-rank test.
    Paired,
}

impl Method {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Paired => "paired",
        }
    }
}

/// New over old: above 1 the new one is slower.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// The estimate: the Hodges-Lehmann shift of the logarithms.
    pub value: f64,
    /// Lower end of its 99 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p value of the test that it is 1.
    pub p: f64,
    /// The same by Holm's correction over all cases that were compared.
    pub p_adjusted: f64,
    /// The samples it rests on.
    pub method: Method,
}

impl Ratio {
    /// From samples of two sessions; `None` without any, or with one that is not positive.
    pub(super) fn recorded(old_us: &[f64], new_us: &[f64]) -> Option<Self> {
        let logs = |samples: &[f64]| -> Option<Vec<f64>> {
            samples.iter().map(|sample| (*sample > 0.0).then(|| sample.ln())).collect()
        };
        let (old, new) = (logs(old_us)?, logs(new_us)?);
        let shift = shift(&old, &new, ERRORS)?;
        let p = rank_sum(&old, &new).p;
        let [low, high] = shift.interval.map(f64::exp);
        let value = shift.estimate.exp();
        Some(Self { value, low, high, p, p_adjusted: p, method: Method::Recorded })
    }

    /// From samples in alternation, the old one as the baseline.
    pub(super) fn paired(comparison: &Comparison) -> Self {
        let [low, high] = comparison.ci;
        Self {
            value: 1.0 / comparison.speedup,
            low: 1.0 / high,
            high: 1.0 / low,
            p: comparison.p,
            p_adjusted: comparison.p,
            method: Method::Paired,
        }
    }

    /// Judges it by its interval and its corrected p value.
    ///
    /// Recorded samples must show the smallest effect that matters at the near end of the interval.
    /// Samples in alternation have no error of a session, so that the near end need only be beyond a
    /// difference of practice and the interval reach the effect: one of just that size is found.
    pub(super) fn verdict(&self, options: &Options) -> Verdict {
        let (near, far) = match self.method {
            Method::Recorded => (options.min_effect.max(Options::SESSION), 0.0),
            Method::Paired => (options.min_effect.min(PRACTICAL), options.min_effect),
        };
        let is_beyond = |low: f64, high: f64| 1.0 + near < low && 1.0 + far <= high;
        if options.alpha <= self.p_adjusted {
            Verdict::Same
        } else if is_beyond(self.low, self.high) {
            Verdict::Slower
        } else if is_beyond(1.0 / self.high, 1.0 / self.low) {
            Verdict::Faster
        } else {
            Verdict::Same
        }
    }
}
