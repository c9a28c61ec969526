//! Gradients of ops that compute each plane by rows and by columns: the forward op's weights,
//! read from the other side.

use super::{
    super::{Call, InferError},
    backward::{check, sizes},
    interpolate::{Along, antialiased_along, linear_along},
    reduce::floating,
    resample::nearest,
    weighted::{Rounded, RoundedAt, Scale, Sums, Terms, joined},
};

/// Per place of a dimension, the places of the gradient that count there and their weights.
pub(super) type Places = Vec<Terms>;

/// Turns the weights of each output place over, into those of each input place.
fn turned(extent: usize, forward: impl Iterator<Item = Terms>) -> Places {
    let mut places = vec![Vec::new(); extent];
    for (output, terms) in forward.enumerate() {
        for (input, weight) in terms {
            places[input].push((output, weight));
        }
    }
    places
}

fn longest(places: &Places) -> usize {
    places.iter().map(Vec::len).max().unwrap_or(1)
}

/// Returns the number of the plane of a position.
fn plane_of(position: &[usize], lead: &[usize]) -> usize {
    position.iter().zip(lead).fold(0, |number, (at, extent)| number * extent + at)
}

/// Returns the sums of the gradient of `shape`, whose planes `[height, width]` of gradients count by
/// rows and by columns.
pub(super) fn by_rows_and_columns(
    shape: Vec<usize>,
    [height, width]: [usize; 2],
    rows: Places,
    columns: Places,
) -> Sums {
    let (longest, lead) = (longest(&rows) * longest(&columns), shape[..shape.len() - 2].to_vec());
    Sums {
        shape,
        dtype: None,
        terms: Box::new(move |position| {
            let (planes, image) = position.split_at(lead.len());
            let base = plane_of(planes, &lead) * height * width;
            joined(base, &[(&rows[image[0]], width), (&columns[image[1]], 1)])
        }),
        rounded: None,
        longest: longest.max(1),
        read: None,
    }
}

/// The sizes of the gradient of a resizing of images.
struct Resized {
    shape: Vec<usize>,
    input: [usize; 2],
    output: [usize; 2],
    scales: [Option<f64>; 2],
}

impl Resized {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let spec = floating(call, "grad_output")?;
        let shape = sizes(call, "input_size")?;
        let output = sizes(call, "output_size")?;
        let (&[n, c, height, width], &[rows, columns]) = (shape.as_slice(), output.as_slice())
        else {
            let wanted = "of four sizes, and output_size of two";
            return Err(InferError::value("input_size", format!("{shape:?}"), wanted));
        };
        if [c, height, width].contains(&0) {
            let wanted = "[n, c, h, w], only n 0";
            return Err(InferError::value("input_size", format!("{shape:?}"), wanted));
        }
        if [rows, columns].contains(&0) {
            return Err(InferError::value("output_size", format!("{output:?}"), "positive"));
        }
        check("grad_output", spec, spec.dtype, &[n, c, rows, columns])?;
        let scales = [call.opt_number("scales_h")?, call.opt_number("scales_w")?];
        Ok(Self { shape, input: [height, width], output: [rows, columns], scales })
    }
}

/// The gradient of taking the nearest elements.
pub(crate) fn nearest_backward(call: &Call<'_>) -> Result<Sums, InferError> {
    let Resized { shape, input, output, scales } = Resized::of(call)?;
    let [rows, columns] = [0, 1].map(|dim| {
        let taps = nearest(input[dim], output[dim], scales[dim]);
        turned(input[dim], taps.into_iter().map(|tap| vec![(tap.low, 1.0)]))
    });
    Ok(by_rows_and_columns(shape, output, rows, columns))
}

/// The gradients that rounding can bring into an element.
#[derive(Clone, Default)]
struct Reached {
    /// Their rounded weights.
    rounded: Terms,
    /// The magnitudes of their weights.
    weights: Terms,
    /// The scale of their weights' own error: weights are fractions of places, and off by the rounding of
    /// the whole.
    errors: Terms,
}

fn reached(extent: usize, forward: &[Along]) -> Vec<Reached> {
    let mut places = vec![Reached::default(); extent];
    for (output, along) in forward.iter().enumerate() {
        for &(place, weight) in &along.rounded {
            places[place].rounded.push((output, weight));
            places[place].errors.push((output, 1.0 + along.place));
        }
        for &(place, weight) in &along.terms {
            places[place].weights.push((output, weight.abs()));
        }
    }
    places
}

