//! Images resized by interpolation: weights per dimension, multiplied.

use super::{
    super::{Call, InferError, work::covered},
    movement::{resized::Resizing, strides},
    resample::{linear, step},
    weighted::{Sums, Terms, joined},
};

/// How an output index of a dimension is computed.
struct Along {
    /// Indices and weights.
    terms: Terms,
    /// The place in the input.
    place: f64,
    /// The elements that rounding of the place can bring in.
    reached: Vec<usize>,
}

/// Two neighbours per dimension.
pub(crate) fn linear_sums<const N: usize>(call: &Call<'_>) -> Result<Sums, InferError> {
    let resizing = Resizing::<N>::of(call, false)?;
    let corners = call.bool("align_corners")?;
    Ok(sums(&resizing, 2, |dim| {
        let extent = resizing.input[dim];
        let taps = linear(extent, resizing.output[dim], resizing.scales[dim], corners);
        let along = |tap: super::resample::Tap| Along {
            terms: vec![(tap.low, 1.0 - tap.weight), (tap.high, tap.weight)],
            place: tap.place,
            reached: tap.reachable(extent).collect(),
        };
        taps.into_iter().map(along).collect()
    }))
}

/// Four neighbours per dimension, by cubic convolution.
pub(crate) fn cubic_sums(call: &Call<'_>) -> Result<Sums, InferError> {
    let resizing = Resizing::<2>::of(call, false)?;
    let corners = call.bool("align_corners")?;
    Ok(sums(&resizing, 4, |dim| {
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
    let inner = |x: f64| ((SHARPNESS + 2.0) * x - (SHARPNESS + 3.0)) * x * x + 1.0;
    let outer =
        |x: f64| ((SHARPNESS * x - 5.0 * SHARPNESS) * x + 8.0 * SHARPNESS) * x - 4.0 * SHARPNESS;
    let weights = [outer(t + 1.0), inner(t), inner(1.0 - t), outer(2.0 - t)];
    let at = |offset: i32| (low + f64::from(offset)).clamp(0.0, (extent - 1) as f64) as usize;
    Along {
        terms: (-1..=2).zip(weights).map(|(offset, weight)| (at(offset), weight)).collect(),
        place: place.abs(),
        reached: (at(-2)..=at(3)).collect(),
    }
}

fn sums<const N: usize>(
    resizing: &Resizing<N>,
    neighbours: usize,
    along: impl Fn(usize) -> Vec<Along>,
) -> Sums {
    let dims: [Vec<Along>; N] = std::array::from_fn(along);
    let dims = std::sync::Arc::new(dims);
    let read = (0..N).map(|dim| {
        // An element of weight 0 says nothing.
        let counted = dims[dim].iter().flat_map(|along| &along.terms);
        let counted = counted.filter(|(_, weight)| *weight != 0.0).map(|(at, _)| *at);
        covered(resizing.input[dim], counted)
    });
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
            let reached: Vec<Terms> = along
                .iter()
                .map(|along| along.reached.iter().map(|&at| (at, 1.0)).collect())
                .collect();
            let each: Vec<(&[(usize, f64)], usize)> = reached
                .iter()
                .zip(&steps[2..])
                .map(|(terms, &step)| (terms.as_slice(), step))
                .collect();
            let factor = 1.0 + along.iter().map(|along| along.place).sum::<f64>();
            (factor, joined(base, &each).into_iter().map(|(at, _)| at).collect())
        })),
        longest: (0..N).map(|_| neighbours).product(),
        read: Some(read),
    }
}
