//! Shared by the tests of engines: a case with generated inputs, evaluated.

use crate::{
    op::{Array, CaseDraft, DraftTensor, DraftValue, Layout, build_case, find, generate},
    record::{Case, CaseClass, DType, HostTensor, InputDistribution},
    reference::{Error, Reference},
};

/// A case with its inputs and the reference's outputs.
pub(crate) struct Probe {
    pub(crate) case: Case,
    pub(crate) hosts: Vec<HostTensor>,
    pub(crate) outputs: Vec<Array>,
}

/// Arguments of a call by name.
pub(crate) type Values<'a> = &'a [(&'a str, DraftValue)];

/// A contiguous tensor of the case's type.
pub(crate) fn tensor(shape: &[usize]) -> DraftValue {
    DraftValue::Tensor(laid_out(shape, Layout::Contiguous))
}

pub(crate) fn laid_out(shape: &[usize], layout: Layout) -> DraftTensor {
    DraftTensor { dtype: None, shape: shape.to_vec(), layout }
}

pub(crate) fn ints(values: &[i64]) -> DraftValue {
    DraftValue::Ints(values.to_vec())
}

fn build(
    op: &str,
    dtype: DType,
    distribution: InputDistribution,
    values: Values<'_>,
) -> Result<Case, String> {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let draft = CaseDraft { dtype, class: CaseClass::Edge, distribution, values };
    build_case(find(op).unwrap(), &draft).map_err(|error| error.to_string())
}

/// Evaluates a case with generated inputs.
pub(crate) fn probe(op: &str, distribution: InputDistribution, values: Values<'_>) -> Probe {
    let case = build(op, DType::F32, distribution, values).unwrap();
    let hosts: Vec<HostTensor> =
        case.tensors().map(|(name, tensor)| generate(tensor, 7, &case.id, &name)).collect();
    let outputs = evaluate(&case, &hosts).unwrap();
    Probe { case, hosts, outputs }
}

/// Evaluates a case with given inputs.
pub(crate) fn evaluate(case: &Case, hosts: &[HostTensor]) -> Result<Vec<Array>, Error> {
    Reference::new(find(&case.op).unwrap(), case, hosts)?.evaluate()
}

/// Returns why a case is refused.
pub(crate) fn refusal(op: &str, values: Values<'_>) -> String {
    build(op, DType::F32, InputDistribution::Normal, values).unwrap_err()
}

impl Probe {
    /// Returns the elements of an input, in row-major order.
    pub(crate) fn input(&self, number: usize) -> Vec<f64> {
        self.hosts[number].to_f64()
    }

    /// Returns the elements of the first output.
    pub(crate) fn out(&self) -> Vec<f64> {
        self.outputs[0].iter().copied().collect()
    }

    /// Replaces the elements of an input and evaluates again.
    pub(crate) fn with(&self, number: usize, values: &[f64]) -> Result<Vec<Array>, Error> {
        let mut hosts = self.hosts.clone();
        for (index, &value) in hosts[number].spec.storage_indices().into_iter().zip(values) {
            hosts[number].set(index, value);
        }
        evaluate(&self.case, &hosts)
    }
}

/// Asserts that two lists agree to twelve digits; NaN equals NaN.
pub(crate) fn assert_near(got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len());
    for (at, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let near = (got - wanted).abs() <= 1e-12 * wanted.abs().max(1.0);
        let same = near || got.total_cmp(wanted).is_eq() || (got.is_nan() && wanted.is_nan());
        assert!(same, "element {at}: {got}, wanted {wanted}");
    }
}
