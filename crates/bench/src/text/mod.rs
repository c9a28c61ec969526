//! A benchmark as text: a row per case and type, a column per implementation, and what they come to.

mod grid;
mod wide;

use std::collections::BTreeSet;

use kgen_compare::html::{
    key::shorten,
    number::{plain, times},
};

use crate::{
    Axis, Bench, Cell, Outcome,
    case::{Case, cases},
    row::{outcome, reason},
    summary,
};
use grid::{Column, GAP, cut, in_one_line, render, total, wrap};

/// Reasons that are named below the table at most.
const MOST_REASONS: usize = 8;

/// Least letters of the name of an implementation.
const LEAST_NAME: usize = 14;

/// Widest column of an implementation.
const MOST_RESULT: usize = 30;

/// Where an implementation has no cell, or an op lacks an axis.
const NONE: &str = "–";

/// Returns a benchmark as text that ends in a line end.
///
/// `width`: columns of the screen, at least about 80. Implementations that do not fit beside each other
/// stand below each other. `wide`: a row per cell with all of its numbers, of any length.
#[must_use]
pub fn table(bench: &Bench, width: usize, wide: bool) -> String {
    let cases = cases(bench);
    let mut parts = vec![wrap(&in_one_line(&title(bench)), width)];
    if wide {
        parts.push(wide::table(bench, &cases));
    } else {
        parts.extend(blocks(bench, &cases, width));
    }
    if bench.cells.iter().any(is_overhead) {
        let note = "* Launch overhead dominates; not part of the geometric mean.";
        parts.push(wrap(note, width));
    }
    parts.push(totals(bench, width));
    if !wide {
        parts.extend(reasons(bench, width));
    }
    parts.join("\n\n") + "\n"
}

/// `bench_20261127_101500 on NVIDIA H100 (b = 16)`.
fn title(bench: &Bench) -> String {
    let fixed = bench.axes.iter().filter(|axis| axis.values.len() == 1);
    let fixed: Vec<String> =
        fixed.map(|axis| format!("{} = {}", axis.name, axis.values[0])).collect();
    let fixed = if fixed.is_empty() { String::new() } else { format!(" ({})", fixed.join(", ")) };
    format!("{} on {}{fixed}", bench.id, bench.device)
}

