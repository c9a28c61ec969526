//! Mixtures of experts of vLLM, and probabilities of `FlashInfer`.

use crate::record::DType;

use super::super::super::{
    OpFamily, Role,
    def::OpBuilder,
    families::serving::{
        experts::{AlignBlockSize, MoeSum},
        probs::Renorm,
    },
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    experts().into_iter().chain(probabilities()).map(OpBuilder::own).collect()
}

fn experts() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "moe_sum(Tensor input) -> Tensor",
            MoeSum,
            "As vLLM's: input is [tokens, k, n], out [tokens, n] its sum over the k experts, in f32 \
            (any order), rounded once to the dtype. k = 0 gives 0.\nNaN and infinities follow IEEE \
            arithmetic.",
        )
        .family(OpFamily::Reduction)
        .outputs(&["the sum over the experts"]),
        OpBuilder::new(
            "moe_align_block_size(Tensor topk_ids, int num_experts, int block_size) -> (Tensor \
            sorted_token_ids, Tensor expert_ids, Tensor num_tokens_post_pad)",
            AlignBlockSize,
            "As vLLM's: topk_ids (i32 or i64, N elements of 0..num_experts) names an expert per \
            element. sorted_token_ids, i32 of N + num_experts * (block_size - 1) elements (at most N * \
            block_size where N is below num_experts), holds the row-major places of the elements of expert 0, then of 1 and so on; those of each expert \
            in any order, then N until the next multiple of block_size; N to the end. expert_ids, \
            i32 of one element per block (the length of sorted_token_ids over block_size, rounded \
            up), is the expert of each block, -1 of those behind the last. num_tokens_post_pad, i32 \
            [1], is the number of places up to the end of the last block that is used. An expert \
            without elements has no block.",
        )
        .family(OpFamily::Sort)
        .dtypes(&[DType::I32])
        .outputs(&["the sorted places", "the experts of the blocks", "the places that are used"]),
    ]
}

fn probabilities() -> Vec<OpBuilder> {
    let rows = [
        (
            "top_k_renorm_probs(Tensor probs, int top_k) -> Tensor",
            Renorm::TopK,
            "As FlashInfer's and SGLang's: probs is f32 [rows, n]. In each row the top_k largest \
            elements are kept, and all that equal the last of them; out is each of these over their \
            sum (f32, any order), and 0 elsewhere. top_k is in 1..=n.\nA row of zeros gives zeros. NaN is not given.",
        ),
        (
            "top_p_renorm_probs(Tensor probs, float top_p) -> Tensor",
            Renorm::TopP,
            "As FlashInfer's and SGLang's: probs is f32 [rows, n]. In each row an element is kept \
            where the sum of all larger ones is below top_p, so that equal elements are kept or \
            dropped together; out is each of these over their sum (f32, any order), and 0 \
            elsewhere. top_p is above 0 and at most 1. Where a sum equals top_p within the rounding \
            of f32, either set is right.\nElements of a row add up to 1 within rounding; a row of zeros gives zeros. \
            NaN is not given.",
        ),
    ];
    let row = |(signature, engine, text)| {
        OpBuilder::new(signature, engine, text)
            .family(OpFamily::Softmax)
            .dtypes(&[DType::F32])
            .role("probs", Role::Simplex)
            .outputs(&["the renormalised probabilities"])
    };
    rows.into_iter().map(row).collect()
}
