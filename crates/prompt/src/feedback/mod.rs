//! Feedback to a model about its last kernel: the facts that lead to the cause, in order of use,
//! within a few kilobytes.
//!
//! Every section belongs to one kind of feedback and is left out with it; the verdict always stays.
//! It adapts to the verdict, to the op's family and to the device: no word of times where
//! nothing can be timed.

mod advice;
mod bottleneck;
mod code;
mod counted;
mod failures;
mod findings;
mod hints;
mod profile;
mod roofline;
mod shorten;
mod timing;

use kgen_ops::op::{self, OpFamily};
use kgen_record::{
    CaseOutcome, CaseResult, DType, Evaluation, FeedbackKind, FeedbackSet, GapKind, Verdict,
};

use super::text::inline;

pub(super) use shorten::{n_left_out, shorten};

/// Most bytes of a feedback.
const MAX_BYTES: usize = 6_000;

/// A part of the feedback.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    kind: FeedbackKind,
    text: String,
}

impl Section {
    fn new(kind: FeedbackKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// An evaluation with its kernel and op family.
#[derive(Debug, Clone, Copy)]
struct Subject<'a> {
    evaluation: &'a Evaluation,
    /// The kernel file, empty where the reply held none.
    kernel: &'a str,
    family: OpFamily,
}

impl Subject<'_> {
    /// Returns whether the evaluation was made where nothing can be timed.
    const fn is_emulated(&self) -> bool {
        self.evaluation.target.uuid.is_none()
    }
}

/// Describes an evaluation in Markdown; only sections of these kinds.
///
/// `kernel` is the kernel file, empty where the reply held none. Drawn cases are described without
/// their shapes, seeds never show. The verdict is always said.
#[must_use]
pub fn feedback(evaluation: &Evaluation, kernel: &str, kinds: FeedbackSet) -> String {
    // An op of the user's own is not in the catalogue.
    let family = op::find(&evaluation.op).map_or(OpFamily::General, |op| op.family);
    let subject = Subject { evaluation, kernel, family };
    let mut text = format!("## Verdict: `{}`\n\n", evaluation.verdict);
    let mut n_left_out = 0;
    for section in sections(&subject, kinds) {
        if text.len() + section.text.len() <= MAX_BYTES {
            text = format!("{text}{}\n\n", section.text);
        } else {
            n_left_out += 1;
        }
    }
    if 0 < n_left_out {
        text = format!(
            "{text}({} left out for length)\n",
            super::text::counted(n_left_out, "section")
        );
    }
    format!("{}\n", text.trim_end())
}

/// Returns the sections, the most useful first.
fn sections(subject: &Subject<'_>, kinds: FeedbackSet) -> Vec<Section> {
    let evaluation = subject.evaluation;
    let mut sections = Vec::new();
    sections.extend(ending(evaluation));
    sections.extend(counts(evaluation));
    if evaluation.verdict.is_pass() {
        sections.extend(profile::mistakes(evaluation));
        sections.extend(unreached(evaluation));
        sections.extend(bottleneck::section(subject, kinds));
        sections.extend(timing::sections(subject));
        sections.extend(roofline::section(subject));
        sections.extend(profile::section(evaluation));
        sections.extend(counted::section(evaluation));
    } else {
        sections.extend(findings::sections(evaluation, subject.kernel));
        sections.extend(failures::sections(subject, kinds));
        sections.extend(advice::section(evaluation.verdict));
    }
    sections.extend(code::section(subject));
    sections.retain(|section| kinds.has(section.kind) && !section.text.is_empty());
    sections
}

/// Returns the kind of feedback that explains a verdict.
///
/// Errors before a kernel runs are `compile`, faults of memory and threads while it runs
/// are `sanitizer`, wrong values are `correctness`. That it is faster than the hardware allows
/// follows from the roofline.
pub(super) const fn kind_of(verdict: Verdict) -> FeedbackKind {
    match verdict {
        Verdict::NoCode
        | Verdict::Rejected
        | Verdict::PlanError
        | Verdict::CompileError
        | Verdict::Declined
        | Verdict::LaunchError
        | Verdict::Unsupported => FeedbackKind::Compile,
        Verdict::Fault
        | Verdict::Race
        | Verdict::Uninitialised
        | Verdict::Deadlock
        | Verdict::InputModified
        | Verdict::OutOfBoundsWrite
        | Verdict::TimedOut
        | Verdict::Crashed => FeedbackKind::Sanitizer,
        Verdict::Passed | Verdict::WrongOutput | Verdict::Nondeterministic => {
            FeedbackKind::Correctness
        }
        Verdict::Suspicious => FeedbackKind::Roofline,
    }
}

