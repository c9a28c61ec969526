//! Every series over time, as one HTML file that needs nothing else.

mod look;
mod spark;

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::{ChangePoint, Line, change_points};

/// Series that are drawn: about a kilobyte each.
const MOST_DRAWN: usize = 1_500;

/// Series beyond those that are named.
const MOST_NAMED: usize = 2_000;

/// A series with its changes.
struct Trend<'a> {
    line: &'a Line,
    changes: Vec<ChangePoint>,
}

impl Trend<'_> {
    /// Size of the newest change, as a distance of logarithms.
    fn newest(&self) -> f64 {
        self.changes.last().map_or(0.0, |change| change.ratio.ln().abs())
    }

    fn name(&self) -> String {
        let series = &self.line.series;
        format!("{} {} {} {}", series.op, series.dtype, series.args, series.implementation)
    }
}

/// Returns the page of all series: each with a drawing in which its change points are marked, those first
/// whose newest change is the largest.
///
/// Series without a point are left out. Beyond some thousand, series are named, and at last counted.
#[must_use]
pub fn page(lines: &[Line]) -> String {
    let mut trends: Vec<Trend<'_>> = lines
        .iter()
        .filter(|line| !line.points.is_empty())
        .map(|line| Trend { line, changes: change_points(&line.points) })
        .collect();
    trends.sort_by(|a, b| b.newest().total_cmp(&a.newest()));
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
    html! {
        div.wide tabindex="0" role="region" aria-label=(title) {
            table."numbers"."sortable"."ops" {
                caption { (title) }
                thead {
                    tr {
                        th scope="col" { "Case" }
                        th scope="col" title="Where the newest change was" { "Over time" }
                        th scope="col" title="Median since then over median before" { "Latest change" }
                        th scope="col" title="Median of the newest entry" { "Newest, µs" }
                        th scope="col" { "Changes" }
                        th scope="col" { "Entries" }
                    }
                }
                tbody { @for trend in trends { (row(trend)) } }
            }
        }
    }
}

fn row(trend: &Trend<'_>) -> Markup {
    let Trend { line, changes } = trend;
    let (series, points) = (&line.series, &line.points);
    let latest = changes.last();
    let kind = match latest {
        None => "none",
        Some(change) if 1.0 < change.ratio => "slower",
        Some(_) => "faster",
    };
    let name = trend.name();
    html! {
        tr data-op=(series.op) data-dtype=(series.dtype) data-implementation=(series.implementation)
            data-gpu=(line.gpu) data-mode=(line.mode.name()) data-change=(kind) {
            th.case scope="row" data-v=(name) {
                (series.op) " " (series.dtype)
                small { (series.args) }
                small { (series.implementation) ", " (line.gpu) ", " (line.mode.name()) }
            }
            td data-v=(latest.map_or(-1, |change| points[change.at].created.as_second())) {
                (spark::spark(points, changes, &format!("{name}, {} entries", points.len())))
            }
            @match latest {
                None => td.none { "–" },
                Some(change) => td data-v=(change.ratio.ln().abs()) {
                    span class=(if 1.0 < change.ratio { "bad" } else { "good" }) {
                        (format!("{:.3}×", change.ratio))
                    }
                    small { (points[change.at].created.strftime("%Y-%m-%d").to_string()) }
                },
            }
            @if let Some(newest) = points.last() {
                td data-v=(newest.median_us) { (digits(newest.median_us)) }
            }
            td data-v=(changes.len()) { (changes.len()) }
            td data-v=(points.len()) { (points.len()) }
        }
    }
}

/// Four significant digits, without an exponent.
fn digits(value: f64) -> String {
    let decimals = match value {
        v if v < 10.0 => 3,
        v if v < 100.0 => 2,
        v if v < 1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
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
