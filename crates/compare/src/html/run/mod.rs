//! One run as a page: speedups, roofline, attempts over time, and behind every op its times, sources,
//! differences and feedback.

mod bars;
mod roofline;
mod samples;
mod table;
mod timeline;
pub(crate) mod times;

use maud::{Markup, PreEscaped, html};

use super::{
    cell::{self, Unit},
    context::Context,
    drill,
    frame::{Frame, SCRIPTS, document, section as framed},
    list, notes,
    number::{cost, count, seconds, usd},
    overall::speed_cells,
    texts::Texts,
};
use crate::{
    compare,
    data::{Arm, Run},
    summary::{ArmSummary, Speeds},
};

/// How the numbers were made, in sentences.
const METHOD: [&str; 5] = [
    "A speedup is the time of a baseline over that of the kernel, from samples taken in turn; over several \
     cases it is their geometric mean, without the cases that launch overhead dominates.",
    "Intervals of speedups are 99 %, from the samples of the cases. Those of shares and of means over ops \
     are 95 %, from resampling ops; none is given for fewer than five ops.",
    "Where the best attempt was measured again in fresh processes, its times are those, because it was \
     chosen for its first ones.",
    "fast_p is the share of all ops that are correct and more than p times as fast as the baseline. An op \
     that is not solved, or was not reached, counts as not correct and not fast.",
    "A floor is the least time in which this GPU can move the bytes of a case, or do its arithmetic, at the \
     peaks that were measured on it.",
];

/// Returns the page of a run.
///
/// `arm`: the run, alone, with its settings. Sources and feedback are shown where it has them, up to
/// [`super::MOST_BYTES`], those of the best attempts first; a run without times is "not measured".
#[must_use]
pub fn page(arm: &Arm) -> String {
    let arms = std::slice::from_ref(arm);
    let comparison = compare(arms);
    let context = Context::of_run(arms, &comparison);
    let texts = Texts::new(&context);
    let Some(run) = arm.runs.first() else {
        return document(&frame("No run"), &[], &Markup::default());
    };
    let has_roofline = roofline::has_points(run);
    let parts = [
        (true, "overall", "Overall"),
        (true, "speedups", "Speedups"),
        (has_roofline, "roofline", "Roofline"),
        (true, "timeline", "Attempts over time"),
        (true, "ops", "Ops"),
        (true, "method", "Method"),
    ];
    let method = METHOD.map(str::to_owned);
    let body = html! {
        (notes(&comparison.notes))
        @for summary in &comparison.arms { (overall(&context, summary, run)) }
        (bars::section(&context, run))
        (roofline::section(run))
        (timeline::section(run))
        (framed("ops", "Ops", html! {
            (table::ops(&context, run))
            (drill::attempts(&context, &texts))
        }))
        (framed("method", "Method", list(&method)))
    };
    document(&frame(&title(run)), &parts, &body)
}

fn frame(title: &str) -> Frame<'_> {
    Frame { command: "kgen report", title, style: "", scripts: SCRIPTS }
}

/// The title: `run_20261124: 2 of 3 ops solved`.
fn title(run: &Run) -> String {
    let solved = run.ops.iter().filter(|op| op.solved).count();
    let ops = if run.ops.len() == 1 { "op" } else { "ops" };
    format!("{}: {solved} of {} {ops} solved", run.id, run.ops.len())
}

/// The figures of the run, and its settings.
fn overall(context: &Context<'_>, summary: &ArmSummary, run: &Run) -> Markup {
    let spend = &summary.spend;
    let judged = run.ops.iter().flat_map(|op| &op.attempts).map(|one| one.seconds_judging).sum();
    let device = if run.emulated {
        format!("emulator only, for {}", run.device)
    } else {
        run.device.clone()
    };
    let mut facts = vec![
        ("Device", device),
        ("Attempts", count(summary.n_attempts as u64)),
        ("LLM calls", count(spend.calls)),
    ];
    if 0 < spend.tokens() {
        let (input, output) = (count(spend.input_tokens), count(spend.output_tokens));
        facts.push(("Tokens", format!("{input} in, {output} out")));
    }
    facts.push(("Cost", cost(spend).unwrap_or_else(|| "unpriced".to_owned())));
    if let Some(per_op) = summary.cost_per_solved.filter(|_| spend.is_paid()) {
        facts.push(("Cost per solved op", usd(per_op.value)));
    }
    facts.push(("Waiting for replies", seconds(spend.seconds)));
    facts.push(("Judging", seconds(judged)));
    framed(
        "overall",
        "Overall",
        html! {
            dl.facts {
                div { dt { "Solved" } dd { (summary.n_solved) " of " (run.ops.len()) " ops" } }
                @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
                @for word in summary.marks.words() { div { dt { "Note" } dd { (word) } } }
            }
            (scores(context, summary))
            (settings(context, run))
        },
    )
}

/// The scores over every baseline.
fn scores(context: &Context<'_>, summary: &ArmSummary) -> Markup {
    if summary.speeds.is_empty() {
        return html! { p { "Speedup: not measured." } };
    }
    let titles = [
        "fast<sub>0.8</sub>",
        "fast<sub>1</sub>",
        "fast<sub>1.5</sub>",
        "fast<sub>2</sub>",
        "Geomean",
        "Median",
    ];
    let head = html! {
        tr {
            th scope="col" { "Over" }
            @for title in titles { th scope="col" { (PreEscaped(title)) } }
        }
    };
    let row = |speeds: &Speeds| {
        html! {
            tr {
                th scope="row" {
                    (speeds.baseline)
                    @if let Some(gpu) = speeds.gpu.as_ref().filter(|_| 1 < summary.devices.len()) {
                        small { (gpu) }
                    }
                }
                (speed_cells(Some(&speeds.long)))
            }
        }
    };
    let rows = html! { @for speeds in &summary.speeds { (row(speeds)) } };
    let correct = summary.correct.as_ref().map(|correct| Unit::Share.show(correct.value));
    let title = format!(
        "{} of {} ops correct ({}); speedups without the cases that launch overhead dominates",
        summary.n_solved,
        summary.n_samples,
        correct.unwrap_or_else(|| "not measured".to_owned())
    );
    html! {
        (cell::table("numbers", &title, head, rows))
        p.note { "Primary baseline: " (context.primary().unwrap_or("none")) "." }
    }
}

/// The settings, and the notes on the run.
fn settings(context: &Context<'_>, run: &Run) -> Markup {
    let facts = context.arms.iter().flat_map(|arm| &arm.facts).chain(&run.facts);
    html! {
        details {
            summary { "Settings" }
            dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
        }
    }
}
