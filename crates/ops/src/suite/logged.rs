//! Cases out of the calls of a log.

use std::sync::Arc;

use crate::{
    log::{Call, LogDType, LogGen, LogTensor, Value},
    op::{
        self, BuildError, Kind, Layout, OpDef, Param, Role, UnknownOpError, complete_case, joined,
    },
    record::{
        Arg, ArgValue, Case, CaseClass, DType, Gen, InputDistribution, TensorArg, TensorSpec,
    },
};

use super::error::chain;

/// Elements up to which a call is there for correctness; larger ones are timed.
const SMALL: usize = 1 << 14;

/// Keywords that say where a result lies: kgen's are contiguous, on the device.
const PLACES: [&str; 5] = ["layout", "device", "pin_memory", "memory_format", "non_blocking"];

/// Overloads that `PyTorch` has renamed since logs were written.
const RENAMED: [(&str, &str); 1] = [("sum.SymInt", "sum.dim_IntList")];

/// A call of a log that makes no case.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// No such op.
    #[error(transparent)]
    Op(#[from] UnknownOpError),
    /// The op is not tried in this type.
    #[error("it has no dtype {dtype} (it has: {known})")]
    NoDType {
        /// The type of the call's main tensor.
        dtype: String,
        /// Those that it has.
        known: String,
    },
    /// More arguments than the op has.
    #[error("{given} arguments, where it takes at most {most}")]
    TooMany {
        /// How many there are.
        given: usize,
        /// How many it takes.
        most: usize,
    },
    /// An argument is given by position and by name.
    #[error("argument `{0}` is given twice")]
    Twice(String),
    /// An element type that kgen does not have.
    #[error("argument `{name}` has dtype {dtype}, which kgen does not have")]
    UnknownDTypeError {
        /// The argument.
        name: String,
        /// The type.
        dtype: LogDType,
    },
    /// A tensor whose storage no device holds.
    #[error("argument `{name}` has a storage of {elements} elements (at most 2^40)")]
    TooLarge {
        /// The argument.
        name: String,
        /// Elements of the storage.
        elements: usize,
    },
    /// The generator of an index tensor leaves the range that it indexes.
    #[error("argument `{name}` holds indices up to {largest}, which must be below {bound}")]
    IndexRange {
        /// The argument.
        name: String,
        /// The largest index.
        largest: i128,
        /// The exclusive bound.
        bound: u64,
    },
    /// The arguments make no call of the op.
    #[error("{}", chain(.0))]
    Build(#[from] BuildError),
}

fn kind_error(param: &Param) -> CallError {
    let wanted = param.kind.wanted().to_owned();
    CallError::Build(BuildError::Kind { name: param.name.clone(), wanted })
}

/// Makes a case of a call; without a `class` it follows from the size.
pub(super) fn case_of(
    call: &Call,
    class: Option<CaseClass>,
) -> Result<(&'static Arc<OpDef>, Case), CallError> {
    let op = resolve(call)?;
    let values = bind(op, call)?;
    let mut args = Vec::with_capacity(op.params.len());
    for (param, value) in op.params.iter().zip(&values) {
        let value = match value {
            Some(value) => convert(param, value)?,
            None => param.default.clone().ok_or_else(|| {
                CallError::Build(BuildError::Missing { name: param.name.clone() })
            })?,
        };
        args.push(Arg { name: param.name.clone(), value });
    }
    let mut case = Case {
        id: String::new(),
        op: op.name.clone(),
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: op
            .params
            .iter()
            .zip(&values)
            .any(|(param, value)| param.name == "ignore_index" && value.is_some()),
        args,
    };
    case.dtype = main_dtype(op, &case);
    if !op.takes(case.dtype) {
        let known: Vec<&str> = op.dtypes.iter().map(|dtype| dtype.name()).collect();
        let dtype = case.dtype.name().to_owned();
        return Err(CallError::NoDType { dtype, known: known.join(", ") });
    }
    case.class = class.unwrap_or_else(|| class_of(&case));
    case.id = id(op, &case, &values);
    complete_case(op, &mut case)?;
    set_generators(op, &mut case, &values)?;
    Ok((op, case))
}

/// Finds the op; a number where `op.Tensor` has a tensor makes it `op.Scalar`.
fn resolve(call: &Call) -> Result<&'static Arc<OpDef>, UnknownOpError> {
    let is_number =
        |value: &Value| matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_));
    if call.overload == "Tensor"
        && call.args.get(1).is_some_and(is_number)
        && let Ok(op) = op::find(&format!("{}.Scalar", call.op.trim_end_matches('_')))
    {
        return Ok(op);
    }
    let name = call.name();
    let today = RENAMED.iter().find(|(old, _)| *old == name).map_or(name.as_str(), |(_, new)| new);
    op::find(today)
}