/// The table, in as many blocks of implementations as the width needs.
fn blocks(bench: &Bench, cases: &[Case<'_>], width: usize) -> Vec<String> {
    let mut labels = labels(bench, cases);
    let results: Vec<Column> = bench
        .implementations
        .iter()
        .enumerate()
        .map(|(at, name)| result(name, cases, at))
        .collect();
    let widest = results.iter().map(Column::width).max().unwrap_or(0);
    cut(&mut labels, width.saturating_sub(widest + GAP.len()));
    let room = width.saturating_sub(total(&labels));
    let mut blocks: Vec<Vec<&Column>> = Vec::new();
    let mut left = 0;
    for column in &results {
        let needed = GAP.len() + column.width();
        match blocks.last_mut().filter(|_| needed <= left) {
            Some(block) => block.push(column),
            None => {
                blocks.push(labels.iter().chain([column]).collect());
                left = room;
            }
        }
        left = left.saturating_sub(needed);
    }
    blocks.iter().map(|block| render(block)).collect()
}

/// The columns that name a case.
fn labels(bench: &Bench, cases: &[Case<'_>]) -> Vec<Column> {
    let column = |header: &str, of: &dyn Fn(&Case<'_>) -> String| {
        Column::left(header, cases.iter().map(of).collect())
    };
    let mut labels = vec![
        column("Op", &|case| case.op.to_owned()),
        column("Type", &|case| case.dtype.to_owned()),
    ];
    for axis in bench.axes.iter().filter(|axis| 1 < axis.values.len()) {
        labels.push(Column::right(&axis.name, values(axis, cases)));
    }
    if !is_named_by_axes(bench, cases) {
        labels.push(column("Case", &|case| case.name.to_owned()));
    }
    labels
}

fn values(axis: &Axis, cases: &[Case<'_>]) -> Vec<String> {
    let value = |case: &Case<'_>| case.axes.get(&axis.name).map(i64::to_string);
    cases.iter().map(|case| value(case).unwrap_or_else(|| NONE.to_owned())).collect()
}

/// Whether op, type and place in the grid name each case.
fn is_named_by_axes(bench: &Bench, cases: &[Case<'_>]) -> bool {
    let names: BTreeSet<_> = cases.iter().map(|case| (case.op, case.dtype, case.axes)).collect();
    !bench.axes.is_empty() && names.len() == cases.len()
}

/// The column of one implementation. A name that is longer than its cells keeps both ends.
fn result(name: &str, cases: &[Case<'_>], at: usize) -> Column {
    let cells = results(cases, at);
    let widest = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let width = widest.clamp(LEAST_NAME, MOST_RESULT);
    Column::left(&shorten(&in_one_line(name), width), cells).at_most(width)
}

/// The cells of one implementation, their parts below each other.
fn results(cases: &[Case<'_>], at: usize) -> Vec<String> {
    let cells = || cases.iter().map(|case| case.cells[at]);
    let has_marks = cells().flatten().any(is_overhead);
    let time = |cell: Option<&Cell>| match cell {
        None => NONE.to_owned(),
        Some(cell) if has_marks && cell.timing.is_some() && !is_overhead(cell) => time(cell) + " ",
        Some(cell) => time(cell),
    };
    let times: Vec<String> = cells().map(time).collect();
    let ratios: Vec<Option<(String, &str)>> = cells().map(|cell| ratio(cell?)).collect();
    let timed = times.iter().zip(cells()).filter(|(_, cell)| cell.is_some_and(is_timed));
    let time_width = timed.map(|(time, _)| time.chars().count()).max().unwrap_or(0);
    let ratio_width = ratios.iter().flatten().map(|(text, _)| text.chars().count()).max();
    let cell = |(time, ratio): (&String, &Option<(String, &str)>)| match ratio {
        Some((ratio, verdict)) => {
            format!("{time:>time_width$}  {ratio:>0$} {verdict}", ratio_width.unwrap_or(0))
        }
        None => format!("{time:>time_width$}"),
    };
    times.iter().zip(&ratios).map(cell).collect()
}

fn is_timed(cell: &Cell) -> bool {
    cell.timing.is_some()
}

fn is_overhead(cell: &Cell) -> bool {
    cell.timing.as_ref().is_some_and(|timing| timing.overhead_dominated)
}

/// The time of a cell, or why it has none.
fn time(cell: &Cell) -> String {
    let Some(timing) = &cell.timing else { return state(cell) };
    let mark = if timing.overhead_dominated { "*" } else { "" };
    format!("{}{mark}", duration(timing.time.median_us))
}

/// The outcome of a cell for people; of one that passed, whether it has a time.
pub(crate) fn state(cell: &Cell) -> String {
    match &cell.outcome {
        Outcome::Passed if cell.timing.is_some() => "passed".to_owned(),
        Outcome::Passed => "not measured".to_owned(),
        Outcome::Failed { verdict, .. } => verdict.clone(),
        Outcome::NotOffered { .. } => "not offered".to_owned(),
        Outcome::NotRun { .. } => "not run".to_owned(),
    }
}

/// The speedup of a cell with its verdict.
fn ratio(cell: &Cell) -> Option<(String, &'static str)> {
    let comparison = cell.timing.as_ref()?.comparison.as_ref()?;
    Some((times(comparison.speedup), comparison.verdict.name()))
}

/// Microseconds in the unit that suits: `12.3 µs`, `1.23 ms`, `1.23 s`.
pub(crate) fn duration(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => (us, "µs"),
        us if us < 999.5e3 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    format!("{} {unit}", plain(value))
}

/// A line per implementation: counts, and the mean of its speedups.
fn totals(bench: &Bench, width: usize) -> String {
    let all = summary(bench);
    let column = |header: &str, of: &dyn Fn(&summary::ImplementationSummary) -> String| {
        Column::right(header, all.iter().map(of).collect())
    };
    let mean = |one: &summary::ImplementationSummary| {
        let mean = one.speedup_geomean.map(|mean| format!("{} of {}", times(mean), one.n_speedups));
        mean.unwrap_or_default()
    };
    let names = Column::left("", bench.implementations.clone());
    let mut columns = vec![
        names,
        column("Passed", &|one| one.passed.to_string()),
        column("Wrong", &|one| one.wrong.to_string()),
        column("Not offered", &|one| one.not_offered.to_string()),
        column("Not run", &|one| one.not_run.to_string()),
    ];
    let means = column("Speedup", &mean);
    let has_means = !means.is_empty();
    columns.extend(has_means.then_some(means));
    cut(&mut columns, width);
    let table = render(&columns.iter().collect::<Vec<_>>());
    let note =
        "Speedup: over the first implementation that passed, the geometric mean of so many cells.";
    if has_means { format!("{table}\n{}", wrap(note, width)) } else { table }
}

/// Why cells did not pass or have no time, each reason once.
fn reasons(bench: &Bench, width: usize) -> Option<String> {
    let mut found: Vec<((&str, &str, &str), usize)> = Vec::new();
    for cell in &bench.cells {
        let Some(reason) = reason(cell) else { continue };
        let key = (&*cell.implementation, outcome(&cell.outcome), reason);
        match found.iter_mut().find(|(other, _)| *other == key) {
            Some((_, n)) => *n += 1,
            None => found.push((key, 1)),
        }
    }
    let line = |((implementation, outcome, reason), n): &((&str, &str, &str), usize)| {
        let outcome = match *outcome {
            "passed" => "not measured".to_owned(),
            other => other.replace('_', " "),
        };
        let cells = if *n == 1 { "1 cell".to_owned() } else { format!("{n} cells") };
        wrap(&in_one_line(&format!("{implementation}: {outcome} ({cells}): {reason}")), width)
    };
    let mut lines: Vec<String> = found.iter().take(MOST_REASONS).map(line).collect();
    if MOST_REASONS < found.len() {
        let n = found.len() - MOST_REASONS;
        lines.push(format!("{n} further reasons: see --wide."));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
