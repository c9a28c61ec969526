//! Arithmetic and memory traffic that a case needs at least.

use crate::record::{Case, TensorSpec};

use super::OpDef;

/// The least work of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Floating-point operations of the plain formula; an exponential or the like counts as 1.
    pub flops: f64,
    /// Floating-point operations that no algorithm gets by without.
    pub least_flops: f64,
    /// Bytes that every right kernel moves: each output element written once, and each input
    /// element read once that results depend on whatever the values are. Rows that an index
    /// chooses are no part of it, as all indices may be equal.
    pub bytes: f64,
}

/// Storage elements that are read at least: an expanded dimension is read once.
pub(super) fn unique_elements(spec: &TensorSpec) -> usize {
    let extents = spec.shape.iter().zip(&spec.stride);
    extents.map(|(&extent, &stride)| if stride == 0 { extent.min(1) } else { extent }).product()
}

/// Returns how many places are covered along a dimension.
pub(super) fn covered(extent: usize, places: impl Iterator<Item = usize>) -> usize {
    let mut seen = vec![false; extent];
    for place in places {
        if let Some(seen) = seen.get_mut(place) {
            *seen = true;
        }
    }
    seen.into_iter().filter(|seen| *seen).count()
}

impl Work {
    pub(super) fn of(op: &OpDef, case: &Case) -> Self {
        let call = op.call(case);
        let outputs = op.infer(case).unwrap_or_default();
        let n_out = outputs.iter().map(TensorSpec::numel).sum();
        // Without a result, nothing has to be read.
        let read = |(name, tensor): (std::borrow::Cow<'_, str>, &crate::record::TensorArg)| {
            let unique = unique_elements(&tensor.spec);
            let needed = op.engine.reads(&call, &name).map_or(unique, |needed| needed.min(unique));
            needed * tensor.spec.dtype.size()
        };
        let read: usize = if n_out == 0 { 0 } else { case.tensors().map(read).sum() };
        let written: usize = outputs.iter().map(TensorSpec::storage_bytes).sum();
        let flops = op.engine.flops(&call, n_out);
        let least_flops = op.engine.least_flops(&call, n_out).min(flops);
        Self { flops, least_flops, bytes: (read + written) as f64 }
    }
}

#[cfg(test)]
mod tests;
