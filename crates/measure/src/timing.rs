//! The summary of one arm's samples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::{median_interval, quantile, sorted};

/// Scales a median absolute deviation to a standard deviation of normal values.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Scaled deviations beyond which a sample is counted as an outlier.
const OUTLIER_SIGMAS: f64 = 5.0;

/// A distribution of times, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Median.
    pub median_us: f64,
    /// First quartile.
    pub q1_us: f64,
    /// Third quartile.
    pub q3_us: f64,
    /// Smallest.
    pub min_us: f64,
    /// 5th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p5_us: Option<f64>,
    /// 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<f64>,
    /// Samples further than 5 scaled median absolute deviations from the median, none of which is
    /// left out of any summary. Absent where that deviation is 0 (more than half the samples fall
    /// on one tick of the clock, so that no sample can be called far).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_outliers: Option<u32>,
    /// All samples, in the order taken.
    pub samples_us: Vec<f64>,
}

impl Timing {
    /// Summarises samples; `None` without samples, or with one that is negative or not finite.
    #[must_use]
    pub fn of(samples_us: Vec<f64>) -> Option<Self> {
        if samples_us.iter().any(|sample| !sample.is_finite() || *sample < 0.0) {
            return None;
        }
        let ascending = sorted(&samples_us);
        let median_us = quantile(&ascending, 0.5)?;
        Some(Self {
            median_us,
            q1_us: quantile(&ascending, 0.25)?,
            q3_us: quantile(&ascending, 0.75)?,
            min_us: *ascending.first()?,
            p5_us: quantile(&ascending, 0.05),
            p95_us: quantile(&ascending, 0.95),
            n_outliers: count_outliers(&samples_us, median_us),
            samples_us,
        })
    }

    /// Interquartile range over median: the spread in one number.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (self.q3_us - self.q1_us) / self.median_us
    }

    /// Returns the interval of the median from order statistics, which assumes no distribution.
    ///
    /// `confidence` as in 0.95. `None` where there are too few samples for it.
    #[must_use]
    pub fn median_interval(&self, confidence: f64) -> Option<[f64; 2]> {
        median_interval(&sorted(&self.samples_us), confidence)
    }

    /// Mean of the samples, which other harnesses report.
    #[must_use]
    pub fn mean_us(&self) -> f64 {
        self.samples_us.iter().sum::<f64>() / self.samples_us.len() as f64
    }
}

fn count_outliers(samples: &[f64], median: f64) -> Option<u32> {
    let deviations: Vec<f64> = samples.iter().map(|sample| (sample - median).abs()).collect();
    let mad = quantile(&sorted(&deviations), 0.5)?;
    let limit = OUTLIER_SIGMAS * MAD_TO_SIGMA * mad;
    let n_far = deviations.iter().filter(|deviation| **deviation > limit).count();
    (mad > 0.0).then(|| u32::try_from(n_far).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn samples_keep_their_order_and_quantiles_interpolate() {
        let timing = Timing::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert!(close(timing.median_us, 2.5) && close(timing.q1_us, 1.75));
        assert!(close(timing.q3_us, 3.25) && close(timing.min_us, 1.0));
        assert!(close(timing.p5_us.unwrap(), 1.15) && close(timing.p95_us.unwrap(), 3.85));
        assert!(close(timing.spread(), 0.6) && close(timing.mean_us(), 2.5));
        assert_eq!(timing.samples_us, [4.0, 1.0, 3.0, 2.0]);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert_eq!(Timing::of(Vec::new()), None);
        assert_eq!(Timing::of(vec![1.0, f64::NAN]), None);
        assert_eq!(Timing::of(vec![1.0, -0.5]), None);
    }

    #[test]
    fn outliers_are_counted_and_kept() {
        let mut samples: Vec<f64> = (0..40).map(|i| 10.0 + 0.01 * f64::from(i % 5)).collect();
        samples.push(30.0);
        let timing = Timing::of(samples).unwrap();
        assert_eq!(timing.n_outliers, Some(1));
        assert_eq!(timing.samples_us.len(), 41);
        assert_eq!(Timing::of(vec![5.0; 9]).unwrap().n_outliers, None);
    }
}
