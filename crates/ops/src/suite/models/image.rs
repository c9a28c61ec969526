//! Forward passes of models that look at images through windows.

use crate::log::Value;

use super::{
    arch::{ConvNext, Swin},
    attention::spelled_out,
    calls::{Calls, Conv, ints},
};

/// Depthwise convolutions and, per pixel, a feed-forward block.
pub(super) fn convnext(calls: &mut Calls, model: &ConvNext, batch: usize) {
    let ConvNext { patch, eps, expansion, .. } = *model;
    let mut inputs = model.widths.first().copied().unwrap_or(1);
    let stem = Conv { padding: 0, bias: true, ..Conv::same(3, inputs, patch, patch) };
    let mut side = stem.output(model.image);
    calls.conv(batch, &[model.image, model.image], &stem);
    calls.layer_norm(&[batch, side, side], inputs, eps);
    for (&width, &blocks) in model.widths.iter().zip(&model.blocks) {
        calls.times(1);
        if width != inputs {
            let halve = Conv { padding: 0, bias: true, ..Conv::same(inputs, width, 2, 2) };
            calls.layer_norm(&[batch, side, side], inputs, eps);
            calls.conv(batch, &[side, side], &halve);
            side = halve.output(side);
            inputs = width;
        }
        calls.times(blocks);
        let depthwise =
            Conv { groups: width, bias: true, ..Conv::same(width, width, model.kernel, 1) };
        calls.conv(batch, &[side, side], &depthwise);
        let pixels = [batch, side, side];
        calls.layer_norm(&pixels, width, eps);
        calls.linear(&pixels, width, expansion * width, true);
        calls.unary("gelu", &[batch, side, side, expansion * width]);
        calls.linear(&pixels, expansion * width, width, true);
        let shape = [batch, width, side, side];
        calls.binary("mul.Tensor", &[width, 1, 1], &shape);
        calls.binary("add.Tensor", &shape, &shape);
    }
    calls.times(1);
    let args = vec![calls.tensor(&[batch, inputs, side, side]), ints(&[1, 1])];
    calls.push("adaptive_avg_pool2d", args);
    calls.matmul(batch, inputs, model.classes, true);
}

/// Attention within windows that are shifted in every second block.
pub(super) fn swin(calls: &mut Calls, model: &Swin, batch: usize) {
    let Swin { patch, window, eps, .. } = *model;
    let mut width = model.embed;
    let stem = Conv { padding: 0, bias: true, ..Conv::same(model.channels, width, patch, patch) };
    calls.conv(batch, &[model.image, model.image], &stem);
    let mut side = stem.output(model.image);
    calls.layer_norm(&[batch, side * side], width, eps);
    for (stage, (&depth, &heads)) in model.depths.iter().zip(&model.heads).enumerate() {
        if stage > 0 {
            side /= 2;
            calls.times(1);
            // Four neighbours become one position of twice the width.
            calls.layer_norm(&[batch, side * side], 4 * width, eps);
            calls.matmul(batch * side * side, 4 * width, 2 * width, false);
            width *= 2;
        }
        calls.times(depth);
        calls.layer_norm(&[batch, side * side], width, eps);
        windowed(calls, [batch, side, width], heads, window);
        let shape = [batch, side * side, width];
        calls.binary("add.Tensor", &shape, &shape);
        calls.layer_norm(&[batch, side * side], width, eps);
        let (rows, inner) = (batch * side * side, model.mlp_ratio * width);
        calls.matmul(rows, width, inner, true);
        calls.unary("gelu", &[batch, side * side, inner]);
        calls.matmul(rows, inner, width, true);
    }
    calls.times(1);
    calls.layer_norm(&[batch, side * side], width, eps);
}

/// Attention within the windows of images of the given batch, side and width.
fn windowed(calls: &mut Calls, [batch, side, width]: [usize; 3], heads: usize, window: usize) {
    let per_side = side.div_ceil(window).max(1);
    let (windows, positions) = (batch * per_side * per_side, window * window);
    let shift = i64::try_from(window / 2).unwrap_or(0);
    let shifts = Value::List(vec![Value::Int(-shift), Value::Int(-shift)]);
    let image = calls.tensor(&[batch, side, side, width]);
    calls.push("roll", vec![image, shifts, ints(&[1, 2])]);
    calls.linear(&[windows, positions], width, 3 * width, true);
    let scores = [windows, heads, positions, positions];
    calls.binary("add.Tensor", &scores, &[1, heads, positions, positions]);
    spelled_out(calls, windows, heads, [positions, positions], width / heads);
    calls.matmul(windows * positions, width, width, true);
}
