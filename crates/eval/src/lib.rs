//! The judge: inputs, guards, the correctness rule, timing, verdicts.
//!
//! An evaluation has two halves. [`cpu_half`] needs no GPU: it guards and compiles the kernel file,
//! evaluates its plan for every case and runs the small cases on the emulator. [`gpu_half`] runs
//! all cases on a GPU and times those that are timed. The outcome of a candidate is data
//! ([`kgen_record::Evaluation`]); [`Error`] means that kgen or its machine failed.
//!
//! Modules of the halves know each other in one direction:
//!
//! ```text
//! cpu ─> prepare ─> full ─> timing ─> loader ─> session
//!           gpu ─────┘
//! cpu ─> emulate ─> rounding <─ gpu
//! ```

mod arrays;
mod blocks;
pub mod bound;
mod budget;
mod builder;
pub mod compare;
mod cooperative;
mod copy;
mod coverage;
mod cpu;
mod emulate;
mod error;
mod execute;
mod external;
mod full;
mod further;
mod gpu;
mod job;
mod library;
mod link;
mod loader;
mod memory;
mod merge;
mod pattern;
mod prepare;
mod prepared_case;
mod program;
mod reference_kernel;
mod rehearse;
mod rounding;
mod rounds;
mod session;
mod side;
mod static_facts;
mod timing;
mod tuned;

#[cfg(test)]
mod tests;

pub use builder::{describe_args, not_reached, unbegun};
pub use cpu::{CpuOutcome, cpu_half};
pub use gpu::gpu_half;

pub use memory::was_lacking;
pub use merge::across;
pub use program::{BaselineProgram, BoundLaunch, CaseProgram, FullSizeProgram, Program, Variant};
pub use rehearse::rehearse;
pub use tuned::{join_tuned, tuned};

use job::Job;
use kgen_ops::{op, reference};
use kgen_record::{CaseResult, Stage};
use serde::{Deserialize, Serialize};

/// The progress of an evaluation, so that the findings of a killed worker survive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Progress {
    /// A stage begins.
    Stage { stage: Stage },
    /// A case begins.
    CaseStarted {
        /// Its index in the request.
        index: usize,
    },
    /// Another kgen measures on the GPU; it is waited for.
    Queued,
    /// A case ended.
    CaseDone {
        /// Its index in the request; behind them for a further case.
        index: usize,
        result: Box<CaseResult>,
    },
    /// The Python process is at work; no other message may come for that long.
    Waiting {
        /// Seconds at most.
        limit_s: f64,
    },
}

/// A failure of kgen or its machine, never of a candidate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request names an op that does not exist.
    #[error(transparent)]
    Op(#[from] op::UnknownOpError),
    /// The text of a custom op cannot be read.
    #[error("the op's definition is wrong")]
    Custom(#[from] op::CustomError),
    /// The kernel that is the reference of a custom op cannot be used.
    #[error("the reference kernel is no valid kernel file for the cases: {0}")]
    ReferenceKernel(String),
    /// A case does not fit its op.
    #[error("a case does not fit its op")]
    Case(#[from] op::InferError),
    /// The reference cannot be computed.
    #[error("failed to evaluate the reference")]
    Reference(#[from] reference::Error),
    /// The compiler cannot be used.
    #[error("failed to use NVRTC")]
    Compile(#[from] kgen_compile::Error),
    /// The device cannot be used.
    #[error("failed to use the device")]
    Device(#[from] kgen_device::Error),
    /// A case that is judged by parts has none.
    #[error("`{case}` of `{op}` cannot be evaluated in parts")]
    NoPart {
        /// The op.
        op: String,
        case: String,
    },
    /// kgen's own kernels do not compile.
    #[error("failed to compile kgen's own kernels: {0}")]
    OwnKernels(String),
    /// The PyTorch module of an op gives no results.
    #[error("PyTorch's module gives no reference: {reason}")]
    Module {
        /// Why.
        reason: String,
    },
    /// The baseline is not a valid kernel file for the cases.
    #[error("failed to prepare the baseline `{name}`: {reason}")]
    Baseline {
        /// Its name.
        name: String,
        /// The fault.
        reason: String,
    },
}

impl Error {
    /// Returns whether the op is at fault, so that no machine can judge a candidate for it.
    #[must_use]
    pub const fn is_of_op(&self) -> bool {
        match self {
            Self::Op(_)
            | Self::Custom(_)
            | Self::ReferenceKernel(_)
            | Self::Case(_)
            | Self::Reference(_)
            | Self::NoPart { .. }
            | Self::Module { .. } => true,
            Self::Compile(_) | Self::Device(_) | Self::OwnKernels(_) | Self::Baseline { .. } => {
                false
            }
        }
    }
}
