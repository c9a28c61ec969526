//! Thresholds: from which value on a figure deserves a line, and its meaning.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Copies, Kernel, MEMSET, Report, UNKNOWN};

/// A figure beyond its threshold.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The figure's name.
    pub metric: String,
    /// Its value; shares are between 0 and 1.
    pub value: f64,
    /// The threshold that it crossed, in the same unit.
    pub threshold: f64,
    /// The meaning of that.
    pub meaning: String,
    /// The line of the summary.
    #[serde(skip)]
    line: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// The side of a threshold on which a figure deserves a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// How a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Number,
    Share,
    Percent,
    PerSecond,
    Microseconds,
    GbPerSecond,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Number => {
                format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').into()
            }
            Self::Share => format!("{:.0} %", 100.0 * value),
            Self::Percent => format!("{value:.0} %"),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Microseconds => format!("{value:.1} us"),
            Self::GbPerSecond => format!("{value:.1} GB/s"),
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Threshold {
    /// The figure.
    pub metric: &'static str,
    side: Side,
    limit: f64,
    unit: Unit,
    /// Its meaning on that side.
    pub meaning: &'static str,
    value: fn(&Report) -> Option<f64>,
}

impl Threshold {
    /// Returns the condition, for example `below 1`.
    #[must_use]
    pub fn condition(&self) -> String {
        let side = match self.side {
            Side::Below => "below",
            Side::Above => "above",
        };
        format!("{side} {}", self.unit.show(self.limit))
    }

    fn finding(&self, report: &Report) -> Option<Finding> {
        let value = (self.value)(report)?;
        let crossed = match self.side {
            Side::Below => value < self.limit,
            Side::Above => self.limit < value,
        };
        crossed.then(|| Finding {
            metric: self.metric.to_owned(),
            value,
            threshold: self.limit,
            meaning: self.meaning.to_owned(),
            line: format!(
                "{} {}: {}, {}",
                self.metric,
                self.unit.show(value),
                self.condition(),
                self.meaning
            ),
        })
    }
}

/// Returns the figures beyond their thresholds, in the table's order.
#[must_use]
pub fn findings(report: &Report) -> Vec<Finding> {
    THRESHOLDS.iter().filter_map(|threshold| threshold.finding(report)).collect()
}

macro_rules! thresholds {
    ($($metric:literal $side:ident $limit:literal $unit:ident: $meaning:literal, $value:expr;)*) => {
        /// All thresholds.
        pub const THRESHOLDS: &[Threshold] = &[$(Threshold {
            metric: $metric,
            side: Side::$side,
            limit: $limit,
            unit: Unit::$unit,
            meaning: $meaning,
            value: $value,
        }),*];
    };
}

thresholds! {
    "GPU busy" Below 0.8 Share:
        "the GPU waits for the program: see the gaps", |r| r.busy_share;
    "longest gap" Above 0.1 Share:
        "of the span in one piece: the call in it, or the code around it, holds the GPU up", longest_gap;
    "copies" Above 0.1 Share:
        "of the GPU's busy time moves data: keep it on the GPU, or copy less", copies_share;
    "overlap of copies with kernels" Below 0.5 Share:
        "copies mostly run alone: use pinned memory and a stream of their own", overlap;
    "bytes in pageable memory" Above 0.1 Share:
        "such copies are staged by the driver and block: pin the memory", pageable_share;
    "slowest direction of copies" Below 5.0 GbPerSecond:
        "far below PCIe's rate: pageable memory or many small copies", slowest_copy;
    "memsets" Above 0.05 Share:
        "of the GPU's busy time clears memory: write whole buffers instead", memset_share;
    "median kernel" Below 5.0 Microseconds:
        "launches cost as much as the work: fuse kernels or use CUDA graphs", median_kernel;
    "longest kernel" Above 0.5 Share:
        "of the time of all kernels: begin with this one", |r| Some(r.kernels.first()?.share).filter(|_| 1 < r.kernels.len());
    "throughput of the longest kernel" Below 60.0 Percent:
        "of peak in arithmetic and in memory: it waits, for latency or for want of work", throughput;
    "occupancy of the longest kernel" Below 30.0 Percent:
        "few warps hide latency: fewer registers or less shared memory per block, or more blocks", |r| r.kernels.first()?.occupancy_percent;
    "CPUs utilized" Below 0.7 Number:
        "the program mostly waits: for I/O, locks, a GPU or other processes", |r| r.counter("cpus-utilized");
    "IPC" Below 1.0 Number:
        "the processor mostly waits, usually for memory", |r| r.ratio("instructions", "cycles");
    "cache misses" Above 0.2 Share:
        "of the accesses to the last-level cache go to memory: the data does not fit or is read in no order", |r| r.ratio("cache-misses", "cache-references");
    "branch misses" Above 0.03 Share:
        "of the branches are guessed wrong: they depend on data", |r| r.ratio("branch-misses", "branches");
    "context switches" Above 1000.0 PerSecond:
        "threads wait for each other or for I/O", |r| per_second(r, "context-switches");
    "CPU migrations" Above 100.0 PerSecond:
        "threads lose their caches: pin them, or start fewer", |r| per_second(r, "cpu-migrations");
    "page faults" Above 20000.0 PerSecond:
        "memory is allocated and returned all the time: keep buffers", |r| per_second(r, "page-faults");
    "hottest function" Above 0.3 Share:
        "of all samples or own time: begin there", hottest;
    "samples without a symbol" Above 0.2 Share:
        "the program is stripped or compiled at run time: build it with symbols", unknown;
}

