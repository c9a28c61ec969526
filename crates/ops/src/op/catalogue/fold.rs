//! Ops that fold or normalise along dimensions.

use crate::record::ArgValue;

use super::super::{
    Role,
    def::Row,
    families::{norm::RowNorm, reduce::Sum, softmax::Softmax},
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::new(
            "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, \
            ScalarType? dtype=None) -> Tensor",
            Sum,
            "Sums self over the dimensions in dim (negative ones count from the back; None or \
            an empty list means all). The other dimensions keep their order; with keepdim the summed \
            ones stay with extent 1. Accumulate in f32 (f16 and bf16 inputs too) and round once to \
            the output's dtype, which is that of self; dtype is always None. Any order of summation \
            is right.\n\
            A sum of no elements is 0. NaN, or Inf with -Inf, gives NaN; otherwise an infinity wins. \
            A sum beyond the output's range is Inf.",
        )
        .outputs(&["the sums"]),
        Row::new(
            "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
            Softmax,
            "Along dimension dim (negative ones count from the back), for each slice x: \
            out[j] = exp(x[j] - max(x)) / sum_k exp(x[k] - max(x)). Compute in f32 and round once to \
            the output's dtype, which is that of self; half_to_float is always False. The maximum \
            must be subtracted: inputs reach 1e4 and more.\n\
            A slice that holds NaN or +Inf gives NaN everywhere. -Inf gives 0, wherever it stands in \
            the slice, the first place included; a slice of nothing but -Inf gives NaN.",
        )
        .name("softmax")
        .default("half_to_float", ArgValue::Bool(false))
        .outputs(&["the probabilities"]),
        Row::new(
            "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, \
            Tensor? bias=None, float eps=1.0000000000000001e-05, bool \
            cudnn_enable=True) -> Tensor",
            RowNorm::Layer,
            "The last len(normalized_shape) dimensions of input, whose extents are \
            normalized_shape, form rows of N elements. For each row x: mean = sum(x) / N, \
            var = sum((x - mean)^2) / N, out = (x - mean) / sqrt(var + eps) * weight + bias. weight \
            and bias have shape normalized_shape; one that is None counts as 1 or 0 and arrives as a \
            null pointer. Compute in f32 and round once to the output's dtype, which is that of \
            input. The variance must come from centred values (two passes or Welford): \
            E[x^2] - E[x]^2 loses too much on rows far from 0. cudnn_enable has no meaning.\n\
            A row that holds NaN or an infinity gives NaN everywhere. A constant row gives bias.",
        )
        .role("weight", Role::Gain)
        .role("bias", Role::Bias)
        .outputs(&["the normalised tensor"]),
        Row::new(
            "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, \
            float? eps=None) -> Tensor",
            RowNorm::Rms,
            "The last len(normalized_shape) dimensions of input, whose extents are \
            normalized_shape, form rows of N elements. For each row x: \
            out = x / sqrt(sum(x^2) / N + eps) * weight. weight has shape normalized_shape; None \
            counts as 1 and arrives as a null pointer. Compute in f32 and round once to the output's \
            dtype, which is that of input. eps is always given.\n\
            A row that holds NaN gives NaN everywhere. In a row that holds an infinity (and no NaN) \
            the infinite elements give NaN and the finite ones 0 of either sign. A row of zeros \
            gives zeros.",
        )
        .role("weight", Role::Gain)
        .outputs(&["the normalised tensor"]),
    ]
}
