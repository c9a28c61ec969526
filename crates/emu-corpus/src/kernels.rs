//! The kernels, a module per family.

mod elementwise;
mod matmul;

use crate::Kernel;

/// All kernels.
#[must_use]
pub fn all() -> Vec<Kernel> {
    [elementwise::list(), matmul::list()].concat()
}

/// Name and mutants of each kernel that has some.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("bmm_nt", include_str!("../mutants/bmm_nt.toml")),
    ("matmul_dp4a", include_str!("../mutants/matmul_dp4a.toml")),
    ("matmul_naive", include_str!("../mutants/matmul_naive.toml")),
    ("matmul_split_k", include_str!("../mutants/matmul_split_k.toml")),
    ("matmul_tiled", include_str!("../mutants/matmul_tiled.toml")),
    ("matmul_tn", include_str!("../mutants/matmul_tn.toml")),
    ("matvec_float4", include_str!("../mutants/matvec_float4.toml")),
    ("matvec_warp", include_str!("../mutants/matvec_warp.toml")),
    ("relu_float4", include_str!("../mutants/relu_float4.toml")),
    ("row_rms_pipeline", include_str!("../mutants/row_rms_pipeline.toml")),
    ("sgemm_async_2", include_str!("../mutants/sgemm_async_2.toml")),
    ("sgemm_double_buffer", include_str!("../mutants/sgemm_double_buffer.toml")),
    ("sgemm_regtile", include_str!("../mutants/sgemm_regtile.toml")),
];
