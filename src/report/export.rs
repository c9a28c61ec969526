//! `full_results.json` and `operator_summary.csv`, with BackendBench's names and fields of kgen's own.

use std::collections::HashMap;

use kgen_compare::csv::line;
use kgen_record::{
    AttemptId, BaselineTiming, CaseOutcome, CaseResult, CaseTiming, Evaluation, LibraryUse, OpKey,
    Spend, Verdict,
};
use kgen_store::Run;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    digits::significant,
    gpus::gpu_of,
    summary::{OpSummary, Summary, attempt_id, ratio, reported_timings},
};

/// `full_results.json` and `failed_tests.json` of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// Every case and every timed case of every op's best attempt.
    pub all: String,
    /// Those of them that failed.
    pub failed: String,
}

/// Returns one record per case and one per timed case of every op's best attempt, as JSON.
///
/// # Errors
///
/// When the run cannot be read.
pub fn full_results(run: &Run, summary: &Summary) -> Result<Results, kgen_store::Error> {
    let ops: HashMap<&str, &OpSummary> =
        summary.ops.iter().map(|op| (op.op.as_str(), op)).collect();
    // Text takes a fraction of the memory that values do: each op becomes text at once.
    let texts = run.ops()?;
    let texts = texts.par_iter().map(|key| {
        let tests = tests(run, key, &ops)?;
        let failed: Vec<_> = tests.iter().filter(|test| is_failure(test)).collect();
        Ok((elements(&tests), elements(&failed)))
    });
    let texts: Vec<Result<(String, String), kgen_store::Error>> = texts.collect();
    let (mut all, mut failed) = (List::default(), List::default());
    for texts in texts {
        let (of_all, of_failed) = texts?;
        all.extend(&of_all);
        failed.extend(&of_failed);
    }
    Ok(Results { all: all.finish(), failed: failed.finish() })
}

/// Returns the elements of a list as they stand between its brackets.
fn elements(tests: &[impl Serialize]) -> String {
    let text = serde_json::to_string_pretty(tests).expect("JSON values turn into JSON");
    text.trim_start_matches('[').trim_end_matches(']').trim_matches('\n').to_owned()
}

/// A list in JSON that grows.
#[derive(Default)]
struct List(String);

impl List {
    fn extend(&mut self, elements: &str) {
        if elements.is_empty() {
            return;
        }
        self.0.push_str(if self.0.is_empty() { "[\n" } else { ",\n" });
        self.0.push_str(elements);
    }

    fn finish(self) -> String {
        if self.0.is_empty() { "[]\n".to_owned() } else { self.0 + "\n]\n" }
    }
}

fn is_failure(test: &Value) -> bool {
    test["is_correct"] == Value::Bool(false) || test["successfully_ran"] == Value::Bool(false)
}

fn tests(
    run: &Run,
    key: &OpKey,
    ops: &HashMap<&str, &OpSummary>,
) -> Result<Vec<Value>, kgen_store::Error> {
    let Some((op, attempt)) = best_attempt(run, key, ops)? else { return Ok(Vec::new()) };
    let Some(evaluation) = run.evaluation(&attempt)? else { return Ok(Vec::new()) };
    let file = op.best_file.as_deref();
    let correctness = evaluation.cases.iter().map(|case| correctness_test(&evaluation, case, file));
    let mut tests: Vec<_> = correctness.collect();
    let passed = op.passed();
    let timings = reported_timings(&evaluation, run.confirmation(&attempt)?.as_ref());
    tests.extend(timings.iter().map(|timing| performance_test(op, timing, passed)));
    if evaluation.cases.is_empty() {
        tests.push(stopped_test(&evaluation, file));
    }
    if 0 < op.spend.calls {
        for test in &mut tests {
            // Named after the op: the same in all its tests, and not to be added up over them.
            test["op_llm_calls"] = op.spend.calls.into();
            test["op_llm_tokens"] = op.spend.tokens().into();
            test["op_cost_usd"] = op.spend.cost().into();
        }
    }
    Ok(tests)
}

fn best_attempt<'a>(
    run: &Run,
    key: &OpKey,
    ops: &HashMap<&str, &'a OpSummary>,
) -> Result<Option<(&'a OpSummary, AttemptId)>, kgen_store::Error> {
    let Some(metadata) = run.metadata(key)? else { return Ok(None) };
    let op = ops.get(metadata.op.as_str());
    Ok(op.and_then(|op| Some((*op, attempt_id(key, op.best_attempt?)))))
}

