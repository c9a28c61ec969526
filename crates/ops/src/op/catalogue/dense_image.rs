//! Pooling, resampling and rearranging of images.

use super::super::{
    OpFamily, Role,
    def::{self, OpBuilder},
    families::{
        blocks::Blocks,
        col2im::Col2Im,
        grid::GridSample,
        pool::{Fold, Pool},
        resample::Resample,
    },
};

const fn average(spatial: usize) -> Pool {
    Pool { fold: Fold::Average, spatial, adaptive: false }
}

const fn maximum(spatial: usize) -> Pool {
    Pool { fold: Fold::Maximum, spatial, adaptive: false }
}

const fn maximum_at(spatial: usize, adaptive: bool) -> Pool {
    Pool { fold: Fold::MaximumAt, spatial, adaptive }
}

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [averages(), maxima(), adaptive(), resized()].into_iter().flatten().collect()
}

/// The names of the spatial dimensions, by their number.
const AXES: [&str; 4] = ["", "l", "h, w", "d, h, w"];

/// Returns the words about windows over `n` dimensions whose extent is `span`.
fn windows(n: usize, span: &str) -> String {
    let (axes, dimensions, one) = match n {
        1 => (AXES[1], "the last dimension".to_owned(), ""),
        _ => {
            let one = " A list of one number counts for all dimensions.";
            (AXES[n], format!("the last {n} dimensions"), one)
        }
    };
    format!(
        "of each window of self [n, c, {axes}] or [c, {axes}], over {dimensions}: windows of \
        kernel_size elements begin every stride elements (an empty list means kernel_size), padding \
        elements before the first. The extent of the output is (in + 2 * padding - {span}) / stride + \
        1, rounded down, or up with ceil_mode, where a last window that would begin behind self and \
        its first padding is left out.{one}"
    )
}

/// Averages of sliding windows.
fn averages() -> Vec<OpBuilder> {
    let row = |n: usize| {
        let (padding, divisor, by) = match n {
            1 => ("[0]", "", "the number"),
            _ => {
                let divisor = ", int? divisor_override=None";
                ("0", divisor, "divisor_override where it is given, else by the number")
            }
        };
        let signature = format!(
            "avg_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] \
            padding={padding}, bool ceil_mode=False, bool count_include_pad=True{divisor}) -> Tensor"
        );
        let semantics = format!(
            "The mean {} Each window's sum is divided by {by} of its elements: with count_include_pad \
            those in the padding count (but not what ceil_mode adds beyond it), without it only those \
            inside self. Compute in f32 and round once to the output's dtype, which is that of self. \
            Any order of summation is right.\n\
            NaN and infinities follow IEEE arithmetic and reach every window that holds them; padding \
            counts as zeros. n = 0 gives an empty result.",
            windows(n, "kernel_size")
        );
        OpBuilder::new(&signature, average(n), &semantics)
            .alias(&[&format!("nn.functional.avg_pool{n}d")])
            .outputs(&["the means"])
    };
    (1..=3).map(row).collect()
}

/// Maxima of sliding windows.
fn maxima() -> Vec<OpBuilder> {
    let row = |n: usize, engine: Pool, places: bool| {
        let (zero, one) = if n == 1 { ("[0]", "[1]") } else { ("0", "1") };
        let suffix = if places { "_with_indices" } else { "" };
        let name = format!("max_pool{n}d{suffix}");
        let (returned, second, index) = match places {
            true => {
                ("(Tensor, Tensor)", format!("{PLACES} "), " and the index of its first element")
            }
            false => ("Tensor", String::new(), ""),
        };
        let signature = format!(
            "{name}(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding={zero}, \
            int[{n}] dilation={one}, bool ceil_mode=False) -> {returned}"
        );
        let semantics = format!(
            "The maximum {} Elements of a window lie dilation apart; padding counts as -Inf, never as \
            0. {second}The result is exact. Shape of the leading dimensions and dtype are those of \
            self.\n\
            A window that holds NaN gives NaN; +Inf wins, a window of nothing but -Inf gives \
            -Inf{index}; of -0 and 0 either is right. n = 0 gives an empty result.",
            windows(n, "dilation * (kernel_size - 1) - 1")
        );
        let outputs = &["the maxima", "their places"][..if places { 2 } else { 1 }];
        OpBuilder::new(&signature, engine, &semantics)
            .alias(&[&format!("nn.functional.{name}")])
            .exact()
            .outputs(outputs)
    };
    let plain = (1..=3).map(|n| row(n, maximum(n), false));
    plain.chain([2, 3].map(|n| row(n, maximum_at(n, false), true))).collect()
}

