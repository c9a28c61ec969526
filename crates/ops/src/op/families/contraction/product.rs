//! Sums of products of the elements of two tensors.

use ndarray::{Array2, ArrayView2, Axis as Dim, IxDyn};

use crate::{parallel, reference::Error};

use super::super::super::{Array, Input, Inputs, unravel};
use super::super::sum::sum;
use super::form::{Axis, ContractionShape, Factor};

/// Multiply-adds from which on the matrices of a batch are shared by all cores.
const PARALLEL_FROM: usize = 1 << 16;

/// Chosen elements that are computed one after another.
const CHUNK: usize = 64;

/// A contraction with its factors.
#[derive(Debug)]
pub(crate) struct Product<'p, 'i, 'a> {
    plan: &'p ContractionShape,
    left: &'i Input<'a>,
    right: &'i Input<'a>,
}

/// The dimensions of the result by which factor they come from.
struct Roles {
    /// Of both, or of none.
    batch: Vec<usize>,
    /// Of the left factor alone.
    rows: Vec<usize>,
    /// Of the right one alone.
    columns: Vec<usize>,
}

impl Roles {
    fn of(plan: &ContractionShape) -> Self {
        let has = |factor: &Factor, dim| factor.axes.contains(&Axis::Out(dim));
        let pick = |left: bool, right: bool| -> Vec<usize> {
            let dims = 0..plan.out.len();
            let fits =
                |&dim: &usize| (has(&plan.left, dim), has(&plan.right, dim)) == (left, right);
            dims.filter(fits).collect()
        };
        let mut batch = pick(true, true);
        batch.extend(pick(false, false));
        Self { batch, rows: pick(true, false), columns: pick(false, true) }
    }
}

impl<'p, 'i, 'a> Product<'p, 'i, 'a> {
    pub(crate) fn new(plan: &'p ContractionShape, inputs: &'i Inputs<'a>) -> Result<Self, Error> {
        let (left, right) = (inputs.get(plan.left.name)?, inputs.get(plan.right.name)?);
        Ok(Self { plan, left, right })
    }

    /// Computes every element, from the factors with each element mapped.
    pub(crate) fn all(&self, map: fn(f64) -> f64) -> Array {
        let plan = self.plan;
        let roles = Roles::of(plan);
        let extent = |dims: &[usize]| dims.iter().map(|&dim| plan.out[dim]).product::<usize>();
        let [b, m, n] = [&roles.batch, &roles.rows, &roles.columns].map(|dims| extent(dims));
        let k = plan.n_terms();
        let sums: Vec<Axis> = (0..plan.sums.len()).map(Axis::Sum).collect();
        let out = |dims: &[usize]| dims.iter().map(|&dim| Axis::Out(dim)).collect::<Vec<_>>();
        let left_order = [out(&roles.batch), out(&roles.rows), sums.clone()].concat();
        let right_order = [out(&roles.batch), sums, out(&roles.columns)].concat();
        let left = ordered(self.left, &plan.left, &left_order, map);
        let right = ordered(self.right, &plan.right, &right_order, map);
        let flat = matrices(&left, &right, [b, m, k, n]);

        let order = [roles.batch, roles.rows, roles.columns].concat();
        let shape: Vec<usize> = order.iter().map(|&dim| plan.out[dim]).collect();
        let product = Array::from_shape_vec(IxDyn(&shape), flat)
            .expect("one value per element of the result");
        let mut back = vec![0; order.len()];
        for (place, &dim) in order.iter().enumerate() {
            back[dim] = place;
        }
        product.permuted_axes(IxDyn(&back)).as_standard_layout().into_owned()
    }

