//! Values of calls as arguments of a parameter's kind.

use crate::{
    log::{LogDType, LogTensor, Value},
    op::{BuildError, Kind, Layout, Param, kind},
    record::{ArgValue, DType, Gen, TensorArg, TensorSpec},
};

use super::CallError;

fn kind_error(param: &Param) -> CallError {
    let wanted = param.kind.wanted().to_owned();
    CallError::Build(BuildError::Kind { name: param.name.clone(), wanted })
}

/// Returns a value as its parameter takes it.
///
/// `first`: the call's first tensor, which decides the type of a number in the place of a tensor.
pub(super) fn convert(
    param: &Param,
    value: &Value,
    first: Option<&LogTensor>,
) -> Result<ArgValue, CallError> {
    // A number counts less than a tensor without dimensions, which gives it its type.
    let typed = |dtype: DType| -> Result<DType, CallError> {
        let Some(first) = first.filter(|first| first.shape.is_empty()) else { return Ok(dtype) };
        let of = dtype_of(&param.name, first.dtype)?;
        Ok(if kind(of) >= kind(dtype) { of } else { dtype })
    };
    Ok(match (param.kind, value) {
        (_, Value::None) if param.optional => ArgValue::None,
        (Kind::Tensor, Value::Tensor(log)) => ArgValue::Tensor(tensor(param, log)?),
        // A number takes part in promotion as a tensor without dimensions does.
        (Kind::Tensor, Value::Int(value)) => {
            ArgValue::Tensor(scalar(typed(DType::I64)?, *value as f64))
        }
        (Kind::Tensor, Value::Bool(value)) => {
            ArgValue::Tensor(scalar(typed(DType::Bool)?, f64::from(u8::from(*value))))
        }
        (Kind::Tensor, Value::Float(value)) => ArgValue::Tensor(scalar(typed(DType::F32)?, *value)),
        (Kind::Tensors, Value::List(list)) => {
            let one = |value: &Value| match value {
                Value::Tensor(log) => tensor(param, log).map(Some),
                Value::None => Ok(None),
                _ => Err(kind_error(param)),
            };
            ArgValue::Tensors(list.iter().map(one).collect::<Result<_, _>>()?)
        }
        (Kind::Int | Kind::Scalar, Value::Int(value)) => ArgValue::Int(*value),
        // Python's truth values are numbers, and its numbers and None have a truth value.
        (Kind::Int, Value::Bool(value)) => ArgValue::Int(i64::from(*value)),
        (Kind::Float, Value::Bool(value)) => ArgValue::Float(f64::from(u8::from(*value))),
        (Kind::Bool, Value::None) => ArgValue::Bool(false),
        (Kind::Bool, Value::Int(value)) => ArgValue::Bool(*value != 0),
        (Kind::Bool, Value::Float(value)) => ArgValue::Bool(*value != 0.0),
        (Kind::Float, Value::Int(value)) => ArgValue::Float(*value as f64),
        (Kind::Float | Kind::Scalar, Value::Float(value)) => ArgValue::Float(*value),
        (Kind::Bool | Kind::Scalar, Value::Bool(value)) => ArgValue::Bool(*value),
        (Kind::Str, Value::Str(text)) if allowed(param, text) => ArgValue::Str(text.clone()),
        (Kind::Str, _) if !param.choices.is_empty() => {
            let wanted = format!("one of {}", param.choices.join(", "));
            return Err(BuildError::Kind { name: param.name.clone(), wanted }.into());
        }
        (Kind::Ints, Value::Int(value)) => ArgValue::Ints(vec![*value]),
        (Kind::Ints, Value::List(list)) => {
            ArgValue::Ints(numbers(param, list, |value| match value {
                Value::Int(value) => Some(*value),
                Value::Bool(value) => Some(i64::from(*value)),
                _ => None,
            })?)
        }
        (Kind::Floats, Value::List(list)) => {
            ArgValue::Floats(numbers(param, list, |value| match value {
                Value::Int(value) => Some(*value as f64),
                Value::Float(value) => Some(*value),
                _ => None,
            })?)
        }
        (Kind::DType, Value::DType(log)) => ArgValue::DType(dtype_of(&param.name, *log)?),
        (Kind::DType, Value::Str(_) | Value::Int(_)) => {
            let log = named_dtype(value).ok_or_else(|| kind_error(param))?;
            ArgValue::DType(dtype_of(&param.name, log)?)
        }
        _ => return Err(kind_error(param)),
    })
}

fn allowed(param: &Param, text: &str) -> bool {
    param.choices.is_empty() || param.choices.contains(&text)
}

fn numbers<T>(
    param: &Param,
    list: &[Value],
    number: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, CallError> {
    list.iter().map(|value| number(value).ok_or_else(|| kind_error(param))).collect()
}

/// Returns the element type that a string names, or a number of `PyTorch`'s enumeration.
fn named_dtype(value: &Value) -> Option<LogDType> {
    match value {
        Value::Str(name) => LogDType::from_name(name),
        Value::Int(number) => LogDType::from_scalar_type(*number),
        _ => None,
    }
}

/// Returns kgen's element type of an argument's.
pub(super) fn dtype_of(name: &str, log: LogDType) -> Result<DType, CallError> {
    Ok(match log {
        LogDType::F64 => DType::F64,
        LogDType::F32 => DType::F32,
        LogDType::F16 => DType::F16,
        LogDType::BF16 => DType::BF16,
        LogDType::F8E4M3 => DType::F8E4M3,
        LogDType::F8E5M2 => DType::F8E5M2,
        LogDType::I64 => DType::I64,
        LogDType::I32 => DType::I32,
        LogDType::I16 => DType::I16,
        LogDType::I8 => DType::I8,
        LogDType::U8 => DType::U8,
        LogDType::Bool => DType::Bool,
        _ => {
            return Err(CallError::UnknownDType { name: name.to_owned(), dtype: log });
        }
    })
}

fn tensor(param: &Param, log: &LogTensor) -> Result<TensorArg, CallError> {
    let name = || param.name.clone();
    let mut spec = Layout::Contiguous
        .spec(dtype_of(&param.name, log.dtype)?, &log.shape)
        .map_err(|source| BuildError::Layout { name: name(), source })?;
    if let Some(stride) = &log.stride {
        spec.stride.clone_from(stride);
    }
    spec.offset = log.offset;
    let elements = spec.storage_len();
    if elements > 1 << 40 {
        return Err(CallError::TooLarge { name: name(), elements });
    }
    Ok(TensorArg { spec, generator: Gen::Constant { value: 0.0 } })
}

/// A number takes part as a tensor without dimensions.
fn scalar(dtype: DType, value: f64) -> TensorArg {
    let spec = TensorSpec::contiguous(dtype, &[]);
    TensorArg { spec, generator: Gen::Constant { value } }
}
