//! The attempts behind a row of the table of ops: the parents of each, its changes, and the feedback.

use std::collections::HashMap;

use maud::{Markup, html};

use super::{
    context::Context,
    number::{cost, count, plain, seconds, times as ratio},
    ops::outcome,
    run::times,
    texts::{AttemptKey, Texts},
};
use crate::data::{Attempt, Op, Run, Speedup};

/// Attempts that get a row at most; of larger comparisons, the last ones are left out.
const MOST_ROWS: usize = 20_000;

/// An op in one run of one arm.
struct Sample<'a> {
    arm: usize,
    run: usize,
    op: &'a Op,
}

/// The attempts at all ops.
pub(crate) fn attempts<'a>(context: &Context<'a>, texts: &Texts<'a>) -> Markup {
    let mut samples: HashMap<&str, Vec<Sample<'a>>> = HashMap::new();
    for (arm, runs) in context.arms.iter().map(|arm| &arm.runs).enumerate() {
        for (run, ops) in runs.iter().map(|run| &run.ops).enumerate() {
            for op in ops {
                samples.entry(&op.name).or_default().push(Sample { arm, run, op });
            }
        }
    }
    let mut rows_left = MOST_ROWS;
    html! {
        h3 { "Attempts" }
        @for (index, row) in context.comparison.ops.iter().enumerate() {
            details.op data-op=(row.op) {
                summary {
                    b { (row.op) }
                    @for (key, cell) in context.keys.iter().zip(&row.cells) {
                        @if let Some(cell) = cell {
                            " "
                            span.outcome {
                                @if !context.is_one_run { b class=(key.class()) { (key.letter) } " " }
                                (outcome(cell, context.primary_of(cell)))
                            }
                        }
                    }
                }
                div id={ "op-" (index) } {
                    @for of_arm in samples
                        .get(row.op.as_str())
                        .map_or(&[][..], Vec::as_slice)
                        .chunk_by(|a, b| a.arm == b.arm)
                    {
                        @let arm = of_arm[0].arm;
                        @if !context.is_one_run {
                            h4 { (context.keys[arm].named()) }
                        }
                        @for sample in of_arm {
                            (one_sample(context, texts, sample, &mut rows_left))
                        }
                    }
                }
            }
        }
        @if 0 < texts.left_out() {
            p.note #left-out {
                "To keep this page small, sources and feedback of "
                (count(texts.left_out() as u64))
                " attempts are left out; the run directories have them."
            }
        }
    }
}

/// The attempts of one run at an op.
fn one_sample<'a>(
    context: &Context<'a>,
    texts: &Texts<'a>,
    sample: &Sample<'a>,
    rows_left: &mut usize,
) -> Markup {
    let Sample { arm, run, op } = *sample;
    let n_attempts = op.attempts.len();
    let fits = n_attempts <= *rows_left;
    if fits {
        *rows_left -= n_attempts;
    }
    let shown = |attempt| texts.get(&AttemptKey { arm, run, op: &op.name, attempt });
    let run = &context.arms[arm].runs[run];
    html! {
        (reported(run, op))
        (times::times(op))
        @if !fits {
            p.note { (n_attempts) " attempts are left out to keep this page small." }
        } @else if 0 < n_attempts {
            (table(context, run, op))
            @for text in (0..n_attempts).filter_map(shown) { (text) }
        }
    }
}

/// The best attempt at an op, and the speedups that were measured again.
fn reported(run: &Run, op: &Op) -> Markup {
    let state = match op.best {
        None if op.attempts.is_empty() => "not reached".to_owned(),
        None => "no attempt to report".to_owned(),
        Some(best) if op.confirmed && op.solved => {
            format!("attempt {best}, confirmed with fresh seeds")
        }
        Some(best) if op.solved => format!("attempt {best} passed, not confirmed"),
        Some(best) => format!("not solved; furthest was attempt {best}"),
    };
    let gpu = op.gpu.as_deref().or((!op.attempts.is_empty()).then_some("emulator only"));
    let details = |speedup: &Speedup| {
        let interval = speedup.interval;
        let interval = interval.map(|[low, high]| format!("99 %: {}–{}", plain(low), plain(high)));
        interval.into_iter().chain(cases(speedup)).collect::<Vec<_>>().join("; ")
    };
    html! {
        p.run {
            code { (run.id) } " · " (state)
            @if let Some(gpu) = gpu { " · " (gpu) }
            @for speedup in &op.speedups {
                " · " (speedup.baseline) " " (ratio(speedup.shown()))
                @let details = details(speedup);
                @if !details.is_empty() { " " small { "(" (details) ")" } }
            }
        }
    }
}

