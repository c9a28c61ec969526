//! Ops that read or write where an index tensor says.

mod advanced;
pub(crate) mod bag;
pub(crate) mod lookup;
mod reduction;
pub(crate) mod scatter;

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "indices are exact"
)]
mod tests;

use crate::{
    record::{DType, TensorSpec},
    reference::Error,
};

use super::super::{Call, InferError, Input, normalise_dim, unravel};

/// Returns a tensor of indices.
pub(super) fn index_spec<'a>(call: &Call<'a>, name: &str) -> Result<&'a TensorSpec, InferError> {
    let spec = call.tensor(name)?;
    check_index(name, spec)?;
    Ok(spec)
}

/// Returns the indices of a gather or a scatter, which may be of any type where there are none.
fn places_spec<'a>(call: &Call<'a>, name: &str) -> Result<&'a TensorSpec, InferError> {
    let spec = call.tensor(name)?;
    if spec.numel() > 0 || spec.dtype.is_float() {
        check_index(name, spec)?;
    }
    Ok(spec)
}

/// Refuses types that are no index types.
fn check_index(name: &str, spec: &TensorSpec) -> Result<(), InferError> {
    if matches!(spec.dtype, DType::I64 | DType::I32) {
        return Ok(());
    }
    Err(InferError::dtype(name, spec.dtype, "i64 or i32"))
}

/// Refuses indices into a dimension of nothing.
pub(super) fn check_bound(name: &str, n_indices: usize, bound: usize) -> Result<(), InferError> {
    if n_indices > 0 && bound == 0 {
        return Err(InferError::value(name, "an index", "absent: there is nothing to index"));
    }
    Ok(())
}

/// Returns a shape in which a 0-dim tensor counts as one of a single element.
fn at_least_1d(shape: &[usize]) -> Vec<usize> {
    if shape.is_empty() { vec![1] } else { shape.to_vec() }
}

/// Reads indices below a bound, in row-major order; negative ones count from the back where
/// `wraps`.
pub(super) fn read(
    input: &Input<'_>,
    name: &str,
    bound: usize,
    wraps: bool,
) -> Result<Vec<usize>, Error> {
    let limit = bound as f64;
    let place = |(at, &index): (usize, &f64)| {
        let front = if wraps && index < 0.0 { index + limit } else { index };
        if (0.0..limit).contains(&front) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked"
            )]
            return Ok(front as usize);
        }
        #[expect(clippy::cast_possible_truncation, reason = "it was an integer")]
        let index = index as i64;
        Err(Error::Index { name: name.to_owned(), at, index, bound })
    };
    input.array().iter().enumerate().map(place).collect()
}

/// A dimension of a tensor that indices choose from: the extents before it, its own, and those
/// behind it.
struct Split {
    dim: usize,
    outer: usize,
    extent: usize,
    inner: usize,
}

impl Split {
    fn of(shape: &[usize], dim: usize) -> Self {
        Self {
            dim,
            outer: shape[..dim].iter().product(),
            extent: shape[dim],
            inner: shape[dim + 1..].iter().product(),
        }
    }

    fn of_call(call: &Call<'_>) -> Result<Self, InferError> {
        let shape = at_least_1d(&call.tensor("self")?.shape);
        Ok(Self::of(&shape, normalise_dim(call.int("dim")?, shape.len())?))
    }
}

/// Returns the extents that an index tensor may have at most, but for one dimension; an index
/// tensor without elements may have any.
fn check_within(
    name: &str,
    index: &[usize],
    limit: &[usize],
    free: Option<usize>,
) -> Result<(), InferError> {
    let fits = index.len() == limit.len()
        && (0..index.len()).all(|dim| Some(dim) == free || index[dim] <= limit[dim]);
    if fits {
        return Ok(());
    }
    let but = free.map_or(String::new(), |dim| format!(" but for dimension {dim}"));
    Err(InferError::shape(name, index, format!("no larger than {limit:?}{but}")))
}

/// Returns, for each element of an index tensor, its row-major index in a larger tensor: its own
/// position, with the index in place of dimension `dim`.
fn targets(shape: &[usize], index: &[usize], larger: &[usize], dim: usize) -> Vec<usize> {
    let strides = super::movement::strides(larger);
    let flat = |(number, &at): (usize, &usize)| {
        let mut position = unravel(number, shape);
        position[dim] = at;
        position.iter().zip(&strides).map(|(at, stride)| at * stride).sum()
    };
    index.iter().enumerate().map(flat).collect()
}
