//! The limits of a launch that every device keeps.

use kgen_record::{Finding, LaunchAttributes, Target, Verdict};

use super::{Launch, LaunchError};

/// Refuses launches that every GPU refuses, with a message that names the limit.
pub(super) fn check_limits(launch: &Launch, target: &Target) -> Result<(), LaunchError> {
    let Launch { kernel, grid, block, smem, attributes, .. } = launch;
    let threads = block.iter().map(|n| u64::from(*n)).product::<u64>();
    let reason = if grid.contains(&0) || block.contains(&0) {
        "no dimension may be 0".to_owned()
    } else if threads > 1024 || block[0] > 1024 || block[1] > 1024 || block[2] > 64 {
        "a block has at most 1024 threads, 64 of them along z".to_owned()
    } else if grid[0] > i32::MAX.unsigned_abs() || grid[1] > 65_535 || grid[2] > 65_535 {
        "a grid has at most 2147483647 blocks along x and 65535 along y and z".to_owned()
    } else if *smem > target.smem_max {
        format!("a block has at most {} bytes of shared memory on this GPU", target.smem_max)
    } else if let Some(reason) = refuse_attributes(*grid, attributes, target) {
        reason
    } else {
        return Ok(());
    };
    Err(launch_error(format!(
        "kernel `{kernel}` cannot be launched with grid {grid:?}, block {block:?} and {smem} bytes \
         of dynamic shared memory: {reason}"
    )))
}

/// Returns why a GPU refuses the attributes of a launch; `None` where it takes them.
fn refuse_attributes(
    grid: [u32; 3],
    attributes: &LaunchAttributes,
    target: &Target,
) -> Option<String> {
    let is_new = attributes.cluster.is_some() || attributes.pdl;
    if is_new && target.cc_major < 9 {
        let has = format!("sm_{}{}", target.cc_major, target.cc_minor);
        return Some(format!("clusters and dependent launches need sm_90, this device is {has}"));
    }
    let cluster = attributes.cluster?;
    let blocks = cluster.iter().map(|n| u64::from(*n)).product::<u64>();
    if !(1..=8).contains(&blocks) {
        return Some(format!("a cluster has 1 to 8 blocks, not {blocks}"));
    }
    let divides = grid.iter().zip(cluster).all(|(grid, extent)| grid % extent == 0);
    (!divides).then(|| format!("the grid is not made of clusters of {cluster:?} blocks"))
}

/// Returns the verdict of a launch that is impossible.
pub(super) fn launch_error(message: String) -> LaunchError {
    LaunchError::verdict(Verdict::LaunchError, Finding::new(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_launches_are_refused_in_words() {
        let target = Target::h100_class();
        let base = Launch {
            kernel: "k".to_owned(),
            grid: [1; 3],
            block: [1; 3],
            smem: 0,
            ..Launch::default()
        };
        check_limits(&base, &target).unwrap();
        let clusters = |cluster| {
            let cluster = Some(cluster);
            let attributes = LaunchAttributes { cluster, ..LaunchAttributes::default() };
            Launch { attributes, ..base.clone() }
        };
        let cases = [
            (Launch { grid: [0, 1, 1], ..base.clone() }, "no dimension may be 0"),
            (Launch { block: [32, 33, 1], ..base.clone() }, "at most 1024 threads"),
            (Launch { block: [1, 1, 65], ..base.clone() }, "64 of them along z"),
            (Launch { grid: [1, 65_536, 1], ..base.clone() }, "65535 along y and z"),
            (Launch { smem: 300_000, ..base.clone() }, "232448 bytes"),
            (clusters([16, 1, 1]), "1 to 8 blocks, not 16"),
            (clusters([2, 1, 1]), "not made of clusters of [2, 1, 1]"),
        ];
        for (launch, reason) in cases {
            let message = check_limits(&launch, &target).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
        let old = Target { cc_major: 8, ..target };
        let message = check_limits(&clusters([1; 3]), &old).unwrap_err().to_string();
        assert!(message.contains("need sm_90, this device is sm_80"), "{message}");
    }
}
