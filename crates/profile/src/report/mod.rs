//! A profile of a command, whichever tool made it.

mod basis;
mod lines;
mod threshold;
mod timeline;

use std::{cmp::Reverse, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;

pub use lines::summary;
pub use threshold::{Finding, THRESHOLDS, Threshold, findings, too_short};
pub(crate) use timeline::{Activity, Call, Timeline};

/// Kernels, functions and gaps of each kind that a report keeps.
pub(crate) const MAX_ROWS: usize = 200;

/// A tool that profiles commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Nsight Systems: the GPU and the calls of the CUDA API over time.
    Nsys,
    /// Nsight Compute: counters of every kernel.
    Ncu,
    /// Linux perf: counters and samples of the CPU.
    Perf,
    /// Instruments of macOS.
    Xctrace,
    /// `torch.profiler`.
    Torch,
}

impl Tool {
    /// All tools.
    pub const ALL: [Self; 5] = [Self::Nsys, Self::Ncu, Self::Perf, Self::Xctrace, Self::Torch];

    /// Returns the name of the tool as on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nsys => "nsys",
            Self::Ncu => "ncu",
            Self::Perf => "perf",
            Self::Xctrace => "xctrace",
            Self::Torch => "torch",
        }
    }
}

/// A profile; each part is empty or `None` where the tool does not measure it.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The tool.
    pub tool: Tool,
    /// First line of the summary, for example the command.
    pub subject: Option<String>,
    /// Time from the first to the last activity of a GPU, in microseconds.
    pub span_us: Option<f64>,
    /// Share of the span in which a GPU ran anything, the mean of all GPUs.
    pub busy_share: Option<f64>,
    /// Share of the time of copies in which a kernel ran on the same GPU.
    pub overlap_share: Option<f64>,
    /// Functions of the CPU or operators of PyTorch by their own time, the longest first.
    pub functions: Vec<Function>,
    /// Kernels by time, the longest first.
    pub kernels: Vec<Kernel>,
    /// Copies and memsets by direction, the longest first.
    pub copies: Vec<Copies>,
    /// The longest times in which a GPU ran nothing, the longest first.
    pub gaps: Vec<Gap>,
    /// Counters by name; `None` where the machine lacks it or it was not measured.
    pub counters: BTreeMap<String, Option<f64>>,
    /// Samples by stack, outermost function first, joined by `;`.
    pub stacks: BTreeMap<String, u64>,
    /// Remarks about how it was measured, and findings of the tool's own rules.
    pub notes: Vec<String>,
}

impl Report {
    /// Returns a report without anything measured.
    #[must_use]
    pub fn new(tool: Tool) -> Self {
        Self {
            tool,
            subject: None,
            span_us: None,
            busy_share: None,
            overlap_share: None,
            functions: Vec::new(),
            kernels: Vec::new(),
            copies: Vec::new(),
            gaps: Vec::new(),
            counters: BTreeMap::new(),
            stacks: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Returns a counter's value; `None` where it was not measured.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<f64> {
        self.counters.get(name).copied().flatten()
    }

    /// Returns the quotient of two counters where both were measured and the second is positive.
    #[must_use]
    pub fn ratio(&self, a: &str, b: &str) -> Option<f64> {
        let (a, b) = (self.counter(a)?, self.counter(b)?);
        (0.0 < b).then(|| a / b)
    }

    /// Returns the command's duration in seconds, as perf counted it; without that count the quotient of the CPU
    /// time and the CPUs that it used.
    #[must_use]
    pub fn duration_s(&self) -> Option<f64> {
        let counted = self.counter("duration_time").map(|ns| ns / 1e9);
        counted.or_else(|| self.ratio("task-clock", "cpus-utilized").map(|ms| ms / 1e3))
    }

    /// Returns a counter per second of the command's duration.
    #[must_use]
    pub fn per_second(&self, counter: &str) -> Option<f64> {
        let duration = self.duration_s().filter(|seconds| 0.0 < *seconds)?;
        Some(self.counter(counter)? / duration)
    }
}

/// A function of the CPU, or an operator of PyTorch.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The program or library that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Share of all samples, or of the own time of all operators on CPU and GPU.
    pub share: f64,
    /// Samples in the function itself; `None` where the tool does not sample.
    pub samples: Option<u64>,
    /// Calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Time on the CPU without that of the operators that it calls, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<f64>,
    /// Time of the kernels that it launches itself, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_us: Option<f64>,
}

