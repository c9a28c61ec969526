//! The call that a case is, in the words of the protocol.

use kgen_ops::op::{Kind as ParamKind, OpDef, PythonReference};
use kgen_record::{Adapter, ArgValue, Case, Precision, PythonKind, TensorSpec, number::Number};
use serde::{Serialize, Serializer};

use crate::torch_code;

use super::message::{Location, Output, Prepare, Tensor, Value};

/// The kind of implementation that a process beside the workers has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Python(PythonKind),
    Adapter(Adapter),
}

impl Kind {
    /// Returns the name in the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Python(kind) => kind.name(),
            Self::Adapter(adapter) => adapter.name(),
        }
    }
}

impl From<PythonKind> for Kind {
    fn from(kind: PythonKind) -> Self {
        Self::Python(kind)
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The implementation that is called.
#[derive(Debug, Clone, Copy)]
pub struct Callee<'a> {
    /// The kind of implementation.
    pub kind: Kind,
    /// The module that holds the implementation.
    pub source: Option<&'a str>,
    /// Its function.
    pub entry: Option<&'a str>,
    /// Lists that it is given behind the arguments of the op.
    pub lists: &'a [Vec<i64>],
}

/// An op that PyTorch has no operator for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{op} has no ATen operator, and no PyTorch code that gives its values")]
pub struct NoOperatorError {
    /// The op's name in kgen.
    pub op: String,
}

/// Returns the overload that PyTorch has for an op, for example `add.Tensor`; `None` for ops of
/// kgen's own.
#[must_use]
pub fn aten(op: &OpDef) -> Option<&str> {
    if op.definition.is_some() { None } else { op.schema.strip_prefix("aten.") }
}

/// Returns the function of [`torch_code`] that a kind of implementation calls for an op with such code.
const fn function_of(kind: Kind) -> Option<&'static str> {
    let Kind::Python(kind) = kind else { return None };
    match kind {
        PythonKind::Aten => Some(torch_code::FORWARD),
        PythonKind::TorchCompile => Some(torch_code::COMPILED),
        PythonKind::TorchMaxAutotune => Some(torch_code::AUTOTUNED),
        PythonKind::FlagGems
        | PythonKind::Jax
        | PythonKind::CuPy
        | PythonKind::OnnxRuntime
        | PythonKind::Triton => None,
    }
}

/// Returns whether PyTorch computes an op: by an operator, or by code that comes with the op.
#[must_use]
pub fn is_computed_by(op: &OpDef, kind: PythonKind) -> bool {
    aten(op).is_some() || (function_of(Kind::Python(kind)).is_some() && torch_code::is_known(op))
}

/// Words the call of a case; `inputs` and `outputs` say where the tensors lie, inputs in the order
/// of [`Case::tensors`].
///
/// # Errors
///
/// [`NoOperatorError`] where PyTorch would have to have one.
pub fn call(
    op: &OpDef,
    case: &Case,
    callee: Callee<'_>,
    inputs: &[Location],
    outputs: &[(TensorSpec, Location)],
    precision: Precision,
) -> Result<Prepare, NoOperatorError> {
    let aten = aten(op).map(str::to_owned);
    let own = function_of(callee.kind).and_then(|entry| Some((torch_code::source(op)?, entry)));
    let (source, entry) = match own {
        Some((source, entry)) => (Some(source), Some(entry.to_owned())),
        None if aten.is_none() && callee.kind != Kind::Python(PythonKind::Triton) => {
            return Err(NoOperatorError { op: op.name.clone() });
        }
        None => (callee.source.map(str::to_owned), callee.entry.map(str::to_owned)),
    };
    let kind = if aten.is_none() { PythonKind::Triton.into() } else { callee.kind };
    let output = |(spec, at): &(TensorSpec, Location)| Output {
        dtype: spec.dtype,
        shape: spec.shape.clone(),
        at: at.clone(),
    };
    let lists = callee.lists.iter().enumerate();
    let lists = lists.map(|(at, list)| (format!("list{at}"), Value::Ints(list.clone())));
    Ok(Prepare {
        kind: callee.kind,
        op: op.name.clone(),
        aten,
        source,
        entry,
        args: args(op, case, kind, inputs).into_iter().chain(lists).collect(),
        outputs: outputs.iter().map(output).collect(),
        precision,
        keep: callee.entry.is_some_and(|entry| KEPT.contains(&entry)),
    })
}

/// Functions of [`torch_code`] that are called several times on the same values.
const KEPT: [&str; 5] = [
    torch_code::REFERENCE,
    torch_code::ELEMENTS,
    torch_code::VALUES,
    torch_code::SPREAD,
    torch_code::MAGNITUDE,
];

/// Returns the arguments in the schema's order. A candidate that people wrote gets only those that
/// differ from their defaults: it need not know the others.
fn args(op: &OpDef, case: &Case, kind: Kind, inputs: &[Location]) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    let mut inputs = inputs.iter();
    for arg in &case.args {
        let n_tensors = arg.value.tensors().count();
        places.push((arg.name.as_str(), inputs.by_ref().take(n_tensors).collect::<Vec<_>>()));
    }
    let is_text = matches!(op.python_reference, Some(PythonReference::Text(_)));
    let mut args = Vec::new();
    for param in &op.params {
        let given = op.call(case).arg(&param.name);
        let all = kind != Kind::Python(PythonKind::Triton) || is_text;
        if !all && (given.is_none() || given == param.default.as_ref()) {
            continue;
        }
        let Some(argument) = given.or(param.default.as_ref()) else { continue };
        let places = places.iter().find(|(name, _)| *name == param.name);
        let places = places.map_or(&[][..], |(_, places)| places);
        args.push((param.name.clone(), value(argument, param.kind, places)));
    }
    args
}

