//! The attempts so far, as a compact table.

use kgen_record::{FeedbackKind, Verdict};
use serde::Serialize;

use super::{
    HistoryEntry, PromptContext, Situation, feedback,
    text::{counted, inline, speedup_words},
};

/// Characters of a reason in a cell.
const MAX_REASON: usize = 110;

/// Characters of a change in a cell.
const MAX_CHANGE: usize = 160;

/// The table.
#[derive(Debug, Default, Serialize)]
pub(super) struct HistoryView {
    /// Rows, oldest first.
    rows: Vec<HistoryRow>,
    /// Whether there is a column of speedups.
    timed: bool,
    /// The older rows that are not listed, in a sentence.
    older: Option<String>,
}

/// One attempt.
#[derive(Debug, Serialize)]
struct HistoryRow {
    number: u32,
    /// The attempts that it was made from.
    from: String,
    /// Its change, in its own words.
    change: String,
    verdict: String,
    speedup: Option<String>,
}

/// Describes the latest `n_rows` attempts and counts the others.
pub(super) fn view(
    context: &PromptContext<'_>,
    situation: &Situation<'_>,
    n_rows: usize,
) -> HistoryView {
    let (older, listed) =
        situation.history.split_at(situation.history.len().saturating_sub(n_rows));
    let timed = context.can_time && context.feedback.has(FeedbackKind::Timing);
    HistoryView {
        rows: listed.iter().map(|past| row(context, past, timed)).collect(),
        timed,
        older: (!older.is_empty()).then(|| counts(older)),
    }
}

fn row(context: &PromptContext<'_>, past: &HistoryEntry, timed: bool) -> HistoryRow {
    let parents: Vec<_> = past.parents.iter().map(u32::to_string).collect();
    let change = past.change.as_ref().map(|change| cell(change, MAX_CHANGE));
    let speedup = past.speedup.as_ref().map_or_else(|| "-".to_owned(), speedup_words);
    HistoryRow {
        number: past.number,
        from: if parents.is_empty() { "-".to_owned() } else { parents.join(", ") },
        change: match past.duplicate_of {
            Some(earlier) => format!("none: the same source as attempt {earlier}"),
            None => change.unwrap_or_else(|| "-".to_owned()),
        },
        verdict: verdict(context, past),
        speedup: timed.then_some(speedup),
    }
}

/// Names the verdict, and why where that kind of feedback is on.
fn verdict(context: &PromptContext<'_>, past: &HistoryEntry) -> String {
    let name = past.verdict.name();
    let (n_passed, n_run) = past.passed;
    let mut parts = Vec::new();
    let is_pass = past.verdict.is_pass();
    if !is_pass && 0 < n_run && context.feedback.has(FeedbackKind::Correctness) {
        parts.push(format!("{n_passed} of {n_run} cases passed"));
    }
    if !past.reason.is_empty() && context.feedback.has(feedback::kind_of(past.verdict)) {
        parts.push(cell(&past.reason, MAX_REASON));
    }
    if parts.is_empty() { name.to_owned() } else { format!("{name}: {}", parts.join("; ")) }
}

/// Returns a text that cannot end its cell.
fn cell(text: &str, max: usize) -> String {
    inline(text, max).replace('|', "/")
}

/// Counts attempts by verdict.
fn counts(pasts: &[HistoryEntry]) -> String {
    let verdicts = Verdict::ALL.into_iter().filter_map(|verdict| {
        let n = pasts.iter().filter(|past| past.verdict == verdict).count();
        (0 < n).then(|| format!("{n} {verdict}"))
    });
    let verdicts: Vec<_> = verdicts.collect();
    format!("{} not listed: {}.", counted(pasts.len(), "older attempt"), verdicts.join(", "))
}

/// Returns whether the parent failed as the attempt did that it was made from: says no more than the
/// table, so only where the reason is given.
pub(super) fn is_repeated(context: &PromptContext<'_>, situation: &Situation<'_>) -> bool {
    let Some(parent) = situation.parent else { return false };
    let mut earlier = situation.history.iter().filter(|past| past.number < parent.past.number);
    let before = match parent.past.parents.as_slice() {
        [] => earlier.next_back(),
        parents => earlier.rfind(|past| parents.contains(&past.number)),
    };
    before.is_some_and(|before| {
        !before.verdict.is_pass()
            && before.verdict == parent.past.verdict
            && context.feedback.has(feedback::kind_of(before.verdict))
            && before.reason == parent.past.reason
    })
}
