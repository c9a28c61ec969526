//! Custom ops whose reference is a kernel.

use std::fmt;

use crate::{
    op::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Role, Shaped, by_role,
    },
    record::{Case, DType, Gen, TensorSpec},
    reference::Error,
};

use super::{definition::Definition, engine::Declared};

/// Runs a reference kernel in f64: gets the call and its tensors, returns every output.
pub type KernelEvaluator =
    dyn Fn(&Call<'_>, &Inputs<'_>) -> Result<Vec<Array>, String> + Send + Sync;

/// A [`KernelEvaluator`] in a call.
#[derive(Clone, Copy)]
pub struct Evaluator<'a>(pub &'a KernelEvaluator);

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
        let mut wide = case.clone();
        wide.dtype = DType::F64;
        for arg in &mut wide.args {
            let free = self.free.contains(&arg.name);
            for tensor in arg.value.tensors_mut() {
                let dtype = tensor.spec.dtype;
                let dtype = if free || dtype.is_float() { DType::F64 } else { dtype };
                tensor.spec = TensorSpec::contiguous(dtype, &tensor.spec.shape);
            }
        }
        wide
    }

    /// Returns the kernel file.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Evaluates through a reference kernel.
#[derive(Debug)]
pub(super) struct KernelEngine(pub(super) Declared);

impl Engine for KernelEngine {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let symbols = self.0.symbols(call)?;
        let outputs = self.0.outputs.iter().map(|output| {
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
        let Some(Evaluator(evaluator)) = call.evaluator else {
            let reason = "nothing here runs reference kernels".to_owned();
            return Err(Error::Kernel { reason });
        };
        evaluator(call, inputs).map_err(|reason| Error::Kernel { reason })
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        self.0.init(call, param).map_or_else(|| by_role(self, call, param), Ok)
    }

    fn index_bound(&self, call: &Call<'_>, param: &Param) -> u64 {
        self.0.index_bound(call, param)
    }
}
