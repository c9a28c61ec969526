//! Series as rows of a table, each with its drawing and its newest change.

use maud::{Markup, html};
use rayon::prelude::*;

use super::spark;
use crate::{ChangePoint, Line, change_points};

/// Rules of the drawings, and of the cells that name a series.
pub(crate) const STYLE: &str = "
.spark { display: block; width: 10rem; height: 2rem; overflow: visible; }
.spark .line { stroke-width: 1.2; }
.spark .change { fill: none; stroke: var(--c2); stroke-width: 1; stroke-dasharray: 2 2; }
.case { min-width: 14rem; max-width: 24rem; }
.case, .case small { white-space: normal; overflow-wrap: anywhere; }
";

/// A series with its changes.
pub(crate) struct Trend<'a> {
    pub(crate) line: &'a Line,
    pub(crate) changes: Vec<ChangePoint>,
}

impl Trend<'_> {
    /// Size of the newest change, as a distance of logarithms.
    fn newest(&self) -> f64 {
        self.changes.last().map_or(0.0, |change| change.ratio.ln().abs())
    }

    pub(crate) fn name(&self) -> String {
        let series = &self.line.series;
        format!("{} {} {} {}", series.op, series.dtype, series.args, series.implementation)
    }
}

/// Returns the series that have a point, those first whose newest change is the largest.
pub(crate) fn sorted(lines: &[Line]) -> Vec<Trend<'_>> {
    let mut trends: Vec<Trend<'_>> = lines
        .par_iter()
        .filter(|line| !line.points.is_empty())
        .map(|line| Trend { line, changes: change_points(&line.points) })
        .collect();
    trends.sort_by(|a, b| b.newest().total_cmp(&a.newest()));
    trends
}

/// Returns the table of `rows` made of [`cells`].
pub(crate) fn table(title: &str, rows: &Markup) -> Markup {
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
                tbody { (rows) }
            }
        }
    }
}

/// Returns the cells of a row.
pub(crate) fn cells(trend: &Trend<'_>) -> Markup {
    let Trend { line, changes } = trend;
    let (series, points) = (&line.series, &line.points);
    let latest = changes.last();
    let name = trend.name();
    html! {
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
