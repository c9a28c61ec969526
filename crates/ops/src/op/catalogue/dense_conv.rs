//! Convolutions.

use super::super::{Role, def::OpBuilder, families::conv::Conv};
use crate::record::Gen;

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [general(), plain(), transposed()].into_iter().flatten().collect()
}

/// The op that takes every option as an argument.
fn general() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] \
            padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) \
            -> Tensor",
            Conv::Any,
            "The general convolution over 1, 2 or 3 spatial dimensions (as many as weight has \
            beyond its first two); all options are given. transposed false: input [n, c_in, ..], \
            weight [c_out, c_in / groups, k..], out[b, o, y] = bias[o] + sum over c and the \
            kernel positions t of input[b, g * c_in / groups + c, y * stride + t * dilation - \
            padding] * weight[o, c, t] with g the group of o; output_padding has no meaning. \
            transposed true: weight is [c_in, c_out / groups, k..] and each input element adds \
            input[b, c, x] * weight[c, o, t] to the output at x * stride + t * dilation - \
            padding; the extent of the output is (in - 1) * stride - 2 * padding + dilation * (k \
            - 1) + output_padding + 1. A list of one number counts for every dimension. bias is \
            [c_out] or None (a null pointer). Products and sums are f32, also for f16 and bf16 \
            inputs, rounded once to the output's dtype; bias is added in f32. For f32 inputs the \
            products must be full f32: TF32 is wrong. Any order of summation is right, and so is \
            any algorithm with f32's accuracy (implicit matrix products; Winograd of small \
            tiles).\n\
            NaN and infinities follow IEEE arithmetic and reach every output whose window holds \
            them: Inf * 0 is NaN. Padding counts as zeros; the weights it meets are finite. n = \
            0 gives an empty result.",
        )
        .alias(&["_convolution"])
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
    ]
}

/// Plain convolutions by their number of dimensions.
fn plain() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], \
            SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
            Conv::Plain(1),
            "Convolution (cross-correlation) over 1 spatial dimension: input [n, c_in, l] or \
            without the batch [c_in, l], weight [c_out, c_in / groups, k..], bias [c_out] or \
            None (a null pointer; counts as 0). out[b, o, y] = bias[o] + sum over c and the \
            kernel positions t of input[b, g * c_in / groups + c, y * stride + t * dilation - \
            padding] * weight[o, c, t], per spatial dimension, where g = o / (c_out / groups) is \
            the group of o; what lies outside the input is 0. The extent of the output per \
            dimension is (in + 2 * padding - dilation * (k - 1) - 1) / stride + 1, rounded down. \
            stride, padding and dilation are lists of one number. Products and sums are f32, \
            also for f16 and bf16 inputs, rounded once to the output's dtype; bias is added in \
            f32. For f32 inputs the products must be full f32: TF32 is wrong. Any order of \
            summation is right, and so is any algorithm with f32's accuracy (implicit matrix \
            products; Winograd of small tiles).\n\
            NaN and infinities follow IEEE arithmetic and reach every output whose window holds \
            them: Inf * 0 is NaN. Padding counts as zeros; the weights it meets are finite. n = \
            0 gives an empty result.",
        )
        .alias(&["nn.functional.conv1d"])
        .edges("input", Gen::LoneInfinity)
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
        OpBuilder::new(
            "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], \
            SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
            Conv::Plain(2),
            "Convolution (cross-correlation) over 2 spatial dimensions: input [n, c_in, h, w] or \
            without the batch [c_in, h, w], weight [c_out, c_in / groups, k..], bias [c_out] or \
            None (a null pointer; counts as 0). out[b, o, y] = bias[o] + sum over c and the \
            kernel positions t of input[b, g * c_in / groups + c, y * stride + t * dilation - \
            padding] * weight[o, c, t], per spatial dimension, where g = o / (c_out / groups) is \
            the group of o; what lies outside the input is 0. The extent of the output per \
            dimension is (in + 2 * padding - dilation * (k - 1) - 1) / stride + 1, rounded down. \
            stride, padding and dilation are lists of 2 numbers, or of one that counts for all. \
            Products and sums are f32, also for f16 and bf16 inputs, rounded once to the \
            output's dtype; bias is added in f32. For f32 inputs the products must be full f32: \
            TF32 is wrong. Any order of summation is right, and so is any algorithm with f32's \
            accuracy (implicit matrix products; Winograd of small tiles).\n\
            NaN and infinities follow IEEE arithmetic and reach every output whose window holds \
            them: Inf * 0 is NaN. Padding counts as zeros; the weights it meets are finite. n = \
            0 gives an empty result.",
        )
        .alias(&["nn.functional.conv2d"])
        .edges("input", Gen::LoneInfinity)
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
        OpBuilder::new(
            "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], \
            SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> \
            Tensor",
            Conv::Plain(3),
            "Convolution (cross-correlation) over 3 spatial dimensions: input [n, c_in, d, h, w] \
            or without the batch [c_in, d, h, w], weight [c_out, c_in / groups, k..], bias \
            [c_out] or None (a null pointer; counts as 0). out[b, o, y] = bias[o] + sum over c \
            and the kernel positions t of input[b, g * c_in / groups + c, y * stride + t * \
            dilation - padding] * weight[o, c, t], per spatial dimension, where g = o / (c_out / \
            groups) is the group of o; what lies outside the input is 0. The extent of the \
            output per dimension is (in + 2 * padding - dilation * (k - 1) - 1) / stride + 1, \
            rounded down. stride, padding and dilation are lists of 3 numbers, or of one that \
            counts for all. Products and sums are f32, also for f16 and bf16 inputs, rounded \
            once to the output's dtype; bias is added in f32. For f32 inputs the products must \
            be full f32: TF32 is wrong. Any order of summation is right, and so is any algorithm \
            with f32's accuracy (implicit matrix products; Winograd of small tiles).\n\
            NaN and infinities follow IEEE arithmetic and reach every output whose window holds \
            them: Inf * 0 is NaN. Padding counts as zeros; the weights it meets are finite. n = \
            0 gives an empty result.",
        )
        .alias(&["nn.functional.conv3d"])
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
    ]
}

