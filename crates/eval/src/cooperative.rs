//! Whether the blocks of a cooperative launch fit the device at once.

use kgen_measure::occupancy::Occupancy;
use kgen_record::{Finding, Resources, Step, Target};

use super::static_facts::{blocks, multiprocessor, needs};

/// Refuses a cooperative launch with more blocks than the device runs at once, as far as that is known.
///
/// `compiled`: the resources of the kernel.
pub(super) fn check(
    step: &Step,
    compiled: &Resources,
    target: &Target,
) -> Result<(), Box<Finding>> {
    let Step::Launch { kernel, grid, block, smem, attributes, .. } = step else { return Ok(()) };
    if !attributes.cooperative {
        return Ok(());
    }
    let needs = needs(compiled, *block, *smem);
    let occupancy = multiprocessor(target).and_then(|sm| Occupancy::of(&sm, &needs));
    let Some(occupancy) = occupancy else { return Ok(()) };
    let blocks = blocks(*grid);
    let resident = u64::from(occupancy.blocks_per_sm) * u64::from(target.sm_count);
    if blocks <= resident {
        return Ok(());
    }
    let mut finding = Finding::new(format!(
        "kernel `{kernel}` is launched cooperatively with {blocks} blocks, which must all run at once: \
         the device runs {resident}, {} on each of its {} multiprocessors (limited by {}: {} threads, {} \
         registers per thread, {} bytes of shared memory)",
        occupancy.blocks_per_sm,
        target.sm_count,
        occupancy.limiter.name(),
        needs.block_threads,
        needs.registers,
        needs.shared_bytes,
    ));
    finding.hint = Some("loop in the kernel: `grid=min(.., sm_count)`".to_owned());
    Err(Box::new(finding))
}

#[cfg(test)]
mod tests {
    use kgen_record::LaunchAttributes;

    use super::*;

    #[test]
    fn a_grid_that_does_not_fit_is_refused_with_the_numbers() {
        let target = Target::h100_class();
        let compiled = Resources { registers: 64, ..Resources::default() };
        let step = |blocks, cooperative| Step::Launch {
            kernel: "k".to_owned(),
            grid: [blocks, 1, 1],
            block: [256, 1, 1],
            smem: 0,
            args: Vec::new(),
            line: 1,
            attributes: LaunchAttributes { cooperative, ..LaunchAttributes::default() },
        };
        check(&step(4 * 132, true), &compiled, &target).unwrap();
        check(&step(9999, false), &compiled, &target).unwrap();
        let finding = check(&step(4 * 132 + 1, true), &compiled, &target).unwrap_err();
        for part in ["529 blocks", "runs 528, 4 on each of its 132", "registers: 256 threads, 64"] {
            assert!(finding.message.contains(part), "{}", finding.message);
        }
        let unknown = Target { cc_major: 99, ..target };
        check(&step(9999, true), &compiled, &unknown).unwrap();
    }
}
