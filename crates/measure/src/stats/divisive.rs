//! Change points of a series by its energy: where do the values before differ from those after?
//!
//! The energy distance of two samples compares their whole distributions, so that no shape of the noise
//! is assumed. A series is split where that distance is largest, if permutations of its values rarely
//! reach it, and so are its parts. The distance is that of all before to all after, and the same within
//! windows: of a change that is soon undone the series as a whole shows little.
//!
//! Source: Matteson and James 2014, "A nonparametric approach for multiple change point analysis"
//! (E-divisive), with exponent 1, Szekely and Rizzo's distance, and a test of each part by itself; windows
//! in place of their second index as in seeded binary segmentation (Kovacs and others 2023).

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

/// Share by which a statistic of a permutation may seem larger by rounding alone.
const ROUNDING: f64 = 1e-9;

/// Lengths of the windows; each begins in the middle of the one before.
const WINDOWS: [usize; 3] = [16, 32, 64];

/// How series are divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Divisive {
    /// Values of the shortest part, at least 1.
    pub min_part: usize,
    /// Largest p value of a change.
    pub level: f64,
    /// Permutations of a part at most: p values are multiples of one in one more than these.
    pub n_permutations: u32,
    /// Of the permutations.
    pub seed: u64,
}

impl Default for Divisive {
    fn default() -> Self {
        Self { min_part: 3, level: 0.01, n_permutations: 199, seed: 0 }
    }
}

/// A change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value after it.
    pub at: usize,
    /// Share of the permutations of the part it divides whose best split is as good.
    pub p: f64,
}

/// Finds the changes of a series, in order. The same values with the same settings give the same changes.
///
/// Takes time of the order of `n log n` per permutation, most of which are spared where there is no
/// change: they end as soon as too many reach the statistic.
#[must_use]
pub fn divide(values: &[f64], settings: &Divisive) -> Vec<Change> {
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut changes = Vec::new();
    let mut parts = vec![(0, values.len())];
    while let Some((start, end)) = parts.pop() {
        if let Some(Change { at, p }) = split(&values[start..end], settings, &mut rng) {
            let at = start + at;
            changes.push(Change { at, p });
            parts.extend([(start, at), (at, end)]);
        }
    }
    changes.sort_by_key(|change| change.at);
    changes
}

/// The best split of a part, if it is significant.
fn split(values: &[f64], settings: &Divisive, rng: &mut ChaCha8Rng) -> Option<Change> {
    let min_part = settings.min_part.max(1);
    if values.len() < 2 * min_part {
        return None;
    }
    let (mut energy, mut order) = Energy::new(values, min_part);
    let (at, found) = energy.best_split(&order);
    if found <= 0.0 {
        return None;
    }
    let n_all = f64::from(settings.n_permutations) + 1.0;
    let mut n_reached = 1.0;
    for _ in 0..settings.n_permutations {
        order.shuffle(rng);
        if found * (1.0 - ROUNDING) <= energy.best_split(&order).1 {
            n_reached += 1.0;
        }
        if settings.level < n_reached / n_all {
            return None;
        }
    }
    let p = n_reached / n_all;
    (p <= settings.level).then_some(Change { at, p })
}

/// The values of a part by rank, and what does not depend on their order.
struct Energy {
    min_part: usize,
    ascending: Vec<f64>,
    /// By rank, the sum of the distances to all others.
    distances: Vec<f64>,
    /// The sum of the distances of all pairs.
    total: f64,
    /// By rank, number and sum of the values seen so far: partial sums as a Fenwick tree holds them.
    seen: Vec<(f64, f64)>,
    /// The values in the order at hand.
    values: Vec<f64>,
}

impl Energy {
    /// Returns it with the ranks of the values in their order.
    fn new(values: &[f64], min_part: usize) -> (Self, Vec<usize>) {
        let mut by_rank: Vec<usize> = (0..values.len()).collect();
        by_rank.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        // Around a value of the middle, so that sums stay as small as the differences.
        let centre = values[by_rank[values.len() / 2]];
        let ascending: Vec<f64> = by_rank.iter().map(|at| values[*at] - centre).collect();
        let mut ranks = vec![0; values.len()];
        for (rank, at) in by_rank.into_iter().enumerate() {
            ranks[at] = rank;
        }
        let sum: f64 = ascending.iter().sum();
        let mut below = 0.0;
        let distance = |(rank, value): (usize, &f64)| {
            let (n_below, n_above) = (rank as f64, (values.len() - rank) as f64);
            let distance = (n_below * value - below) + ((sum - below) - n_above * value);
            below += value;
            distance
        };
        let distances: Vec<f64> = ascending.iter().enumerate().map(distance).collect();
        let total = distances.iter().sum::<f64>() / 2.0;
        let seen = vec![(0.0, 0.0); values.len() + 1];
        let values = Vec::with_capacity(values.len());
        (Self { min_part, ascending, distances, total, seen, values }, ranks)
    }

