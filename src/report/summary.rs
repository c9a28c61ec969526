//! One row per op and the totals of a run, as data.

use serde::Serialize;

use crate::{
    record::{
        AttemptId, CaseTiming, Evaluation, Level, OpKey, Outcome, Speedup, Split, Verdict,
        number::Number,
    },
    store::{self, AttemptRecord, Confirmation, Counts, Run, StageFile, best, effective_verdict},
};

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The run's ID.
    pub run: String,
    /// Where the kernels come from.
    pub backend: String,
    /// The device's name on the command line.
    pub device: String,
    /// One row per op, in the order asked for.
    pub ops: Vec<OpSummary>,
    /// Ops whose best attempt passed.
    pub n_passed: usize,
    /// Geometric mean of the measured speedups; `None` is "not measured".
    pub geomean_speedup: Option<f64>,
    /// Names of the baselines of those speedups.
    pub baselines: Vec<String>,
    /// Share of the ops that are correct and faster than p, for several p.
    pub perf_at: Vec<PerfAt>,
    /// Where the time of the evaluations went, for the process that made them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

/// Share of the ops that are correct and faster than `p` times their baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PerfAt {
    /// The factor.
    pub p: f64,
    /// The share; `None` where no op was measured.
    pub share: Option<f64>,
}

/// What became of one op.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpSummary {
    /// The op's name in kgen.
    pub op: String,
    /// Verdict of the best attempt, its confirmation included; `None` before the first is over.
    pub verdict: Option<Verdict>,
    /// Where it was reached.
    pub level: Option<Level>,
    /// Finished attempts.
    pub attempts: usize,
    /// The best of them.
    pub best_attempt: Option<u32>,
    /// Cases of the best attempt.
    pub counts: Counts,
    /// Timed cases of the best attempt.
    pub timed: usize,
    /// Those of them that have a speedup; none where the kernel is wrong.
    pub timed_with_speedup: usize,
    /// Speedup of the best attempt, if it passed; `None` is "not measured".
    pub speedup: Option<Speedup>,
    /// Arithmetic mean of the cases' speedups.
    pub mean_speedup: Option<f64>,
    /// Largest absolute error of the best attempt over its cases.
    pub max_abs_error: Option<Number>,
    /// Largest relative error.
    pub max_rel_error: Option<Number>,
    /// Whether the best attempt passed again with fresh seeds.
    pub confirmed: bool,
    /// Whether its reply comes from a recording.
    pub replayed: bool,
    /// Whether its evaluation comes from a recording.
    pub reused_evaluation: bool,
    /// Its kernel file, relative to the run.
    pub best_file: Option<String>,
    /// LLM calls for the op, lost ones included.
    pub calls: u32,
}

impl OpSummary {
    /// Tells whether the op is solved.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict.is_some_and(Verdict::is_pass)
    }
}

impl Summary {
    /// Tells whether every op passed.
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
pub fn summarise(run: &Run) -> Result<Summary, store::Error> {
    let mut found = Vec::new();
    for key in run.ops()? {
        found.extend(op_summary(run, &key)?);
    }
    let info = run.info();
    let take = |name: &String| {
        let position = found.iter().position(|op: &OpSummary| op.op == *name);
        position.map_or_else(|| unstarted(name), |position| found[position].clone())
    };
    let ops: Vec<_> = info.ops.iter().map(take).collect();
    Ok(totals(info.run_id.to_string(), info.backend.clone(), info.device.name.clone(), ops))
}

fn totals(run: String, backend: String, device: String, ops: Vec<OpSummary>) -> Summary {
    let speedups: Vec<_> = ops.iter().filter_map(|op| op.speedup.as_ref()).collect();
    let geomeans: Vec<_> = speedups.iter().map(|speedup| speedup.geomean).collect();
    let mut baselines: Vec<_> = speedups.iter().map(|speedup| speedup.baseline.clone()).collect();
    baselines.sort();
    baselines.dedup();
    let share = |p: f64| {
        let n_fast = geomeans.iter().filter(|geomean| **geomean > p).count();
        (!geomeans.is_empty()).then(|| ratio(n_fast, ops.len()))
    };
    Summary {
        n_passed: ops.iter().filter(|op| op.passed()).count(),
        geomean_speedup: geomean(&geomeans),
        baselines,
        perf_at: FACTORS.iter().map(|&p| PerfAt { p, share: share(p) }).collect(),
        split: None,
        run,
        backend,
        device,
        ops,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of ops and cases are small")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn geomean(values: &[f64]) -> Option<f64> {
    mean(values.iter().map(|value| value.ln())).map(f64::exp)
}

#[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = values.clone().count();
    (n > 0).then(|| values.sum::<f64>() / n as f64)
}

fn unstarted(op: &str) -> OpSummary {
    OpSummary {
        op: op.to_owned(),
        verdict: None,
        level: None,
        attempts: 0,
        best_attempt: None,
        counts: Counts::default(),
        timed: 0,
        timed_with_speedup: 0,
        speedup: None,
        mean_speedup: None,
        max_abs_error: None,
        max_rel_error: None,
        confirmed: false,
        replayed: false,
        reused_evaluation: false,
        best_file: None,
        calls: 0,
    }
}

fn op_summary(run: &Run, key: &OpKey) -> Result<Option<OpSummary>, store::Error> {
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
    let kernel = run.path(&attempt, StageFile::Kernel);
    let verdict = effective_verdict(best, confirmation);
    let timings = evaluation.as_ref().map_or(&[][..], |evaluation| &evaluation.timings);
    let speedups: Vec<_> = timings.iter().filter_map(case_speedup).collect();
    let errors = evaluation.as_ref().map(largest_errors).unwrap_or_default();
    // A wrong kernel's speed means nothing.
    let speedup = best.speedup.clone().filter(|_| verdict.is_pass());
    Ok(Some(OpSummary {
        op: best.op.clone(),
        verdict: Some(verdict),
        level: Some(best.level),
        attempts: judged.len(),
        best_attempt: Some(best.attempt),
        counts: best.counts,
        timed: timings.len(),
        timed_with_speedup: if verdict.is_pass() { speedups.len() } else { 0 },
        mean_speedup: speedup.as_ref().and_then(|_| mean(speedups.iter().copied())),
        speedup,
        max_abs_error: errors.0,
        max_rel_error: errors.1,
        confirmed: confirmation.is_some_and(|confirmation| confirmation.passed),
        replayed: best.replayed,
        reused_evaluation: best.reused_evaluation,
        best_file: kernel.exists().then(|| format!("{key}/{attempt}.cu")),
        calls: judged.iter().map(|(record, _)| record.calls).sum(),
    }))
}

pub(super) fn attempt_id(key: &OpKey, number: u32) -> AttemptId {
    AttemptId { op: key.clone(), number }
}

pub(super) fn case_speedup(timing: &CaseTiming) -> Option<f64> {
    timing.speedup.map(|(median, _)| median)
}

/// The largest absolute and relative error over the executed cases; NaN counts as the largest.
fn largest_errors(evaluation: &Evaluation) -> (Option<Number>, Option<Number>) {
    let executed =
        || evaluation.cases.iter().filter(|case| matches!(case.outcome, Outcome::Judged(_)));
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
