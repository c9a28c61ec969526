//! Images of one to three dimensions resized by taking or interpolating elements.

use super::super::{
    Call, InferError,
    def::OpBuilder,
    families::{
        interpolate::{antialiased_sums, cubic_sums, linear_sums},
        movement::{Movement, Piece, resized::nearest},
        weighted::{Sums, Weighted},
    },
};

/// The names of the dimensions and the scales in a signature, by the number of dimensions.
const AXES: [(&str, &str); 4] = [
    ("", ""),
    ("w", "float? scales=None"),
    ("h, w", "float? scales_h=None, float? scales_w=None"),
    ("d, h, w", "float? scales_d=None, float? scales_h=None, float? scales_w=None"),
];

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        taken("upsample_nearest1d", 1, nearest::<1, false>, false),
        taken("upsample_nearest3d", 3, nearest::<3, false>, false),
        taken("_upsample_nearest_exact1d", 1, nearest::<1, true>, true),
        taken("_upsample_nearest_exact2d", 2, nearest::<2, true>, true),
        taken("_upsample_nearest_exact3d", 3, nearest::<3, true>, true),
        linear("upsample_linear1d", 1, linear_sums::<1>),
        linear("upsample_trilinear3d", 3, linear_sums::<3>),
        weighted(
            "upsample_bicubic2d",
            2,
            cubic_sums,
            "p = y * (in - 1) / (out - 1) with align_corners (0 where out is 1), else s * (y + 0.5) - 0.5, \
            which may be negative. With i = floor(p) and t = p - i the result is the sum of the elements at \
            i - 1 to i + 2, each limited to 0..in - 1, times the weights of cubic convolution with a = -0.75: \
            f(t + 1), g(t), g(1 - t), f(2 - t), where g(x) = ((a + 2) * x - (a + 3)) * x^2 + 1 and f(x) = \
            ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; in both dimensions",
        ),
        weighted(
            "_upsample_bicubic2d_aa",
            2,
            antialiased_sums,
            "c = s * (y + 0.5) and has a window that grows with s: with t = max(s, 1) the elements j from \
            max(trunc(c - 2 * t + 0.5), 0) to min(trunc(c + 2 * t + 0.5), in), the last not included. The result \
            is the sum of these elements times their weights f((j - c + 0.5) / t), which are divided by their \
            sum over the window, where f is cubic convolution with a = -0.5: f(x) = ((a + 2) * |x| - (a + 3)) * \
            x^2 + 1 for |x| < 1, ((a * |x| - 5 * a) * |x| + 8 * a) * |x| - 4 * a for |x| < 2, 0 beyond; in both \
            dimensions (with align_corners s is (in - 1) / (out - 1) instead, 0 where out is 1)",
        ),
    ]
}

fn taken(
    name: &str,
    n: usize,
    pieces: fn(&Call<'_>) -> Result<Vec<Piece>, InferError>,
    centred: bool,
) -> OpBuilder {
    let (axes, scales) = AXES[n];
    let place = if centred { "(y + 0.5) * s" } else { "y * s" };
    OpBuilder::new(
        &format!("{name}(Tensor self, SymInt[{n}] output_size, {scales}) -> Tensor"),
        Movement { pieces },
        &format!(
            "Resizes the last {n} dimensions of self [n, c, {axes}] to output_size by taking elements: along \
            each of them index y takes the element min(floor({place}), in - 1), where s is 1 / scales where \
            that is given (and positive), else in / out. s and the product are f32, rounded as such: that \
            decides which element is taken. The result is exact.\n\
            NaN and infinities are copied. n = 0 gives an empty result."
        ),
    )
    .exact()
    .outputs(&["the resized tensor"])
}

fn linear(name: &str, n: usize, sums: fn(&Call<'_>) -> Result<Sums, InferError>) -> OpBuilder {
    weighted(
        name,
        n,
        sums,
        "p = y * (in - 1) / (out - 1) with align_corners (0 where out is 1), else max(s * (y + 0.5) - 0.5, 0). \
        With i = floor(p), at most in - 1, and w = min(p - i, 1) the result is (1 - w) * self[i] + w * \
        self[min(i + 1, in - 1)], in every dimension",
    )
}

fn weighted(
    name: &str,
    n: usize,
    sums: fn(&Call<'_>) -> Result<Sums, InferError>,
    formula: &str,
) -> OpBuilder {
    let (axes, scales) = AXES[n];
    OpBuilder::new(
        &format!("{name}(Tensor self, SymInt[{n}] output_size, bool align_corners, {scales}) -> Tensor"),
        Weighted { input: "self", sums, plain: false },
        &format!(
            "Resizes the last {n} dimensions of self [n, c, {axes}] to output_size by interpolation. Per \
            dimension, output index y lies at place {formula}; s is 1 / scales where that is given (and \
            positive), else in / out. Compute in f32 and round once to the output's dtype, which is that of \
            self.\n\
            NaN and infinities follow IEEE arithmetic: all neighbours count, also with weight 0 (Inf * 0 is \
            NaN). n = 0 gives an empty result."
        ),
    )
    .outputs(&["the resized tensor"])
}
