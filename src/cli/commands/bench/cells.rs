//! Cells out of evaluations.

use kgen_bench::{Cell, CellTiming, Outcome};
use kgen_eval::describe_args;
use kgen_record::{BaselineTiming, CaseOutcome, CaseTiming, Evaluation, Flag, Verdict};

use super::plan::{PlannedCase, PlannedOp};

/// Returns a cell without a time.
pub(super) fn cell(
    op: &PlannedOp,
    planned: &PlannedCase,
    implementation: &str,
    outcome: Outcome,
) -> Cell {
    Cell {
        op: op.op.clone(),
        dtype: planned.case.dtype.to_string(),
        case: planned.case.id.clone(),
        args: describe_args(&planned.case),
        axes: planned.axes.clone(),
        call: planned.call.clone(),
        implementation: implementation.to_owned(),
        outcome,
        timing: None,
        note: None,
    }
}

/// Returns the outcome of the candidate of an evaluation in one of its cases; `None` where it passed there.
pub(super) fn refused(evaluation: &Evaluation, case: &str) -> Option<Outcome> {
    let Some(result) = evaluation.cases.iter().find(|result| result.case == case) else {
        return Some(failed(evaluation.verdict, evaluation_finding(evaluation)));
    };
    // A kernel that does not compile reaches no case.
    let is_early = !evaluation.verdict.is_pass()
        && evaluation.verdict != Verdict::Unsupported
        && evaluation.failed().next().is_none();
    match &result.outcome {
        CaseOutcome::Skipped { .. } if is_early => {
            Some(failed(evaluation.verdict, evaluation_finding(evaluation)))
        }
        CaseOutcome::Judged(Verdict::Passed) => None,
        CaseOutcome::Judged(verdict) => {
            let reason = result.reason();
            Some(failed(*verdict, reason.unwrap_or_else(|| "the case did not pass".to_owned())))
        }
        CaseOutcome::Skipped { reason } => Some(Outcome::NotRun { reason: reason.clone() }),
    }
}

/// Returns the outcome of an evaluation that failed though its cases passed.
pub(super) fn refused_as_a_whole(evaluation: &Evaluation) -> Outcome {
    failed(evaluation.verdict, evaluation_finding(evaluation))
}

fn failed(verdict: Verdict, finding: String) -> Outcome {
    match verdict {
        Verdict::Unsupported => Outcome::NotOffered { reason: finding },
        verdict => Outcome::Failed { verdict: verdict.name().to_owned(), finding },
    }
}

fn evaluation_finding(evaluation: &Evaluation) -> String {
    let error = evaluation.diagnostics.first().map(|diagnostic| diagnostic.message.clone());
    let finding = evaluation.findings.first().map(|finding| finding.message.clone());
    let finding = finding.or(error).or_else(|| evaluation.unjudged_reason());
    finding.unwrap_or_else(|| evaluation.verdict.to_string())
}

/// Returns the time of the candidate, with which the others are compared.
pub(super) fn of_candidate(timing: &CaseTiming) -> CellTiming {
    let overhead =
        kgen_measure::roofline::is_overhead_dominated(timing.candidate.median_us, timing.floor_us);
    CellTiming {
        time: timing.candidate.clone(),
        mode: timing.mode,
        comparison: None,
        bytes: timing.bytes,
        flops: timing.flops,
        roofline: timing.roofline,
        usage: timing.usage,
        overhead_dominated: overhead,
        flags: own_flags(timing),
    }
}

/// Returns the flags of the samples that are the candidate's: those against the first baseline.
fn own_flags(timing: &CaseTiming) -> Vec<Flag> {
    let of_baselines = timing.baselines.iter().flat_map(|baseline| &baseline.flags);
    let first = timing.primary().map_or(&[][..], |baseline| &baseline.flags);
    let of_others: Vec<&Flag> = of_baselines.filter(|flag| !first.contains(flag)).collect();
    timing.flags.iter().copied().filter(|flag| !of_others.contains(&flag)).collect()
}

/// Returns outcome, time and note of a baseline; the comparison is its speedup over the candidate.
pub(super) fn of_baseline(
    of: &BaselineTiming,
    candidate: &CellTiming,
) -> (Outcome, Option<CellTiming>, Option<String>) {
    let note = || of.note.clone().unwrap_or_else(|| "it could not be timed".to_owned());
    let Some(time) = &of.timing else {
        return match of.verdict {
            Some(Verdict::Passed) | None => (Outcome::Passed, None, Some(note())),
            Some(verdict) => (failed(verdict, note()), None, None),
        };
    };
    let timing = CellTiming {
        time: time.clone(),
        comparison: of.comparison.map(|comparison| comparison.swapped()),
        usage: of.usage,
        overhead_dominated: of.overhead_dominated,
        flags: of.flags.clone(),
        ..candidate.clone()
    };
    (Outcome::Passed, Some(timing), of.note.clone())
}
