//! Memory of another GPU.

use cudarc::driver::{
    DriverError, result,
    result::{ctx, primary_ctx},
    sys::{self, CUcontext, CUdevice, CUdeviceptr, CUresult},
};

use super::super::{CudaDevice, driver::machine, list};
use crate::{Error, LaunchError, limits::launch_error};

/// Memory of another GPU, every page of which was written.
#[derive(Debug)]
pub struct Peer {
    gpu: CUdevice,
    pub(super) context: CUcontext,
    /// The context of the GPU that it is a peer of.
    pub(super) own: CUcontext,
    pub(super) address: CUdeviceptr,
    bytes: usize,
    has_access: bool,
}

impl Peer {
    /// Returns its bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes
    }

    /// Returns whether it has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns whether the GPUs reach each other's memory, so that copies need not pass through the host.
    #[must_use]
    pub const fn has_access(&self) -> bool {
        self.has_access
    }

    /// Allocates and writes memory in the current context; it stays empty where fewer than `bytes + spare`
    /// bytes are free.
    fn allocate(&mut self, bytes: usize, spare: usize) -> Result<(), DriverError> {
        let (free, _) = result::mem_get_info()?;
        if bytes == 0 || free < bytes.saturating_add(spare) {
            return Ok(());
        }
        // SAFETY: freed in `drop`, and only there.
        self.address = unsafe { result::malloc_sync(bytes) }?;
        self.bytes = bytes;
        // SAFETY: the allocation has that many bytes.
        unsafe { result::memset_d8_sync(self.address, 0x5a, bytes) }?;
        ctx::synchronize()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SAFETY: contexts and memory are alive, and released once. Failures mean that a context is lost, and
        // its memory with it.
        unsafe {
            if self.bytes > 0 && ctx::set_current(self.context).is_ok() {
                _ = result::free_sync(self.address);
            }
            _ = ctx::set_current(self.own);
            _ = primary_ctx::release(self.gpu);
        }
    }
}

impl CudaDevice {
    /// Opens another GPU and allocates `bytes` bytes there, beside which `spare` bytes stay free. Each GPU then
    /// reaches the other's memory where that is possible.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Machine`] where there is no such GPU, [`LaunchError::Kernel`] where it has less
    /// memory.
    pub fn peer(&mut self, ordinal: u32, bytes: usize, spare: usize) -> Result<Peer, LaunchError> {
        const ACTION: &str = "open another GPU";
        let fail = |error| LaunchError::Machine(machine(ACTION, error));
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let gpu = list::get(ordinal).map_err(LaunchError::Machine)?;
        let own = ctx::get_current().map_err(fail)?.ok_or(Error::Lost)?;
        // SAFETY: the handle is one that the driver gave; `Peer` releases the context.
        let context = unsafe { primary_ctx::retain(gpu) }.map_err(fail)?;
        let has_access = can_access(self.gpu, gpu) && can_access(gpu, self.gpu);
        let mut peer = Peer { gpu, context, own, address: 0, bytes: 0, has_access };
        // SAFETY: both contexts are alive.
        let (allocated, back) = unsafe {
            let there = ctx::set_current(context);
            let allocated = there.and_then(|()| peer.allocate(bytes, spare));
            if has_access {
                peer.has_access = enable(own).is_ok();
            }
            (allocated, ctx::set_current(own))
        };
        back.map_err(fail)?;
        allocated.map_err(fail)?;
        if peer.has_access {
            peer.has_access = enable(context).is_ok();
        }
        if peer.is_empty() {
            return Err(launch_error(format!("cuda:{ordinal} has too little free memory")));
        }
        Ok(peer)
    }
}

fn can_access(from: CUdevice, to: CUdevice) -> bool {
    let mut can = 0;
    // SAFETY: the handles are ones that the driver gave, and the pointer is valid for writes.
    let status = unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, from, to) };
    status.result().is_ok() && can != 0
}

/// Lets the current context reach the memory of another one.
fn enable(peer: CUcontext) -> Result<(), DriverError> {
    // SAFETY: the context is alive.
    let status = unsafe { sys::cuCtxEnablePeerAccess(peer, 0) };
    match status.result() {
        Err(error) if error.0 == CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
        other => other,
    }
}
