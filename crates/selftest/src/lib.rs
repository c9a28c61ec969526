//! The emulator proves itself: its results against a GPU's, and what a GPU makes of wrong kernels.
//!
//! The kernels and their mutants are those of the crate `emu-corpus`; they are compiled as a
//! candidate's are, but without a plan.

mod agreement;
mod classify;
mod cuda;
mod emulated;
pub mod judge;
mod mutant;
mod source;
pub mod timing;

pub use agreement::{KernelAgreement, agreement};
pub use classify::{Child, Line, classify};
pub use cuda::{GpuOutputs, run_on_gpu};
pub use emulated::{Emulated, emulate};
pub use mutant::{MutantEffect, MutantRun, SEEDS, run_mutant};
pub use source::{Built, build};

/// A failure of kgen or its machine, never of a kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler cannot be used.
    #[error("failed to use NVRTC")]
    Compile(#[from] kgen_compile::Error),
    /// A kernel that should compile does not.
    #[error("`{kernel}` does not compile: {reason}")]
    Source {
        /// The kernel.
        kernel: String,
        /// The compiler's message.
        reason: String,
    },
    /// The GPU cannot be used.
    #[error("failed to use the GPU")]
    Device(#[from] kgen_device::Error),
    /// A kernel of the selftest did not run.
    #[error("a kernel of the selftest failed")]
    Kernel(#[source] kgen_device::LaunchError),
    /// The GPU timed nothing.
    #[error("the GPU gave no times")]
    NoTimes,
    /// A child process cannot be used.
    #[error("failed to run a child process")]
    Process(#[from] kgen_process::Error),
    /// A child process ended before it had done anything.
    #[error("a child process did nothing: {0}")]
    Idle(String),
}

impl From<kgen_device::LaunchError> for Error {
    fn from(stop: kgen_device::LaunchError) -> Self {
        match stop {
            kgen_device::LaunchError::Machine(error) => Self::Device(error),
            other => Self::Kernel(other),
        }
    }
}
