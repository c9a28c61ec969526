//! The rows of the heads of an attention.

use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView2, Axis, Ix2, IxDyn};

use crate::{parallel, reference::Error};

use super::super::super::unravel;
use super::super::super::{Array, Input, Inputs};
use super::super::sum::sum;
use super::AttentionShape;

/// Queries that are computed together.
const BLOCK: usize = 128;

/// An attention with its tensors.
pub(super) struct Heads<'p, 'i, 'a> {
    plan: &'p AttentionShape,
    query: &'i Input<'a>,
    key: &'i Input<'a>,
    value: &'i Input<'a>,
    mask: Option<&'i Input<'a>>,
}

/// One head of the result with its operands.
pub(super) struct Head<'h> {
    plan: &'h AttentionShape,
    query: ArrayView2<'h, f64>,
    key: ArrayView2<'h, f64>,
    value: ArrayView2<'h, f64>,
    /// The mask that is added to the scores: [queries, keys], or rows and columns that repeat.
    mask: Option<ArrayView2<'h, f64>>,
    /// Whether the mask holds truth values.
    choosing: bool,
}

/// Returns the matrix of a tensor that a head of the result has.
fn matrix<'i>(
    input: &'i Input<'_>,
    plan: &AttentionShape,
    head: usize,
) -> Option<ArrayView2<'i, f64>> {
    let batch = &input.shape[..input.ndim().checked_sub(2)?];
    let mut view = input.view();
    for index in unravel(plan.own_matrix(batch, head), batch) {
        view = view.index_axis_move(Axis(0), index);
    }
    view.into_dimensionality::<Ix2>().ok()
}

impl<'p, 'i, 'a> Heads<'p, 'i, 'a> {
    pub(super) fn new(plan: &'p AttentionShape, inputs: &'i Inputs<'a>) -> Result<Self, Error> {
        Ok(Self {
            plan,
            query: inputs.get("query")?,
            key: inputs.get("key")?,
            value: inputs.get("value")?,
            mask: inputs.opt("attn_mask"),
        })
    }

    /// Returns a head by its flat index.
    fn head(&self, index: usize) -> Option<Head<'_>> {
        let plan = self.plan;
        let mask = match self.mask {
            None => None,
            // A mask of one dimension is one row for all queries.
            Some(mask) if mask.ndim() < 2 => {
                let columns = mask.numel();
                mask.view().into_shape_with_order((1, columns)).ok()
            }
            Some(mask) => matrix(mask, plan, index),
        };
        Some(Head {
            plan,
            query: matrix(self.query, plan, index)?,
            key: matrix(self.key, plan, index)?,
            value: matrix(self.value, plan, index)?,
            mask,
            choosing: self.mask.is_some_and(|mask| !mask.dtype.is_float()),
        })
    }

    /// Computes all elements, a block of rows at a time: [rows, width].
    pub(super) fn all(&self, rows: impl Fn(&Head<'_>, &[usize]) -> Array2<f64> + Sync) -> Array {
        let plan = self.plan;
        let n_heads: usize = plan.batch.iter().product();
        let n_blocks = plan.queries.div_ceil(BLOCK);
        let block = |job: usize| {
            let first = job % n_blocks * BLOCK;
            let own: Vec<usize> = (first..plan.queries.min(first + BLOCK)).collect();
            let values = self.head(job / n_blocks).map(|head| rows(&head, &own));
            values.map_or_else(
                || vec![0.0; own.len() * plan.width],
                |values| values.iter().copied().collect(),
            )
        };
        let flat = parallel::flat_map(n_heads * n_blocks, &block);
        Array::from_shape_vec(IxDyn(&plan.shape()), flat).expect("one value per element")
    }

    /// Computes some elements: each row that they lie in once.
    pub(super) fn some(
        &self,
        indices: &[usize],
        rows: impl Fn(&Head<'_>, &[usize]) -> Array2<f64> + Sync,
    ) -> Vec<f64> {
        let AttentionShape { queries, width, .. } = *self.plan;
        let mut wanted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, index) in indices.iter().enumerate() {
            wanted.entry(index / width).or_default().push(place);
        }
        let mut heads: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for row in wanted.keys() {
            heads.entry(row / queries).or_default().push(row % queries);
        }
        let jobs: Vec<(usize, &[usize])> = heads
            .iter()
            .flat_map(|(&head, rows)| rows.chunks(BLOCK).map(move |rows| (head, rows)))
            .collect();
        let compute = |job: usize| {
            let (head, own) = jobs[job];
            let values = self.head(head).map(|head| rows(&head, own));
            values.unwrap_or_else(|| Array2::zeros((own.len(), width)))
        };
        let blocks = parallel::map(jobs.len(), &compute);
        let mut out = vec![0.0; indices.len()];
        for (&(head, own), values) in jobs.iter().zip(blocks) {
            for (&row, values) in own.iter().zip(values.axis_iter(Axis(0))) {
                for &place in wanted.get(&(head * queries + row)).into_iter().flatten() {
                    out[place] = values[indices[place] % width];
                }
            }
        }
        out
    }
}

