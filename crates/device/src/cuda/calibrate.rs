//! Measurements of a GPU before anything else is measured.

use std::time::Instant;

use cudarc::driver::{result, sys::CUdeviceptr};
use kgen_measure::{Calibration, Flush, Timing};

use super::{CudaDevice, support::Support};
use crate::LaunchError;

/// Pairs of events between which nothing lies.
const N_PAIRS: usize = 400;

/// Samples of every kernel, the first of which are thrown away.
const N_SAMPLES: usize = 15;
const N_WARM_UP: usize = 3;

/// Bytes of each buffer that bandwidths are measured on: much more than any L2 cache.
const BUFFER: usize = 1 << 30;

/// Bytes below which a bandwidth would be that of the cache.
const LEAST_BUFFER: usize = 256 << 20;

/// Buffers of a triad.
const N_BUFFERS: usize = 3;

impl CudaDevice {
    /// Measures the cost of a launch, the speed of memory, and whether a flush works.
    pub(super) fn calibrate(&mut self) -> Result<Calibration, LaunchError> {
        let began = Instant::now();
        let gaps = self.sample_nothing(N_PAIRS)?;
        let mut calibration = Calibration {
            event_tick_ns: tick_ns(&gaps),
            event_floor_us: median(gaps),
            empty_kernel_us: self.median_of(Support::Empty, Flush::Memset)?,
            ..Calibration::default()
        };
        self.look_at_flush(&mut calibration)?;
        self.look_at_bandwidth(&mut calibration)?;
        calibration.took_ms = Some(began.elapsed().as_secs_f64() * 1e3);
        Ok(calibration)
    }

    fn median_of(&mut self, kernel: Support, flush: Flush) -> Result<Option<f64>, LaunchError> {
        let samples = self.sample_own(kernel, N_WARM_UP + N_SAMPLES, flush)?;
        Ok(median(samples[N_WARM_UP..].to_vec()))
    }

    /// Reads a working set that fits into the L2 cache, with and without a flush before.
    fn look_at_flush(&mut self, calibration: &mut Calibration) -> Result<(), LaunchError> {
        let bytes = self.target.l2_bytes / 4;
        let set = self.allocate(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let times = [Flush::None, Flush::Memset, Flush::Read]
            .map(|flush| self.median_of(Support::Read(set, bytes), flush));
        self.release(&[set]);
        let [hot, cold, clean] = times;
        let (cold, clean) = (cold?, clean?);
        calibration.flush_hot_us = hot?;
        calibration.flush_cold_us = cold;
        calibration.dirty_flush_us_delta = cold.zip(clean).map(|(cold, clean)| cold - clean);
        Ok(())
    }

    fn look_at_bandwidth(&mut self, calibration: &mut Calibration) -> Result<(), LaunchError> {
        let memory = result::mem_get_info();
        let (free, _) = memory.map_err(|error| self.launch_error("ask for free memory", error))?;
        let bytes = BUFFER.min(free / (2 * N_BUFFERS));
        if bytes < LEAST_BUFFER {
            return Ok(());
        }
        let mut buffers = Vec::new();
        let rates = self.bandwidths(bytes, &mut buffers);
        self.release(&buffers);
        [calibration.read_gbs, calibration.copy_gbs, calibration.triad_gbs] = rates?;
        Ok(())
    }

    /// Returns the rates of reading, copying and the triad, in GB/s.
    fn bandwidths(
        &mut self,
        bytes: usize,
        buffers: &mut Vec<CUdeviceptr>,
    ) -> Result<[Option<f64>; 3], LaunchError> {
        while buffers.len() < N_BUFFERS {
            buffers.push(self.allocate(bytes)?);
        }
        let size = bytes as u64 / 64 * 64;
        let kernels = [
            Support::Read(buffers[0], size),
            Support::Copy([buffers[0], buffers[1]], size),
            Support::Triad([buffers[0], buffers[1], buffers[2]], size),
        ];
        let mut rates = [None; 3];
        for (n_moved, (rate, kernel)) in (1_u32..).zip(rates.iter_mut().zip(kernels)) {
            let us = self.median_of(kernel, Flush::None)?;
            *rate = us.map(|us| f64::from(n_moved) * gigabytes(size) / (us * 1e-6));
        }
        Ok(rates)
    }

    /// Allocates memory and writes it, so that no page of it is touched for the first time later.
    fn allocate(&mut self, bytes: usize) -> Result<CUdeviceptr, LaunchError> {
        // SAFETY: freed in `release`.
        let allocated = unsafe { result::malloc_sync(bytes) };
        let address = allocated.map_err(|error| self.launch_error("calibrate the GPU", error))?;
        // SAFETY: the allocation has that many bytes.
        let written = unsafe { result::memset_d8_async(address, 0, bytes, self.stream) };
        self.check("calibrate the GPU", written)?;
        Ok(address)
    }

    fn release(&mut self, addresses: &[CUdeviceptr]) {
        for &address in addresses {
            // SAFETY: the memory is from `allocate`, and nobody uses it any more.
            _ = unsafe { result::free_sync(address) };
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the size of a buffer")]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

fn median(samples: Vec<f64>) -> Option<f64> {
    Timing::of(samples).map(|timing| timing.median_us)
}

/// Returns the smallest step between two times, in nanoseconds; `None` where all are equal.
fn tick_ns(samples_us: &[f64]) -> Option<f64> {
    let mut ascending = samples_us.to_vec();
    ascending.sort_by(f64::total_cmp);
    let steps = ascending.windows(2).map(|pair| (pair[1] - pair[0]) * 1e3);
    steps.filter(|step| *step > 0.5).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_the_smallest_step() {
        let found = tick_ns(&[1.248, 1.216, 1.28, 1.248, 3.2]).unwrap();
        assert!((found - 32.0).abs() < 1e-6, "{found}");
        assert_eq!(tick_ns(&[1.0, 1.0]), None);
    }
}
