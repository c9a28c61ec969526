//! Watches over a kernel: its time limit, and its writes around buffers.

use std::{
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{
    result,
    sys::{self, CUdeviceptr, CUresult},
};
use kgen_record::{Finding, Verdict};

use super::{CudaDevice, buffer::Buffer, support::Support};
use crate::{BufferId, Device as _, Error, LaunchError};

/// Time in which the end of a kernel is asked for without a pause.
const BUSY: Duration = Duration::from_millis(2);

/// Pause between two questions after that.
const PAUSE: Duration = Duration::from_micros(200);

/// Bytes of the counter's allocation.
const COUNTER_BYTES: usize = 256;

impl CudaDevice {
    /// Waits until everything launched has ended, or for as long as a candidate's kernels may run:
    /// a longer one has lost the device, since nothing can end a kernel but the end of its process.
    pub(super) fn wait_for_kernels(&mut self) -> Result<(), LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let began = Instant::now();
        loop {
            // SAFETY: the stream is alive.
            let status = unsafe { sys::cuStreamQuery(self.stream) };
            if status != CUresult::CUDA_ERROR_NOT_READY {
                // Done, or a fault, which the wait that follows reports.
                return Ok(());
            }
            let waited = began.elapsed();
            if self.kernel_limit < waited {
                self.lost = true;
                return Err(self.overdue());
            }
            if BUSY < waited {
                thread::sleep(PAUSE);
            }
        }
    }

    fn overdue(&self) -> LaunchError {
        let seconds = self.kernel_limit.as_secs_f64();
        let names = self.launched.join("`, `");
        let mut finding = Finding::new(format!("`{names}` ran for more than {seconds:.0} s"));
        finding.hint = Some("look for a loop whose condition never turns false".to_owned());
        LaunchError::Kernel {
            verdict: Verdict::TimedOut,
            finding: Box::new(finding),
            device_lost: true,
        }
    }

    /// Returns whether anything in the allocation of a buffer was written outside of the buffer.
    pub(super) fn is_damaged(&mut self, buffer: BufferId) -> Result<bool, LaunchError> {
        const ACTION: &str = "look at guard zones";
        let count = self.counter()?;
        // SAFETY: the counter has that many bytes.
        let cleared = unsafe { result::memset_d8_async(count, 0, COUNTER_BYTES, self.stream) };
        self.check(ACTION, cleared)?;
        for (from, bytes) in self.buffer(buffer).zones() {
            let bytes = bytes as u64;
            if 0 < bytes {
                let differs = Support::Differs { from, bytes, byte: Buffer::GUARD, count };
                let mut launch = self.support(differs)?;
                self.enqueue_own(&mut launch)?;
            }
        }
        let mut n_differing = [0_u8; 4];
        // SAFETY: the target lives until the wait below is over, and the counter has four bytes.
        let copied = unsafe { result::memcpy_dtoh_async(&mut n_differing, count, self.stream) };
        self.check(ACTION, copied)?;
        self.sync()?;
        Ok(n_differing != [0; 4])
    }

    fn counter(&mut self) -> Result<CUdeviceptr, LaunchError> {
        if let Some(counter) = self.counter {
            return Ok(counter);
        }
        // SAFETY: freed in `drop`, and only there.
        let allocated = unsafe { result::malloc_sync(COUNTER_BYTES) };
        let counter = allocated.map_err(|error| self.launch_error("allocate a counter", error))?;
        Ok(*self.counter.insert(counter))
    }

    /// Overwrites the shared memory of every multiprocessor: nothing of an earlier launch stays
    /// there.
    pub(super) fn scrub(&mut self) -> Result<(), LaunchError> {
        let mut launch = self.support(Support::Scrub)?;
        self.enqueue_own(&mut launch)
    }
}
