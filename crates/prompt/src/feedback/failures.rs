//! Failed cases, those with one cause together.

use kgen_record::{
    CaseClass, CaseOutcome, CaseResult, DType, ElementDiff, Evaluation, FeedbackKind, FeedbackSet,
    InputDistribution, Mismatch, Verdict,
};

use super::{Section, Subject, findings, hints, kind_of};
use crate::text::{counted, fence, first_lines, inline, list, significant, without_numbers};

/// Groups of failed cases that are described.
const MAX_GROUPS: usize = 4;

/// Names of cases that one group lists.
const MAX_NAMES: usize = 4;

/// The classes with their names in prompts.
pub(super) const CLASSES: [(CaseClass, &str); 7] = [
    (CaseClass::Edge, "size"),
    (CaseClass::Layout, "layout"),
    (CaseClass::Values, "values"),
    (CaseClass::Drawn, "hidden"),
    (CaseClass::Further, "further"),
    (CaseClass::Realistic, "realistic"),
    (CaseClass::Huge, "more than 2^31 elements"),
];

/// Cases that failed alike.
pub(super) struct Group<'a> {
    pub(super) verdict: Verdict,
    cause: String,
    pub(super) cases: Vec<&'a CaseResult>,
}

/// Returns one section per cause, cases that are no secret first.
pub(super) fn sections(subject: &Subject<'_>, kinds: FeedbackSet) -> Vec<Section> {
    let evaluation = subject.evaluation;
    // Findings of the stage about every case were listed before.
    let is_new = |group: &Group<'_>| match group.cases[0].findings.first() {
        Some(finding) => !evaluation.findings.iter().any(|said| said.message == finding.message),
        None => true,
    };
    let mut groups = groups(evaluation);
    groups.retain(|group| is_new(group) && kinds.has(kind_of(group.verdict)));
    let shown = groups.iter().take(MAX_GROUPS);
    let shown = shown.map(|group| Section::new(kind_of(group.verdict), section(subject, group)));
    let mut sections: Vec<_> = shown.collect();
    if MAX_GROUPS < groups.len() {
        let n_others: usize = groups[MAX_GROUPS..].iter().map(|group| group.cases.len()).sum();
        let text = format!("{} failed in other ways.", counted(n_others, "case"));
        sections.push(Section::new(FeedbackKind::Correctness, text));
    }
    sections
}

/// Says in a few words why the first failed case failed.
pub(super) fn reason(evaluation: &Evaluation) -> Option<String> {
    let groups = groups(evaluation);
    let case = groups.first()?.cases.first()?;
    let what = match &case.mismatch {
        Some(mismatch) => wrong_words(mismatch, is_drawn(case)),
        None => findings::of_case(case).first()?.message.clone(),
    };
    Some(format!("{}: {what}", name(case)))
}

fn groups(evaluation: &Evaluation) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for case in evaluation.failed() {
        let CaseOutcome::Judged(verdict) = case.outcome else { continue };
        let cause = cause(case);
        match groups.iter_mut().find(|group| group.verdict == verdict && group.cause == cause) {
            Some(group) => group.cases.push(case),
            None => groups.push(Group { verdict, cause, cases: vec![case] }),
        }
    }
    for group in &mut groups {
        group.cases.sort_by_key(|case| is_drawn(case));
    }
    // The verdict's own group first: the attempt is known by it.
    groups.sort_by_key(|group| {
        let of_drawn = is_drawn(group.cases[0]);
        (group.verdict != evaluation.verdict, of_drawn, usize::MAX - group.cases.len())
    });
    groups
}

