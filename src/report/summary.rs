//! One row per op and the totals of a run, as data.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use kgen_record::{
    AttemptId, BaselineTiming, CaseOutcome, CaseTiming, Evaluation, Flag, Level, OpKey,
    PythonFacts, Speedup, Spend, Split, Verdict, number::Number,
};
use kgen_store::{AttemptRecord, Confirmation, Counts, Run, best, effective_verdict};
use rayon::prelude::*;
use serde::Serialize;

use super::{
    gpus::{GpuId, GpuSummary, by_gpu, gpu_of},
    spend::{self, AttemptSpend},
};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub run: String,
    /// Where the kernels come from.
    pub backend: String,
    /// The device's name on the command line.
    pub device: String,
    /// One row per op, in the order asked for.
    pub ops: Vec<OpSummary>,
    /// Ops whose best attempt passed.
    pub n_passed: usize,
    /// Means over the ops, one entry per baseline, the primary one first; none is "not measured".
    pub speedups: Vec<MeanSpeedup>,
    pub spend: Spend,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_spend: Option<Spend>,
    /// The GPUs that the best attempts were judged on.
    pub gpus: Vec<GpuSummary>,
    /// Share of the ops that are correct and faster than p times the primary baseline.
    pub perf_at: Vec<PerfAt>,
    /// Where the time of the evaluations went, for the process that made them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

/// The speedup of a run over one baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanSpeedup {
    pub baseline: String,
    /// Name of the GPU, where the run's ops were judged on GPUs of several names: times of
    /// different GPUs are never averaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Geometric mean over the ops.
    pub geomean: f64,
    /// Ops that it is the mean of: those that passed and were timed against this baseline in a case
    /// that launch overhead does not dominate.
    pub ops: usize,
}

/// Share of the ops that are correct and faster than `p` times their baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PerfAt {
    pub p: f64,
    /// The share; `None` where no op was measured.
    pub share: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpSummary {
    /// The op's name in kgen.
    pub op: String,
    /// Verdict of the best attempt, its confirmation included; `None` before the first is over.
    pub verdict: Option<Verdict>,
    /// Where it was reached.
    pub level: Option<Level>,
    /// The GPU that the best attempt was judged on; that it was measured again on, where it was.
    pub gpu: Option<GpuId>,
    /// The Python process, where something of the best attempt ran there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<Box<PythonFacts>>,
    pub attempts: usize,
    /// The best of them.
    pub best_attempt: Option<u32>,
    /// Cases of the best attempt.
    pub counts: Counts,
    /// Timed cases of the best attempt; those of all later measurements, where there are any.
    pub timed: usize,
    /// Those of them that have a speedup; none where the kernel is wrong.
    pub timed_with_speedup: usize,
    /// Speedups of the best attempt, if it passed, over the primary baseline first; none is "not
    /// measured".
    pub speedups: Vec<Speedup>,
    /// Arithmetic mean of the cases' speedups over the primary baseline.
    pub mean_speedup: Option<f64>,
    /// How near the best attempt comes to the limit of the hardware: geometric mean, in percent, over
    /// the timed cases that launch overhead does not dominate.
    pub percent_of_floor: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// Largest absolute error of the best attempt over its cases.
    pub max_abs_error: Option<Number>,
    pub max_rel_error: Option<Number>,
    /// Whether the best attempt passed again with fresh seeds.
    pub confirmed: bool,
    /// Whether its reply comes from a recording.
    pub replayed: bool,
    /// Whether its reply was kept from an equal request of another run.
    pub cached: bool,
    /// Whether its evaluation comes from a recording.
    pub reused_evaluation: bool,
    /// Its kernel file, relative to the run.
    pub best_file: Option<String>,
    /// LLM calls for the op, lost ones included.
    pub calls: u32,
    pub spend: Spend,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_spend: Option<Spend>,
    /// The same for each finished attempt.
    pub by_attempt: Vec<AttemptSpend>,
}

