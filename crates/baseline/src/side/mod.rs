//! Processes beside the workers: PyTorch, for baselines and implementations in Python, and adapters.
//!
//! The pool keeps one of each per GPU ([`Side`] is how one stands); the gpu worker is its client. A
//! [`call()`] is a case in the words of the protocol: where its tensors lie, not their values.

mod call;
mod client;
mod message;
mod state;

pub use call::{Callee, Kind, NoOperatorError, aten, call, is_computed_by};
pub use client::{CallMemory, Client, Error, Repeated, Sampling};
pub use message::{
    Cubin, CubinArg, CubinLaunch, DoBenchTimes, Flush, Location, Output, Prepare, Prepared,
    Refusal, RefusalKind, Tensor, Value,
};
pub use state::{Alarm, Facts, Ready, Side, Sidecar, Sides};
