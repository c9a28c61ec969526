//! One row per op and the totals of a run, as data.

use std::collections::HashMap;

use kgen_compare::Estimate;
use kgen_record::{
    AttemptId, BaselineTiming, CaseOutcome, CaseTiming, Evaluation, Flag, Level, LibraryUse, OpKey,
    PythonFacts, Speedup, Spend, Split, Verdict, number::Number,
};
use kgen_store::{
    AttemptRecord, CallState, Confirmation, Counts, OpState, Run, RunState, best, effective_verdict,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    gpus::{GpuId, GpuSummary, by_gpu, gpu_of},
    scores::{FastShares, MeanSpeedup, correct, fast_shares, mean_speedups},
    spend::{self, AttemptSpend},
};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// Share of the ops that are correct.
    pub correct: Option<Estimate>,
    /// Shares of the ops that are correct and fast, one entry per baseline, the primary one first; none
    /// is "not measured".
    pub fast: Vec<FastShares>,
    /// Where the time of the evaluations went, for the process that made them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpSummary {
    /// The op's name in kgen.
    pub op: String,
    /// Verdict of the best attempt, its confirmation included; `None` before the first is over.
    pub verdict: Option<Verdict>,
    /// Where it was reached.
    pub level: Option<Level>,
    /// Whether the best attempt's plan calls libraries; `None` where it has none.
    pub library_use: Option<LibraryUse>,
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
    /// Why the last call brought no reply, of an op without a finished attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_reply: Option<String>,
    /// LLM calls for the op, lost ones included.
    pub calls: u32,
    pub spend: Spend,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_spend: Option<Spend>,
    /// The same for each finished attempt.
    pub by_attempt: Vec<AttemptSpend>,
    /// Speedup of each finished attempt over its primary baseline; `None` where it failed or was not
    /// timed.
    #[serde(skip)]
    pub attempt_speedups: Vec<Option<f64>>,
}

impl OpSummary {
    /// Returns whether the op is solved.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict.is_some_and(Verdict::is_pass)
    }

    /// Returns whether a library does a part of the best attempt's work.
    pub(super) fn with_library(&self) -> bool {
        self.library_use == Some(LibraryUse::WithLibrary)
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
    let mut ops: Vec<_> = info.ops.iter().map(take).collect();
    add_unfinished(run, &mut ops)?;
    let spend = spend::of_run(run, &ops);
    let summary =
        totals(info.run_id.to_string(), info.backend.clone(), info.device.name.clone(), ops);
    Ok(Summary { spend, ..summary })
}

/// Adds the calls of attempts that are not finished: they were paid for, too.
fn add_unfinished(run: &Run, ops: &mut [OpSummary]) -> Result<(), kgen_store::Error> {
    let state = RunState::scan(run)?;
    let is_open = |of: &OpState| of.attempts.values().any(|attempt| attempt.record.is_none());
    if !state.ops.values().any(is_open) {
        return Ok(());
    }
    let calls_wait = run.info().provider.as_deref() == Some("mailbox");
    let spent = kgen_store::spent(run, &state, calls_wait)?;
    for op in ops {
        let key = OpKey(op.op.replace('.', "__"));
        if state.ops.get(&key).is_some_and(is_open)
            && let Some((spend, _)) = spent.ops.get(&key)
        {
            op.calls = spend.calls;
            op.spend = *spend;
        }
        if let Some(of) = state.ops.get(&key).filter(|_| op.verdict.is_none()) {
            op.no_reply = no_reply(run, &key, of)?;
        }
    }
    Ok(())
}

/// Returns why the last call of an op brought no reply; `None` where it did, or still may.
fn no_reply(run: &Run, key: &OpKey, op: &OpState) -> Result<Option<String>, kgen_store::Error> {
    let Some((number, attempt)) = op.attempts.last_key_value() else { return Ok(None) };
    let Some((call, CallState::Failed)) = attempt.calls.last_key_value() else { return Ok(None) };
    let failure = run.failure(&attempt_id(key, *number), *call)?;
    Ok(failure.map(|failure| failure.message))
}

fn totals(run: String, backend: String, device: String, ops: Vec<OpSummary>) -> Summary {
    Summary {
        n_passed: ops.iter().filter(|op| op.passed()).count(),
        correct: correct(&ops),
        fast: fast_shares(&ops),
        gpus: by_gpu(&ops),
        speedups: mean_speedups(&ops),
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
        library_use: None,
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
        no_reply: None,
        calls: 0,
        spend: Spend::default(),
        recorded_spend: None,
        by_attempt: Vec::new(),
        attempt_speedups: Vec::new(),
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
    // Records of some versions lack it.
    let too_large = evaluation.as_ref().map_or(0, Evaluation::n_too_large);
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
        library_use: best.library_use,
        gpu: reported_gpu(evaluation.as_ref(), confirmation),
        python: evaluation.as_ref().and_then(|evaluation| evaluation.python.clone()),
        attempts: judged.len(),
        best_attempt: Some(best.attempt),
        counts: Counts { too_large, ..best.counts },
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
        no_reply: None,
        calls: judged.iter().map(|(record, _)| record.calls).sum(),
        spend: judged.iter().map(|(record, _)| record.spend).sum(),
        recorded_spend: sum(judged.iter().map(|(record, _)| record.recorded_spend)),
        by_attempt: judged.iter().map(|(record, _)| AttemptSpend::of(record)).collect(),
        attempt_speedups: judged.iter().map(|(record, _)| attempt_speedup(record)).collect(),
    }))
}

pub(super) fn attempt_id(key: &OpKey, number: u32) -> AttemptId {
    AttemptId { op: key.clone(), number }
}

fn attempt_speedup(record: &AttemptRecord) -> Option<f64> {
    record.speedup.as_ref().filter(|_| record.verdict.is_pass()).map(|speedup| speedup.geomean)
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
