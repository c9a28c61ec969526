//! Calls as PyTorch makes them become calls of the catalogue's ops: names and overloads are resolved,
//! arguments bound to the overload's schema, and rewritten to those of the op.

mod convert;
mod free;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::{
    log::{Call, LogDType, Value},
    op::{
        self, Argument, Arguments, BuildError, InferError, Named, OpDef, OpFamily, Overload, Param,
        Schema, Source, UnknownOpError, kind,
    },
    record::{ArgValue, DType, TensorSpec},
};

use convert::{convert, dtype_of};
use free::is_free;

/// Keywords that say where a result lies: kgen's are contiguous, in memory of their own on the device.
const PLACES: [&str; 4] = ["layout", "device", "pin_memory", "non_blocking"];

/// Memory formats with the number of dimensions that they are of.
const RANKS: [(&str, usize); 2] = [("torch.channels_last", 4), ("torch.channels_last_3d", 5)];

/// Keywords of the tensors that out variants write to, those of one variant in the order of its results.
const OUTS: [&str; 13] = [
    "out",
    "out0",
    "out1",
    "out2",
    "out3",
    "grad_input",
    "output",
    "values",
    "indices",
    "min",
    "max",
    "save_mean",
    "save_invstd",
];

/// Overloads that `PyTorch` has renamed since logs were written.
const RENAMED: [(&str, &str); 1] = [("sum.SymInt", "sum.dim_IntList")];

/// A call of a log that makes no case.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// No such op.
    #[error(transparent)]
    Op(#[from] UnknownOpError),
    /// A view, a new tensor or random values.
    #[error("`{0}` makes a view, or a tensor of given or random values: there is nothing to judge")]
    Free(String),
    /// More arguments than the op has.
    #[error("{given} arguments, where it takes at most {most}")]
    TooMany {
        /// How many there are.
        given: usize,
        /// How many it takes.
        most: usize,
    },
    /// An argument that the schema gives no default is left out.
    #[error("argument `{name}` is missing ({wanted})")]
    Missing {
        /// The argument.
        name: String,
        /// Its type in the schema.
        wanted: String,
    },
    /// An out variant without its outputs.
    #[error(
        "argument `out` is missing: `{call}` writes to {wanted} tensors that it is given, here {given}"
    )]
    Outs {
        /// The call's name.
        call: String,
        /// How many it writes to.
        wanted: usize,
        /// How many are given.
        given: usize,
    },
    /// An argument is given by position and by name.
    #[error("argument `{0}` is given twice")]
    Twice(String),
    /// An element type that kgen does not have.
    #[error("argument `{name}` has dtype {dtype}, which kgen does not have")]
    UnknownDType {
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
    /// Arguments that fit the overload but that kgen's op does not take.
    #[error("{reason}")]
    Overload {
        /// The argument, and the values it may have.
        reason: String,
    },
    /// Any of these, with the schema that the call is bound to.
    #[error("{source} (the schema is `{signature}`)")]
    Schema {
        /// The schema.
        signature: String,
        /// The mistake.
        source: Box<Self>,
    },
}

impl CallError {
    /// Returns why kgen does not judge a call that is none of its ops', or that `PyTorch` takes and kgen
    /// does not; `None` where the call violates a schema.
    #[must_use]
    pub fn lack(&self) -> Option<String> {
        match self {
            Self::Op(UnknownOpError { name }) => {
                let base = name.rsplit_once('.').map_or(name.as_str(), |(base, _)| base);
                Some(match op::find(base) {
                    Ok(op) => format!("kgen has `{}`, not this overload", op.schema),
                    Err(_) => "kgen has no such op".to_owned(),
                })
            }
            Self::UnknownDType { dtype, .. } => Some(format!("kgen has no dtype {dtype}")),
            Self::Build(BuildError::Infer(InferError::Lacks(reason))) => Some(reason.clone()),
            Self::Schema { source, .. } => source.lack(),
            _ => None,
        }
    }

    /// Whether the call has arguments that the schema does not have.
    fn is_of_another_schema(&self) -> bool {
        match self {
            Self::Schema { source, .. } => source.is_of_another_schema(),
            Self::TooMany { .. } | Self::Build(BuildError::UnknownArg { .. }) => true,
            _ => false,
        }
    }
}

