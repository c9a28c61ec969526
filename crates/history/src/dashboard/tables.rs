//! The tables: runs, benches, entries, series that changed.

use kgen_bench::ImplementationSummary;
use kgen_compare::html::{cell, number::count};
use maud::{Markup, html};

use super::{
    BenchItem, EntryItem, RunItem,
    filter::{Filter, of_bench, of_run},
    moment,
    rows::{date, day, few, linked, row, speedup},
};
use crate::{
    Line,
    trend::series::{self, Trend, sorted},
};

pub(super) const MAKES_A_RUN: &str = "kgen run --backend builtin --suite smoke";
pub(super) const MAKES_A_BENCH: &str = "kgen bench --ops relu";
pub(super) const MAKES_AN_ENTRY: &str = "kgen history add latest";

/// Titles of columns of words.
const TEXTS: [&str; 3] = ["Model", "GPU", "Implementation"];

/// Items of a table: a few hundred bytes each.
const MOST_ITEMS: usize = 2_000;

/// Series that are drawn: about a kilobyte each.
const MOST_CHANGES: usize = 100;

/// A run per row.
pub(super) fn runs(runs: &[RunItem], filter: &Filter<'_>) -> Markup {
    if runs.is_empty() {
        return none("No run yet.", MAKES_A_RUN);
    }
    let titles = ["Run", "Date, UTC", "Model", "GPU", "Solved", "Speedup"];
    let mut models: Vec<&str> = runs.iter().filter_map(|run| run.model.as_deref()).collect();
    models.sort_unstable();
    models.dedup();
    listed(
        runs,
        |run| &run.created,
        &titles,
        "Runs, the newest first",
        |run| {
            let model = run.model.as_deref();
            let over = run.baseline.as_ref().map(|name| format!("over {name}"));
            let cells = html! {
                th.item scope="row" data-v=(run.id) { (linked(&run.id, run.link.as_deref())) }
                (date(&run.created))
                td.text data-v=[model.and_then(|model| models.binary_search(&model).ok())] {
                    (model.unwrap_or("–"))
                    small { (run.backend) }
                }
                (gpu(&run.device, filter))
                td data-v=(run.n_solved) { (run.n_solved) " of " (run.n_ops) }
                (speedup(run.speedup, over.as_deref(), "not measured"))
            };
            let implementations = of_run(&run.backend, run.baseline.as_deref());
            row(&filter.keys(&run.ops, &run.device, implementations), &day(&run.created), &cells)
        },
    )
}

/// A row per implementation of a bench.
pub(super) fn benches(benches: &[BenchItem], filter: &Filter<'_>) -> Markup {
    if benches.is_empty() {
        return none("No bench yet.", MAKES_A_BENCH);
    }
    let titles = [
        "Bench",
        "Date, UTC",
        "GPU",
        "Implementation",
        "Passed",
        "Wrong",
        "Not offered",
        "Not run",
        "Speedup",
    ];
    let caption = "Cells per implementation of a bench, the newest first";
    html! {
        (listed(benches, |bench| &bench.created, &titles, caption, |bench| html! {
            @for one in &bench.implementations { (implementation(bench, one, filter)) }
            @if bench.implementations.is_empty() {
                (row(&filter.keys(&bench.ops, &bench.device, []), &day(&bench.created), &html! {
                    (bench_cells(bench, filter))
                    td.none colspan="6" { "No implementation" }
                }))
            }
        }))
        p.note {
            "A speedup is over the first implementation of the bench that passed a case: the geometric mean, "
            "without cells that launch overhead dominates."
        }
    }
}

fn implementation(bench: &BenchItem, one: &ImplementationSummary, filter: &Filter<'_>) -> Markup {
    let name = &*one.implementation;
    let counts = [one.passed, one.wrong, one.not_offered, one.not_run];
    let cells = html! {
        (bench_cells(bench, filter))
        td.text data-v=[filter.implementation(name)] { (name) }
        @for (nth, n) in counts.into_iter().enumerate() {
            td .bad[nth == 1 && 0 < n] data-v=(n) { (count(n as u64)) }
        }
        (speedup(one.speedup_geomean, Some(&format!("of {}", count(one.n_speedups as u64))), "–"))
    };
    let keys = filter.keys(&bench.ops, &bench.device, of_bench(name));
    row(&keys, &day(&bench.created), &cells)
}

