//! The tables over all ops: the figures of each arm, every baseline beside the others, and the
//! settings that set the arms apart.

use maud::{Markup, PreEscaped, html};

use super::{
    cell::{self, Column, Unit},
    context::{Context, Measured, speeds_of},
    key::Key,
    number::{cost, count, seconds, usd},
    section as framed,
};
use crate::summary::{ArmSummary, FACTORS, Speed};

/// Columns of the overall table.
const COLUMNS: [Column; 10] = [
    cell::text("Arm", ""),
    cell::number("Correct", "Share of the samples that are solved"),
    cell::number("fast<sub>0.8</sub>", "Share that is correct and more than 0.8 times as fast"),
    cell::number("fast<sub>1</sub>", "Share that is correct and faster than the baseline"),
    cell::number("fast<sub>1.5</sub>", "Share that is correct and more than 1.5 times as fast"),
    cell::number("fast<sub>2</sub>", "Share that is correct and more than twice as fast"),
    cell::number("Geomean", "Geometric mean of the speedups of solved ops"),
    cell::number("Median", "Median of the speedups of solved ops"),
    cell::number("Cost per solved op", "US dollars of all calls over solved samples"),
    cell::number("Attempts to correct", "Attempts until the first that passed, where one did"),
];

/// The section.
pub(crate) fn section(context: &Context<'_>) -> Markup {
    let title = match context.primary() {
        Some(baseline) => {
            format!("Speedups over {baseline}, without the cases that launch overhead dominates")
        }
        None => "Nothing was timed".to_owned(),
    };
    let mut gpus = context.measured();
    gpus.retain(|(baseline, _)| Some(*baseline) == context.primary());
    let rows = html! {
        @for (key, arm) in context.summaries() {
            @let on: Vec<_> = gpus.iter().filter(|on| speeds_of(arm, **on).is_some()).collect();
            @if on.is_empty() { (row(key, arm, None)) }
            @for on in on { (row(key, arm, Some(*on))) }
        }
    };
    framed(
        "overall",
        "Overall",
        html! {
            (cell::table("numbers sortable arms", &title, cell::head(&COLUMNS), rows))
            p.note {
                "Small: the 95 % interval, or the number of ops where they are too few for one. "
                "What is not solved counts as not fast."
            }
            (baselines(context))
        },
    )
}

/// The figures of one arm, on one GPU if it was timed.
fn row(key: &Key, arm: &ArmSummary, about: Option<Measured<'_>>) -> Markup {
    let devices = arm.devices.join(", ");
    let device = about.and_then(|(_, gpu)| gpu).unwrap_or(&devices);
    let speed = about.and_then(|about| speeds_of(arm, about)).map(|speeds| &speeds.long);
    html! {
        tr {
            th scope="row" data-v=(key.letter) {
                (key.named())
                small.own { (device) }
                span.own { @for word in arm.marks.words() { " " span.tag { (word) } } }
            }
            (cell::estimate(arm.correct.as_ref(), Unit::Share))
            (speed_cells(speed))
            (cost_per_solved(arm))
            @match &arm.attempts_to_correct {
                None => (cell::none("nothing solved")),
                attempts => (cell::estimate(attempts.as_ref(), Unit::Plain)),
            }
        }
    }
}

/// Shares of fast ops, geometric mean and median.
pub(crate) fn speed_cells(speed: Option<&Speed>) -> Markup {
    html! {
        @for at in 0..FACTORS.len() {
            @let share = speed.and_then(|speed| speed.fast.get(at)?.share);
            (cell::estimate(share.as_ref(), Unit::Share))
        }
        (cell::estimate(speed.and_then(|speed| speed.geomean.as_ref()), Unit::Times))
        (cell::estimate(speed.and_then(|speed| speed.median.as_ref()), Unit::Times))
    }
}

/// The cost per solved op, or why there is none.
fn cost_per_solved(arm: &ArmSummary) -> Markup {
    let spend = &arm.spend;
    match &arm.cost_per_solved {
        cost @ Some(_) if spend.is_at_most() => cell::estimate(cost.as_ref(), Unit::UsdAtMost),
        cost @ Some(_) => cell::estimate(cost.as_ref(), Unit::Usd),
        None if spend.calls == 0 => cell::none("no calls"),
        None if !spend.is_paid() => cell::none("nothing was paid"),
        None if 0 < spend.unpriced => cell::none("unpriced"),
        None => cell::none("nothing solved"),
    }
}

