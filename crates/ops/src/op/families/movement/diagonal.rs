//! Vectors as the diagonals of matrices of zeros.

use super::{
    super::{
        super::{Call, InferError, normalise_dim},
        backward::sizes,
    },
    Piece, strides,
};

/// Returns two dimensions of a tensor, which differ.
fn planes(call: &Call<'_>, ndim: usize) -> Result<[usize; 2], InferError> {
    let dims = [normalise_dim(call.int("dim1")?, ndim)?, normalise_dim(call.int("dim2")?, ndim)?];
    if dims[0] == dims[1] { Err(InferError::DimTwice(dims[0])) } else { Ok(dims) }
}

/// The element at a position of matrices with one diagonal: the vectors are the last dimension of a
/// tensor.
fn diagonal(shape: Vec<usize>, dims: [usize; 2], offset: i64, length: usize) -> Piece {
    let others: Vec<usize> = (0..shape.len()).filter(|dim| !dims.contains(dim)).collect();
    let own: Vec<usize> = others.iter().map(|&dim| shape[dim]).chain([length]).collect();
    let steps = strides(&own);
    let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let (down, right) = (place(down), place(right));
    Piece::new(shape, move |position| {
        let at = position[dims[0]].checked_sub(down)?;
        if position[dims[1]].checked_sub(right)? != at || at >= length {
            return None;
        }
        let before = others.iter().zip(&steps).map(|(&dim, step)| position[dim] * step);
        Some((0, before.sum::<usize>() + at))
    })
}

/// The last dimension as diagonals of new dimensions.
pub(crate) fn embed(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let own = &call.tensor("self")?.shape;
    let Some((&length, rest)) = own.split_last() else {
        return Err(InferError::shape("self", own, "a tensor with dimensions"));
    };
    let dims = planes(call, own.len() + 1)?;
    let offset = call.int("offset")?;
    let extent = usize::try_from(offset.unsigned_abs()).ok().and_then(|by| by.checked_add(length));
    let extent = extent.ok_or_else(|| InferError::value("offset", offset, "smaller"))?;
    let mut shape = rest.to_vec();
    shape.insert(dims[0].min(dims[1]), extent);
    shape.insert(dims[0].max(dims[1]), extent);
    Ok(vec![diagonal(shape, dims, offset, length)])
}

/// The gradient of a diagonal.
pub(crate) fn backward(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let given = &call.tensor("grad_output")?.shape;
    let shape = sizes(call, "input_sizes")?;
    let dims = planes(call, shape.len())?;
    let offset = call.int("offset")?;
    let by = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let [rows, columns] = dims.map(|dim| shape[dim]);
    let length = match offset {
        0.. => rows.min(columns.saturating_sub(by)),
        _ => rows.saturating_sub(by).min(columns),
    };
    let others = (0..shape.len()).filter(|dim| !dims.contains(dim)).map(|dim| shape[dim]);
    let wanted: Vec<usize> = others.chain([length]).collect();
    if *given != wanted {
        return Err(InferError::shape("grad_output", given, format!("{wanted:?}")));
    }
    Ok(vec![diagonal(shape, dims, offset, length)])
}
