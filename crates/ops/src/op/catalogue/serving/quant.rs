//! Quantisation of vLLM and `SGLang`.

use crate::record::DType;

use super::{
    super::super::{
        OpFamily, Role,
        def::OpBuilder,
        families::serving::quant::{BlockScaledMm, Quantise, Shared},
    },
    TO_FP8,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    fp8().into_iter().chain(int8()).chain([blocks()]).collect()
}

fn row(signature: &str, shared: Shared, target: DType, text: &str) -> OpBuilder {
    OpBuilder::new(signature, Quantise { shared, target }, text).family(OpFamily::Quantize).own()
}

/// Where the tests of vLLM and its kernels differ.
const NAN_OF_TESTS: &str = "NaN as in the reference of vLLM's tests (maxima of its kernels skip NaN, and they \
    give a finite end of the range for a quotient that is NaN).";

fn fp8() -> Vec<OpBuilder> {
    let both = &["the quantised tensor", "the scales"];
    vec![
        row(
            "dynamic_scaled_fp8_quant(Tensor input) -> (Tensor out, Tensor scale)",
            Shared::Tensor,
            DType::F8E4M3,
            &format!(
                "As vLLM's: scale = max |input| / 448 over the whole tensor, f32, [1]; out = input / \
                scale, with scale as it is stored, in f32, {TO_FP8}.\n\
                {NAN_OF_TESTS} A tensor that holds NaN has scale NaN and gives NaN everywhere, one of \
                zeros has scale 0 and gives NaN (0 / 0). With an infinity (and no NaN) scale is Inf: infinite \
                elements give NaN, finite ones 0."
            ),
        )
        .outputs(both),
        row(
            "dynamic_per_token_scaled_fp8_quant(Tensor input, Tensor? scale_ub=None) -> (Tensor out, \
            Tensor scales)",
            Shared::Row,
            DType::F8E4M3,
            &format!(
                "As vLLM's, per row of input along the last dimension: scale = max(min(max |row|, \
                scale_ub) / 448, 1 / (448 * 512)), f32, of the shape of input with a last dimension \
                of 1; out = input / scale, with scale as it is stored, in f32, {TO_FP8}. scale_ub is \
                one f32 ([] or [1]); None sets no bound.\n\
                {NAN_OF_TESTS} A row that holds NaN has scale NaN and gives NaN everywhere. A row that holds an \
                infinity (and no NaN) has scale Inf unless scale_ub bounds it: its infinite elements \
                give NaN, finite ones 0. A row of zeros gives zeros."
            ),
        )
        .role("scale_ub", Role::ScaleF32)
        .outputs(both),
        row(
            "per_token_group_quant_fp8(Tensor input, int group_size, float eps=1e-10, bool \
            use_ue8m0=False) -> (Tensor out, Tensor scales)",
            Shared::Group,
            DType::F8E4M3,
            &format!(
                "As vLLM's CUDA kernel: the last dimension of input is cut into groups of \
                group_size neighbours, which divides it. Per group: scale = max(max |group|, eps) / \
                448, f32; with use_ue8m0 the smallest power of two that is no less than \
                max(scale, 1e-10). scales has the shape of input with one element per group in the \
                last dimension (row-major). out = input / scale, with scale as it is stored, in f32, \
                {TO_FP8}.\n\
                {NAN_OF_TESTS} A group that holds NaN has scale NaN and gives NaN everywhere. A group that holds an \
                infinity (and no NaN) has scale Inf: infinite elements give NaN, finite ones 0. \
                Groups of zeros give zeros."
            ),
        )
        .outputs(both),
    ]
}

fn int8() -> Vec<OpBuilder> {
    let open = "A quotient that is, within the rounding of f32, half an integer may go either way; \
        where it is exactly half an integer, to even.";
    let both = &["the quantised tensor", "the scales"];
    vec![
        row(
            "static_scaled_int8_quant(Tensor input, Tensor scale, Tensor? azp=None) -> Tensor",
            Shared::Given,
            DType::I8,
            &format!(
                "As vLLM's: out = clamp(round(input / scale) + azp, -128, 127) as int8, the quotient \
                in f32 and rounded to nearest even. scale is one f32, azp one i32 ([] or [1]) or \
                None, which counts as 0. {open} With azp, halves may go either way: vLLM multiplies by \
                the reciprocal of scale.\nA NaN quotient counts \
                as 0, an infinite one gives the end of the range."
            ),
        )
        .role("scale", Role::ScaleF32)
        .outputs(&["the quantised tensor"]),
        row(
            "dynamic_scaled_int8_quant(Tensor input) -> (Tensor out, Tensor scales)",
            Shared::Row,
            DType::I8,
            &format!(
                "As vLLM's without a zero point, per row of input along the last dimension: scale = \
                max |row| / 127, f32, of the shape of input with a last dimension of 1; out = \
                round(input / scale) as int8, in f32, rounded to nearest even. {open}\n\
                A row of zeros has scale 0 and gives zeros. NaN and infinities are not given."
            ),
        )
        .outputs(both),
        row(
            "per_token_group_quant_int8(Tensor input, int group_size, float eps=1e-10) -> (Tensor \
            out, Tensor scales)",
            Shared::Group,
            DType::I8,
            &format!(
                "As the reference of vLLM's tests (its kernels cut the quotient off instead of rounding \
                it): the last dimension of input is cut into groups of \
                group_size neighbours, which divides it. Per group: scale = max(max |group|, eps) / \
                127, f32, and out = clamp(round(input / scale), -128, 127) as int8, in f32, rounded \
                to nearest even. scales has the shape of input with one element per group in the \
                last dimension. {open}\n\
                Groups of zeros give zeros. NaN and infinities are not given."
            ),
        )
        .outputs(both),
    ]
}

fn blocks() -> OpBuilder {
    OpBuilder::new(
        "w8a8_block_fp8_matmul(Tensor A, Tensor B, Tensor As, Tensor Bs, int[2] block_size, \
        ScalarType output_dtype=float16) -> Tensor",
        BlockScaledMm,
        "As vLLM's and SGLang's: A [m, k] and B [n, k] are f8e4m3, block_size is [bn, bk]; As is f32 \
        [m, ceil(k / bk)], Bs f32 [ceil(n / bn), ceil(k / bk)]. out[i, j] = sum over the blocks b of k \
        of As[i, b] * Bs[j / bn, b] * (sum of A[i, l] * B[j, l] over the l of the block), in f32 (any \
        order), rounded once to output_dtype (f16, bf16 or f32). The last block of n and of k may be \
        shorter.\nk = 0 gives 0. NaN reaches its row or column.",
    )
    .family(OpFamily::Contraction)
    .own()
    // docs/measurements, error ratios: fp8 tensor cores keep fewer bits of a partial sum than f32 has.
    .slack(DType::F32, super::super::dense_quant::FP8_SLACK)
    .slack(DType::F16, super::super::dense_quant::FP8_SLACK)
    .slack(DType::BF16, super::super::dense_quant::FP8_SLACK)
    .dtypes(&[DType::F8E4M3])
    .role("As", Role::ScaleF32)
    .role("Bs", Role::ScaleF32)
    .outputs(&["the scaled product"])
}
