//! The kernels, a module per family.

mod asynchronous;
mod atomics;
mod attention;
mod conv;
mod elementwise;
mod hopper;
mod language;
mod loss;
mod matmul;
mod norm;
mod reduction;
mod scan;
mod tensor;
mod tma;
mod wgmma;

use crate::Kernel;

/// All kernels.
#[must_use]
pub fn all() -> Vec<Kernel> {
    [
        atomics::list(),
        attention::list(),
        conv::list(),
        elementwise::list(),
        hopper::list(),
        language::list(),
        loss::list(),
        matmul::list(),
        norm::list(),
        reduction::list(),
        scan::list(),
        tensor::list(),
    ]
    .concat()
}

/// Kernels for `sm_90a` that no GPU has run yet, with tensor maps among their arguments. They are to go
/// to [`all`] once `emu-check` makes maps on a GPU and has recorded them; until then only the
/// emulator's tests hold them against their references.
#[must_use]
pub fn unrecorded() -> Vec<Kernel> {
    asynchronous::list()
}

/// Name and mutants of each kernel that has some.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("argmax_packed", include_str!("../mutants/argmax_packed.toml")),
    ("avgpool_global", include_str!("../mutants/avgpool_global.toml")),
    ("barrier_reverse", include_str!("../mutants/barrier_reverse.toml")),
    ("batchnorm_stats", include_str!("../mutants/batchnorm_stats.toml")),
    ("bce_logits", include_str!("../mutants/bce_logits.toml")),
    ("bias_swish", include_str!("../mutants/bias_swish.toml")),
    ("bitonic_sort", include_str!("../mutants/bitonic_sort.toml")),
    ("block_sum", include_str!("../mutants/block_sum.toml")),
    ("bmm_nt", include_str!("../mutants/bmm_nt.toml")),
    ("broadcast_add", include_str!("../mutants/broadcast_add.toml")),
    ("causal_attention", include_str!("../mutants/causal_attention.toml")),
    ("cg_reduce", include_str!("../mutants/cg_reduce.toml")),
    ("cluster_histogram", include_str!("../mutants/cluster_histogram.toml")),
    ("cluster_l1_normalize", include_str!("../mutants/cluster_l1_normalize.toml")),
    ("cluster_stencil", include_str!("../mutants/cluster_stencil.toml")),
    ("col_sum", include_str!("../mutants/col_sum.toml")),
    ("compact", include_str!("../mutants/compact.toml")),
    ("conv1d_shared", include_str!("../mutants/conv1d_shared.toml")),
    ("conv2d", include_str!("../mutants/conv2d.toml")),
    ("conv3x3_halo", include_str!("../mutants/conv3x3_halo.toml")),
    ("cumsum_rows", include_str!("../mutants/cumsum_rows.toml")),
    ("depthwise_nhwc", include_str!("../mutants/depthwise_nhwc.toml")),
    ("dequant_int8", include_str!("../mutants/dequant_int8.toml")),
    ("dot_f64", include_str!("../mutants/dot_f64.toml")),
    ("embedding", include_str!("../mutants/embedding.toml")),
    ("flash_attention", include_str!("../mutants/flash_attention.toml")),
    ("flash_mma", include_str!("../mutants/flash_mma.toml")),
    ("fp8_matvec", include_str!("../mutants/fp8_matvec.toml")),
    ("fp8_quantize", include_str!("../mutants/fp8_quantize.toml")),
    ("gelu_half2", include_str!("../mutants/gelu_half2.toml")),
    ("grid_barrier", include_str!("../mutants/grid_barrier.toml")),
    ("group_norm", include_str!("../mutants/group_norm.toml")),
    ("group_norm_warp", include_str!("../mutants/group_norm_warp.toml")),
    ("hgemm_async_3", include_str!("../mutants/hgemm_async_3.toml")),
    ("hgemm_ldmatrix", include_str!("../mutants/hgemm_ldmatrix.toml")),
    ("hgemm_stmatrix", include_str!("../mutants/hgemm_stmatrix.toml")),
    ("histogram", include_str!("../mutants/histogram.toml")),
    ("im2col", include_str!("../mutants/im2col.toml")),
    ("jacobi_counter", include_str!("../mutants/jacobi_counter.toml")),
    ("jacobi_grid", include_str!("../mutants/jacobi_grid.toml")),
    ("kv_cache_decode", include_str!("../mutants/kv_cache_decode.toml")),
    ("last_block_sum", include_str!("../mutants/last_block_sum.toml")),
    ("layernorm_two_pass", include_str!("../mutants/layernorm_two_pass.toml")),
    ("layernorm_welford", include_str!("../mutants/layernorm_welford.toml")),
    ("log_softmax", include_str!("../mutants/log_softmax.toml")),
    ("matmul_dp4a", include_str!("../mutants/matmul_dp4a.toml")),
    ("matmul_naive", include_str!("../mutants/matmul_naive.toml")),
    ("matmul_split_k", include_str!("../mutants/matmul_split_k.toml")),
    ("matmul_tiled", include_str!("../mutants/matmul_tiled.toml")),
    ("matmul_tn", include_str!("../mutants/matmul_tn.toml")),
    ("matvec_float4", include_str!("../mutants/matvec_float4.toml")),
    ("matvec_warp", include_str!("../mutants/matvec_warp.toml")),
    ("maxpool", include_str!("../mutants/maxpool.toml")),
    ("median3x3", include_str!("../mutants/median3x3.toml")),
    ("mbarrier_pipeline", include_str!("../mutants/mbarrier_pipeline.toml")),
    ("mma_int8", include_str!("../mutants/mma_int8.toml")),
    ("mse_loss", include_str!("../mutants/mse_loss.toml")),
    ("relu_float4", include_str!("../mutants/relu_float4.toml")),
    ("rmsnorm_bf16", include_str!("../mutants/rmsnorm_bf16.toml")),
    ("row_argmax", include_str!("../mutants/row_argmax.toml")),
    ("row_max_unrolled", include_str!("../mutants/row_max_unrolled.toml")),
    ("row_rms_pipeline", include_str!("../mutants/row_rms_pipeline.toml")),
    ("scan_blelloch", include_str!("../mutants/scan_blelloch.toml")),
    ("scan_hillis", include_str!("../mutants/scan_hillis.toml")),
    ("scan_lookback", include_str!("../mutants/scan_lookback.toml")),
    ("scan_warp", include_str!("../mutants/scan_warp.toml")),
    ("scatter_add", include_str!("../mutants/scatter_add.toml")),
    ("sgemm_async_2", include_str!("../mutants/sgemm_async_2.toml")),
    ("sgemm_double_buffer", include_str!("../mutants/sgemm_double_buffer.toml")),
    ("sgemm_regtile", include_str!("../mutants/sgemm_regtile.toml")),
    ("softmax_block", include_str!("../mutants/softmax_block.toml")),
    ("softmax_online", include_str!("../mutants/softmax_online.toml")),
    ("softmax_shfl", include_str!("../mutants/softmax_shfl.toml")),
    ("spin_lock", include_str!("../mutants/spin_lock.toml")),
    ("stencil5", include_str!("../mutants/stencil5.toml")),
    ("topk_warp", include_str!("../mutants/topk_warp.toml")),
    ("transpose_padded", include_str!("../mutants/transpose_padded.toml")),
    ("transpose_scale", include_str!("../mutants/transpose_scale.toml")),
    ("transpose_swizzle", include_str!("../mutants/transpose_swizzle.toml")),
    ("upsample_bilinear", include_str!("../mutants/upsample_bilinear.toml")),
    ("wmma_bf16_tail", include_str!("../mutants/wmma_bf16_tail.toml")),
    ("wmma_gemm", include_str!("../mutants/wmma_gemm.toml")),
    ("wmma_tf32", include_str!("../mutants/wmma_tf32.toml")),
    ("xent", include_str!("../mutants/xent.toml")),
    ("xent_smooth", include_str!("../mutants/xent_smooth.toml")),
];

