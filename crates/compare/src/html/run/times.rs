//! The times of an op's best attempt: a row per case, and the samples behind them.

use kgen_measure::roofline::Limit;
use maud::{Markup, html};

use super::samples;
use crate::{
    data::{Op, TimedBaseline, TimedCase},
    html::{
        cell,
        number::{plain, times as ratio},
    },
};

/// Drawings of samples per op at most.
const MOST_FIGURES: usize = 12;

/// The times of an op; nothing where it has none.
pub(crate) fn times(op: &Op) -> Markup {
    if op.timed.is_empty() {
        return Markup::default();
    }
    let id = |at: usize| {
        let name: String =
            op.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        format!("samples-{name}-{at}")
    };
    html! {
        (table(op))
        details.samples {
            summary { "Distribution of samples" }
            div.plots {
                @for (at, case) in op.timed.iter().take(MOST_FIGURES).enumerate() {
                    (samples::figure(&id(at), case))
                }
            }
            @if MOST_FIGURES < op.timed.len() {
                p.note { "Drawn are " (MOST_FIGURES) " cases of " (op.timed.len()) "." }
            }
        }
    }
}

fn table(op: &Op) -> Markup {
    let names: Vec<&str> = op
        .timed
        .first()
        .map_or(&[][..], |case| &case.baselines)
        .iter()
        .map(|one| &*one.name)
        .collect();
    let head = html! {
        tr {
            th scope="col" { "Case" }
            th scope="col" { "Kernel" }
            @for name in &names { th scope="col" { (name) } }
            th scope="col" { "Of the floor" }
        }
    };
    let rows = html! { @for case in &op.timed { (row(case, &names)) } };
    let title = format!("{}: medians, and the speedup with its 99 % interval", op.name);
    cell::table("cases", &title, head, rows)
}

fn row(case: &TimedCase, names: &[&str]) -> Markup {
    let of = |name: &&str| case.baselines.iter().find(|baseline| baseline.name == **name);
    html! {
        tr {
            th scope="row" { (case.args) }
            td { (us(case.kernel.median_us)) }
            @for name in names { (baseline(of(name))) }
            @match &case.roofline {
                Some(roofline) => td {
                    (plain(roofline.percent_of_floor(case.kernel.median_us))) " %"
                    small { (us(roofline.floor_us)) ", " (limit(roofline.limit)) }
                },
                None => (cell::none("not known")),
            }
        }
    }
}

fn baseline(found: Option<&TimedBaseline>) -> Markup {
    let Some(timing) = found.and_then(|found| found.timing.as_ref()) else {
        return cell::none("not measured");
    };
    let comparison = found.and_then(|found| found.comparison.as_ref());
    html! {
        td {
            (us(timing.median_us))
            @if let Some(comparison) = comparison {
                @let [low, high] = comparison.ci;
                small { (ratio(comparison.speedup)) " (" (plain(low)) "–" (plain(high)) ")" }
            }
            @if found.is_some_and(|found| found.overhead_dominated) { small { "launch overhead" } }
        }
    }
}

fn us(us: f64) -> String {
    format!("{}\u{202f}µs", plain(us))
}

/// The kind of a floor.
const fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Memory => "memory",
        Limit::Compute => "arithmetic",
        Limit::Launch => "launch",
    }
}
