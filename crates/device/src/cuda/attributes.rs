//! Attributes of launches: clusters, programmatic dependent launch, all blocks at once.

use std::ptr;

use cudarc::driver::sys::{
    self, CUfunction, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_union__bindgen_ty_1 as ClusterDim, CUlaunchConfig, CUstream,
};
use kgen_record::{LaunchAttributes, Target};

use crate::{Launch, LaunchError, limits::launch_error};

/// First driver with attributes of launches.
const FIRST_VERSION: u32 = 11_080;

/// Returns the attributes as the driver takes them; none for a plain launch.
pub(super) fn list(attributes: LaunchAttributes) -> Vec<CUlaunchAttribute> {
    let mut list = Vec::new();
    let mut add = |id, set: &dyn Fn(&mut CUlaunchAttributeValue)| {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        set(&mut value);
        list.push(CUlaunchAttribute { id, pad: [0; 4], value });
    };
    if let Some([x, y, z]) = attributes.cluster {
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        add(id, &|value| value.clusterDim = ClusterDim { x, y, z });
    }
    if attributes.pdl {
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        add(id, &|value| value.programmaticStreamSerializationAllowed = 1);
    }
    if attributes.cooperative {
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        add(id, &|value| value.cooperative = 1);
    }
    list
}

/// Returns the configuration of a launch, which points to its attributes.
pub(super) fn config(
    grid: [u32; 3],
    block: [u32; 3],
    smem: u32,
    stream: CUstream,
    attributes: &mut [CUlaunchAttribute],
) -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: smem,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: u32::try_from(attributes.len()).expect("there are three attributes"),
    }
}

/// Refuses attributes that the driver does not know, and a cooperative launch whose blocks do not fit
/// the GPU at once.
pub(super) fn check(
    function: CUfunction,
    launch: &Launch,
    target: &Target,
) -> Result<(), LaunchError> {
    let attributes = launch.attributes;
    if attributes.is_plain() {
        return Ok(());
    }
    let kernel = &launch.kernel;
    if let Some(version) = target.driver_version.filter(|version| *version < FIRST_VERSION) {
        return Err(launch_error(format!(
            "kernel `{kernel}` is launched with attributes that the driver, which runs CUDA {}.{}, \
             does not know",
            version / 1000,
            version % 1000 / 10
        )));
    }
    if !attributes.cooperative {
        return Ok(());
    }
    let blocks: u64 = launch.grid.iter().map(|n| u64::from(*n)).product();
    let Some(resident) = resident(function, launch, target) else { return Ok(()) };
    if blocks <= resident {
        return Ok(());
    }
    Err(launch_error(format!(
        "kernel `{kernel}` is launched cooperatively with {blocks} blocks, which must all run at once: \
         this GPU runs {resident} of them on its {} multiprocessors",
        target.sm_count
    )))
}

/// Returns how many blocks of a launch the GPU runs at once; `None` where the driver does not say.
fn resident(function: CUfunction, launch: &Launch, target: &Target) -> Option<u64> {
    let mut count = 0;
    if let Some(cluster) = launch.attributes.cluster {
        let alone = LaunchAttributes { cluster: Some(cluster), ..LaunchAttributes::default() };
        let mut list = list(alone);
        let (grid, block, smem) = (launch.grid, launch.block, launch.smem);
        let config = config(grid, block, smem, ptr::null_mut(), &mut list);
        // SAFETY: the function belongs to a loaded module; all pointers are valid for the call.
        let status = unsafe {
            sys::cuOccupancyMaxActiveClusters(&raw mut count, function, &raw const config)
        };
        status.result().ok()?;
        let blocks: u64 = cluster.iter().map(|n| u64::from(*n)).product();
        return Some(u64::from(count.unsigned_abs()) * blocks);
    }
    let threads: u32 = launch.block.iter().product();
    let threads = i32::try_from(threads).expect("a block has at most 1024 threads");
    // SAFETY: the function belongs to a loaded module; the pointer is valid for writes.
    let status = unsafe {
        sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &raw mut count,
            function,
            threads,
            launch.smem as usize,
        )
    };
    status.result().ok()?;
    Some(u64::from(count.unsigned_abs()) * u64::from(target.sm_count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_has_the_attributes_it_asks_for_and_no_others() {
        assert!(list(LaunchAttributes::default()).is_empty());
        let all = LaunchAttributes { cluster: Some([2, 1, 4]), pdl: true, cooperative: true };
        let mut all = list(all);
        let ids: Vec<u32> = all.iter().map(|attribute| attribute.id as u32).collect();
        assert_eq!(ids, [4, 6, 2], "numbers of cuda.h");
        // SAFETY: the value was written as the same member.
        let cluster = unsafe { all[0].value.clusterDim };
        assert_eq!((cluster.x, cluster.y, cluster.z), (2, 1, 4));
        let config = config([4, 3, 8], [32, 2, 1], 7, ptr::null_mut(), &mut all);
        assert_eq!((config.gridDimZ, config.blockDimY, config.numAttrs), (8, 2, 3));
    }
}
