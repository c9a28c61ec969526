//! The data of a benchmark.

use std::collections::BTreeMap;

use kgen_measure::{Comparison, Fingerprint, Flag, Mode, Timing, Usage, roofline::Roofline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the stored format.
pub const FORMAT: u32 = 1;

/// A benchmark: its grid, the machine, and the cells that are finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    pub format: u32,
    /// Name of its folder, for example `bench_20261127_101500`.
    pub id: String,
    /// RFC 3339.
    pub created: String,
    /// The GPU and its software; `None` on the emulator.
    pub fingerprint: Option<Fingerprint>,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// Axes of the grid in order; none where a suite that has no grid was timed.
    pub axes: Vec<Axis>,
    /// As on the command line; the first one that passes a case is what the others are compared with.
    pub implementations: Vec<String>,
    /// Cases in order, of each all implementations in order.
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    pub name: String,
    /// Ascending.
    pub values: Vec<i64>,
}

/// One case with one implementation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub op: String,
    pub dtype: String,
    /// Name of the case, unique within the op.
    pub case: String,
    /// Its arguments in one line.
    pub args: String,
    /// Its place in the grid; an axis that the op does not have is absent.
    pub axes: BTreeMap<String, i64>,
    /// The arguments by the names of the axes, where the grid is a suite's; its ops may have several calls
    /// over the same axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    pub implementation: String,
    pub outcome: Outcome,
    /// `None` is "not measured".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Box<CellTiming>>,
    /// Why a cell that passed has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    /// The judge's verdict, for example `wrong_output`, and its finding in one line.
    Failed {
        verdict: String,
        finding: String,
    },
    /// The implementation has nothing for this case.
    NotOffered {
        reason: String,
    },
    /// It was not judged: too large, out of time, a failure of the machine.
    NotRun {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellTiming {
    /// With all samples, in microseconds.
    pub time: Timing,
    /// How they were taken.
    pub mode: Mode,
    /// Over the first implementation that passed the case; `None` for that one, and where one of the two
    /// could not be timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Bytes that the op must move at least.
    pub bytes: f64,
    /// Floating-point operations of the op.
    pub flops: f64,
    /// The limit of the hardware; `None` where its peaks are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roofline: Option<Roofline>,
    /// Memory, energy and clock.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// Whether a launch's overhead is most of its time.
    pub overhead_dominated: bool,
    pub flags: Vec<Flag>,
}

impl CellTiming {
    /// The op's least traffic over the median, in 10^9 bytes per second; `None` without a time.
    #[must_use]
    pub fn gbps(&self) -> Option<f64> {
        rate(self.bytes, self.time.median_us)
    }

    /// The op's operations over the median, in 10^9 per second; `None` without a time or any operation.
    #[must_use]
    pub fn gflops(&self) -> Option<f64> {
        rate(self.flops, self.time.median_us)
    }

    /// The floor as a percentage of the median; `None` where the limit of the hardware is not known.
    #[must_use]
    pub fn percent_of_roofline(&self) -> Option<f64> {
        let percent = self.roofline.as_ref()?.percent_of_floor(self.time.median_us);
        Some(percent).filter(|percent| percent.is_finite())
    }
}

/// 10^9 per second.
fn rate(amount: f64, us: f64) -> Option<f64> {
    let rate = amount / us * 1e-3;
    (rate.is_finite() && 0.0 < rate).then_some(rate)
}
