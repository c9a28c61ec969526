//! Summaries and exports from stored runs: tables for people, CSV and JSON for programs.
//!
//! Everything here is derived from a run's files and can be made again at any time. A number stands
//! here only if it was measured: an op that failed or was not timed has no speedup, never 1.0.

mod chart;
pub mod compare;
mod digits;
mod export;
mod gpus;
mod kernelbench;
mod op_table;
mod page;
mod scores;
mod screen;
mod spend;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use digits::{factor, significant};
pub use export::{Results, full_results, operator_summary};
pub use gpus::{GpuId, GpuSummary, gpu_table};
pub use kernelbench::{EvalResults, KernelBenchError, eval_results};
pub use op_table::{cases_text, op_table, speedup_text, tables, tone, verdict_text};
pub use page::{best_timings, page};
pub use scores::{FastShares, MeanSpeedup, score_table};
pub use screen::{Screen, Tone};
pub use spend::{AttemptSpend, cost_text, spend_line, spend_table, usd_text};
pub use summary::{OpSummary, Summary, summarise};
pub use table::TextTable;
pub use text::{
    NOT_MEASURED, mean_speedup_text, overall, python_text, readme, result_lines, totals_line,
};

use kgen_store::{Run, RunStore, TopFile};

/// Writes a run's README, summaries and exports, and returns their summary.
///
/// # Errors
///
/// When the run cannot be read or written.
pub fn write(store: &RunStore) -> Result<Summary, kgen_store::Error> {
    // The state of the run may have changed since the store was opened.
    let run = &Run::open(store.run().dir())?;
    let summary = summarise(run)?;
    let results = full_results(run, &summary)?;
    store.write_top(TopFile::Readme, &readme(run, &summary))?;
    store.write_top(TopFile::OverallSummary, &overall(run, &summary))?;
    store.write_top(TopFile::FullResults, &results.all)?;
    store.write_top(TopFile::FailedTests, &results.failed)?;
    store.write_top(TopFile::OperatorSummary, &operator_summary(&summary))?;
    Ok(summary)
}
