//! Paged caches and attention over them, of vLLM.

use super::super::super::{
    OpFamily, Role,
    def::OpBuilder,
    families::serving::{
        attention::{MergeStates, PagedAttention},
        cache::ReshapeAndCache,
    },
};

/// How tokens are written into a cache.
const SLOTS: &str = "key and value are [tokens, heads, d]. Token t, for each t below the length of \
    slot_mapping (i64, at most tokens), is written to place slot % block of block slot / block, slot = \
    slot_mapping[t]; a negative slot is skipped. Slots that are not skipped differ. The op writes in \
    place; here its results are the caches after it, and every element that no token is written to is \
    copied. Bits are copied, NaN and -0 among them.";

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    caches().into_iter().chain(attention()).map(OpBuilder::own).collect()
}

fn caches() -> Vec<OpBuilder> {
    [
        (
            "reshape_and_cache",
            false,
            "As vLLM's: key_cache is [blocks, heads, d / x, block, x] and value_cache [blocks, heads, \
            d, block]: element i of a key lies at (i / x, .., i % x).",
        ),
        (
            "reshape_and_cache_flash",
            true,
            "As vLLM's: key_cache and value_cache are [blocks, block, heads, d].",
        ),
    ]
    .into_iter()
    .map(|(name, flash, layout)| {
        let signature = format!(
            "{name}(Tensor key, Tensor value, Tensor key_cache, Tensor value_cache, Tensor \
            slot_mapping) -> (Tensor key_cache_out, Tensor value_cache_out)"
        );
        let text = format!("{layout} {SLOTS}");
        OpBuilder::new(&signature, ReshapeAndCache { flash }, &text)
            .family(OpFamily::Index)
            .exact()
            .signed_zero()
            .role("value", Role::Main)
            .role("slot_mapping", Role::Index)
            .outputs(&["the cache of keys", "the cache of values"])
    })
    .collect()
}

fn attention() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "paged_attention_v1(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, \
            float scale, Tensor block_tables, Tensor seq_lens, int block_size, int max_seq_len, \
            Tensor? alibi_slopes=None) -> Tensor",
            PagedAttention,
            "As vLLM's, without quantised caches: one query per sequence. query is [seqs, heads, d], \
            key_cache [blocks, num_kv_heads, d / x, block_size, x], value_cache [blocks, \
            num_kv_heads, d, block_size], block_tables i32 [seqs, n], seq_lens i32 [seqs], each at \
            most max_seq_len, which is at most n * block_size. Token t of sequence s is at place t % \
            block_size of block block_tables[s, t / block_size]; entries behind the last token are \
            not read. Head h reads the keys and values of head h / (heads / num_kv_heads). out = \
            softmax(scale * query . key + bias) @ value over the tokens t below seq_lens[s], bias = \
            alibi_slopes[h] * (t - seq_lens[s] + 1) (f32 [heads]) or 0. Compute in f32; f16 or bf16 \
            probabilities are accepted only as far as the tolerance goes. Online softmax and any \
            order of summation are right. Round once to the dtype.\n\
            A sequence without tokens gives 0. (vLLM's kernel adds 1e-6 to the sum of exponentials, which \
            f32 shows.) NaN in a query, or among its keys, gives NaN in the \
            whole head; a NaN in a value its element.",
        )
        .family(OpFamily::Attention)
        .role("block_tables", Role::Index)
        .role("seq_lens", Role::Index)
        .role("alibi_slopes", Role::ScaleF32)
        .outputs(&["the attended values"]),
        OpBuilder::new(
            "merge_attn_states(Tensor prefix_output, Tensor prefix_lse, Tensor suffix_output, Tensor \
            suffix_lse) -> (Tensor output, Tensor output_lse)",
            MergeStates,
            "As vLLM's: the attentions over two parts of the keys as one. Outputs are [tokens, heads, \
            d], lse (the logarithms of the sums of exponentials) f32 [heads, tokens]. With p and s \
            the two lse, an infinite one of either sign counting as -Inf, and m the larger: \
            output_lse = log(exp(p - m) + exp(s - m)) + m, output = prefix_output * exp(p - m) / sum + \
            suffix_output * exp(s - m) / sum, in f32, rounded once to the dtype.\n\
            NaN in an lse gives NaN in its head. Where both lse are infinite, output is \
            prefix_output and output_lse -Inf, as in vLLM's later kernels.",
        )
        .family(OpFamily::Attention)
        .role("prefix_lse", Role::ScaleF32)
        .role("suffix_lse", Role::ScaleF32)
        .outputs(&["the merged outputs", "the merged lse"]),
    ]
}
