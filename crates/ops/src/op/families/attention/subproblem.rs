//! The heads of an attention that some elements of its result lie in.

use crate::{
    record::{ArgValue, TensorSpec},
    reference::{Part, Runs, Subproblem},
};

use super::super::super::Call;
use super::AttentionShape;

/// Returns the attention of the heads that some elements (row-major indices) lie in, with the heads
/// as its one batch dimension: `[heads, queries, depth]`, `[heads, keys, depth]`, ...
pub(super) fn subproblem(
    plan: &AttentionShape,
    call: &Call<'_>,
    indices: &[usize],
) -> Option<Subproblem> {
    let per_head = plan.queries * plan.width;
    let mut heads: Vec<usize> = indices.iter().map(|index| index / per_head).collect();
    heads.sort_unstable();
    heads.dedup();
    let mut case = call.case.clone();
    let mut inputs = Vec::new();
    for arg in &mut case.args {
        match &mut arg.value {
            ArgValue::Tensor(tensor) => {
                let (runs, shape) = plan.matrices(&tensor.spec, &heads);
                inputs.push(runs);
                tensor.spec = TensorSpec::contiguous(tensor.spec.dtype, &shape);
            }
            // Each head has keys and values of its own now.
            ArgValue::Bool(grouped) if arg.name == "enable_gqa" => *grouped = false,
            _ => {}
        }
    }
    let starts: Vec<usize> = heads.iter().map(|head| head * per_head).collect();
    let own = |index: &usize| {
        let head = heads.binary_search(&(index / per_head)).ok()?;
        Some(head * per_head + index % per_head)
    };
    let indices = indices.iter().map(own).collect::<Option<_>>()?;
    let outputs = vec![Runs { starts, len: per_head }];
    Some(Subproblem { part: Part { case, inputs, outputs }, indices })
}

impl AttentionShape {
    /// Returns the elements of an input that some heads of the result are computed from, and their
    /// shape `[heads, rows, columns]`; a tensor of fewer dimensions stays as it is.
    fn matrices(&self, spec: &TensorSpec, heads: &[usize]) -> (Runs, Vec<usize>) {
        let [own @ .., rows, columns] = &spec.shape[..] else {
            return (Runs { starts: vec![0], len: spec.numel() }, spec.shape.clone());
        };
        let len = rows * columns;
        let starts = heads.iter().map(|&head| self.own_matrix(own, head) * len).collect();
        (Runs { starts, len }, vec![heads.len(), *rows, *columns])
    }
}
