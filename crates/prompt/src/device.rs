//! Facts about the device as templates see them.

use kgen_record::Target;
use serde::Serialize;

use super::text::{inline, significant};

#[derive(Debug, Serialize)]
pub(super) struct DeviceView {
    name: String,
    arch: String,
    /// Compute capability, for example `9.0`.
    compute_capability: String,
    sm_count: u32,
    smem_kib: u32,
    l2_mib: u64,
    memory_gib: u64,
    bandwidth_gbs: Option<String>,
    can_time: bool,
}

impl DeviceView {
    pub(super) fn of(target: &Target, can_time: bool) -> Self {
        Self {
            name: inline(&target.name, 80),
            arch: target.arch.clone(),
            compute_capability: format!("{}.{}", target.cc_major, target.cc_minor),
            sm_count: target.sm_count,
            smem_kib: target.smem_max >> 10,
            l2_mib: target.l2_bytes >> 20,
            memory_gib: target.memory_bytes >> 30,
            bandwidth_gbs: target.peak_bandwidth.map(|bytes| significant(bytes / 1e9, 4)),
            can_time,
        }
    }
}

/// Returns the name of the architecture's notes, where there may be some.
pub(super) fn notes_of(target: &Target) -> String {
    format!("arch/sm_{}{}", target.cc_major, target.cc_minor)
}
