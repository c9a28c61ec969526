//! Cells as rows: elements of `results` in JSON, lines of CSV.

use std::collections::BTreeMap;

use kgen_measure::TimeVerdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bench, Cell, CellTiming, Outcome};

/// Confidence of the interval of a median.
const CONFIDENCE: f64 = 0.95;

/// One cell. A number that was not measured is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Name of the op.
    pub op: String,
    /// Element type.
    pub dtype: String,
    /// Name of the case, unique within the op.
    pub case: String,
    /// Arguments of the case in one line.
    pub args: String,
    /// Place in the grid by axis.
    pub axes: BTreeMap<String, i64>,
    /// As given to `--impl`.
    pub implementation: String,
    /// `passed`, a verdict such as `wrong_output`, `not_offered` or `not_run`.
    pub outcome: String,
    /// Why it did not pass, or why it has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Median time of a call in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<f64>,
    /// Lower end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_low_ms: Option<f64>,
    /// Upper end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_high_ms: Option<f64>,
    /// First quartile in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q1_ms: Option<f64>,
    /// Third quartile in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q3_ms: Option<f64>,
    /// Samples of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_samples: Option<usize>,
    /// Over the first implementation that passed, from alternating samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// Lower end of its 99 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup_low: Option<f64>,
    /// Upper end of its 99 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup_high: Option<f64>,
    /// Conclusion from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup_verdict: Option<TimeVerdict>,
    /// Peak of device memory during the call, in 10^6 bytes: inputs, outputs, workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<f64>,
    /// The part beyond inputs and outputs, in 10^6 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_mb: Option<f64>,
    /// Calls per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inference_speed: Option<f64>,
    /// The op's least traffic over the median, in 10^9 bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_gbps: Option<f64>,
    /// The op's operations over the median, in 10^9 per second; absent for an op without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// Percent of the roofline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_efficiency: Option<f64>,
    /// Energy of a call in millijoules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_mj: Option<f64>,
    /// Mean power while it ran, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Median clock of the multiprocessors during the samples, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<f64>,
    /// How the time came about: `overhead_dominated`, `throttled`, ...
    pub flags: Vec<String>,
}

/// Returns the cells of a benchmark as rows, in order.
#[must_use]
pub fn rows(bench: &Bench) -> Vec<Row> {
    bench.cells.iter().map(row).collect()
}

/// Returns one cell as a row. Its numbers have six significant digits.
pub(crate) fn row(cell: &Cell) -> Row {
    let timing = cell.timing.as_deref();
    let time = timing.map(|timing| &timing.time);
    let interval = time.and_then(|time| time.median_interval(CONFIDENCE));
    let comparison = timing.and_then(|timing| timing.comparison.as_ref());
    let ms = |us: f64| number(us / 1e3);
    let mb = |bytes: u64| number(bytes as f64 / 1e6);
    let memory = timing.and_then(|timing| timing.usage.memory);
    let energy = timing.and_then(|timing| timing.usage.energy);
    Row {
        op: cell.op.clone(),
        dtype: cell.dtype.clone(),
        case: cell.case.clone(),
        args: cell.args.clone(),
        axes: cell.axes.clone(),
        implementation: cell.implementation.clone(),
        outcome: outcome(&cell.outcome).to_owned(),
        reason: reason(cell).map(str::to_owned),
        time_ms: time.and_then(|time| ms(time.median_us)),
        time_low_ms: interval.and_then(|[low, _]| ms(low)),
        time_high_ms: interval.and_then(|[_, high]| ms(high)),
        q1_ms: time.and_then(|time| ms(time.q1_us)),
        q3_ms: time.and_then(|time| ms(time.q3_us)),
        n_samples: time.map(|time| time.samples_us.len()),
        speedup: comparison.and_then(|found| number(found.speedup)),
        speedup_low: comparison.and_then(|found| number(found.ci[0])),
        speedup_high: comparison.and_then(|found| number(found.ci[1])),
        speedup_verdict: comparison.map(|found| found.verdict),
        memory_mb: memory.and_then(|memory| mb(memory.peak)),
        workspace_mb: memory.and_then(|memory| mb(memory.workspace)),
        inference_speed: time.and_then(|time| number(1e6 / time.median_us)),
        throughput_gbps: timing.and_then(CellTiming::gbps).and_then(number),
        gflops: timing.and_then(CellTiming::gflops).and_then(number),
        gpu_efficiency: timing.and_then(CellTiming::percent_of_roofline).and_then(number),
        energy_mj: energy.and_then(|energy| number(energy.per_call_mj)),
        power_w: energy.and_then(|energy| number(energy.power_w)),
        sm_mhz: timing.and_then(|timing| timing.usage.sm_mhz).and_then(number),
        flags: timing.map(flags).unwrap_or_default(),
    }
}

/// Name of an outcome in files.
pub(crate) fn outcome(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed { verdict, .. } => verdict,
        Outcome::NotOffered { .. } => "not_offered",
        Outcome::NotRun { .. } => "not_run",
    }
}

/// Why a cell did not pass, or has no time.
pub(crate) fn reason(cell: &Cell) -> Option<&str> {
    match &cell.outcome {
        Outcome::Passed => cell.note.as_deref(),
        Outcome::Failed { finding, .. } => Some(finding),
        Outcome::NotOffered { reason } | Outcome::NotRun { reason } => Some(reason),
    }
}

fn flags(timing: &CellTiming) -> Vec<String> {
    let overhead = timing.overhead_dominated.then_some("overhead_dominated");
    let names = overhead.into_iter().chain(timing.flags.iter().map(|flag| flag.name()));
    names.map(str::to_owned).collect()
}

/// Six significant digits, so that a change of unit leaves no `0.010100000000000001`; `None` for what is
/// no number.
fn number(value: f64) -> Option<f64> {
    if !value.is_finite() {
        return None;
    }
    format!("{value:.5e}").parse().ok()
}
