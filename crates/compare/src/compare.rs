//! From arms to their comparison.

use std::collections::BTreeSet;

use crate::{
    MIN_OPS, arm,
    data::Arm,
    pairs::{self, MAX_ALL_PAIRS},
    resample::N_DRAWS,
    rows,
    summary::{ArmSummary, Comparison, FORMAT},
    view::{View, overhead_only},
};

/// Compares arms.
#[must_use]
pub fn compare(arms: &[Arm]) -> Comparison {
    let baselines = baselines(arms);
    let views: Vec<View<'_>> = arms.iter().map(View::new).collect();
    let overhead = overhead_only(&views, &baselines);
    let summary = |(at, view)| arm::summarise(letter(at), view, &baselines, &overhead);
    let summaries: Vec<ArmSummary> = views.iter().enumerate().map(summary).collect();
    let primary = baselines.first().map(String::as_str);
    let pairs = pairs::pairs(&views, primary, &overhead);
    let left_out: BTreeSet<&str> = overhead.iter().map(|(op, _)| *op).collect();
    Comparison {
        format: FORMAT,
        method: method(),
        notes: notes(&views, &left_out),
        differing: differing(&summaries),
        arms: summaries,
        pairs,
        ops: rows::rows(&views, &baselines),
        baselines: baselines.clone(),
    }
}

/// `A` to `Z`, then `AA`, `AB`, as columns of a spreadsheet.
pub(crate) fn letter(index: usize) -> String {
    let digit = u8::try_from(index % 26).unwrap_or(0);
    let last = char::from(b'A' + digit);
    match index / 26 {
        0 => last.to_string(),
        rest => format!("{}{last}", letter(rest - 1)),
    }
}

/// Names of the settings in which arms differ, in the order of the first arm that has them.
fn differing(arms: &[ArmSummary]) -> Vec<String> {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in arms.iter().flat_map(|arm| &arm.facts) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.retain(|name| {
        let mut values = arms.iter().map(|arm| arm.fact(name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    });
    names.into_iter().cloned().collect()
}

/// The baselines of all arms: the one that most runs call primary first, then as they appear.
fn baselines(arms: &[Arm]) -> Vec<String> {
    let mut names: Vec<&String> = Vec::new();
    let runs = || arms.iter().flat_map(|arm| &arm.runs);
    for name in runs().flat_map(|run| &run.baselines) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let n_primary =
        |name: &&String| runs().filter(|run| run.baselines.first() == Some(name)).count();
    names.sort_by_key(|name| std::cmp::Reverse(n_primary(name)));
    names.into_iter().cloned().collect()
}

fn method() -> Vec<String> {
    vec![
        format!(
            "Intervals are 95 %: {N_DRAWS} draws of ops with replacement, all samples of an op together, \
             every op counting the same; none is given for fewer than {MIN_OPS} ops."
        ),
        "An op that is not solved, or was not reached, counts as not correct and not fast. One that is \
         solved and was not timed against a baseline is left out of its speedups."
            .to_owned(),
        "fast_p is the share that is correct and more than p times as fast as the baseline. Numbers \
         without overhead leave out cases that the launch dominates, and ops that have no others."
            .to_owned(),
        "Tests are paired by op: exact sign flips for shares, signed ranks for the speedups of ops that \
         both arms solved; p values are corrected by Holm's method over all pairs of one question."
            .to_owned(),
        "Curves take the times that each attempt was judged with; final speedups are measured again in \
         fresh processes, where they are confirmed."
            .to_owned(),
    ]
}

fn notes(views: &[View<'_>], left_out: &BTreeSet<&str>) -> Vec<String> {
    let mut notes = Vec::new();
    let names = |view: &View<'_>| view.ops.iter().map(|op| op.name.to_owned()).collect::<Vec<_>>();
    if views.windows(2).any(|pair| names(&pair[0]) != names(&pair[1])) {
        notes.push(
            "The arms were asked for different ops: their own numbers are over their own ops, only \
             the tests between them are over the same."
                .to_owned(),
        );
    }
    let runs = || views.iter().flat_map(|view| &view.arm.runs);
    let unfinished: Vec<&str> = runs().filter(|run| !run.finished).map(|run| &*run.id).collect();
    if !unfinished.is_empty() {
        notes.push(format!("Not finished: {}.", shortened(&unfinished)));
    }
    let timed = || runs().filter(|run| !run.baselines.is_empty());
    let gpus: BTreeSet<&str> = timed().map(|run| &*run.device).collect();
    if gpus.len() > 1 {
        let gpus: Vec<&str> = gpus.into_iter().collect();
        notes.push(format!("Times of different GPUs stand apart: {}.", gpus.join(", ")));
    }
    let emulated: Vec<&str> = runs().filter(|run| run.emulated).map(|run| &*run.id).collect();
    if !emulated.is_empty() {
        notes.push(format!("Judged on the emulator only, no speedups: {}.", shortened(&emulated)));
    }
    let replayed: Vec<&str> = runs().filter(|run| run.replayed).map(|run| &*run.id).collect();
    if !replayed.is_empty() {
        notes.push(format!("Replies come from a recording: {}.", shortened(&replayed)));
    }
    if !left_out.is_empty() {
        let ops: Vec<&str> = left_out.iter().copied().collect();
        notes.push(format!("Nothing but launch overhead: {}.", shortened(&ops)));
    }
    if views.len() > MAX_ALL_PAIRS {
        notes.push(format!("More than {MAX_ALL_PAIRS} arms: each is tested against the first."));
    }
    notes
}

/// Lists names, the first few of many.
fn shortened(names: &[&str]) -> String {
    const MOST: usize = 8;
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len().checked_sub(MOST) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
