//! Parts of a product of matrices: the rows and columns that cross in some of its elements.

use crate::{
    op::{Matrices, OpDef},
    record::{ArgValue, Case, TensorSpec},
};

use super::part::{Part, Runs, Subproblem, broadcast_layout};

/// Rows and columns, ascending.
struct Lines {
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Lines {
    fn through(indices: &[usize], width: usize) -> Self {
        let unique = |mut all: Vec<usize>| {
            all.sort_unstable();
            all.dedup();
            all
        };
        Self {
            rows: unique(indices.iter().map(|index| index / width).collect()),
            columns: unique(indices.iter().map(|index| index % width).collect()),
        }
    }

    fn shape(&self) -> [usize; 2] {
        [self.rows.len(), self.columns.len()]
    }

    /// Returns the elements of a matrix `width` wide, row by row.
    fn elements(&self, width: usize) -> impl Iterator<Item = usize> {
        let in_row =
            move |&row: &usize| self.columns.iter().map(move |column| row * width + column);
        self.rows.iter().flat_map(in_row)
    }

    /// Returns where an element of a matrix `width` wide is among those.
    fn place(&self, index: usize, width: usize) -> Option<usize> {
        let row = self.rows.binary_search(&(index / width)).ok()?;
        let column = self.columns.binary_search(&(index % width)).ok()?;
        Some(row * self.columns.len() + column)
    }
}

/// Returns the product of the rows and columns that cross in some elements (row-major indices) of the
/// output of a product of two matrices.
pub(super) fn crossings(
    op: &OpDef,
    case: &Case,
    matrices: &Matrices,
    indices: &[usize],
) -> Option<Subproblem> {
    let [output] = op.infer(case).ok()?.try_into().ok()?;
    let width = *output.shape.last()?;
    let lines = Lines::through(indices, width);
    let mut part = case.clone();
    let mut inputs = Vec::new();
    for arg in &mut part.args {
        let ArgValue::Tensor(tensor) = &mut arg.value else { continue };
        let (runs, shape) = lines.input(matrices, &arg.name, &tensor.spec, &output)?;
        inputs.push(runs);
        tensor.spec = TensorSpec::contiguous(tensor.spec.dtype, &shape);
    }
    let starts: Vec<usize> = lines.elements(width).collect();
    let indices: Option<_> = indices.iter().map(|&index| lines.place(index, width)).collect();
    let outputs = vec![Runs { starts, len: 1 }];
    Some(Subproblem { part: Part { case: part, inputs, outputs }, indices: indices? })
}

impl Lines {
    /// Returns the elements of an input that the product needs, and their shape.
    fn input(
        &self,
        matrices: &Matrices,
        name: &str,
        spec: &TensorSpec,
        output: &TensorSpec,
    ) -> Option<(Runs, Vec<usize>)> {
        let width = *output.shape.last()?;
        let last = spec.shape.last().copied();
        let whole = |lines: &[usize], len: usize| {
            let runs = Runs { starts: lines.iter().map(|line| line * len).collect(), len };
            (runs, vec![lines.len(), len])
        };
        if name == matrices.left {
            return Some(whole(&self.rows, last?));
        }
        if name == matrices.right && matrices.transposed {
            return Some(whole(&self.columns, last?));
        }
        if name == matrices.right {
            let [depth, width] = *spec.shape else { return None };
            let all = Self { rows: (0..depth).collect(), columns: self.columns.clone() };
            let starts = all.elements(width).collect();
            return Some((Runs { starts, len: 1 }, all.shape().to_vec()));
        }
        if matrices.addend != Some(name) {
            return None;
        }
        if spec.ndim() == 1 && last == Some(width) {
            let starts = self.columns.clone();
            return Some((Runs { starts, len: 1 }, vec![self.columns.len()]));
        }
        let layout = broadcast_layout(spec, &output.shape)?;
        let starts = self.elements(width).map(|index| layout.storage_index(index)).collect();
        Some((Runs { starts, len: 1 }, self.shape().to_vec()))
    }
}

#[cfg(test)]
mod tests;