#[expect(clippy::cast_precision_loss, reason = "kgen's integers are below 2^53")]
fn value(argument: &ArgValue, kind: ParamKind, places: &[&Location]) -> Value {
    match argument {
        ArgValue::Tensor(tensor) => Value::Tensor(Tensor::new(&tensor.spec, places[0].clone())),
        ArgValue::Tensors(list) => {
            let mut places = places.iter();
            let mut place = || (**places.next().expect("each tensor has its place")).clone();
            let tensors = list
                .iter()
                .map(|tensor| tensor.as_ref().map(|tensor| Tensor::new(&tensor.spec, place())));
            Value::Tensors(tensors.collect())
        }
        ArgValue::Int(value) if kind == ParamKind::Float => Value::Float(*value as f64),
        ArgValue::Int(value) => Value::Int(*value),
        ArgValue::Float(value) => Value::Float(*value),
        ArgValue::Bool(value) => Value::Bool(*value),
        ArgValue::Str(value) => Value::Str(value.clone()),
        ArgValue::Ints(values) => Value::Ints(values.clone()),
        ArgValue::Floats(values) => Value::Floats(values.iter().copied().map(Number).collect()),
        ArgValue::DType(dtype) => Value::DType(*dtype),
        ArgValue::None => Value::None(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use kgen_ops::op;
    use kgen_ops::suite;

    fn callee(kind: PythonKind) -> Callee<'static> {
        Callee { kind: kind.into(), source: None, entry: None, lists: &[] }
    }

    fn worded(op: &str, case: &Case, kind: PythonKind) -> Result<Prepare, NoOperatorError> {
        let op = op::find(op).unwrap();
        let place = |at: usize| Location::in_file(Path::new(&format!("/{at}")), 4);
        let inputs: Vec<Location> = (0..case.tensors().count()).map(place).collect();
        let outputs = op.infer(case).unwrap().into_iter().map(|spec| (spec, place(99)));
        let outputs: Vec<_> = outputs.collect();
        call(op, case, callee(kind), &inputs, &outputs, Precision::Strict)
    }

    fn first_case(op: &str) -> Case {
        suite::load("opinfo").unwrap().cases(op, None, 1).unwrap().remove(0)
    }

    #[test]
    fn arguments_go_by_the_names_of_the_schema_and_a_written_function_gets_no_defaults() {
        let case = first_case("add");
        let call = worded("add", &case, PythonKind::Aten).unwrap();
        assert_eq!(call.aten.as_deref(), Some("add.Tensor"));
        let names: Vec<&str> = call.args.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["self", "other", "alpha"]);
        let Value::Tensor(other) = &call.args[1].1 else { panic!("{:?}", call.args[1]) };
        assert_eq!(other.at, Location::in_file(Path::new("/1"), 4));
        assert_eq!(call.args[2].1, Value::Int(1));
        let call = worded("add", &case, PythonKind::Triton).unwrap();
        assert_eq!(call.args.len(), 2, "{:?}", call.args);
    }

    #[test]
    fn lists_take_their_places_in_order() {
        let cases = suite::load("opinfo").unwrap().cases("cat", None, 1).unwrap();
        let case = cases.into_iter().find(|case| case.tensors().count() > 1).unwrap();
        let call = worded("cat", &case, PythonKind::TorchCompile).unwrap();
        let Value::Tensors(list) = &call.args[0].1 else { panic!("{:?}", call.args[0]) };
        let mut places = list.iter().flatten().enumerate();
        let in_order = |(index, tensor): (usize, &Tensor)| {
            tensor.at == Location::in_file(Path::new(&format!("/{index}")), 4)
        };
        assert!(list.len() > 1 && places.all(in_order));
    }

    #[test]
    fn an_op_of_kgens_own_has_no_operator() {
        let own = op::all().iter().find(|op| op.schema.starts_with("kgen.")).unwrap();
        let case = first_case(&own.name);
        let error = worded(&own.name, &case, PythonKind::Aten).unwrap_err();
        let message = "has no ATen operator, and no PyTorch code that gives its values";
        assert_eq!(error.to_string(), format!("{} {message}", own.name));
        assert!(worded(&own.name, &case, PythonKind::Triton).is_ok());
    }

    #[test]
    fn every_case_of_the_catalogue_can_be_worded() {
        let suite = suite::load("opinfo").unwrap();
        let (mut n_ops, mut n_unknown) = (0, Vec::new());
        for op in op::all().iter().filter(|op| aten(op).is_some()) {
            let Ok(cases) = suite.cases(&op.name, None, 1) else { continue };
            for case in cases.iter().take(3) {
                let call = worded(&op.name, case, PythonKind::Aten).unwrap();
                let given = case.args.len();
                if call.args.len() < given {
                    n_unknown.push((op.name.clone(), given, call.args.len()));
                }
            }
            n_ops += 1;
        }
        assert!(n_ops > 100 && n_unknown.is_empty(), "{n_ops} {n_unknown:?}");
    }
}