/// Name and mutants of each of the [`unrecorded`] kernels.
pub(crate) const UNRECORDED_MUTANTS: &[(&str, &str)] = &[
    ("bulk_reduce", include_str!("../mutants/bulk_reduce.toml")),
    ("bulk_ring", include_str!("../mutants/bulk_ring.toml")),
    ("bulk_rows", include_str!("../mutants/bulk_rows.toml")),
    ("bulk_store", include_str!("../mutants/bulk_store.toml")),
    ("dependent", include_str!("../mutants/dependent.toml")),
    ("dsmem_scan", include_str!("../mutants/dsmem_scan.toml")),
    ("dsmem_sum", include_str!("../mutants/dsmem_sum.toml")),
    ("grid_normalize", include_str!("../mutants/grid_normalize.toml")),
    ("mma_sparse", include_str!("../mutants/mma_sparse.toml")),
    ("remote_arrive", include_str!("../mutants/remote_arrive.toml")),
    ("st_async", include_str!("../mutants/st_async.toml")),
    ("stmatrix_turn", include_str!("../mutants/stmatrix_turn.toml")),
    ("tma_1d", include_str!("../mutants/tma_1d.toml")),
    ("tma_2d", include_str!("../mutants/tma_2d.toml")),
    ("tma_3d", include_str!("../mutants/tma_3d.toml")),
    ("tma_4d", include_str!("../mutants/tma_4d.toml")),
    ("tma_5d", include_str!("../mutants/tma_5d.toml")),
    ("tma_ahead", include_str!("../mutants/tma_ahead.toml")),
    ("tma_copy", include_str!("../mutants/tma_copy.toml")),
    ("tma_im2col", include_str!("../mutants/tma_im2col.toml")),
    ("tma_multicast", include_str!("../mutants/tma_multicast.toml")),
    ("tma_reduce", include_str!("../mutants/tma_reduce.toml")),
    ("tma_ring", include_str!("../mutants/tma_ring.toml")),
    ("tma_swizzle", include_str!("../mutants/tma_swizzle.toml")),
    ("wgmma_bf16", include_str!("../mutants/wgmma_bf16.toml")),
    ("wgmma_e4m3", include_str!("../mutants/wgmma_e4m3.toml")),
    ("wgmma_registers", include_str!("../mutants/wgmma_registers.toml")),
    ("wgmma_ring", include_str!("../mutants/wgmma_ring.toml")),
    ("wgmma_rows", include_str!("../mutants/wgmma_rows.toml")),
    ("wgmma_s8", include_str!("../mutants/wgmma_s8.toml")),
    ("wgmma_tf32", include_str!("../mutants/wgmma_tf32.toml")),
];
