//! Calls as PyTorch makes them become calls of the catalogue's ops: names and overloads are resolved,
//! arguments bound to the overload's schema, and rewritten to those of the op.

mod convert;
mod free;

use std::sync::Arc;

use crate::{
    log::{Call, LogDType, Value},
    op::{
        self, Argument, Arguments, BuildError, InferError, Named, OpDef, Param, Source,
        UnknownOpError,
    },
    record::ArgValue,
};

use convert::convert;
use free::is_free;

/// Keywords that say where a result lies: kgen's are contiguous, in memory of their own on the device.
const PLACES: [&str; 6] =
    ["layout", "device", "pin_memory", "memory_format", "non_blocking", "out"];

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
            Self::Op(UnknownOpError { name, .. }) => {
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
}

/// Returns the parameters of the schema that a call by a name is bound to.
fn params(named: Named) -> &'static [Param] {
    named.overload.map_or(&named.op.params, |overload| &overload.schema.params)
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
    let mut first = None;
    for named in named {
        match bind_to(named, call) {
            Ok(bound) => return Ok(bound),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.expect("a name stands for at least one op"))
}

fn bind_to(named: Named, call: &Call) -> Result<Bound, CallError> {
    let Named { op, overload, in_place } = named;
    let args = arguments(op, params(named), call)
        .and_then(|args| match overload {
            None => Ok(args),
            Some(overload) => {
                overload.rewrite(op, args).map_err(|reason| CallError::Overload { reason })
            }
        })
        .and_then(|args| complete(op, args));
    let args = args.map_err(|source| CallError::Schema {
        signature: overload.map_or(&op.signature, |overload| &overload.signature).clone(),
        source: Box::new(source),
    })?;
    Ok(Bound { op, args, in_place })
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

/// Binds the arguments of a call to parameters; those that are left out have their defaults.
fn arguments(op: &OpDef, params: &[Param], call: &Call) -> Result<Arguments, CallError> {
    if call.args.len() > params.len() {
        return Err(CallError::TooMany { given: call.args.len(), most: params.len() });
    }
    let mut values: Vec<Option<&Value>> = call.args.iter().map(Some).collect();
    values.resize(params.len(), None);
    for (name, value) in &call.kwargs {
        match params.iter().position(|param| param.name == *name) {
            Some(place) if values[place].is_some() => return Err(CallError::Twice(name.clone())),
            Some(place) => values[place] = Some(value),
            None if PLACES.contains(&name.as_str()) => {}
            None => {
                let known: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
                let (op, known) = (op.name.clone(), known.join(", "));
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
            (None, Some(default)) => (default.clone(), None),
            (None, None) => return Err(missing(param)),
        };
        args.0.push(Argument { name: param.name.clone(), value, from, cast: None });
    }
    Ok(args)
}

fn missing(param: &Param) -> CallError {
    BuildError::Missing { name: param.name.clone() }.into()
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
