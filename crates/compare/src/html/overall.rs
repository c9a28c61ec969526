//! The tables over all ops: what each arm came to, every baseline beside the others, and what sets
//! the arms apart.

use super::{
    cell::{self, Column, Unit},
    context::{Context, speeds_of},
    drill::seconds,
    key::Key,
    markup::Markup,
    number::{Cost, Count, Usd},
};
use crate::data::Spend;
use crate::summary::{ArmSummary, Speed};

/// Columns of the overall table, with what they mean.
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

/// Writes the section.
pub(crate) fn section(markup: &mut Markup, context: &Context<'_>) {
    markup.raw("<section id=\"overall\" aria-labelledby=\"overall-h\">");
    markup.raw("<h2 id=\"overall-h\">Overall</h2>\n");
    let title = match context.primary() {
        Some(baseline) => {
            format!("Speedups over {baseline}, without the cases that launch overhead dominates")
        }
        None => "Nothing was timed".to_owned(),
    };
    cell::open_table(markup, "numbers sortable", &title);
    cell::head(markup, &COLUMNS);
    markup.raw("<tbody>\n");
    let gpus: Vec<_> = context
        .measured()
        .into_iter()
        .filter(|(baseline, _)| Some(*baseline) == context.primary())
        .collect();
    for (key, arm) in context.summaries() {
        let measured: Vec<_> =
            gpus.iter().filter(|about| speeds_of(arm, **about).is_some()).collect();
        if measured.is_empty() {
            row(markup, key, arm, None);
        }
        for about in measured {
            row(markup, key, arm, Some(*about));
        }
    }
    markup.raw("</tbody>");
    cell::close_table(markup);
    markup.raw(
        "<p class=\"note\">Small: the 95 % interval, or the number of ops where they are too ",
    );
    markup.raw("few for one. What is not solved counts as not fast.</p>\n");
    baselines(markup, context);
    markup.raw("</section>\n");
}

/// Writes what one arm came to, on one GPU if it was timed.
fn row(markup: &mut Markup, key: &Key, arm: &ArmSummary, about: Option<(&str, Option<&str>)>) {
    markup.raw("<tr>");
    name(markup, key, arm);
    let devices = arm.devices.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let device = about.and_then(|(_, gpu)| gpu).unwrap_or(&devices);
    markup.raw("<small>").text(arm.runs.len()).raw(if arm.runs.len() == 1 {
        " run, "
    } else {
        " runs, "
    });
    markup.text(Count(arm.n_ops as u64)).raw(if arm.n_ops == 1 { " op, " } else { " ops, " });
    markup.text(device).raw("</small>");
    for word in arm.marks.words() {
        markup.raw(" <span class=\"tag\">").text(word).raw("</span>");
    }
    markup.raw("</th>");
    cell::estimate(markup, arm.correct.as_ref(), Unit::Share);
    let speed = about.and_then(|about| speeds_of(arm, about)).map(|speeds| &speeds.long);
    speed_cells(markup, speed);
    cost(markup, arm);
    match &arm.attempts_to_correct {
        Some(attempts) => cell::estimate(markup, Some(attempts), Unit::Plain),
        None => _ = markup.raw("<td class=\"none\">nothing solved"),
    }
    markup.raw("</tr>\n");
}

/// Opens the head of a row with the arm's letter, mark and name.
pub(crate) fn name(markup: &mut Markup, key: &Key, arm: &ArmSummary) {
    markup.raw("<th scope=\"row\"").attr("data-v", &arm.name).raw(">");
    swatch(markup, key);
    markup.text(&arm.name);
}

/// Writes an arm's letter with its mark in its colour.
pub(crate) fn swatch(markup: &mut Markup, key: &Key) {
    markup.raw("<span").attr("class", format_args!("key {}", key.class()));
    markup.raw("><svg viewBox=\"-5 -5 10 10\" aria-hidden=\"true\"><path class=\"mark\"");
    markup.attr("d", key.mark()).raw("/></svg>").text(&key.letter).raw("</span> ");
}

