//! Whether a case fits into the memory of a device.

use kgen_device::Device;
use kgen_record::{Case, CaseOutcome, Evaluation, TensorSpec, Verdict};

use super::CaseProgram;

/// Bytes that are left to the driver, to kernels' stacks and to the flushing of the cache.
const RESERVE: u64 = 1 << 30;

/// Bytes below which nobody asks: any GPU has as many.
const SMALL: u64 = 64 << 20;

/// The end of the reason why a case is skipped that has no memory.
const FREE: &str = " free";

/// Returns the bytes of inputs, outputs and scratch of a program.
pub(super) fn arm(case: &Case, outputs: &[(String, TensorSpec)], program: &CaseProgram) -> u64 {
    let inputs = case.tensors().map(|(_, tensor)| tensor.spec.storage_bytes());
    let tensors: usize = inputs.chain(outputs.iter().map(|(_, spec)| spec.storage_bytes())).sum();
    tensors as u64 + scratch(program)
}

/// Returns the bytes of a program's scratch.
pub(super) fn scratch(program: &CaseProgram) -> u64 {
    program.plan.scratch.iter().map(|scratch| scratch.bytes).sum()
}

/// Returns why a case that needs so many bytes cannot run now.
pub(super) fn lacking(device: &mut dyn Device, need: u64) -> Option<String> {
    if need < SMALL { None } else { compared(need, device.free_bytes()?) }
}

/// Returns whether an evaluation beside others wanted for memory.
pub fn was_lacking(evaluation: &Evaluation) -> bool {
    evaluation.cases.iter().any(|case| lacked(&case.outcome))
}

fn lacked(outcome: &CaseOutcome) -> bool {
    match outcome {
        CaseOutcome::Skipped { reason } => {
            reason.contains("out of memory")
                || reason.contains("no memory left")
                || reason.ends_with(FREE)
        }
        CaseOutcome::Judged(verdict) => *verdict == Verdict::LaunchError,
    }
}

/// Compares the need of a case with the free memory that the device reports.
fn compared(need: u64, free: u64) -> Option<String> {
    let free = free.saturating_sub(RESERVE);
    let lacks = need >= SMALL && need > free;
    lacks.then(|| format!("needs {:.1} GB, {:.1}{FREE}", gigabytes(need), gigabytes(free)))
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_device::EmuDevice;
    use kgen_record::Target;

    #[test]
    fn a_device_without_a_limit_lacks_nothing() {
        let mut device = EmuDevice::new(&Target::h100_class());
        assert_eq!(lacking(&mut device, u64::MAX), None);
    }

    #[test]
    fn an_outcome_that_memory_decided_is_known() {
        let skipped = |reason: String| lacked(&CaseOutcome::Skipped { reason });
        let reason = compared(12_100_000_000, 0).unwrap();
        assert!(CaseOutcome::Skipped { reason: reason.clone() }.is_too_large());
        assert!(skipped(reason));
        assert!(skipped("out of memory: CUDA out of memory".to_owned()));
        assert!(!skipped("an earlier case failed".to_owned()));
        assert!(lacked(&CaseOutcome::Judged(Verdict::LaunchError)));
        assert!(!lacked(&CaseOutcome::Judged(Verdict::WrongOutput)));
    }

    #[test]
    fn lacking_memory_is_reported_in_gigabytes() {
        assert_eq!(compared(12_100_000_000, 4_273_741_824), Some("needs 12.1 GB, 3.2 free".into()));
        assert_eq!(compared(12_100_000_000, 14_000_000_000), None);
        assert_eq!(compared(SMALL - 1, 0), None);
    }
}