/// Returns the text that cases with one cause share: everything but numbers.
fn cause(case: &CaseResult) -> String {
    let fault = case.findings.first().and_then(|finding| finding.fault.as_ref());
    let text = match (&case.mismatch, fault) {
        (Some(mismatch), _) => {
            let special = mismatch.n_special == mismatch.n_wrong;
            let unwritten = 0 < mismatch.n_unwritten;
            let pattern = mismatch.pattern.as_deref().unwrap_or_default();
            format!("{} {special} {unwritten} {pattern}", mismatch.output)
        }
        // The instruction depends on the dtype, the line does not.
        (None, Some(fault)) => {
            return format!("{} {:?} {:?}", fault.kind, fault.line, fault.buffer);
        }
        (None, None) => {
            case.findings.first().map(|finding| finding.message.clone()).unwrap_or_default()
        }
    };
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Returns whether a case's sizes are a secret.
pub(super) fn is_drawn(case: &CaseResult) -> bool {
    case.class == CaseClass::Drawn
}

/// Names a case; of a drawn one only its kind.
fn name(case: &CaseResult) -> String {
    if is_drawn(case) {
        return format!("a hidden {} case", case.dtype);
    }
    let args = inline(&case.args, 120);
    let name = match case.distribution {
        InputDistribution::Normal => format!("`{args}`"),
        other => format!("`{args}` ({})", other.name()),
    };
    match case.class {
        CaseClass::Further => format!("{name} (drawn for code that no other case reached)"),
        _ => name,
    }
}

fn section(subject: &Subject<'_>, group: &Group<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in group.cases.iter().map(|case| name(case)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut dtypes: Vec<DType> = group.cases.iter().map(|case| case.dtype).collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    let dtypes: Vec<_> = dtypes.iter().map(DType::to_string).collect();
    let first = group.cases[0];
    let mut parts = vec![format!(
        "### `{}` in {} ({})\n\n{}",
        group.verdict,
        counted(group.cases.len(), "case"),
        dtypes.join(", "),
        list(&names, MAX_NAMES)
    )];
    let told = findings::of_case(first);
    match &first.mismatch {
        Some(mismatch) => {
            let place = if names.len() == 1 { "" } else { "In the first of these, " };
            parts.push(format!("{place}{}", wrong_output(first, mismatch)));
            parts.extend(hints::of_outputs(subject, group, mismatch));
            parts.extend(findings::brief(&told));
        }
        None => {
            let finding = told.first();
            parts.extend(finding.map(|finding| findings::quote(finding, subject.kernel)));
            parts.extend(hints::of_run(subject, group));
            let further = told.get(1..).unwrap_or_default();
            parts.extend(findings::brief(further).map(|list| format!("Also found:\n\n{list}")));
        }
    }
    parts.join("\n\n")
}

/// Says how much is wrong and where; of a drawn case nothing that gives its sizes away.
fn wrong_words(mismatch: &Mismatch, is_drawn: bool) -> String {
    let Mismatch { output, n_wrong, n_elements, .. } = mismatch;
    let mut text = if !is_drawn {
        format!("{n_wrong} of {n_elements} elements of {output} are wrong")
    } else if n_wrong == n_elements {
        format!("all elements of {output} are wrong")
    } else {
        format!("some elements of {output} are wrong")
    };
    // Special values stand at places of their own, which say nothing about the kernel.
    let pattern = mismatch.pattern.as_ref().filter(|_| mismatch.n_special < *n_wrong);
    if let Some(pattern) = pattern {
        let pattern = inline(pattern, 200);
        text = format!("{text}: {}", if is_drawn { without_numbers(&pattern) } else { pattern });
    }
    text
}

fn wrong_output(case: &CaseResult, mismatch: &Mismatch) -> String {
    let is_drawn = is_drawn(case);
    let many = |n: u64| if is_drawn { "Some".to_owned() } else { n.to_string() };
    let mut lines = vec![format!("{}.", wrong_words(mismatch, is_drawn))];
    if 0 < mismatch.n_unwritten {
        lines.push(format!(
            "{} still hold the garbage from before the launch: nothing wrote them.",
            many(mismatch.n_unwritten)
        ));
    }
    if 0 < mismatch.n_special {
        lines.push(format!(
            "{} are of the special-value class (NaN, infinity or the sign of zero): see the semantics.",
            many(mismatch.n_special)
        ));
    }
    if mismatch.n_special < mismatch.n_wrong && mismatch.worst_ratio.0.is_finite() {
        let ratio = significant(mismatch.worst_ratio.0, 3);
        lines.push(format!("The largest error is {ratio} times its bound."));
    }
    if !mismatch.rule.is_empty() {
        lines.push(format!("Rule: {}.", inline(mismatch.rule.trim_end_matches('.'), 200)));
    }
    format!("{}\n\n{}", lines.join(" "), fence("text", &table(case, &mismatch.first)))
}

fn table(case: &CaseResult, first: &[ElementDiff]) -> String {
    let digits = match case.dtype {
        DType::F64 => 17,
        DType::F32 | DType::I64 | DType::I32 => 9,
        _ => 6,
    };
    let mut rows = vec![["index", "expected", "got", "allowed error"].map(str::to_owned)];
    for diff in first.iter().take(6) {
        let index: Vec<_> = diff.index.iter().map(usize::to_string).collect();
        rows.push([
            if is_drawn(case) { "hidden".to_owned() } else { format!("[{}]", index.join(", ")) },
            diff.integers
                .map_or_else(|| significant(diff.expected.0, digits), |of| of[0].to_string()),
            diff.integers.map_or_else(|| significant(diff.got.0, digits), |of| of[1].to_string()),
            significant(diff.bound.0, 3),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let lines = rows.iter().map(|[index, expected, got, bound]| {
        let [a, b, c] = widths;
        format!("{index:<a$}  {expected:>b$}  {got:>c$}  {bound}")
    });
    first_lines(&lines.collect::<Vec<_>>().join("\n"), 8)
}
