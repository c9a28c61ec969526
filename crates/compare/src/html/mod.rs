//! A comparison as one HTML file that needs nothing else: no network, no fonts, no script to be read.
//!
//! Tables are tables and drawings are inline SVG with a name and, where they are made of lines, their
//! numbers beside them. A small script filters and sorts; without it everything is there. Whatever
//! comes from a run is escaped by `markup`, which alone writes it.

mod cell;
mod context;
mod cost;
mod curves;
mod diff;
mod drill;
mod key;
mod markup;
mod number;
mod ops;
mod overall;
mod pairs;
mod plot;
mod speedups;
mod style;
mod texts;

pub use texts::MOST_BYTES;

use crate::{data::Arm, summary::Comparison};
use context::Context;
use markup::Markup;
use style::{SCRIPT, SCRIPT_HASH, STYLE};
use texts::Texts;

/// Letters of a title that names the arms; a longer one counts them.
const MOST_LETTERS: usize = 90;

/// Returns the page of a comparison.
///
/// `comparison`: what came of `arms`, with its arms in the same order. Sources and feedback are shown
/// where `arms` have them, up to [`MOST_BYTES`], those of the best attempts first.
#[must_use]
pub fn page(arms: &[Arm], comparison: &Comparison) -> String {
    let context = Context::new(arms, comparison);
    let texts = Texts::new(&context);
    let mut markup = Markup::with_capacity(1 << 20);
    let title = title(&context);
    markup.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    markup.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    markup.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    markup.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    markup.raw("style-src 'unsafe-inline'; script-src '").raw(SCRIPT_HASH).raw("'\">\n<title>");
    markup.text(&title).raw("</title>\n<style>\n").raw(STYLE).raw("</style>\n</head>\n<body>\n");
    top(&mut markup, &context, &title);
    markup.raw("<main id=\"main\">\n");
    notes(&mut markup, &context);
    overall::section(&mut markup, &context);
    overall::compared(&mut markup, &context);
    curves::section(&mut markup, &context);
    speedups::section(&mut markup, &context);
    cost::section(&mut markup, &context);
    pairs::section(&mut markup, &context);
    markup.raw("<section id=\"ops\" aria-labelledby=\"ops-h\"><h2 id=\"ops-h\">Ops</h2>\n");
    ops::table(&mut markup, &context);
    drill::section(&mut markup, &context, &texts);
    markup.raw("</section>\n");
    method(&mut markup, &context);
    markup.raw("</main>\n<script>").raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
    markup.into_string()
}

/// What is compared, in a line: `repair and beam on 48 ops`.
fn title(context: &Context<'_>) -> String {
    let arms = &context.comparison.arms;
    let n_ops = context.comparison.ops.len();
    let ops = if n_ops == 1 { "1 op".to_owned() } else { format!("{n_ops} ops") };
    let names: Vec<&str> = context.keys.iter().map(|key| key.own.as_str()).collect();
    let line = match names.as_slice() {
        [] => format!("Nothing on {ops}"),
        [only] => format!("{only} on {ops}"),
        [first @ .., last] => format!("{} and {last} on {ops}", first.join(", ")),
    };
    if line.chars().count() <= MOST_LETTERS {
        line
    } else {
        format!("{} arms on {ops}", arms.len())
    }
}

/// Writes the title and the way to the sections.
fn top(markup: &mut Markup, context: &Context<'_>, title: &str) {
    markup.raw("<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n");
    markup.raw("<p class=\"eyebrow\">kgen compare</p>\n<h1>").text(title).raw("</h1>\n");
    markup.raw("<nav aria-label=\"Sections\"><ul>\n");
    let timed = !context.measured().is_empty();
    let paired = !context.comparison.pairs.is_empty();
    for (is_there, link) in [
        (true, "<li><a href=\"#overall\">Overall</a>\n"),
        (true, "<li><a href=\"#arms\">Arms</a>\n"),
        (true, "<li><a href=\"#curves\">By attempt</a>\n"),
        (timed, "<li><a href=\"#speedups\">Speedups</a>\n"),
        (true, "<li><a href=\"#cost\">Cost</a>\n"),
        (paired, "<li><a href=\"#pairs\">Tests</a>\n"),
        (true, "<li><a href=\"#ops\">Ops</a>\n"),
        (true, "<li><a href=\"#method\">Method</a>\n"),
    ] {
        if is_there {
            markup.raw(link);
        }
    }
    markup.raw("</ul></nav>\n</header>\n");
}

/// Writes what to know before believing the numbers.
fn notes(markup: &mut Markup, context: &Context<'_>) {
    if context.comparison.notes.is_empty() {
        return;
    }
    markup.raw("<aside aria-label=\"Before you read the numbers\"><ul>\n");
    for note in &context.comparison.notes {
        markup.raw("<li>").text(note).raw("\n");
    }
    markup.raw("</ul></aside>\n");
}

/// Writes how the numbers were made.
fn method(markup: &mut Markup, context: &Context<'_>) {
    markup.raw("<section id=\"method\" aria-labelledby=\"method-h\"><h2 id=\"method-h\">Method</h2>\n<ul>\n");
    for sentence in &context.comparison.method {
        markup.raw("<li>").text(sentence).raw("\n");
    }
    markup.raw("</ul></section>\n");
}
