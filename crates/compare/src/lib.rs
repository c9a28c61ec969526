//! Compares runs, and draws one: ops solved, speed, cost, and which differences are more than luck.
//!
//! - [`data`]: the input. Runs with equal settings are one [`Arm`]; they are its samples.
//! - [`compare`]: from the one to the other.
//! - [`summary`]: the result, a [`Comparison`], with intervals and paired tests.
//! - [`scores()`]: one run in the terms of `KernelBench`.
//! - [`csv`]: lines of CSV, of whatever table.
//! - [`html`]: the comparison, or one run, as one page that needs nothing else.
//!
//! Pure: reads no file and no clock, and knows nothing of kgen. Everything random comes from one
//! stream with a fixed seed, so that the same runs always give the same numbers.

#![warn(missing_docs)]

mod arm;
mod compare;
pub mod csv;
mod curve;
pub mod data;
pub mod html;
mod paired;
mod pairs;
mod resample;
mod rows;
mod scores;
mod speed;
pub mod summary;
#[cfg(test)]
mod tests;
mod view;

/// Ops below which no interval is given: with fewer, resampling them covers less than it claims.
pub const MIN_OPS: usize = 5;

pub use compare::compare;
pub use data::{Arm, Attempt, Op, Run, Speedup, Spend, TimedBaseline, TimedCase};
pub use scores::{Outcome, Scores, THRESHOLDS, scores};
pub use summary::{
    ArmSummary, Comparison, CurvePoint, Estimate, Fast, Marks, OpCell, OpRow, OpSpeedup, Pair,
    PairTest, Quantity, Speed, Speeds,
};
