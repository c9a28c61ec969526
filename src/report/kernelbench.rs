//! A run in the form of `KernelBench`'s `eval_results.json`.
//!
//! Its scripts read `{"<problem>": [{"sample_id", "compiled", "correctness", "metadata", "runtime",
//! "runtime_stats"}]}` for the problems of one level. Times are milliseconds; a runtime of -1 with empty
//! statistics is "not measured".
//!
//! Source: `add_to_eval_results_file` in `scripts/eval_from_generations.py`, `KernelExecResult` in
//! `src/kernelbench/eval.py` and `get_timing_stats` in `src/kernelbench/timing.py`.

use std::collections::{BTreeMap, BTreeSet};

use kgen_record::{CaseTiming, Evaluation, OpKey, Stage, Verdict};
use kgen_store::Run;
use serde_json::{Map, Value, json};

use super::summary::{OpSummary, Summary, attempt_id, reported_timings};

/// A run that has no such form.
#[derive(Debug, thiserror::Error)]
pub enum KernelBenchError {
    /// No op is named as a problem is.
    #[error(
        "{run} has no op that `kgen import kernelbench` made: their names begin with level and number, \
         as in l1_19_relu"
    )]
    NoProblems { run: String },
    /// Problems of several levels, whose numbers are not unique.
    #[error(
        "{run} has problems of levels {}, and eval_results.json is of one level",
        levels.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
    )]
    Levels { run: String, levels: BTreeSet<u32> },
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] kgen_store::Error),
}

/// `eval_results.json` of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalResults {
    /// The JSON.
    pub text: String,
    /// The level of its problems.
    pub level: u32,
    /// Ops of the run that are no problems.
    pub left_out: Vec<String>,
}

/// Returns the best attempt at each problem as the sample 0 of that problem. A problem without a finished
/// attempt has no entry, which `KernelBench` counts as not compiled.
///
/// # Errors
///
/// [`KernelBenchError`].
pub fn eval_results(run: &Run, summary: &Summary) -> Result<EvalResults, KernelBenchError> {
    let mut problems: BTreeMap<(u32, u32), &OpSummary> = BTreeMap::new();
    let mut left_out = Vec::new();
    for op in &summary.ops {
        match problem(&op.op) {
            Some(key) => {
                problems.insert(key, op);
            }
            None => left_out.push(op.op.clone()),
        }
    }
    let levels: BTreeSet<u32> = problems.keys().map(|(level, _)| *level).collect();
    let name = || summary.run.clone();
    let level = match levels.first() {
        None => return Err(KernelBenchError::NoProblems { run: name() }),
        Some(_) if levels.len() > 1 => {
            return Err(KernelBenchError::Levels { run: name(), levels });
        }
        Some(level) => *level,
    };
    let mut results = Map::new();
    for ((_, number), op) in problems {
        if let Some(sample) = sample(run, op)? {
            results.insert(number.to_string(), json!([sample]));
        }
    }
    let text = serde_json::to_string_pretty(&results).expect("JSON values turn into JSON");
    Ok(EvalResults { text, level, left_out })
}

/// Reads level and number of a problem out of the name that the importer gave it: `l1_19_relu`.
fn problem(op: &str) -> Option<(u32, u32)> {
    let (level, rest) = op.strip_prefix('l')?.split_once('_')?;
    let number = rest.split_once('_').map_or(rest, |(number, _)| number);
    Some((level.parse().ok()?, number.parse().ok()?))
}

