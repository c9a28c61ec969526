//! Images resized by interpolation: weights per dimension, multiplied.

use super::{
    super::{Call, InferError, work::covered},
    movement::{resized::Resizing, strides},
    resample::{ROUNDING, Tap, linear, step},
    weighted::{Rounded, Scale, Sums, Terms, joined},
};

/// How an output index of a dimension is computed.
pub(super) struct Along {
    /// Indices and weights.
    pub(super) terms: Terms,
    /// The place in the input, in units of the weights' distances.
    pub(super) place: f64,
    /// The elements that rounding of the place can bring in, with weights as [`Tap::rounded`] has them.
    pub(super) rounded: Terms,
}

/// Two neighbours per dimension.
pub(crate) fn linear_sums<const N: usize>(call: &Call<'_>) -> Result<Sums, InferError> {
    let resizing = Resizing::<N>::of(call, false)?;
    let corners = call.bool("align_corners")?;
    Ok(sums(&resizing, |dim| {
        let (extent, count) = (resizing.input[dim], resizing.output[dim]);
        linear_along(extent, count, resizing.scales[dim], corners)
    }))
}

/// Returns the two neighbours of each output index.
pub(super) fn linear_along(
    extent: usize,
    count: usize,
    given: Option<f64>,
    corners: bool,
) -> Vec<Along> {
    let along = |tap: Tap| Along {
        terms: vec![(tap.low, 1.0 - tap.weight), (tap.high, tap.weight)],
        place: tap.place,
        rounded: tap.rounded(extent),
    };
    linear(extent, count, given, corners).into_iter().map(along).collect()
}

/// Windows of cubic convolution that grow where an image shrinks.
pub(crate) fn antialiased_sums(call: &Call<'_>) -> Result<Sums, InferError> {
    let resizing = Resizing::<2>::of(call, false)?;
    let corners = call.bool("align_corners")?;
    Ok(sums(&resizing, |dim| {
        let (extent, count) = (resizing.input[dim], resizing.output[dim]);
        antialiased_along(extent, count, resizing.scales[dim], corners)
    }))
}

/// Half the width of a window of cubic convolution.
const CUBIC_SUPPORT: f64 = 2.0;

/// Returns the window of each output index, with weights whose sum is 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "windows begin and end within the extent"
)]
pub(super) fn antialiased_along(
    extent: usize,
    count: usize,
    given: Option<f64>,
    corners: bool,
) -> Vec<Along> {
    let step = match (corners, count) {
        (true, 1) => 0.0,
        (true, _) => (extent - 1) as f64 / (count - 1) as f64,
        (false, _) => step(extent, count, given),
    };
    let width = step.max(1.0);
    let along = |index: usize| {
        let centre = step * (index as f64 + 0.5);
        let end = |sign: f64| (centre + sign * CUBIC_SUPPORT * width + 0.5).max(0.0);
        let (first, last) = (end(-1.0) as usize, (end(1.0) as usize).min(extent));
        let weight = |at: usize| convolution((at as f64 - centre + 0.5) / width);
        let total: f64 = (first..last).map(weight).sum();
        let total = if total == 0.0 { 1.0 } else { total };
        let off = ROUNDING * (1.0 + centre / width);
        let share = |at: usize| (at, weight(at) / total);
        // A weight next to 0 may be 0, or be left out.
        let open =
            |(at, weight): (usize, f64)| (at, if weight.abs() < off { f64::NAN } else { weight });
        let reached = first.saturating_sub(1)..=last.min(extent - 1);
        Along {
            terms: (first..last).map(share).collect(),
            place: centre / width,
            rounded: reached.map(share).map(open).collect(),
        }
    };
    (0..count).map(along).collect()
}

/// The weight of cubic convolution at a distance, with the parameter -0.5 (Keys, 1981).
fn convolution(x: f64) -> f64 {
    const PARAMETER: f64 = -0.5;
    let x = x.abs();
    if x < 1.0 {
        inner(PARAMETER, x)
    } else if x < 2.0 {
        outer(PARAMETER, x)
    } else {
        0.0
    }
}

