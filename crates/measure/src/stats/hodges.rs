//! The centre of paired differences with its interval, by the same ranks as the signed-rank test.
//!
//! As robust as a median and nearly as precise as a mean, also where values fall on a few separate
//! levels, between which a median jumps: memory-bound kernels take one of two times, some per cent
//! apart, from launch to launch.

use super::order::sorted;

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centre {
    /// The median of the means of all pairs of values, each value with itself among them.
    pub estimate: f64,
    /// The values that a two-sided signed-rank test does not reject.
    pub interval: [f64; 2],
}

/// Estimates the centre of values; `errors` is the normal quantile of the interval, 2.576 for 99 %.
/// `None` without values.
///
/// Takes memory and time of the order of the square of their number.
///
/// Source: Hodges and Lehmann 1963; the interval is Tukey's, by the normal approximation.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among the pairs of some hundred values"
)]
pub fn centre(values: &[f64], errors: f64) -> Option<Centre> {
    let mut means: Vec<f64> = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (at, a) in values.iter().enumerate() {
        means.extend(values[at..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    let last = means.len().checked_sub(1)?;
    let n = values.len() as f64;
    let spread = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let rank = (n * (n + 1.0) / 4.0 - errors * spread).floor().max(0.0) as usize;
    let rank = rank.min(last / 2);
    let mut at = |rank: usize| *means.select_nth_unstable_by(rank, f64::total_cmp).1;
    let estimate = f64::midpoint(at(last / 2), at(last.div_ceil(2)));
    Some(Centre { estimate, interval: [at(rank), at(last - rank)] })
}

/// Estimates by how much values of `b` are larger than those of `a`: the centre is the median of the
/// differences of all pairs, the interval holds the shifts that a two-sided rank-sum test does not
/// reject. `errors` as of [`centre`]; `None` without values on either side.
///
/// Takes time of the order of the number of values, not of pairs.
///
/// Source: Hodges and Lehmann 1963; the interval is Moses', by the normal approximation.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among the pairs of some thousand values"
)]
pub fn shift(a: &[f64], b: &[f64], errors: f64) -> Option<Centre> {
    let (a, b) = (sorted(a), sorted(b));
    let last = (a.len() * b.len()).checked_sub(1)?;
    let (n, m) = (a.len() as f64, b.len() as f64);
    let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let rank = ((n * m / 2.0 - errors * spread).floor().max(0.0) as usize).min(last / 2);
    let at = |rank| difference_at(&a, &b, rank);
    let estimate = f64::midpoint(at(last / 2), at(last.div_ceil(2)));
    Some(Centre { estimate, interval: [at(rank), at(last - rank)] })
}

/// The difference of this rank (from 0) among those of all pairs of two ascending lists, by halving the
/// interval that holds it.
fn difference_at(a: &[f64], b: &[f64], rank: usize) -> f64 {
    let (mut below, mut at) = (b[0] - a[a.len() - 1], b[b.len() - 1] - a[0]);
    if rank < n_up_to(a, b, below) {
        return below;
    }
    // Each step halves it; 100 are more than the digits of a float.
    for _ in 0..100 {
        let middle = f64::midpoint(below, at);
        if middle <= below || at <= middle {
            break;
        }
        if rank < n_up_to(a, b, middle) { at = middle } else { below = middle }
    }
    at
}

/// Pairs whose difference is at most `limit`.
fn n_up_to(a: &[f64], b: &[f64], limit: f64) -> usize {
    let mut n_below = 0;
    let of_each = a.iter().map(|a| {
        while n_below < b.len() && b[n_below] - a <= limit {
            n_below += 1;
        }
        n_below
    });
    of_each.sum()
}
