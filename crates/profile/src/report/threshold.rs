//! Thresholds: from which value on a figure deserves a line, and its meaning.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Copies, Kernel, MEMSET, Report, UNKNOWN, basis::Basis, lines::decimal};

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
            Self::Number => decimal(value).trim_end_matches('0').trim_end_matches('.').into(),
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
    basis: Basis,
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

    /// Returns the least evidence that a finding needs, for example `100 samples`; empty where it needs none.
    #[must_use]
    pub fn needs(&self) -> String {
        self.basis.least()
    }

    /// Returns why the figure, which was measured, makes no finding.
    fn lack(&self, report: &Report) -> Option<String> {
        // Shares of one function are none at all, but they are listed.
        if self.basis != Basis::Functions {
            (self.value)(report)?;
        }
        self.basis.lack(report)
    }

    fn finding(&self, report: &Report) -> Option<Finding> {
        let value = (self.value)(report).filter(|_| self.basis.lack(report).is_none())?;
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

/// Says what the run was too short for findings in, in a line; `None` where it was long enough.
#[must_use]
pub fn too_short(report: &Report) -> Option<String> {
    let mut lacks: Vec<String> = Vec::new();
    for lack in THRESHOLDS.iter().filter_map(|threshold| threshold.lack(report)) {
        if !lacks.contains(&lack) {
            lacks.push(lack);
        }
    }
    (!lacks.is_empty()).then(|| {
        format!("the run was too short for some findings: {} that they need", lacks.join(", "))
    })
}

/// Returns the figures beyond their thresholds that rest on enough, in the table's order.
#[must_use]
pub fn findings(report: &Report) -> Vec<Finding> {
    THRESHOLDS.iter().filter_map(|threshold| threshold.finding(report)).collect()
}

macro_rules! thresholds {
    ($($metric:literal $side:ident $limit:literal $unit:ident, $basis:expr => $meaning:literal, $value:expr;)*) => {
        /// All thresholds.
        pub const THRESHOLDS: &[Threshold] = &[$(Threshold {
            metric: $metric,
            side: Side::$side,
            limit: $limit,
            unit: Unit::$unit,
            meaning: $meaning,
            basis: $basis,
            value: $value,
        }),*];
    };
}

thresholds! {
    "GPU busy" Below 0.8 Share, Basis::Span =>
        "the GPU waits for the program: see the gaps", |r| r.busy_share;
    "longest gap" Above 0.1 Share, Basis::Span =>
        "of the span in one piece: the call in it, or the code around it, holds the GPU up", longest_gap;
    "copies" Above 0.1 Share, Basis::Span =>
        "of the GPU's busy time moves data: keep it on the GPU, or copy less", copies_share;
    "overlap of copies with kernels" Below 0.5 Share, Basis::Span =>
        "copies mostly run alone: use pinned memory and a stream of their own", overlap;
    "bytes in pageable memory" Above 0.1 Share, Basis::Any =>
        "such copies are staged by the driver and block: pin the memory", pageable_share;
    "slowest direction of copies" Below 5.0 GbPerSecond, Basis::Any =>
        "far below PCIe's rate: pageable memory or many small copies", slowest_copy;
    "memsets" Above 0.05 Share, Basis::Span =>
        "of the GPU's busy time clears memory: write whole buffers instead", memset_share;
    "median kernel" Below 5.0 Microseconds, Basis::Any =>
        "launches cost as much as the work: fuse kernels or use CUDA graphs", median_kernel;
    "longest kernel" Above 0.5 Share, Basis::Span =>
        "of the time of all kernels: begin with this one", |r| Some(r.kernels.first()?.share).filter(|_| 1 < r.kernels.len());
    "throughput of the longest kernel" Below 60.0 Percent, Basis::Any =>
        "of peak in arithmetic and in memory: it waits, for latency or for want of work", throughput;
    "occupancy of the longest kernel" Below 30.0 Percent, Basis::Any =>
        "few warps hide latency: fewer registers or less shared memory per block, or more blocks", |r| r.kernels.first()?.occupancy_percent;
    "CPUs utilized" Below 0.7 Number, Basis::Duration =>
        "the program mostly waits: for I/O, locks, a GPU or other processes", |r| r.counter("cpus-utilized");
    "IPC" Below 1.0 Number, Basis::Events("instructions", 1e7) =>
        "the processor mostly waits, usually for memory", |r| r.ratio("instructions", "cycles");
    "cache misses" Above 0.2 Share, Basis::Events("cache-references", 1e4) =>
        "of the accesses to the last-level cache go to memory: the data does not fit or is read in no order", |r| r.ratio("cache-misses", "cache-references");
    "branch misses" Above 0.03 Share, Basis::Events("branches", 1e6) =>
        "of the branches are guessed wrong: they depend on data", |r| r.ratio("branch-misses", "branches");
    "context switches" Above 1000.0 PerSecond, Basis::Duration =>
        "threads wait for each other or for I/O", |r| r.per_second("context-switches");
    "CPU migrations" Above 100.0 PerSecond, Basis::Duration =>
        "threads lose their caches: pin them, or start fewer", |r| r.per_second("cpu-migrations");
    "page faults" Above 20000.0 PerSecond, Basis::Duration =>
        "memory is allocated and returned all the time: keep buffers", |r| r.per_second("page-faults");
    "hottest function" Above 0.3 Share, Basis::Functions =>
        "of all samples or own time: begin there", hottest;
    "samples without a symbol" Above 0.2 Share, Basis::Functions =>
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Tool;

    #[test]
    fn a_crossed_threshold_has_its_line() {
        let mut report = Report::new(Tool::Perf);
        report.counters.insert("instructions".to_owned(), Some(4e8));
        report.counters.insert("cycles".to_owned(), Some(1e9));
        let lines: Vec<String> = findings(&report).iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["IPC 0.4: below 1, the processor mostly waits, usually for memory"]);
        report.counters.insert("instructions".to_owned(), Some(1e9));
        assert_eq!(findings(&report), []);
        report.counters.insert("instructions".to_owned(), None);
        assert_eq!(findings(&report), []);
    }

    /// A report of a program that ran for some milliseconds, and was sampled so often in each of two functions.
    fn of_run(ms: f64, samples: u64) -> Report {
        let counters = format!(
            "{};ns;duration_time;1;100.00;;\n{};msec;task-clock;1;100.00;0.1;CPUs utilized\n\
             {};;context-switches;1;100.00;;\n2000000;;instructions;1;100.00;;\n8000000;;cycles;1;100.00;;\n",
            1e6 * ms,
            0.1 * ms,
            0.5 * ms
        );
        let sample = |name| format!("app 7 1.5: 1 cycles:\n\t10 {name}+0x1 (/bin/app)\n\n");
        let n = usize::try_from(samples).unwrap();
        let script = sample("hot").repeat(n) + &sample("cold").repeat(n);
        crate::perf::report(&counters, &script).unwrap()
    }

    #[test]
    fn rates_are_per_second_of_the_command() {
        let report = of_run(2000.0, 100);
        // 1000 in two seconds; per second of CPU time they would be 5000.
        assert_eq!(report.per_second("context-switches"), Some(500.0));
        assert!(findings(&report).iter().all(|finding| finding.metric != "context switches"));
        let text = crate::report::summary(&report).join("\n");
        assert!(text.contains("duration 2.00 s, CPU time 200.00 ms"), "{text}");
        assert!(text.contains("context switches 1000 (500/s)"), "{text}");
        let derived = "10;msec;task-clock;1;100.00;0.5;CPUs utilized\n";
        let derived = crate::perf::report(derived, "").unwrap();
        assert_eq!((derived.duration_s(), derived.per_second("page-faults")), (Some(0.02), None));
    }

    #[test]
    fn short_runs_have_no_findings() {
        let short = of_run(20.0, 3);
        assert_eq!(findings(&short), []);
        let text = crate::report::summary(&short).join("\n");
        let line = "-> the run was too short for some findings: 20.00 ms of the 100 ms, \
                    2000000 of the 10000000 instructions, 6 of the 100 samples that they need";
        assert!(text.contains(line), "{text}");
        let metrics = |report: &Report| -> Vec<String> {
            findings(report).into_iter().map(|finding| finding.metric).collect()
        };
        assert_eq!(metrics(&of_run(200.0, 3)), ["CPUs utilized"]);
        assert_eq!(metrics(&of_run(200.0, 50)), ["CPUs utilized", "hottest function"]);
        assert_eq!(too_short(&Report::new(Tool::Perf)), None);
        let one =
            crate::perf::report("", "app 7 1.5: 1 cycles:\n\t10 hot+0x1 (/bin/app)\n").unwrap();
        assert!(too_short(&one).is_some_and(|line| line.contains("1 of the 100 samples")));
    }

    #[test]
    fn metrics_have_names_of_their_own() {
        let mut names: Vec<&str> = THRESHOLDS.iter().map(|row| row.metric).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), THRESHOLDS.len());
    }
}
