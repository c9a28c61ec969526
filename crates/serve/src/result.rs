//! Results of jobs: an evaluation in the members that callers need.

use std::collections::BTreeMap;

use kgen_measure::weighted_geometric_mean;
use kgen_record::{CaseTiming, Evaluation, Flag, Sandbox, Severity, Stage, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Failure, FailureKind, JobLevel, Judged};

/// The outcome of a job. A failure of the machine leaves `compiled` and `correct` open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct JobResult {
    /// Whether the source compiled; null where the machine failed.
    compiled: Option<bool>,
    /// Whether the kernel passed; null where that was not found out.
    correct: Option<bool>,
    verdict: Option<Verdict>,
    /// The stage that decided.
    stage: Option<Stage>,
    cases: CaseCounts,
    /// Largest error over its bound of all outputs that were compared.
    worst_error_over_bound: Option<f64>,
    speedup: Option<JobSpeedup>,
    /// Geometric mean over the timed cases of the baseline's median, in microseconds.
    baseline_us: Option<f64>,
    /// The same of the kernel.
    kernel_us: Option<f64>,
    /// The same of the least time that the hardware allows.
    floor_us: Option<f64>,
    flags: Vec<Flag>,
    /// The fault of the kernel.
    error: Option<KernelError>,
    /// The failure of the machine.
    infra_error: Option<InfraError>,
    /// Seconds per stage, `queue` and `total`.
    timing_s: BTreeMap<String, f64>,
    /// Findings in words for the next prompt.
    feedback: String,
    device: Option<String>,
    seed: Option<u64>,
    /// How far the workers were shut in; null where the machine failed.
    sandbox: Option<Sandbox>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
struct CaseCounts {
    passed: usize,
    /// Cases with a verdict, and skipped ones.
    total: usize,
    skipped: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct JobSpeedup {
    baseline: String,
    /// Geometric mean over the timed cases of baseline time over kernel time.
    median: f64,
    /// 99 % interval.
    interval: Option<[f64; 2]>,
    verdict: SpeedVerdict,
}

/// Where the interval of a speedup lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SpeedVerdict {
    Faster,
    Slower,
    /// It has 1 in it, or there is none.
    Unclear,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct KernelError {
    /// The verdict.
    kind: Verdict,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct InfraError {
    kind: FailureKind,
    text: String,
    /// Whether the same request may fare better later.
    retryable: bool,
}

/// Waiting and running time of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elapsed {
    pub(crate) queue_s: f64,
    pub(crate) total_s: f64,
}

impl JobResult {
    /// Returns the result of an evaluation.
    pub(crate) fn of(judged: &Judged, level: JobLevel, elapsed: Elapsed) -> Self {
        let evaluation = &judged.evaluation;
        let mut result = Self {
            cases: CaseCounts {
                passed: evaluation.n_passed(),
                total: evaluation.cases.len(),
                skipped: evaluation.n_skipped(),
            },
            stage: Some(evaluation.stage),
            timing_s: timing(evaluation, elapsed),
            device: Some(evaluation.target.name.clone()),
            seed: Some(evaluation.seed),
            sandbox: Some(evaluation.sandbox.clone()),
            ..Self::default()
        };
        let compiled = evaluation.stage > Stage::Compile || evaluation.verdict.is_pass();
        // Nothing was run then, which elsewhere is a finding.
        if level == JobLevel::Compile && compiled && evaluation.failed().next().is_none() {
            result.compiled = Some(true);
            return result;
        }
        if evaluation.verdict == Verdict::Unsupported {
            // kgen lacks something: no fault of the kernel.
            result.compiled = compiled.then_some(true);
            let text = evaluation.unjudged_reason().unwrap_or_else(|| first_message(evaluation));
            result.infra_error = Some(Failure { kind: FailureKind::Unsupported, text }.into());
            return result;
        }
        result.compiled = Some(compiled);
        result.verdict = Some(evaluation.verdict);
        result.correct = (level != JobLevel::Compile).then_some(evaluation.verdict.is_pass());
        // NaN and infinity are no JSON; a wrong special value is in `error`.
        result.worst_error_over_bound = evaluation.worst_ratio().filter(|ratio| ratio.is_finite());
        result.feedback.clone_from(&judged.feedback);
        result.flags = evaluation.flags();
        result.error = (!evaluation.verdict.is_pass())
            .then(|| KernelError { kind: evaluation.verdict, text: first_message(evaluation) });
        result.speedup = evaluation.speedup().map(|speedup| JobSpeedup {
            baseline: speedup.baseline.clone(),
            median: speedup.geomean,
            interval: speedup.interval,
            verdict: SpeedVerdict::of(speedup.interval),
        });
        let timed: Vec<&CaseTiming> =
            evaluation.timings.iter().filter(|timing| timing.primary().is_some()).collect();
        let mean = |time: &dyn Fn(&CaseTiming) -> Option<f64>| {
            let times: Option<Vec<(f64, f64)>> =
                timed.iter().map(|timing| Some((time(timing)?, 1.0))).collect();
            weighted_geometric_mean(times?)
        };
        result.baseline_us = mean(&|case| Some(case.primary()?.timing.as_ref()?.median_us));
        result.kernel_us = mean(&|case| Some(case.candidate.median_us));
        result.floor_us = mean(&|case| case.roofline.as_ref().map(|roofline| roofline.floor_us));
        result
    }