/// A speedup with the cases that launch overhead dominates, where there are any.
fn cases(speedup: &Speedup) -> Option<String> {
    match speedup.long {
        Some(_) if speedup.n_overhead == 0 => None,
        Some(_) => Some(format!("all cases {}", ratio(speedup.all))),
        None => Some("overhead only".to_owned()),
    }
}

fn over<'a>(attempt: &'a Attempt, baseline: &str) -> Option<&'a Speedup> {
    attempt.speedups.iter().find(|speedup| speedup.baseline == baseline)
}

/// The attempts of one op in one run.
fn table(context: &Context<'_>, run: &Run, op: &Op) -> Markup {
    let is_timed = |name: &&String| op.attempts.iter().any(|one| over(one, name).is_some());
    let baselines: Vec<&String> = context.comparison.baselines.iter().filter(is_timed).collect();
    html! {
        div.wide tabindex="0" role="region"
            aria-label={ "Attempts at " (op.name) " in " (run.id) } {
            table.attempts {
                // A head makes its cells titles of columns by itself; on thousands of tables, words
                // count.
                thead {
                    tr {
                        @for title in ["#", "From", "Round", "Branch", "Why", "Change", "Verdict"] {
                            th { (title) }
                        }
                        @for baseline in &baselines { th { (baseline) } }
                        @for title in ["Tokens in", "out", "Cost", "Latency", "Judging"] {
                            th { (title) }
                        }
                    }
                }
                tbody {
                    @for attempt in &op.attempts {
                        (row(&baselines, attempt, op.best == Some(attempt.number)))
                    }
                }
            }
        }
    }
}

/// One attempt.
fn row(baselines: &[&String], attempt: &Attempt, is_best: bool) -> Markup {
    let parents = attempt.parents.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let spend = &attempt.spend;
    // A call has tokens; where there are none, nobody reported them.
    let tokens = |n: u64| if spend.tokens() == 0 { "–".to_owned() } else { count(n) };
    let cost = cost(spend).unwrap_or_else(|| "unpriced".to_owned());
    let calls =
        [tokens(spend.input_tokens), tokens(spend.output_tokens), cost, seconds(spend.seconds)];
    html! {
        tr class=[is_best.then_some("best")] {
            th scope="row" { (attempt.number) }
            td { (parents) }
            td { (attempt.round) }
            td { (attempt.branch) }
            td { (attempt.purpose) }
            td { (attempt.change.as_deref().unwrap_or("–")) }
            td class=(if attempt.passed { "good" } else { "bad" }) {
                (if attempt.passed { "✓ " } else { "✗ " }) (attempt.verdict)
                (marks(attempt, is_best))
            }
            @for baseline in baselines {
                td {
                    @if let Some(speedup) = over(attempt, baseline) {
                        (ratio(speedup.shown()))
                        @if let Some(cases) = cases(speedup) { small { (cases) } }
                    } @else { "–" }
                }
            }
            @for cell in calls { td { (if spend.calls == 0 { "–" } else { &cell }) } }
            td { (seconds(attempt.seconds_judging)) }
        }
    }
}

/// How an attempt came about, as tags.
fn marks(attempt: &Attempt, is_best: bool) -> Markup {
    let marks = [
        (is_best, "best"),
        (attempt.replayed, "replayed"),
        (attempt.cached, "cached"),
        (attempt.reused_evaluation, "evaluation reused"),
    ];
    html! {
        @for (_, word) in marks.iter().filter(|(is_so, _)| *is_so) { " " span.tag { (word) } }
        @if let Some(original) = attempt.duplicate_of { " " span.tag { "same as " (original) } }
    }
}
