//! Output of profilers as data, and its meaning in words.
//!
//! Of a kernel that kgen judged:
//!
//! * [`ncu`]: the pages `raw`, `details` and `source` of Nsight Compute as CSV, and its log;
//! * [`sanitizer`]: reports of compute-sanitizer, as XML or text;
//! * [`sass`]: machine code as nvdisasm's JSON has it, counted;
//! * [`rules`]: the limits in the metrics about a kernel's limits;
//! * [`summary`]: all of it in at most [`summary::MAX_LINES`] lines.
//!
//! Of any command, each as one [`report::Report`], which [`report::summary`] puts into as few lines:
//!
//! * [`perf`], [`nsys`], [`ncu::report`], [`torch`], [`xctrace`]: a reader per tool;
//! * [`report`]: kernels, copies, gaps, functions, counters, and the thresholds of figures;
//! * [`flame`]: stacks as a picture;
//! * [`read`]: a file of any of these kinds.
//!
//! Nothing here runs a tool or panics on its input: an unreadable part is absent, and an absent part is never
//! shown as 0.

#![warn(missing_docs)]

pub mod flame;
pub mod ncu;
pub mod nsys;
pub mod perf;
pub mod report;
pub mod rules;
pub mod sanitizer;
pub mod sass;
pub mod summary;
pub mod torch;
pub mod xctrace;

mod csv;
mod error;
mod number;
mod read;

pub use error::ReadError;
pub use read::{Form, read};

#[cfg(test)]
mod tests;