    /// Returns the result of a job over which the machine failed.
    pub(crate) fn failed(failure: Failure, elapsed: Elapsed) -> Self {
        Self {
            infra_error: Some(failure.into()),
            timing_s: BTreeMap::from([
                ("queue".to_owned(), elapsed.queue_s),
                ("total".to_owned(), elapsed.total_s),
            ]),
            ..Self::default()
        }
    }

    /// Returns the kind of the machine's failure.
    pub(crate) fn infra_kind(&self) -> Option<FailureKind> {
        self.infra_error.as_ref().map(|error| error.kind)
    }

    pub(crate) const fn timing_s(&self) -> &BTreeMap<String, f64> {
        &self.timing_s
    }

    pub(crate) const fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }
}

impl SpeedVerdict {
    fn of(interval: Option<[f64; 2]>) -> Self {
        match interval {
            Some([low, _]) if low > 1.0 => Self::Faster,
            Some([_, high]) if high < 1.0 => Self::Slower,
            _ => Self::Unclear,
        }
    }
}

impl From<Failure> for InfraError {
    fn from(failure: Failure) -> Self {
        let retryable = failure.kind.is_retryable();
        Self { kind: failure.kind, text: failure.text, retryable }
    }
}

fn timing(evaluation: &Evaluation, elapsed: Elapsed) -> BTreeMap<String, f64> {
    let mut times = BTreeMap::new();
    for time in &evaluation.stage_times {
        *times.entry(time.stage.name().to_owned()).or_default() += time.seconds;
    }
    times.insert("queue".to_owned(), elapsed.queue_s);
    times.insert("total".to_owned(), elapsed.total_s);
    times
}

/// Returns the first thing that was found, in words: the compiler's message before that of its stage.
fn first_message(evaluation: &Evaluation) -> String {
    let mut errors =
        evaluation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    if let Some(first) = errors.next() {
        let at = first.line.map_or(String::new(), |line| format!("line {line}: "));
        return format!("{at}{}", first.message);
    }
    let of_cases = || evaluation.failed().find_map(|case| case.findings.first());
    if let Some(finding) = evaluation.findings.first().or_else(of_cases) {
        return finding.message.clone();
    }
    match evaluation.failed().find_map(|case| case.mismatch.as_ref().map(|found| (case, found))) {
        Some((case, found)) => format!(
            "{}: {} of {} elements of {} are wrong",
            case.case, found.n_wrong, found.n_elements, found.output
        ),
        None => evaluation.verdict.name().to_owned(),
    }
}
