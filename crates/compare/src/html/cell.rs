//! Tables and their cells: an estimate with its interval, or that it was not measured.

use maud::{Markup, PreEscaped, html};

use super::number::{percent, plain, times, usd, usd_at_most};
use crate::summary::Estimate;

/// The unit of a number, and so how it is written.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// A share of 0 to 1.
    Share,
    /// A difference of shares.
    Points,
    /// A ratio of times.
    Times,
    /// US dollars.
    Usd,
    /// US dollars at most.
    UsdAtMost,
    /// A plain number.
    Plain,
}

impl Unit {
    /// Writes a value with its unit.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Share => percent(value),
            Self::Points => format!("{}\u{202f}pp", signed(value * 100.0)),
            Self::Times => times(value),
            Self::Usd => usd(value),
            Self::UsdAtMost => usd_at_most(value),
            Self::Plain => plain(value),
        }
    }

    /// Writes both ends of an interval, without the unit that stands beside it.
    fn show_interval(self, [low, high]: [f64; 2]) -> String {
        match self {
            Self::Share => format!("{:.1}–{:.1}", low * 100.0, high * 100.0),
            Self::Points => format!("{} to {}", signed(low * 100.0), signed(high * 100.0)),
            Self::Times | Self::Plain => format!("{}–{}", plain(low), plain(high)),
            Self::Usd | Self::UsdAtMost => format!("{}–{}", usd(low), usd(high)),
        }
    }
}

/// Writes a number with its sign, a minus as wide as the plus.
fn signed(value: f64) -> String {
    let shown = format!("{value:+.1}");
    if shown == "-0.0" { "+0.0".to_owned() } else { shown.replace('-', "−") }
}

/// A column of a table.
pub(crate) struct Column {
    /// Its title, as markup.
    pub(crate) title: &'static str,
    /// Shown under a pointer; may be empty.
    explained: &'static str,
    is_text: bool,
}

/// A column of numbers.
pub(crate) const fn number(title: &'static str, explained: &'static str) -> Column {
    Column { title, explained, is_text: false }
}

/// A column of words.
pub(crate) const fn text(title: &'static str, explained: &'static str) -> Column {
    Column { title, explained, is_text: true }
}

/// A table in a box that scrolls on its own.
#[must_use]
pub fn table(class: &str, title: &str, head: Markup, rows: Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(title) {
            table class=(class) { caption { (title) } thead { (head) } tbody { (rows) } }
        }
    }
}

/// The head of a table.
pub(crate) fn head(columns: &[Column]) -> Markup {
    html! {
        tr {
            @for Column { title, explained, is_text } in columns {
                th scope="col" class=[is_text.then_some("text")]
                    title=[(!explained.is_empty()).then_some(explained)] { (PreEscaped(title)) }
            }
        }
    }
}

/// A cell. Its attribute `data-v` has the value in full, for sorting and for those who copy.
pub(crate) fn estimate(estimate: Option<&Estimate>, unit: Unit) -> Markup {
    let Some(estimate) = estimate else { return none("not measured") };
    html! {
        td data-v=(estimate.value) {
            (unit.show(estimate.value))
            small {
                @match estimate.interval() {
                    Some(ends) => (unit.show_interval(ends)),
                    None => { "n = " (estimate.n_ops) },
                }
            }
        }
    }
}

/// A cell without a number, and the reason.
#[must_use]
pub fn none(reason: &str) -> Markup {
    html! { td.none { (reason) } }
}
