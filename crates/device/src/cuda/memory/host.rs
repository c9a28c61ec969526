//! Memory of the host that copies begin or end in.

use std::{ffi::c_void, fmt, slice};

use cudarc::driver::result;

use super::super::CudaDevice;
use crate::{Error, LaunchError, limits::launch_error};

/// The byte that host memory is filled with: a page that nobody wrote is one page of zeros for all.
const FILL: u8 = 0x5a;

/// Memory of the host, every page of which was written.
pub struct HostMemory(Pages);

enum Pages {
    /// From the system's allocator; the driver copies it through a buffer of its own.
    Pageable(Vec<u8>),
    /// Locked by the driver, which a GPU reads and writes itself.
    Pinned { address: *mut c_void, bytes: usize },
}

impl HostMemory {
    /// Returns its bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        match &self.0 {
            Pages::Pageable(bytes) => bytes.len(),
            Pages::Pinned { bytes, .. } => *bytes,
        }
    }

    /// Returns whether it has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the driver locked it.
    #[must_use]
    pub const fn is_pinned(&self) -> bool {
        matches!(self.0, Pages::Pinned { .. })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.0 {
            Pages::Pageable(bytes) => bytes,
            // SAFETY: the driver gave so many bytes, all of which were written; they live until `drop`.
            Pages::Pinned { address, bytes } => unsafe {
                slice::from_raw_parts(address.cast(), *bytes)
            },
        }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Pages::Pageable(bytes) => bytes,
            // SAFETY: as in `bytes`; nobody else has the address.
            Pages::Pinned { address, bytes } => unsafe {
                slice::from_raw_parts_mut(address.cast(), *bytes)
            },
        }
    }
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("HostMemory");
        text.field("bytes", &self.len()).field("is_pinned", &self.is_pinned()).finish()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Pages::Pinned { address, .. } = self.0 {
            // SAFETY: the memory is from `malloc_host`, and `self` ends here.
            _ = unsafe { result::free_host(address) };
        }
    }
}

impl CudaDevice {
    /// Allocates memory of the host: pageable, or locked by the driver.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Kernel`] where the host does not give so much.
    pub fn host_memory(
        &mut self,
        bytes: usize,
        is_pinned: bool,
    ) -> Result<HostMemory, LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let refused = |reason: String| {
            let kind = if is_pinned { "pinned" } else { "pageable" };
            launch_error(format!("the host gives no {bytes} bytes of {kind} memory: {reason}"))
        };
        if !is_pinned {
            let mut pages = Vec::new();
            pages.try_reserve_exact(bytes).map_err(|error| refused(error.to_string()))?;
            pages.resize(bytes, FILL);
            return Ok(HostMemory(Pages::Pageable(pages)));
        }
        // SAFETY: freed in `drop`, and only there.
        let address = unsafe { result::malloc_host(bytes.max(1), 0) };
        let address = address.map_err(|error| refused(super::super::driver::text(error)))?;
        // SAFETY: the driver gave so many bytes.
        unsafe { address.cast::<u8>().write_bytes(FILL, bytes) };
        Ok(HostMemory(Pages::Pinned { address, bytes }))
    }
}
