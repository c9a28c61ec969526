//! `PyTorch`'s indexing by lists of index tensors: `x[:, i, j]`.

use crate::{
    record::{DType, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        super::{Call, InferError, Inputs, broadcast, unravel},
        movement::strides,
    },
    check_bound, check_index, read,
};

/// An indexed tensor: which dimensions have an index, and the shape of the result.
pub(super) struct Advanced {
    shape: Vec<usize>,
    /// The shape that all index tensors broadcast to.
    indexed: Vec<usize>,
    /// Dimensions that come before the indexed ones in the result.
    before: Vec<usize>,
    /// Dimensions that come behind them.
    behind: Vec<usize>,
}

/// Returns the index tensors of a call with the dimensions that they are for.
pub(super) fn list<'a>(call: &Call<'a>) -> Result<Vec<(usize, &'a TensorSpec)>, InferError> {
    let listed = call.tensors("indices")?.into_iter().enumerate();
    Ok(listed.filter_map(|(dim, spec)| Some((dim, spec?))).collect())
}

/// Returns whether a mask is among the indices.
pub(super) fn masked(call: &Call<'_>) -> Result<bool, InferError> {
    Ok(list(call)?.iter().any(|(_, spec)| spec.dtype == DType::Bool))
}

impl Advanced {
    pub(super) fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let shape = call.tensor("self")?.shape.clone();
        let listed = call.tensors("indices")?.len();
        let indices = list(call)?;
        if indices.is_empty() || listed > shape.len() {
            let wanted = format!("at most {} entries, one of them a tensor", shape.len());
            return Err(InferError::value("indices", format!("{listed} entries"), wanted));
        }
        let mut indexed = Vec::new();
        for (dim, spec) in &indices {
            if matches!(spec.dtype, DType::Bool | DType::U8) {
                let wanted = "i64 or i32: the shape of a selection by mask depends on the data";
                return Err(InferError::dtype("indices", spec.dtype, wanted).lacking());
            }
            check_index("indices", spec)?;
            check_bound("indices", spec.numel(), shape[*dim])?;
            indexed = broadcast(&indexed, &spec.shape)?;
        }
        let dims: Vec<usize> = indices.iter().map(|(dim, _)| *dim).collect();
        let (first, last) = (dims[0], dims[dims.len() - 1]);
        // Indices that are not next to each other bring their dimensions to the front.
        let adjacent = last - first + 1 == dims.len();
        let rest = (0..shape.len()).filter(|dim| !dims.contains(dim));
        let (before, behind) = rest.partition(|&dim| adjacent && dim < first);
        Ok(Self { shape, indexed, before, behind })
    }

    fn extents<'a>(&'a self, dims: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        dims.iter().map(|&dim| self.shape[dim])
    }

    /// Returns the shape of the result.
    pub(super) fn result(&self) -> Vec<usize> {
        let indexed = self.indexed.iter().copied();
        self.extents(&self.before).chain(indexed).chain(self.extents(&self.behind)).collect()
    }

    /// Returns the row-major indices in the tensor that a part of the result goes over.
    fn offsets(&self, dims: &[usize]) -> Vec<usize> {
        let strides = strides(&self.shape);
        let extents: Vec<usize> = self.extents(dims).collect();
        let offset = |number| {
            let position = unravel(number, &extents);
            position.iter().zip(dims).map(|(at, &dim)| at * strides[dim]).sum()
        };
        (0..extents.iter().product()).map(offset).collect()
    }

    /// Returns, for each element of the result, its row-major index in the tensor.
    pub(super) fn sources(&self, inputs: &Inputs<'_>) -> Result<Vec<usize>, Error> {
        let strides = strides(&self.shape);
        let mut chosen = vec![0; self.indexed.iter().product()];
        for (dim, input) in inputs.list("indices") {
            let index = read(input, &format!("indices[{dim}]"), self.shape[dim], true)?;
            let steps = super::super::movement::strides(&input.shape);
            let missing = self.indexed.len() - input.ndim();
            for (number, chosen) in chosen.iter_mut().enumerate() {
                let position = unravel(number, &self.indexed);
                let own = position[missing..].iter().zip(input.shape.iter().zip(&steps));
                // A dimension of extent 1 repeats.
                let flat: usize =
                    own.map(|(at, (&extent, step))| if extent == 1 { 0 } else { at * step }).sum();
                *chosen += index[flat] * strides[dim];
            }
        }
        let (before, behind) = (self.offsets(&self.before), self.offsets(&self.behind));
        let mut sources = Vec::with_capacity(before.len() * chosen.len() * behind.len());
        for first in before {
            for middle in &chosen {
                sources.extend(behind.iter().map(|last| first + middle + last));
            }
        }
        Ok(sources)
    }

    /// Returns the exclusive bound of an index tensor, by its number in the list.
    pub(super) fn bound(call: &Call<'_>, element: usize) -> u64 {
        let spec = call.tensor("self").ok();
        spec.and_then(|spec| spec.shape.get(element).copied()).unwrap_or(1) as u64
    }

    /// Returns the number of places that the index tensors choose.
    pub(super) fn n_chosen(&self) -> usize {
        self.indexed.iter().product()
    }
}
