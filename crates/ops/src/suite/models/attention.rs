//! The attention block of a transformer.

use crate::log::Value;

use super::{
    arch::{Mla, Norm, Role, Transformer},
    calls::Calls,
};

/// One pass over a batch of sequences.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    /// Sequences.
    pub(super) batch: usize,
    /// Tokens of each that are computed.
    pub(super) tokens: usize,
    /// Tokens of each that are attended to.
    pub(super) context: usize,
    /// Whether a token sees none behind it.
    pub(super) causal: bool,
}

/// Self-attention with its projections.
pub(super) fn attention(calls: &mut Calls, model: &Transformer, pass: &Pass) {
    if let Some(mla) = model.mla {
        return latent(calls, model, mla, pass);
    }
    let Pass { batch, tokens, context, .. } = *pass;
    let Transformer { hidden, heads, kv_heads, head_dim, bias, .. } = *model;
    let outputs = [heads, kv_heads, kv_heads].map(|heads| heads * head_dim);
    // Where queries, keys and values are of one width, one product makes all three.
    if heads == kv_heads && model.role == Role::Decoder {
        calls.linear(&[batch, tokens], hidden, outputs.iter().sum(), bias);
    } else {
        for outputs in outputs {
            calls.linear(&[batch, tokens], hidden, outputs, bias);
        }
    }
    if model.qk_norm {
        calls.rms_norm(&[batch, tokens, heads], head_dim, model.eps);
        calls.rms_norm(&[batch, tokens, kv_heads], head_dim, model.eps);
    }
    if model.rope_dim > 0 {
        rope(calls, batch, heads, tokens, model.rope_dim);
        rope(calls, batch, kv_heads, tokens, model.rope_dim);
    }
    if tokens < context {
        append(calls, &[batch, kv_heads, context - tokens, head_dim], tokens);
    }
    if model.role == Role::Decoder {
        let (query, key) = ([batch, heads, tokens], [batch, kv_heads, context]);
        fused(calls, query, key, [head_dim, head_dim], pass.causal);
    } else {
        spelled_out(calls, batch, heads, [tokens, context], head_dim);
    }
    calls.matmul(batch * tokens, heads * head_dim, hidden, bias);
}

/// Attention of a decoder's tokens to the output of an encoder.
pub(super) fn cross(calls: &mut Calls, model: &Transformer, pass: &Pass, encoded: usize) {
    let Pass { batch, tokens, .. } = *pass;
    let Transformer { hidden, heads, head_dim, bias, .. } = *model;
    let width = heads * head_dim;
    calls.linear(&[batch, tokens], hidden, width, bias);
    fused(calls, [batch, heads, tokens], [batch, heads, encoded], [head_dim, head_dim], false);
    calls.matmul(batch * tokens, width, hidden, bias);
}

fn rope(calls: &mut Calls, batch: usize, heads: usize, tokens: usize, dim: usize) {
    let angles = [tokens, dim / 2];
    let args = vec![
        calls.tensor(&[batch, heads, tokens, dim]),
        calls.tensor(&angles),
        calls.tensor(&angles),
    ];
    calls.push("rope", args);
}

/// Appends what is new to a cache.
fn append(calls: &mut Calls, cache: &[usize; 4], tokens: usize) {
    let [batch, heads, _, dim] = *cache;
    let tensors = vec![calls.tensor(cache), calls.tensor(&[batch, heads, tokens, dim])];
    calls.push("cat", vec![Value::List(tensors), Value::Int(2)]);
}

/// Attention in one call; `query` and `key` are batch, heads and length, `dims` the widths of a
/// head's keys and values.
fn fused(calls: &mut Calls, query: [usize; 3], key: [usize; 3], dims: [usize; 2], causal: bool) {
    let args = vec![
        calls.tensor(&[&query[..], &dims[..1]].concat()),
        calls.tensor(&[&key[..], &dims[..1]].concat()),
        calls.tensor(&[&key[..], &dims[1..]].concat()),
    ];
    let mut kwargs = Vec::new();
    if causal {
        kwargs.push(("is_causal", Value::Bool(true)));
    }
    if query[1] != key[1] {
        kwargs.push(("enable_gqa", Value::Bool(true)));
    }
    calls.push_with("scaled_dot_product_attention", args, &kwargs);
}

/// Attention as two products and a softmax; `lengths` are those of queries and keys.
pub(super) fn spelled_out(
    calls: &mut Calls,
    batch: usize,
    heads: usize,
    lengths: [usize; 2],
    dim: usize,
) {
    let [tokens, context] = lengths;
    let stack = batch * heads;
    let args = vec![calls.tensor(&[stack, tokens, dim]), calls.transposed(&[stack, dim, context])];
    calls.push("bmm", args);
    calls.softmax(&[batch, heads, tokens, context]);
    calls.binary("bmm", &[stack, tokens, context], &[stack, context, dim]);
}

/// Attention whose keys and values are made of a small latent vector.
fn latent(calls: &mut Calls, model: &Transformer, mla: Mla, pass: &Pass) {
    let Pass { batch, tokens, context, causal } = *pass;
    let Transformer { hidden, heads, eps, .. } = *model;
    debug_assert_eq!(model.norm, Norm::RmsNorm, "the latent vectors are RMS-normalised");
    let rows = batch * tokens;
    let head = mla.nope + mla.rope;
    if mla.q_rank > 0 {
        calls.matmul(rows, hidden, mla.q_rank, false);
        calls.rms_norm(&[batch, tokens], mla.q_rank, eps);
        calls.matmul(rows, mla.q_rank, heads * head, false);
    } else {
        calls.matmul(rows, hidden, heads * head, false);
    }
    calls.matmul(rows, hidden, mla.kv_rank + mla.rope, false);
    calls.rms_norm(&[batch, tokens], mla.kv_rank, eps);
    rope(calls, batch, heads, tokens, mla.rope);
    rope(calls, batch, 1, tokens, mla.rope);
    if tokens < context {
        // The projection of keys and values is applied to the query and to the result, so that all
        // heads share what is cached.
        let latent = mla.kv_rank + mla.rope;
        append(calls, &[batch, 1, context - tokens, latent], tokens);
        calls.binary("bmm", &[heads, rows, mla.nope], &[heads, mla.nope, mla.kv_rank]);
        fused(calls, [batch, heads, tokens], [batch, 1, context], [latent, mla.kv_rank], causal);
        calls.binary("bmm", &[heads, rows, mla.kv_rank], &[heads, mla.kv_rank, mla.v]);
    } else {
        calls.matmul(rows, mla.kv_rank, heads * (mla.nope + mla.v), false);
        fused(calls, [batch, heads, tokens], [batch, heads, context], [head, mla.v], causal);
    }
    calls.matmul(rows, heads * mla.v, hidden, false);
}
