//! The results of a bench as text, CSV, JSON, a page and drawings.

use std::{fs, path::Path};

use kgen_bench::{Bench, Document, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

use super::{BenchFormat, plan::Draft};
use crate::cli::{
    CommandError, Context,
    exit_codes::Exit,
    machine::Machine,
    output::FileArgs,
    ui::{COLUMNS, json_text},
};

/// Cells of a bench that is not begun.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BenchEstimate {
    ops: Vec<OpEstimate>,
    implementations: Vec<String>,
    n_cells: u64,
    /// Seconds that it may take on a GPU.
    estimate_s: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OpEstimate {
    op: String,
    n_cases: u64,
    n_cells: u64,
    /// Bytes of inputs of the largest case.
    largest_bytes: u64,
}

/// Prints the cells of a bench and an estimate of its time.
pub(super) fn dry_run(context: &Context, draft: &Draft) -> Result<Exit, CommandError> {
    let n_implementations = draft.implementations.len() as u64;
    let mut ops = Vec::new();
    for op in &draft.ops {
        let largest = op.largest()?;
        let bytes = largest.tensors().map(|(_, tensor)| tensor.spec.storage_bytes() as u64).sum();
        ops.push(OpEstimate {
            op: op.op.name.clone(),
            n_cases: op.n_cases(),
            n_cells: op.n_cases().saturating_mul(n_implementations),
            largest_bytes: bytes,
        });
    }
    let estimate = BenchEstimate {
        ops,
        implementations: draft.implementations.iter().map(|named| named.name.clone()).collect(),
        n_cells: draft.n_cells(),
        estimate_s: draft.estimate_s(),
    };
    context.ui.result(&estimate, || estimate.text())?;
    Ok(Exit::Ok)
}

impl BenchEstimate {
    fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for of in &self.ops {
            lines.push(format!(
                "{}: {} cases, {} cells; inputs of the largest case: {}",
                of.op,
                of.n_cases,
                of.n_cells,
                bytes(of.largest_bytes)
            ));
        }
        lines.push(format!("implementations: {}", self.implementations.join(", ")));
        lines.push(format!("{} cells, some {} on a GPU", self.n_cells, span(self.estimate_s)));
        lines.join("\n")
    }
}

/// Words a number of bytes.
#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Words a time in its largest unit.
pub(super) fn span(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// Writes the files that are made of the results, and prints the results as asked.
pub(super) fn put(
    context: &Context,
    dir: &Path,
    bench: &Bench,
    file: &FileArgs,
    format: BenchFormat,
) -> Result<(), CommandError> {
    let failed =
        |error| CommandError::config(format!("cannot write into {}: {error}", dir.display()));
    fs::write(dir.join("bench.csv"), kgen_bench::csv(bench)).map_err(failed)?;
    fs::write(dir.join("bench.html"), kgen_bench::page(bench)).map_err(failed)?;
    let plots = dir.join("plots");
    fs::create_dir_all(&plots).map_err(failed)?;
    for (name, drawing) in kgen_bench::plots(bench) {
        fs::write(plots.join(name), drawing).map_err(failed)?;
    }
    let document = Document::new(bench);
    let width = context.ui.screen().width.unwrap_or(COLUMNS);
    let wide = context.ui.is_wide();
    let text = || match format {
        BenchFormat::Table => kgen_bench::table(bench, width, wide),
        BenchFormat::Csv => kgen_bench::csv(bench),
        BenchFormat::Json => json_text(&document),
        BenchFormat::Html => kgen_bench::page(bench),
    };
    file.put(context, &document, "kgen-bench.html", text)
}

/// Returns the exit code of the results: whether a cell is wrong.
pub(super) fn exit(bench: &Bench) -> Exit {
    let is_wrong = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. });
    if bench.cells.iter().any(|cell| is_wrong(&cell.outcome)) { Exit::NotSolved } else { Exit::Ok }
}

/// Says where a bench is, and how it goes on when it is interrupted.
pub(super) fn announce(context: &Context, dir: &Path, machine: &Machine, n_cells: u64) {
    context.ui.note(&format!(
        "bench {} on {} ({}), {n_cells} cells",
        dir.display(),
        machine.device,
        machine.pool.target().name
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_a_unit_that_suits_them() {
        let spans = [0.4, 89.0, 300.0, 7200.0, 345_600.0].map(span);
        assert_eq!(spans, ["0 s", "89 s", "5 min", "2.0 h", "4 days"]);
        assert_eq!([12, 1536, 3 << 30].map(bytes), ["12 B", "1.5 KiB", "3.0 GiB"]);
    }
}
