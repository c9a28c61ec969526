//! How kgen times a kernel and draws conclusions: the protocol `kgen-time/1` without a GPU in it.
//!
//! A speedup is believed if it can be repeated. So a candidate and a baseline are sampled in turn,
//! in A-B-B-A blocks that cancel a drift of the clocks; chunks taken while the GPU was slowed down
//! are thrown away; sampling stops when the interval is narrow enough; and a verdict is given only
//! where interval and test agree.
//!
//! - [`Bench`]: takes samples. A GPU in kgen, a simulation in the tests.
//! - [`compare`] and [`alone`]: the protocol as a state machine over a bench.
//! - [`Timing`], [`Comparison`]: summaries, pure functions of stored samples.
//! - [`stats`]: intervals, signed ranks, Holm's correction.
//! - [`roofline`], [`occupancy`]: limits of the hardware.
//! - [`session`]: the facts of the machine; [`do_bench`]: counts of the usual other harness.
//!
//! Nothing here knows of CUDA, kernels or judges, reads a clock or takes a sample by itself.

#![warn(missing_docs)]

mod bench;
mod comparison;
mod course;
pub mod do_bench;
mod measured;
pub mod occupancy;
mod protocol;
pub mod roofline;
pub mod session;
pub mod stats;
mod timing;
mod usage;

pub use bench::{Arm, Bench, Chunk, Health, Throttle};
pub use comparison::{Comparison, PRACTICAL, TimeVerdict, blocks_of};
pub use course::{BLOCKS_PER_CHUNK, alone, compare};
pub use measured::{Alone, Flag, Measured};
pub use protocol::{Flush, L2, Mode, PROTOCOL, Params, Profile, UnknownNameError};
pub use session::{Calibration, Fingerprint, Session};
pub use stats::{geometric_mean, weighted_geometric_mean};
pub use timing::Timing;
pub use usage::{Energy, Memory, Usage};

#[cfg(test)]
mod simulation;