/// Returns the value of each parameter, as far as the call gives it.
fn bind<'a>(op: &OpDef, call: &'a Call) -> Result<Vec<Option<&'a Value>>, CallError> {
    if call.args.len() > op.params.len() {
        return Err(CallError::TooMany { given: call.args.len(), most: op.params.len() });
    }
    let mut values: Vec<Option<&Value>> = call.args.iter().map(Some).collect();
    values.resize(op.params.len(), None);
    for (name, value) in &call.kwargs {
        match op.params.iter().position(|param| param.name == *name) {
            Some(place) if values[place].is_some() => return Err(CallError::Twice(name.clone())),
            Some(place) => values[place] = Some(value),
            None if PLACES.contains(&name.as_str()) => {}
            None => {
                let known: Vec<&str> = op.params.iter().map(|param| param.name.as_str()).collect();
                let (op, known) = (op.name.clone(), known.join(", "));
                return Err(BuildError::UnknownArg { op, name: name.clone(), known }.into());
            }
        }
    }
    Ok(values)
}

fn convert(param: &Param, value: &Value) -> Result<ArgValue, CallError> {
    Ok(match (param.kind, value) {
        (_, Value::None) if param.optional => ArgValue::None,
        (Kind::Tensor, Value::Tensor(log)) => ArgValue::Tensor(tensor(param, log)?),
        // A number takes part in promotion as a tensor without dimensions does.
        (Kind::Tensor, Value::Int(_)) => ArgValue::Tensor(scalar(DType::I64)),
        (Kind::Tensor, Value::Float(_)) => ArgValue::Tensor(scalar(DType::F32)),
        (Kind::Tensors, Value::List(list)) => {
            let one = |value: &Value| match value {
                Value::Tensor(log) => tensor(param, log).map(Some),
                Value::None => Ok(None),
                _ => Err(kind_error(param)),
            };
            ArgValue::Tensors(list.iter().map(one).collect::<Result<_, _>>()?)
        }
        (Kind::Int | Kind::Scalar, Value::Int(value)) => ArgValue::Int(*value),
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
        (Kind::DType, Value::DType(log)) => ArgValue::DType(dtype(param, *log)?),
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

fn dtype(param: &Param, log: LogDType) -> Result<DType, CallError> {
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
        LogDType::C32 | LogDType::C64 | LogDType::C128 => {
            return Err(CallError::UnknownDTypeError { name: param.name.clone(), dtype: log });
        }
    })
}

fn tensor(param: &Param, log: &LogTensor) -> Result<TensorArg, CallError> {
    let name = || param.name.clone();
    let mut spec = Layout::Contiguous
        .spec(dtype(param, log.dtype)?, &log.shape)
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

fn scalar(dtype: DType) -> TensorArg {
    let spec = TensorSpec::contiguous(dtype, &[]);
    TensorArg { spec, generator: Gen::Constant { value: 0.0 } }
}

/// Returns the type that the call is about: that of its data, not of masks and indices.
fn main_dtype(op: &OpDef, case: &Case) -> DType {
    let typed = |param: &Param| {
        let value = case.arg(&param.name);
        value.and_then(|value| value.tensors().next()).map(|(_, tensor)| tensor.spec.dtype)
    };
    let main = op.params.iter().filter(|param| param.role == Role::Main).find_map(typed);
    let is_data = |param: &&Param| {
        !matches!(param.role, Role::Mask | Role::Index | Role::ClassIndex | Role::ScaleF32)
    };
    let data = || op.params.iter().filter(is_data).find_map(typed);
    main.or_else(data).or_else(|| op.params.iter().find_map(typed)).unwrap_or(DType::F32)
}

fn class_of(case: &Case) -> CaseClass {
    if case.tensors().map(|(_, tensor)| tensor.spec.numel()).sum::<usize>() > SMALL {
        CaseClass::Realistic
    } else if case.tensors().all(|(_, tensor)| tensor.spec.is_contiguous()) {
        CaseClass::Edge
    } else {
        CaseClass::Layout
    }
}

/// Names a case by its call: `f32[127,1023]@1,127,[1023],alpha=2/normal`.
fn id(op: &OpDef, case: &Case, given: &[Option<&Value>]) -> String {
    let mut parts = Vec::new();
    for ((param, value), arg) in op.params.iter().zip(given).zip(&case.args) {
        if value.is_none() {
            continue;
        }
        let text = match &arg.value {
            ArgValue::None => continue,
            ArgValue::Tensor(tensor) => tensor_text(&tensor.spec, case.dtype),
            ArgValue::Tensors(list) => {
                let one = |tensor: &Option<TensorArg>| {
                    let text = |tensor: &TensorArg| tensor_text(&tensor.spec, case.dtype);
                    tensor.as_ref().map_or("-".to_owned(), text)
                };
                format!("({})", list.iter().map(one).collect::<Vec<_>>().join(","))
            }
            ArgValue::Int(value) => format!("{}={value}", param.name),
            ArgValue::Float(value) => format!("{}={value:?}", param.name),
            ArgValue::Bool(value) => format!("{}={value}", param.name),
            ArgValue::Str(value) => format!("{}={value}", param.name),
            ArgValue::Ints(values) => format!("{}=[{}]", param.name, joined(values)),
            ArgValue::Floats(values) => format!("{}=[{}]", param.name, joined(values)),
            ArgValue::DType(dtype) => format!("{}={dtype}", param.name),
        };
        parts.push(text);
    }
    format!("{}{}/{}", case.dtype, parts.join(","), case.distribution.name())
}

fn tensor_text(spec: &TensorSpec, usual: DType) -> String {
    let dtype = if spec.dtype == usual { "" } else { spec.dtype.name() };
    let stride =
        if spec.is_contiguous() { String::new() } else { format!("@{}", joined(&spec.stride)) };
    let offset = if spec.offset == 0 { String::new() } else { format!("+{}", spec.offset) };
    format!("{dtype}[{}]{stride}{offset}", joined(&spec.shape))
}

/// Puts the generators that the log names in place of those that the op chose.
fn set_generators(op: &OpDef, case: &mut Case, values: &[Option<&Value>]) -> Result<(), CallError> {
    for (place, (param, value)) in op.params.iter().zip(values).enumerate() {
        let number = match value {
            Some(Value::Int(value)) => *value as f64,
            Some(Value::Float(value)) => *value,
            _ => 0.0,
        };
        let tensors: Vec<Option<LogGen>> = match value {
            Some(Value::Int(_) | Value::Float(_)) => {
                let targets = case.args[place].value.tensors_mut();
                targets.for_each(|tensor| tensor.generator = Gen::Constant { value: number });
                continue;
            }
            Some(Value::Tensor(tensor)) => vec![tensor.generator],
            Some(Value::List(list)) => list.iter().filter_map(listed).collect(),
            _ => continue,
        };
        if tensors.iter().all(Option::is_none) {
            continue;
        }
        if matches!(param.role, Role::Index | Role::ClassIndex) {
            let bound = op.engine.index_bound(&op.call(case), param);
            for generator in tensors.iter().flatten() {
                check_range(param, *generator, bound)?;
            }
        }
        let targets = case.args[place].value.tensors_mut();
        for (target, generator) in targets.zip(tensors) {
            if let Some(generator) = generator {
                target.generator = made_of(generator);
            }
        }
    }
    Ok(())
}

fn listed(value: &Value) -> Option<Option<LogGen>> {
    if let Value::Tensor(tensor) = value { Some(tensor.generator) } else { None }
}

fn check_range(param: &Param, generator: LogGen, bound: u64) -> Result<(), CallError> {
    let (smallest, largest) = match generator {
        LogGen::Index { bound } => (0, i128::from(bound) - 1),
        LogGen::Int { low, high } => (low, i128::from(high) - 1),
        LogGen::Ones => (1, 1),
        LogGen::Mask { .. } | LogGen::Normal | LogGen::Perm => return Ok(()),
    };
    if smallest < 0 || largest >= i128::from(bound) {
        let largest = if smallest < 0 { i128::from(smallest) } else { largest };
        return Err(CallError::IndexRange { name: param.name.clone(), largest, bound });
    }
    Ok(())
}

const fn made_of(generator: LogGen) -> Gen {
    match generator {
        LogGen::Normal => Gen::Normal { mean: 0.0, std: 1.0 },
        // The log excludes its upper end.
        LogGen::Int { low, high } => Gen::Int { low, high: high - 1 },
        LogGen::Index { bound } => Gen::Index { bound },
        LogGen::Perm => Gen::Permutation,
        LogGen::Mask { p } => Gen::Mask { p },
        LogGen::Ones => Gen::Constant { value: 1.0 },
    }
}

/// Gives the floating-point tensors of a value another type.
pub(super) fn set_float(value: &mut Value, dtype: DType) {
    let log = match dtype {
        DType::F16 => LogDType::F16,
        DType::BF16 => LogDType::BF16,
        DType::F64 => LogDType::F64,
        _ => LogDType::F32,
    };
    match value {
        Value::Tensor(tensor) if tensor.dtype == LogDType::F32 => tensor.dtype = log,
        Value::List(list) => list.iter_mut().for_each(|value| set_float(value, dtype)),
        _ => {}
    }
}
