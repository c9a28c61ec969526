//! Views of `PyTorch`, as copies: permute, expand, view, slice and the like.

use super::{
    super::super::{Call, InferError, normalise_dim},
    Axis, IndexMap, Piece, identity, strides,
};

/// The dimensions in another order.
pub(crate) fn permute(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let dims = call.ints("dims")?;
    if dims.len() != shape.len() {
        let wanted = format!("one entry per dimension ({})", shape.len());
        return Err(InferError::value("dims", format!("{dims:?}"), wanted));
    }
    let mut order = Vec::with_capacity(dims.len());
    for dim in dims {
        let dim = normalise_dim(dim, shape.len())?;
        if order.contains(&dim) {
            return Err(InferError::DimTwice(dim));
        }
        order.push(dim);
    }
    Ok(vec![permuted(shape, &order)])
}

fn permuted(shape: &[usize], order: &[usize]) -> Piece {
    let axes = identity(shape);
    Piece::by_axes(order.iter().map(|&dim| axes[dim]).collect(), 0)
}

/// Two dimensions exchanged.
pub(crate) fn transpose(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let first = normalise_dim(call.int("dim0")?, shape.len())?;
    let second = normalise_dim(call.int("dim1")?, shape.len())?;
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if !order.is_empty() {
        order.swap(first, second);
    }
    Ok(vec![permuted(shape, &order)])
}

/// Dimensions of extent 1, and new ones in front, repeated.
pub(crate) fn expand(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let size = call.ints("size")?;
    let wanted = || format!("a size that {shape:?} expands to");
    let wrong = || InferError::value("size", format!("{size:?}"), wanted());
    let new = size.len().checked_sub(shape.len()).ok_or_else(wrong)?;
    let axes = identity(shape);
    let again = |extent| Axis { extent, stride: 0, place: IndexMap::First };
    let along = |(dim, &extent): (usize, &i64)| match dim.checked_sub(new) {
        None => Ok(again(usize::try_from(extent).map_err(|_| wrong())?)),
        Some(of) if extent == -1 => Ok(axes[of]),
        Some(of) => match usize::try_from(extent).map_err(|_| wrong())? {
            extent if extent == shape[of] => Ok(axes[of]),
            extent if shape[of] == 1 => Ok(again(extent)),
            _ => Err(wrong()),
        },
    };
    let axes = size.iter().enumerate().map(along).collect::<Result<_, _>>()?;
    Ok(vec![Piece::by_axes(axes, 0)])
}

/// The elements in row-major order in another shape; -1 stands for the remaining extent.
pub(crate) fn view(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let spec = call.tensor("self")?;
    let size = call.ints("size")?;
    let wanted = format!("a shape of {} elements, at most one extent of it -1", spec.numel());
    let wrong = || InferError::value("size", format!("{size:?}"), wanted.clone());
    if size.iter().any(|&extent| extent < -1) {
        return Err(wrong());
    }
    let mut known = size.iter().filter(|&&extent| extent != -1);
    let known = known
        .try_fold(1_usize, |product, &extent| product.checked_mul(usize::try_from(extent).ok()?));
    let known = known.ok_or_else(wrong)?;
    let open = size.iter().filter(|&&extent| extent == -1).count();
    let rest = match (open, known) {
        (0, known) if known == spec.numel() => 0,
        (1, known) if known != 0 && spec.numel() % known == 0 => spec.numel() / known,
        _ => return Err(wrong()),
    };
    let shape: Vec<usize> =
        size.iter().map(|&extent| usize::try_from(extent).unwrap_or(rest)).collect();
    Ok(vec![Piece::by_axes(identity(&shape), 0)])
}

/// A new dimension of extent 1.
pub(crate) fn unsqueeze(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let dim = normalise_dim(call.int("dim")?, shape.len() + 1)?;
    let mut axes = identity(shape);
    axes.insert(dim, Axis { extent: 1, stride: 0, place: IndexMap::First });
    Ok(vec![Piece::by_axes(axes, 0)])
}

/// Returns a dimension of a tensor that has dimensions.
fn real_dim(call: &Call<'_>) -> Result<usize, InferError> {
    let spec = call.tensor("self")?;
    if spec.ndim() == 0 {
        return Err(InferError::shape("self", &[], "a tensor with dimensions"));
    }
    normalise_dim(call.int("dim")?, spec.ndim())
}

/// Every `step`-th place along a dimension, from `start` to before `end`.
pub(crate) fn slice(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let (dim, start, step, extent) = sliced(call)?;
    let mut axes = identity(&call.tensor("self")?.shape);
    axes[dim].extent = extent;
    axes[dim].place = IndexMap::Steps(start, step);
    Ok(vec![Piece::by_axes(axes, 0)])
}

