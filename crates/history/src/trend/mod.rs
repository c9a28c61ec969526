//! Every series over time, as one HTML file that needs nothing else.

pub(crate) mod look;
pub(crate) mod series;
mod spark;

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::Line;
use series::{Trend, sorted};

/// Series that are drawn: about a kilobyte each.
const MOST_DRAWN: usize = 1_500;

/// Series beyond those that are named.
const MOST_NAMED: usize = 2_000;

/// Returns the page of all series: each with a drawing in which its change points are marked, those first
/// whose newest change is the largest.
///
/// Series without a point are left out. Beyond some thousand, series are named, and at last counted.
#[must_use]
pub fn page(lines: &[Line]) -> String {
    let trends = sorted(lines);
    let n_changed = trends.iter().filter(|trend| !trend.changes.is_empty()).count();
    let title = match trends.len() {
        0 => "No times on record".to_owned(),
        1 => format!("1 series, {n_changed} changed"),
        n => format!("{n} series, {n_changed} changed"),
    };
    let (drawn, others) = trends.split_at(trends.len().min(MOST_DRAWN));
    let body = html! {
        (facts(lines))
        section #ops aria-label="Series" {
            (filters(drawn))
            (table(drawn))
        }
        (left_out(others))
        section #method aria-labelledby="method-h" {
            h2 #method-h { "Method" }
            ul {
                li { "A point is the median of one entry. Numbers of different GPUs and of different timing \
                      modes are series of their own." }
                li { "Change points are found by E-divisive means (Matteson and James 2014) on logarithms, at \
                      the 1 % level by permutations with a fixed seed; those of less than 2 % are left out." }
                li { "The latest change is the median since then over the median before: above 1 is slower." }
            }
        }
    };
    look::document(&title, &body)
}

fn facts(lines: &[Line]) -> Markup {
    let points = || lines.iter().flat_map(|line| &line.points);
    let entries: BTreeSet<i64> = points().map(|point| point.entry).collect();
    let gpus: BTreeSet<&str> = lines.iter().map(|line| &*line.gpu).collect();
    let times = points().map(|point| point.created);
    let ends = times.clone().min().zip(times.max());
    let day = |time: jiff::Timestamp| time.strftime("%Y-%m-%d").to_string();
    html! {
        dl.facts {
            div { dt { "Entries" } dd { (entries.len()) } }
            @if let Some((first, last)) = ends {
                div { dt { "From" } dd { (day(first)) } }
                div { dt { "To" } dd { (day(last)) } }
            }
            @for gpu in gpus { div { dt { "GPU" } dd { (gpu) } } }
        }
    }
}

/// Fields to choose rows by; the scripts show them.
fn filters(trends: &[Trend<'_>]) -> Markup {
    type Value = fn(&Line) -> &str;
    let choices: [(&str, &str, Value); 5] = [
        ("op", "Op", |line| &line.series.op),
        ("dtype", "Type", |line| &line.series.dtype),
        ("implementation", "Implementation", |line| &line.series.implementation),
        ("gpu", "GPU", |line| &line.gpu),
        ("mode", "Timing", |line| line.mode.name()),
    ];
    html! {
        p #choose hidden {
            @for (name, title, value) in choices {
                @let values: BTreeSet<&str> = trends.iter().map(|trend| value(trend.line)).collect();
                @if 1 < values.len() {
                    label {
                        (title) " "
                        select name=(name) {
                            option value="" { "all" }
                            @for value in values { option { (value) } }
                        }
                    }
                }
            }
            label {
                "Show "
                select name="change" {
                    option value="" { "all" }
                    @for value in ["slower", "faster", "none"] { option { (value) } }
                }
            }
            output {}
        }
        p #filter hidden {
            label {
                "Series whose name holds "
                input type="search" autocomplete="off" spellcheck="false";
            }
            " " output {}
        }
    }
}

fn table(trends: &[Trend<'_>]) -> Markup {
    let title = "Every series over time; a dashed line is a change";
    series::table(title, &html! { @for trend in trends { (row(trend)) } })
}

fn row(trend: &Trend<'_>) -> Markup {
    let line = trend.line;
    let kind = match trend.changes.last() {
        None => "none",
        Some(change) if 1.0 < change.ratio => "slower",
        Some(_) => "faster",
    };
    html! {
        tr data-op=(line.series.op) data-dtype=(line.series.dtype)
            data-implementation=(line.series.implementation) data-gpu=(line.gpu)
            data-mode=(line.mode.name()) data-change=(kind) { (series::cells(trend)) }
    }
}

/// The series that are not drawn: none of them has a larger newest change than those that are.
fn left_out(others: &[Trend<'_>]) -> Markup {
    let (named, counted) = others.split_at(others.len().min(MOST_NAMED));
    html! {
        @if !named.is_empty() {
            section aria-labelledby="left-out-h" {
                h2 #left-out-h { "Not drawn" }
                ul #left-out { @for trend in named { li { (trend.name()) } } }
                @if !counted.is_empty() { p { "And " (counted.len()) " more." } }
            }
        }
    }
}
