//! Parts of a case: smaller calls that have some of its output elements, for cases that are too
//! large to be evaluated in full.

use crate::{
    op::{Locality, OpDef},
    record::{Case, TensorSpec},
};

use super::crossings::crossings;

/// Elements of a tensor, row-major: runs of equal length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// Where each run begins.
    pub starts: Vec<usize>,
    /// Elements of each run.
    pub len: usize,
}

impl Runs {
    /// Returns the number of elements.
    #[must_use]
    pub fn numel(&self) -> usize {
        self.starts.len() * self.len
    }

    /// Returns the elements, run by run.
    pub fn elements(&self) -> impl Iterator<Item = usize> {
        self.starts.iter().flat_map(|&start| start..start + self.len)
    }

    /// Returns an element by its place among all of them.
    ///
    /// # Panics
    ///
    /// When there are not as many.
    #[must_use]
    pub fn element(&self, place: usize) -> usize {
        self.starts[place / self.len] + place % self.len
    }

    /// Returns runs of that many elements which begin at multiples of it.
    pub(crate) fn blocks(blocks: &[usize], len: usize) -> Self {
        Self { starts: blocks.iter().map(|block| block * len).collect(), len }
    }

    fn whole(spec: &TensorSpec) -> Self {
        Self { starts: vec![0], len: spec.numel() }
    }
}

/// A call that computes some output elements of a larger one.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The call; its tensors are contiguous.
    pub case: Case,
    /// Which elements of the larger call's tensors its own tensors hold, in the order of
    /// [`Case::tensors`].
    pub inputs: Vec<Runs>,
    /// Which elements of the larger call's outputs its own outputs are.
    pub outputs: Vec<Runs>,
}

impl Part {
    /// Returns the smallest part that has some elements (row-major indices, ascending) of the first
    /// output; `None` where the op has no parts, see [`crate::op::Engine::locality`].
    #[must_use]
    pub fn of(op: &OpDef, case: &Case, indices: &[usize]) -> Option<Self> {
        let part = match op.engine.locality(&op.call(case)) {
            Locality::Elements => elements(op, case, indices),
            Locality::Rows(trailing) => rows(op, case, trailing, indices),
            Locality::Blocks(len) => {
                let mut blocks: Vec<usize> =
                    indices.iter().map(|index| index / len.max(1)).collect();
                blocks.dedup();
                op.engine.blocks(&op.call(case), &blocks)
            }
            Locality::Single | Locality::Whole => None,
        }?;
        part.is_consistent(op).then_some(part)
    }

    /// Returns whether the call has as many output elements as were cut out.
    fn is_consistent(&self, op: &OpDef) -> bool {
        let Ok(inferred) = op.infer(&self.case) else { return false };
        inferred.len() == self.outputs.len()
            && inferred.iter().zip(&self.outputs).all(|(spec, runs)| spec.numel() == runs.numel())
    }
}

/// Single elements of a call's one output, and a smaller call that has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Subproblem {
    /// The smaller call; it has more than the elements.
    pub part: Part,
    /// The elements (row-major) in the output of [`Self::part`].
    pub indices: Vec<usize>,
}

impl Subproblem {
    /// Returns the smaller call for some elements (row-major indices): rows and columns of a product
    /// of two matrices, or as [`crate::op::Engine::subproblem`] says; `None` where there is none.
    #[must_use]
    pub fn of(op: &OpDef, case: &Case, indices: &[usize]) -> Option<Self> {
        let call = op.call(case);
        let found = match op.engine.matrices(&call) {
            Some(matrices) => crossings(op, case, &matrices, indices),
            None => op.engine.subproblem(&call, indices),
        };
        found.filter(|found| found.part.is_consistent(op))
    }
}

/// Each output element depends on the elements at its place.
fn elements(op: &OpDef, case: &Case, indices: &[usize]) -> Option<Part> {
    let [output] = op.infer(case).ok()?.try_into().ok()?;
    let mut part = case.clone();
    let mut inputs = Vec::new();
    for tensor in part.tensors_mut() {
        let spec = &tensor.spec;
        // A tensor without dimensions counts for less in promotion: it keeps its type.
        if spec.ndim() == 0 {
            inputs.push(Runs::whole(spec));
            continue;
        }
        let layout = broadcast_layout(spec, &output.shape)?;
        let starts = indices.iter().map(|&index| layout.storage_index(index)).collect();
        inputs.push(Runs { starts, len: 1 });
        tensor.spec = TensorSpec::contiguous(spec.dtype, &[indices.len()]);
    }
    let outputs = vec![Runs { starts: indices.to_vec(), len: 1 }];
    Some(Part { case: part, inputs, outputs })
}

/// Returns a contiguous tensor's layout as it is broadcast to a shape; `None` where it does not.
pub(super) fn broadcast_layout(spec: &TensorSpec, output: &[usize]) -> Option<TensorSpec> {
    let missing = output.len().checked_sub(spec.ndim())?;
    let own = TensorSpec::contiguous(spec.dtype, &spec.shape);
    let mut stride = vec![0; missing];
    for ((&extent, &step), &wanted) in own.shape.iter().zip(&own.stride).zip(&output[missing..]) {
        if extent != wanted && extent != 1 {
            return None;
        }
        stride.push(if extent == 1 { 0 } else { step });
    }
    Some(TensorSpec { shape: output.to_vec(), stride, ..own })
}

/// Each row of the outputs depends on the rows of the inputs at its place, and on tensors that all
/// rows share.
fn rows(op: &OpDef, case: &Case, trailing: usize, indices: &[usize]) -> Option<Part> {
    let first = case.tensors().next()?.1.spec.clone();
    let leading = first.ndim().checked_sub(trailing)?;
    let rows: usize = first.shape[..leading].iter().product();
    let outputs = op.infer(case).ok()?;
    if leading == 0 || rows == 0 || outputs.iter().any(|spec| spec.numel() % rows != 0) {
        return None;
    }
    let width = outputs.first()?.numel() / rows;
    let mut wanted: Vec<usize> = indices.iter().map(|&index| index / width.max(1)).collect();
    wanted.dedup();
    let runs = |spec: &TensorSpec| {
        let len = spec.numel() / rows;
        Runs { starts: wanted.iter().map(|row| row * len).collect(), len }
    };
    let mut part = case.clone();
    let mut inputs = Vec::new();
    for tensor in part.tensors_mut() {
        let spec = &tensor.spec;
        let in_rows =
            spec.ndim() == first.ndim() && spec.shape[..leading] == first.shape[..leading];
        if !in_rows {
            inputs.push(Runs::whole(spec));
            continue;
        }
        inputs.push(runs(spec));
        // As many dimensions as before: arguments count them.
        let mut shape = vec![1; leading];
        shape[0] = wanted.len();
        shape.extend_from_slice(&spec.shape[leading..]);
        tensor.spec = TensorSpec::contiguous(spec.dtype, &shape);
    }
    let outputs = outputs.iter().map(runs).collect();
    Some(Part { case: part, inputs, outputs })
}

#[cfg(test)]
pub(super) mod tests;