fn correctness_test(evaluation: &Evaluation, case: &CaseResult, file: Option<&str>) -> Value {
    let (is_correct, error_type, skipped) = match &case.outcome {
        CaseOutcome::Judged(Verdict::Passed) => (Some(true), None, None),
        CaseOutcome::Judged(verdict) => (Some(false), Some(verdict.name()), None),
        CaseOutcome::Skipped { reason } => (None, None, Some(reason.as_str())),
    };
    json!({
        "test_type": "correctness",
        "op_name": evaluation.op,
        "args": case.args,
        "is_correct": is_correct,
        "error_msg": case.findings.first().map(|finding| finding.message.as_str()),
        "error_type": error_type,
        "traceback": Value::Null,
        "max_abs_error": case.max_abs_error,
        "max_rel_error": case.max_rel_error,
        "case": case.case,
        "dtype": case.dtype,
        "class": case.class,
        "distribution": case.distribution,
        "level": case.level,
        "skipped": skipped,
        "worst_ratio": case.worst_ratio,
        "mismatch": case.mismatch,
        "other_rules": case.other_rules,
        "kernel_file": file,
        "library_use": evaluation.library_use,
        "gpu_uuid": gpu_of(evaluation).map(|gpu| gpu.uuid),
    })
}

fn performance_test(op: &OpSummary, timing: &CaseTiming, passed: bool) -> Value {
    let primary = timing.primary();
    let reference = primary.and_then(|baseline| baseline.timing.as_ref());
    let comparison = primary.and_then(|baseline| baseline.comparison.as_ref());
    let comparison = comparison.filter(|_| passed);
    let error = (!passed).then_some("the kernel is wrong, so its times mean nothing");
    json!({
        "test_type": "performance",
        "op_name": op.op,
        "args": timing.args,
        "speedup": comparison.map(|comparison| comparison.speedup),
        "benchmark_time_ms": timing.candidate.median_us / 1000.0,
        "reference_time_ms": reference.map(|timing| timing.median_us / 1000.0),
        "error_msg": error,
        "successfully_ran": passed,
        "case": timing.case,
        "baseline": primary.map(|baseline| baseline.name.as_str()),
        "speedup_interval_99": comparison.map(|comparison| comparison.ci),
        "speedup_verdict": comparison.map(|comparison| comparison.verdict),
        "overhead_dominated": primary.map(|baseline| baseline.overhead_dominated),
        "baselines": timing.baselines.iter().map(|b| baseline(b, passed)).collect::<Vec<_>>(),
        "mode": timing.mode,
        "percent_of_floor": timing.percent_of_floor(),
        "roofline": timing.roofline,
        "flags": timing.flags,
        "benchmark_time_quartiles_ms":
            [timing.candidate.q1_us / 1000.0, timing.candidate.q3_us / 1000.0],
        "bytes": timing.bytes,
        "flops": timing.flops,
        "peak_bytes": timing.peak_bytes,
        "floor_us": timing.floor_us,
        "params": timing.params,
        "library_use": op.library_use,
        "gpu_uuid": op.gpu.as_ref().map(|gpu| gpu.uuid.as_str()),
    })
}

fn baseline(baseline: &BaselineTiming, passed: bool) -> Value {
    let comparison = baseline.comparison.as_ref().filter(|_| passed);
    json!({
        "name": baseline.name,
        "time_ms": baseline.timing.as_ref().map(|timing| timing.median_us / 1000.0),
        "speedup": comparison.map(|comparison| comparison.speedup),
        "speedup_interval_99": comparison.map(|comparison| comparison.ci),
        "speedup_verdict": comparison.map(|comparison| comparison.verdict),
        "overhead_dominated": baseline.overhead_dominated,
        "note": baseline.note,
    })
}

/// The one record of an evaluation that ended before its first case.
fn stopped_test(evaluation: &Evaluation, file: Option<&str>) -> Value {
    let diagnostic = evaluation.diagnostics.first().map(|diagnostic| diagnostic.message.as_str());
    let finding = evaluation.findings.first().map(|finding| finding.message.as_str());
    json!({
        "test_type": "correctness",
        "op_name": evaluation.op,
        "args": Value::Null,
        "is_correct": evaluation.verdict.is_pass(),
        "error_msg": finding.or(diagnostic),
        "error_type": evaluation.verdict.name(),
        "traceback": Value::Null,
        "max_abs_error": Value::Null,
        "max_rel_error": Value::Null,
        "stage": evaluation.stage.name(),
        "level": evaluation.level,
        "kernel_file": file,
    })
}

