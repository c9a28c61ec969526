//! Case data for evaluation and timing, wherever its values come from.

use kgen_device::{BufferId, Device, LaunchError};
use kgen_record::{Case, CaseResult, HostTensor, TensorSpec};

use super::{
    CaseProgram, Error,
    execute::Ran,
    session::{Modules, Session},
};

/// Where the values of a case's inputs come from.
pub(super) trait InputSource {
    /// Writes the values of all inputs into their buffers.
    fn write(&self, device: &mut dyn Device, inputs: &[BufferId]) -> Result<(), LaunchError>;

    /// Returns an input that no longer holds its values, by its position, and the first storage
    /// element that differs.
    fn changed(
        &self,
        device: &mut dyn Device,
        inputs: &[BufferId],
    ) -> Result<Option<(usize, usize)>, LaunchError>;
}

impl InputSource for Vec<HostTensor> {
    fn write(&self, device: &mut dyn Device, inputs: &[BufferId]) -> Result<(), LaunchError> {
        for (&buffer, tensor) in inputs.iter().zip(self) {
            device.write(buffer, &tensor.storage)?;
        }
        Ok(())
    }

    fn changed(
        &self,
        device: &mut dyn Device,
        inputs: &[BufferId],
    ) -> Result<Option<(usize, usize)>, LaunchError> {
        for (input, (&buffer, tensor)) in inputs.iter().zip(self).enumerate() {
            let now = device.read(buffer)?;
            if now == tensor.storage {
                continue;
            }
            let byte = now.iter().zip(&tensor.storage).position(|(a, b)| a != b);
            return Ok(byte.map(|byte| (input, byte / tensor.spec.dtype.size())));
        }
        Ok(None)
    }
}

/// A case on one set of data.
pub(super) trait CaseData {
    fn case(&self) -> &Case;

    /// Returns names and layouts of the outputs.
    fn outputs(&self) -> &[(String, TensorSpec)];

    /// Returns the values of the inputs.
    fn source(&self) -> &dyn InputSource;

    /// Runs a program of the case and judges its outputs.
    fn run(
        &self,
        device: &mut dyn Device,
        program: &CaseProgram,
        modules: Modules,
    ) -> Result<Ran, Error>;

    /// Judges outputs that were produced while timing, after poison of 0xff; `None` where they are
    /// right.
    fn recheck(
        &self,
        device: &mut dyn Device,
        session: &Session<'_>,
    ) -> Result<Option<CaseResult>, Error>;
}