impl OpSummary {
    /// Returns whether the op is solved.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict.is_some_and(Verdict::is_pass)
    }

    /// Returns the speedup over the primary baseline.
    #[must_use]
    pub fn speedup(&self) -> Option<&Speedup> {
        self.speedups.first()
    }

    #[must_use]
    pub fn speedup_over(&self, baseline: &str) -> Option<&Speedup> {
        self.speedups.iter().find(|speedup| speedup.baseline == baseline)
    }
}

impl Summary {
    /// Returns whether every op passed.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        self.n_passed == self.ops.len()
    }
}

/// Factors that the share of fast ops is given for.
const FACTORS: [f64; 4] = [1.0, 1.5, 2.0, 4.0];

/// Reads a run and sums it up.
///
/// # Errors
///
/// When the run cannot be read.
pub fn summarise(run: &Run) -> Result<Summary, kgen_store::Error> {
    let mut found = HashMap::new();
    let summaries = |key: &OpKey| op_summary(run, key);
    for op in run.ops()?.par_iter().map(summaries).collect::<Vec<_>>() {
        if let Some(op) = op? {
            found.insert(op.op.clone(), op);
        }
    }
    let info = run.info();
    let take = |name: &String| found.get(name).cloned().unwrap_or_else(|| unstarted(name));
    let ops: Vec<_> = info.ops.iter().map(take).collect();
    let spend = spend::of_run(run, &ops);
    let summary =
        totals(info.run_id.to_string(), info.backend.clone(), info.device.name.clone(), ops);
    Ok(Summary { spend, ..summary })
}

fn totals(run: String, backend: String, device: String, ops: Vec<OpSummary>) -> Summary {
    let speedups = mean_speedups(&ops);
    let fast = |p: f64| {
        let primary = &speedups.first()?.baseline;
        let of_op = |op: &&OpSummary| headline(op, primary).is_some_and(|geomean| geomean > p);
        Some(ratio(ops.iter().filter(of_op).count(), ops.len()))
    };
    Summary {
        n_passed: ops.iter().filter(|op| op.passed()).count(),
        perf_at: FACTORS.iter().map(|&p| PerfAt { p, share: fast(p) }).collect(),
        gpus: by_gpu(&ops),
        speedups,
        spend: ops.iter().map(|op| op.spend).sum(),
        recorded_spend: sum(ops.iter().map(|op| op.recorded_spend)),
        split: None,
        run,
        backend,
        device,
        ops,
    }
}

/// Returns the sum of those there are.
fn sum(spends: impl Iterator<Item = Option<Spend>>) -> Option<Spend> {
    spends.flatten().reduce(|mut sum, spend| {
        sum += spend;
        sum
    })
}

/// Returns the speedup of an op that may stand in a headline.
fn headline(op: &OpSummary, baseline: &str) -> Option<f64> {
    let speedup = op.speedup_over(baseline).filter(|speedup| speedup.is_headline());
    speedup.map(|speedup| speedup.geomean)
}

/// Returns a mean per baseline, and per name of a GPU where there are several.
pub(super) fn mean_speedups(ops: &[OpSummary]) -> Vec<MeanSpeedup> {
    let name = |op: &OpSummary| op.gpu.as_ref().map(|gpu| gpu.name.clone());
    let timed = ops.iter().filter(|op| !op.speedups.is_empty());
    let gpus: BTreeSet<Option<String>> = timed.map(name).collect();
    if gpus.len() < 2 {
        return mean_speedups_on(ops, |_| true);
    }
    let on = |gpu: Option<String>| {
        let means = mean_speedups_on(ops, |op| name(op) == gpu);
        means.into_iter().map(move |mean| MeanSpeedup { gpu: gpu.clone(), ..mean })
    };
    gpus.into_iter().flat_map(on).collect()
}

