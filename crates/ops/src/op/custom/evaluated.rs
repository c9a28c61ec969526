//! Custom ops whose reference runs elsewhere: a kernel, or code in Python.

use std::fmt;

use crate::{
    expr::{Expr, Symbols},
    op::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Role, Shaped, by_role,
    },
    record::{Case, DType, Gen, TensorSpec},
    reference::{DELTA_RMS, Error},
};

use super::{definition::Definition, engine::Declared};

/// A quantity of every output, in f64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// The values.
    Values,
    /// The response to roundings of the inputs, as [`Bound::s`](crate::reference::Bound::s) is.
    Spread,
    /// The response to roundings of all results in between, over the unit roundoff, as
    /// [`Bound::magnitude`](crate::reference::Bound::magnitude) is.
    Magnitude,
}

/// Evaluates a reference that runs elsewhere: gets the call, its tensors in f64 and the quantity.
pub type ReferenceEvaluator<'a> =
    dyn Fn(&Call<'_>, &Inputs<'_>, Quantity) -> Result<Vec<Array>, String> + Send + Sync + 'a;

/// A [`ReferenceEvaluator`] in a call.
#[derive(Clone, Copy)]
pub struct Evaluator<'a>(pub &'a ReferenceEvaluator<'a>);

impl fmt::Debug for Evaluator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Evaluator")
    }
}

/// The kernel that is a custom op's reference.
#[derive(Debug)]
pub struct ReferenceKernel {
    source: String,
    /// Names of the tensors that have the case's element type.
    free: Vec<String>,
}

impl ReferenceKernel {
    pub(super) fn new(definition: &Definition, source: String) -> Self {
        let free = definition.tensors.iter().filter(|tensor| {
            tensor.shape.dtype.is_none() && !matches!(tensor.role, Role::Index | Role::Mask)
        });
        let free = free.map(|tensor| tensor.name.clone()).collect();
        Self { source, free }
    }

    /// Returns the call that the kernel gets for a case: contiguous tensors, f64 where the type is
    /// the case's or a floating-point one.
    #[must_use]
    pub fn in_f64(&self, case: &Case) -> Case {
        in_f64(case, |name| self.free.iter().any(|free| free == name))
    }

    /// Returns the kernel file.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// The Python code that is a custom op's reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PythonReference {
    /// Text that defines a function `reference`, which takes the tensors in order and the scalars by name.
    Text(String),
    /// The module that the op was imported from.
    Module,
}

impl PythonReference {
    /// Returns the call that the code gets for a case: contiguous tensors, f64 where the type is a
    /// floating-point one.
    #[must_use]
    pub fn in_f64(case: &Case) -> Case {
        in_f64(case, |_| false)
    }
}

fn in_f64(case: &Case, is_free: impl Fn(&str) -> bool) -> Case {
    let mut wide = case.clone();
    if case.dtype.is_float() || case.args.iter().any(|arg| is_free(&arg.name)) {
        wide.dtype = DType::F64;
    }
    for arg in &mut wide.args {
        let free = is_free(&arg.name);
        for tensor in arg.value.tensors_mut() {
            let dtype = tensor.spec.dtype;
            let dtype = if free || dtype.is_float() { DType::F64 } else { dtype };
            tensor.spec = TensorSpec::contiguous(dtype, &tensor.spec.shape);
        }
    }
    wide
}

/// Evaluates through a [`ReferenceEvaluator`].
#[derive(Debug)]
pub(super) struct EvaluatedEngine {
    pub(super) declared: Declared,
    /// Whether the evaluator knows [`Quantity::Spread`] and [`Quantity::Magnitude`].
    pub(super) measures: bool,
    /// The number of terms that one output element is the sum of; `None` where there is no sum, or the
    /// evaluator's magnitudes have it.
    pub(super) accumulation: Option<Expr>,
}

impl EvaluatedEngine {
    fn get(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        quantity: Quantity,
    ) -> Result<Vec<Array>, Error> {
        let Some(Evaluator(evaluator)) = call.evaluator else {
            let reason = "nothing here runs it".to_owned();
            return Err(Error::Elsewhere { reason });
        };
        evaluator(call, inputs, quantity).map_err(|reason| Error::Elsewhere { reason })
    }

    /// Returns the number of terms of a sum, at least 1.
    fn terms(&self, call: &Call<'_>, symbols: &Symbols) -> Result<usize, InferError> {
        let Some(terms) = &self.accumulation else { return Ok(1) };
        let value = terms.value(symbols);
        let count = value.and_then(|value| usize::try_from(value).ok());
        // A sum over an empty extent has no terms.
        let is_empty = || call.case.tensors().any(|(_, tensor)| tensor.spec.shape.contains(&0));
        match count {
            Some(count @ 1..) => Ok(count),
            Some(0) if is_empty() => Ok(1),
            _ => {
                let value = value.map_or("no number".to_owned(), |value| value.to_string());
                let value = format!("{terms} = {value}");
                Err(InferError::value("accumulation", value, "a number of terms"))
            }
        }
    }
}

impl Engine for EvaluatedEngine {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let symbols = self.declared.symbols(call)?;
        self.terms(call, &symbols)?;
        let outputs = self.declared.outputs.iter().map(|output| {
            let shape = output.shape.as_ref();
            let extents = shape.and_then(|shape| shape.extents(&symbols)).ok_or_else(|| {
                InferError::value(&output.name, "its shape", "extents that the inputs have")
            })?;
            let dtype = shape.and_then(|shape| shape.dtype).unwrap_or(call.case.dtype);
            let wide = call.case.dtype == DType::F64 && dtype.is_float();
            let dtype = if wide { DType::F64 } else { dtype };
            Ok((dtype, extents))
        });
        outputs.collect()
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        self.get(call, inputs, Quantity::Values)
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let measured = self.measures.then(|| self.get(call, inputs, Quantity::Spread));
        // The caller has closed forms in mind, which are of a relative change of 1.
        let per_change = |all: Vec<Array>| all.into_iter().map(|one| one / DELTA_RMS).collect();
        Ok(measured.transpose()?.map(per_change))
    }

    fn spreads_at_every_size(&self) -> bool {
        self.measures
    }

    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        self.measures.then(|| self.get(call, inputs, Quantity::Magnitude)).transpose()
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let symbols = self.declared.symbols(call);
        symbols.and_then(|symbols| self.terms(call, &symbols)).unwrap_or(1)
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        self.declared.init(call, param).map_or_else(|| by_role(self, call, param), Ok)
    }

    fn index_bound(&self, call: &Call<'_>, param: &Param) -> u64 {
        self.declared.index_bound(call, param)
    }
}
