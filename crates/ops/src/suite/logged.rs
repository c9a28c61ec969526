//! Cases out of the calls of a log.

use std::sync::Arc;

use crate::{
    call::{self, Bound, CallError},
    log::{Call, LogDType, LogGen, Value},
    op::{Argument, BuildError, OpDef, Param, Role, Source, complete_case, joined},
    record::{
        Arg, ArgValue, Case, CaseClass, DType, Gen, InputDistribution, TensorArg, TensorSpec,
    },
};

/// Elements up to which a call is there for correctness; larger ones are timed.
const SMALL: usize = 1 << 14;

/// Makes a case of a call; without a `class` it follows from the size.
pub(super) fn case_of(
    call: &Call,
    class: Option<CaseClass>,
) -> Result<(&'static Arc<OpDef>, Case), CallError> {
    let call_of = call::bind(call)?;
    let Bound { op, args: bound, in_place, .. } = &call_of;
    let (op, in_place) = (*op, *in_place);
    let args = bound.iter().map(|arg| Arg { name: arg.name.clone(), value: arg.value.clone() });
    let mut case = Case {
        id: String::new(),
        op: op.name.clone(),
        count: None,
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: bound.iter().any(|arg| arg.name == "ignore_index" && arg.from.is_some()),
        in_place,
        args: args.collect(),
    };
    case.dtype = main_dtype(op, &case);
    case.class = class.unwrap_or_else(|| class_of(&case));
    // Mostly the result is what it would be anyway.
    case.in_place = in_place && {
        let elsewhere = Case { in_place: false, ..case.clone() };
        op.infer(&case).ok() != op.infer(&elsewhere).ok()
    };
    case.id = id(op, &case, bound);
    complete_case(op, &mut case)?;
    let results = op.infer(&case).map_err(BuildError::from)?;
    call_of.written(&results).map_err(BuildError::from)?;
    set_generators(op, &mut case, call, bound)?;
    Ok((op, case))
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
fn id(op: &OpDef, case: &Case, bound: &[Argument]) -> String {
    let mut parts = Vec::new();
    for (param, arg) in op.params.iter().zip(bound) {
        if arg.from.is_none() && param.default.as_ref() == Some(&arg.value) {
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
    if case.in_place {
        parts.push("in_place".to_owned());
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
fn set_generators(
    op: &OpDef,
    case: &mut Case,
    call: &Call,
    bound: &[Argument],
) -> Result<(), CallError> {
    for (place, (param, arg)) in op.params.iter().zip(bound).enumerate() {
        let Some(value) = arg.from.as_ref().and_then(|source| given(call, source)) else {
            continue;
        };
        let tensors: Vec<Option<LogGen>> = match value {
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
                let numbers = arg.value.tensors().map(|(_, tensor)| tensor.generator);
                for (target, number) in case.args[place].value.tensors_mut().zip(numbers) {
                    target.generator = number;
                }
                continue;
            }
            Value::Tensor(tensor) => vec![tensor.generator],
            Value::List(list) => list.iter().filter_map(listed).collect(),
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

/// Returns the value that a call gives to a parameter of its schema.
fn given<'a>(call: &'a Call, source: &Source) -> Option<&'a Value> {
    let by_name = call.kwargs.iter().find(|(key, _)| *key == source.name).map(|(_, value)| value);
    by_name.or_else(|| call.args.get(source.place))
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