/// Writes shares of fast ops, geometric mean and median.
fn speed_cells(markup: &mut Markup, speed: Option<&Speed>) {
    for at in 0..crate::summary::FACTORS.len() {
        let share = speed.and_then(|speed| speed.fast.get(at)?.share);
        cell::estimate(markup, share.as_ref(), Unit::Share);
    }
    cell::estimate(markup, speed.and_then(|speed| speed.geomean.as_ref()), Unit::Times);
    cell::estimate(markup, speed.and_then(|speed| speed.median.as_ref()), Unit::Times);
}

/// Writes the cost per solved op, or why there is none.
fn cost(markup: &mut Markup, arm: &ArmSummary) {
    if let Some(cost) = &arm.cost_per_solved {
        let unit = if arm.spend.is_at_most() { Unit::UsdAtMost } else { Unit::Usd };
        cell::estimate(markup, Some(cost), unit);
    } else if arm.spend.calls == 0 {
        markup.raw("<td class=\"none\">no calls");
    } else if !arm.spend.is_paid() {
        markup.raw("<td class=\"none\">nothing was paid");
    } else if 0 < arm.spend.unpriced {
        markup.raw("<td class=\"none\">unpriced");
    } else {
        markup.raw("<td class=\"none\">nothing solved");
    }
}

/// Writes every baseline beside the others, with and without the cases that overhead dominates.
fn baselines(markup: &mut Markup, context: &Context<'_>) {
    let measured = context.measured();
    if measured.is_empty() {
        return;
    }
    let title = "Every baseline; long: without the cases that launch overhead dominates";
    cell::open_table(markup, "numbers grouped", title);
    markup.raw("<thead><tr><th rowspan=\"2\" scope=\"col\">Arm<th rowspan=\"2\" ");
    markup.raw("scope=\"col\" class=\"text\">Cases");
    for (baseline, gpu) in &measured {
        markup.raw("<th colspan=\"6\" scope=\"colgroup\" class=\"group\">").text(baseline);
        if let Some(gpu) = gpu {
            markup.raw(" <small>").text(gpu).raw("</small>");
        }
    }
    markup.raw("<tr>");
    for _ in &measured {
        markup.raw("<th scope=\"col\" class=\"group\">fast<sub>0.8</sub>");
        markup.raw("<th scope=\"col\">fast<sub>1</sub><th scope=\"col\">fast<sub>1.5</sub>");
        markup.raw("<th scope=\"col\">fast<sub>2</sub>");
        markup.raw("<th scope=\"col\">Geomean<th scope=\"col\">Median");
    }
    markup.raw("</thead>\n<tbody>\n");
    for (key, arm) in context.summaries() {
        for (without, cases) in [(true, "long"), (false, "all")] {
            markup.raw("<tr><th scope=\"row\"").attr("title", &arm.name).raw(">");
            swatch(markup, key);
            markup.text(&key.own).raw("<td class=\"text\">").raw(cases);
            for about in &measured {
                let speeds = speeds_of(arm, *about);
                match speeds {
                    Some(speeds) if without => speed_cells(markup, Some(&speeds.long)),
                    Some(speeds) => speed_cells(markup, Some(&speeds.all)),
                    None => _ = markup.raw("<td colspan=\"6\" class=\"none\">not measured"),
                }
            }
            markup.raw("\n");
        }
    }
    markup.raw("</tbody>");
    cell::close_table(markup);
    unmeasured(markup, context);
}

/// Says of how many solved ops a baseline has no time.
fn unmeasured(markup: &mut Markup, context: &Context<'_>) {
    for (key, arm) in context.summaries() {
        for speeds in arm.speeds.iter().filter(|speeds| 0 < speeds.all.n_unmeasured) {
            markup.raw("<p class=\"note\">").text(&key.letter).raw(": ");
            markup.text(speeds.all.n_unmeasured).raw(" solved and not measured against ");
            markup.text(&speeds.baseline).raw("; left out of these numbers.</p>");
        }
    }
}

