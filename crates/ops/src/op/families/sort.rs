//! Sorting, and the first sorted elements.

use std::cmp::Ordering;

use crate::{record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Role, Shaped,
        integer_limit, normalise_dim,
    },
    extreme::{element, position, tied},
    lanes,
    reduce::{plain, row_locality},
};

/// Slices in order, or the elements that come first in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// All elements.
    Sort,
    /// The first `k`.
    TopK,
}

/// NaN is larger than every number; both zeros are equal.
fn compare(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
        (left, right) => left.cmp(&right),
    }
}

fn directed(descending: bool, left: f64, right: f64) -> Ordering {
    if descending { compare(right, left) } else { compare(left, right) }
}

fn dim(call: &Call<'_>) -> Result<usize, InferError> {
    normalise_dim(call.int("dim")?, call.tensor("self")?.ndim())
}

impl Order {
    fn descending(self, call: &Call<'_>) -> Result<bool, InferError> {
        call.bool(if self == Self::Sort { "descending" } else { "largest" })
    }

    /// Returns the elements that a slice is cut to.
    fn len(self, call: &Call<'_>) -> Result<usize, InferError> {
        let spec = call.tensor("self")?;
        let extent = spec.shape.get(dim(call)?).copied().unwrap_or(1);
        if self == Self::Sort {
            return Ok(extent);
        }
        let k = call.int("k")?;
        let wanted = || format!("within 0..={extent}");
        let len = usize::try_from(k).ok().filter(|&k| k <= extent);
        // A 0-dim result has one element.
        let len = len.filter(|&len| spec.ndim() > 0 || len == 1);
        len.ok_or_else(|| InferError::value("k", k, wanted()))
    }

    fn sorted(self, call: &Call<'_>) -> bool {
        self == Self::Sort || call.bool("sorted").unwrap_or(true)
    }
}

impl Engine for Order {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = plain(call)?;
        if *self == Self::TopK && spec.dtype == DType::Bool {
            return Err(InferError::dtype("self", spec.dtype, "a number type"));
        }
        let mut shape = spec.shape.clone();
        let (dim, len) = (dim(call)?, self.len(call)?);
        if let Some(extent) = shape.get_mut(dim) {
            *extent = len;
        }
        Ok(vec![(spec.dtype, shape.clone()), (DType::I64, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let descending = self.descending(call)?;
        let fill = |x: &[f64], [values, indices]: [&mut [f64]; 2]| {
            let mut order: Vec<usize> = (0..x.len()).collect();
            order.sort_by(|&left, &right| directed(descending, x[left], x[right]));
            for ((value, index), at) in values.iter_mut().zip(indices).zip(order) {
                (*value, *index) = (x[at], at as f64);
            }
        };
        Ok(lanes::maps(inputs.get("self")?, dim(call)?, self.len(call)?, fill).into())
    }

    fn spread(&self, call: &Call<'_>, _inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let zeros = |(_, shape): &Shaped| Array::zeros(ndarray::IxDyn(shape));
        Ok(Some(self.infer(call)?.iter().map(zeros).collect()))
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        row_locality(call, dim(call))
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }

    /// Pairs in no order are put in order; then indices of equal elements become those expected,
    /// where no index of the slice stands twice.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Ok(input), Ok(dim)) = (inputs.get("self"), dim(call)) else { return };
        let (Ok(descending), Ok(len)) = (self.descending(call), self.len(call)) else { return };
        let ([values, indices], [_, wanted]) = (got, expected) else { return };
        if values.shape() != wanted.shape() || indices.shape() != wanted.shape() {
            return;
        }
        if !self.sorted(call) {
            put_in_order(dim, len, descending, values, indices);
        }
        lanes::revise(input, dim, indices, wanted, |x, got, wanted| {
            let mut seen = vec![false; x.len()];
            let distinct = got.iter().all(|&index| {
                position(x, index).is_some_and(|at| !std::mem::replace(&mut seen[at], true))
            });
            for (got, &wanted) in got.iter_mut().zip(wanted).filter(|_| distinct) {
                if let (Some(mine), Some(best)) = (element(x, *got), element(x, wanted))
                    && tied(mine, best)
                {
                    *got = wanted;
                }
            }
        });
    }

    fn leaves_choices(&self) -> bool {
        true
    }

    /// A radix sort, as PyTorch's is, puts NaN with a sign bit before all numbers.
    fn ignores_sign_of_nan(&self) -> bool {
        *self == Self::TopK
    }
}

/// Sorts pairs of value and index along a dimension by value.
fn put_in_order(dim: usize, len: usize, descending: bool, values: &mut Array, indices: &mut Array) {
    if values.ndim() == 0 || len == 0 {
        return;
    }
    let axis = ndarray::Axis(dim);
    let lanes = values.lanes_mut(axis).into_iter().zip(indices.lanes_mut(axis));
    for (mut values, mut indices) in lanes {
        let mut pairs: Vec<(f64, f64)> =
            values.iter().copied().zip(indices.iter().copied()).collect();
        pairs.sort_by(|left, right| directed(descending, left.0, right.0));
        for ((value, index), pair) in values.iter_mut().zip(indices.iter_mut()).zip(pairs) {
            (*value, *index) = pair;
        }
    }
}
