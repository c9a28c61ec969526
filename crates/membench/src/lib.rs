//! Bandwidth and latency of a GPU's memory: copies between memories, kernels, access patterns, allocation.
//!
//! [`run`] is a function of a [`Lab`], so that the order of things, the choice of samples and what is left out
//! are tested without a GPU. [`GpuLab`] is the one that there is.

mod gpu;
mod host;
mod kernels;
mod nvbandwidth;
mod page;
mod report;
mod run;
mod size;
mod test;
mod torch;

use kgen_device::LaunchError;

pub use gpu::GpuLab;
pub use nvbandwidth::nvbandwidth;
pub use page::page;
pub use report::{LeftOut, Report, Row, Summary};
pub use run::{Case, Lab, Measured, Plan, run};
pub use size::{doubled, size_text};
pub use test::{Kind, Test};
pub use torch::{TORCH, torch_allocations};

/// Why something was not measured, or nothing can be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler cannot be used.
    #[error("failed to use NVRTC")]
    Compile(#[from] kgen_compile::Error),
    /// The kernels do not compile.
    #[error("the kernels of the benchmark do not compile: {0}")]
    Source(String),
    /// The GPU cannot be used.
    #[error("failed to use the GPU")]
    Device(#[from] kgen_device::Error),
    /// A kernel did not run.
    #[error("a kernel of the benchmark failed")]
    Kernel(#[source] LaunchError),
    /// There is too little memory for one size.
    #[error("{0}")]
    NoRoom(String),
    /// The machine lacks the means of a test.
    #[error("{0}")]
    NotHere(String),
}

impl From<LaunchError> for Error {
    fn from(stop: LaunchError) -> Self {
        match stop {
            LaunchError::Machine(error) => Self::Device(error),
            other => Self::Kernel(other),
        }
    }
}