/// The second output of a maximum with its place.
const PLACES: &str = "\
    The second output, i64, is the place of the maximum in its plane (h * width + w; of a volume (d * height \
    + h) * width + w): of several equal ones the first in row-major order, of several NaN the last.";

/// Windows that are chosen for an output size.
fn adaptive() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
            Pool { adaptive: true, ..average(1) },
            "The means of windows of self [n, c, l] or [c, l] that are chosen so that the output \
            has output_size elements per dimension: window y of a dimension of extent in holds \
            the elements from floor(y * in / out) to ceil((y + 1) * in / out), the last not \
            included: windows may overlap and differ in size. Compute in f32 and round once to \
            the output's dtype, which is that of self.\n\
            NaN and infinities follow IEEE arithmetic and reach every window that holds them. n \
            = 0 or an output_size of 0 gives an empty result.",
        )
        .alias(&["nn.functional.adaptive_avg_pool1d"])
        .outputs(&["the means"]),
        OpBuilder::new(
            "adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
            Pool { adaptive: true, ..average(2) },
            "The means of windows of self [n, c, h, w] or [c, h, w] that are chosen so that the \
            output has output_size elements per dimension: window y of a dimension of extent in \
            holds the elements from floor(y * in / out) to ceil((y + 1) * in / out), the last \
            not included: windows may overlap and differ in size. Compute in f32 and round once \
            to the output's dtype, which is that of self.\n\
            NaN and infinities follow IEEE arithmetic and reach every window that holds them. n \
            = 0 or an output_size of 0 gives an empty result.",
        )
        .alias(&["nn.functional.adaptive_avg_pool2d", "_adaptive_avg_pool2d"])
        .outputs(&["the means"]),
        OpBuilder::new(
            "adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
            Pool { adaptive: true, ..average(3) },
            "The means of windows of self [n, c, d, h, w] or [c, d, h, w] that are chosen so that the \
            output has output_size elements per dimension: window y of a dimension of extent in holds \
            the elements from floor(y * in / out) to ceil((y + 1) * in / out), the last not included: \
            windows may overlap and differ in size. Compute in f32 and round once to the output's \
            dtype, which is that of self.\n\
            NaN and infinities follow IEEE arithmetic and reach every window that holds them. n = 0 or \
            an output_size of 0 gives an empty result.",
        )
        .alias(&["nn.functional.adaptive_avg_pool3d", "_adaptive_avg_pool3d"])
        .outputs(&["the means"]),
    ]
    .into_iter()
    .chain((1..=3).map(adaptive_maximum))
    .collect()
}

/// Maxima of adaptive windows, and where they are.
fn adaptive_maximum(n: usize) -> OpBuilder {
    let (axes, place) = match n {
        1 => (AXES[1], "of the row"),
        2 => (AXES[2], "of its plane, h * width + w"),
        _ => (AXES[3], "of its volume, (d * height + h) * width + w"),
    };
    OpBuilder::new(
        &format!("adaptive_max_pool{n}d(Tensor self, int[{n}] output_size) -> (Tensor, Tensor)"),
        maximum_at(n, true),
        &format!(
            "The maxima of windows of self [n, c, {axes}] or [c, {axes}] that are chosen so that the \
            output has output_size elements per dimension: window y of a dimension of extent in \
            holds the elements from floor(y * in / out) to ceil((y + 1) * in / out), the last \
            not included: windows may overlap and differ in size. The second output, i64, is the \
            place of the maximum {place}: of several equal ones the first in row-major order, of \
            several NaN the last. The result is exact.\n\
            A window that holds NaN gives NaN; a window of nothing but -Inf gives -Inf and the \
            index of its first element; of -0 and 0 either is right."
        ),
    )
    .alias(&[&format!("nn.functional.adaptive_max_pool{n}d")])
    .exact()
    .outputs(&["the maxima", "their places"])
}