/// BackendBench's columns first, in its order.
const COLUMNS: &[&str] = &[
    "operator",
    "total_tests",
    "correctness_tests",
    "performance_tests",
    "passed_correctness_tests",
    "passed_performance_tests",
    "failed_correctness_tests",
    "failed_performance_tests",
    "correctness_rate",
    "avg_speedup",
    "geomean_speedup",
    "max_absolute_error",
    "max_relative_error",
    "verdict",
    "level",
    "attempts",
    "best_attempt",
    "skipped_tests",
    "baseline",
    "device",
    "confirmed",
    "replayed",
    "kept_reply",
    "reused_evaluation",
    "llm_calls",
    "best_file",
    "percent_of_floor",
    "gpu",
    "gpu_uuid",
    "llm_lost_calls",
    "llm_input_tokens",
    "llm_cached_tokens",
    "llm_output_tokens",
    "llm_reasoning_tokens",
    "llm_seconds",
    "cost_usd",
    "cost_usd_at_most",
    "unpriced_calls",
    "library_use",
];

/// Returns `operator_summary.csv`; a value that was not measured is an empty cell, and one that was has
/// four significant digits: the records have all of them.
#[must_use]
pub fn operator_summary(summary: &Summary) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for op in &summary.ops {
        text.push_str(&line(cells(op, &summary.device)));
    }
    text
}

fn cells(op: &OpSummary, device: &str) -> Vec<String> {
    let number = |value: Option<f64>| value.map(significant).unwrap_or_default();
    let correctness = op.counts.cases - op.counts.skipped;
    let rate = (correctness > 0).then(|| ratio(op.counts.passed, correctness));
    vec![
        op.op.clone(),
        (correctness + op.timed).to_string(),
        correctness.to_string(),
        op.timed.to_string(),
        op.counts.passed.to_string(),
        op.timed_with_speedup.to_string(),
        op.counts.failed.to_string(),
        (op.timed - op.timed_with_speedup).to_string(),
        number(rate),
        number(op.mean_speedup),
        number(op.speedup().map(|speedup| speedup.geomean)),
        number(op.max_abs_error.map(|error| error.0)),
        number(op.max_rel_error.map(|error| error.0)),
        op.verdict.map(|verdict| verdict.name().to_owned()).unwrap_or_default(),
        op.level.map(|level| level.name().to_owned()).unwrap_or_default(),
        op.attempts.to_string(),
        op.best_attempt.map(|attempt| attempt.to_string()).unwrap_or_default(),
        op.counts.skipped.to_string(),
        op.speedup().map(|speedup| speedup.baseline.clone()).unwrap_or_default(),
        device.to_owned(),
        op.confirmed.to_string(),
        op.replayed.to_string(),
        op.cached.to_string(),
        op.reused_evaluation.to_string(),
        op.calls.to_string(),
        op.best_file.clone().unwrap_or_default(),
        number(op.percent_of_floor),
        op.gpu.as_ref().map(|gpu| gpu.name.clone()).unwrap_or_default(),
        op.gpu.as_ref().map(|gpu| gpu.uuid.clone()).unwrap_or_default(),
    ]
    .into_iter()
    .chain(spend_cells(&op.spend))
    .chain([op.library_use.map_or("", LibraryUse::name).to_owned()])
    .collect()
}

/// Returns the cells of the cost of calls: empty where nothing was counted or reported.
fn spend_cells(spend: &Spend) -> Vec<String> {
    let counted = |text: String| if 0 < spend.calls { text } else { String::new() };
    let tokens = |n: u64| if 0 < spend.tokens() { n.to_string() } else { String::new() };
    let cost = |usd: f64| match spend.cost() {
        Some(_) => counted(significant(usd)),
        None => String::new(),
    };
    vec![
        counted(spend.lost_calls.to_string()),
        tokens(spend.input_tokens),
        tokens(spend.cache_read_tokens),
        tokens(spend.output_tokens),
        tokens(spend.reasoning_tokens),
        counted(significant(spend.seconds)),
        cost(spend.usd),
        cost(spend.charged_usd()),
        counted(spend.unpriced.to_string()),
    ]
}
