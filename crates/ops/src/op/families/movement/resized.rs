//! Images resized by taking elements, and pixels made channels.

use super::{
    super::{
        super::{Call, InferError},
        conv::option,
    },
    Piece, strides,
};

/// The names of scales, by the number of dimensions.
pub(crate) const SCALES: [&[&str]; 4] =
    [&[], &["scales"], &["scales_h", "scales_w"], &["scales_d", "scales_h", "scales_w"]];

/// The extents of a resizing: of the last `N` dimensions, and the scales that are given.
pub(crate) struct Resizing<const N: usize> {
    /// Extents of the input.
    pub input: [usize; N],
    /// Extents of the output.
    pub output: [usize; N],
    /// Scales that are given and positive.
    pub scales: [Option<f64>; N],
    /// Shape of the output.
    pub shape: Vec<usize>,
}

impl<const N: usize> Resizing<N> {
    /// Takes a call apart.
    pub(crate) fn of(call: &Call<'_>, bytes: bool) -> Result<Self, InferError> {
        let spec = call.tensor("self")?;
        let byte = bytes && spec.dtype == crate::record::DType::U8;
        if !(spec.dtype.is_float() || byte) || spec.dtype.is_fp8() {
            let wanted = "a floating-point type of at least 16 bits";
            return Err(InferError::dtype("self", spec.dtype, wanted));
        }
        if spec.ndim() != N + 2 || spec.shape[1..].contains(&0) {
            let wanted = format!("of {} dimensions, only the first empty", N + 2);
            return Err(InferError::shape("self", &spec.shape, wanted));
        }
        let given = call.ints("output_size")?;
        if given.len() != N {
            let wanted = format!("{N} sizes");
            return Err(InferError::value("output_size", format!("{given:?}"), wanted));
        }
        let sizes = option(call, "output_size", N, 1, 1)?;
        let (mut input, mut output, mut scales) = ([0; N], [0; N], [None; N]);
        for dim in 0..N {
            input[dim] = spec.shape[dim + 2];
            output[dim] = sizes[3 - N + dim];
            scales[dim] = call.opt_number(SCALES[N][dim])?.filter(|&scale| scale > 0.0);
        }
        let shape = [&spec.shape[..2], &output].concat();
        Ok(Self { input, output, scales, shape })
    }
}

/// Elements at places that arithmetic of f32 chooses; `CENTRED`: those of the elements' centres.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding to f32 and down is the definition"
)]
pub(crate) fn nearest<const N: usize, const CENTRED: bool>(
    call: &Call<'_>,
) -> Result<Vec<Piece>, InferError> {
    let Resizing { input, output, scales, shape } = Resizing::<N>::of(call, true)?;
    let places: Vec<Vec<usize>> = (0..N)
        .map(|dim| {
            let step = match scales[dim] {
                Some(scale) => (1.0 / scale) as f32,
                None => input[dim] as f32 / output[dim] as f32,
            };
            let centre = if CENTRED { 0.5 } else { 0.0 };
            let place = |at: usize| ((at as f32 + centre) * step).floor() as usize;
            (0..output[dim]).map(|at| place(at).min(input[dim] - 1)).collect()
        })
        .collect();
    let steps = strides(&[&shape[..2], &input].concat());
    let shown =
        shape[0] * shape[1] * places.iter().map(|places| different(places)).product::<usize>();
    let piece = Piece::new(shape, move |position| {
        let lead = position[0] * steps[0] + position[1] * steps[1];
        let along = (0..N).map(|dim| places[dim][position[dim + 2]] * steps[dim + 2]);
        Some((0, lead + along.sum::<usize>()))
    });
    Ok(vec![Piece { shown: Some(shown), ..piece }])
}

/// Counts different ones of numbers that do not fall.
fn different(places: &[usize]) -> usize {
    1 + places.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Channels made of pixels.
pub(crate) fn pixel_unshuffle(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let own = call.tensor("self")?.shape.clone();
    let factor = call.int("downscale_factor")?;
    let by = usize::try_from(factor).ok().filter(|&by| by > 0);
    let by = by.ok_or_else(|| InferError::value("downscale_factor", factor, "positive"))?;
    let wanted = "[.., c, h, w] with h and w multiples of downscale_factor";
    let Some(lead) = own.len().checked_sub(3) else {
        return Err(InferError::shape("self", &own, wanted));
    };
    let (channels, height, width) = (own[lead], own[lead + 1], own[lead + 2]);
    if !height.is_multiple_of(by) || !width.is_multiple_of(by) {
        return Err(InferError::shape("self", &own, wanted));
    }
    let shape = [&own[..lead], &[channels * by * by, height / by, width / by]].concat();
    let steps = strides(&own);
    Ok(vec![Piece::new(shape, move |position| {
        let before: usize = position[..lead].iter().zip(&steps).map(|(at, step)| at * step).sum();
        let (channel, place) = (position[lead] / (by * by), position[lead] % (by * by));
        let row = position[lead + 1] * by + place / by;
        let column = position[lead + 2] * by + place % by;
        Some((0, before + channel * steps[lead] + row * steps[lead + 1] + column))
    })])
}
