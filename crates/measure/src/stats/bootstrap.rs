//! The percentile bootstrap of a median.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::order::{quantile, sorted};

/// Resamples. The 0.5th percentile of 2,000 medians rests on 10 of them.
const N_RESAMPLES: usize = 2000;

/// Returns the percentile bootstrap interval of the median; `None` without values.
///
/// `confidence` as in 0.99. Equal values and seed give equal intervals.
///
/// Source: Efron and Tibshirani, An Introduction to the Bootstrap, 13.3.
#[must_use]
pub fn median_bootstrap(values: &[f64], confidence: f64, seed: u64) -> Option<[f64; 2]> {
    let ascending = sorted(values);
    let n = ascending.len();
    if n == 0 {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // How often each rank was drawn: walking it gives the median without sorting a resample.
    let mut drawn = vec![0_u32; n];
    let mut medians = Vec::with_capacity(N_RESAMPLES);
    for _ in 0..N_RESAMPLES {
        drawn.fill(0);
        for _ in 0..n {
            drawn[rng.random_range(0..n)] += 1;
        }
        medians.push(median_of_counts(&ascending, &drawn));
    }
    medians.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Some([quantile(&medians, tail)?, quantile(&medians, 1.0 - tail)?])
}

/// The median of `n` values of which `ascending[i]` occurs `counts[i]` times.
fn median_of_counts(ascending: &[f64], counts: &[u32]) -> f64 {
    let n = ascending.len();
    let (lower, upper) = ((n - 1) / 2, n / 2);
    let mut seen = 0;
    let mut at_lower = None;
    for (value, count) in ascending.iter().zip(counts) {
        seen += *count as usize;
        if seen > lower && at_lower.is_none() {
            at_lower = Some(*value);
        }
        if seen > upper {
            return f64::midpoint(at_lower.unwrap_or(*value), *value);
        }
    }
    f64::NAN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_give_the_median() {
        let values = [1.0, 2.0, 5.0, 9.0];
        assert!((median_of_counts(&values, &[1, 1, 1, 1]) - 3.5).abs() < 1e-12);
        assert!((median_of_counts(&values, &[0, 0, 4, 0]) - 5.0).abs() < 1e-12);
        assert!((median_of_counts(&[1.0, 2.0, 5.0], &[2, 0, 1]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_seed_repeats_the_interval() {
        let values: Vec<f64> = (0..32).map(|i| f64::from(i * i % 37)).collect();
        let interval = median_bootstrap(&values, 0.99, 7);
        assert_eq!(interval, median_bootstrap(&values, 0.99, 7));
        assert_ne!(interval, median_bootstrap(&values, 0.9, 7));
        assert_eq!(median_bootstrap(&[], 0.99, 7), None);
    }
}