fn inner(a: f64, x: f64) -> f64 {
    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
}

fn outer(a: f64, x: f64) -> f64 {
    ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
}

/// Four neighbours per dimension, by cubic convolution.
pub(crate) fn cubic_sums(call: &Call<'_>) -> Result<Sums, InferError> {
    let resizing = Resizing::<2>::of(call, false)?;
    let corners = call.bool("align_corners")?;
    Ok(sums(&resizing, |dim| {
        let (extent, count) = (resizing.input[dim], resizing.output[dim]);
        let place = |index: usize| match (corners, count) {
            (true, 1) => 0.0,
            (true, _) => index as f64 * (extent - 1) as f64 / (count - 1) as f64,
            (false, _) => step(extent, count, resizing.scales[dim]) * (index as f64 + 0.5) - 0.5,
        };
        (0..count).map(|index| cubic(place(index), extent)).collect()
    }))
}

/// The parameter of cubic convolution.
const SHARPNESS: f64 = -0.75;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places are limited to the extent"
)]
fn cubic(place: f64, extent: usize) -> Along {
    let (low, t) = (place.floor(), place - place.floor());
    let (near, far) = (|x: f64| inner(SHARPNESS, x), |x: f64| outer(SHARPNESS, x));
    let weights = [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)];
    let at = |offset: i32| (low + f64::from(offset)).clamp(0.0, (extent - 1) as f64) as usize;
    let terms: Terms = (-1..=2).zip(weights).map(|(offset, weight)| (at(offset), weight)).collect();
    // At an element, its own weight alone is not next to 0.
    let is_near = t.min(1.0 - t) < ROUNDING * (1.0 + place.abs()) && place != 0.0;
    let open = |(at, weight): (usize, f64)| {
        (at, if is_near && weight.abs() < 0.5 { f64::NAN } else { weight })
    };
    let beyond = [at(-2), at(3)].into_iter().filter(|_| is_near).map(|at| (at, f64::NAN));
    let rounded = terms.iter().copied().map(open).chain(beyond);
    Along { rounded: rounded.collect(), terms, place: place.abs() }
}

fn sums<const N: usize>(resizing: &Resizing<N>, along: impl Fn(usize) -> Vec<Along>) -> Sums {
    let dims: [Vec<Along>; N] = std::array::from_fn(along);
    let dims = std::sync::Arc::new(dims);
    let read = (0..N).map(|dim| {
        // An element of weight 0 says nothing.
        let counted = dims[dim].iter().flat_map(|along| &along.terms);
        let counted = counted.filter(|(_, weight)| *weight != 0.0).map(|(at, _)| *at);
        covered(resizing.input[dim], counted)
    });
    let longest = |along: &Vec<Along>| along.iter().map(|along| along.terms.len()).max();
    let longest = dims.iter().map(|along| longest(along).unwrap_or(1)).product();
    let shape = resizing.shape.clone();
    let read = shape[0] * shape[1] * read.product::<usize>();
    let steps = strides(&[&shape[..2], &resizing.input].concat());
    let again = (std::sync::Arc::clone(&dims), steps.clone());
    Sums {
        shape,
        dtype: None,
        terms: Box::new(move |position| {
            let base = position[0] * steps[0] + position[1] * steps[1];
            let at = |dim: usize| (dims[dim][position[dim + 2]].terms.as_slice(), steps[dim + 2]);
            joined(base, &std::array::from_fn::<_, N, _>(at))
        }),
        rounded: Some(Box::new(move |position| {
            let (dims, steps) = (&again.0, &again.1);
            let base = position[0] * steps[0] + position[1] * steps[1];
            let along: [&Along; N] = std::array::from_fn(|dim| &dims[dim][position[dim + 2]]);
            let each: [(&[(usize, f64)], usize); N] =
                std::array::from_fn(|dim| (along[dim].rounded.as_slice(), steps[dim + 2]));
            let factor = 1.0 + along.iter().map(|along| along.place).sum::<f64>();
            Rounded { terms: joined(base, &each), scale: Scale::Largest(factor) }
        })),
        longest,
        read: Some(read),
    }
}
