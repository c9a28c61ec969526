//! Functions of the slices along one dimension or several.

use ndarray::{Axis, IxDyn, Zip};

use super::super::{Array, Input};

/// Elements from which on slices are shared by all cores.
const PARALLEL_FROM: usize = 1 << 14;

/// Returns an array of the same shape in which every slice along `dim` is what `formula` makes of
/// it: called with the slice and the slice to fill. A 0-dim array is one slice of one element.
pub(crate) fn map(
    input: &Input<'_>,
    dim: usize,
    formula: impl Fn(&[f64], &mut [f64]) + Sync + Send,
) -> Array {
    let mut out = Array::zeros(IxDyn(&input.shape));
    if input.ndim() == 0 {
        let mut result = [0.0];
        formula(&[input.at(&[])], &mut result);
        return Array::from_elem(IxDyn(&[]), result[0]);
    }
    if out.is_empty() {
        return out;
    }
    let fill = |lane: ndarray::ArrayView1<'_, f64>, mut out: ndarray::ArrayViewMut1<'_, f64>| {
        let lane = lane.to_vec();
        let mut result = vec![0.0; lane.len()];
        formula(&lane, &mut result);
        for (out, value) in out.iter_mut().zip(result) {
            *out = value;
        }
    };
    let parallel = input.numel() >= PARALLEL_FROM;
    let zip = Zip::from(input.array().lanes(Axis(dim))).and(out.lanes_mut(Axis(dim)));
    if parallel {
        zip.par_for_each(fill);
    } else {
        zip.for_each(fill);
    }
    out
}

/// Returns the array whose elements are `formula` of the slices over `dims` (the elements of a
/// slice in row-major order), in the shape that is left; `keepdim` leaves extents of 1.
pub(crate) fn fold(
    input: &Input<'_>,
    dims: &[usize],
    keepdim: bool,
    formula: impl Fn(&[f64]) -> f64 + Sync + Send,
) -> Array {
    let shape = super::super::reduced(&input.shape, dims, keepdim);
    let kept: Vec<usize> = (0..input.ndim()).filter(|dim| !dims.contains(dim)).collect();
    let order: Vec<usize> = kept.iter().chain(dims).copied().collect();
    let length: usize = dims.iter().map(|&dim| input.shape[dim]).product();
    let n_out: usize = kept.iter().map(|&dim| input.shape[dim]).product();
    let rows = input.view().permuted_axes(IxDyn(&order));
    let rows = rows.as_standard_layout();
    let flat = rows.as_slice().unwrap_or(&[]);
    let row = |index: usize| formula(&flat[index * length..][..length]);
    let values: Vec<f64> = if input.numel() >= PARALLEL_FROM {
        use rayon::prelude::*;
        (0..n_out).into_par_iter().map(row).collect()
    } else {
        (0..n_out).map(row).collect()
    };
    Array::from_shape_vec(IxDyn(&shape), values).expect("one value per slice")
}
