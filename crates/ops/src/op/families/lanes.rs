//! Functions of the slices along one dimension or several.

use ndarray::{Axis, CowArray, IxDyn};

use crate::parallel;

use super::super::{Array, Input, reduced};

/// Elements from which on slices are shared by all cores.
const PARALLEL_FROM: usize = 1 << 14;

/// Returns an array of the same shape in which every slice along `dim` is the result of `formula` for
/// it: called with the slice and the slice to fill. A 0-dim array is one slice of one element.
pub(crate) fn map(
    input: &Input<'_>,
    dim: usize,
    formula: impl Fn(&[f64], &mut [f64]) + Sync + Send,
) -> Array {
    let len = input.shape.get(dim).copied().unwrap_or(1);
    let [out] = maps(input, dim, len, |x, [out]: [&mut [f64]; 1]| formula(x, out));
    out
}

/// Returns `N` arrays whose slices along `dim`, of `len` elements each, are the results of `formula` for
/// the slices of the input: called with the slice and the slices to fill. A 0-dim array is one
/// slice of one element, and so are the results.
pub(crate) fn maps<const N: usize>(
    input: &Input<'_>,
    dim: usize,
    len: usize,
    formula: impl Fn(&[f64], [&mut [f64]; N]) + Sync + Send,
) -> [Array; N] {
    let ndim = input.ndim();
    let mut shape = input.shape.clone();
    let from = if ndim == 0 { 1 } else { std::mem::replace(&mut shape[dim], len) };
    let rows = Rows::of(input, if ndim == 0 { &[] } else { std::slice::from_ref(&dim) });
    if from * rows.count * len == 0 {
        return std::array::from_fn(|_| Array::zeros(IxDyn(&shape)));
    }
    let mut values = vec![0.0; rows.count * N * len];
    let flat = rows.flat();
    let fill = |number: usize, out: &mut [f64]| {
        let mut parts = out.chunks_exact_mut(len);
        let parts = std::array::from_fn(|_| parts.next().unwrap_or_default());
        formula(&flat[number * from..][..from], parts);
    };
    if flat.len() >= PARALLEL_FROM {
        parallel::fill_rows(&mut values, N * len, &fill);
    } else {
        let rows = values.chunks_mut(N * len).enumerate();
        rows.for_each(|(number, out)| fill(number, out));
    }
    let kept = (0..ndim).filter(|&other| other != dim);
    let mut filled: Vec<usize> = kept.clone().map(|other| shape[other]).collect();
    filled.extend([N, len]);
    let filled = Array::from_shape_vec(IxDyn(&filled), values).expect("each slice was filled");
    // Where each dimension of the result is in the filled array.
    let mut order: Vec<usize> = (0..ndim.saturating_sub(1)).collect();
    if ndim > 0 {
        order.insert(dim, ndim - 1);
    }
    let parts = Axis(filled.ndim() - 2);
    let finished = |part: Array| {
        let part = if ndim == 0 { part.index_axis_move(Axis(0), 0) } else { part };
        let part = part.permuted_axes(IxDyn(&order));
        if part.is_standard_layout() { part } else { part.as_standard_layout().into_owned() }
    };
    if N == 1 {
        let mut only = Some(filled.index_axis_move(parts, 0));
        return std::array::from_fn(|_| finished(only.take().unwrap_or_default()));
    }
    std::array::from_fn(|part| finished(filled.index_axis(parts, part).to_owned()))
}

/// Returns the array whose elements are `formula` of the slices over `dims` (the elements of a
/// slice in row-major order), in the shape that is left; `keepdim` leaves extents of 1.
pub(crate) fn fold(
    input: &Input<'_>,
    dims: &[usize],
    keepdim: bool,
    formula: impl Fn(&[f64]) -> f64 + Sync + Send,
) -> Array {
    let [out] = folds(input, dims, keepdim, |x| [formula(x)]);
    out
}

/// Returns the `N` arrays whose elements are `formula` of the slices over `dims`, as [`fold`] does.
pub(crate) fn folds<const N: usize>(
    input: &Input<'_>,
    dims: &[usize],
    keepdim: bool,
    formula: impl Fn(&[f64]) -> [f64; N] + Sync + Send,
) -> [Array; N] {
    let shape = reduced(&input.shape, dims, keepdim);
    let rows = Rows::of(input, dims);
    let row = |index: usize| formula(&rows.flat()[index * rows.len..][..rows.len]);
    let values: Vec<[f64; N]> = if input.numel() >= PARALLEL_FROM {
        parallel::map(rows.count, &row)
    } else {
        (0..rows.count).map(row).collect()
    };
    std::array::from_fn(|part| {
        let part = values.iter().map(|value| value[part]).collect();
        Array::from_shape_vec(IxDyn(&shape), part).expect("one value per slice")
    })
}

/// The slices over some dimensions, side by side, in row-major order of the other dimensions.
pub(crate) struct Rows<'a> {
    values: CowArray<'a, f64, IxDyn>,
    count: usize,
    len: usize,
}

impl<'a> Rows<'a> {
    /// Gathers the slices over some dimensions, where they do not lie side by side already.
    pub(crate) fn of(input: &'a Input<'_>, dims: &[usize]) -> Self {
        let kept: Vec<usize> = (0..input.ndim()).filter(|dim| !dims.contains(dim)).collect();
        let order: Vec<usize> = kept.iter().chain(dims).copied().collect();
        let rows = input.view().permuted_axes(IxDyn(&order));
        let values = if rows.is_standard_layout() {
            CowArray::from(rows)
        } else {
            CowArray::from(rows.as_standard_layout().into_owned())
        };
        Self {
            values,
            count: kept.iter().map(|&dim| input.shape[dim]).product(),
            len: dims.iter().map(|&dim| input.shape[dim]).product(),
        }
    }

    /// Returns all elements, slice by slice.
    fn flat(&self) -> &[f64] {
        self.values.as_slice().unwrap_or(&[])
    }

    /// Returns the slices one after another.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.count).map(|row| &self.flat()[row * self.len..][..self.len])
    }
}

/// Rewrites results along `dim` in place: `change` is called with a slice of the input, the slice
/// of `got` to rewrite and the slice of `expected` (both have the same shape).
pub(crate) fn revise(
    input: &Input<'_>,
    dim: usize,
    got: &mut Array,
    expected: &Array,
    change: impl Fn(&[f64], &mut [f64], &[f64]),
) {
    if got.is_empty() {
        return;
    }
    if got.ndim() == 0 {
        let mut mine = [got.sum()];
        change(&[input.at(&[])], &mut mine, &[expected.sum()]);
        got.fill(mine[0]);
        return;
    }
    let axis = Axis(dim);
    let slices = input.array().lanes(axis).into_iter();
    let expected = expected.lanes(axis).into_iter();
    for ((x, mut got), expected) in slices.zip(got.lanes_mut(axis)).zip(expected) {
        let mut mine = got.to_vec();
        change(&x.to_vec(), &mut mine, &expected.to_vec());
        for (got, mine) in got.iter_mut().zip(mine) {
            *got = mine;
        }
    }
}
