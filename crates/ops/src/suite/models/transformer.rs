//! Forward passes of transformers and of what has taken their place.

use crate::log::Value;

use super::{
    Work,
    arch::{Act, Audio, Image, Mamba, Moe, Norm, Role, Transformer},
    attention::{Pass, attention, cross},
    calls::{Calls, Conv, int},
};

/// Length of the texts that encoders are given, at most.
const TEXT: usize = 512;

/// Tokens that a decoder next to an encoder has before it.
const PREFIX: usize = 128;

/// The passes of a model: over prompts and, for a decoder, over a token per sequence.
pub(super) fn forward(calls: &mut Calls, model: &Transformer, work: &Work) {
    let at_most = |tokens: usize| model.max_seq.map_or(tokens, |most| tokens.min(most));
    match model.role {
        Role::Decoder => {
            let tokens = at_most(work.tokens);
            let pass = Pass { batch: work.prompts, tokens, context: tokens, causal: true };
            decoder(calls, model, &pass, None);
            let context = at_most(work.context);
            let pass = Pass { batch: work.sequences, tokens: 1, context, causal: false };
            decoder(calls, model, &pass, None);
        }
        Role::Encoder => {
            encoder(calls, model, work, at_most(work.tokens.min(TEXT)));
        }
        Role::EncoderDecoder => {
            let encoded = encoder(calls, model, work, at_most(work.tokens.min(TEXT)));
            let tokens = at_most(work.tokens.min(PREFIX));
            let pass = Pass { batch: work.images, tokens, context: tokens, causal: true };
            decoder(calls, model, &pass, Some(encoded));
            let context = at_most(work.context.min(PREFIX));
            let pass = Pass { batch: work.images, tokens: 1, context, causal: false };
            decoder(calls, model, &pass, Some(encoded));
        }
    }
}

/// Encodes texts, images or sound and returns the number of encoded positions.
fn encoder(calls: &mut Calls, model: &Transformer, work: &Work, tokens: usize) -> usize {
    let batch = work.images;
    calls.times(1);
    let tokens = match (&model.image, &model.audio) {
        (Some(image), _) => patches(calls, model, image, batch),
        (None, Some(audio)) => sound(calls, model, audio, batch),
        (None, None) => {
            embed(calls, model, batch, tokens);
            tokens
        }
    };
    let pass = Pass { batch, tokens, context: tokens, causal: false };
    calls.times(model.layers as u64);
    attention(calls, model, &pass);
    feed_forward(calls, model, &pass);
    calls.times(1);
    norm(calls, model, &[batch, tokens]);
    tokens
}

fn decoder(calls: &mut Calls, model: &Transformer, pass: &Pass, encoded: Option<usize>) {
    let Pass { batch, tokens, .. } = *pass;
    calls.times(1);
    embed(calls, model, batch, tokens);
    calls.times(model.layers as u64);
    attention(calls, model, pass);
    if let Some(encoded) = encoded {
        residual_and_norm(calls, model, pass);
        cross(calls, model, pass, encoded);
    }
    feed_forward(calls, model, pass);
    calls.times(1);
    norm(calls, model, &[batch, tokens]);
    // Only the last token of each sequence is asked what comes next.
    if let Some(vocab) = model.vocab {
        calls.matmul(batch, model.hidden, vocab, false);
        calls.push("_softmax", vec![Calls::f32(&[batch, vocab]), int(1), Value::Bool(false)]);
        calls.push("argmax", vec![calls.tensor(&[batch, vocab]), Value::Int(-1)]);
    }
}

fn embed(calls: &mut Calls, model: &Transformer, batch: usize, tokens: usize) {
    if let Some(vocab) = model.vocab {
        let indices = Calls::indices(&[batch, tokens], vocab);
        let weight = calls.tensor(&[vocab, model.hidden]);
        calls.push("embedding", vec![weight, indices]);
    }
}

/// Cuts images into patches; returns their number and the class token's.
fn patches(calls: &mut Calls, model: &Transformer, image: &Image, batch: usize) -> usize {
    let conv = Conv {
        stride: image.patch,
        padding: 0,
        bias: model.bias,
        ..Conv::same(image.channels, model.hidden, image.patch, 1)
    };
    let side = conv.output(image.size);
    calls.conv(batch, &[image.size, image.size], &conv);
    let patches = calls.tensor(&[batch, side * side, model.hidden]);
    let class = calls.tensor(&[batch, 1, model.hidden]);
    calls.push("cat", vec![Value::List(vec![class, patches]), Value::Int(1)]);
    let tokens = side * side + 1;
    calls.binary("add.Tensor", &[batch, tokens, model.hidden], &[1, tokens, model.hidden]);
    tokens
}

/// Convolves sound; returns the number of frames.
fn sound(calls: &mut Calls, model: &Transformer, audio: &Audio, batch: usize) -> usize {
    let (mut channels, mut frames) = (audio.channels, audio.samples);
    for (layer, &outputs) in audio.dims.iter().enumerate() {
        let conv = Conv {
            stride: audio.strides[layer],
            padding: audio.paddings[layer],
            bias: audio.bias,
            ..Conv::same(channels, outputs, audio.kernels[layer], 1)
        };
        let shape = calls.conv(batch, &[frames], &conv);
        if layer == 0 && !audio.bias {
            calls.group_norm(&shape, outputs, model.eps);
        }
        calls.unary("gelu", &shape);
        (channels, frames) = (outputs, shape[2]);
    }
    frames
}

