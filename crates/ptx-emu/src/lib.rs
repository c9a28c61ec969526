//! PTX interpreter and sanitizer.
//!
//! Runs NVRTC's output on a CPU, a warp at a time, and fails closed. An access outside a buffer, a
//! use of a value that nobody wrote or a race becomes a finding that names line, block, thread,
//! buffer and element, and the launch goes on without the access; a barrier that can never open or
//! an instruction that is not known ends it.
//!
//! ```text
//! PTX text --lex, parse--> ast --lower--> ops over register indices --exec--> Report
//! ```

#![warn(missing_docs)]
#![deny(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "registers are bits: truncation, reinterpretation and exact comparison, unordered \
              values included, are what the instructions mean"
)]
#![expect(clippy::needless_range_loop, reason = "a lane number indexes several registers at once")]

mod alu;
pub mod analysis;
mod ast;
mod counters;
mod coverage;
mod emulator;
mod exec;
mod finding;
pub mod isa;
mod lex;
mod lower;
mod memory;
mod module;
mod op;
mod options;
mod parse;
mod report;
mod tensor_map;

pub use counters::{Atomics, Counters, Executed, SharedTraffic, Traffic};
pub use coverage::{Coverage, CoverageGap, Edges, GapKind};
pub use emulator::{Config, Emulator};
pub use exec::Launch;
pub use finding::{Finding, FindingKind, Other, Severity};
pub use memory::{AllocError, BufferId};
pub use module::{Module, Usage};
pub use options::{Blocks, Checks, Limits, Options};
pub use report::{LaunchError, ParseError, Report};
pub use tensor_map::{
    Interleave, L2Promotion, OobFill, Swizzle, TensorMap, TensorMapError, TensorMapMode,
    TensorMapType,
};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
