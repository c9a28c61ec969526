//! Kernels whose results or times are known prove the judge and the clock.

pub mod judge;
pub mod timing;

/// A failure of kgen or its machine, never of a kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler cannot be used.
    #[error("failed to use NVRTC")]
    Compile(#[from] kgen_compile::Error),
    /// The kernels of the clock's checks do not compile.
    #[error("the kernels of the selftest do not compile: {0}")]
    Source(String),
    /// The GPU cannot be used.
    #[error("failed to use the GPU")]
    Device(#[from] kgen_device::Error),
    /// A kernel of the selftest did not run.
    #[error("a kernel of the selftest failed")]
    Kernel(#[source] kgen_device::LaunchError),
    /// The GPU timed nothing.
    #[error("the GPU gave no times")]
    NoTimes,
}

impl From<kgen_device::LaunchError> for Error {
    fn from(stop: kgen_device::LaunchError) -> Self {
        match stop {
            kgen_device::LaunchError::Machine(error) => Self::Device(error),
            other => Self::Kernel(other),
        }
    }
}