/// Transposed convolutions by their number of dimensions.
fn transposed() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] \
            stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, \
            SymInt[1] dilation=[1]) -> Tensor",
            Conv::Transposed(1),
            "Transposed convolution over 1 spatial dimension, the gradient of a convolution with \
            respect to its input: input [n, c_in, l] or without the batch, weight [c_in, c_out / \
            groups, k..], bias [c_out] or None (a null pointer; counts as 0). Each input element \
            adds input[b, c, x] * weight[c, o, t] to the output of channel o (of the group of c) \
            at x * stride + t * dilation - padding, per spatial dimension; what falls outside is \
            dropped, bias is added once to every element. The extent of the output per dimension \
            is (in - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1; \
            elements that no product reaches are bias. Products and sums are f32, also for f16 \
            and bf16 inputs, rounded once to the output's dtype; bias is added in f32. For f32 \
            inputs the products must be full f32: TF32 is wrong. Any order of summation is \
            right, and so is any algorithm with f32's accuracy (implicit matrix products; \
            Winograd of small tiles).\n\
            NaN and infinities follow IEEE arithmetic and reach every output that they are added \
            to: Inf * 0 is NaN. n = 0 gives an empty result.",
        )
        .alias(&["nn.functional.conv_transpose1d"])
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
        OpBuilder::new(
            "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] \
            stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt \
            groups=1, SymInt[2] dilation=[1, 1]) -> Tensor",
            Conv::Transposed(2),
            "Transposed convolution over 2 spatial dimensions, the gradient of a convolution with \
            respect to its input: input [n, c_in, h, w] or without the batch, weight [c_in, \
            c_out / groups, k..], bias [c_out] or None (a null pointer; counts as 0). Each input \
            element adds input[b, c, x] * weight[c, o, t] to the output of channel o (of the \
            group of c) at x * stride + t * dilation - padding, per spatial dimension; what \
            falls outside is dropped, bias is added once to every element. The extent of the \
            output per dimension is (in - 1) * stride - 2 * padding + dilation * (k - 1) + \
            output_padding + 1; elements that no product reaches are bias. Products and sums are \
            f32, also for f16 and bf16 inputs, rounded once to the output's dtype; bias is added \
            in f32. For f32 inputs the products must be full f32: TF32 is wrong. Any order of \
            summation is right, and so is any algorithm with f32's accuracy (implicit matrix \
            products; Winograd of small tiles).\n\
            NaN and infinities follow IEEE arithmetic and reach every output that they are added \
            to: Inf * 0 is NaN. n = 0 gives an empty result.",
        )
        .alias(&["nn.functional.conv_transpose2d"])
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
        OpBuilder::new(
            "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] \
            stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], \
            SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor",
            Conv::Transposed(3),
            "Transposed convolution over 3 spatial dimensions, the gradient of a convolution with \
            respect to its input: input [n, c_in, d, h, w] or without the batch, weight [c_in, \
            c_out / groups, k..], bias [c_out] or None (a null pointer; counts as 0). Each input \
            element adds input[b, c, x] * weight[c, o, t] to the output of channel o (of the \
            group of c) at x * stride + t * dilation - padding, per spatial dimension; what \
            falls outside is dropped, bias is added once to every element. The extent of the \
            output per dimension is (in - 1) * stride - 2 * padding + dilation * (k - 1) + \
            output_padding + 1; elements that no product reaches are bias. Products and sums are \
            f32, also for f16 and bf16 inputs, rounded once to the output's dtype; bias is added \
            in f32. For f32 inputs the products must be full f32: TF32 is wrong. Any order of \
            summation is right, and so is any algorithm with f32's accuracy (implicit matrix \
            products; Winograd of small tiles).\n\
            NaN and infinities follow IEEE arithmetic and reach every output that they are added \
            to: Inf * 0 is NaN. n = 0 gives an empty result.",
        )
        .alias(&["nn.functional.conv_transpose3d"])
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
    ]
}
