//! Progress of a bench: a bar, and a line after each op with the time that is left.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use kgen_bench::Cell;

use super::{folder::Folder, output::span};
use crate::cli::Context;

/// Cells that are done, on a bar and in a line after each op.
pub(super) struct Progress<'a> {
    context: &'a Context,
    bar: ProgressBar,
    began: Instant,
    n_cells: u64,
    n_before: u64,
    /// Missing cells of each op, by its name.
    missing: HashMap<String, usize>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(context: &'a Context, folder: &Folder) -> Self {
        let plan = folder.plan();
        let mut missing = HashMap::new();
        for op in &plan.ops {
            let of_op = missing.entry(op.op.clone()).or_insert(0);
            for (_, first) in folder.missing(op) {
                *of_op += plan.implementations.len() - first;
            }
        }
        let n_cells = plan.n_cells();
        let bar = context.ui.bar(n_cells, "cells");
        Self { context, bar, began: Instant::now(), n_cells, n_before: folder.n_done(), missing }
    }

    /// Adds cells to the `n_done` before them.
    pub(super) fn add(&mut self, cells: &[Cell], n_done: u64) {
        let n_done = n_done + cells.len() as u64;
        self.bar.set_position(n_done);
        let Some(Cell { op, .. }) = cells.first() else { return };
        let missing = self.missing.entry(op.clone()).or_default();
        *missing = missing.saturating_sub(cells.len());
        if *missing == 0 {
            let (n_cells, n_new) = (self.n_cells, n_done - self.n_before.min(n_done));
            let left = left(self.began.elapsed(), n_new, n_cells - n_done);
            self.context.ui.note(&format!("{op}: {n_done} of {n_cells} cells{left}"));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Words the time that is left, where some is.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn left(elapsed: Duration, n_done: u64, n_left: u64) -> String {
    if n_left == 0 || n_done == 0 {
        return String::new();
    }
    format!(", {} left", span(elapsed.as_secs_f64() * n_left as f64 / n_done as f64))
}