/// Spells an error with its cause, for a message on one line.
pub(crate) fn chain(error: &BuildError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// A call whose arguments are those of its op.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The op.
    pub op: &'static Arc<OpDef>,
    /// One argument per parameter of the op, in its order.
    pub args: Vec<Argument>,
    /// Whether the result is written to the first tensor.
    pub in_place: bool,
    /// Element types of the tensors that an out variant converts its results to; empty for other calls.
    pub out: Vec<DType>,
    /// Results that the overload returns, where it is another than the op's own: the first of the op's.
    pub returned: Option<usize>,
}

impl Bound {
    /// Returns the element types of the results that the caller has, as it has them, given those of the op.
    ///
    /// # Errors
    ///
    /// [`InferError::DType`] where a tensor that is written to cannot hold the result.
    pub fn written(&self, results: &[TensorSpec]) -> Result<Vec<DType>, InferError> {
        let one = |(place, spec): (usize, &TensorSpec)| match self.out.get(place) {
            Some(&out) if kind(spec.dtype) > kind(out) => {
                Err(InferError::dtype("out", out, format!("able to hold {}", spec.dtype)))
            }
            Some(&out) => Ok(out),
            None => Ok(spec.dtype),
        };
        results.iter().take(self.returned.unwrap_or(usize::MAX)).enumerate().map(one).collect()
    }
}

/// Returns the parameters of the schema that a call by a name is bound to.
fn params(named: Named) -> &'static [Param] {
    named.overload.map_or(&named.op.params, |overload| &overload.schema.params)
}

/// Returns how many tensors a call by a name writes to that it is given.
fn n_outs(named: Named) -> usize {
    match named.overload {
        _ if !named.out => 0,
        Some(Overload { schema, .. }) => schema.outputs.len(),
        // Outputs of the op may be more: statistics that PyTorch writes in place.
        None => Schema::parse(&named.op.signature).map_or(1, |schema| schema.outputs.len()),
    }
}

/// Resolves the op of a call and binds its arguments.
///
/// # Errors
///
/// [`CallError`] where there is no such op, or the arguments do not fit its schema; it names the
/// schema, the argument and the expected value.
pub fn bind(call: &Call) -> Result<Bound, CallError> {
    let named = resolve(call).map_err(|error| match is_free(&call.op) {
        true => CallError::Free(call.name()),
        false => error.into(),
    })?;
    let mut errors = Vec::new();
    for named in named {
        match bind_to(named, call) {
            Ok(bound) => return Ok(bound),
            Err(error) => errors.push(error),
        }
    }
    // The schema that has all the arguments is the one that is meant.
    let meant = errors.iter().position(|error| !error.is_of_another_schema()).unwrap_or(0);
    Err(errors.swap_remove(meant))
}

fn bind_to(named: Named, call: &Call) -> Result<Bound, CallError> {
    let Named { op, overload, in_place, .. } = named;
    let bound = || {
        let mut args = arguments(named, call)?;
        let out = outs(named, call)?;
        if let Some(overload) = overload {
            let rewritten = overload.rewrite(op, args);
            args = rewritten.map_err(|reason| CallError::Overload { reason })?;
        }
        let mut args = complete(op, args)?;
        compute_in(op, &mut args, &out);
        let returned = overload.map(|overload| &overload.schema).filter(|of| !of.returns_list);
        let returned = returned.map(|schema| schema.outputs.len());
        Ok(Bound { op, args, in_place, out, returned })
    };
    bound().map_err(|source: CallError| CallError::Schema {
        signature: overload.map_or(&op.signature, |overload| &overload.signature).clone(),
        source: Box::new(source),
    })
}

/// Sums and scans are computed in the type of their output where no `dtype` is given.
fn compute_in(op: &OpDef, args: &mut [Argument], out: &[DType]) {
    let folds = matches!(op.family, OpFamily::Reduction | OpFamily::Scan);
    let dtype = args.iter_mut().find(|arg| arg.name == "dtype" && arg.value == ArgValue::None);
    if let (true, Some(dtype), &[out]) = (folds, dtype, out) {
        dtype.value = ArgValue::DType(out);
    }
}

/// Returns the element types of the tensors that a call writes its results to.
fn outs(named: Named, call: &Call) -> Result<Vec<DType>, CallError> {
    let wanted = n_outs(named);
    let params = params(named);
    let is_param = |name: &str| params.iter().any(|param| param.name == name);
    let mut given: Vec<Vec<DType>> = Vec::new();
    for name in OUTS.iter().filter(|name| wanted > 0 && !is_param(name)) {
        for (_, value) in call.kwargs.iter().filter(|(key, _)| key == name) {
            let list =
                if let Value::List(list) = value { list } else { std::slice::from_ref(value) };
            let dtype = |value: &Value| match value {
                Value::Tensor(tensor) => Some(dtype_of(name, tensor.dtype)),
                _ => None,
            };
            given.push(list.iter().filter_map(dtype).collect::<Result<_, _>>()?);
        }
    }
    given.retain(|tensors| !tensors.is_empty());
    if given.len() != wanted {
        return Err(CallError::Outs { call: call.name(), wanted, given: given.len() });
    }
    Ok(given.concat())
}

