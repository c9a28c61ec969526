//! A comparison, or one run, as one HTML file that needs nothing else: no network, no fonts, no script to
//! be read.
//!
//! Tables are tables and drawings are inline SVG with a name and, where they are made of lines, their
//! numbers beside them. A small script filters and sorts; without it everything is there. `maud`
//! escapes all that comes from a run.

mod cell;
mod context;
mod cost;
mod curves;
mod diff;
mod drill;
mod key;
mod legend;
mod number;
mod ops;
mod overall;
mod pairs;
mod plot;
mod run;
mod speedups;
mod style;
mod texts;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use run::page as run_page;
pub use texts::MOST_BYTES;

use crate::{data::Arm, summary::Comparison};
use context::Context;
use style::{SCRIPT, SCRIPT_HASH, STYLE};
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
    document(("kgen compare", &title(&context)), &parts, &body)
}

/// A whole page: its head, the title below the name of the command, links to the parts that are
/// there, and the parts.
fn document((command, title): (&str, &str), parts: &[(bool, &str, &str)], body: &Markup) -> String {
    let policy =
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                header {
                    p.eyebrow { (command) }
                    h1 { (title) }
                    nav aria-label="Sections" {
                        ul {
                            @for (_, id, name) in parts.iter().filter(|(is_there, ..)| *is_there) {
                                li { a href={ "#" (id) } { (name) } }
                            }
                        }
                    }
                }
                main #main { (body) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    visible(page.into_string())
}

/// A part of the page that the navigation leads to.
fn section(id: &str, title: &str, body: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } { h2 id={ (id) "-h" } { (title) } (body) }
    }
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

/// Replaces characters that no document may hold, and those that make text read otherwise than it is
/// (direction marks, the byte order mark). Nothing that this crate writes has any.
fn visible(page: String) -> String {
    let is_hidden = |c: char| match c {
        '\n' | '\t' => false,
        '\0'..' ' | '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => false,
    };
    if !page.contains(is_hidden) {
        return page;
    }
    let shown = |c: char| match c {
        // Its picture in Unicode: ␀ for NUL and so on.
        '\0'..' ' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(c).to_string(),
        _ => format!("\\u{{{:x}}}", u32::from(c)),
    };
    let mut visible = String::with_capacity(page.len());
    for c in page.chars() {
        if is_hidden(c) { visible.push_str(&shown(c)) } else { visible.push(c) }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(visible("a\0b\r\n\tc".to_owned()), "a␀b␍\n\tc");
        assert_eq!(visible("x\u{202e}y\u{feff}".to_owned()), "x\\u{202e}y\\u{feff}");
        assert_eq!(visible("µs × ∞".to_owned()), "µs × ∞");
    }
}
