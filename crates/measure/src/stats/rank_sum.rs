//! Mann and Whitney's rank-sum test: are values of one sample larger than those of another?

use super::normal::two_sided_tail;

/// Values of the smaller sample up to which the exact distribution is used, if there are no ties.
const MAX_EXACT: usize = 8;

/// The outcome of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSum {
    /// Pairs in which the value of the first sample is the larger; ties count half.
    pub statistic: f64,
    /// Two-sided p value.
    pub p: f64,
}

/// Tests whether two samples come from one distribution.
///
/// Exact where one sample has up to 8 values and there are no ties, else the normal approximation with
/// its variance corrected for ties and with a continuity correction. Without values on either side, or
/// where all are equal, p is 1.
///
/// Source: Mann and Whitney 1947; the choices are those of `scipy.stats.mannwhitneyu` with
/// `method="auto"`.
#[must_use]
pub fn rank_sum(a: &[f64], b: &[f64]) -> RankSum {
    let mut pooled: Vec<(f64, bool)> =
        a.iter().map(|value| (*value, true)).chain(b.iter().map(|value| (*value, false))).collect();
    pooled.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (n, m, count) = (a.len() as f64, b.len() as f64, pooled.len() as f64);
    let mut ranks = 0.0;
    let mut ties = 0.0;
    let mut start = 0;
    while start < pooled.len() {
        let end = start + pooled[start..].partition_point(|(value, _)| *value <= pooled[start].0);
        let n_first = pooled[start..end].iter().filter(|(_, is_first)| *is_first).count();
        ranks += (start + 1 + end) as f64 / 2.0 * n_first as f64;
        let size = (end - start) as f64;
        ties += size * size * size - size;
        start = end;
    }
    let statistic = ranks - n * (n + 1.0) / 2.0;
    let variance = n * m / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
    let larger = statistic.max(n * m - statistic);
    let p = if a.is_empty() || b.is_empty() || variance <= 0.0 {
        1.0
    } else if a.len().min(b.len()) <= MAX_EXACT && ties < 1.0 {
        exact_p(a.len(), b.len(), n * m - larger)
    } else {
        two_sided_tail(((larger - n * m / 2.0 - 0.5) / variance.sqrt()).max(0.0))
    };
    RankSum { statistic, p: p.min(1.0) }
}

/// Twice the share of the ways to choose `n` of `n + m` ranks whose statistic is at most `statistic`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "without ties the statistic is a whole number"
)]
fn exact_p(n: usize, m: usize, statistic: f64) -> f64 {
    let (n, m) = (n.min(m), n.max(m));
    // ways[k][u]: choices of k of the ranks so far whose statistic is u. A rank chosen as the kth is
    // larger than those of the ranks below it that are not chosen.
    let mut ways = vec![vec![0.0_f64; n * m + 1]; n + 1];
    ways[0][0] = 1.0;
    for rank in 0..n + m {
        for k in (0..n.min(rank + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(k + 1);
            let n_below = rank - k;
            for u in n_below..=n * m {
                more[0][u] += fewer[k][u - n_below];
            }
        }
    }
    let limit = statistic as usize;
    2.0 * ways[n][..=limit].iter().sum::<f64>() / ways[n].iter().sum::<f64>()
}
