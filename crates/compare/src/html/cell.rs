//! Cells of tables: an estimate with its interval, or that it was not measured.

use super::{
    markup::Markup,
    number::{Cost, Percent, Plain, Times, Usd},
};
use crate::summary::Estimate;

/// What a number counts, and so how it is written.
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
            Self::Share => Percent(value).to_string(),
            Self::Points => format!("{}\u{202f}pp", signed(value * 100.0)),
            Self::Times => Times(value).to_string(),
            Self::Usd => Usd(value).to_string(),
            Self::UsdAtMost => Cost { usd: value, at_most: true }.to_string(),
            Self::Plain => Plain(value).to_string(),
        }
    }

    /// Writes both ends of an interval, without what the value beside it has said already.
    fn show_interval(self, [low, high]: [f64; 2]) -> String {
        match self {
            Self::Share => format!("{:.1}–{:.1}", low * 100.0, high * 100.0),
            Self::Points => format!("{} to {}", signed(low * 100.0), signed(high * 100.0)),
            Self::Times | Self::Plain => format!("{}–{}", Plain(low), Plain(high)),
            Self::Usd | Self::UsdAtMost => format!("{}–{}", Usd(low), Usd(high)),
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
    /// What a pointer shows; may be empty.
    pub(crate) explained: &'static str,
    /// Whether it holds text and not numbers.
    pub(crate) is_text: bool,
}

/// A column of numbers.
pub(crate) const fn number(title: &'static str, explained: &'static str) -> Column {
    Column { title, explained, is_text: false }
}

/// A column of words.
pub(crate) const fn text(title: &'static str, explained: &'static str) -> Column {
    Column { title, explained, is_text: true }
}

/// Writes a cell. Its attribute `data-v` has the value in full, for sorting and for those who copy.
pub(crate) fn estimate(markup: &mut Markup, estimate: Option<&Estimate>, unit: Unit) {
    let Some(estimate) = estimate else {
        markup.raw("<td class=\"none\">not measured");
        return;
    };
    markup.raw("<td").attr("data-v", estimate.value).raw(">").text(unit.show(estimate.value));
    markup.raw("<small>");
    match estimate.interval() {
        Some(ends) => markup.text(unit.show_interval(ends)),
        None => markup.text(format_args!("n = {}", estimate.n_ops)),
    };
    markup.raw("</small>");
}

/// Opens a table in a box that scrolls on its own.
pub(crate) fn open_table(markup: &mut Markup, class: &'static str, title: &str) {
    markup.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"").attr("aria-label", title);
    markup.raw("><table").attr("class", class).raw("><caption>").text(title).raw("</caption>\n");
}

/// Closes what [`open_table`] opened.
pub(crate) fn close_table(markup: &mut Markup) {
    markup.raw("</table></div>\n");
}

/// Writes the head of a table.
pub(crate) fn head(markup: &mut Markup, columns: &[Column]) {
    markup.raw("<thead><tr>");
    for column in columns {
        markup.raw("<th scope=\"col\"");
        if column.is_text {
            markup.raw(" class=\"text\"");
        }
        if !column.explained.is_empty() {
            markup.attr("title", column.explained);
        }
        markup.raw(">").raw(column.title);
    }
    markup.raw("</thead>\n");
}
