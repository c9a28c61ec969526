//! The Python process: PyTorch beside the workers, for baselines and implementations in Python.
//!
//! The pool keeps one process per GPU ([`Side`] is how it stands); the gpu worker is its client. A
//! [`call()`] is a case in the words of the protocol: where its tensors lie, not their values.

mod call;
mod client;
mod message;
mod state;

pub use call::{Callee, NoOperatorError, aten, call, is_computed_by};
pub use client::{CallMemory, Client, Error, Repeated, Sampling};
pub use message::{
    Cubin, CubinArg, CubinLaunch, DoBenchTimes, Flush, Location, Output, Prepare, Prepared,
    Refusal, RefusalKind, Tensor, Value,
};
pub use state::{Alarm, Ready, Side};
