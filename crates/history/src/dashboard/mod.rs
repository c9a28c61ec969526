//! All runs, benches and the history of an output folder, as one HTML file that needs nothing else.
//!
//! Pure: whoever reads the folder fills in a [`Dashboard`], [`page`] draws it.

mod filter;
mod rows;
mod tables;

use jiff::Timestamp;
use kgen_bench::{Bench, ImplementationSummary};
use kgen_compare::html::frame::{self, Frame, SORTING, Script, section};
use maud::{Markup, html};

use crate::{Entry, Line, trend};
use filter::Filter;

/// Rules that other pages do not need.
const OWN_STYLE: &str = include_str!("dashboard.css");

/// Hides the rows that are not asked for.
const OWN_SCRIPT: &str = include_str!("dashboard.js");

/// An output folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dashboard {
    /// When it was read, RFC 3339.
    pub made: String,
    /// Its runs, in any order.
    pub runs: Vec<RunItem>,
    /// Its benches, in any order.
    pub benches: Vec<BenchItem>,
    /// Entries of its history, in any order.
    pub entries: Vec<EntryItem>,
    /// Series of its history, as of [`crate::History::lines`].
    pub lines: Vec<Line>,
    /// Runs, benches and files that could not be read: each its name and why.
    pub problems: Vec<String>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunItem {
    /// Name of its folder.
    pub id: String,
    /// RFC 3339.
    pub created: String,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// The source of its kernels, for example `llm`.
    pub backend: String,
    /// The model; `None` where none was asked.
    pub model: Option<String>,
    /// Names of its ops, to filter by.
    pub ops: Vec<String>,
    /// Its ops.
    pub n_ops: usize,
    /// Those with a right kernel.
    pub n_solved: usize,
    /// Geometric mean over its ops; `None` is "not measured".
    pub speedup: Option<f64>,
    /// The implementation that the speedup is over.
    pub baseline: Option<String>,
    /// Path of its page relative to the dashboard, with `/` and not percent-encoded; `None` without a page.
    pub link: Option<String>,
}

/// A bench.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BenchItem {
    /// Name of its folder.
    pub id: String,
    /// RFC 3339.
    pub created: String,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// Names of its ops, in order.
    pub ops: Vec<String>,
    /// Counts and means, as of [`kgen_bench::summary`].
    pub implementations: Vec<ImplementationSummary>,
    /// Path of its page relative to the dashboard, with `/` and not percent-encoded; `None` without a page.
    pub link: Option<String>,
}

/// Without a link.
impl From<&Bench> for BenchItem {
    fn from(bench: &Bench) -> Self {
        let mut ops: Vec<String> = Vec::new();
        for cell in &bench.cells {
            // Cells of an op stand together.
            if ops.last() != Some(&cell.op) && !ops.contains(&cell.op) {
                ops.push(cell.op.clone());
            }
        }
        Self {
            id: bench.id.clone(),
            created: bench.created.clone(),
            device: bench.device.clone(),
            ops,
            implementations: kgen_bench::summary(bench),
            link: None,
        }
    }
}

/// An entry of the history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EntryItem {
    /// Its number.
    pub number: i64,
    /// ID of its bench or run.
    pub id: String,
    /// Its name among people.
    pub tag: Option<String>,
    /// When it was measured, RFC 3339.
    pub created: String,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// Results, those without a time among them.
    pub n_results: u64,
}

impl From<&Entry> for EntryItem {
    fn from(entry: &Entry) -> Self {
        Self {
            number: entry.number,
            id: entry.source.clone(),
            tag: entry.tag.clone(),
            created: entry.created.to_string(),
            device: entry.device.clone(),
            n_results: entry.n_results,
        }
    }
}

/// Returns the page of an output folder: the newest first, and of the series those that changed most.
///
/// Without a script everything is shown; with one, rows are filtered by op, GPU, implementation and time.
#[must_use]
pub fn page(dashboard: &Dashboard) -> String {
    let Dashboard { made, runs, benches, entries, lines, problems } = dashboard;
    let is_empty = runs.is_empty() && benches.is_empty() && entries.is_empty() && lines.is_empty();
    let filter = Filter::new(dashboard);
    let sections: [(bool, &str, &str); 3] = [
        (!is_empty, "runs", "Runs"),
        (!is_empty, "benches", "Benches"),
        (!is_empty, "history", "History"),
    ];
    let body = html! {
        dl.facts { div { dt { "Made" } dd { (time(made)) } } }
        (unread(problems))
        @if is_empty {
            (nothing())
        } @else {
            (filter.form())
            (section("runs", "Runs", tables::runs(runs, &filter)))
            (section("benches", "Benches", tables::benches(benches, &filter)))
            (section("history", "History", html! {
                (tables::entries(entries, &filter))
                (tables::changes(lines, &filter))
            }))
        }
    };
    let hash = trend::look::hash(OWN_SCRIPT);
    let scripts = [SORTING, Script { source: OWN_SCRIPT, hash: &hash }];
    let style = format!("{}{OWN_STYLE}", trend::series::STYLE);
    let title = title(dashboard, is_empty);
    let frame = Frame {
        command: "kgen dashboard",
        title: &title,
        style: &style,
        scripts: if is_empty { &[] } else { &scripts },
    };
    frame::document(&frame, &sections, &body)
}

/// The title: `3 runs, 1 bench, 5 entries of the history`.
fn title(dashboard: &Dashboard, is_empty: bool) -> String {
    if is_empty {
        return "Nothing here yet".to_owned();
    }
    let counted =
        |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let runs = counted(dashboard.runs.len(), "run", "runs");
    let benches = counted(dashboard.benches.len(), "bench", "benches");
    let entries = counted(dashboard.entries.len(), "entry", "entries");
    format!("{runs}, {benches}, {entries} of the history")
}

fn nothing() -> Markup {
    html! {
        p { "There is nothing in this folder yet. These commands make something:" }
        ul {
            li { code { (tables::MAKES_A_RUN) } " makes a run," }
            li { code { (tables::MAKES_A_BENCH) } " a bench," }
            li { code { (tables::MAKES_AN_ENTRY) } " adds the latest of them to the history." }
        }
    }
}

fn unread(problems: &[String]) -> Markup {
    html! {
        @if !problems.is_empty() {
            aside aria-label="Not read" {
                p { b.bad { "Could not be read, and so left out:" } }
                ul { @for problem in problems { li { (problem) } } }
            }
        }
    }
}

/// The moment of a text in RFC 3339; `None` where it is none.
fn moment(created: &str) -> Option<Timestamp> {
    created.trim().parse().ok()
}

/// A time to the minute; a text that is none as it is.
fn time(created: &str) -> String {
    moment(created).map_or_else(
        || created.to_owned(),
        |moment| moment.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}
