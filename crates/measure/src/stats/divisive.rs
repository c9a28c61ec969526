//! Change points of a series: where does the mean of the values before differ from that after?
//!
//! A series is split where the energy distance of the two sides is largest, if permutations of its values
//! rarely reach it, and so are its parts. The distance is that of all before to all after, and the same
//! within windows of many lengths: of a change that is soon undone, the series as a whole shows little.
//!
//! Source: Matteson and James 2014, "A nonparametric approach for multiple change point analysis"
//! (E-divisive) with exponent 2, which makes the distance that of means, and a test of each part by
//! itself; windows as in seeded binary segmentation (Kovacs and others 2023).

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::order::median;

/// Share by which a statistic of a permutation may seem larger by rounding alone.
const ROUNDING: f64 = 1e-9;

/// Length of the shortest windows; those of the next length are twice as long. Each begins in the middle of
/// the one before.
const SHORTEST_WINDOW: usize = 16;

/// Standard deviations from the median at which values are cut off, so that no outlier is a mean by itself.
const OUTLIER_SIGMAS: f64 = 5.0;

/// Scales a median absolute deviation to a standard deviation of normal values.
const MAD_TO_SIGMA: f64 = 1.4826;

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
        Self { min_part: 3, level: 0.01, n_permutations: 99, seed: 0 }
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
    let mut values = limited(values)?;
    let mut windows = Windows::new(values.len(), min_part);
    let (at, found) = windows.best_split(&values);
    // The rounding that is left of equal values is no distance.
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if found <= ROUNDING * largest * largest {
        return None;
    }
    let n_all = f64::from(settings.n_permutations) + 1.0;
    let mut n_reached = 1.0;
    for _ in 0..settings.n_permutations {
        values.shuffle(rng);
        if found * (1.0 - ROUNDING) <= windows.largest(&values) {
            n_reached += 1.0;
        }
        if settings.level < n_reached / n_all {
            return None;
        }
    }
    let p = n_reached / n_all;
    (p <= settings.level).then_some(Change { at, p })
}

/// The distances of values to their median, outliers cut off; `None` without values.
fn limited(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| value - middle).collect();
    let sizes: Vec<f64> = distances.iter().map(|distance| distance.abs()).collect();
    let limit = OUTLIER_SIGMAS * MAD_TO_SIGMA * median(&sizes)?;
    // Where most values are equal, nothing says how far is far.
    let limit = if 0.0 < limit { limit } else { f64::INFINITY };
    Some(distances.into_iter().map(|distance| distance.clamp(-limit, limit)).collect())
}

/// The windows of a part, itself among them.
struct Windows {
    min_part: usize,
    lengths: Vec<Length>,
    /// Partial sums of the values at hand.
    sums: Vec<f64>,
}

/// The windows of one length.
struct Length {
    length: usize,
    starts: Vec<usize>,
    /// The sizes that the left side may have.
    sizes: Vec<f64>,
    /// Of each, the factor of the squared distance of that side's sum from its expectation. That distance is
    /// the difference of the means times the product of both sizes over `length`, and with exponent 2 the
    /// energy distance is twice the square of that difference.
    factors: Vec<f64>,
}

impl Windows {
    /// Those of a part of `n` values.
    fn new(n: usize, min_part: usize) -> Self {
        let longer = |length: &usize| Some(2 * length);
        let of_length = |length: usize, starts| {
            let sizes: Vec<f64> = (min_part..=length - min_part).map(|size| size as f64).collect();
            let n = length as f64;
            let factors = sizes.iter().map(|left| 2.0 * n / (left * (n - left))).collect();
            Length { length, starts, sizes, factors }
        };
        let lengths = std::iter::successors(Some(SHORTEST_WINDOW), longer)
            .skip_while(|length| *length < 2 * min_part)
            .take_while(|length| *length < n)
            .map(|length| {
                let starts = (0..n - length).step_by(length / 2).chain([n - length]);
                of_length(length, starts.collect())
            })
            .chain([of_length(n, vec![0])])
            .collect();
        Self { min_part, lengths, sums: Vec::with_capacity(n + 1) }
    }

    /// The best place to split, and its statistic: the energy distance of the two sides, times the product
    /// of their sizes over their sum.
    fn best_split(&mut self, values: &[f64]) -> (usize, f64) {
        let found = self.largest(values);
        for windows in &self.lengths {
            for &start in &windows.starts {
                let of_window = windows.statistics(&self.sums[start..], self.min_part);
                if let Some(at) = of_window.into_iter().position(|statistic| found <= statistic) {
                    return (start + self.min_part + at, found);
                }
            }
        }
        (0, 0.0)
    }

    /// The statistic of the best place.
    fn largest(&mut self, values: &[f64]) -> f64 {
        self.sums.clear();
        self.sums.push(0.0);
        let mut sum = 0.0;
        self.sums.extend(values.iter().map(|value| {
            sum += value;
            sum
        }));
        let of_window =
            |windows: &Length, start: usize| windows.largest(&self.sums[start..], self.min_part);
        let all = self
            .lengths
            .iter()
            .flat_map(|windows| windows.starts.iter().map(move |start| of_window(windows, *start)));
        all.fold(0.0, f64::max)
    }
}

impl Length {
    /// The statistic of every size of the left side. `sums`: from the window's start.
    fn statistics(&self, sums: &[f64], min_part: usize) -> Vec<f64> {
        let mean = (sums[self.length] - sums[0]) / self.length as f64;
        let sides = sums[min_part..].iter().zip(&self.sizes).zip(&self.factors);
        sides.map(|((sum, size), factor)| statistic(sum - sums[0], mean, *size, *factor)).collect()
    }

    /// The largest of them, several at a time, and by their places: iterators over three slices are calls in
    /// builds without link-time optimisation.
    fn largest(&self, sums: &[f64], min_part: usize) -> f64 {
        let mean = (sums[self.length] - sums[0]) / self.length as f64;
        let first = sums[0];
        let sums = &sums[min_part..][..self.sizes.len()];
        let of = |at: usize| statistic(sums[at] - first, mean, self.sizes[at], self.factors[at]);
        let mut lanes = [0.0_f64; 4];
        let whole = sums.len() - sums.len() % lanes.len();
        for at in (0..whole).step_by(lanes.len()) {
            for (nth, lane) in lanes.iter_mut().enumerate() {
                let found = of(at + nth);
                *lane = if *lane < found { found } else { *lane };
            }
        }
        (whole..sums.len()).map(of).chain(lanes).fold(0.0, f64::max)
    }
}

/// Of the sum of the left side, of `size` values.
fn statistic(sum: f64, mean: f64, size: f64, factor: f64) -> f64 {
    let distance = sum - mean * size;
    distance * distance * factor
}

#[cfg(test)]
mod tests;
