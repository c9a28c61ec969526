//! Products with weights of 4 bits, of vLLM.

use crate::record::DType;

use super::super::super::{OpFamily, def::OpBuilder, families::serving::packed::Packed};

/// The layout of AWQ's weights.
const AWQ: &str = "As vLLM's, in AWQ's layout: qweight is i32 [k, n / 8], qzeros i32 [groups, n / 8], \
    scales [groups, n]. Column 8 j + i of a row is the number of four bits from bit 4 o on of the i32 \
    at j, o the i-th of 0, 4, 1, 5, 2, 6, 3, 7. Row r belongs to group r / (k / groups).";

/// How products are computed.
const PRODUCT: &str = "Sums are f32 (any order), rounded once to the dtype; weights that are rounded to \
    the dtype before they are multiplied are accepted only as far as the tolerance goes.";

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "awq_dequantize(Tensor qweight, Tensor scales, Tensor qzeros) -> Tensor",
            Packed::AwqWeights,
            &format!(
                "{AWQ} out[r, c] = (weight - zero) * scale, [k, n] of the dtype of scales: the exact \
                product, correctly rounded."
            ),
        )
        .family(OpFamily::Quantize)
        .exact()
        .outputs(&["the weights"]),
        OpBuilder::new(
            "awq_gemm(Tensor input, Tensor qweight, Tensor scales, Tensor qzeros) -> Tensor",
            Packed::Awq,
            &format!(
                "{AWQ} out = input @ w with input [m, k] of the dtype of scales and w[r, c] = \
                (weight - zero) * scale. {PRODUCT}"
            ),
        )
        .family(OpFamily::Contraction)
        .outputs(&["the product"]),
        OpBuilder::new(
            "gptq_gemm(Tensor a, Tensor b_q_weight, Tensor b_gptq_qzeros, Tensor b_gptq_scales, \
            Tensor b_g_idx) -> Tensor",
            Packed::Gptq,
            &format!(
                "As vLLM's for 4 bits without its shuffle, in GPTQ's layout (v1): b_q_weight is i32 \
                [k / 8, n], b_gptq_qzeros i32 [groups, n / 8], b_gptq_scales [groups, n], b_g_idx i32 \
                [k]. Row 8 j + i of a column is the number of four bits from bit 4 i on of the i32 \
                at j, column 8 j + i of the zeros likewise; row r belongs to group b_g_idx[r]. out = \
                a @ w with a [m, k] of the dtype of the scales and w[r, c] = (weight - (zero + 1)) * \
                scale. {PRODUCT}"
            ),
        )
        .family(OpFamily::Contraction)
        .outputs(&["the product"]),
    ]
    .into_iter()
    .map(|row| row.own().dtypes(&[DType::F16, DType::BF16]))
    .collect()
}
