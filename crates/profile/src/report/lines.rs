//! A report in a few lines: facts by size, then the figures beyond their thresholds.

use super::{Copies, Function, Gap, Kernel, Report, Tool, findings, too_short};
use crate::summary::MAX_LINES;

/// Lines of findings at most; the rest is room for facts.
const MAX_FINDINGS: usize = 7;

/// Characters of a name that are shown.
const NAME: usize = 80;

/// Returns the lines, [`MAX_LINES`] at most: the subject, facts, findings, remarks.
#[must_use]
pub fn summary(report: &Report) -> Vec<String> {
    let findings = findings(report);
    let findings = findings.iter().take(MAX_FINDINGS).map(ToString::to_string);
    let findings = findings.chain(too_short(report)).map(|line| format!("-> {line}"));
    let findings: Vec<String> = findings.collect();
    let notes: Vec<String> = report.notes.iter().take(6).map(|note| cut(note, 200)).collect();
    let mut facts = Vec::new();
    facts.extend(busy(report));
    facts.extend(block("kernels by time", &report.kernels, 6, kernel));
    facts.extend(block("copies", &report.copies, 4, copies));
    facts.extend(block("longest gaps of the GPU", &report.gaps, 4, gap));
    facts.extend(counters(report));
    let (heading, most) = match report.tool {
        Tool::Torch => ("operators by own time", 8),
        _ => ("hot functions", 14),
    };
    facts.extend(block(heading, &report.functions, most, function));
    if facts.is_empty() {
        facts.push("nothing was recorded".to_owned());
    }
    let head: Vec<String> = report.subject.iter().cloned().collect();
    facts.truncate(MAX_LINES.saturating_sub(head.len() + findings.len() + notes.len()));
    [head, facts, findings, notes].concat()
}

/// Shows the first rows of a list below its heading, and how many are left out.
fn block<T>(heading: &str, rows: &[T], most: usize, show: fn(&T) -> String) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("{heading}:")];
    lines.extend(rows.iter().take(most).map(|row| format!("  {}", show(row))));
    if most < rows.len() {
        lines[0] = format!("{heading} ({most} of {}):", rows.len());
    }
    lines
}

fn busy(report: &Report) -> Option<String> {
    let span = report.span_us?;
    let percent = |share: Option<f64>| {
        share.map_or("not measured".to_owned(), |share| format!("{:.0} %", 100.0 * share))
    };
    let overlap = report.overlap_share.map(|share| format!("{:.0} %", 100.0 * share));
    let overlap = overlap.map_or_else(String::new, |share| {
        format!(", {share} of the time of copies overlaps with kernels")
    });
    Some(format!("GPU: busy {} of {}{overlap}", percent(report.busy_share), time(span)))
}

fn kernel(kernel: &Kernel) -> String {
    let percent = |name: &str, value: Option<f64>| {
        value.map_or_else(String::new, |value| format!(", {name} {value:.0} %"))
    };
    format!(
        "{:>4.0} %  {:>10}  {} calls, median {}{}{}{}  {}",
        100.0 * kernel.share,
        time(kernel.total_us),
        kernel.calls,
        time(kernel.median_us),
        percent("compute", kernel.compute_percent),
        percent("memory", kernel.memory_percent),
        percent("occupancy", kernel.occupancy_percent),
        cut(&kernel.name, NAME)
    )
}

fn copies(copies: &Copies) -> String {
    let bytes = copies.bytes.map_or_else(String::new, |bytes| format!(", {}", size(bytes)));
    let rate = copies.gbps.map_or_else(String::new, |rate| format!(", {rate:.1} GB/s"));
    let pageable = copies.pageable_bytes.filter(|bytes| 0 < *bytes);
    let pageable =
        pageable.map_or_else(String::new, |bytes| format!(", {} of it pageable", size(bytes)));
    format!(
        "{:>10}  {}: {} calls{bytes}{rate}{pageable}",
        time(copies.total_us),
        copies.direction,
        copies.calls
    )
}

fn gap(gap: &Gap) -> String {
    let device = gap.device.map_or_else(String::new, |device| format!(" on GPU {device}"));
    let api = gap.api.as_deref().map_or("no traced call in it".to_owned(), |api| cut(api, NAME));
    format!("{:>10}  at {}{device}: {api}", time(gap.duration_us), time(gap.start_us))
}

fn function(function: &Function) -> String {
    let parts = [
        function.cpu_us.map(|us| format!("CPU {}", time(us))),
        function.gpu_us.map(|us| format!("GPU {}", time(us))),
        function.calls.map(|calls| format!("{calls} calls")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let parts = if parts.is_empty() { String::new() } else { format!("  ({})", parts.join(", ")) };
    let module = function.module.as_deref().map_or_else(String::new, |name| format!("  {name}"));
    format!("{:>5.1} %  {}{module}{parts}", 100.0 * function.share, cut(&function.name, NAME))
}

/// Shows the counters in three lines: times, those of the hardware, and those of the system.
fn counters(report: &Report) -> Vec<String> {
    if report.tool != Tool::Perf {
        let mut lines: Vec<String> = Vec::new();
        let measured = report.counters.iter().filter_map(|(name, value)| Some((name, (*value)?)));
        lines.extend(measured.take(10).map(|(name, value)| format!("{name}: {value:.4}")));
        return lines;
    }
    if report.counters.is_empty() {
        return Vec::new();
    }
    let unmeasured = || "not measured".to_owned();
    let share = |a, b| {
        let share = report.ratio(a, b).map(|share| format!("{:.1} %", 100.0 * share));
        share.unwrap_or_else(unmeasured)
    };
    let events = |name: &str| {
        let count = report.counter(name).map(|count| format!("{count:.0}"));
        let rate = report.per_second(name).map(|rate| format!(" ({})", rate_text(rate)));
        count.map_or_else(unmeasured, |count| count + &rate.unwrap_or_default())
    };
    let ipc = report.ratio("instructions", "cycles").map(|ipc| format!("{ipc:.2}"));
    let duration = report.duration_s().map(|seconds| time(1e6 * seconds));
    let clock = report.counter("task-clock").map(|ms| time(1e3 * ms));
    let cpus = report.counter("cpus-utilized").map(decimal);
    vec![
        format!(
            "duration {}, CPU time {}, CPUs utilized {}",
            duration.unwrap_or_else(unmeasured),
            clock.unwrap_or_else(unmeasured),
            cpus.unwrap_or_else(unmeasured),
        ),
        format!(
            "IPC {}, cache misses {}, branch misses {}",
            ipc.unwrap_or_else(unmeasured),
            share("cache-misses", "cache-references"),
            share("branch-misses", "branches"),
        ),
        format!(
            "context switches {}, CPU migrations {}, page faults {}",
            events("context-switches"),
            events("cpu-migrations"),
            events("page-faults"),
        ),
    ]
}

/// Shows a number of about 1 with two decimals, a small one with three.
pub(super) fn decimal(value: f64) -> String {
    if value.abs() < 0.1 { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// Shows a rate per second.
fn rate_text(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}/s") } else { format!("{rate:.0}/s") }
}
/// Shows a time in the unit that suits it.
pub(super) fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.1} us"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a size is shown with three digits")]
fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        bytes if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.2} GB", bytes / 1e9),
    }
}

/// Shortens a name, in its middle: templates differ at their end.
fn cut(name: &str, most: usize) -> String {
    let n = name.chars().count();
    if n <= most {
        return name.to_owned();
    }
    let half = (most - 3) / 2;
    let head: String = name.chars().take(half).collect();
    let tail: String = name.chars().skip(n - half).collect();
    format!("{head}...{tail}")
}
