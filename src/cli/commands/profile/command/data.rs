//! The profile of a command as data.

use std::{collections::BTreeMap, path::Path};

use kgen_profile::report::{self, Copies, Finding, Function, Gap, Kernel, Report, Tool};
use schemars::JsonSchema;
use serde::Serialize;

/// The profile of a command.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProfiledCommand {
    /// The profiler.
    pub(super) tool: Tool,
    /// Its own words about its version; `None` where it did not run.
    pub(super) tool_version: Option<String>,
    /// The command; empty where a report was read.
    pub(super) command: Vec<String>,
    /// Exit code of the command; `None` where it was ended or a report was read.
    pub(super) command_exit_code: Option<i32>,
    /// Time of the command from its start to its end, below the profiler; `None` where it was not measured or a report
    /// was read.
    pub(super) seconds: Option<f64>,
    /// Time of the profiler, from its start to its end; `None` where a report was read.
    pub(super) seconds_with_profiler: Option<f64>,
    /// The raw report.
    pub(super) report: String,
    /// The lines of the summary.
    pub(super) summary: Vec<String>,
    /// Figures beyond their thresholds.
    pub(super) findings: Vec<Finding>,
    /// Why figures make no finding however far beyond; `None` where the run was long enough for all.
    pub(super) too_short: Option<String>,
    /// Time from the first to the last activity of a GPU, in microseconds.
    pub(super) span_us: Option<f64>,
    /// Share of the span in which a GPU ran anything, the mean of all GPUs.
    pub(super) busy_share: Option<f64>,
    /// Share of the time of copies in which a kernel ran on the same GPU.
    pub(super) overlap_share: Option<f64>,
    /// Functions of the CPU or operators of PyTorch by own time.
    pub(super) functions: Vec<Function>,
    /// Kernels by time.
    pub(super) kernels: Vec<Kernel>,
    /// Copies and memsets by direction.
    pub(super) copies: Vec<Copies>,
    /// The longest times in which a GPU ran nothing.
    pub(super) gaps: Vec<Gap>,
    /// Counters by name; `None` where one was not measured.
    pub(super) counters: BTreeMap<String, Option<f64>>,
}

impl ProfiledCommand {
    /// Returns a report that was read from a file.
    pub(super) fn of(report: Report, file: &Path) -> Self {
        Self {
            tool: report.tool,
            tool_version: None,
            command: Vec::new(),
            command_exit_code: None,
            seconds: None,
            seconds_with_profiler: None,
            report: file.display().to_string(),
            summary: report::summary(&report),
            findings: report::findings(&report),
            too_short: report::too_short(&report),
            span_us: report.span_us,
            busy_share: report.busy_share,
            overlap_share: report.overlap_share,
            functions: report.functions,
            kernels: report.kernels,
            copies: report.copies,
            gaps: report.gaps,
            counters: report.counters,
        }
    }
}
