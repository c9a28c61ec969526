//! Baselines: what decides speedup.
//!
//! The `builtin` baseline is a kernel file per op, embedded in the binary and judged like any
//! candidate. It is decently written, not the fastest kernel there is: a speedup is always shown
//! with the name of what it is measured against.

/// Name of the baseline that comes with kgen.
pub const BUILTIN: &str = "builtin";

/// The embedded kernel files by op.
const KERNELS: &[(&str, &str)] = &[
    ("add", include_str!("../../suites/baselines/add.cu")),
    ("cross_entropy_loss", include_str!("../../suites/baselines/cross_entropy_loss.cu")),
    ("gelu", include_str!("../../suites/baselines/gelu.cu")),
    ("layer_norm", include_str!("../../suites/baselines/layer_norm.cu")),
    ("mm", include_str!("../../suites/baselines/mm.cu")),
    ("mse_loss", include_str!("../../suites/baselines/mse_loss.cu")),
    ("mul", include_str!("../../suites/baselines/mul.cu")),
    ("relu", include_str!("../../suites/baselines/relu.cu")),
    ("rms_norm", include_str!("../../suites/baselines/rms_norm.cu")),
    ("silu", include_str!("../../suites/baselines/silu.cu")),
    ("softmax", include_str!("../../suites/baselines/softmax.cu")),
    ("sum", include_str!("../../suites/baselines/sum.cu")),
];

/// Returns the kernel file of the `builtin` baseline for an op; `None` where there is none.
#[must_use]
pub fn builtin(op: &str) -> Option<&'static str> {
    KERNELS.iter().find(|(name, _)| *name == op).map(|(_, kernel)| *kernel)
}

#[cfg(test)]
mod tests {
    use crate::{kernel::KernelFile, op};

    #[test]
    fn every_op_has_a_baseline_that_is_a_kernel_file() {
        for op in op::all() {
            let kernel = super::builtin(op.name).unwrap_or_else(|| panic!("{} has none", op.name));
            KernelFile::parse(kernel).unwrap_or_else(|error| panic!("{}: {error}", op.name));
        }
    }
}
