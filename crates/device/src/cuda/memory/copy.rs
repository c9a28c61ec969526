//! Copies between events.

use cudarc::driver::{DriverError, result};

use super::{super::CudaDevice, HostMemory, Peer};
use crate::{BufferId, Device as _, Error, LaunchError};

/// A copy from the first byte of one memory to the first byte of another.
#[derive(Debug)]
pub enum MemoryCopy<'a> {
    ToDevice { from: &'a HostMemory, to: BufferId },
    ToHost { from: BufferId, to: &'a mut HostMemory },
    OnDevice { from: BufferId, to: BufferId },
    ToPeer { from: BufferId, to: &'a Peer },
    FromPeer { from: &'a Peer, to: BufferId },
}

impl CudaDevice {
    /// Times `n_samples` batches of `n_calls` copies each; returns microseconds per copy.
    ///
    /// A batch lies between two events. Its copies are enqueued while the GPU is kept busy; those of pageable
    /// memory are not, since the host itself takes part in them. `bytes` must be at most those of either memory.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Machine`] where the driver refuses.
    pub fn time_copies(
        &mut self,
        copy: &mut MemoryCopy<'_>,
        bytes: usize,
        n_calls: usize,
        n_samples: usize,
    ) -> Result<Vec<f64>, LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        assert!(bytes <= self.bytes_of(copy), "the copy lies in both memories");
        self.need_events(2 * n_samples)?;
        if !copy.is_pageable() {
            self.hold(n_samples * (n_calls + 2))?;
        }
        for sample in 0..n_samples {
            self.record_event(2 * sample)?;
            for _ in 0..n_calls {
                let status = self.enqueue_copy(copy, bytes);
                self.check("copy memory", status)?;
            }
            self.record_event(2 * sample + 1)?;
        }
        self.sync()?;
        (0..n_samples).map(|sample| Ok(self.elapsed_us(sample)? / n_calls as f64)).collect()
    }

    /// Returns the bytes of the smaller memory.
    fn bytes_of(&self, copy: &MemoryCopy<'_>) -> usize {
        let [a, b] = match copy {
            MemoryCopy::ToDevice { from, to } => [from.len(), self.size(*to)],
            MemoryCopy::ToHost { from, to } => [self.size(*from), to.len()],
            MemoryCopy::OnDevice { from, to } => [self.size(*from), self.size(*to)],
            MemoryCopy::ToPeer { from, to } => [self.size(*from), to.len()],
            MemoryCopy::FromPeer { from, to } => [from.len(), self.size(*to)],
        };
        a.min(b)
    }

    fn enqueue_copy(&self, copy: &mut MemoryCopy<'_>, bytes: usize) -> Result<(), DriverError> {
        let address = |buffer: &BufferId| self.buffer(*buffer).address();
        let stream = self.stream;
        // SAFETY: both memories have so many bytes, and the caller waits for the stream before either can end.
        unsafe {
            match copy {
                MemoryCopy::ToDevice { from, to } => {
                    result::memcpy_htod_async(address(to), &from.bytes()[..bytes], stream)
                }
                MemoryCopy::ToHost { from, to } => {
                    result::memcpy_dtoh_async(&mut to.bytes_mut()[..bytes], address(from), stream)
                }
                MemoryCopy::OnDevice { from, to } => {
                    result::memcpy_dtod_async(address(to), address(from), bytes, stream)
                }
                MemoryCopy::ToPeer { from, to: peer } => {
                    let (to, from) = ((peer.context, peer.address), (peer.own, address(from)));
                    result::memcpy_peer_async(to.0, to.1, from.0, from.1, bytes, stream)
                }
                MemoryCopy::FromPeer { from: peer, to } => {
                    let (to, from) = ((peer.own, address(to)), (peer.context, peer.address));
                    result::memcpy_peer_async(to.0, to.1, from.0, from.1, bytes, stream)
                }
            }
        }
    }
}

impl MemoryCopy<'_> {
    const fn is_pageable(&self) -> bool {
        match self {
            Self::ToDevice { from, .. } => !from.is_pinned(),
            Self::ToHost { to, .. } => !to.is_pinned(),
            Self::OnDevice { .. } | Self::ToPeer { .. } | Self::FromPeer { .. } => false,
        }
    }
}
