//! A comparison, or one run, as one HTML file that needs nothing else: no network, no fonts, no script to
//! be read.
//!
//! Tables are tables and drawings are inline SVG with a name and, where they are made of lines, their
//! numbers beside them. A small script filters and sorts; without it everything is there. `maud`
//! escapes all that comes from a run. Frame, drawings and tables are public for pages of the same look.

pub mod cell;
mod context;
mod cost;
mod curves;
mod diff;
mod drill;
pub mod frame;
pub mod key;
mod legend;
pub mod number;
mod ops;
mod overall;
mod pairs;
pub mod plot;
mod run;
mod speedups;
pub mod style;
mod texts;

use maud::{Markup, html};

pub use run::page as run_page;
pub use texts::MOST_BYTES;

use crate::{data::Arm, summary::Comparison};
use context::Context;
use frame::{Frame, SCRIPTS, document, section};
use texts::Texts;

/// Letters of a title that names the arms; a longer one counts them.
const MOST_LETTERS: usize = 90;

/// Returns the page of a comparison.
///
/// `comparison`: that of `arms`, with its arms in the same order. Sources and feedback are shown
/// where `arms` have them, up to [`MOST_BYTES`], those of the best attempts first.
#[must_use]
pub fn page(arms: &[Arm], comparison: &Comparison) -> String {
    let context = Context::new(arms, comparison);
    let texts = Texts::new(&context);
    let timed = !context.measured().is_empty();
    let paired = !comparison.pairs.is_empty();
    let parts = [
        (true, "overall", "Overall"),
        (true, "arms", "Arms"),
        (true, "curves", "By attempt"),
        (timed, "speedups", "Speedups"),
        (true, "cost", "Cost"),
        (paired, "pairs", "Tests"),
        (true, "ops", "Ops"),
        (true, "method", "Method"),
    ];
    let body = html! {
        (notes(&comparison.notes))
        (legend::legend(&context))
        (overall::section(&context))
        (overall::compared(&context))
        (curves::section(&context))
        (speedups::section(&context))
        (cost::section(&context))
        (pairs::section(&context))
        (section("ops", "Ops", html! {
            (ops::table(&context))
            (drill::attempts(&context, &texts))
        }))
        (section("method", "Method", list(&comparison.method)))
    };
    let title = title(&context);
    document(
        &Frame { command: "kgen compare", title: &title, style: "", scripts: SCRIPTS },
        &parts,
        &body,
    )
}

/// The title: `repair and beam on 48 ops`.
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

/// Notes to read before believing the numbers.
fn notes(lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            aside aria-label="Before you read the numbers" { (list(lines)) }
        }
    }
}

fn list(lines: &[String]) -> Markup {
    html! { ul { @for line in lines { li { (line) } } } }
}
