//! Elements in another order, repeated, cut to a triangle, or made of nothing.

use super::{
    super::super::{Call, InferError, Scalar, normalise_dim},
    Axis, IndexMap, Piece, identity, strides, views,
};

/// The whole tensor, some times along each dimension.
pub(crate) fn repeat(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let repeats = call.ints("repeats")?;
    let wanted = format!("at least {} numbers that are not negative", shape.len());
    let wrong = || InferError::value("repeats", format!("{repeats:?}"), wanted.clone());
    let new = repeats.len().checked_sub(shape.len()).ok_or_else(wrong)?;
    let mut axes = vec![Axis { extent: 1, stride: 0, place: IndexMap::First }; new];
    axes.extend(identity(shape));
    for (axis, &times) in axes.iter_mut().zip(&repeats) {
        let times = usize::try_from(times).map_err(|_| wrong())?;
        axis.place = IndexMap::Modulo(axis.extent);
        axis.extent = axis.extent.saturating_mul(times);
    }
    Ok(vec![Piece::by_axes(axes, 0)])
}

/// Each place along a dimension some times in a row; the flat tensor where no dimension is given.
pub(crate) fn repeat_interleave(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let spec = call.tensor("self")?;
    let repeats = call.int("repeats")?;
    let times = usize::try_from(repeats)
        .map_err(|_| InferError::value("repeats", repeats, "not negative"))?;
    let (mut axes, dim) = match call.opt_int("dim")? {
        None => (identity(&[spec.numel()]), 0),
        Some(_) if spec.ndim() == 0 => {
            return Err(InferError::shape("self", &[], "a tensor with dimensions"));
        }
        Some(dim) => (identity(&spec.shape), normalise_dim(dim, spec.ndim())?),
    };
    let extent = axes[dim].extent.saturating_mul(times);
    axes[dim] = Axis { extent, place: IndexMap::Each(times), ..axes[dim] };
    match call.opt_int("output_size")? {
        Some(size) if usize::try_from(size) != Ok(extent) => {
            Err(InferError::value("output_size", size, extent.to_string()))
        }
        _ => Ok(vec![Piece::by_axes(axes, 0)]),
    }
}

/// Dimensions in reverse.
pub(crate) fn flip(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let mut flipped = Vec::new();
    for dim in call.ints("dims")? {
        let dim = normalise_dim(dim, shape.len())?;
        if flipped.contains(&dim) {
            return Err(InferError::DimTwice(dim));
        }
        flipped.push(dim);
    }
    let mut axes = identity(shape);
    for dim in flipped {
        if let Some(axis) = axes.get_mut(dim) {
            axis.place = IndexMap::Reverse(axis.extent);
        }
    }
    Ok(vec![Piece::by_axes(axes, 0)])
}

/// Returns how many places further the element is that a shift brings to a place.
fn turn(extent: usize, shift: i64) -> IndexMap {
    let n = i64::try_from(extent).unwrap_or(i64::MAX).max(1);
    // A shift is below its extent after this, whatever it was.
    let back = (n - shift.rem_euclid(n)) % n;
    IndexMap::Turn(usize::try_from(back).unwrap_or(0), extent)
}

/// Places shifted around along some dimensions; along the flat tensor where none is given.
pub(crate) fn roll(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let spec = call.tensor("self")?;
    let (shifts, dims) = (call.ints("shifts")?, call.ints("dims")?);
    let wanted = "one shift per dimension in dims; one where dims is empty";
    let wrong = || InferError::value("shifts", format!("{shifts:?}"), wanted);
    if shifts.len() != dims.len().max(1) {
        return Err(wrong());
    }
    if dims.is_empty() {
        let (numel, strides) = (spec.numel(), strides(&spec.shape));
        let place = turn(numel, shifts[0]);
        return Ok(vec![Piece::new(spec.shape.clone(), move |position| {
            let flat = position.iter().zip(&strides).map(|(at, step)| at * step).sum();
            Some((0, place.of(flat)?))
        })]);
    }
    if spec.ndim() == 0 {
        return Err(InferError::shape("self", &[], "a tensor with dimensions"));
    }
    let mut total = vec![0_i64; spec.ndim()];
    for (shift, dim) in shifts.into_iter().zip(dims) {
        let dim = normalise_dim(dim, spec.ndim())?;
        let extent = i64::try_from(spec.shape[dim]).unwrap_or(i64::MAX).max(1);
        // A dimension may be named more than once.
        total[dim] = (total[dim] + shift.rem_euclid(extent)) % extent;
    }
    let mut axes = identity(&spec.shape);
    for (axis, shift) in axes.iter_mut().zip(total) {
        axis.place = turn(axis.extent, shift);
    }
    Ok(vec![Piece::by_axes(axes, 0)])
}