/// Returns the dimension of a slice, its first place, the step, and how many places there are.
pub(super) fn sliced(call: &Call<'_>) -> Result<(usize, usize, usize, usize), InferError> {
    let shape = &call.tensor("self")?.shape;
    let dim = real_dim(call)?;
    let step = call.int("step")?;
    let step = usize::try_from(step).ok().filter(|&step| step > 0);
    let step = step.ok_or_else(|| {
        InferError::value("step", call.int("step").unwrap_or_default(), "at least 1")
    })?;
    let extent = i64::try_from(shape[dim]).unwrap_or(i64::MAX);
    // Places before the beginning and after the end are cut off.
    let place = |at: i64| {
        let at = if at < 0 { at.saturating_add(extent) } else { at };
        usize::try_from(at.clamp(0, extent)).unwrap_or(0)
    };
    let start = place(call.opt_int("start")?.unwrap_or(0));
    let end = place(call.opt_int("end")?.unwrap_or(i64::MAX)).max(start);
    Ok((dim, start, step, (end - start).div_ceil(step)))
}

/// One place along a dimension, which goes away.
pub(crate) fn select(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let (dim, place) = selected(call)?;
    Ok(vec![one_place(&call.tensor("self")?.shape, dim, place)])
}

/// Returns the dimension of a selection and its place.
pub(super) fn selected(call: &Call<'_>) -> Result<(usize, usize), InferError> {
    let shape = &call.tensor("self")?.shape;
    let dim = real_dim(call)?;
    let index = call.int("index")?;
    let extent = shape[dim];
    let place = if index < 0 {
        usize::try_from(index.unsigned_abs()).ok().and_then(|back| extent.checked_sub(back))
    } else {
        usize::try_from(index).ok().filter(|&at| at < extent)
    };
    let wanted = format!("in -{extent}..{extent}");
    let place = place.ok_or_else(|| InferError::value("index", index, wanted))?;
    Ok((dim, place))
}

/// Returns the output that is one place along a dimension.
fn one_place(shape: &[usize], dim: usize, place: usize) -> Piece {
    let base = place * strides(shape)[dim];
    let mut axes = identity(shape);
    axes.remove(dim);
    Piece::by_axes(axes, base)
}

/// Every place along a dimension, each an output.
pub(crate) fn unbind(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let dim = real_dim(call)?;
    Ok((0..shape[dim]).map(|place| one_place(shape, dim, place)).collect())
}

/// Runs of `split_size` places along a dimension, the last one perhaps shorter, each an output.
pub(crate) fn split(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let dim = real_dim(call)?;
    let size = call.int("split_size")?;
    let wrong = || InferError::value("split_size", size, "at least 1");
    let size = usize::try_from(size).map_err(|_| wrong())?;
    if size == 0 && shape[dim] != 0 {
        return Err(wrong());
    }
    let n_pieces = shape[dim].div_ceil(size.max(1)).max(1);
    let piece = |number: usize| {
        let (from, until) = (number * size, ((number + 1) * size).min(shape[dim]));
        let mut axes = identity(shape);
        axes[dim].extent = until - from;
        axes[dim].place = IndexMap::Steps(from, 1);
        Piece::by_axes(axes, 0)
    };
    Ok((0..n_pieces).map(piece).collect())
}

/// The diagonal of a matrix, or the matrix with a diagonal.
pub(crate) fn diag(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let shape = &call.tensor("self")?.shape;
    let diagonal = call.int("diagonal")?;
    let wrong = || InferError::value("diagonal", diagonal, "of magnitude below 2^31");
    let away = usize::try_from(diagonal.unsigned_abs()).ok().filter(|&n| n < 1 << 31);
    let away = away.ok_or_else(wrong)?;
    let (down, right) = if diagonal < 0 { (away, 0) } else { (0, away) };
    match shape.as_slice() {
        [n] => Ok(vec![Piece::new(vec![*n + away; 2], move |position| {
            let at = position[0].checked_sub(down)?;
            (Some(at) == position[1].checked_sub(right)).then_some((0, at))
        })]),
        [rows, columns] => {
            let columns = *columns;
            let len = rows.saturating_sub(down).min(columns.saturating_sub(right));
            let piece = Piece::new(vec![len], move |position| {
                Some((0, (position[0] + down) * columns + position[0] + right))
            });
            Ok(vec![Piece { shown: Some(len), ..piece }])
        }
        _ => Err(InferError::shape("self", shape, "of one dimension or two")),
    }
}
