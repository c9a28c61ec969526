//! Counts and summaries of Triton's `do_bench`, for numbers comparable with published ones.
//!
//! It warms up for 25 ms, samples for 100 ms, overwrites 256 MiB before each sample, and reports
//! the mean unless asked for another. kgen's own protocol differs in all four.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timing;

/// Bytes overwritten before each sample, whatever the size of L2.
pub const FLUSH_BYTES: u64 = 256 << 20;

/// Calls, each with a flush, whose mean is the estimate that the counts come from.
pub const N_ESTIMATE: u32 = 5;

/// How long it runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DoBench {
    /// Milliseconds of calls without flush that are thrown away.
    pub warm_up_ms: f64,
    /// Milliseconds of calls that are sampled.
    pub rep_ms: f64,
}

impl Default for DoBench {
    fn default() -> Self {
        Self { warm_up_ms: 25.0, rep_ms: 100.0 }
    }
}

/// Numbers of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Thrown away.
    pub warm_up: u32,
    /// Sampled.
    pub rep: u32,
}

/// The reported summary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Mean, in microseconds: the default result of `do_bench`.
    pub mean_us: f64,
    /// Median, in microseconds.
    pub median_us: f64,
    /// Samples.
    pub n: u32,
}

impl DoBench {
    /// Returns how often to call, given the time of one flushed call in microseconds.
    ///
    /// Source: `triton.testing.do_bench`: each the truncated quotient, at least 1.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest u32, which is what is meant"
    )]
    pub fn counts(&self, estimate_us: f64) -> Counts {
        let calls = |ms: f64| ((ms * 1e3 / estimate_us) as u32).max(1);
        Counts { warm_up: calls(self.warm_up_ms), rep: calls(self.rep_ms) }
    }
}

/// Summarises samples; `None` without them.
#[must_use]
pub fn summarise(timing: &Timing) -> Option<Summary> {
    let n = u32::try_from(timing.samples_us.len()).ok().filter(|n| *n > 0)?;
    Some(Summary { mean_us: timing.mean_us(), median_us: timing.median_us, n })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_the_estimate() {
        let bench = DoBench::default();
        assert_eq!(bench.counts(100.0), Counts { warm_up: 250, rep: 1000 });
        assert_eq!(bench.counts(30_000.0), Counts { warm_up: 1, rep: 3 });
        assert_eq!(bench.counts(1e6), Counts { warm_up: 1, rep: 1 });
    }

    #[test]
    fn mean_and_median_are_both_told() {
        let timing = Timing::of(vec![1.0, 2.0, 9.0]).unwrap();
        assert_eq!(summarise(&timing), Some(Summary { mean_us: 4.0, median_us: 2.0, n: 3 }));
    }
}
