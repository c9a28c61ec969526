//! Kinds of elementwise ops: ops of one kind take the same tensors, so that they share cases.

use crate::op::{self, OpDef};

/// The kinds, and the tensors that their ops take, in the order of the signature.
const KINDS: &[(&str, &[&str])] =
    &[("unary", &["self"]), ("binary", &["self", "other"]), ("gradient", &["grad_output", "self"])];

/// Returns the names of the catalogue's ops of a kind; `None` where there is no such kind.
pub(super) fn ops(kind: &str) -> Option<impl Iterator<Item = &'static str>> {
    let (_, tensors) = KINDS.iter().find(|(name, _)| *name == kind)?;
    let of_kind = op::all().iter().filter(move |op| takes_only(op, tensors));
    Some(of_kind.map(|op| op.name.as_str()))
}

/// Returns the tensors that an op takes, where it is of one of the kinds.
pub(super) fn tensors_of(op: &OpDef) -> Option<&'static [&'static str]> {
    KINDS.iter().map(|(_, tensors)| *tensors).find(|tensors| takes_only(op, tensors))
}

/// Returns the names of the kinds.
pub(super) fn names() -> Vec<&'static str> {
    KINDS.iter().map(|(name, _)| *name).collect()
}

/// Returns whether these tensors are all that a call of an elementwise op needs.
fn takes_only(op: &OpDef, tensors: &[&str]) -> bool {
    let numbers = op.params.iter().filter(|param| !param.kind.holds_tensors());
    op.engine.is_elementwise()
        && op.tensor_params().map(|param| param.name.as_str()).eq(tensors.iter().copied())
        && numbers.into_iter().all(|param| param.default.is_some())
}
