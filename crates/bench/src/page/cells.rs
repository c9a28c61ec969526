//! All cells with their numbers, filtered and sorted by a script.

use kgen_compare::html::{
    cell,
    number::{count, plain, times},
};
use maud::{Markup, html};

use super::choose::{Choice, form, position};
use crate::{
    Cell,
    draw::Context,
    row::{Row, outcome, reason, row},
    text::{duration, state},
};

/// Cells that get a row at most.
const MOST_ROWS: usize = 4000;

/// A number of a cell with its title.
type Number = (&'static str, fn(&Row) -> Option<f64>);

/// Numbers after time and speedup; those that no cell has get no column.
const NUMBERS: [Number; 8] = [
    ("GB/s", |row| row.throughput_gbps),
    ("GFLOP/s", |row| row.gflops),
    ("% of roofline", |row| row.gpu_efficiency),
    ("Memory, MB", |row| row.memory_mb),
    ("Workspace, MB", |row| row.workspace_mb),
    ("mJ per call", |row| row.energy_mj),
    ("W", |row| row.power_w),
    ("SM, MHz", |row| row.sm_mhz),
];

/// The table below its filters.
pub(super) fn table(context: &Context<'_>) -> Markup {
    let cells = &context.bench.cells;
    let shown: Vec<(&Cell, Row)> =
        cells.iter().take(MOST_ROWS).map(|cell| (cell, row(cell))).collect();
    let is_there = |(_, of): &&Number| shown.iter().any(|(_, row)| of(row).is_some());
    let numbers: Vec<Number> = NUMBERS.iter().filter(is_there).copied().collect();
    let [mut ops, mut dtypes, mut names, mut outcomes] = [const { Vec::new() }; 4];
    let rows = html! {
        @for (cell, row) in &shown {
            @let op = position(&mut ops, &cell.op);
            @let dtype = position(&mut dtypes, &cell.dtype);
            @let name = position(&mut names, &cell.implementation);
            @let outcome = position(&mut outcomes, outcome(&cell.outcome));
            tr data-is={ "op-" (op) " type-" (dtype) " impl-" (name) " outcome-" (outcome) } {
                (one(context, &numbers, (cell, row), (name, outcome)))
            }
        }
    };
    let choices = [
        Choice::among("op", "Op", &ops),
        Choice::among("type", "Type", &dtypes),
        Choice::among("impl", "Implementation", &names),
        Choice::among("outcome", "Outcome", &outcomes),
    ];
    let choices: Vec<Choice> = choices.into_iter().flatten().collect();
    html! {
        (form(&choices, "cells"))
        (cell::table("cells sortable", "Cells in order", head(context, &numbers), rows))
        @if MOST_ROWS < cells.len() {
            p.note {
                "To keep this page small, " (count((cells.len() - MOST_ROWS) as u64))
                " cells are left out; CSV and JSON have all."
            }
        }
    }
}

fn head(context: &Context<'_>, numbers: &[Number]) -> Markup {
    html! {
        tr {
            th scope="col" { "Op" }
            @for axis in &context.bench.axes { th scope="col" { (axis.name) } }
            @for title in ["Case", "Implementation", "Outcome"] { th.text scope="col" { (title) } }
            th scope="col" { "Time" }
            th scope="col" { "Speedup" }
            @for (title, _) in numbers { th scope="col" { (title) } }
            th.text scope="col" { "Flags" }
        }
    }
}

fn one(
    context: &Context<'_>,
    numbers: &[Number],
    (cell, row): (&Cell, &Row),
    (name, outcome): (usize, usize),
) -> Markup {
    html! {
        th scope="row" data-v={ (cell.op) " " (cell.dtype) } { (cell.op) small { (cell.dtype) } }
        @for axis in &context.bench.axes {
            @let value = cell.axes.get(&axis.name);
            td data-v=[value] { @match value { Some(value) => (value), None => "–" } }
        }
        td.text { (cell.case) @if cell.args != cell.case { small { (cell.args) } } }
        td.text data-v=(name) { (cell.implementation) }
        td.text data-v=(outcome) {
            (state(cell))
            @if let Some(reason) = reason(cell) { small { (reason) } }
        }
        (time(row))
        (speedup(row))
        @for (_, of) in numbers {
            @match of(row) {
                Some(value) => td data-v=(value) { (plain(value)) },
                None => td { "–" },
            }
        }
        td.text { (row.flags.join(", ").replace('_', " ")) }
    }
}

fn time(row: &Row) -> Markup {
    let Some(ms) = row.time_ms else { return cell::none("not measured") };
    let us = |ms: f64| duration(ms * 1e3);
    html! {
        td data-v=(ms) {
            (us(ms))
            @if let (Some(low), Some(high)) = (row.time_low_ms, row.time_high_ms) {
                small { (us(low)) "–" (us(high)) }
            }
        }
    }
}

fn speedup(row: &Row) -> Markup {
    let (Some(ratio), Some(verdict)) = (row.speedup, row.speedup_verdict) else {
        return html! { td { "–" } };
    };
    html! {
        td data-v=(ratio) {
            (times(ratio)) " " (verdict.name())
            @if let (Some(low), Some(high)) = (row.speedup_low, row.speedup_high) {
                small { (plain(low)) "–" (plain(high)) }
            }
        }
    }
}
