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
        .role("bias", Role::Bias)
        .outputs(&["the convolved tensor"]),
    ]
}

/// How convolutions sum products.
const PRODUCTS: &str = "\
    Products and sums are f32, also for f16 and bf16 inputs, rounded once to the output's dtype; bias \
    is added in f32. For f32 inputs the products must be full f32: TF32 is wrong. Any order of \
    summation is right, and so is any algorithm with f32's accuracy (implicit matrix products; \
    Winograd of small tiles).";

/// Returns the words for a number of spatial dimensions: `2 spatial dimensions` and their names.
fn spatial(n: usize) -> (String, &'static str) {
    let plural = if n == 1 { "" } else { "s" };
    (format!("{n} spatial dimension{plural}"), ["", "l", "h, w", "d, h, w"][n])
}

/// Returns the default of an option of `n` numbers: `[1, 1]`.
fn of(value: &str, n: usize) -> String {
    format!("[{}]", vec![value; n].join(", "))
}

/// Plain convolutions by their number of dimensions.
fn plain() -> Vec<OpBuilder> {
    let row = |n: usize| {
        let (dimensions, axes) = spatial(n);
        let (zeros, ones) = (of("0", n), of("1", n));
        let lists = match n {
            1 => "lists of one number".to_owned(),
            _ => format!("lists of {n} numbers, or of one that counts for all"),
        };
        let signature = format!(
            "conv{n}d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride={ones}, \
            SymInt[{n}] padding={zeros}, SymInt[{n}] dilation={ones}, SymInt groups=1) -> Tensor"
        );
        let semantics = format!(
            "Convolution (cross-correlation) over {dimensions}: input [n, c_in, {axes}] or without \
            the batch [c_in, {axes}], weight [c_out, c_in / groups, k..], bias [c_out] or None (a \
            null pointer; counts as 0). out[b, o, y] = bias[o] + sum over c and the kernel positions \
            t of input[b, g * c_in / groups + c, y * stride + t * dilation - padding] * weight[o, c, \
            t], per spatial dimension, where g = o / (c_out / groups) is the group of o; what lies \
            outside the input is 0. The extent of the output per dimension is (in + 2 * padding - \
            dilation * (k - 1) - 1) / stride + 1, rounded down. stride, padding and dilation are \
            {lists}. {PRODUCTS}\n\
            NaN and infinities follow IEEE arithmetic and reach every output whose window holds \
            them: Inf * 0 is NaN. Padding counts as zeros; the weights it meets are finite. n = 0 \
            gives an empty result."
        );
        let row = OpBuilder::new(&signature, Conv::Plain(n), &semantics)
            .alias(&[&format!("nn.functional.conv{n}d")])
            .role("bias", Role::Bias)
            .outputs(&["the convolved tensor"]);
        if n < 3 { row.edges("input", Gen::LoneInfinity) } else { row }
    };
    (1..=3).map(row).collect()
}

/// Transposed convolutions by their number of dimensions.
fn transposed() -> Vec<OpBuilder> {
    let row = |n: usize| {
        let (dimensions, axes) = spatial(n);
        let (zeros, ones) = (of("0", n), of("1", n));
        let overload = if n == 1 { "" } else { ".input" };
        let signature = format!(
            "conv_transpose{n}d{overload}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] \
            stride={ones}, SymInt[{n}] padding={zeros}, SymInt[{n}] output_padding={zeros}, SymInt \
            groups=1, SymInt[{n}] dilation={ones}) -> Tensor"
        );
        let semantics = format!(
            "Transposed convolution over {dimensions}, the gradient of a convolution with respect to \
            its input: input [n, c_in, {axes}] or without the batch, weight [c_in, c_out / groups, \
            k..], bias [c_out] or None (a null pointer; counts as 0). Each input element adds \
            input[b, c, x] * weight[c, o, t] to the output of channel o (of the group of c) at x * \
            stride + t * dilation - padding, per spatial dimension; what falls outside is dropped, \
            bias is added once to every element. The extent of the output per dimension is (in - 1) * \
            stride - 2 * padding + dilation * (k - 1) + output_padding + 1; elements that no product \
            reaches are bias. {PRODUCTS}\n\
            NaN and infinities follow IEEE arithmetic and reach every output that they are added to: \
            Inf * 0 is NaN. n = 0 gives an empty result."
        );
        OpBuilder::new(&signature, Conv::Transposed(n), &semantics)
            .alias(&[&format!("nn.functional.conv_transpose{n}d")])
            .role("bias", Role::Bias)
            .outputs(&["the convolved tensor"])
    };
    (1..=3).map(row).collect()
}
