//! Statistics of timing samples: pure functions of the raw samples, which are always stored.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::record::Timing;

/// Resamples of the bootstrap.
const N_RESAMPLES: usize = 2000;

/// Summarises samples in microseconds; `None` without samples.
#[must_use]
pub(super) fn summarise(samples_us: Vec<f64>) -> Option<Timing> {
    let mut sorted = samples_us.clone();
    sorted.sort_by(f64::total_cmp);
    Some(Timing {
        median_us: quantile(&sorted, 0.5)?,
        q1_us: quantile(&sorted, 0.25)?,
        q3_us: quantile(&sorted, 0.75)?,
        min_us: *sorted.first()?,
        samples_us,
    })
}

/// Returns the `q`-quantile of ascending values, linear between neighbours.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position among far fewer than 2^53 samples"
)]
pub(super) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = q * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

/// Speedup from paired blocks, with its 95 % interval.
///
/// Each block holds the baseline's and the candidate's two times of one A-B-B-A sequence; the
/// half sum of the two log ratios cancels a linear drift of the clocks. The estimate is the
/// exponential of the median over blocks, the interval a percentile bootstrap over blocks.
///
/// Source: paired design and bootstrap as in criterion's and nvbench's documentation.
#[must_use]
pub(super) fn paired_speedup(blocks: &[[f64; 4]]) -> Option<(f64, [f64; 2])> {
    let logs: Vec<f64> =
        blocks.iter().map(|[a1, b1, b2, a2]| 0.5 * ((a1 / b1).ln() + (a2 / b2).ln())).collect();
    let estimate = median(&logs)?;
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut medians: Vec<f64> = (0..N_RESAMPLES)
        .filter_map(|_| {
            let resample: Vec<f64> =
                (0..logs.len()).map(|_| logs[rng.random_range(0..logs.len())]).collect();
            median(&resample)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let low = quantile(&medians, 0.025)?;
    let high = quantile(&medians, 0.975)?;
    Some((estimate.exp(), [low.exp(), high.exp()]))
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// Returns the geometric mean of positive values; `None` without values.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a count of cases")]
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / count as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn quantiles_interpolate() {
        let timing = summarise(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert!(close(timing.median_us, 2.5) && close(timing.q1_us, 1.75));
        assert!(close(timing.min_us, 1.0));
        assert_eq!(timing.samples_us, [4.0, 1.0, 3.0, 2.0]);
        assert!(summarise(Vec::new()).is_none());
    }

    #[test]
    fn a_linear_drift_cancels_in_each_block() {
        // The clock slows down by 1 % per sample; both arms take 10 µs at its start.
        let time = |position: i32| 10.0 * 1.01f64.powi(position);
        let blocks: Vec<[f64; 4]> =
            (0..16).map(|block| [0, 1, 2, 3].map(|i| time(4 * block + i))).collect();
        let (speedup, [low, high]) = paired_speedup(&blocks).unwrap();
        assert!(close(speedup, 1.0) && close(low, 1.0) && close(high, 1.0));
    }

    #[test]
    fn a_twofold_speedup_is_found() {
        let blocks = vec![[20.0, 10.0, 10.0, 20.0]; 8];
        assert!(close(paired_speedup(&blocks).unwrap().0, 2.0));
        assert!(close(geometric_mean(&[1.0, 4.0]).unwrap(), 2.0));
    }
}
