//! Loops on all cores.
//!
//! The functions are `dyn`: rayon compiles some three thousand lines of LLVM IR for each type of
//! closure, a fifth of this crate. A call through a pointer is little beside an element.

use rayon::prelude::*;

/// Returns `of(0)`, `of(1)` and so on up to `count`.
pub(crate) fn map<T: Send>(count: usize, of: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    (0..count).into_par_iter().map(of).collect()
}

/// Returns the elements of `of(0)`, `of(1)` and so on up to `count`, one after the other.
pub(crate) fn flat_map(count: usize, of: &(dyn Fn(usize) -> Vec<f64> + Sync)) -> Vec<f64> {
    map(count, of).concat()
}

/// Returns the elements of `of(row)` for each `len` elements of `values`, one after the other.
pub(crate) fn flat_map_rows(
    values: &[f64],
    len: usize,
    of: &(dyn Fn(usize, &[f64]) -> Vec<f64> + Sync),
) -> Vec<f64> {
    let len = len.max(1);
    let row =
        |number: usize| of(number, &values[number * len..values.len().min((number + 1) * len)]);
    flat_map(values.len().div_ceil(len), &row)
}

/// Calls `fill` with the number of each `len` elements and these.
pub(crate) fn fill_rows(values: &mut [f64], len: usize, fill: &(dyn Fn(usize, &mut [f64]) + Sync)) {
    values.par_chunks_mut(len.max(1)).enumerate().for_each(|(number, row)| fill(number, row));
}