/// Returns a mean per baseline over some of the ops. The primary baseline is that of most ops.
pub(super) fn mean_speedups_on(
    ops: &[OpSummary],
    is_on: impl Fn(&OpSummary) -> bool,
) -> Vec<MeanSpeedup> {
    let mut names: Vec<&str> = Vec::new();
    for speedup in ops.iter().flat_map(|op| &op.speedups) {
        if !names.contains(&speedup.baseline.as_str()) {
            names.push(&speedup.baseline);
        }
    }
    let n_primary = |name: &str| {
        let primary = ops.iter().filter_map(OpSummary::speedup);
        primary.filter(|speedup| speedup.baseline == name).count()
    };
    names.sort_by_key(|name| Reverse(n_primary(name)));
    let mean = |name: &str| {
        let of_ops = ops.iter().filter(|op| is_on(op));
        let of_ops: Vec<f64> = of_ops.filter_map(|op| headline(op, name)).collect();
        let geomean = kgen_measure::geometric_mean(&of_ops)?;
        Some(MeanSpeedup { baseline: name.to_owned(), gpu: None, geomean, ops: of_ops.len() })
    };
    names.into_iter().filter_map(mean).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of ops and cases are small")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = values.clone().count();
    (n > 0).then(|| values.sum::<f64>() / n as f64)
}

pub(super) fn unstarted(op: &str) -> OpSummary {
    OpSummary {
        op: op.to_owned(),
        verdict: None,
        level: None,
        gpu: None,
        python: None,
        attempts: 0,
        best_attempt: None,
        counts: Counts::default(),
        timed: 0,
        timed_with_speedup: 0,
        speedups: Vec::new(),
        mean_speedup: None,
        percent_of_floor: None,
        flags: Vec::new(),
        max_abs_error: None,
        max_rel_error: None,
        confirmed: false,
        replayed: false,
        cached: false,
        reused_evaluation: false,
        best_file: None,
        calls: 0,
        spend: Spend::default(),
        recorded_spend: None,
        by_attempt: Vec::new(),
    }
}

fn op_summary(run: &Run, key: &OpKey) -> Result<Option<OpSummary>, kgen_store::Error> {
    let records = run.attempts(key)?;
    let mut judged: Vec<(AttemptRecord, Option<Confirmation>)> = Vec::new();
    for record in records {
        let confirmation = run.confirmation(&attempt_id(key, record.attempt))?;
        judged.push((record, confirmation));
    }
    let pairs = judged.iter().map(|(record, confirmation)| (record, confirmation.as_ref()));
    let Some(best) = best(pairs) else { return Ok(None) };
    let confirmation = judged
        .iter()
        .find(|(record, _)| record.attempt == best.attempt)
        .and_then(|(_, c)| c.as_ref());
    let attempt = attempt_id(key, best.attempt);
    let evaluation = run.evaluation(&attempt)?;
    let source = run.source_file(&attempt);
    let verdict = effective_verdict(best, confirmation);
    let timings = evaluation.as_ref().map(|e| reported_timings(e, confirmation));
    let timings = timings.unwrap_or_default();
    let of_cases: Vec<_> = timings.iter().filter_map(case_speedup).collect();
    let errors = evaluation.as_ref().map(largest_errors).unwrap_or_default();
    // A wrong kernel's speed means nothing.
    let again = confirmation.map_or_else(Vec::new, Confirmation::speedups);
    let mut speedups = evaluation.as_ref().map_or_else(Vec::new, |e| e.speedups.clone());
    if !again.is_empty() {
        speedups = again;
    }
    if !verdict.is_pass() {
        speedups.clear();
    }
    Ok(Some(OpSummary {
        op: best.op.clone(),
        verdict: Some(verdict),
        level: Some(best.level),
        gpu: reported_gpu(evaluation.as_ref(), confirmation),
        python: evaluation.as_ref().and_then(|evaluation| evaluation.python.clone()),
        attempts: judged.len(),
        best_attempt: Some(best.attempt),
        counts: best.counts,
        timed: timings.len(),
        timed_with_speedup: if verdict.is_pass() { of_cases.len() } else { 0 },
        mean_speedup: speedups.first().and_then(|_| mean(of_cases.iter().copied())),
        percent_of_floor: verdict.is_pass().then(|| percent_of_floor(&timings)).flatten(),
        flags: flags(evaluation.as_ref().filter(|_| verdict.is_pass()), confirmation),
        speedups,
        max_abs_error: errors.0,
        max_rel_error: errors.1,
        confirmed: confirmation.is_some_and(|confirmation| confirmation.passed),
        replayed: best.replayed,
        cached: best.cached,
        reused_evaluation: best.reused_evaluation,
        best_file: source.map(|file| format!("{key}/{attempt}{}", file.suffix())),
        calls: judged.iter().map(|(record, _)| record.calls).sum(),
        spend: judged.iter().map(|(record, _)| record.spend).sum(),
        recorded_spend: sum(judged.iter().map(|(record, _)| record.recorded_spend)),
        by_attempt: judged.iter().map(|(record, _)| AttemptSpend::of(record)).collect(),
    }))
}