/// Every baseline beside the others, with and without the cases that overhead dominates.
fn baselines(context: &Context<'_>) -> Markup {
    let measured = context.measured();
    if measured.is_empty() {
        return Markup::default();
    }
    let head = html! {
        tr {
            th rowspan="2" scope="col" { "Arm" }
            th.text rowspan="2" scope="col" { "Cases" }
            @for (baseline, gpu) in &measured {
                th.group colspan="6" scope="colgroup" {
                    (baseline) @if let Some(gpu) = gpu { " " small { (gpu) } }
                }
            }
        }
        tr {
            @for _ in &measured {
                @for (at, column) in COLUMNS[2..8].iter().enumerate() {
                    th scope="col" class=[(at == 0).then_some("group")] {
                        (PreEscaped(column.title))
                    }
                }
            }
        }
    };
    let row = |key: &Key, arm: &ArmSummary, cases: &str| {
        html! {
            tr {
                th scope="row" { (key.named()) }
                td.text { (cases) }
                @for about in &measured {
                    @match speeds_of(arm, *about) {
                        Some(speeds) if cases == "long" => (speed_cells(Some(&speeds.long))),
                        Some(speeds) => (speed_cells(Some(&speeds.all))),
                        None => td.none colspan="6" { "not measured" },
                    }
                }
            }
        }
    };
    let rows = html! {
        @for (key, arm) in context.summaries() { (row(key, arm, "long")) (row(key, arm, "all")) }
    };
    let title = "Every baseline; long: without the cases that launch overhead dominates";
    html! { (cell::table("numbers grouped arms", title, head, rows)) (unmeasured(context)) }
}

/// Of how many solved ops a baseline has no time.
fn unmeasured(context: &Context<'_>) -> Markup {
    html! {
        @for (key, arm) in context.summaries() {
            @for speeds in arm.speeds.iter().filter(|speeds| 0 < speeds.all.n_unmeasured) {
                p.note {
                    (key.letter) ": " (speeds.all.n_unmeasured)
                    " solved and not measured against " (speeds.baseline)
                    "; left out of these numbers."
                }
            }
        }
    }
}

/// The arms: the settings that differ beside each other, their runs, their totals.
pub(crate) fn compared(context: &Context<'_>) -> Markup {
    let differing = &context.comparison.differing;
    let totals_of = [
        "Attempts",
        "Calls",
        "Input tokens",
        "Cached",
        "Output tokens",
        "Reasoning",
        "Latency",
        "Cost",
    ];
    let head = html! {
        tr {
            th scope="col" { "Arm" }
            @for name in differing { th.text scope="col" { (name) } }
            @for title in totals_of { th scope="col" { (title) } }
        }
    };
    let rows = html! {
        @for (key, arm) in context.summaries() {
            tr {
                th scope="row" data-v=(key.letter) { (key.named()) }
                @for fact in differing {
                    td.text { (arm.fact(fact).unwrap_or("–")) }
                }
                (totals(arm))
            }
        }
    };
    framed(
        "arms",
        "What is compared",
        html! {
            (cell::table("numbers arms", "Arms, what they differ in, and what they used", head, rows))
            (settings(context, differing))
        },
    )
}

/// The totals of all calls of an arm.
fn totals(arm: &ArmSummary) -> Markup {
    let spend = &arm.spend;
    let tokens =
        [spend.input_tokens, spend.cache_read_tokens, spend.output_tokens, spend.reasoning_tokens];
    let some_unreported = 0 < spend.unreported && spend.unreported < spend.calls;
    let after = html! {
        @if 0 < spend.lost_calls { small { (spend.lost_calls) " calls lost" } }
        @if some_unreported { small { (spend.unreported) " calls without usage" } }
    };
    html! {
        td { (count(arm.n_attempts as u64)) }
        td { (count(spend.calls)) }
        // A call has tokens; where there are none, nobody reported them.
        @for tokens in tokens {
            @if spend.tokens() == 0 { (cell::none("–")) } @else { td { (count(tokens)) } }
        }
        td { (seconds(spend.seconds)) }
        @match cost(spend) {
            Some(cost) => td class=[(!spend.is_paid()).then_some("none")] { (cost) (after) },
            None if spend.unpriced == spend.calls => td.none { "unpriced" (after) },
            None => td {
                (usd(spend.usd)) small { "and " (spend.unpriced) " calls unpriced" } (after)
            },
        }
    }
}

/// The settings that all arms have in common, and their runs.
fn settings(context: &Context<'_>, differing: &[String]) -> Markup {
    let facts = context.comparison.arms.first().map_or(&[][..], |arm| &arm.facts);
    let common: Vec<_> = facts.iter().filter(|(name, _)| !differing.contains(name)).collect();
    html! {
        details {
            summary { "Settings in common, and the runs" }
            @if !common.is_empty() {
                dl.facts {
                    @for (name, value) in common { div { dt { (name) } dd { (value) } } }
                }
            }
            ul.runs {
                @for (key, arm) in context.keys.iter().zip(context.arms) {
                    @for run in &arm.runs {
                        li {
                            (key.letter) " " code { (run.id) } ", " (run.device)
                            @for (name, value) in &run.facts { ", " (name) " " (value) }
                            @if !run.finished { ", not finished" }
                        }
                    }
                }
            }
        }
    }
}
