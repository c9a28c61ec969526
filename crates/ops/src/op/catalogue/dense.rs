//! Contractions.

use super::super::{def::Row, families::contraction::MatMul};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::new(
            "mm(Tensor self, Tensor mat2) -> Tensor",
            MatMul,
            "Matrix product of self [m, k] and mat2 [k, n]: \
            out[i, j] = sum_l self[i, l] * mat2[l, j]. Products and sums are f32, also for f16 and \
            bf16 inputs (tensor cores with f32 accumulators are right, f16 accumulators and bf16 \
            partial sums are not), rounded once to the output's dtype. For f32 inputs the products \
            must be full f32: TF32 is wrong. Any order of summation is right, split over k too.\n\
            k = 0 gives zeros. NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN, and an \
            infinity reaches every output of its row or column.",
        )
        .outputs(&["the product"]),
    ]
}
