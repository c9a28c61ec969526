//! Padding; a negative pad cuts off.

use super::{
    super::super::{Call, InferError},
    Axis, IndexMap, Piece, arrange, identity,
};

/// Returns the axes of a padded tensor: `pads` are pairs (before, after) from the last dimension on,
/// `outside` gives the place in the input of a place outside `0..extent`.
fn padded(
    shape: &[usize],
    pads: &[i64],
    outside: fn(i64, i64) -> Option<i64>,
) -> Result<Vec<Axis>, InferError> {
    let mut axes = identity(shape);
    for (axis, pair) in axes.iter_mut().rev().zip(pads.chunks_exact(2)) {
        let extent = i64::try_from(axis.extent).unwrap_or(i64::MAX);
        let (before, after) = (pair[0], pair[1]);
        let len = extent.checked_add(before).and_then(|len| len.checked_add(after));
        let len = len.and_then(|len| usize::try_from(len).ok()).ok_or_else(|| {
            let wanted = format!("pads that leave something of {shape:?}");
            InferError::value("pad", format!("{pads:?}"), wanted)
        })?;
        axis.extent = len;
        axis.place = IndexMap::Padded(before, extent, outside);
    }
    Ok(axes)
}

/// Padding with a number.
pub(crate) fn constant(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let spec = call.tensor("self")?;
    let pads = call.ints("pad")?;
    if pads.len() % 2 != 0 || pads.len() / 2 > spec.ndim() {
        let wanted = format!("pairs for at most {} dimensions", spec.ndim());
        return Err(InferError::value("pad", format!("{pads:?}"), wanted));
    }
    // Elements cut off on one side cannot be made up for by padding on the other.
    for (extent, pair) in spec.shape.iter().rev().zip(pads.chunks_exact(2)) {
        let extent = i64::try_from(*extent).unwrap_or(i64::MAX);
        if extent.saturating_add(pair[0].min(0)).saturating_add(pair[1].min(0)) < 0 {
            let wanted = format!("pads that cut off at most {:?}", spec.shape);
            return Err(InferError::value("pad", format!("{pads:?}"), wanted));
        }
    }
    let axes = padded(&spec.shape, &pads, |_, _| None)?;
    let fill = arrange::as_type(call.scalar("value")?, spec.dtype);
    Ok(vec![Piece { fill, ..Piece::by_axes(axes, 0) }])
}

/// Checks a padding of the last dimensions of an image, perhaps with a batch dimension.
fn image<'a>(call: &Call<'a>, n_dims: usize) -> Result<(&'a [usize], Vec<i64>), InferError> {
    let spec = call.tensor("self")?;
    let (shape, pads) = (spec.shape.as_slice(), call.ints("padding")?);
    if !spec.dtype.is_float() && !spec.dtype.is_int() {
        return Err(InferError::dtype("self", spec.dtype, "a type of numbers"));
    }
    let batched = shape.len() == n_dims + 2;
    let inner = if batched { shape.get(1..) } else { Some(shape) };
    let fits = inner.is_some_and(|inner| inner.len() == n_dims + 1 && !inner.contains(&0));
    if !fits {
        let wanted = format!(
            "of {} or {} dimensions, of which only the batch may be empty",
            n_dims + 1,
            n_dims + 2
        );
        return Err(InferError::shape("self", shape, wanted));
    }
    if pads.len() != 2 * n_dims {
        let wanted = format!("{} numbers", 2 * n_dims);
        return Err(InferError::value("padding", format!("{pads:?}"), wanted));
    }
    Ok((shape, pads))
}

/// Mirrors at the first and the last place, which are not repeated.
fn mirror(at: i64, extent: i64) -> Option<i64> {
    let at = at.abs();
    Some(if at < extent { at } else { 2 * (extent - 1) - at })
}

fn reflected(call: &Call<'_>, n_dims: usize) -> Result<Vec<Piece>, InferError> {
    let (shape, pads) = image(call, n_dims)?;
    for (&extent, pair) in shape.iter().rev().zip(pads.chunks_exact(2)) {
        let extent = i64::try_from(extent).unwrap_or(i64::MAX);
        let wrong = |wanted: String| InferError::value("padding", format!("{pads:?}"), wanted);
        if pair.iter().any(|&pad| pad >= extent) {
            return Err(wrong(format!("less than the extent, {extent}")));
        }
        if extent.saturating_add(pair[0]).saturating_add(pair[1]) < 1 {
            return Err(wrong("pads that leave something".to_owned()));
        }
    }
    Ok(vec![Piece::by_axes(padded(shape, &pads, mirror)?, 0)])
}

/// Padding of the last dimension by its mirror image.
pub(crate) fn reflection1d(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    reflected(call, 1)
}

/// Padding of the last two dimensions by their mirror image.
pub(crate) fn reflection2d(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    reflected(call, 2)
}

/// Padding of the last three dimensions by their mirror image.
pub(crate) fn reflection3d(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    reflected(call, 3)
}

/// Padding of the last dimension by its first and last element.
pub(crate) fn replication1d(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    replicated(call, 1)
}

/// Padding of the last two dimensions by their first and last elements.
pub(crate) fn replication2d(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    replicated(call, 2)
}

/// Padding of the last three dimensions by their first and last elements.
pub(crate) fn replication3d(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    replicated(call, 3)
}

/// Padding of all dimensions but the first two by their own other end.
pub(crate) fn circular(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let (shape, pads) = (&call.tensor("self")?.shape, call.ints("pad")?);
    if pads.len() + 4 != 2 * shape.len() {
        let wanted = format!("a pair for each of {} dimensions", shape.len().saturating_sub(2));
        return Err(InferError::value("pad", format!("{pads:?}"), wanted));
    }
    let mut axes = padded(shape, &pads, |_, _| None)?;
    let mut base = 0;
    for (axis, (&extent, pair)) in
        axes.iter_mut().rev().zip(shape.iter().rev().zip(pads.chunks_exact(2)))
    {
        let extent = i64::try_from(extent).unwrap_or(i64::MAX);
        // The ring is that of the places which are not cut off.
        let (first, ring) = (-pair[0].min(0), extent + pair[0].min(0) + pair[1].min(0));
        if pair.iter().any(|&pad| pad > extent) || (ring < 1 && axis.extent > 0) {
            let wanted = format!("at most the extent, {extent}, and leave something");
            return Err(InferError::value("pad", format!("{pads:?}"), wanted));
        }
        let place = |at: i64| usize::try_from(at).unwrap_or(0);
        base += place(first) * axis.stride;
        axis.place =
            IndexMap::Turn(place((-pair[0].max(0)).rem_euclid(ring.max(1))), place(ring.max(1)));
    }
    Ok(vec![Piece::by_axes(axes, base)])
}

fn replicated(call: &Call<'_>, n_dims: usize) -> Result<Vec<Piece>, InferError> {
    let (shape, pads) = image(call, n_dims)?;
    let nearest = |at: i64, extent: i64| Some(at.clamp(0, (extent - 1).max(0)));
    Ok(vec![Piece::by_axes(padded(shape, &pads, nearest)?, 0)])
}