    /// The best place to split values in the order of `ranks`, and its statistic: the energy distance of
    /// the two sides, times the product of their sizes over their sum.
    fn best_split(&mut self, ranks: &[usize]) -> (usize, f64) {
        let mut best = self.best_of_all(ranks);
        self.values.clear();
        self.values.extend(ranks.iter().map(|rank| self.ascending[*rank]));
        let n = ranks.len();
        for width in WINDOWS.into_iter().filter(|width| *width < n && 2 * self.min_part <= *width) {
            let starts = (0..n - width).step_by(width / 2).chain([n - width]);
            for start in starts {
                let (at, found) = best_of_window(&self.values[start..start + width], self.min_part);
                if best.1 < found {
                    best = (start + at, found);
                }
            }
        }
        // What rounding leaves of equal values is no distance.
        if best.1 <= ROUNDING * self.total / n as f64 { (0, 0.0) } else { best }
    }

    /// The best place by the distance of all before to all after, in `n log n` steps.
    fn best_of_all(&mut self, ranks: &[usize]) -> (usize, f64) {
        self.seen.fill((0.0, 0.0));
        // Of pairs within the left side, and from the left side to all.
        let (mut within, mut to_all, mut sum) = (0.0, 0.0, 0.0);
        let mut best = (0, 0.0);
        for (n_left, &rank) in ranks.iter().enumerate() {
            let value = self.ascending[rank];
            let (n_below, below) = self.seen_below(rank);
            let n_above = n_left as f64 - n_below;
            within += (n_below * value - below) + ((sum - below) - n_above * value);
            to_all += self.distances[rank];
            sum += value;
            self.see(rank, value);
            let across = to_all - 2.0 * within;
            let sums = [within, across, self.total - within - across];
            best = better(best, n_left + 1, ranks.len(), self.min_part, sums);
        }
        best
    }

    /// Number and sum of the values seen of lower rank.
    fn seen_below(&self, rank: usize) -> (f64, f64) {
        let (mut n, mut sum) = (0.0, 0.0);
        let mut node = rank;
        while node > 0 {
            n += self.seen[node].0;
            sum += self.seen[node].1;
            node &= node - 1;
        }
        (n, sum)
    }

    fn see(&mut self, rank: usize, value: f64) {
        let mut node = rank + 1;
        while node < self.seen.len() {
            self.seen[node].0 += 1.0;
            self.seen[node].1 += value;
            node += node & node.wrapping_neg();
        }
    }
}

/// The best place to split a window, and its statistic, pair by pair: fast where they are few, since
/// neighbours do not wait for each other's sums.
fn best_of_window(values: &[f64], min_part: usize) -> (usize, f64) {
    const LONGEST: usize = WINDOWS[WINDOWS.len() - 1];
    // By place, the sums of the distances to those before and to those after.
    let (mut before, mut after) = ([0.0_f64; LONGEST], [0.0_f64; LONGEST]);
    for (at, value) in values.iter().enumerate() {
        for (sum, other) in after[..at].iter_mut().zip(values) {
            *sum += (value - other).abs();
        }
        for (sum, other) in before[at + 1..].iter_mut().zip(&values[at + 1..]) {
            *sum += (value - other).abs();
        }
    }
    let total: f64 = before.iter().sum();
    let (mut left, mut right) = (0.0, total);
    let mut best = (0, 0.0);
    for at in 0..values.len() {
        left += before[at];
        right -= after[at];
        let sums = [left, total - left - right, right];
        best = better(best, at + 1, values.len(), min_part, sums);
    }
    best
}

/// The better of a split and that after `size` of `n` values. `sums`: the distances of the pairs on the
/// left, across, and on the right.
fn better(
    best: (usize, f64),
    size: usize,
    n: usize,
    min_part: usize,
    [left, across, right]: [f64; 3],
) -> (usize, f64) {
    if size < min_part || n < size + min_part {
        return best;
    }
    let (n_left, n_right) = (size as f64, (n - size) as f64);
    let found = 2.0 / n as f64 * (across - left * n_right / n_left - right * n_left / n_right);
    if best.1 < found { (size, found) } else { best }
}

#[cfg(test)]
mod tests;