/// Most parts that no case reached which are named.
const MAX_GAPS: usize = 6;

/// Names the parts of a right kernel that no case reached: the verdict says nothing of them.
fn unreached(evaluation: &Evaluation) -> Option<Section> {
    let gaps = &evaluation.coverage.as_ref()?.gaps;
    if gaps.is_empty() {
        return None;
    }
    let named: Vec<String> = gaps.iter().take(MAX_GAPS).map(|gap| format!("* {gap}")).collect();
    let more = gaps.len() - named.len();
    let more = if more == 0 { String::new() } else { format!("\n* and {more} more") };
    let is_needed = gaps.iter().any(|gap| {
        gap.kind == GapKind::PlanConditionOneWay || gap.grids.as_ref().is_some_and(|g| g.ran == 0)
    });
    let advice = if is_needed {
        "Keep those that a larger case needs, and let some small case reach them too, for example by a \
         condition on shape and `sm_count` (the emulator repeats cases with an `sm_count` of 2); remove \
         what no case needs"
    } else {
        "Remove what is not needed, or make sure of it"
    };
    let text = format!(
        "The cases left these parts of the kernel open, so nothing shows that they are right. \
         {advice}:\n\n{}{more}",
        named.join("\n")
    );
    Some(Section::new(FeedbackKind::Correctness, text))
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

/// Says where an evaluation ended before any case ran.
fn ending(evaluation: &Evaluation) -> Option<Section> {
    let n_run = evaluation.cases.len() - evaluation.n_skipped();
    (n_run == 0 && !evaluation.verdict.is_pass()).then(|| {
        let stage = evaluation.stage.name();
        let text = format!("No case ran: stage `{stage}` ended the evaluation.");
        Section::new(kind_of(evaluation.verdict), text)
    })
}

/// Counts the cases that passed and names those that did not run.
fn counts(evaluation: &Evaluation) -> Option<Section> {
    let n_passed = evaluation.n_passed();
    let n_run = evaluation.cases.len() - evaluation.n_skipped();
    let mut lines = Vec::new();
    if 0 < n_run {
        let mut line = format!("{n_passed} of {n_run} cases passed ({})", evaluation.level);
        if n_passed < n_run && 0 < n_passed {
            line = format!("{line}. Passed {}", breakdown(evaluation));
        }
        lines.push(format!("{line}."));
    }
    lines.extend(skipped(evaluation));
    (!lines.is_empty()).then(|| Section::new(FeedbackKind::Correctness, lines.join("\n\n")))
}

/// Counts passes by dtype and by class, which separates a wrong type from a wrong layout.
fn breakdown(evaluation: &Evaluation) -> String {
    let run: Vec<&CaseResult> = evaluation
        .cases
        .iter()
        .filter(|case| matches!(case.outcome, CaseOutcome::Judged(_)))
        .collect();
    let share = |select: &dyn Fn(&CaseResult) -> bool| {
        let of: Vec<_> = run.iter().filter(|case| select(case)).collect();
        let passed = of.iter().filter(|case| case.outcome == CaseOutcome::Judged(Verdict::Passed));
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
        if let CaseOutcome::Skipped { reason } = &case.outcome {
            let reason = inline(reason, 100);
            let is_known =
                reasons.iter().any(|known| without_numbers(known) == without_numbers(&reason));
            // An unreached part says nothing about the kernel.
            if reason != "not reached" && !is_known {
                reasons.push(reason);
            }
        }
    }
    reasons.truncate(2);
    (!reasons.is_empty()).then(|| {
        let n_skipped = super::text::counted(evaluation.n_skipped(), "case");
        format!("{n_skipped} did not run: {}.", reasons.join("; "))
    })
}