/// Finds the ops; a number where `op.Tensor` has a tensor makes it `op.Scalar`.
fn resolve(call: &Call) -> Result<Vec<Named>, UnknownOpError> {
    let is_number =
        |value: &Value| matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_));
    let mut values = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    if call.overload == "Tensor"
        && values.nth(1).is_some_and(is_number)
        && let Ok(named) = op::resolve(&format!("{}.Scalar", call.op))
    {
        return Ok(named);
    }
    let name = call.name();
    let today = RENAMED.iter().find(|(old, _)| *old == name).map_or(name.as_str(), |(_, new)| new);
    op::resolve(today)
}

/// Binds the arguments of a call to parameters; those that are left out have the schema's defaults.
fn arguments(named: Named, call: &Call) -> Result<Arguments, CallError> {
    let params = params(named);
    if call.args.len() > params.len() {
        return Err(CallError::TooMany { given: call.args.len(), most: params.len() });
    }
    let mut values: Vec<Option<&Value>> = call.args.iter().map(Some).collect();
    values.resize(params.len(), None);
    for (name, value) in &call.kwargs {
        match params.iter().position(|param| param.name == *name) {
            Some(place) if values[place].is_some() => return Err(CallError::Twice(name.clone())),
            Some(place) => values[place] = Some(value),
            None if name == "memory_format" => check_rank(call, value)?,
            None if PLACES.contains(&name.as_str()) => {}
            None if named.out && OUTS.contains(&name.as_str()) => {}
            None => {
                let known: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
                let (op, known) = (named.op.name.clone(), known.join(", "));
                return Err(BuildError::UnknownArg { op, name: name.clone(), known }.into());
            }
        }
    }
    let first = values.iter().flatten().find_map(|value| match value {
        Value::Tensor(tensor) => Some(tensor),
        _ => None,
    });
    let mut args = Arguments::default();
    for (place, (param, value)) in params.iter().zip(&values).enumerate() {
        let source = || Source { place, name: param.name.clone() };
        let (value, from) = match (value, &param.default) {
            (Some(value), _) => (convert(param, value, first)?, Some(source())),
            (None, Some(default)) if !param.demanded => (default.clone(), None),
            (None, _) => return Err(missing(param)),
        };
        args.0.push(Argument { name: param.name.clone(), value, from, cast: None });
    }
    Ok(args)
}

/// Checks that the first tensor of a call has the dimensions of a memory format.
fn check_rank(call: &Call, format: &Value) -> Result<(), CallError> {
    let mut values = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    let tensor = values.find_map(|value| match value {
        Value::Tensor(tensor) => Some(tensor),
        _ => None,
    });
    let rank = RANKS.iter().find(|(name, _)| matches!(format, Value::Str(text) if text == name));
    match (rank, tensor) {
        (Some((name, rank)), Some(tensor)) if tensor.shape.len() != *rank => {
            let wanted = format!("of {rank} dimensions for {name}");
            Err(BuildError::from(InferError::shape("self", &tensor.shape, wanted)).into())
        }
        _ => Ok(()),
    }
}

fn missing(param: &Param) -> CallError {
    let wanted = match (param.kind.schema_type(), param.optional) {
        (kind, true) => format!("{kind}?, may be None"),
        (kind, false) => kind.to_owned(),
    };
    CallError::Missing { name: param.name.clone(), wanted }
}

/// Puts the arguments in the op's order, with its defaults.
fn complete(op: &OpDef, mut args: Arguments) -> Result<Vec<Argument>, CallError> {
    let argument = |param: &Param| {
        let given = args.0.iter().position(|arg| arg.name == param.name);
        match (given.map(|place| args.0.swap_remove(place)), &param.default) {
            (Some(arg), _) if arg.value != ArgValue::None || param.optional => Ok(arg),
            (_, Some(value)) => Ok(Argument {
                name: param.name.clone(),
                value: value.clone(),
                from: None,
                cast: None,
            }),
            (_, None) => Err(missing(param)),
        }
    };
    op.params.iter().map(argument).collect()
}
