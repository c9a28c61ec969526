//! The wide table: a row per cell with all of its numbers.

use kgen_compare::html::number::{plain, times};

use super::{
    duration,
    grid::{Column, render},
    is_named_by_axes, time, values,
};
use crate::{
    Bench, Cell,
    case::Case,
    row::{Row, reason, row},
};

/// Returns the table; columns without any number are left out.
pub(super) fn table(bench: &Bench, cases: &[Case<'_>]) -> String {
    let cells: Vec<(&Case<'_>, &Cell)> = cases
        .iter()
        .flat_map(|case| case.cells.iter().flatten().map(move |cell| (case, *cell)))
        .collect();
    let rows: Vec<Row> = cells.iter().map(|(_, cell)| row(cell)).collect();
    let text = |of: &dyn Fn(&Row) -> String| rows.iter().map(of).collect::<Vec<String>>();
    let mut columns = vec![
        Column::left("Op", text(&|row| row.op.clone())),
        Column::left("Type", text(&|row| row.dtype.clone())),
    ];
    for axis in bench.axes.iter().filter(|axis| 1 < axis.values.len()) {
        let of_case = values(axis, cases);
        let repeated = cases.iter().zip(of_case);
        let repeated = repeated.flat_map(|(case, value)| {
            std::iter::repeat_n(value, case.cells.iter().flatten().count())
        });
        columns.push(Column::right(&axis.name, repeated.collect()));
    }
    if !is_named_by_axes(bench, cases) {
        columns.push(Column::left("Case", text(&|row| row.case.clone())));
    }
    columns.push(Column::left("Implementation", text(&|row| row.implementation.clone())));
    columns.push(Column::right("Time", cells.iter().map(|(_, cell)| time(cell)).collect()));
    columns.extend(numbers(&rows).into_iter().filter(|column| !column.is_empty()));
    let note = |(_, cell): &(&Case<'_>, &Cell)| reason(cell).unwrap_or_default().to_owned();
    let notes = Column::left("Reason", cells.iter().map(note).collect());
    columns.extend((!notes.is_empty()).then_some(notes));
    render(&columns.iter().collect::<Vec<_>>())
}

fn numbers(rows: &[Row]) -> Vec<Column> {
    let number = |header: &str, of: fn(&Row) -> Option<f64>| {
        let cell = |row: &Row| of(row).map(plain).unwrap_or_default();
        Column::right(header, rows.iter().map(cell).collect())
    };
    let text = |of: fn(&Row) -> Option<String>| {
        rows.iter().map(|row| of(row).unwrap_or_default()).collect::<Vec<String>>()
    };
    vec![
        Column::right(
            "95 % interval",
            text(|row| {
                let (low, high) = (row.time_low_ms?, row.time_high_ms?);
                Some(format!("{} to {}", duration(low * 1e3), duration(high * 1e3)))
            }),
        ),
        Column::right("Speedup", text(|row| row.speedup.map(times))),
        Column::right(
            "99 % interval",
            text(|row| Some(format!("{}–{}", plain(row.speedup_low?), plain(row.speedup_high?)))),
        ),
        Column::left("Verdict", text(|row| Some(row.speedup_verdict?.name().to_owned()))),
        number("GB/s", |row| row.throughput_gbps),
        number("GFLOP/s", |row| row.gflops),
        number("% of roofline", |row| row.gpu_efficiency),
        number("Memory MB", |row| row.memory_mb),
        number("Workspace MB", |row| row.workspace_mb),
        number("mJ per call", |row| row.energy_mj),
        number("W", |row| row.power_w),
        number("SM MHz", |row| row.sm_mhz),
        Column::left("Flags", text(|row| Some(row.flags.join(" ")))),
    ]
}
