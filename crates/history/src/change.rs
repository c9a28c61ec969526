//! Change points of a series: when did its time change, and by how much?

use std::collections::HashMap;

use jiff::Timestamp;
use kgen_measure::{
    Mode,
    stats::{Divisive, divide, median},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Entry, Error, History, Series};

/// The smallest change that is reported, as a share: sessions differ by less without one.
const MIN_CHANGE: f64 = 0.02;

/// A median in the course of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Number of the entry.
    pub entry: i64,
    /// When it was measured.
    pub created: Timestamp,
    /// Median in microseconds.
    pub median_us: f64,
}

/// A series on one GPU in one timing mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The case with its implementation.
    pub series: Series,
    /// Name of the GPU.
    pub gpu: String,
    /// How samples were taken.
    pub mode: Mode,
    /// Oldest first.
    pub points: Vec<Point>,
}

/// A change that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ChangePoint {
    /// Index of the first point after it.
    pub at: usize,
    /// The entry of that point.
    pub entry: i64,
    /// Median of the points since the change before, in microseconds.
    pub before_us: f64,
    /// Median of the points up to the change after.
    pub after_us: f64,
    /// After over before: above 1 it became slower.
    pub ratio: f64,
    /// Share of the permutations that split as well.
    pub p: f64,
}

/// Finds the change points of medians in the order of time, each positive; the same points give the same
/// changes.
///
/// Those of E-divisive means on the logarithms, of parts of at least three points, that change the median
/// by 2 % or more. In fewer than ten points no change is significant.
#[must_use]
pub fn change_points(points: &[Point]) -> Vec<ChangePoint> {
    let logs: Vec<f64> = points.iter().map(|point| point.median_us.ln()).collect();
    let mut changes = divide(&logs, &Divisive::default());
    loop {
        let mut ends: Vec<usize> = changes.iter().map(|change| change.at).collect();
        ends.push(logs.len());
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let levels: Vec<f64> =
            starts.zip(&ends).filter_map(|(start, end)| median(&logs[start..*end])).collect();
        let sizes = levels.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        // The smallest first: its parts become one, whose level may make another change smaller.
        let smallest = sizes.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match smallest {
            Some((at, size)) if size < MIN_CHANGE.ln_1p() => _ = changes.remove(at),
            _ => {
                let pairs = levels.windows(2).zip(&changes);
                return pairs
                    .map(|(pair, change)| ChangePoint {
                        at: change.at,
                        entry: points[change.at].entry,
                        before_us: pair[0].exp(),
                        after_us: pair[1].exp(),
                        ratio: (pair[1] - pair[0]).exp(),
                        p: change.p,
                    })
                    .collect();
            }
        }
    }
}

impl History {
    /// Returns how every series went, on each GPU and in each timing mode by itself, by name.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn lines(&self) -> Result<Vec<Line>, Error> {
        self.lines_where(None)
    }

    /// Returns how the series of two entries went, on the GPUs of these two.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn lines_of(&self, pair: [&Entry; 2]) -> Result<Vec<Line>, Error> {
        self.lines_where(Some(pair))
    }

    fn lines_where(&self, pair: Option<[&Entry; 2]>) -> Result<Vec<Line>, Error> {
        let mut entries = self.entries()?;
        entries.reverse();
        if let Some(pair) = pair {
            entries.retain(|entry| pair.iter().any(|of| gpu(of) == gpu(entry)));
        }
        let of_number: HashMap<i64, usize> =
            entries.iter().enumerate().map(|(at, entry)| (entry.number, at)).collect();
        let gpus = gpus(&entries);
        let mut found: HashMap<(i64, usize, &str), Medians> = HashMap::new();
        self.each_median(pair.map(|pair| pair.map(|entry| entry.number)), |median| {
            // Other GPUs and entries that came since the first reading are left out; so is a time below the
            // clock's step.
            if let Some(at) = of_number.get(&median.entry).filter(|_| 0.0 < median.median_us) {
                let key = (median.series, gpus[*at], median.mode.name());
                let new = || Medians { mode: median.mode, of_entries: Vec::new() };
                let medians = found.entry(key).or_insert_with(new);
                medians.of_entries.push((*at, median.median_us));
            }
        })?;
        let series: HashMap<i64, Series> = self.series()?.into_iter().collect();
        let lines = found.into_iter().filter_map(|((id, ..), medians)| {
            Some(medians.line(series.get(&id)?.clone(), &entries))
        });
        let mut lines: Vec<Line> = lines.collect();
        let first = |line: &Line| line.points.first().map(|point| point.entry);
        lines.sort_by(|a, b| {
            let key = |line| (first(line), line.mode.name());
            a.series.cmp(&b.series).then_with(|| key(a).cmp(&key(b)))
        });
        Ok(lines)
    }
}

/// The medians of a line.
struct Medians {
    mode: Mode,
    /// By the index of their entry, in any order.
    of_entries: Vec<(usize, f64)>,
}

impl Medians {
    fn line(mut self, series: Series, entries: &[Entry]) -> Line {
        self.of_entries.sort_unstable_by_key(|(at, _)| *at);
        let newest = self.of_entries.last();
        let gpu = newest.map(|(at, _)| entries[*at].device.clone()).unwrap_or_default();
        let point = |(at, median_us): (usize, f64)| {
            let Entry { number, created, .. } = entries[at];
            Point { entry: number, created, median_us }
        };
        let points = self.of_entries.into_iter().map(point).collect();
        Line { series, gpu, mode: self.mode, points }
    }
}

/// Of each entry, which GPU it was measured on: numbers of different ones are never mixed.
fn gpus(entries: &[Entry]) -> Vec<usize> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let number = |entry| {
        let next = known.len();
        *known.entry(gpu(entry)).or_insert(next)
    };
    entries.iter().map(number).collect()
}

fn gpu(entry: &Entry) -> &str {
    let uuid = entry.fingerprint.as_ref().and_then(|fingerprint| fingerprint.gpu_uuid.as_deref());
    uuid.unwrap_or(&entry.device)
}