/// The gradient of interpolating between two neighbours per dimension.
pub(crate) fn linear_backward(call: &Call<'_>) -> Result<Sums, InferError> {
    interpolated(call, linear_along)
}

/// The gradient of windows of cubic convolution that grow where an image shrinks.
pub(crate) fn antialiased_backward(call: &Call<'_>) -> Result<Sums, InferError> {
    interpolated(call, antialiased_along)
}

/// The gradient of an interpolation: of how it computes each output index of a dimension from its extent,
/// the output's, the scale that is given and whether corners are aligned.
fn interpolated(
    call: &Call<'_>,
    along: fn(usize, usize, Option<f64>, bool) -> Vec<Along>,
) -> Result<Sums, InferError> {
    let Resized { shape, input, output, scales } = Resized::of(call)?;
    let corners = call.bool("align_corners")?;
    let forward = [0, 1].map(|dim| along(input[dim], output[dim], scales[dim], corners));
    let [rows, columns] =
        [0, 1].map(|dim| turned(input[dim], forward[dim].iter().map(|along| along.terms.clone())));
    let [near_rows, near_columns] = [0, 1].map(|dim| reached(input[dim], &forward[dim]));
    let lead = shape[..2].to_vec();
    let rounded: RoundedAt = Box::new(move |position| {
        let (row, column) = (&near_rows[position[2]], &near_columns[position[3]]);
        let base = plane_of(&position[..2], &lead) * output[0] * output[1];
        let over = |rows, columns| joined(base, &[(rows, output[1]), (columns, 1)]);
        let [by_row, by_column] =
            [over(&row.errors, &column.weights), over(&row.weights, &column.errors)];
        Rounded {
            terms: over(&row.rounded, &column.rounded),
            scale: Scale::Sum([by_row, by_column].concat()),
        }
    });
    Ok(Sums { rounded: Some(rounded), ..by_rows_and_columns(shape, output, rows, columns) })
}

/// The gradient of padding by the mirror image.
pub(crate) fn reflection_backward(call: &Call<'_>) -> Result<Sums, InferError> {
    let (spec, own) = (floating(call, "grad_output")?, call.tensor("self")?);
    let lead = own.ndim().saturating_sub(2);
    if !(1..=2).contains(&lead) || own.shape[lead - 1..].contains(&0) {
        let wanted = "[c, h, w] or [n, c, h, w], only n empty";
        return Err(InferError::shape("self", &own.shape, wanted));
    }
    let given = call.ints("padding")?;
    let &[left, right, top, bottom] = given.as_slice() else {
        return Err(InferError::value("padding", format!("{given:?}"), "four sizes"));
    };
    let pads = [[top, bottom], [left, right]];
    let (mut shape, mut places) = (own.shape.clone(), Vec::new());
    for (dim, pair) in pads.into_iter().enumerate() {
        let extent = own.shape[lead + dim];
        let forward = mirrored(extent, pair).ok_or_else(|| {
            let wanted = format!("less than the extent, {extent}, and leaves something");
            InferError::value("padding", format!("{given:?}"), wanted)
        })?;
        shape[lead + dim] = forward.len();
        places.push(turned(extent, forward.into_iter().map(|at| vec![(at, 1.0)])));
    }
    check("grad_output", spec, own.dtype, &shape)?;
    let (columns, rows) = (places.pop().unwrap_or_default(), places.pop().unwrap_or_default());
    Ok(by_rows_and_columns(own.shape.clone(), [shape[lead], shape[lead + 1]], rows, columns))
}

/// Returns the place that each place of a padded dimension mirrors; `None` for pads that are too
/// large.
fn mirrored(extent: usize, [before, after]: [i64; 2]) -> Option<Vec<usize>> {
    let extent = i64::try_from(extent).ok()?;
    let end = extent.checked_add(after)?;
    if before >= extent || after >= extent || end.checked_add(before)? < 1 {
        return None;
    }
    let place = |at: i64| usize::try_from(extent - 1 - (extent - 1 - at.abs()).abs()).ok();
    (-before..end).map(place).collect()
}
