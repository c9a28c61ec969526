//! Counts and means per implementation.

use kgen_measure::{Comparison, TimeVerdict, geometric_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bench, Cell, CellTiming, Outcome};

/// The cells of one implementation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImplementationSummary {
    /// As given to `--impl`.
    pub implementation: String,
    /// Cells that passed.
    pub passed: usize,
    /// Cells that were judged and did not pass.
    pub wrong: usize,
    /// Cells that it has nothing for.
    pub not_offered: usize,
    /// Cells that were not judged.
    pub not_run: usize,
    /// Geometric mean of its speedups over cells that launch overhead does not dominate; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speedup_geomean: Option<f64>,
    /// Cells that it is the mean of.
    pub n_speedups: usize,
    /// Compared cells that are left out of it because launch overhead dominates them.
    pub n_overhead_dominated: usize,
    /// Compared cells that are faster than the first implementation.
    pub faster: usize,
    /// Compared cells that differ by no more than 1 %.
    pub same: usize,
    /// Compared cells that are slower.
    pub slower: usize,
    /// Compared cells whose samples do not decide.
    pub ambiguous: usize,
}

/// Returns a summary per implementation, in order.
#[must_use]
pub fn summary(bench: &Bench) -> Vec<ImplementationSummary> {
    let of = |name: &String| {
        let cells: Vec<&Cell> =
            bench.cells.iter().filter(|cell| cell.implementation == *name).collect();
        summarise(name, &cells)
    };
    bench.implementations.iter().map(of).collect()
}

fn summarise(name: &str, cells: &[&Cell]) -> ImplementationSummary {
    let count = |is: fn(&Outcome) -> bool| cells.iter().filter(|cell| is(&cell.outcome)).count();
    let timings = || cells.iter().filter_map(|cell| cell.timing.as_deref());
    let compared = || timings().filter_map(|timing| Some((timing, timing.comparison.as_ref()?)));
    let verdict =
        |verdict: TimeVerdict| compared().filter(|(_, found)| found.verdict == verdict).count();
    let long: Vec<f64> = compared().filter_map(long_speedup).collect();
    ImplementationSummary {
        implementation: name.to_owned(),
        passed: count(|outcome| matches!(outcome, Outcome::Passed)),
        wrong: count(|outcome| matches!(outcome, Outcome::Failed { .. })),
        not_offered: count(|outcome| matches!(outcome, Outcome::NotOffered { .. })),
        not_run: count(|outcome| matches!(outcome, Outcome::NotRun { .. })),
        speedup_geomean: geometric_mean(&long).filter(|mean| mean.is_finite()),
        n_speedups: long.len(),
        n_overhead_dominated: compared().count() - long.len(),
        faster: verdict(TimeVerdict::Faster),
        same: verdict(TimeVerdict::Same),
        slower: verdict(TimeVerdict::Slower),
        ambiguous: verdict(TimeVerdict::Ambiguous),
    }
}

/// The speedup of a cell that launch overhead does not dominate.
fn long_speedup((timing, comparison): (&CellTiming, &Comparison)) -> Option<f64> {
    (!timing.overhead_dominated).then_some(comparison.speedup)
}
