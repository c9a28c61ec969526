//! Rows as CSV.

use std::collections::BTreeSet;

use kgen_compare::csv::line;
use serde_json::Value;

use crate::{Bench, Row, rows};

/// Columns before those of the axes.
const CASE: [&str; 4] = ["op", "dtype", "case", "args"];

/// Columns after those of the axes.
const RESULT: [&str; 22] = [
    "implementation",
    "outcome",
    "reason",
    "time_ms",
    "time_low_ms",
    "time_high_ms",
    "q1_ms",
    "q3_ms",
    "n_samples",
    "speedup",
    "speedup_low",
    "speedup_high",
    "speedup_verdict",
    "memory_mb",
    "workspace_mb",
    "inference_speed",
    "throughput_gbps",
    "gflops",
    "gpu_efficiency",
    "energy_mj",
    "power_w",
    "sm_mhz",
];

/// The last column.
const FLAGS: &str = "flags";

/// Returns whether a name is that of a column which is no axis.
#[must_use]
pub fn is_column(name: &str) -> bool {
    CASE.contains(&name) || RESULT.contains(&name) || name == FLAGS
}

/// Returns the rows of a benchmark as CSV, quoted as RFC 4180 says, with a line of names first.
///
/// Axes are columns between `args` and `implementation`. A number that was not measured is an empty cell.
#[must_use]
pub fn csv(bench: &Bench) -> String {
    let axes = axes(bench);
    let names = CASE.iter().copied().chain(axes.iter().map(|name| &**name));
    let names = names.chain(RESULT).chain([FLAGS]);
    let mut text = line(names);
    for row in rows(bench) {
        text.push_str(&line(cells(&row, &axes)));
    }
    text
}

/// Names of the axes in the order of the grid, then any others that a cell has.
fn axes(bench: &Bench) -> Vec<String> {
    let named: Vec<String> = bench.axes.iter().map(|axis| axis.name.clone()).collect();
    let found: BTreeSet<&String> = bench.cells.iter().flat_map(|cell| cell.axes.keys()).collect();
    let others: Vec<String> =
        found.into_iter().filter(|name| !named.contains(name)).cloned().collect();
    named.into_iter().chain(others).collect()
}

fn cells(row: &Row, axes: &[String]) -> Vec<String> {
    let members = serde_json::to_value(row).unwrap_or_default();
    let member = |name: &&str| shown(&members[*name]);
    let mut cells: Vec<String> = CASE.iter().map(member).collect();
    let value = |axis: &String| row.axes.get(axis).map(i64::to_string).unwrap_or_default();
    cells.extend(axes.iter().map(value));
    cells.extend(RESULT.iter().map(member));
    cells.push(row.flags.join(" "));
    cells
}

/// A member of a row as a cell.
fn shown(member: &Value) -> String {
    match member {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