/// All launches of a kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Kernel {
    /// Its name, without parameters.
    pub name: String,
    /// Launches.
    pub calls: u64,
    /// Time of all of them, in microseconds.
    pub total_us: f64,
    /// Median time of one, in microseconds.
    pub median_us: f64,
    /// Share of the time of all kernels.
    pub share: f64,
    /// Percent of the peak of arithmetic, of the longest launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_percent: Option<f64>,
    /// Percent of the peak of memory, of the longest launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_percent: Option<f64>,
    /// Percent of the multiprocessors' warps that were active, of the longest launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy_percent: Option<f64>,
}

/// All copies of a direction, or all memsets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Copies {
    /// `host to device`, `device to host`, `device to device`, `peer to peer`, `memset` or another.
    pub direction: String,
    /// Copies.
    pub calls: u64,
    /// Bytes of all of them; `None` where a tool does not know them.
    pub bytes: Option<u64>,
    /// Bytes of those from or to memory that is not pinned; `None` where a tool does not know it.
    pub pageable_bytes: Option<u64>,
    /// Time of all of them, in microseconds.
    pub total_us: f64,
    /// 10^9 bytes per second.
    pub gbps: Option<f64>,
}

/// Direction of memsets among the copies.
pub(crate) const MEMSET: &str = "memset";

/// Name of functions and kernels that have none.
pub(crate) const UNKNOWN: &str = "[unknown]";

/// A time in which a GPU ran nothing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gap {
    /// From the first activity of a GPU, in microseconds.
    pub start_us: f64,
    /// In microseconds.
    pub duration_us: f64,
    /// The call that took most of it; `None` where no traced call did.
    pub api: Option<String>,
    /// The GPU, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<i64>,
}

/// Turns weights by function and module into functions with shares, the heaviest first.
pub(crate) fn hot_functions(weights: BTreeMap<(String, String), (f64, u64)>) -> Vec<Function> {
    let total: f64 = weights.values().map(|(weight, _)| weight).sum();
    let mut functions: Vec<Function> = weights
        .into_iter()
        .map(|((name, module), (weight, samples))| Function {
            name,
            module: (!module.is_empty()).then_some(module),
            share: if 0.0 < total { weight / total } else { 0.0 },
            samples: Some(samples),
            calls: None,
            cpu_us: None,
            gpu_us: None,
        })
        .collect();
    functions.sort_by(|a, b| b.share.total_cmp(&a.share));
    functions.truncate(MAX_ROWS);
    functions
}

/// Turns the durations of launches by kernel, in nanoseconds, into kernels, the longest first.
pub(crate) fn kernels(durations: BTreeMap<String, Vec<i64>>) -> Vec<Kernel> {
    let total: i64 = durations.values().flatten().sum();
    let mut kernels: Vec<(i64, Kernel)> = durations
        .into_iter()
        .map(|(name, mut durations)| {
            durations.sort_unstable();
            let sum: i64 = durations.iter().sum();
            let kernel = Kernel {
                name,
                calls: durations.len() as u64,
                total_us: us(sum),
                median_us: median_us(&durations),
                share: if 0 < total { us(sum) / us(total) } else { 0.0 },
                ..Kernel::default()
            };
            (sum, kernel)
        })
        .collect();
    kernels.sort_by_key(|(sum, _)| Reverse(*sum));
    kernels.into_iter().map(|(_, kernel)| kernel).take(MAX_ROWS).collect()
}

/// Turns nanoseconds into microseconds.
#[expect(clippy::cast_precision_loss, reason = "a profile of 100 days would lose nanoseconds")]
pub(crate) fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

fn median_us(sorted: &[i64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => us(sorted[middle]),
        _ => f64::midpoint(us(sorted[middle - 1]), us(sorted[middle])),
    }
}

/// Drops parameters, and `void ` in front, of a demangled name: `void f<int>(float*)` is `f<int>`.
pub(crate) fn kernel_name(name: &str) -> &str {
    let name = name.trim().trim_start_matches("void ");
    let mut depth = 0_u32;
    for (at, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            // `(anonymous namespace)::f` and operators begin with one.
            '(' if depth == 0 && 0 < at && !name[at..].starts_with("(anonymous") => {
                return &name[..at];
            }
            _ => {}
        }
    }
    name
}
