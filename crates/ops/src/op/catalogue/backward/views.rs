//! Gradients of views, of adaptive averages, of resized and padded images, of the gated linear unit and of
//! weight normalisation.

use super::super::super::{
    Call, InferError, OpFamily, Role,
    def::{self, OpBuilder},
    families::{
        adjoint::{antialiased_backward, linear_backward, nearest_backward, reflection_backward},
        glu::GluBackward,
        movement::{Movement, diagonal},
        weight_norm::WeightNormBackward,
        weighted::{Sums, Weighted, adaptive_average_backward, unfold_backward},
    },
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    own().into_iter().chain(images()).chain([weight_norm()]).collect()
}

const fn sum(
    input: &'static str,
    sums: fn(&Call<'_>) -> Result<Sums, InferError>,
    plain: bool,
) -> Weighted {
    Weighted { input, sums, plain }
}

fn weight_norm() -> OpBuilder {
    OpBuilder::new(
        "_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, \
        int dim) -> (Tensor, Tensor)",
        WeightNormBackward,
        "The gradients of v and g where w = g * v / norm, norm being that of v over all dimensions but dim, \
        the first or the last and not negative. grad_w has the shape of saved_v; saved_g and saved_norms have \
        its extent along dim and extent 1 elsewhere. With s = sum(grad_w * saved_v) of each slice and \
        r = 1 / saved_norms (read, not computed again): the gradient of v, of the shape of saved_v, is \
        saved_g * (r * grad_w - r^3 * saved_v * s), that of g, of the shape of saved_g, is r * s. saved_norms \
        is f32 (f64 for f64), the others have one floating-point dtype, which is that of both outputs. \
        Compute and accumulate in f32 and round once.\n\
        NaN and infinities follow IEEE arithmetic in the formulas as they are written.",
    )
    .family(OpFamily::Norm)
    .role("saved_g", Role::Second)
    .role("saved_norms", Role::Positive)
    .outputs(&["the gradient of v", "the gradient of g"])
}

/// Resized and padded images.
fn images() -> Vec<OpBuilder> {
    let row = |signature: &str, sums, plain, text: &str| {
        let text = format!(
            "{text} Sums are f32, in any order, and rounded once to the dtype of grad_output.\n\
            NaN and infinities follow IEEE arithmetic."
        );
        OpBuilder::new(signature, sum("grad_output", sums, plain), &text)
            .family(OpFamily::Pool)
            .outputs(&["the gradient of self"])
    };
    vec![
        row(
            "upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, \
            float? scales_h=None, float? scales_w=None) -> Tensor",
            nearest_backward,
            true,
            "out has shape input_size [n, c, h, w], grad_output [n, c, output_size]. Each element of out is \
            the sum of grad_output over the places (y, x) that upsample_nearest2d takes it for: those with \
            min(floor(y * s_h), h - 1) and min(floor(x * s_w), w - 1) its row and column, 0 where there are \
            none. s is 1 / scales where that is given (and positive), else in / out; s and the product are \
            f32, rounded as such.",
        ),
        row(
            "upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, \
            bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
            linear_backward,
            false,
            "out has shape input_size [n, c, h, w], grad_output [n, c, output_size]. Per dimension, index y \
            of grad_output lies at place p of out: with align_corners p = y * (in - 1) / (out - 1) (0 where \
            out is 1), else p = max(s * (y + 0.5) - 0.5, 0), s being 1 / scales where that is given (and \
            positive), else in / out. With i = floor(p), at most in - 1, and w = min(p - i, 1) the place i \
            gets (1 - w) times the gradient and min(i + 1, in - 1) gets w times it; weights of both \
            dimensions are multiplied. Each element of out is the sum of all that it gets.",
        ),
        row(
            "_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, \
            bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
            antialiased_backward,
            false,
            "out has shape input_size [n, c, h, w], grad_output [n, c, output_size]. Each index y of a \
            dimension of grad_output has a window of places of out and a weight for each, as in \
            _upsample_bicubic2d_aa: s is (in - 1) / (out - 1) with align_corners (0 where out is 1), else \
            1 / scales where that is given (and positive), else in / out; t = max(s, 1), c = s * (y + 0.5); \
            the window is the places j from max(trunc(c - 2 * t + 0.5), 0) to min(trunc(c + 2 * t + 0.5), in), \
            the last not included; their weights are f((j - c + 0.5) / t), divided by the sum over the \
            window, f(x) being ((a + 2) * |x| - (a + 3)) * x^2 + 1 for |x| < 1, ((a * |x| - 5 * a) * |x| + \
            8 * a) * |x| - 4 * a for |x| < 2 and 0 beyond, with a = -0.5. Each element of out is the sum, over \
            all windows that hold it, of grad_output times the weights of both dimensions.",
        ),
        row(
            "reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor",
            reflection_backward,
            true,
            "self is [c, h, w] or [n, c, h, w]; of its elements nothing is read. padding is (left, right, \
            top, bottom), each less than its extent, negative numbers cut off. grad_output has the shape of \
            reflection_pad2d's result, out that of self: each element is the sum of grad_output at its own \
            place in the padded image and at its mirror images in the padding, 0 where it was cut off.",
        )
        .role("self", Role::Main),
    ]
}

fn own() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> \
            Tensor",
            Movement { pieces: diagonal::backward },
            "The gradient of the diagonal of a tensor of shape input_sizes: zeros, but for the elements whose \
            place along dim2 is that along dim1 plus offset, which hold grad_output, the diagonal being its \
            last dimension and the other dimensions before it in their order. dim1 and dim2 differ; negative \
            ones count from the back. grad_output has the shape of the diagonal. The result is exact.\n\
            NaN and infinities are copied.",
        )
        .family(OpFamily::Movement)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["the gradient of the input"]),
        OpBuilder::new(
            "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
            sum("grad_in", unfold_backward, true),
            "The gradient of sliding windows along dimension dim of a tensor of shape input_sizes: window w \
            holds size elements from place w * step on. grad_in has shape input_sizes with the number of \
            windows, (n - size) / step + 1 rounded down, in the place of n, and size as a further last \
            dimension. Each element of out is the sum of grad_in over the windows that hold it, 0 where none \
            does. Sums are f32, in any order, and rounded once.\n\
            NaN and infinities follow IEEE arithmetic.",
        )
        .family(OpFamily::Movement)
        .outputs(&["the gradient of the input"]),
        OpBuilder::new(
            "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
            sum("grad_output", adaptive_average_backward, false),
            "self is [c, h, w] or [n, c, h, w]; of its elements nothing is read. grad_output has the shape of \
            adaptive_avg_pool2d's result, of self but for the last two dimensions: window y of a dimension of \
            extent in holds the elements from floor(y * in / out) to ceil((y + 1) * in / out), the last not \
            included. Each element of out, which has the shape of self, is the sum, over the windows that hold \
            it, of the window's gradient divided by its number of elements. Sums are f32, in any order, and \
            rounded once to the dtype of both tensors.\n\
            NaN and infinities follow IEEE arithmetic.",
        )
        .family(OpFamily::Pool)
        .role("self", Role::Main)
        .outputs(&["the gradient of self"]),
        OpBuilder::new(
            "glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
            GluBackward,
            "The gradient of glu, a * sigmoid(b) with a and b the halves of self along dim (negative ones \
            count from the back). With g = grad_output, of the shape of a half, and s = 1 / (1 + exp(-b)): the \
            first half of out is g * s, the second g * a * s * (1 - s). Compute in f32 and round once to the \
            dtype of both tensors.\n\
            NaN and infinities follow IEEE arithmetic; large |b| must not give Inf / Inf.",
        )
        .family(OpFamily::Elementwise)
        .default("dim", crate::record::ArgValue::Int(-1))
        .role("self", Role::Main)
        .outputs(&["the gradient of self"]),
    ]
}