fn sample(run: &Run, op: &OpSummary) -> Result<Option<Value>, kgen_store::Error> {
    let Some(number) = op.best_attempt else { return Ok(None) };
    // The name of a problem is that of its folder: it has no dot.
    let attempt = attempt_id(&OpKey(op.op.clone()), number);
    let evaluation = run.evaluation(&attempt)?;
    let confirmation = run.confirmation(&attempt)?;
    let timings = evaluation.as_ref().filter(|_| op.passed());
    let timings = timings.map(|e| reported_timings(e, confirmation.as_ref())).unwrap_or_default();
    let hardware = op.gpu.as_ref().map(|gpu| gpu.name.as_str());
    let device = run.info().device.name.as_str();
    let stats = timings.first().and_then(|timing| stats(timing, hardware, device));
    let mut metadata = metadata(op, evaluation.as_ref(), timings.first());
    metadata.insert("hardware".to_owned(), json!(hardware));
    metadata.insert("device".to_owned(), json!(device));
    Ok(Some(json!({
        "sample_id": 0,
        "compiled": evaluation.is_some_and(|evaluation| evaluation.stage > Stage::Compile),
        "correctness": op.passed(),
        "metadata": metadata,
        "runtime": stats.as_ref().map_or(json!(-1.0), |stats| stats["mean"].clone()),
        "runtime_stats": stats.unwrap_or_else(|| json!({})),
    })))
}

/// Returns the statistics of a candidate's times; `None` where its samples were not kept.
fn stats(timing: &CaseTiming, hardware: Option<&str>, device: &str) -> Option<Value> {
    let ms: Vec<f64> = timing.candidate.samples_us.iter().map(|us| us / 1000.0).collect();
    if ms.is_empty() {
        return None;
    }
    let mean = timing.candidate.mean_us() / 1000.0;
    let squares = ms.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>();
    #[expect(clippy::cast_precision_loss, reason = "counts of samples are small")]
    let std = (squares / ms.len() as f64).sqrt();
    Some(json!({
        "mean": mean,
        "std": std,
        "min": ms.iter().copied().fold(f64::INFINITY, f64::min),
        "max": ms.iter().copied().fold(0.0, f64::max),
        "num_trials": ms.len(),
        "hardware": hardware,
        "device": device,
    }))
}

/// Returns the reason of a failure under the keys that `KernelBench` has for it, and facts of kgen's own.
fn metadata(
    op: &OpSummary,
    evaluation: Option<&Evaluation>,
    timing: Option<&CaseTiming>,
) -> Map<String, Value> {
    let mut metadata = Map::new();
    let verdict = op.verdict.unwrap_or(Verdict::NoCode);
    if !verdict.is_pass() {
        let kind = match verdict {
            Verdict::WrongOutput => "correctness_issue",
            _ if evaluation.is_some_and(|evaluation| evaluation.stage > Stage::Compile) => {
                "runtime_error"
            }
            _ => "compilation_error",
        };
        metadata.insert(format!("{kind}_name"), json!(verdict.name()));
        metadata.insert(kind.to_owned(), json!(evaluation.and_then(reason)));
    }
    let baselines = timing.into_iter().flat_map(|timing| &timing.baselines);
    let baselines = baselines.filter_map(|baseline| {
        Some((baseline.name.clone(), json!(baseline.timing.as_ref()?.mean_us() / 1000.0)))
    });
    let facts = json!({
        "op": op.op,
        "verdict": verdict.name(),
        "library_use": op.library_use,
        "kernel_file": op.best_file,
        "case": timing.map(|timing| timing.case.as_str()),
        "cases": { "passed": op.counts.passed, "failed": op.counts.failed, "skipped": op.counts.skipped },
        "baseline_runtimes": baselines.collect::<Map<_, _>>(),
    });
    metadata.insert("kgen".to_owned(), facts);
    metadata
}

fn reason(evaluation: &Evaluation) -> Option<&str> {
    let of_cases = evaluation.failed().flat_map(|case| &case.findings);
    let finding = evaluation.findings.iter().chain(of_cases).next();
    let diagnostic = || evaluation.diagnostics.first().map(|found| found.message.as_str());
    finding.map(|finding| finding.message.as_str()).or_else(diagnostic)
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn problems_are_named_by_level_and_number() {
        assert_eq!(problem("l1_19_relu"), Some((1, 19)));
        assert_eq!(problem("l3_7"), Some((3, 7)));
        for other in ["l1_relu", "log", "l1_loss", "mm", "19_relu"] {
            assert_eq!(problem(other), None, "{other}");
        }
    }
}
