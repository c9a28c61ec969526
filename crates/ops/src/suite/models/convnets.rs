//! Forward passes of convolutional networks.

use crate::log::Value;

use super::{
    arch::{MobileNet, ResNet, Vgg},
    calls::{Calls, Conv, int, ints},
};

/// Bottleneck blocks, the first of each stage with a projection of its input.
pub(super) fn resnet(calls: &mut Calls, model: &ResNet, batch: usize) {
    let eps = model.eps;
    let mut side = conv_bn(calls, batch, model.image, &Conv::same(3, model.stem, 7, 2), eps);
    calls.unary("relu", &[batch, model.stem, side, side]);
    side = max_pool(calls, &[batch, model.stem, side, side], 3, 1);
    let mut inputs = model.stem;
    for (stage, (&width, &blocks)) in model.widths.iter().zip(&model.blocks).enumerate() {
        let outputs = width * model.expansion;
        let stride = if stage == 0 { 1 } else { 2 };
        calls.times(1);
        conv_bn(calls, batch, side, &Conv::same(inputs, outputs, 1, stride), eps);
        side = bottleneck(calls, batch, side, [inputs, width, outputs], stride, eps);
        calls.times(blocks.saturating_sub(1));
        if blocks > 1 {
            bottleneck(calls, batch, side, [outputs, width, outputs], 1, eps);
        }
        inputs = outputs;
    }
    calls.times(1);
    head(calls, &[batch, inputs, side, side], 1, &[model.classes]);
}

/// Convolutions of 1, 3 and 1 with the residual connection; returns the extent of the output.
fn bottleneck(
    calls: &mut Calls,
    batch: usize,
    side: usize,
    [inputs, width, outputs]: [usize; 3],
    stride: usize,
    eps: f64,
) -> usize {
    conv_bn(calls, batch, side, &Conv::same(inputs, width, 1, 1), eps);
    calls.unary("relu", &[batch, width, side, side]);
    let side = conv_bn(calls, batch, side, &Conv::same(width, width, 3, stride), eps);
    calls.unary("relu", &[batch, width, side, side]);
    conv_bn(calls, batch, side, &Conv::same(width, outputs, 1, 1), eps);
    let shape = [batch, outputs, side, side];
    calls.binary("add.Tensor", &shape, &shape);
    calls.unary("relu", &shape);
    side
}

/// A convolution of square images with a batch norm; returns the extent of the output.
fn conv_bn(calls: &mut Calls, batch: usize, side: usize, conv: &Conv, eps: f64) -> usize {
    let shape = calls.conv(batch, &[side, side], conv);
    calls.batch_norm(&shape, eps);
    shape[2]
}

/// Halves an image; returns its extent.
fn max_pool(calls: &mut Calls, shape: &[usize], kernel: usize, padding: usize) -> usize {
    let both = |value| ints(&[value, value]);
    let args = vec![calls.tensor(shape), both(kernel), both(2), both(padding)];
    calls.push("max_pool2d", args);
    Conv { padding, ..Conv::same(1, 1, kernel, 2) }.output(shape[2])
}

/// Pools images to a fixed extent and classifies them.
fn head(calls: &mut Calls, shape: &[usize], pooled: usize, widths: &[usize]) {
    let args = vec![calls.tensor(shape), ints(&[pooled, pooled])];
    calls.push("adaptive_avg_pool2d", args);
    let (batch, mut inputs) = (shape[0], shape[1] * pooled * pooled);
    for (layer, &outputs) in widths.iter().enumerate() {
        calls.matmul(batch, inputs, outputs, true);
        if layer + 1 < widths.len() {
            calls.unary("relu", &[batch, outputs]);
        }
        inputs = outputs;
    }
    calls.softmax(&[batch, inputs]);
}

/// Plain 3x3 convolutions with biases.
pub(super) fn vgg(calls: &mut Calls, model: &Vgg, batch: usize) {
    let (mut inputs, mut side) = (3, model.image);
    for &width in &model.layers {
        if width == 0 {
            side = max_pool(calls, &[batch, inputs, side, side], 2, 0);
        } else {
            let conv = Conv { bias: true, ..Conv::same(inputs, width, 3, 1) };
            let shape = calls.conv(batch, &[side, side], &conv);
            calls.unary("relu", &shape);
            inputs = width;
        }
    }
    head(calls, &[batch, inputs, side, side], model.pooled, &model.classifier);
}

/// Inverted residuals: a widening 1x1, a depthwise 3x3, a narrowing 1x1 convolution.
pub(super) fn mobilenet(calls: &mut Calls, model: &MobileNet, batch: usize) {
    let eps = model.eps;
    let mut side = conv_bn(calls, batch, model.image, &Conv::same(3, model.stem, 3, 2), eps);
    relu6(calls, &[batch, model.stem, side, side]);
    let mut inputs = model.stem;
    for &[expansion, outputs, repeats, stride] in &model.blocks {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { stride } else { 1 };
            let width = inputs * expansion;
            if expansion != 1 {
                conv_bn(calls, batch, side, &Conv::same(inputs, width, 1, 1), eps);
                relu6(calls, &[batch, width, side, side]);
            }
            let depthwise = Conv { groups: width, ..Conv::same(width, width, 3, stride) };
            side = conv_bn(calls, batch, side, &depthwise, eps);
            relu6(calls, &[batch, width, side, side]);
            conv_bn(calls, batch, side, &Conv::same(width, outputs, 1, 1), eps);
            if stride == 1 && inputs == outputs {
                let shape = [batch, outputs, side, side];
                calls.binary("add.Tensor", &shape, &shape);
            }
            inputs = outputs;
        }
    }
    conv_bn(calls, batch, side, &Conv::same(inputs, model.last, 1, 1), eps);
    relu6(calls, &[batch, model.last, side, side]);
    head(calls, &[batch, model.last, side, side], 1, &[model.classes]);
}

fn relu6(calls: &mut Calls, shape: &[usize]) {
    let args = vec![calls.tensor(shape), int(0), Value::Int(6)];
    calls.push("hardtanh", args);
}
