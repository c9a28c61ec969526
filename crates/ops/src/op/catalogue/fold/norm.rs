//! Normalisation over the last dimensions.

use super::super::super::{
    Role,
    def::OpBuilder,
    families::{norm::RowNorm, weight_norm::WeightNorm},
};

/// Semantics of all layer norms.
const LAYER: &str = "The last len(normalized_shape) dimensions of input, whose extents are \
    normalized_shape, form rows of N elements. For each row x: mean = sum(x) / N, \
    var = sum((x - mean)^2) / N, out = (x - mean) / sqrt(var + eps) * weight + bias. weight and bias \
    have shape normalized_shape; one that is None counts as 1 or 0 and arrives as a null pointer. \
    They have the dtype of input, or f32 beside f16 and bf16. Compute in f32 and round once to the \
    output's dtype, which is that of input. The variance must come from centred values (two passes \
    or Welford): E[x^2] - E[x]^2 loses too much on rows far from 0.";

pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, \
            Tensor? bias=None, float eps=1.0000000000000001e-05, bool \
            cudnn_enable=True) -> Tensor",
            RowNorm::Layer,
            &format!(
                "{LAYER} cudnn_enable has no meaning.\n\
                A row that holds NaN or an infinity gives NaN everywhere. A constant row gives bias."
            ),
        )
        .alias(&["nn.functional.layer_norm"])
        .role("weight", Role::Gain)
        .role("bias", Role::Bias)
        .outputs(&["the normalised tensor"]),
        OpBuilder::new(
            "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, \
            Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
            RowNorm::LayerStats,
            &format!(
                "{LAYER} The second output is the mean of each row, the third 1 / sqrt(var + eps); \
                both are f32 (f64 for f64 inputs) and have the shape of input with extent 1 in the \
                place of the normalised dimensions. Rows have at least one element.\n\
                A row that holds NaN or an infinity gives NaN everywhere; its mean is NaN or the \
                infinity, its factor NaN. A constant row gives bias."
            ),
        )
        .role("weight", Role::Gain)
        .role("bias", Role::Bias)
        .outputs(&["the normalised tensor", "the means", "the factors 1 / sqrt(var + eps)"]),
        OpBuilder::new(
            "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, \
            float? eps=None) -> Tensor",
            RowNorm::Rms,
            "The last len(normalized_shape) dimensions of input, whose extents are \
            normalized_shape, form rows of N elements. For each row x: \
            out = x / sqrt(sum(x^2) / N + eps) * weight. weight has shape normalized_shape and the \
            dtype of input, or f32 beside f16 and bf16; None counts as 1 and arrives as a null \
            pointer. Compute in f32 and round once to the output's dtype, which is that of input. \
            eps None means 2^-23, the epsilon of f32 (2^-52 for f64).\n\
            A row that holds NaN gives NaN everywhere. In a row that holds an infinity (and no NaN) \
            the infinite elements give NaN and the finite ones 0 of either sign. A row of zeros \
            gives zeros (NaN where eps is 0).",
        )
        .alias(&["nn.functional.rms_norm"])
        .role("weight", Role::Gain)
        .outputs(&["the normalised tensor"]),
        OpBuilder::new(
            "_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
            WeightNorm,
            "The slices of v are those over all dimensions but dim, which is the first or the last and not \
            negative. g has the dtype of v, the extent of v along dim and extent 1 elsewhere: one factor \
            per slice. The second output, of the shape of g and f32 (f64 for f64), is the norm of each \
            slice, sqrt(sum(v^2)); the first, of the shape and dtype of v, is g * v / norm. Compute and \
            accumulate in f32 and round once; the norm is not rounded to a 16-bit dtype before the \
            division.\n\
            A slice of norm 0 gives NaN. NaN in a slice gives NaN throughout; an infinity gives NaN at its \
            place and 0 elsewhere.",
        )
        .role("g", Role::Second)
        .outputs(&["the weight", "the norms of v"]),
    ]
}
