//! The names that plans and kernels know an op's arguments by.

use kgen_ops::op::{InferError, OpDef};
use kgen_record::{Case, DType};

use super::Builtin;

/// Returns the name that a plan knows an argument by: the schema's, with a trailing `_` where that
/// is a builtin.
#[must_use]
pub fn plan_name(name: &str) -> String {
    let is_builtin = Builtin::ALL.iter().any(|builtin| builtin.spec().name == name);
    if is_builtin { format!("{name}_") } else { name.to_owned() }
}

/// Returns the names that a plan knows the arguments of an op by, in the order of the schema.
#[must_use]
pub fn plan_names(op: &OpDef) -> Vec<String> {
    op.params.iter().map(|param| plan_name(&param.name)).collect()
}

/// Returns the type macros of a case: `T_<name>` for each tensor parameter, left-out ones
/// included, and `T_<output>` for each output. A list has the type of its first tensor, and one
/// that is returned is called `out`: the number of its tensors makes no further macros.
///
/// An optional tensor that was left out has the case's dtype, so that one kernel file compiles
/// for both.
///
/// # Errors
///
/// [`InferError`] when the op is not defined for these arguments.
pub fn type_macros(op: &OpDef, case: &Case) -> Result<Vec<(String, DType)>, InferError> {
    let outputs = op.infer(case)?;
    let mut macros = Vec::new();
    for param in op.params.iter().filter(|param| param.kind.holds_tensors()) {
        let first = case.arg(&param.name).and_then(|value| value.tensors().next());
        let dtype = first.map_or(case.dtype, |(_, tensor)| tensor.spec.dtype);
        macros.push((format!("T_{}", plan_name(&param.name)), dtype));
    }
    if op.returns_list {
        let dtype = outputs.first().map_or(case.dtype, |spec| spec.dtype);
        macros.push(("T_out".to_owned(), dtype));
        return Ok(macros);
    }
    for (name, spec) in op.output_names(outputs.len()).into_iter().zip(&outputs) {
        macros.push((format!("T_{name}"), spec.dtype));
    }
    Ok(macros)
}