fn longest_gap(report: &Report) -> Option<f64> {
    let span = report.span_us.filter(|span| 0.0 < *span)?;
    Some(report.gaps.first()?.duration_us / span)
}

fn kernels_us(report: &Report) -> f64 {
    report.kernels.iter().map(|kernel| kernel.total_us).sum()
}

fn copies(report: &Report, is_memset: bool) -> impl Iterator<Item = &Copies> {
    report.copies.iter().filter(move |copies| (copies.direction == MEMSET) == is_memset)
}

/// Share of copies or memsets in the time of all activities; `None` without any.
fn share(report: &Report, is_memset: bool) -> Option<f64> {
    let own: f64 = copies(report, is_memset).map(|copies| copies.total_us).sum();
    let all: f64 = report.copies.iter().map(|copies| copies.total_us).sum();
    let all = all + kernels_us(report);
    (0.0 < own && 0.0 < all).then(|| own / all)
}

fn copies_share(report: &Report) -> Option<f64> {
    share(report, false)
}

fn memset_share(report: &Report) -> Option<f64> {
    share(report, true)
}

/// Copies that take next to no time need not overlap.
fn overlap(report: &Report) -> Option<f64> {
    report.overlap_share.filter(|_| copies_share(report).is_some_and(|share| 0.05 < share))
}

/// Bytes of copies that deserve a remark about their rate.
const LARGE: u64 = 16 << 20;

/// Returns the copies between the host and a GPU.
fn of_host(report: &Report) -> impl Iterator<Item = &Copies> {
    copies(report, false).filter(|copies| copies.direction.contains("host"))
}

#[expect(clippy::cast_precision_loss, reason = "a share is shown with two digits")]
fn pageable_share(report: &Report) -> Option<f64> {
    let sum = |part: fn(&Copies) -> Option<u64>| of_host(report).filter_map(part).sum::<u64>();
    let known = of_host(report).any(|copies| copies.pageable_bytes.is_some());
    let all = sum(|copies| copies.bytes);
    (known && LARGE <= all).then(|| sum(|copies| copies.pageable_bytes) as f64 / all as f64)
}

fn slowest_copy(report: &Report) -> Option<f64> {
    let large = of_host(report).filter(|copies| copies.bytes.is_some_and(|bytes| LARGE <= bytes));
    large.filter_map(|copies| copies.gbps).min_by(f64::total_cmp)
}

/// Returns the median time of all launches, as far as the medians of the kernels say it.
fn median_kernel(report: &Report) -> Option<f64> {
    let mut kernels: Vec<&Kernel> = report.kernels.iter().collect();
    kernels.sort_by(|a, b| a.median_us.total_cmp(&b.median_us));
    let n_launches: u64 = kernels.iter().map(|kernel| kernel.calls).sum();
    // Few launches cost nothing.
    if n_launches < 100 {
        return None;
    }
    let mut seen = 0;
    let middle = kernels.into_iter().find(|kernel| {
        seen += kernel.calls;
        n_launches <= 2 * seen
    });
    middle.map(|kernel| kernel.median_us)
}

fn throughput(report: &Report) -> Option<f64> {
    let kernel = report.kernels.first()?;
    Some(kernel.compute_percent?.max(kernel.memory_percent?))
}

/// Returns the share of the hottest function that has a name, unless it is the only one.
fn hottest(report: &Report) -> Option<f64> {
    let named = report.functions.iter().find(|function| function.name != UNKNOWN)?;
    (1 < report.functions.len()).then_some(named.share)
}

fn unknown(report: &Report) -> Option<f64> {
    let unknown = report.functions.iter().filter(|function| function.name == UNKNOWN);
    unknown.map(|function| function.share).reduce(|a, b| a + b)
}

/// Returns a counter per second of CPU time, as perf has it.
fn per_second(report: &Report, counter: &str) -> Option<f64> {
    report.ratio(counter, "task-clock").map(|per_ms| 1e3 * per_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Tool;

    #[test]
    fn a_crossed_threshold_has_its_line() {
        let mut report = Report::new(Tool::Perf);
        report.counters.insert("instructions".to_owned(), Some(40.0));
        report.counters.insert("cycles".to_owned(), Some(100.0));
        let lines: Vec<String> = findings(&report).iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["IPC 0.4: below 1, the processor mostly waits, usually for memory"]);
        report.counters.insert("instructions".to_owned(), Some(100.0));
        assert_eq!(findings(&report), []);
        report.counters.insert("instructions".to_owned(), None);
        assert_eq!(findings(&report), []);
    }

    #[test]
    fn metrics_have_names_of_their_own() {
        let mut names: Vec<&str> = THRESHOLDS.iter().map(|row| row.metric).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), THRESHOLDS.len());
    }
}