fn triangle(call: &Call<'_>, keeps: fn(i64) -> bool) -> Result<Vec<Piece>, InferError> {
    let shape = call.tensor("self")?.shape.clone();
    let diagonal = call.int("diagonal")?;
    let Some(row) = shape.len().checked_sub(2) else {
        return Err(InferError::shape("self", &shape, "of at least two dimensions"));
    };
    let place = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let strides = strides(&shape);
    let matrices: usize = shape[..row].iter().product();
    let columns = i64::try_from(shape[row + 1]).unwrap_or(i64::MAX);
    let kept = (0..shape[row]).map(|at| {
        // Of a row, the places that are kept are a run at one of its ends.
        let border = place(at).saturating_add(diagonal).clamp(-1, columns);
        if keeps(-1) { (border + 1).min(columns) } else { columns - border.max(0) }
    });
    let kept: i64 = kept.sum();
    let shown = Some(matrices * usize::try_from(kept).unwrap_or(0));
    let piece = Piece::new(shape, move |position| {
        let above = place(position[row + 1]) - place(position[row]);
        let flat = position.iter().zip(&strides).map(|(at, step)| at * step).sum();
        keeps(above.saturating_sub(diagonal)).then_some((0, flat))
    });
    Ok(vec![Piece { shown, ..piece }])
}

/// The lower triangle of each matrix; zeros above it.
pub(crate) fn tril(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    triangle(call, |above| above <= 0)
}

/// The upper triangle of each matrix; zeros below it.
pub(crate) fn triu(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    triangle(call, |above| above >= 0)
}

/// A tensor of one value, whatever the input holds.
fn filled(call: &Call<'_>, value: f64) -> Result<Vec<Piece>, InferError> {
    let size = call.ints("size")?;
    let extent = |&extent: &i64| {
        let wanted = "a list of extents that are not negative";
        usize::try_from(extent).map_err(|_| InferError::value("size", format!("{size:?}"), wanted))
    };
    let shape = size.iter().map(extent).collect::<Result<_, _>>()?;
    let dtype = Some(call.opt_dtype("dtype")?.unwrap_or(call.tensor("self")?.dtype));
    Ok(vec![Piece { fill: value, dtype, shown: Some(0), ..Piece::new(shape, |_| None) }])
}

/// Zeros.
pub(crate) fn new_zeros(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    filled(call, 0.0)
}

/// Ones.
pub(crate) fn new_ones(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    filled(call, 1.0)
}

/// Returns a number as a tensor's type holds it before it is rounded: integer types cut the
/// fraction off, bool asks whether it is 0.
pub(crate) fn as_type(value: Scalar, dtype: crate::record::DType) -> f64 {
    let value = value.value();
    if dtype.is_float() {
        value
    } else if dtype.is_int() {
        value.trunc()
    } else {
        f64::from(u8::from(value != 0.0))
    }
}

/// Returns `self` with places along a dimension replaced by those of `src`, of the shape `slice`;
/// `place` says which of them.
fn replaced(
    call: &Call<'_>,
    dim: usize,
    slice: &[usize],
    place: impl Fn(usize) -> Option<usize> + Send + Sync + 'static,
) -> Result<Vec<Piece>, InferError> {
    let (spec, src) = (call.tensor("self")?, call.tensor("src")?);
    if src.shape != slice {
        return Err(InferError::shape("src", &src.shape, format!("{slice:?}, that of the slice")));
    }
    let own = strides(&spec.shape);
    let mut of_src = strides(slice);
    if slice.len() < spec.ndim() {
        of_src.insert(dim, 0);
    }
    let piece = Piece::new(spec.shape.clone(), move |position| {
        let flat =
            |strides: &[usize]| position.iter().zip(strides).map(|(at, step)| at * step).sum();
        let Some(at) = place(position[dim]) else { return Some((0, flat(&own))) };
        let whole: usize = flat(&of_src);
        Some((1, whole - position[dim] * of_src[dim] + at * of_src[dim]))
    });
    // A bound for either tensor.
    let shown = Some(src.numel().min(spec.numel() - src.numel()));
    Ok(vec![Piece { dtype: Some(spec.dtype), shown, ..piece }])
}

/// A slice along a dimension replaced.
pub(crate) fn slice_scatter(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let (dim, start, step, extent) = views::sliced(call)?;
    let mut slice = call.tensor("self")?.shape.clone();
    slice[dim] = extent;
    replaced(call, dim, &slice, move |at| {
        let away = at.checked_sub(start)?;
        (away % step == 0 && away / step < extent).then_some(away / step)
    })
}

/// A place along a dimension replaced.
pub(crate) fn select_scatter(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let (dim, place) = views::selected(call)?;
    let mut slice = call.tensor("self")?.shape.clone();
    slice.remove(dim);
    replaced(call, dim, &slice, move |at| (at == place).then_some(0))
}