    /// Computes some elements, from the factors with each element mapped.
    ///
    /// Elements of one column follow each other, so that shared terms are read once and terms of
    /// neighbours are still in the caches.
    pub(crate) fn some(&self, indices: &[usize], map: fn(f64) -> f64) -> Vec<f64> {
        let columns = self.plan.out.last().copied().unwrap_or(1).max(1);
        let mut order: Vec<usize> = (0..indices.len()).collect();
        order.sort_by_key(|&place| (indices[place] % columns, indices[place]));
        let chunk = |number: usize| {
            let first = number * CHUNK;
            let mut known: Option<(Vec<usize>, Vec<f64>)> = None;
            let value = |&place: &usize| {
                let position = unravel(indices[place], &self.plan.out);
                let own = origin(&self.plan.right, &position);
                let right = match known.take() {
                    Some((of, right)) if of == own => right,
                    _ => self.terms(self.right, &self.plan.right, &position),
                };
                let left = self.terms(self.left, &self.plan.left, &position);
                let value = sum(left.iter().zip(&right).map(|(&a, &b)| map(a) * map(b)));
                known = Some((own, right));
                (place, value)
            };
            order[first..order.len().min(first + CHUNK)].iter().map(value).collect::<Vec<_>>()
        };
        let mut out = vec![0.0; indices.len()];
        let values = parallel::map(order.len().div_ceil(CHUNK), &chunk);
        for (place, value) in values.into_iter().flatten() {
            out[place] = value;
        }
        out
    }

    /// Returns the elements of a factor that take part in one element of the result.
    fn terms(&self, input: &Input<'_>, factor: &Factor, position: &[usize]) -> Vec<f64> {
        let summed = |axis: &Axis| matches!(axis, Axis::Sum(_));
        let place = |sums: &[usize]| -> Vec<usize> {
            let at = |axis: &Axis| match *axis {
                Axis::Out(dim) => position[dim],
                Axis::Sum(dim) => sums[dim],
                Axis::Repeated => 0,
            };
            factor.axes.iter().map(at).collect()
        };
        let sums = &self.plan.sums;
        match (sums.as_slice(), factor.axes.iter().position(summed)) {
            ([_], Some(dim)) => input.line(&origin(factor, position), dim),
            _ => (0..self.plan.n_terms()).map(|l| input.at(&place(&unravel(l, sums)))).collect(),
        }
    }
}

/// Returns the first element of a factor that takes part in one element of the result.
fn origin(factor: &Factor, position: &[usize]) -> Vec<usize> {
    let at = |axis: &Axis| if let Axis::Out(dim) = *axis { position[dim] } else { 0 };
    factor.axes.iter().map(at).collect()
}

/// Returns a factor's elements with its dimensions in some order; those that it lacks are left
/// out, repeated ones too.
fn ordered(input: &Input<'_>, factor: &Factor, order: &[Axis], map: fn(f64) -> f64) -> Vec<f64> {
    let place = |axis: &Axis| factor.axes.iter().position(|of| of == axis);
    let kept: Vec<usize> = order.iter().filter_map(place).collect();
    let repeated = (0..factor.axes.len()).filter(|dim| !kept.contains(dim));
    let dims: Vec<usize> = kept.iter().copied().chain(repeated).collect();
    input.view().permuted_axes(IxDyn(&dims)).iter().map(|&x| map(x)).collect()
}

/// Multiplies `b` pairs of matrices [m, k] and [k, n].
fn matrices(left: &[f64], right: &[f64], [b, m, k, n]: [usize; 4]) -> Vec<f64> {
    let mut out = vec![0.0; b * m * n];
    if out.is_empty() || k == 0 {
        return out;
    }
    let fill = |index: usize, out: &mut [f64]| {
        let pair = [(left, m * k, (m, k)), (right, k * n, (k, n))]
            .map(|(flat, len, shape)| ArrayView2::from_shape(shape, &flat[index * len..][..len]));
        let [Ok(left), Ok(right)] = pair else { return };
        let product: Array2<f64> = left.dot(&right);
        for (out, row) in out.chunks_exact_mut(n).zip(product.axis_iter(Dim(0))) {
            for (out, value) in out.iter_mut().zip(row) {
                *out = *value;
            }
        }
    };
    if b > 1 && b * m * k * n >= PARALLEL_FROM {
        parallel::fill_rows(&mut out, m * n, &fill);
    } else {
        out.chunks_mut(m * n).enumerate().for_each(|(index, out)| fill(index, out));
    }
    out
}
