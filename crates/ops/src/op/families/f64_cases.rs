//! Shared by tests that compare references in f64: cases, their inputs and results.

use crate::{
    op::{Array, CaseDraft, DraftTensor, DraftValue, Layout, build_case, find, generate},
    record::{Case, CaseClass, DType, HostTensor, InputDistribution},
    reference::Reference,
};

pub(super) fn tensor(shape: &[usize]) -> DraftValue {
    let layout = Layout::Contiguous;
    DraftValue::Tensor(DraftTensor { dtype: Some(DType::F64), shape: shape.to_vec(), layout })
}

pub(super) fn ints(values: &[i64]) -> DraftValue {
    DraftValue::Ints(values.to_vec())
}

pub(super) fn case(op: &str, values: &[(&str, DraftValue)]) -> Case {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let (class, distribution) = (CaseClass::Edge, InputDistribution::Normal);
    build_case(find(op).unwrap(), &CaseDraft { dtype: DType::F64, class, distribution, values })
        .unwrap()
}

/// Inputs that depend on the tensor's name alone.
pub(super) fn hosts(case: &Case) -> Vec<HostTensor> {
    case.tensors().map(|(name, tensor)| generate(tensor, 3, "", &name)).collect()
}

pub(super) fn evaluate(case: &Case, hosts: &[HostTensor]) -> Array {
    let op = find(&case.op).unwrap();
    let reference = Reference::new(op, case, hosts).unwrap();
    reference.evaluate().unwrap().remove(0)
}

pub(super) fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-11 * (1.0 + left.abs())
}
