//! Results of `kgen bench`: implementations of ops side by side over a grid of cases.
//!
//! A [`Cell`] is one case with one implementation. Pure: takes no samples and reads no files.

mod cell;

pub use cell::{Axis, Bench, Cell, CellTiming, FORMAT, Outcome};
pub use kgen_measure::{Energy, Memory, Usage};
