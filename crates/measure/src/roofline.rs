//! The least time in which the hardware can do an op's work.
//!
//! Two answers that must not be mixed: the *floor* from the measured peaks of this machine,
//! which results are shown against, and the time below which a result is *impossible* by the data
//! sheet, which makes it suspicious.

mod table;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times below this many empty kernels are mostly the launch's.
const OVERHEAD_FACTOR: f64 = 5.0;

/// Share above the data sheet that is put down to its rounding and to clocks.
const MARGIN: f64 = 1.02;

/// Whether a time is mostly that of launching.
///
/// `launch_floor_us`: the median time of an empty kernel. Such cases stay out of headline means.
#[must_use]
pub fn is_overhead_dominated(median_us: f64, launch_floor_us: f64) -> bool {
    median_us < OVERHEAD_FACTOR * launch_floor_us
}

/// The arithmetic that does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pipe {
    /// Double precision.
    F64,
    /// Single precision without tensor cores.
    F32,
    /// Tensor cores on f32 inputs rounded to TF32.
    Tf32,
    /// Tensor cores on f16 or bf16 inputs.
    F16,
    /// Tensor cores on 8-bit floats.
    F8,
    /// Tensor cores on 8-bit integers.
    I8,
}

/// Sizes and clocks of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Chip {
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Highest clock of the multiprocessors in MHz.
    pub max_sm_mhz: f64,
    /// Bytes of L2 cache.
    pub l2_bytes: u64,
}

/// Peaks of a GPU. An unknown one takes no part in any bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Sizes and clocks.
    pub chip: Chip,
    /// Bytes per second by memory clock and bus width.
    pub datasheet_bandwidth: Option<f64>,
    /// Bytes per second that a reading kernel was measured to reach.
    pub read_bandwidth: Option<f64>,
    /// Bytes per second, read and written, that a copy was measured to reach.
    pub copy_bandwidth: Option<f64>,
    /// Bytes per second, read and written, of `a = b + s * c`.
    pub triad_bandwidth: Option<f64>,
    /// Time of an empty kernel in microseconds.
    pub launch_floor_us: Option<f64>,
}

/// The least an op must do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Bytes of distinct inputs.
    pub read_bytes: f64,
    /// Bytes of outputs.
    pub write_bytes: f64,
    /// Floating-point operations, a fused multiply-add being two.
    pub flops: f64,
    /// Those among them that no algorithm gets by without: a time is never called impossible for
    /// the others.
    pub least_flops: f64,
    /// The unit that runs them.
    pub pipe: Pipe,
}

/// The bound of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Moving its bytes.
    Memory,
    /// Its arithmetic.
    Compute,
    /// Launching a kernel at all.
    Launch,
}

/// The bounds of one case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Roofline {
    /// The least time by measurements of this machine, in microseconds.
    pub floor_us: f64,
    /// The kind of floor.
    pub limit: Limit,
    /// A time below this is impossible by the data sheet, in microseconds; absent where the data
    /// sheet excludes nothing, as for data that fits into L2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible_us: Option<f64>,
}

impl Roofline {
    /// Bounds `work` on a GPU; `None` if nothing is known that bounds it.
    #[must_use]
    pub fn of(peaks: &Peaks, work: &Work) -> Option<Self> {
        let candidates = [
            (Limit::Launch, peaks.launch_floor_us),
            (Limit::Memory, peaks.memory_us(work)),
            (Limit::Compute, peaks.compute_us(work)),
        ];
        let (limit, floor_us) = candidates
            .into_iter()
            .filter_map(|(limit, time)| Some((limit, time?)))
            .filter(|(_, time)| time.is_finite() && *time > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Self { floor_us, limit, impossible_us: peaks.impossible_us(work) })
    }

    /// The floor as a percentage of a time: 100 is as fast as this machine can.
    #[must_use]
    pub fn percent_of_floor(&self, median_us: f64) -> f64 {
        100.0 * self.floor_us / median_us
    }

    /// Whether a time is shorter than the hardware allows.
    #[must_use]
    pub fn is_impossible(&self, median_us: f64) -> bool {
        self.impossible_us.is_some_and(|bound| median_us < bound)
    }
}

/// Shares of reads above which an op is bounded by the bandwidth of reads.
const MOSTLY_READ: f64 = 0.9;

impl Peaks {
    /// The data sheet's bandwidth in bytes per second: two transfers per clock.
    ///
    /// Source: `CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE`, `.._GLOBAL_MEMORY_BUS_WIDTH`.
    #[must_use]
    pub fn bandwidth(memory_mhz: f64, bus_bits: u32) -> f64 {
        2.0 * memory_mhz * 1e6 * f64::from(bus_bits) / 8.0
    }

    /// Operations per second of a pipe at the clock its data sheet rates it at; `None` for GPUs
    /// and pipes that the table lacks.
    #[must_use]
    pub fn flops(&self, pipe: Pipe) -> Option<f64> {
        let mhz = table::rated_mhz(self.chip.compute_capability, pipe)
            .map_or(self.chip.max_sm_mhz, |rated| rated.min(self.chip.max_sm_mhz));
        self.flops_at(pipe, mhz)
    }

    fn flops_at(&self, pipe: Pipe, mhz: f64) -> Option<f64> {
        let fma = table::fma_per_clock(self.chip.compute_capability, pipe)?;
        Some(2.0 * fma * f64::from(self.chip.sm_count) * mhz * 1e6)
    }

    /// Time to move the bytes at the measured bandwidth of their mix, else at the data sheet's.
    fn memory_us(&self, work: &Work) -> Option<f64> {
        let bytes = work.read_bytes + work.write_bytes;
        let measured = if work.read_bytes >= MOSTLY_READ * bytes {
            self.read_bandwidth
        } else {
            self.copy_bandwidth
        };
        Some(bytes / measured.or(self.datasheet_bandwidth)? * 1e6)
    }

    fn compute_us(&self, work: &Work) -> Option<f64> {
        Some(work.flops / self.flops(work.pipe)? * 1e6)
    }

    /// The longest time that the data sheet proves to be needed.
    ///
    /// The capacity of L2 is taken off the bytes: reads may hit data that survived a flush, and the last
    /// writes need not have left the cache when the kernel ends. Arithmetic is bounded by the
    /// fastest pipe that keeps the precision, at the highest clock.
    fn impossible_us(&self, work: &Work) -> Option<f64> {
        let bytes = work.read_bytes + work.write_bytes - self.chip.l2_bytes as f64;
        let memory = self.datasheet_bandwidth.map(|peak| bytes / (peak * MARGIN) * 1e6);
        let pipe = table::fastest_for(work.pipe);
        let compute = self
            .flops_at(pipe, self.chip.max_sm_mhz)
            .map(|peak| work.least_flops / (peak * MARGIN) * 1e6);
        [memory, compute].into_iter().flatten().filter(|time| *time > 0.0).max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests;
