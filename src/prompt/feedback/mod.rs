//! What a model is told about its last kernel: the facts that lead to the cause, in order of use,
//! within a few kilobytes.

mod failures;
mod findings;
mod timing;

use super::text::{counted, fence, inline};
use crate::record::{CaseResult, DType, Evaluation, Outcome, Verdict};

/// Most bytes of a feedback.
const MAX_BYTES: usize = 6_000;

/// Says what became of a kernel, in Markdown.
///
/// `kernel` is the kernel file, empty where the reply held none. Drawn cases are described without
/// their shapes, seeds never show.
#[must_use]
pub fn feedback(evaluation: &Evaluation, kernel: &str) -> String {
    let mut parts = vec![head(evaluation)];
    if evaluation.verdict.is_pass() {
        parts.extend(timing::sections(evaluation));
        parts.extend(profile(evaluation));
    } else {
        parts.extend(findings::sections(evaluation, kernel));
        parts.extend(failures::sections(evaluation, kernel));
        parts.push(advice(evaluation.verdict).to_owned());
    }
    parts.extend(findings::resources(evaluation));
    let mut text = String::new();
    let mut n_left_out = 0;
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if text.is_empty() || text.len() + part.len() <= MAX_BYTES {
            text = format!("{text}{part}\n\n");
        } else {
            n_left_out += 1;
        }
    }
    if 0 < n_left_out {
        text = format!("{text}({} left out for length)\n", counted(n_left_out, "section"));
    }
    format!("{}\n", text.trim_end())
}

/// Quotes what profilers made of a right kernel.
fn profile(evaluation: &Evaluation) -> Option<String> {
    let profile = evaluation.profile.as_ref()?;
    let title = if profile.suspicious {
        "Profile; compute-sanitizer found mistakes in this kernel although its outputs are right:"
    } else {
        "Profile:"
    };
    let lines: Vec<String> = profile.summary.iter().map(|line| inline(line, 240)).collect();
    Some(format!("{title}\n\n{}", fence("text", &lines.join("\n"))))
}

/// Says in one line why an evaluation failed; empty for a pass.
#[must_use]
pub(super) fn reason(evaluation: &Evaluation) -> String {
    const MAX: usize = 200;
    if evaluation.verdict.is_pass() {
        return String::new();
    }
    let error = findings::errors(evaluation).next().map(|diagnostic| {
        let line = diagnostic.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", diagnostic.message)
    });
    let finding = || evaluation.findings.first().map(|finding| finding.message.clone());
    let text = error.or_else(|| failures::reason(evaluation)).or_else(finding);
    inline(&text.unwrap_or_default(), MAX)
}

fn head(evaluation: &Evaluation) -> String {
    let verdict = evaluation.verdict;
    let mut lines = vec![format!("## Verdict: `{verdict}`")];
    let n_passed = evaluation.n_passed();
    let n_run = evaluation.cases.len() - evaluation.n_skipped();
    if 0 < n_run {
        let mut line = format!("{n_passed} of {n_run} cases passed ({})", evaluation.level);
        if n_passed < n_run && 0 < n_passed {
            line = format!("{line}. Passed {}", breakdown(evaluation));
        }
        lines.push(format!("\n{line}."));
    } else if !verdict.is_pass() {
        lines.push(format!(
            "\nNo case ran: stage `{}` ended the evaluation.",
            evaluation.stage.name()
        ));
    }
    lines.extend(skipped(evaluation).map(|line| format!("\n{line}")));
    lines.join("\n")
}

/// Counts passes by dtype and by class, which tells a wrong type from a wrong layout.
fn breakdown(evaluation: &Evaluation) -> String {
    let run: Vec<&CaseResult> =
        evaluation.cases.iter().filter(|case| matches!(case.outcome, Outcome::Judged(_))).collect();
    let share = |select: &dyn Fn(&CaseResult) -> bool| {
        let of: Vec<_> = run.iter().filter(|case| select(case)).collect();
        let passed = of.iter().filter(|case| case.outcome == Outcome::Judged(Verdict::Passed));
        (!of.is_empty()).then(|| format!("{}/{}", passed.count(), of.len()))
    };
    let dtypes = DType::ALL.iter().filter_map(|dtype| {
        share(&|case| case.dtype == *dtype).map(|share| format!("{dtype} {share}"))
    });
    let classes = failures::CLASSES.iter().filter_map(|(class, name)| {
        share(&|case| case.class == *class).map(|share| format!("{name} {share}"))
    });
    let join = |parts: Vec<String>| parts.join(", ");
    format!("by dtype: {}; by kind of case: {}", join(dtypes.collect()), join(classes.collect()))
}

fn skipped(evaluation: &Evaluation) -> Option<String> {
    let without_numbers = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let mut reasons: Vec<String> = Vec::new();
    for case in &evaluation.cases {
        if let Outcome::Skipped { reason } = &case.outcome {
            let reason = inline(reason, 100);
            let is_known =
                reasons.iter().any(|known| without_numbers(known) == without_numbers(&reason));
            // What was not reached says nothing about the kernel.
            if reason != "not reached" && !is_known {
                reasons.push(reason);
            }
        }
    }
    reasons.truncate(2);
    (!reasons.is_empty()).then(|| {
        let n_skipped = counted(evaluation.n_skipped(), "case");
        format!("{n_skipped} did not run: {}.", reasons.join("; "))
    })
}

/// Says what usually lies behind a verdict, where that is not in the finding.
const fn advice(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Race => {
            "Two accesses to one place, at least one a write, lack a barrier between them: \
             `__syncthreads()` before shared memory that was written is read, and again before it \
             is written anew; for global memory only a second launch orders blocks."
        }
        Verdict::Uninitialised => {
            "Garbage was used that nobody wrote: shared memory or `scratch(..)` before the first \
             store, the elements of `out`, a variable without a first value, the part of a vector \
             load behind the data, or the target of a `cp.async` before its wait and barrier."
        }
        Verdict::Deadlock => {
            "Some threads wait at a barrier or shuffle that others never reach: let every thread \
             of the block (or of the mask) take the same path to it, also those without work."
        }
        Verdict::TimedOut => {
            "The kernel did not end in time: look for a loop whose counter does not advance or \
             wraps around, for spinning on a flag, or for far too little parallelism."
        }
        Verdict::InputModified => {
            "An input changed. Write to `out` and `scratch(..)` buffers only."
        }
        Verdict::OutOfBoundsWrite => {
            "A store went outside its buffer: guard the tail (`if (i < n)`), check that 32-bit \
             index arithmetic does not overflow, and that grid times block covers no more than \
             the data."
        }
        Verdict::Nondeterministic => {
            "Equal inputs gave different outputs: an unordered update (atomics on floats) or a \
             race decides the result."
        }
        Verdict::Suspicious => {
            "It was faster than the hardware can move the data, so it does not do all of the work."
        }
        Verdict::Unsupported => {
            "The emulator cannot run this, which proves nothing about the kernel: use plainer \
             instructions for the cases it must run."
        }
        Verdict::Declined => {
            "A declined case counts as failed: handle it, if need be with a slower general kernel \
             behind an `if` in the plan."
        }
        Verdict::Passed
        | Verdict::NoCode
        | Verdict::Rejected
        | Verdict::PlanError
        | Verdict::CompileError
        | Verdict::LaunchError
        | Verdict::Fault
        | Verdict::WrongOutput
        | Verdict::Crashed => "",
    }
}
