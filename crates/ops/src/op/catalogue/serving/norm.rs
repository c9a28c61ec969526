//! Fused norms of vLLM, and its gated quantisation.

use super::{
    super::super::{
        OpFamily, Role,
        def::OpBuilder,
        families::serving::{gate::Gate, norm::RmsNorm},
        formulas::floor_scale,
    },
    TO_FP8, activation,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "fused_add_rms_norm(Tensor self, Tensor residual, Tensor weight, float eps=1e-6) \
            -> (Tensor out, Tensor residual_out)",
            RmsNorm { adds: true, quantised: false },
            "residual_out is s = self + residual, rounded to the dtype. For each row of that rounded \
            s along the last dimension, of N elements: out = s / sqrt(sum(s^2) / N + eps) * weight, \
            with weight [N], in f32, rounded once to the dtype: out is the rms norm of residual_out, \
            as in vLLM's kernel (FlashInfer's normalises the f32 sum instead). All have one dtype, \
            self and residual one shape.\n\
            A row whose sum holds NaN gives NaN everywhere in out. In a row that holds an infinity \
            (and no NaN) the infinite elements give NaN and the finite ones 0 of either sign; a sum \
            beyond the range of the dtype is an infinity. residual_out follows IEEE arithmetic.",
        )
        .family(OpFamily::Norm)
        .own()
        .alias(&["add_rms_norm"])
        .role("residual", Role::Main)
        .role("weight", Role::Gain)
        .outputs(&["the normalised sum", "the sum"]),
        OpBuilder::new(
            "rms_norm_static_fp8_quant(Tensor input, Tensor weight, Tensor scale, float epsilon) \
            -> Tensor",
            RmsNorm { adds: false, quantised: true },
            &format!(
                "As vLLM's: for each row of input along the last dimension, of N elements: \
                out = input / sqrt(sum(input^2) / N + epsilon) * weight / scale, in f32, {TO_FP8}. \
                weight is [N] of the dtype of input, scale one f32 ([] or [1]). (vLLM's kernel \
                rounds to the dtype of input before it quantises; here nothing is rounded before.)\n\
                A row that holds NaN gives NaN everywhere. In a row that holds an infinity (and no \
                NaN) the infinite elements give NaN and the finite ones 0."
            ),
        )
        .family(OpFamily::Norm)
        .own()
        .role("weight", Role::Gain)
        .role("scale", Role::ScaleF32)
        .outputs(&["the quantised norm"]),
        OpBuilder::new(
            "fused_add_rms_norm_static_fp8_quant(Tensor input, Tensor residual, Tensor weight, \
            Tensor scale, float epsilon) -> (Tensor out, Tensor residual_out)",
            RmsNorm { adds: true, quantised: true },
            &format!(
                "As vLLM's: residual_out is s = input + residual, rounded to their dtype. For each \
                row of that rounded s along the last dimension, of N elements: out = s / \
                sqrt(sum(s^2) / N + epsilon) * weight / scale, in f32, {TO_FP8}. weight is [N] of \
                the dtype of input, scale one f32 ([] or [1]).\n\
                A row whose sum holds NaN gives NaN everywhere in out. In a row that holds an \
                infinity (and no NaN) the infinite elements give NaN and the finite ones 0; a sum \
                beyond the range of the dtype is an infinity. residual_out follows IEEE arithmetic."
            ),
        )
        .family(OpFamily::Norm)
        .own()
        .role("residual", Role::Main)
        .role("weight", Role::Gain)
        .role("scale", Role::ScaleF32)
        .outputs(&["the quantised norm of the sum", "the sum"]),
        OpBuilder::new(
            "silu_and_mul_quant(Tensor input, Tensor scale) -> Tensor",
            Gate {
                activation: activation::silu,
                magnitude: floor_scale,
                first: true,
                chooses: false,
                quantised: true,
            },
            &format!(
                "As vLLM's: the last dimension of input, of even extent 2 d, is cut into gates g \
                (the first d) and factors u (the others): out = g / (1 + exp(-g)) * u / scale, of \
                extent d, in f32, {TO_FP8}. scale is one f32 ([] or [1]).\n\
                NaN gives NaN; a gate of -Inf gives NaN (-Inf / Inf)."
            ),
        )
        .family(OpFamily::Quantize)
        .own()
        .role("scale", Role::ScaleF32)
        .outputs(&["the quantised tensor"]),
    ]
}