fn bench_cells(bench: &BenchItem, filter: &Filter<'_>) -> Markup {
    html! {
        th.item scope="row" data-v=(bench.id) {
            (linked(&bench.id, bench.link.as_deref()))
            small { (few(&bench.ops)) }
        }
        (date(&bench.created))
        (gpu(&bench.device, filter))
    }
}

/// An entry of the history per row.
pub(super) fn entries(entries: &[EntryItem], filter: &Filter<'_>) -> Markup {
    if entries.is_empty() {
        return none("No entry in the history yet.", MAKES_AN_ENTRY);
    }
    let titles = ["Bench or run", "Entry", "Date, UTC", "GPU", "Results"];
    listed(
        entries,
        |entry| &entry.created,
        &titles,
        "Entries, the newest first",
        |entry| {
            let cells = html! {
                th.item scope="row" data-v=(entry.id) {
                    (entry.id)
                    @if let Some(tag) = &entry.tag { " " span.tag { (tag) } }
                }
                td data-v=(entry.number) { (entry.number) }
                (date(&entry.created))
                (gpu(&entry.device, filter))
                td data-v=(entry.n_results) { (count(entry.n_results)) }
            };
            row(&filter.keys_of_entry(entry.number, &entry.device), &day(&entry.created), &cells)
        },
    )
}

/// The series that changed.
pub(super) fn changes(lines: &[Line], filter: &Filter<'_>) -> Markup {
    let mut trends = sorted(lines);
    let n_series = trends.len();
    trends.retain(|trend| !trend.changes.is_empty());
    let drawn = &trends[..trends.len().min(MOST_CHANGES)];
    let title = "Series that changed, the largest newest change first; a dashed line is a change";
    html! {
        @if 0 < n_series {
            h3 { (count(trends.len() as u64)) " of " (count(n_series as u64)) " series changed" }
            @if !drawn.is_empty() {
                (series::table(title, &html! { @for trend in drawn { (change(trend, filter)) } }))
                (no_row())
            }
            @if drawn.len() < trends.len() {
                p.note { "And " (count((trends.len() - drawn.len()) as u64)) " more with smaller changes." }
            }
            p.note { code { "kgen history trend" } " makes the page of every series." }
        }
    }
}

fn change(trend: &Trend<'_>, filter: &Filter<'_>) -> Markup {
    let Line { series, gpu, points, .. } = trend.line;
    let keys = filter.keys(std::slice::from_ref(&series.op), gpu, [&*series.implementation]);
    let ends = points.first().zip(points.last());
    let day = |point: &crate::Point| point.created.strftime("%Y-%m-%d").to_string();
    let days = ends.map(|(first, last)| format!("{} {}", day(first), day(last)));
    row(&keys, &days.unwrap_or_default(), &series::cells(trend))
}

fn gpu(name: &str, filter: &Filter<'_>) -> Markup {
    html! { td.text data-v=[filter.gpu(name)] { (name) } }
}

/// A table of items, the newest first, and how many are left out.
fn listed<T>(
    items: &[T],
    created: impl Fn(&T) -> &str,
    titles: &[&str],
    caption: &str,
    draw: impl Fn(&T) -> Markup,
) -> Markup {
    let mut newest: Vec<&T> = items.iter().collect();
    newest.sort_by_cached_key(|item| std::cmp::Reverse(moment(created(item))));
    let (shown, others) = newest.split_at(newest.len().min(MOST_ITEMS));
    let head = html! {
        tr { @for title in titles { th.text[TEXTS.contains(title)] scope="col" { (title) } } }
    };
    let rows = html! { @for item in shown { (draw(item)) } };
    html! {
        (cell::table("numbers sortable items", caption, head, rows))
        (no_row())
        @if !others.is_empty() { p.note { "And " (count(others.len() as u64)) " older ones." } }
    }
}

/// Stands after each table; the script shows it in the place of a table without a row.
fn no_row() -> Markup {
    html! { p.note hidden { "Nothing here fits the filters." } }
}

fn none(nothing: &str, command: &str) -> Markup {
    html! { p { (nothing) " " code { (command) } " makes one." } }
}