/// The feed-forward block, with the residual connections and norms around it.
fn feed_forward(calls: &mut Calls, model: &Transformer, pass: &Pass) {
    let Pass { batch, tokens, .. } = *pass;
    residual_and_norm(calls, model, pass);
    match model.moe {
        Some(moe) => experts(calls, model, moe, batch * tokens),
        None => mlp(calls, model, batch * tokens, model.ffn),
    }
    residual_and_norm(calls, model, pass);
}

fn residual_and_norm(calls: &mut Calls, model: &Transformer, pass: &Pass) {
    let Pass { batch, tokens, .. } = *pass;
    let hidden = model.hidden;
    let shape = [batch, tokens, hidden];
    calls.binary("add.Tensor", &shape, &shape);
    norm(calls, model, &[batch, tokens]);
    // What engines make of the two.
    if model.norm == Norm::RmsNorm && model.role == Role::Decoder {
        let x = calls.tensor(&[batch * tokens, hidden]);
        let weight = calls.tensor(&[hidden]);
        calls.push("fused_add_rms_norm", vec![x.clone(), x, weight, Value::Float(model.eps)]);
    }
}

fn norm(calls: &mut Calls, model: &Transformer, shape: &[usize]) {
    match model.norm {
        Norm::LayerNorm => calls.layer_norm(shape, model.hidden, model.eps),
        Norm::RmsNorm => calls.rms_norm(shape, model.hidden, model.eps),
    }
}

fn mlp(calls: &mut Calls, model: &Transformer, rows: usize, ffn: usize) {
    let inner = if model.gated { 2 * ffn } else { ffn };
    calls.matmul(rows, model.hidden, inner, model.bias);
    activation(calls, model, &[rows, inner]);
    calls.matmul(rows, ffn, model.hidden, model.bias);
}

fn activation(calls: &mut Calls, model: &Transformer, shape: &[usize]) {
    let tanh = [("approximate", Value::Str("tanh".to_owned()))];
    match (model.act, model.gated) {
        (Act::Silu, true) => calls.unary("silu_and_mul", shape),
        (Act::Silu, false) => calls.unary("silu", shape),
        (Act::Gelu, true) => calls.unary("gelu_and_mul", shape),
        (Act::Gelu, false) => calls.unary("gelu", shape),
        (Act::GeluTanh, true) => calls.push_with("gelu_and_mul", vec![calls.tensor(shape)], &tanh),
        (Act::GeluTanh, false) => calls.push_with("gelu", vec![calls.tensor(shape)], &tanh),
        // x sigmoid(1.702 x)
        (Act::QuickGelu, _) => {
            calls.push("mul.Scalar", vec![calls.tensor(shape), Value::Float(1.702)]);
            calls.unary("sigmoid", shape);
            calls.binary("mul.Tensor", shape, shape);
        }
        (Act::Relu, _) => calls.unary("relu", shape),
    }
}

/// A mixture of experts: the router, one expert's share of the tokens, the shared experts.
fn experts(calls: &mut Calls, model: &Transformer, moe: Moe, tokens: usize) {
    calls.matmul(tokens, model.hidden, moe.experts, false);
    let gating = calls.tensor(&[tokens, moe.experts]);
    calls.push("topk_softmax", vec![gating, int(moe.per_token)]);
    let share = (tokens * moe.per_token).div_ceil(moe.experts);
    mlp(calls, model, share, moe.ffn);
    if moe.shared_ffn > 0 {
        mlp(calls, model, tokens, moe.shared_ffn);
    }
}

/// A selective state-space model: projections, a causal depthwise convolution, gates.
pub(super) fn mamba(calls: &mut Calls, model: &Mamba, work: &Work) {
    let Mamba { hidden, inner, state, dt_rank, vocab, eps, .. } = *model;
    let (batch, tokens) = (work.prompts, work.tokens);
    let rows = batch * tokens;
    let weight = calls.tensor(&[vocab, hidden]);
    calls.push("embedding", vec![weight, Calls::indices(&[batch, tokens], vocab)]);
    calls.times(model.layers);
    calls.rms_norm(&[batch, tokens], hidden, eps);
    calls.linear(&[batch, tokens], hidden, 2 * inner, false);
    let conv = Conv {
        padding: model.conv_kernel - 1,
        groups: inner,
        bias: true,
        ..Conv::same(inner, inner, model.conv_kernel, 1)
    };
    calls.conv(batch, &[tokens], &conv);
    calls.unary("silu", &[batch, inner, tokens]);
    calls.matmul(rows, inner, dt_rank + 2 * state, false);
    calls.matmul(rows, dt_rank, inner, true);
    calls.unary("softplus", &[batch, tokens, inner]);
    calls.binary("mul.Tensor", &[batch, tokens, inner], &[inner]);
    calls.binary("mul.Tensor", &[batch, tokens, inner], &[batch, tokens, inner]);
    calls.matmul(rows, inner, hidden, false);
    calls.binary("add.Tensor", &[batch, tokens, hidden], &[batch, tokens, hidden]);
    calls.times(1);
    calls.matmul(batch, hidden, vocab, false);
}
