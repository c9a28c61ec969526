//! Allocating and freeing, on the host's clock.

use std::{
    ffi::c_void,
    time::{Duration, Instant},
};

use cudarc::driver::{
    DriverError,
    result::{self, device, mem_pool},
    sys::{
        CUdevice_attribute, CUmemAllocationType, CUmemLocation, CUmemLocationType,
        CUmemPool_attribute, CUmemPoolProps, CUmemoryPool,
    },
};

use super::super::CudaDevice;
use crate::{Device as _, Error, LaunchError, limits::launch_error};

/// A way to get device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocator {
    /// `cuMemAlloc` and `cuMemFree`.
    Plain,
    /// `cuMemAllocFromPoolAsync` and `cuMemFreeAsync`, from a pool that keeps what is freed.
    Pool,
}

/// How long the host was in the two calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllocationTime {
    pub alloc_us: f64,
    pub free_us: f64,
}

impl CudaDevice {
    /// Allocates and frees so many bytes `n_samples` times, after once that is not timed. Ends early, with
    /// three samples or more, once `limit` is over.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Kernel`] where there is not so much memory or no pool, [`LaunchError::Machine`].
    pub fn time_allocations(
        &mut self,
        allocator: Allocator,
        bytes: usize,
        n_samples: usize,
        limit: Duration,
    ) -> Result<Vec<AllocationTime>, LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let pool = match allocator {
            Allocator::Plain => None,
            Allocator::Pool => Some(self.pool()?),
        };
        self.sync()?;
        let began = Instant::now();
        let mut times = Vec::new();
        let timed = loop {
            let time = match &pool {
                None => plain(bytes),
                Some(pool) => self.pooled(pool, bytes),
            };
            match time {
                Ok(time) => times.push(time),
                Err(error) => break Err(error),
            }
            if times.len() > n_samples || (times.len() > 3 && began.elapsed() > limit) {
                break Ok(());
            }
        };
        timed.map_err(|error| {
            let reason = super::super::driver::text(error);
            launch_error(format!("the GPU gives no {bytes} bytes: {reason}"))
        })?;
        times.remove(0);
        Ok(times)
    }

    /// Makes a pool that keeps all memory that it ever had.
    fn pool(&self) -> Result<Pool, LaunchError> {
        let which = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        // SAFETY: the handle is one that the driver gave.
        let has_pools = unsafe { device::get_attribute(self.gpu, which) };
        if !has_pools.is_ok_and(|has| has != 0) {
            return Err(launch_error("the GPU has no memory pools".to_owned()));
        }
        let fail = |error| launch_error(super::super::driver::text(error));
        // SAFETY: all members may be zero: no shareable handles, no limit.
        let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
        props.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        props.location =
            CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: self.gpu };
        // SAFETY: the properties are valid; `Pool` destroys it.
        let pool = Pool(unsafe { mem_pool::create(&raw const props) }.map_err(fail)?);
        let mut keep = u64::MAX;
        let value: *mut c_void = (&raw mut keep).cast();
        let which = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool is alive, and the attribute is a 64-bit number.
        unsafe { mem_pool::set_attribute(pool.0, which, value) }.map_err(fail)?;
        Ok(pool)
    }

    /// Times one allocation from a pool. Waits only afterwards: the memory is there for whatever the stream
    /// does next.
    fn pooled(&self, pool: &Pool, bytes: usize) -> Result<AllocationTime, DriverError> {
        let began = Instant::now();
        // SAFETY: pool and stream are alive; the memory is freed below.
        let address = unsafe { mem_pool::alloc_async(pool.0, bytes, self.stream) }?;
        let allocated = Instant::now();
        // SAFETY: the memory is from the stream, and nobody uses it.
        let freed = unsafe { result::free_async(address, self.stream) };
        let time = AllocationTime::of(began, allocated);
        freed?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.stream) }?;
        Ok(time)
    }
}

fn plain(bytes: usize) -> Result<AllocationTime, DriverError> {
    let began = Instant::now();
    // SAFETY: freed below.
    let address = unsafe { result::malloc_sync(bytes) }?;
    let allocated = Instant::now();
    // SAFETY: the memory is from `malloc_sync`, and nobody uses it.
    let freed = unsafe { result::free_sync(address) };
    let time = AllocationTime::of(began, allocated);
    freed.map(|()| time)
}

impl AllocationTime {
    /// Returns the times of calls of which the second ends now.
    fn of(began: Instant, allocated: Instant) -> Self {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        Self { alloc_us: us(allocated - began), free_us: us(allocated.elapsed()) }
    }
}

/// A pool of device memory.
struct Pool(CUmemoryPool);

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the pool is alive, destroyed once, and everything from it is freed.
        _ = unsafe { mem_pool::destroy(self.0) };
    }
}
