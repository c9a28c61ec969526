//! Where PyTorch's eager CUDA kernels round to a 16-bit type before their result is complete.

use crate::record::DType;

/// Values that an eager kernel of an op rounds to the element type, besides its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EagerRounding {
    /// Nothing: it computes in f32.
    Result,
    /// The values between the steps of its formula, each of which is an op of its own, or partial
    /// sums.
    Steps,
    /// Those of [`Self::Steps`], some of which may also leave the range of f16: they overflow, or
    /// lose digits below its smallest normal value.
    StepsBeyondRange,
    /// As [`Self::StepsBeyondRange`]; besides, two sums of squares over the last dimension are
    /// multiplied, which overflows f16 where each is 256 or more.
    ProductsOfSums,
    /// As [`Self::StepsBeyondRange`]; besides, the factor of a mean, so that errors of a set of
    /// elements have one sign.
    SharedFactor,
    /// Statistics that a set of elements is normalised with: errors of a set have one sign.
    Statistics,
    /// The accumulator, after each element.
    Accumulator,
    /// A quotient, before it is made an integer.
    Quotient,
    /// A function to which 1 is added, in f32 too: results near 0 have its absolute error.
    OneIsAdded,
    /// None, but cuDNN's sigmoid and tanh in recurrent layers are approximate, in f32 too.
    Gates,
}

/// Ops with other kernels than such as compute in f32, per kind of rounding.
const ROUNDED: [(EagerRounding, &[&str]); 9] = [
    (
        EagerRounding::StepsBeyondRange,
        &["mse_loss", "soft_margin_loss", "cosine_similarity", "sigmoid_backward", "tanh_backward"],
    ),
    (EagerRounding::ProductsOfSums, &["cosine_embedding_loss"]),
    (
        EagerRounding::SharedFactor,
        &[
            "mse_loss_backward",
            "smooth_l1_loss_backward",
            "huber_loss_backward",
            "binary_cross_entropy_backward",
        ],
    ),
    (
        EagerRounding::Steps,
        &[
            "l1_loss",
            "smooth_l1_loss",
            "huber_loss",
            "kl_div",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
            "hinge_embedding_loss",
            "margin_ranking_loss",
            "triplet_margin_loss",
            "cross_entropy_loss",
            "nll_loss",
            "nll_loss_backward",
            "nll_loss2d",
            "nll_loss2d_backward",
            // The weights, and the sums along rows.
            "_upsample_bicubic2d_aa",
            "normalize",
            "logsumexp",
            // Sums are split, and the parts added in the element type.
            "mm",
            "bmm",
            "addmm",
            "baddbmm",
            "linear",
            "matmul",
            "mv",
            "addmv",
            "dot",
            // The bias is added to a rounded product.
            "conv1d",
            "conv2d",
            "conv3d",
            "convolution",
            "conv_transpose1d",
            "conv_transpose2d",
            "conv_transpose3d",
            // Products are rounded before they are added.
            "addr",
            "_embedding_bag_per_sample_weights_backward",
            // Squares and cubes are products in the element type.
            "pow.Tensor_Scalar",
            // The quotients that are added.
            "avg_pool2d_backward",
            // vLLM's csrc/activation_kernels.cu: tanh and its argument, or the activated gate, are
            // rounded before the product.
            "gelu_new",
            "gelu_fast",
            "gelu_tanh_and_mul",
            "mul_and_silu",
            // vLLM's csrc/layernorm_quant_kernels.cu and csrc/quantization/activation_kernels.cu: the
            // norm, and its product with the weight, or the activated gate, and its product, are
            // rounded before they are quantised.
            "rms_norm_static_fp8_quant",
            "fused_add_rms_norm_static_fp8_quant",
            "silu_and_mul_quant",
        ],
    ),
    (
        EagerRounding::Statistics,
        &[
            "group_norm",
            "native_group_norm",
            "native_batch_norm",
            "native_batch_norm_backward",
            "native_group_norm_backward",
            // The products that are summed over a slice.
            "softmax_backward_data",
        ],
    ),
    (
        EagerRounding::Accumulator,
        &[
            "cumsum",
            "cumprod",
            "logcumsumexp",
            "index_add",
            "scatter_add",
            "scatter_reduce",
            "index_put",
            "embedding_dense_backward",
            "upsample_bilinear2d_backward",
            "_upsample_bicubic2d_aa_backward",
            "reflection_pad2d_backward",
            "unfold_backward",
            "_adaptive_avg_pool2d_backward",
            "addbmm",
            // vLLM's csrc/moe/moe_align_sum_kernels.cu, of 2 to 4 experts.
            "moe_sum",
            // Of channels-last inputs, in shared memory.
            "adaptive_avg_pool2d",
        ],
    ),
    (EagerRounding::Quotient, &["div.Tensor_mode", "floor_divide"]),
    // (1 + erf(x / sqrt(2))) / 2.
    (EagerRounding::OneIsAdded, &["special_ndtr"]),
    (EagerRounding::Gates, &["lstm", "gru", "rnn_tanh"]),
];

impl EagerRounding {
    /// Returns that of an op's calls in an element type.
    #[must_use]
    pub fn of(op: &str, dtype: DType) -> Self {
        let of_op =
            ROUNDED.iter().find(|(_, ops)| ops.contains(&op)).map(|(rounding, _)| *rounding);
        match (dtype, of_op) {
            (DType::F16 | DType::BF16, Some(of_op)) => of_op,
            (DType::F32, Some(of_op @ (Self::OneIsAdded | Self::Gates))) => of_op,
            _ => Self::Result,
        }
    }
}

/// Returns the unit roundoff of a 16-bit type; `None` for the others.
#[must_use]
pub fn half_roundoff(dtype: DType) -> Option<f64> {
    match dtype {
        DType::F16 => Some(1.0 / f64::from(1 << 11)),
        DType::BF16 => Some(1.0 / f64::from(1 << 8)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op;

    #[test]
    fn rounded_ops_are_of_the_catalogue() {
        for name in ROUNDED.iter().flat_map(|(_, ops)| ops.iter()) {
            assert_eq!(op::find(name).unwrap().name, *name);
        }
        assert_eq!(EagerRounding::of("mse_loss", DType::F32), EagerRounding::Result);
        assert_eq!(EagerRounding::of("l1_loss", DType::BF16), EagerRounding::Steps);
        assert_eq!(EagerRounding::of("special_ndtr", DType::F32), EagerRounding::OneIsAdded);
    }
}