/// Resampling and rearranging.
fn resized() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? \
            scales_w=None) -> Tensor",
            Resample::Nearest,
            "Resizes the last two dimensions of self [n, c, h, w] to output_size by taking \
            elements: out[.., y, x] = self[.., min(floor(y * s_h), h - 1), min(floor(x * s_w), w \
            - 1)], where s is 1 / scales where that is given (and positive), else in / out. s \
            and the product are f32, rounded as such: that decides which element is taken. The \
            result is exact.\n\
            NaN and infinities are copied. n = 0 gives an empty result.",
        )
        .alias(&["nn.functional.interpolate_nearest2d"])
        .exact()
        .outputs(&["the resized tensor"]),
        OpBuilder::new(
            "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? \
            scales_h=None, float? scales_w=None) -> Tensor",
            Resample::Bilinear,
            "Resizes the last two dimensions of self [n, c, h, w] to output_size by \
            interpolation. Per dimension, output index y lies at place p: with align_corners p = \
            y * (in - 1) / (out - 1) (0 where out is 1), else p = max(s * (y + 0.5) - 0.5, 0), s \
            being 1 / scales where that is given (and positive), else in / out. With i = \
            floor(p), at most in - 1, and w = min(p - i, 1) the result is (1 - w) * self[i] + w \
            * self[min(i + 1, in - 1)], in both dimensions. Compute in f32 and round once to the \
            output's dtype, which is that of self.\n\
            NaN and infinities follow IEEE arithmetic: all four neighbours count, also with \
            weight 0 (Inf * 0 is NaN). n = 0 gives an empty result.",
        )
        .alias(&["nn.functional.interpolate_bilinear2d"])
        .outputs(&["the resized tensor"]),
        OpBuilder::new(
            "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool \
            align_corners) -> Tensor",
            GridSample,
            "Samples input [n, c, h, w] at the places of grid [n, out_h, out_w, 2], of the same dtype: \
            out[b, ch, y, x] is input[b, ch] at (column, row) = grid[b, y, x], of which -1 and 1 are the \
            ends of the image: place p = (g + 1) / 2 * (extent - 1) with align_corners, else ((g + 1) * \
            extent - 1) / 2. interpolation_mode 0 (bilinear): the neighbours floor(p) and floor(p) + 1, \
            weighted by 1 - (p - floor(p)) and p - floor(p); 1 (nearest): the element at p rounded, half \
            to even; 2 (bicubic): the neighbours floor(p) - 1 to floor(p) + 2 with the weights of cubic \
            convolution, a = -0.75. padding_mode 0 (zeros): what lies outside counts as 0; 1 (border): p \
            is limited to 0..extent - 1; 2 (reflection): p is mirrored at 0 and extent - 1 with \
            align_corners, else at -0.5 and extent - 0.5, then limited. In bicubic the padding is that of \
            each neighbour. Compute in f32 and round once to the output's dtype.\n\
            A place that is NaN or infinite after padding lies outside. NaN and infinities in input \
            follow IEEE arithmetic. n = 0 gives an empty result.",
        )
        .role("grid", Role::Between(-1.2, 1.2))
        .outputs(&["the samples"]),
        OpBuilder::new(
            "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] \
            stride) -> Tensor",
            Blocks::Im2Col,
            "Cuts self [n, c, h, w] or [c, h, w] into the blocks that a convolution multiplies: \
            out [n, c * kh * kw, l] (or without n), one column per place of the window in \
            row-major order: out[b, (ch * kh + i) * kw + j, y * l_w + x] = self[b, ch, y * \
            stride_h + i * dilation_h - padding_h, x * stride_w + j * dilation_w - padding_w], 0 \
            in the padding; l = l_h * l_w with l_h = (h + 2 * padding_h - dilation_h * (kh - 1) \
            - 1) / stride_h + 1, rounded down. The result is exact.\n\
            NaN and infinities are copied. n = 0 gives an empty result.",
        )
        .family(OpFamily::Movement)
        .alias(&["nn.functional.unfold"])
        .exact()
        .outputs(&["the blocks"]),
        OpBuilder::new(
            "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] \
            padding, int[2] stride) -> Tensor",
            Col2Im,
            "Adds the columns of self [n, c * kh * kw, l] or [c * kh * kw, l] up to an image [n, c, h, \
            w] (or without n) of size output_size, the adjoint of im2col: element [b, (ch * kh + i) * \
            kw + j, y * l_w + x] is added to pixel [b, ch, y * stride_h + i * dilation_h - padding_h, x \
            * stride_w + j * dilation_w - padding_w], where that is in the image; l = l_h * l_w with \
            l_h = (h + 2 * padding_h - dilation_h * (kh - 1) - 1) / stride_h + 1, rounded down. \
            Accumulate in f32 and round once to the output's dtype, which is that of self. Any order \
            of summation is right; a pixel on which no element lies is 0.\n\
            NaN and infinities follow IEEE arithmetic. n = 0 gives an empty result.",
        )
        .alias(&["nn.functional.fold"])
        .outputs(&["the image"]),
        OpBuilder::new(
            "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
            Blocks::PixelShuffle,
            "Makes pixels of channels: self [.., c * r * r, h, w] with r = upscale_factor gives \
            [.., c, h * r, w * r], out[.., ch, y, x] = self[.., (ch * r + y mod r) * r + x mod \
            r, y / r, x / r]. Elements are copied.\n\
            NaN and infinities are copied. Empty dimensions stay empty.",
        )
        .family(OpFamily::Movement)
        .alias(&["nn.functional.pixel_shuffle"])
        .dtypes(def::NUMBERS)
        .exact()
        .signed_zero()
        .outputs(&["the image"]),
    ]
}
