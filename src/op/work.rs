//! Arithmetic and memory traffic that a case needs at least, and its longest chain of additions.

use crate::record::{Case, TensorSpec};

use super::{
    Binary, Engine, Loss, Norm, OpDef, Reduce, Unary, int_arg, ints_arg, normalise_dim,
    normalise_dims,
};

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

pub(super) fn work(op: &OpDef, case: &Case) -> Work {
    let outputs = op.infer(case).unwrap_or_default();
    let read: usize = case
        .tensors()
        .map(|(_, tensor)| unique_elements(&tensor.spec) * tensor.spec.dtype.size())
        .sum();
    let written: usize = outputs.iter().map(TensorSpec::storage_bytes).sum();
    let n_out: usize = outputs.iter().map(TensorSpec::numel).sum();
    Work { flops: flops(op.engine, case, n_out), bytes: (read + written) as f64 }
}

fn main_numel(case: &Case) -> usize {
    case.tensors().next().map_or(0, |(_, tensor)| tensor.spec.numel())
}

fn flops(engine: Engine, case: &Case, n_out: usize) -> f64 {
    let n_in = main_numel(case) as f64;
    let n_out = n_out as f64;
    match engine {
        Engine::Unary(Unary::Relu) | Engine::Binary(Binary::Mul) => n_out,
        Engine::Unary(Unary::Silu) => 4.0 * n_out,
        Engine::Unary(Unary::Gelu) => 5.0 * n_out,
        Engine::Binary(Binary::Add) => 2.0 * n_out,
        Engine::Reduce(Reduce::Sum) => n_in,
        Engine::Softmax => 5.0 * n_in,
        Engine::Norm(Norm::Layer) => 8.0 * n_in,
        Engine::Norm(Norm::Rms) => 4.0 * n_in,
        Engine::MatMul => 2.0 * n_out * accumulation(engine, case) as f64,
        Engine::Loss(Loss::Mse) => 3.0 * n_in,
        Engine::Loss(Loss::CrossEntropy) => 4.0 * n_in,
    }
}

pub(super) fn accumulation_len(op: &OpDef, case: &Case) -> usize {
    accumulation(op.engine, case)
}

/// A case that does not fit its op has length 1: `infer` tells what is wrong with it.
fn accumulation(engine: Engine, case: &Case) -> usize {
    let Some((_, main)) = case.tensors().next() else { return 1 };
    let shape = &main.spec.shape;
    match engine {
        Engine::Unary(_) | Engine::Binary(_) => 1,
        Engine::Reduce(_) => {
            let dims = ints_arg(case, "dim").unwrap_or_default();
            let dims = normalise_dims(dims, shape.len()).unwrap_or_default();
            dims.into_iter().map(|dim| shape[dim]).product()
        }
        Engine::Softmax => {
            let dim = normalise_dim(int_arg(case, "dim").unwrap_or(-1), shape.len());
            dim.ok().and_then(|dim| shape.get(dim).copied()).unwrap_or(1)
        }
        Engine::Norm(_) => {
            let normalised = ints_arg(case, "normalized_shape").ok().flatten().unwrap_or_default();
            shape.iter().rev().take(normalised.len()).product()
        }
        Engine::MatMul => shape.get(1).copied().unwrap_or(1),
        Engine::Loss(Loss::Mse) => match int_arg(case, "reduction") {
            Ok(0) => 1,
            _ => main_numel(case),
        },
        Engine::Loss(Loss::CrossEntropy) => shape.iter().copied().max().unwrap_or(1),
    }
}
