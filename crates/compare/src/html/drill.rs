//! What lies behind a row of the table of ops: every attempt, what it was made from, what changed,
//! and what the model was told.

use std::collections::HashMap;

use super::{
    cell,
    context::Context,
    markup::Markup,
    number::{Cost, Count, Plain, Seconds, Times},
    ops::outcome,
    overall::swatch,
    texts::{AttemptKey, Texts},
};
use crate::{
    data::{Attempt, Op, Run, Speedup},
    summary::OpRow,
};

/// Attempts that get a row at most; of larger comparisons, the last ones are left out.
const MOST_ROWS: usize = 20_000;

/// An op in one run of one arm.
struct Sample<'a> {
    arm: usize,
    run: usize,
    op: &'a Op,
}

/// Writes everything behind the ops.
pub(crate) fn section<'a>(markup: &mut Markup, context: &Context<'a>, texts: &Texts<'a>) {
    let mut samples: HashMap<&str, Vec<Sample<'a>>> = HashMap::new();
    for (arm, runs) in context.arms.iter().map(|arm| &arm.runs).enumerate() {
        for (run, ops) in runs.iter().map(|run| &run.ops).enumerate() {
            for op in ops {
                samples.entry(&op.name).or_default().push(Sample { arm, run, op });
            }
        }
    }
    markup.raw("<h3>Attempts</h3>\n");
    let mut rows_left = MOST_ROWS;
    for (index, row) in context.comparison.ops.iter().enumerate() {
        markup.raw("<details class=\"op\"").attr("data-op", &row.op).raw("><summary><b>");
        markup.text(&row.op).raw("</b>");
        outcomes(markup, context, row);
        markup.raw("</summary><div").attr("id", format_args!("op-{index}")).raw(">\n");
        let mut arm_before = None;
        for sample in samples.get(row.op.as_str()).into_iter().flatten() {
            if arm_before != Some(sample.arm) {
                arm_before = Some(sample.arm);
                markup.raw("<h4>");
                swatch(markup, &context.keys[sample.arm]);
                markup.text(&context.arms[sample.arm].name).raw("</h4>\n");
            }
            one_sample(markup, context, texts, sample, &mut rows_left);
        }
        markup.raw("</div></details>\n");
    }
    let left_out = texts.left_out();
    if 0 < left_out {
        markup.raw(
            "<p class=\"note\" id=\"left-out\">To keep this page small, sources and feedback of ",
        );
        markup
            .text(Count(left_out as u64))
            .raw(" attempts are left out; the run directories have them.</p>");
    }
}

/// Writes in a few words what each arm came to.
fn outcomes(markup: &mut Markup, context: &Context<'_>, row: &OpRow) {
    for (key, cell) in context.keys.iter().zip(&row.cells) {
        let Some(cell) = cell else { continue };
        let primary =
            cell.speedups.iter().find(|speedup| Some(&*speedup.baseline) == context.primary());
        markup.raw(" <span class=\"outcome\"><b").attr("class", key.class()).raw(">");
        markup.text(&key.letter).raw("</b> ");
        outcome(markup, cell, primary);
        markup.raw("</span>");
    }
}

/// Writes what one run did about an op.
fn one_sample<'a>(
    markup: &mut Markup,
    context: &Context<'a>,
    texts: &Texts<'a>,
    sample: &Sample<'a>,
    rows_left: &mut usize,
) {
    let run = &context.arms[sample.arm].runs[sample.run];
    reported(markup, run, sample.op);
    if sample.op.attempts.is_empty() {
        return;
    }
    if *rows_left < sample.op.attempts.len() {
        markup.raw("<p class=\"note\">").text(sample.op.attempts.len());
        markup.raw(" attempts are left out to keep this page small.</p>");
        return;
    }
    *rows_left -= sample.op.attempts.len();
    table(markup, context, run, sample.op);
    for (attempt, _) in sample.op.attempts.iter().enumerate() {
        let place = AttemptKey { arm: sample.arm, run: sample.run, op: &sample.op.name, attempt };
        if let Some(text) = texts.get(&place) {
            markup.append(text);
        }
    }
}

/// Writes what is reported of an op: its best attempt, and the speedups that were measured again.
fn reported(markup: &mut Markup, run: &Run, op: &Op) {
    markup.raw("<p class=\"run\"><code>").text(&run.id).raw("</code> · ");
    match op.best {
        None if op.attempts.is_empty() => _ = markup.raw("not reached"),
        None => _ = markup.raw("no attempt to report"),
        Some(best) if op.solved => {
            markup.raw("attempt ").text(best).raw(if op.confirmed {
                ", confirmed with fresh seeds"
            } else {
                " passed, not confirmed"
            });
        }
        Some(best) => _ = markup.raw("not solved; furthest was attempt ").text(best),
    }
    match &op.gpu {
        Some(gpu) => _ = markup.raw(" · ").text(gpu),
        None if op.attempts.is_empty() => {}
        None => _ = markup.raw(" · emulator only"),
    }
    for speedup in &op.speedups {
        markup.raw(" · ").text(&speedup.baseline).raw(" ");
        markup.text(Times(speedup.long.unwrap_or(speedup.all)));
        let mut said = Vec::new();
        if let Some([low, high]) = speedup.interval {
            said.push(format!("99 %: {}–{}", Plain(low), Plain(high)));
        }
        said.extend(cases(speedup));
        if !said.is_empty() {
            markup.raw(" <small>(").text(said.join("; ")).raw(")</small>");
        }
    }
    markup.raw("</p>\n");
}

