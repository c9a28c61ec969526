//! Quantiles and other statistics of order.

/// Returns the values in ascending order.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    ascending
}

/// Returns the `q`-quantile of ascending values, linear between neighbours; `None` without values.
///
/// Source: type 7 of Hyndman and Fan, the default of R and NumPy.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position among far fewer than 2^53 samples"
)]
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(ascending[below] + (ascending[above] - ascending[below]) * (position - below as f64))
}

/// Returns the median of values in any order; `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// Returns the geometric mean of positive values; `None` without values.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    weighted_geometric_mean(values.iter().map(|&value| (value, 1.0)))
}

/// Returns the geometric mean of positive values with their weights; `None` where no weight is positive.
#[must_use]
pub fn weighted_geometric_mean(values: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let (logs, weights) =
        values.into_iter().fold((0.0, 0.0), |(logs, weights), (value, weight)| {
            (weight.mul_add(value.ln(), logs), weights + weight)
        });
    (weights > 0.0).then(|| (logs / weights).exp())
}

/// Returns the ranks (from 1) of the samples between which the median lies with `confidence`.
///
/// Exact and free of assumptions on the distribution: the count of samples below the median is
/// binomial with probability one half. `None` where even smallest and largest are not enough.
///
/// Source: David and Nagaraja, Order Statistics, 7.1.
#[must_use]
pub fn median_ranks(n: usize, confidence: f64) -> Option<(usize, usize)> {
    let tail = (1.0 - confidence) / 2.0;
    // ln of C(n, k) / 2^n, by recurrence, because 2^-n itself underflows from 1,075 samples on.
    let mut ln_mass = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut low = 0;
    for k in 0..n / 2 + 1 {
        below += ln_mass.exp();
        if below > tail {
            break;
        }
        low = k + 1;
        ln_mass += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (low > 0 && low <= n / 2).then(|| (low, n + 1 - low))
}

/// Returns the interval of the median of ascending values; see [`median_ranks`].
#[must_use]
pub fn median_interval(ascending: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let (low, high) = median_ranks(ascending.len(), confidence)?;
    Some([ascending[low - 1], ascending[high - 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_binomial() {
        // Computed with scipy.stats.binom.
        for (n, confidence, ranks) in [
            (8, 0.95, (1, 8)),
            (8, 0.99, (1, 8)),
            (16, 0.95, (4, 13)),
            (16, 0.99, (3, 14)),
            (32, 0.95, (10, 23)),
            (32, 0.99, (9, 24)),
            (48, 0.95, (17, 32)),
            (48, 0.99, (15, 34)),
            (64, 0.95, (24, 41)),
            (64, 0.99, (22, 43)),
            (100, 0.95, (40, 61)),
            (100, 0.99, (37, 64)),
            (128, 0.95, (53, 76)),
            (128, 0.99, (49, 80)),
            (200, 0.95, (86, 115)),
            (200, 0.99, (82, 119)),
            (1000, 0.95, (469, 532)),
            (1000, 0.99, (459, 542)),
            (2048, 0.95, (980, 1069)),
            (2048, 0.99, (966, 1083)),
            (4096, 0.95, (1985, 2112)),
            (4096, 0.99, (1966, 2131)),
        ] {
            assert_eq!(median_ranks(n, confidence), Some(ranks), "{n} at {confidence}");
        }
        assert_eq!(median_ranks(7, 0.99), None);
        assert_eq!(median_ranks(0, 0.95), None);
    }

    #[test]
    fn geometric_means_and_quantiles() {
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
        let mean = weighted_geometric_mean([(8.0, 1.0), (1.0, 2.0), (5.0, 0.0)]).unwrap();
        assert!((mean - 2.0).abs() < 1e-12);
        assert_eq!(weighted_geometric_mean([(8.0, 0.0)]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
