//! Linux perf: counters of `perf stat -x`, samples of `perf script`.

mod script;
mod stat;

pub use script::{Samples, samples};
pub use stat::counters;

use crate::report::{Report, Tool, hot_functions};

/// Events to count; a machine without one of them reports it as not supported.
pub const EVENTS: &[&str] = &[
    "duration_time",
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
    "cache-references",
    "cache-misses",
];

/// Makes a report of the CSV of `perf stat` and the text of `perf script`; `None` where both are empty of them.
#[must_use]
pub fn report(stat: &str, script: &str) -> Option<Report> {
    let mut report = Report::new(Tool::Perf);
    report.counters = counters(stat);
    let samples = samples(script);
    if report.counters.is_empty() && samples.count == 0 {
        return None;
    }
    let lacking = ["cycles", "instructions", "cache-misses", "branch-misses"];
    let lacking: Vec<&str> =
        lacking.into_iter().filter(|name| report.counters.get(*name) == Some(&None)).collect();
    if !lacking.is_empty() {
        report.notes.push(format!(
            "the machine does not count {}, as in most virtual machines",
            lacking.join(", ")
        ));
    }
    if 0 < samples.count {
        let clock = samples.events.iter().any(|event| event.contains("clock"));
        let by = if clock { ", taken by a timer in place of a hardware counter" } else { "" };
        report.notes.push(format!(
            "{} samples of {}{by}",
            samples.count,
            samples.events.iter().cloned().collect::<Vec<_>>().join(", ")
        ));
    }
    report.functions = hot_functions(samples.functions);
    report.stacks = samples.stacks;
    Some(report)
}