/// Writes what the arms are: the settings that differ beside each other, their runs, their totals.
pub(crate) fn compared(markup: &mut Markup, context: &Context<'_>) {
    let differing = differing(context);
    markup.raw("<section id=\"arms\" aria-labelledby=\"arms-h\"><h2 id=\"arms-h\">");
    markup.raw("What is compared</h2>\n");
    cell::open_table(markup, "numbers", "Arms, what they differ in, and what they used");
    markup.raw("<thead><tr><th scope=\"col\">Arm");
    for name in &differing {
        markup.raw("<th scope=\"col\" class=\"text\">").text(name);
    }
    for title in [
        "Attempts",
        "Calls",
        "Input tokens",
        "Cached",
        "Output tokens",
        "Reasoning",
        "Latency",
        "Cost",
    ] {
        markup.raw("<th scope=\"col\">").text(title);
    }
    markup.raw("</thead>\n<tbody>\n");
    for (key, arm) in context.summaries() {
        markup.raw("<tr>");
        name(markup, key, arm);
        markup.raw("</th>");
        for fact in &differing {
            markup.raw("<td class=\"text\">").text(fact_of(&arm.facts, fact).unwrap_or("–"));
        }
        totals(markup, arm);
        markup.raw("\n");
    }
    markup.raw("</tbody>");
    cell::close_table(markup);
    settings(markup, context, &differing);
    markup.raw("</section>\n");
}

/// Writes what all calls of an arm came to.
fn totals(markup: &mut Markup, arm: &ArmSummary) {
    let spend = &arm.spend;
    let Spend { input_tokens, cache_read_tokens, output_tokens, reasoning_tokens, .. } = *spend;
    markup.raw("<td>").text(Count(arm.n_attempts as u64));
    markup.raw("<td>").text(Count(spend.calls));
    for tokens in [input_tokens, cache_read_tokens, output_tokens, reasoning_tokens] {
        // A call has tokens; where there are none, nobody told how many.
        if spend.tokens() == 0 {
            markup.raw("<td class=\"none\">–");
        } else {
            markup.raw("<td>").text(Count(tokens));
        }
    }
    markup.raw("<td>");
    seconds(markup, spend.seconds);
    match spend.cost() {
        Some(usd) if spend.is_paid() => {
            markup.raw("<td>").text(Cost { usd, at_most: spend.is_at_most() });
        }
        Some(_) => _ = markup.raw("<td class=\"none\">–"),
        None if spend.unpriced == spend.calls => _ = markup.raw("<td class=\"none\">unpriced"),
        None => {
            markup.raw("<td>").text(Usd(spend.usd)).raw("<small>and ").text(spend.unpriced);
            markup.raw(" calls unpriced</small>");
        }
    }
    if 0 < spend.lost_calls {
        markup.raw("<small>").text(spend.lost_calls).raw(" calls lost</small>");
    }
    if 0 < spend.unreported && spend.unreported < spend.calls {
        markup.raw("<small>").text(spend.unreported).raw(" calls without usage</small>");
    }
}

/// Writes what all arms have in common, and their runs.
fn settings(markup: &mut Markup, context: &Context<'_>, differing: &[&str]) {
    markup.raw("<details><summary>Settings in common, and the runs</summary>");
    let first = context.comparison.arms.first();
    let common: Vec<_> = first
        .into_iter()
        .flat_map(|arm| &arm.facts)
        .filter(|(name, _)| !differing.contains(&name.as_str()))
        .collect();
    if !common.is_empty() {
        markup.raw("<dl class=\"facts\">");
        for (name, value) in common {
            markup.raw("<div><dt>").text(name).raw("<dd>").text(value).raw("</div>");
        }
        markup.raw("</dl>");
    }
    markup.raw("<ul class=\"runs\">\n");
    for (key, arm) in context.keys.iter().zip(context.arms) {
        for run in &arm.runs {
            markup.raw("<li>").text(&key.letter).raw(" <code>").text(&run.id).raw("</code>, ");
            markup.text(&run.device);
            for (name, value) in &run.facts {
                markup.raw(", ").text(name).raw(" ").text(value);
            }
            if !run.finished {
                markup.raw(", not finished");
            }
            markup.raw("\n");
        }
    }
    markup.raw("</ul></details>");
}

/// Names of the settings in which arms differ, in the order of the first arm that has them.
fn differing<'a>(context: &'a Context<'_>) -> Vec<&'a str> {
    let arms = &context.comparison.arms;
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in arms.iter().flat_map(|arm| &arm.facts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.retain(|name| {
        let mut values = arms.iter().map(|arm| fact_of(&arm.facts, name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    });
    names
}

/// The value of a setting.
fn fact_of<'a>(facts: &'a [(String, String)], name: &str) -> Option<&'a str> {
    facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1.as_str())
}
