//! Output of NVIDIA's profilers as data, and its meaning in words.
//!
//! * [`ncu`]: the pages `raw`, `details` and `source` of Nsight Compute as CSV, and its log;
//! * [`sanitizer`]: reports of compute-sanitizer, as XML or text;
//! * [`sass`]: machine code as nvdisasm's JSON has it, counted;
//! * [`rules`]: the limits in the metrics about a kernel's limits;
//! * [`summary`]: all of it in at most [`summary::MAX_LINES`] lines.
//!
//! Nothing here runs a tool, reads a file or panics on its input: an unreadable part is absent, and
//! an absent part is never shown as 0.

#![warn(missing_docs)]

pub mod ncu;
pub mod rules;
pub mod sanitizer;
pub mod sass;
pub mod summary;

mod csv;
mod number;

#[cfg(test)]
mod tests;
