//! The forward pass of a diffusion U-Net with cross attention.

use crate::log::Value;

use super::{
    arch::UNet,
    attention::spelled_out,
    calls::{Calls, Conv, ints},
};

/// One denoising step: down through the levels, and up again with what was set aside.
pub(super) fn unet(calls: &mut Calls, model: &UNet, batch: usize) {
    let channels = model.channels;
    time_embedding(calls, batch, channels);
    let mut at = FeatureMap { batch, side: model.image, width: channels };
    conv(calls, &at, model.in_channels, channels, 3, 1);
    let mut aside = vec![channels];
    let levels = model.mults.len();
    for (level, &mult) in model.mults.iter().enumerate() {
        for _ in 0..model.res_blocks {
            block(calls, model, &mut at, 0, mult * channels, level);
            aside.push(at.width);
        }
        if level + 1 < levels {
            at.side = conv(calls, &at, at.width, at.width, 3, 2);
            aside.push(at.width);
        }
    }
    let width = at.width;
    block(calls, model, &mut at, 0, width, levels - 1);
    for (level, &mult) in model.mults.iter().enumerate().rev() {
        for _ in 0..=model.res_blocks {
            let skip = aside.pop().unwrap_or(channels);
            block(calls, model, &mut at, skip, mult * channels, level);
        }
        if level > 0 {
            upsample(calls, &mut at);
        }
    }
    norm_silu(calls, model, &at);
    conv(calls, &at, at.width, model.in_channels, 3, 1);
}

/// Where in the network an image is.
#[derive(Debug, Clone, Copy)]
struct FeatureMap {
    batch: usize,
    side: usize,
    width: usize,
}

impl FeatureMap {
    const fn shape(&self) -> [usize; 4] {
        [self.batch, self.width, self.side, self.side]
    }
}

fn time_embedding(calls: &mut Calls, batch: usize, channels: usize) {
    calls.matmul(batch, channels, 4 * channels, true);
    calls.unary("silu", &[batch, 4 * channels]);
    calls.matmul(batch, 4 * channels, 4 * channels, true);
}

fn conv(
    calls: &mut Calls,
    at: &FeatureMap,
    inputs: usize,
    outputs: usize,
    kernel: usize,
    stride: usize,
) -> usize {
    let conv = Conv { bias: true, ..Conv::same(inputs, outputs, kernel, stride) };
    calls.conv(at.batch, &[at.side, at.side], &conv)[2]
}

fn norm_silu(calls: &mut Calls, model: &UNet, at: &FeatureMap) {
    calls.group_norm(&at.shape(), model.groups, model.eps);
    calls.unary("silu", &at.shape());
}

/// A residual block to `width`, its input joined with `skip` channels set aside, then attention
/// where the level has it.
fn block(
    calls: &mut Calls,
    model: &UNet,
    at: &mut FeatureMap,
    skip: usize,
    width: usize,
    level: usize,
) {
    let FeatureMap { batch, side, .. } = *at;
    if skip > 0 {
        let tensors = vec![calls.tensor(&at.shape()), calls.tensor(&[batch, skip, side, side])];
        calls.push("cat", vec![Value::List(tensors), Value::Int(1)]);
        at.width += skip;
    }
    norm_silu(calls, model, at);
    conv(calls, at, at.width, width, 3, 1);
    calls.unary("silu", &[batch, 4 * model.channels]);
    calls.matmul(batch, 4 * model.channels, width, true);
    let input = std::mem::replace(&mut at.width, width);
    calls.binary("add.Tensor", &at.shape(), &[batch, width, 1, 1]);
    norm_silu(calls, model, at);
    conv(calls, at, width, width, 3, 1);
    if input != width {
        conv(calls, at, input, width, 1, 1);
    }
    calls.binary("add.Tensor", &at.shape(), &at.shape());
    if model.attention_at.contains(&(1 << level)) {
        attend(calls, model, at);
    }
}

/// Self-attention over the pixels, cross attention to the text, a gated feed-forward block.
fn attend(calls: &mut Calls, model: &UNet, at: &FeatureMap) {
    let FeatureMap { batch, side, width } = *at;
    let (pixels, dim) = (side * side, width / model.heads);
    calls.group_norm(&at.shape(), model.groups, model.eps);
    conv(calls, at, width, width, 1, 1);
    for (context, inputs) in [(pixels, width), (model.context_len, model.context_dim)] {
        calls.layer_norm(&[batch, pixels], width, model.eps);
        calls.linear(&[batch, pixels], width, width, false);
        calls.linear(&[batch, context], inputs, width, false);
        spelled_out(calls, batch, model.heads, [pixels, context], dim);
        calls.matmul(batch * pixels, width, width, true);
        calls.binary("add.Tensor", &[batch, pixels, width], &[batch, pixels, width]);
    }
    calls.layer_norm(&[batch, pixels], width, model.eps);
    let inner = 4 * width;
    calls.matmul(batch * pixels, width, 2 * inner, true);
    calls.unary("gelu", &[batch, pixels, inner]);
    calls.binary("mul.Tensor", &[batch, pixels, inner], &[batch, pixels, inner]);
    calls.matmul(batch * pixels, inner, width, true);
    conv(calls, at, width, width, 1, 1);
}

fn upsample(calls: &mut Calls, at: &mut FeatureMap) {
    let doubled = 2 * at.side;
    let args = vec![calls.tensor(&at.shape()), ints(&[doubled, doubled])];
    calls.push("upsample_nearest2d", args);
    at.side = doubled;
    conv(calls, at, at.width, at.width, 3, 1);
}
