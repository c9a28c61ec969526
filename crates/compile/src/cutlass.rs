//! The headers of CUTLASS and `CuTe`: which there are, and which NVRTC reads them.

use super::{Error, prelude};

/// Their version, for people.
pub(super) const VERSION: &str = "4.2.0";

/// NVRTC versions that read them, oldest and newest; CCCL of 13.2 declares tuples in another way.
const NVRTC: [(u32, u32); 2] = [(12, 8), (13, 1)];

/// Folders and files that hold host code alone, or that NVRTC cannot read for the host code in them.
const HOST_ONLY: [&str; 7] = [
    "cutlass/util/",
    "cutlass/cluster_launch.hpp",
    "cutlass/core_io.h",
    "cutlass/kernel_launch.h",
    "cute/arch/cluster_sm100.hpp",
    "cute/atom/copy_traits_sm90_im2col.hpp",
    "cute/atom/copy_traits_sm100_im2col.hpp",
];

/// Returns whether a header is of CUTLASS.
pub(super) fn is_header(name: &str) -> bool {
    name.starts_with("cute/") || name.starts_with("cutlass/")
}

/// Returns whether a header of CUTLASS is for host code.
pub(super) fn is_host_only(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.contains("host")
        || name.contains("/device/")
        || HOST_ONLY.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns whether a source includes a header of CUTLASS. The guard lets such includes through only
/// in their plain form.
#[must_use]
pub fn is_included(code: &str) -> bool {
    code.lines().filter_map(prelude::included).any(is_header)
}

/// Makes sure that an NVRTC can read the headers.
pub(super) fn check_version(nvrtc: (u32, u32)) -> Result<(), Error> {
    let [oldest, newest] = NVRTC;
    if (oldest..=newest).contains(&nvrtc) {
        return Ok(());
    }
    Err(Error::CutlassVersion { nvrtc })
}
