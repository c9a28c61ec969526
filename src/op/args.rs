//! Typed access to the arguments of a case.

use crate::record::{ArgValue, Case, TensorArg};

/// An argument that is missing or of the wrong kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("argument `{name}` of `{op}` must be {wanted}")]
pub struct ArgError {
    /// The op.
    pub op: String,
    /// The argument.
    pub name: String,
    /// What it must be.
    pub wanted: &'static str,
}

fn wrong(case: &Case, name: &str, wanted: &'static str) -> ArgError {
    ArgError { op: case.op.clone(), name: name.to_owned(), wanted }
}

/// Returns a tensor argument that cannot be left out.
///
/// # Errors
///
/// [`ArgError`] when it is absent or no tensor.
pub fn tensor_arg<'a>(case: &'a Case, name: &str) -> Result<&'a TensorArg, ArgError> {
    case.tensor(name).ok_or_else(|| wrong(case, name, "a tensor"))
}

/// Returns an integer argument.
///
/// # Errors
///
/// [`ArgError`] when it is absent or no integer.
pub fn int_arg(case: &Case, name: &str) -> Result<i64, ArgError> {
    match case.arg(name) {
        Some(ArgValue::Int(value)) => Ok(*value),
        _ => Err(wrong(case, name, "an integer")),
    }
}

/// Returns a number argument; `None` when it was left out.
///
/// # Errors
///
/// [`ArgError`] when it is no number.
pub fn float_arg(case: &Case, name: &str) -> Result<Option<f64>, ArgError> {
    match case.arg(name) {
        Some(ArgValue::Float(value)) => Ok(Some(*value)),
        Some(ArgValue::None) => Ok(None),
        _ => Err(wrong(case, name, "a number")),
    }
}

/// Returns a truth-value argument.
///
/// # Errors
///
/// [`ArgError`] when it is absent or no truth value.
pub fn bool_arg(case: &Case, name: &str) -> Result<bool, ArgError> {
    match case.arg(name) {
        Some(ArgValue::Bool(value)) => Ok(*value),
        _ => Err(wrong(case, name, "true or false")),
    }
}

/// Returns a string argument.
///
/// # Errors
///
/// [`ArgError`] when it is absent or no string.
pub fn str_arg<'a>(case: &'a Case, name: &str) -> Result<&'a str, ArgError> {
    match case.arg(name) {
        Some(ArgValue::Str(value)) => Ok(value),
        _ => Err(wrong(case, name, "a string")),
    }
}

/// Returns an integer-list argument; `None` when it was left out.
///
/// # Errors
///
/// [`ArgError`] when it is no integer list.
pub fn ints_arg<'a>(case: &'a Case, name: &str) -> Result<Option<&'a [i64]>, ArgError> {
    match case.arg(name) {
        Some(ArgValue::Ints(values)) => Ok(Some(values)),
        Some(ArgValue::None) => Ok(None),
        _ => Err(wrong(case, name, "a list of integers")),
    }
}
