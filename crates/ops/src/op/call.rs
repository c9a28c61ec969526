//! A call: an op with the arguments of a case, and typed access to them.

use crate::record::{ArgValue, Case, DType, TensorArg, TensorSpec};

use super::{InferError, OpDef, custom::Evaluator};

/// An op with the arguments of one case.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The op.
    pub op: &'a OpDef,
    /// Its arguments.
    pub case: &'a Case,
    /// Runs the kernel that is the op's reference, where it has one.
    pub evaluator: Option<Evaluator<'a>>,
}

/// An argument that is missing or of the wrong kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("argument `{name}` of `{op}` must be {wanted}")]
pub struct ArgError {
    /// The op.
    pub op: String,
    /// The argument.
    pub name: String,
    /// The expected kind.
    pub wanted: &'static str,
}

/// A number whose kind takes part in promotion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl Scalar {
    /// Returns its value.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "kgen's integers are below 2^53")]
    pub fn value(self) -> f64 {
        match self {
            Self::Bool(value) => f64::from(u8::from(value)),
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

impl<'a> Call<'a> {
    /// Returns an argument by its name in the schema.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&'a ArgValue> {
        self.case.arg(name)
    }

    /// Returns an argument of a kernel's parameter: `None` too where it was left out.
    fn given(&self, name: &str) -> Option<&'a ArgValue> {
        self.arg(name).filter(|value| **value != ArgValue::None)
    }

    fn wrong(&self, name: &str, wanted: &'static str) -> InferError {
        ArgError { op: self.op.name.clone(), name: name.to_owned(), wanted }.into()
    }

    /// Returns the layout of a tensor.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no tensor.
    pub fn tensor(&self, name: &str) -> Result<&'a TensorSpec, InferError> {
        Ok(&self.tensor_arg(name)?.spec)
    }

    /// Returns a tensor argument.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no tensor.
    pub fn tensor_arg(&self, name: &str) -> Result<&'a TensorArg, InferError> {
        let tensor = self.given(name).and_then(ArgValue::as_tensor);
        tensor.ok_or_else(|| self.wrong(name, "a tensor"))
    }

    /// Returns the layout of a tensor that may be left out.
    #[must_use]
    pub fn opt_tensor(&self, name: &str) -> Option<&'a TensorSpec> {
        Some(&self.given(name)?.as_tensor()?.spec)
    }

    /// Returns the layouts of a list of tensors; an element that is left out is `None`.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no list of tensors.
    pub fn tensors(&self, name: &str) -> Result<Vec<Option<&'a TensorSpec>>, InferError> {
        match self.given(name) {
            Some(ArgValue::Tensors(list)) => {
                Ok(list.iter().map(|one| one.as_ref().map(|tensor| &tensor.spec)).collect())
            }
            _ => Err(self.wrong(name, "a list of tensors")),
        }
    }

    /// Returns the first tensor of the call.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when there is none.
    pub fn first(&self) -> Result<&'a TensorSpec, InferError> {
        let first = self.case.args.iter().flat_map(|arg| arg.value.tensors()).next();
        first.map(|(_, tensor)| &tensor.spec).ok_or_else(|| self.wrong("self", "a tensor"))
    }

    /// Returns an integer.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no integer.
    pub fn int(&self, name: &str) -> Result<i64, InferError> {
        self.opt_int(name)?.ok_or_else(|| self.wrong(name, "an integer"))
    }

    /// Returns an integer; `None` when it was left out.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is no integer.
    pub fn opt_int(&self, name: &str) -> Result<Option<i64>, InferError> {
        match self.given(name) {
            None => Ok(None),
            Some(ArgValue::Int(value)) => Ok(Some(*value)),
            Some(_) => Err(self.wrong(name, "an integer")),
        }
    }

    /// Returns a number with its kind.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no number.
    pub fn scalar(&self, name: &str) -> Result<Scalar, InferError> {
        self.opt_scalar(name)?.ok_or_else(|| self.wrong(name, "a number"))
    }

    /// Returns a number with its kind; `None` when it was left out.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is no number.
    pub fn opt_scalar(&self, name: &str) -> Result<Option<Scalar>, InferError> {
        match self.given(name) {
            None => Ok(None),
            Some(ArgValue::Int(value)) => Ok(Some(Scalar::Int(*value))),
            Some(ArgValue::Float(value)) => Ok(Some(Scalar::Float(*value))),
            Some(ArgValue::Bool(value)) => Ok(Some(Scalar::Bool(*value))),
            Some(_) => Err(self.wrong(name, "a number")),
        }
    }

    /// Returns the value of a number, integers and truth values included.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no number.
    pub fn number(&self, name: &str) -> Result<f64, InferError> {
        Ok(self.scalar(name)?.value())
    }

    /// Returns the value of a number; `None` when it was left out.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is no number.
    pub fn opt_number(&self, name: &str) -> Result<Option<f64>, InferError> {
        Ok(self.opt_scalar(name)?.map(Scalar::value))
    }

    /// Returns a truth value.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no truth value.
    pub fn bool(&self, name: &str) -> Result<bool, InferError> {
        match self.given(name) {
            Some(ArgValue::Bool(value)) => Ok(*value),
            _ => Err(self.wrong(name, "true or false")),
        }
    }

    /// Returns a string.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no string.
    pub fn str(&self, name: &str) -> Result<&'a str, InferError> {
        self.opt_str(name)?.ok_or_else(|| self.wrong(name, "a string"))
    }

    /// Returns a string; `None` when it was left out.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is no string.
    pub fn opt_str(&self, name: &str) -> Result<Option<&'a str>, InferError> {
        match self.given(name) {
            None => Ok(None),
            Some(ArgValue::Str(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(name, "a string")),
        }
    }

    /// Returns a list of integers; one integer counts as a list of one.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is missing or no list of integers.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, InferError> {
        self.opt_ints(name)?.ok_or_else(|| self.wrong(name, "a list of integers"))
    }

    /// Returns a list of integers; `None` when it was left out.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is no list of integers.
    pub fn opt_ints(&self, name: &str) -> Result<Option<Vec<i64>>, InferError> {
        match self.given(name) {
            None => Ok(None),
            Some(ArgValue::Ints(values)) => Ok(Some(values.clone())),
            Some(ArgValue::Int(value)) => Ok(Some(vec![*value])),
            Some(_) => Err(self.wrong(name, "a list of integers")),
        }
    }

    /// Returns an element type; `None` when it was left out.
    ///
    /// # Errors
    ///
    /// [`InferError::Arg`] when it is no element type.
    pub fn opt_dtype(&self, name: &str) -> Result<Option<DType>, InferError> {
        match self.given(name) {
            None => Ok(None),
            Some(ArgValue::DType(dtype)) => Ok(Some(*dtype)),
            Some(_) => Err(self.wrong(name, "an element type")),
        }
    }
}