/// What a speedup is with the cases that launch overhead dominates, where there are any.
fn cases(speedup: &Speedup) -> Option<String> {
    match speedup.long {
        Some(_) if speedup.n_overhead == 0 => None,
        Some(_) => Some(format!("all cases {}", Times(speedup.all))),
        None => Some("overhead only".to_owned()),
    }
}

/// Writes a speedup, and below it what [`cases`] says.
fn with_and_without(markup: &mut Markup, speedup: &Speedup) {
    markup.text(Times(speedup.long.unwrap_or(speedup.all)));
    if let Some(said) = cases(speedup) {
        markup.raw("<small>").text(said).raw("</small>");
    }
}

/// Writes the attempts of one op in one run.
fn table(markup: &mut Markup, context: &Context<'_>, run: &Run, op: &Op) {
    let baselines: Vec<&str> = context
        .comparison
        .baselines
        .iter()
        .map(String::as_str)
        .filter(|name| op.attempts.iter().any(|attempt| of(attempt, name).is_some()))
        .collect();
    let title = format!("Attempts at {} in {}", op.name, run.id);
    markup.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"").attr("aria-label", &title);
    markup.raw("><table class=\"attempts\"><thead><tr><th>#");
    // A head makes its cells titles of columns by itself; on thousands of tables, words count.
    markup.raw("<th>From<th>Round<th>Branch<th>Why<th>Change<th>Verdict");
    for baseline in &baselines {
        markup.raw("<th>").text(baseline);
    }
    markup.raw("<th>Tokens in<th>out<th>Cost<th>Latency<th>Judging</thead><tbody>\n");
    for attempt in &op.attempts {
        row(markup, &baselines, attempt, op.best == Some(attempt.number));
    }
    markup.raw("</tbody>");
    cell::close_table(markup);
}

fn of<'a>(attempt: &'a Attempt, baseline: &str) -> Option<&'a Speedup> {
    attempt.speedups.iter().find(|speedup| speedup.baseline == baseline)
}

/// Writes one attempt.
fn row(markup: &mut Markup, baselines: &[&str], attempt: &Attempt, is_best: bool) {
    markup.raw(if is_best {
        "<tr class=\"best\"><th scope=\"row\">"
    } else {
        "<tr><th scope=\"row\">"
    });
    markup.text(attempt.number).raw("<td>");
    for (at, parent) in attempt.parents.iter().enumerate() {
        markup.raw(if at == 0 { "" } else { ", " }).text(parent);
    }
    markup.raw("<td>").text(attempt.round).raw("<td>").text(attempt.branch);
    markup.raw("<td>").text(&attempt.purpose);
    markup.raw("<td>").text(attempt.change.as_deref().unwrap_or("–"));
    markup.raw(if attempt.passed { "<td class=\"good\">✓ " } else { "<td class=\"bad\">✗ " });
    markup.text(&attempt.verdict);
    marks(markup, attempt, is_best);
    for baseline in baselines {
        markup.raw("<td>");
        match of(attempt, baseline) {
            Some(speedup) => with_and_without(markup, speedup),
            None => _ = markup.raw("–"),
        }
    }
    spend(markup, attempt);
    markup.raw("\n");
}

/// Writes how an attempt came about, as tags.
fn marks(markup: &mut Markup, attempt: &Attempt, is_best: bool) {
    let marks = [
        (is_best, "best"),
        (attempt.replayed, "replayed"),
        (attempt.cached, "cached"),
        (attempt.reused_evaluation, "evaluation reused"),
    ];
    for (_, word) in marks.iter().filter(|(is_so, _)| *is_so) {
        markup.raw(" <span class=\"tag\">").raw(word).raw("</span>");
    }
    if let Some(original) = attempt.duplicate_of {
        markup.raw(" <span class=\"tag\">same as ").text(original).raw("</span>");
    }
}

/// Writes what the calls of an attempt came to, and how long it was judged.
fn spend(markup: &mut Markup, attempt: &Attempt) {
    let spend = &attempt.spend;
    if spend.calls == 0 {
        markup.raw("<td>–<td>–<td>–<td>–");
    } else {
        // A call has tokens; where there are none, nobody told how many.
        if spend.tokens() == 0 {
            markup.raw("<td>–<td>–");
        } else {
            markup.raw("<td>").text(Count(spend.input_tokens));
            markup.raw("<td>").text(Count(spend.output_tokens));
        }
        markup.raw("<td>");
        match spend.cost() {
            Some(_) if !spend.is_paid() => _ = markup.raw("–"),
            Some(usd) => _ = markup.text(Cost { usd, at_most: spend.is_at_most() }),
            None => _ = markup.raw("unpriced"),
        }
        markup.raw("<td>");
        seconds(markup, spend.seconds);
    }
    markup.raw("<td>");
    seconds(markup, attempt.seconds_judging);
}

/// Writes a time, or that it was not taken.
pub(crate) fn seconds(markup: &mut Markup, seconds: f64) {
    if 0.0 < seconds {
        markup.text(Seconds(seconds));
    } else {
        markup.raw("–");
    }
}
