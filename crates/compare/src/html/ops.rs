//! The table of ops: every op in every arm.

use maud::{Markup, html};

use super::{
    cell,
    context::Context,
    number::{cost, times},
};
use crate::summary::{OpCell, OpSpeedup};

/// The section's table; [`super::drill`] has the attempts of each row.
pub(crate) fn table(context: &Context<'_>) -> Markup {
    let over = context.primary().map(|primary| format!("speedup over {primary}, "));
    let over = over.unwrap_or_default();
    let title = format!("Every op in every arm: verdict, {over}attempts (in so many runs), cost");
    let head = html! {
        tr {
            th scope="col" { "Op" }
            @for key in &context.keys {
                th scope="col" { (key.named()) }
            }
        }
    };
    let rows = html! {
        @for (index, row) in context.comparison.ops.iter().enumerate() {
            tr {
                th scope="row" data-v=(row.op) { a href={ "#op-" (index) } { (row.op) } }
                @for cell in &row.cells {
                    @match cell {
                        None => (cell::none("–")),
                        Some(cell) => (op_cell(context, cell)),
                    }
                }
            }
        }
    };
    html! { (filter()) (cell::table("numbers sortable ops", &title, head, rows)) }
}

/// The field that the script filters the ops by.
pub(crate) fn filter() -> Markup {
    html! {
        p #filter hidden {
            label {
                "Ops whose name holds "
                input type="search" autocomplete="off" spellcheck="false";
            }
            " " output {}
        }
    }
}

/// The state of one op in one arm.
fn op_cell(context: &Context<'_>, cell: &OpCell) -> Markup {
    let primary = context.primary_of(cell);
    let rank = match primary {
        Some(speedup) => speedup.shown(),
        None if 0 < cell.n_solved => 0.0,
        None => -1.0,
    };
    let is_other = |other: &&OpSpeedup| Some(&*other.baseline) != context.primary();
    html! {
        td data-v=(rank) {
            (outcome(cell, primary))
            small {
                @for other in cell.speedups.iter().filter(is_other) {
                    (times(other.shown())) " " (other.baseline) br;
                }
                @if 0 < cell.n_attempts {
                    (cell.n_attempts) " att"
                    @if 1 < cell.marks.of { " in " (cell.marks.of) }
                    @if let Some(cost) = cost(&cell.spend).filter(|_| cell.spend.is_paid()) {
                        " · " (cost)
                    }
                }
            }
        }
    }
}

/// The verdict with the speedup over the primary baseline, in a few words.
pub(crate) fn outcome(cell: &OpCell, primary: Option<&OpSpeedup>) -> Markup {
    let n_samples = cell.marks.of;
    let is_reached = cell.marks.not_reached < n_samples;
    let failure = if is_reached { cell.failure.as_deref() } else { Some("not reached") };
    html! {
        @if cell.n_solved == 0 {
            span.bad { "✗ " (failure.unwrap_or("not solved")) }
        } @else {
            span.good { "✓" }
            @if cell.n_solved < n_samples { " " (cell.n_solved) "/" (n_samples) }
            @if let Some(speedup) = primary {
                " " (times(speedup.shown()))
                @if speedup.long.is_none() {
                    " " abbr title="Launch overhead dominates all of its cases" { "ovh" }
                }
            } @else if cell.marks.emulator_only == n_samples {
                " emulator"
            } @else {
                " untimed"
            }
        }
    }
}
