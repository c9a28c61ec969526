//! The table of ops: every op in every arm.

use super::{
    cell,
    context::Context,
    markup::Markup,
    number::{Cost, Times},
    overall::swatch,
};
use crate::summary::{OpCell, OpSpeedup};

/// Writes the section's table; [`super::drill`] writes what lies behind each row.
pub(crate) fn table(markup: &mut Markup, context: &Context<'_>) {
    markup.raw("<p id=\"filter\" hidden><label>Ops whose name holds <input type=\"search\" ");
    markup.raw("autocomplete=\"off\" spellcheck=\"false\"></label> <output></output></p>\n");
    cell::open_table(markup, "numbers sortable ops", &title(context));
    markup.raw("<thead><tr><th scope=\"col\">Op");
    for (key, arm) in context.summaries() {
        markup.raw("<th scope=\"col\"").attr("title", &arm.name).raw(">");
        swatch(markup, key);
        markup.text(&key.short);
    }
    markup.raw("</thead>\n<tbody>\n");
    for (index, row) in context.comparison.ops.iter().enumerate() {
        markup.raw("<tr><th scope=\"row\"").attr("data-v", &row.op).raw("><a");
        markup.attr("href", format_args!("#op-{index}")).raw(">").text(&row.op).raw("</a>");
        for cell in &row.cells {
            match cell {
                None => _ = markup.raw("<td class=\"none\">–"),
                Some(cell) => op_cell(markup, context, cell),
            }
        }
        markup.raw("\n");
    }
    markup.raw("</tbody>");
    cell::close_table(markup);
}

/// What the cells hold.
fn title(context: &Context<'_>) -> String {
    match context.primary() {
        Some(primary) => format!(
            "Every op in every arm: verdict, speedup over {primary}, attempts (in so many runs), cost"
        ),
        None => "Every op in every arm: verdict, attempts (in so many runs), cost".to_owned(),
    }
}

/// Writes what became of one op in one arm.
fn op_cell(markup: &mut Markup, context: &Context<'_>, cell: &OpCell) {
    let primary =
        cell.speedups.iter().find(|speedup| Some(&*speedup.baseline) == context.primary());
    let rank = match primary {
        Some(speedup) => speedup.long.unwrap_or(speedup.all),
        None if 0 < cell.n_solved => 0.0,
        None => -1.0,
    };
    markup.raw("<td").attr("data-v", rank).raw(">");
    outcome(markup, cell, primary);
    markup.raw("<small>");
    for other in
        cell.speedups.iter().filter(|speedup| Some(&*speedup.baseline) != context.primary())
    {
        markup
            .text(Times(other.long.unwrap_or(other.all)))
            .raw(" ")
            .text(&other.baseline)
            .raw("<br>");
    }
    if 0 < cell.n_attempts {
        markup.text(cell.n_attempts).raw(" att");
        if 1 < cell.marks.of {
            markup.raw(" in ").text(cell.marks.of);
        }
        if let Some(usd) = cell.spend.cost().filter(|_| cell.spend.is_paid()) {
            markup.raw(" · ").text(Cost { usd, at_most: cell.spend.is_at_most() });
        }
    }
    markup.raw("</small>");
}

/// Writes the verdict with the speedup over the primary baseline, in a few words.
pub(crate) fn outcome(markup: &mut Markup, cell: &OpCell, primary: Option<&OpSpeedup>) {
    let n_samples = cell.marks.of;
    if cell.n_solved == 0 {
        let reached = cell.marks.not_reached < n_samples;
        let failure = cell.failure.as_deref().unwrap_or("not solved");
        markup.raw("<span class=\"bad\">✗ ");
        markup.text(if reached { failure } else { "not reached" }).raw("</span>");
        return;
    }
    markup.raw("<span class=\"good\">✓</span>");
    if cell.n_solved < n_samples {
        markup.raw(" ").text(cell.n_solved).raw("/").text(n_samples);
    }
    match primary {
        Some(speedup) => {
            markup.raw(" ").text(Times(speedup.long.unwrap_or(speedup.all)));
            if speedup.long.is_none() {
                markup
                    .raw(" <abbr title=\"Launch overhead dominates all of its cases\">ovh</abbr>");
            }
        }
        None if cell.marks.emulator_only == n_samples => _ = markup.raw(" emulator"),
        None => _ = markup.raw(" untimed"),
    }
}
