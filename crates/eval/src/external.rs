//! Candidates and baselines that are no kernel file: they are bound to a case's buffers and called.

use kgen_device::{BufferId, Device, LaunchError};
use kgen_measure::Flush;
use kgen_record::{Case, TensorSpec};

/// A case's buffers, as a call needs them.
#[derive(Clone, Copy)]
pub(super) struct CaseBuffers<'a> {
    pub(super) case: &'a Case,
    /// In the order of [`Case::tensors`].
    pub(super) inputs: &'a [BufferId],
    pub(super) outputs: &'a [BufferId],
    /// Names and layouts of the outputs.
    pub(super) specs: &'a [(String, TensorSpec)],
}

/// An implementation that kgen calls and does not compile.
pub(super) trait External {
    /// Binds the call of a case to its buffers. The buffers outlive the bound call.
    fn bind<'s>(
        &'s self,
        device: &mut dyn Device,
        buffers: CaseBuffers<'_>,
    ) -> Result<Box<dyn BoundCall + 's>, LaunchError>;
}

/// A call that is bound to its buffers; dropping it lets go of them.
pub(super) trait BoundCall {
    /// Computes the outputs and waits for them.
    fn run(&self, device: &mut dyn Device) -> Result<(), LaunchError>;

    /// Takes so many samples of the call, in microseconds, each after a flush.
    ///
    /// The GPU is handed over: it is idle before the first sample and after the last.
    fn sample(
        &self,
        device: &mut dyn Device,
        n: usize,
        flush: Flush,
    ) -> Result<Vec<f64>, LaunchError>;

    /// Returns the bytes of outputs and workspace of one call, and of workspace alone; `None` where
    /// nobody counts them.
    fn memory(&self) -> Result<Option<(u64, u64)>, LaunchError> {
        Ok(None)
    }

    /// Makes the call back to back for so many seconds, and returns how often.
    fn repeat(&self, device: &mut dyn Device, seconds: f64) -> Result<u64, LaunchError>;
}
