//! Files that both processes see, for buffers that cannot be shared where they are.
//!
//! They lie in the worker's scratch folder and not in `/dev/shm`: the folder goes with the worker,
//! however that ends, and containers often give `/dev/shm` no more than 64 MB.

use std::{
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
};

use kgen_device::{BufferId, Device, LaunchError};
use tempfile::NamedTempFile;

/// One file per buffer.
pub(super) struct Files(Vec<NamedTempFile>);

impl Files {
    /// Makes files as large as the buffers.
    pub(super) fn new(device: &dyn Device, buffers: &[BufferId]) -> Result<Self, LaunchError> {
        let file = |&buffer: &BufferId| {
            let file = tempfile::Builder::new().prefix("tensor-").tempfile()?;
            file.as_file().set_len(device.size(buffer) as u64)?;
            Ok(file)
        };
        buffers.iter().map(file).collect::<io::Result<_>>().map(Self).map_err(file_error)
    }

    /// Returns the files' paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(NamedTempFile::path)
    }

    /// Copies the buffers into the files.
    pub(super) fn fill(
        &mut self,
        device: &mut dyn Device,
        buffers: &[BufferId],
    ) -> Result<(), LaunchError> {
        for (file, &buffer) in self.0.iter_mut().zip(buffers) {
            let bytes = device.read(buffer)?;
            file.rewind().and_then(|()| file.write_all(&bytes)).map_err(file_error)?;
        }
        Ok(())
    }

    /// Copies the files into the buffers.
    pub(super) fn empty(
        &mut self,
        device: &mut dyn Device,
        buffers: &[BufferId],
    ) -> Result<(), LaunchError> {
        for (file, &buffer) in self.0.iter_mut().zip(buffers) {
            let mut bytes = Vec::with_capacity(device.size(buffer));
            file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(file_error)?;
            device.write(buffer, &bytes)?;
        }
        Ok(())
    }
}

fn file_error(error: io::Error) -> LaunchError {
    let action = "share a buffer with the Python process through a file";
    LaunchError::Machine(kgen_device::Error::Driver { action, reason: error.to_string() })
}