pub(super) fn attempt_id(key: &OpKey, number: u32) -> AttemptId {
    AttemptId { op: key.clone(), number }
}

fn case_speedup(timing: &CaseTiming) -> Option<f64> {
    timing.primary().and_then(BaselineTiming::speedup)
}

/// Returns the times that are reported: where the winner was measured again, those alone, because
/// the attempt was chosen for its own.
pub(super) fn reported_timings(
    evaluation: &Evaluation,
    confirmation: Option<&Confirmation>,
) -> Vec<CaseTiming> {
    let again = confirmation.filter(|confirmation| confirmation.passed);
    let again = again.map_or_else(Vec::new, Confirmation::timings);
    if again.is_empty() { evaluation.timings.clone() } else { again }
}

/// Returns the GPU that the reported times are of.
fn reported_gpu(
    evaluation: Option<&Evaluation>,
    confirmation: Option<&Confirmation>,
) -> Option<GpuId> {
    let gpu = gpu_of(evaluation?)?;
    let again = confirmation.filter(|confirmation| confirmation.passed).and_then(|c| c.target());
    let again = again
        .and_then(|target| Some(GpuId { name: target.name.clone(), uuid: target.uuid.clone()? }));
    Some(again.unwrap_or(gpu))
}

/// Returns flags raised in all timings of an attempt, each once.
fn flags(evaluation: Option<&Evaluation>, confirmation: Option<&Confirmation>) -> Vec<Flag> {
    let again = confirmation.iter().flat_map(|confirmation| &confirmation.seeds);
    let again = again.flat_map(|seed| seed.flags.iter().copied());
    let mut flags: Vec<Flag> =
        evaluation.map_or_else(Vec::new, Evaluation::flags).into_iter().chain(again).collect();
    flags.sort_unstable();
    flags.dedup();
    flags
}

fn percent_of_floor(timings: &[CaseTiming]) -> Option<f64> {
    let long =
        |timing: &&CaseTiming| timing.primary().is_none_or(|baseline| !baseline.overhead_dominated);
    let percents = timings.iter().filter(long).filter_map(CaseTiming::percent_of_floor);
    kgen_measure::geometric_mean(&percents.collect::<Vec<_>>())
}

/// The largest absolute and relative error over the executed cases; NaN counts as the largest.
fn largest_errors(evaluation: &Evaluation) -> (Option<Number>, Option<Number>) {
    let executed =
        || evaluation.cases.iter().filter(|case| matches!(case.outcome, CaseOutcome::Judged(_)));
    let largest = |values: &mut dyn Iterator<Item = Number>| {
        values.max_by(|a, b| {
            a.0.is_nan().cmp(&b.0.is_nan()).then_with(|| a.0.abs().total_cmp(&b.0.abs()))
        })
    };
    (
        largest(&mut executed().filter_map(|case| case.max_abs_error)),
        largest(&mut executed().filter_map(|case| case.max_rel_error)),
    )
}
