//! Arithmetic and memory traffic that a case needs at least.

use crate::record::{Case, TensorSpec};

use super::OpDef;

/// What a case needs at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Floating-point operations of the plain formula; an exponential or the like counts as 1.
    pub flops: f64,
    /// Bytes: every input element read once, every output element written once.
    pub bytes: f64,
}

/// Storage elements that are read at least: an expanded dimension is read once.
fn unique_elements(spec: &TensorSpec) -> usize {
    let extents = spec.shape.iter().zip(&spec.stride);
    extents.map(|(&extent, &stride)| if stride == 0 { extent.min(1) } else { extent }).product()
}

impl Work {
    pub(super) fn of(op: &OpDef, case: &Case) -> Self {
        let outputs = op.infer(case).unwrap_or_default();
        let tensors = case.tensors();
        let read: usize = tensors
            .map(|(_, tensor)| unique_elements(&tensor.spec) * tensor.spec.dtype.size())
            .sum();
        let written: usize = outputs.iter().map(TensorSpec::storage_bytes).sum();
        let n_out = outputs.iter().map(TensorSpec::numel).sum();
        Self { flops: op.engine.flops(&op.call(case), n_out), bytes: (read + written) as f64 }
    }
}
