//! Facts about the device that a kernel is written and compiled for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts of a GPU, read from it or configured for the emulator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Name for people, for example `NVIDIA H200`.
    pub name: String,
    /// Architecture for NVRTC, for example `sm_90a`.
    pub arch: String,
    pub cc_major: u32,
    pub cc_minor: u32,
    /// Number of streaming multiprocessors.
    pub sm_count: u32,
    /// Largest shared memory a block can opt in to, in bytes.
    pub smem_max: u32,
    /// Size of the L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Memory of the device, in bytes.
    pub memory_bytes: u64,
    /// Peak memory bandwidth by the data sheet or the clocks, in bytes per second, where known.
    pub peak_bandwidth: Option<f64>,
    /// UUID of the GPU; `None` for the emulator.
    pub uuid: Option<String>,
    /// CUDA driver API version, for example 13000; `None` for the emulator.
    pub driver_version: Option<u32>,
}

impl Target {
    /// Returns whether a kernel that was compiled and planned for the one GPU is the same on the
    /// other: whether all facts are equal that its compiler and its plan see.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        let facts = |target: &Self| {
            let capability = (target.cc_major, target.cc_minor);
            (capability, target.sm_count, target.smem_max, target.l2_bytes)
        };
        self.arch == other.arch && facts(self) == facts(other)
    }

    /// Returns the target that the emulator pretends to be unless configured otherwise: an
    /// H100-class GPU.
    #[must_use]
    pub fn h100_class() -> Self {
        Self {
            name: "H100-class (emulated)".to_owned(),
            arch: "sm_90a".to_owned(),
            cc_major: 9,
            cc_minor: 0,
            sm_count: 132,
            smem_max: 232_448,
            l2_bytes: 50 << 20,
            memory_bytes: 80 << 30,
            peak_bandwidth: None,
            uuid: None,
            driver_version: None,
        }
    }
}
