//! Wilcoxon's signed-rank test: is the median of paired differences zero?

use super::normal::two_sided_tail;

/// Differences up to which the exact distribution is used, if there are neither ties nor zeros.
const MAX_EXACT: usize = 50;

/// The outcome of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// The smaller of the sums of ranks of positive and of negative differences.
    pub statistic: f64,
    /// Two-sided p value.
    pub p: f64,
}

/// Tests whether differences are symmetric about zero.
///
/// Zeros are left out, equal magnitudes share their mean rank. Exact for up to 50 differences
/// without zeros and ties, else the normal approximation with its variance corrected for ties and
/// without a continuity correction. Without differences other than 0, p is 1.
///
/// Source: Wilcoxon 1945; the choices are those of `scipy.stats.wilcoxon` with `method="auto"`.
#[must_use]
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let mut nonzero: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > 0.0).collect();
    if nonzero.is_empty() {
        return SignedRank { statistic: 0.0, p: 1.0 };
    }
    nonzero.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = nonzero.len();
    let mut positive = 0.0;
    let mut ties = 0.0;
    let mut start = 0;
    while start < n {
        let end = start + nonzero[start..].partition_point(|d| d.abs() <= nonzero[start].abs());
        let rank = (start + 1 + end) as f64 / 2.0;
        let n_positive = nonzero[start..end].iter().filter(|d| **d > 0.0).count();
        positive += rank * n_positive as f64;
        let size = (end - start) as f64;
        ties += size * size * size - size;
        start = end;
    }
    let count = n as f64;
    let total = count * (count + 1.0) / 2.0;
    let statistic = positive.min(total - positive);
    let is_exact = n <= MAX_EXACT && n == differences.len() && ties < 1.0;
    let p = if is_exact {
        exact_p(n, statistic)
    } else {
        let variance = count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - ties / 48.0;
        two_sided_tail((statistic - total / 2.0) / variance.sqrt())
    };
    SignedRank { statistic, p: p.min(1.0) }
}

/// Twice the probability of a rank sum of at most `statistic` among all `2^n` signs.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "without ties a rank sum is a whole number of at most 1,275"
)]
fn exact_p(n: usize, statistic: f64) -> f64 {
    let limit = statistic as usize;
    // ways[s]: share of the sign patterns of the first ranks whose positive ranks sum to s.
    let mut ways = vec![0.0_f64; limit + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=limit).rev() {
            let with = if sum >= rank { ways[sum - rank] } else { 0.0 };
            ways[sum] = 0.5 * (ways[sum] + with);
        }
    }
    2.0 * ways.iter().sum::<f64>()
}