impl Head<'_> {
    /// Returns the mask's element for a score; 0 where there is none.
    fn masked(&self, row: usize, column: usize) -> f64 {
        let Some(mask) = &self.mask else { return 0.0 };
        let at = |index: usize, extent: usize| if extent == 1 { 0 } else { index };
        let (rows, columns) = mask.dim();
        let value = mask[(at(row, rows), at(column, columns))];
        match (self.choosing, value == 0.0) {
            (true, true) => f64::NEG_INFINITY,
            (true, false) => 0.0,
            (false, _) => value,
        }
    }

    /// Returns the probabilities of some rows: [rows, keys]. A row that sees nothing is 0.
    fn probabilities(&self, rows: &[usize]) -> Array2<f64> {
        let queries = self.query.select(Axis(0), rows);
        let mut scores = queries.dot(&self.key.t());
        for (&row, mut scores) in rows.iter().zip(scores.axis_iter_mut(Axis(0))) {
            for (column, score) in scores.iter_mut().enumerate() {
                let hidden = self.plan.causal && column > row;
                let added = if hidden { f64::NEG_INFINITY } else { self.masked(row, column) };
                *score = *score * self.plan.scale + added;
            }
            let values = softmax(&scores.to_vec());
            for (score, value) in scores.iter_mut().zip(values) {
                *score = value;
            }
        }
        scores
    }

    /// Computes the outputs of some rows: [rows, width].
    pub(super) fn outputs(&self, rows: &[usize]) -> Array2<f64> {
        self.probabilities(rows).dot(&self.value)
    }

    /// Computes the scale of intermediate roundings for some rows: [rows, width].
    pub(super) fn rounded(&self, rows: &[usize]) -> Array2<f64> {
        let p = self.probabilities(rows);
        let squares = p.mapv(|p| p * p).dot(&self.value.mapv(|v| v * v));
        squares.mapv(f64::sqrt) + p.dot(&self.value).mapv(|y| y.abs() / 4.0)
    }

    /// Computes the spreads of some rows: [rows, width].
    pub(super) fn spreads(&self, rows: &[usize]) -> Array2<f64> {
        let p = self.probabilities(rows);
        let y = p.dot(&self.value);
        let scale = self.plan.scale;
        let queries = self.query.select(Axis(0), rows).mapv(|q| (scale * q).powi(2));
        let mut moved = queries.dot(&self.key.mapv(|k| k * k).t());
        for (&row, mut moved) in rows.iter().zip(moved.axis_iter_mut(Axis(0))) {
            for (column, moved) in moved.iter_mut().enumerate() {
                let mask = if self.choosing { 0.0 } else { self.masked(row, column) };
                let mask = if mask.is_finite() { mask } else { 0.0 };
                *moved = 2.0 * *moved + mask * mask;
            }
        }
        // Σ p² (v² + (v - y)² A), with v taken from y's scale: (v - y)² is expanded below.
        let squares = &p * &p;
        let weighted = &squares * &moved;
        let value_squares = self.value.mapv(|v| v * v);
        let plain = (&squares + &weighted).dot(&value_squares);
        let cross = weighted.dot(&self.value);
        let total = weighted.sum_axis(Axis(1));
        let mut out = plain;
        for ((row, mut out), (cross, y)) in
            out.axis_iter_mut(Axis(0)).enumerate().zip(cross.outer_iter().zip(y.outer_iter()))
        {
            for ((out, &cross), &y) in out.iter_mut().zip(&cross).zip(&y) {
                let square = *out - 2.0 * y * cross + y * y * total[row];
                *out = square.max(0.0).sqrt();
            }
        }
        out
    }
}

/// Returns the probabilities of a row of scores: zeros where all of them are -Inf.
fn softmax(scores: &[f64]) -> Vec<f64> {
    let max = super::super::softmax::maximum(scores);
    if max == f64::NEG_INFINITY {
        return vec![0.0; scores.len()];
    }
    let exps: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
    let total = sum(exps.iter().copied());
    exps.into_iter().map(|value| value / total).collect()
}
