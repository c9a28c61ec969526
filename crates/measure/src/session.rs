//! The facts of the machine while it measured. Plain data; all that may be unreadable is
//! optional and absent rather than guessed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The GPU and its software.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint {
    /// UUID as NVML prints it, `GPU-..`: numbers of different UUIDs are never mixed.
    pub gpu_uuid: Option<String>,
    /// Product name.
    pub name: Option<String>,
    /// Compute capability, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Streaming multiprocessors.
    pub sm_count: Option<u32>,
    /// Bytes of L2 cache.
    pub l2_bytes: Option<u64>,
    /// Bytes of device memory.
    pub memory_bytes: Option<u64>,
    /// Peak clock of the memory in MHz.
    pub memory_mhz: Option<f64>,
    /// Width of the memory bus in bits.
    pub bus_bits: Option<u32>,
    /// Highest clock of the multiprocessors in MHz.
    pub max_sm_mhz: Option<f64>,
    /// Version of the driver, for example `580.159.04`.
    pub driver: Option<String>,
    /// Version of CUDA that the driver implements, for example `13.0`.
    pub cuda: Option<String>,
    /// Version of NVRTC, for example `13.0`.
    pub nvrtc: Option<String>,
    /// Version of the video BIOS.
    pub vbios: Option<String>,
    /// Whether the GPU is split into instances (MIG).
    pub mig: Option<bool>,
    /// Whether error correction of the memory is on.
    pub ecc: Option<bool>,
    /// Enforced power limit in watts.
    pub power_limit_w: Option<f64>,
    /// Whether the driver stays loaded without clients.
    pub persistence: Option<bool>,
    /// Whether an administrator has locked the clocks.
    pub clocks_locked: Option<bool>,
    /// Processes of others on the GPU when the session began.
    pub n_foreign_processes: Option<u32>,
    /// Version of kgen.
    pub kgen: Option<String>,
}

/// Measurements of the machine before it measured anything else.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Smallest step between two events, in nanoseconds.
    pub event_tick_ns: Option<f64>,
    /// Two events with nothing between, median, in microseconds.
    pub event_floor_us: Option<f64>,
    /// An empty kernel between two events, median, in microseconds.
    pub empty_kernel_us: Option<f64>,
    /// Bytes read per second by a kernel that only reads, in GB/s.
    pub read_gbs: Option<f64>,
    /// Bytes read and written per second by a copy, in GB/s.
    pub copy_gbs: Option<f64>,
    /// Bytes read and written per second by `a = b + s * c`, in GB/s.
    pub triad_gbs: Option<f64>,
    /// Reading a working set of a quarter of L2 after a flush, median, in microseconds.
    pub flush_cold_us: Option<f64>,
    /// The same without a flush. A flush that works makes this smaller.
    pub flush_hot_us: Option<f64>,
    /// How much longer a kernel takes after a flush by writing than after one by reading, in
    /// microseconds: the cost of the dirty lines that writing leaves in L2.
    pub dirty_flush_us_delta: Option<f64>,
    /// Duration of the calibration, in milliseconds.
    pub took_ms: Option<f64>,
}

impl Calibration {
    /// Whether a flush was seen to slow a resident working set down; `None` if not measured.
    #[must_use]
    pub fn flush_works(&self) -> Option<bool> {
        self.flush_cold_us.zip(self.flush_hot_us).map(|(cold, hot)| cold > 1.05 * hot)
    }
}

/// The setting of all numbers measured by one process on one GPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The GPU and its software.
    pub fingerprint: Fingerprint,
    /// Measurements of it.
    pub calibration: Calibration,
}
