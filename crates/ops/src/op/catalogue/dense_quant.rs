//! Attention and fp8.

use crate::record::DType;

use super::super::{
    OpFamily, Role,
    def::OpBuilder,
    families::{
        attention::Attention,
        quant::{Quantize, ScaledMm},
    },
};

/// The types of quantised matrices.
const FP8: &[DType] = &[DType::F8E4M3, DType::F8E5M2];

/// Factor on the bound for results of fp8 tensor cores that are not fp8 themselves.
pub(super) const FP8_SLACK: f64 = 512.0;

/// PyTorch's f32 kernels take exp2 of scores times log2(e), whose error grows with the score: 1.03 of
/// the bound was seen on an H100.
const ATTENTION_SLACK: f64 = 1.5;

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? \
            attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool \
            enable_gqa=False) -> Tensor",
            Attention,
            "For each head: out = softmax(scale * query @ key^T + mask) @ value, query [.., l, \
            e], key [.., s, e], value [.., s, v], out [.., l, v]; the leading dimensions (batch, \
            heads) broadcast. scale None means 1 / sqrt(e). is_causal: row i sees the columns up \
            to i (aligned at the top left, also where l and s differ). attn_mask broadcasts to \
            [.., l, s]: bool (true: seen) or a number that is added; never together with \
            is_causal. enable_gqa: query has a multiple of the heads (third dimension from the \
            back) of key and value, and head h of query uses head h / (heads of query / heads of \
            key). dropout_p is always 0. Compute in f32: the scores, the softmax with its \
            maximum subtracted, and the sum with the values; f16 or bf16 probabilities are \
            accepted only as far as the tolerance goes. Online softmax and any order of \
            summation are right. Round once to the output's dtype, which is that of query.\n\
            A row that sees nothing (all masked, or s = 0) gives 0. NaN in a row of query, or \
            among keys that are seen, gives NaN in the whole row; a NaN in value reaches all \
            rows of its column, those that give it probability 0 included where it is not \
            masked.",
        )
        .family(OpFamily::Attention)
        .alias(&["nn.functional.scaled_dot_product_attention", "sdpa"])
        .role("attn_mask", Role::Mask)
        .slack(DType::F32, ATTENTION_SLACK)
        .outputs(&["the attended values"]),
        OpBuilder::new(
            "scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? \
            bias=None, ScalarType? out_dtype=None) -> Tensor",
            ScaledMm,
            "out = (self @ mat2) * scale_a * scale_b + bias: self [m, k] and mat2 [k, n] are fp8 \
            (f8e4m3 or f8e5m2 each), scale_a is f32 [], [1] or [m, 1], scale_b f32 [], [1] or [1, n], bias \
            [n] of a floating-point type or None (a null pointer; counts as 0). Products of fp8 \
            elements are exact in f32; sums are f32 (any order), scaled and biased in f32 and \
            rounded once to out_dtype, which is that of self where it is left out. A result of \
            an fp8 type saturates: beyond its largest finite value it is that value.\n\
            k = 0 gives bias. NaN and infinities (f8e5m2 has them) follow IEEE arithmetic: Inf * \
            0 is NaN; NaN stays NaN in fp8 results, infinities saturate there.",
        )
        .family(OpFamily::Contraction)
        .own()
        // docs/measurements, error ratios: fp8 tensor cores keep fewer bits of a partial sum than
        // f32 has (361 times the bound at most); exact integers separate right sums from others.
        .slack(DType::F32, FP8_SLACK)
        .slack(DType::F16, FP8_SLACK)
        .slack(DType::BF16, FP8_SLACK)
        .dtypes(FP8)
        .role("scale_a", Role::ScaleF32)
        .role("scale_b", Role::ScaleF32)
        .role("bias", Role::Bias)
        .outputs(&["the scaled product"]),
        OpBuilder::new(
            "quantize_fp8(Tensor self, Tensor scale, ScalarType dtype=float8_e4m3fn) -> Tensor",
            Quantize::Given,
            "out = self / scale, rounded to nearest even to dtype (f8e4m3 or f8e5m2); scale is \
            f32, [], [1] or [rows, 1] with self [rows, n]. The quotient is f32. It saturates: a \
            magnitude beyond the largest finite value of dtype (448, 57344) becomes that value.\n\
            NaN gives NaN, infinities give the largest finite value of their sign, -0 gives -0. \
            Ties of the rounding go to even; subnormal results are kept.",
        )
        .family(OpFamily::Quantize)
        .own()
        .alias(&["static_scaled_fp8_quant"])
        .role("scale", Role::ScaleF32)
        .outputs(&["the quantised tensor"]),
        OpBuilder::new(
            "dynamic_quantize_fp8(Tensor self, ScalarType dtype=float8_e4m3fn) -> (Tensor out, \
            Tensor scale)",
            Quantize::Dynamic,
            "Quantises each row (the last dimension) of self by its own scale: scale = max(max \
            |row|, 1e-12) / L with L the largest finite value of dtype (448 of f8e4m3, 57344 of \
            f8e5m2), f32, of the shape of self with a last dimension of 1; out = self / scale, \
            with scale as it is stored, in f32, rounded to nearest even to dtype, saturating at \
            L. Outputs: out, scale.\n\
            A row that holds NaN has scale NaN and gives NaN everywhere. A row that holds an \
            infinity (and no NaN) has scale Inf: its infinite elements give NaN, finite ones 0. \
            A row of zeros gives zeros.",
        )
        .family(OpFamily::Quantize)
        .own()
        .outputs(&["the quantised tensor", "the scales"]),
    ]
}
