//! Cases from their drafts in a suite.

use std::fmt::Write as _;

use crate::record::{
    Arg, ArgValue, Case, CaseClass, DType, Gen, InputDistribution, TensorArg, TensorSpec,
};

use super::{
    DistributionError, InferError, Kind, Layout, LayoutError, OpDef, generators,
    param::{Param, Role},
    schema,
};

/// A case as a suite words it: only the arguments that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseDraft {
    /// Element type of the floating-point tensors.
    pub dtype: DType,
    /// Why the case is there.
    pub class: CaseClass,
    /// The kind of values of its inputs.
    pub distribution: InputDistribution,
    /// The arguments that are not left out, by their names in the schema.
    pub values: Vec<(String, DraftValue)>,
}

/// Value of an argument of a [`CaseDraft`].
#[derive(Debug, Clone, PartialEq)]
pub enum DraftValue {
    /// A tensor.
    Tensor(DraftTensor),
    /// A list of tensors; an element that is left out is `None`.
    Tensors(Vec<Option<DraftTensor>>),
    /// Left out, although the parameter has a default.
    None,
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(String),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of numbers.
    Floats(Vec<f64>),
    /// An element type.
    DType(DType),
}

/// A tensor of a [`CaseDraft`].
#[derive(Debug, Clone, PartialEq)]
pub struct DraftTensor {
    /// Element type; `None` where it follows from the parameter and the draft's type.
    pub dtype: Option<DType>,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// How it lies in memory.
    pub layout: Layout,
}

/// A draft that is no case of its op.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// The op has no such argument.
    #[error("`{op}` has no argument `{name}` (it has: {known})")]
    UnknownArg {
        /// The op.
        op: String,
        /// The argument.
        name: String,
        /// The arguments it has.
        known: String,
    },
    /// An argument that cannot be left out is missing.
    #[error("argument `{name}` is missing")]
    Missing {
        /// The argument.
        name: String,
    },
    /// An argument is of the wrong kind.
    #[error("argument `{name}` must be {wanted}")]
    Kind {
        /// The argument.
        name: String,
        /// The expected kind.
        wanted: String,
    },
    /// A layout does not fit a shape.
    #[error("argument `{name}`")]
    Layout {
        /// The argument.
        name: String,
        /// Why.
        #[source]
        source: LayoutError,
    },
    /// The op is not defined for these arguments.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// The distribution makes no sense for the op.
    #[error(transparent)]
    InputDistribution(#[from] DistributionError),
}

/// Completes a draft: defaults, generators, layouts, the id; the result is a valid call of the op.
///
/// # Errors
///
/// [`BuildError`] when an argument is unknown, missing, of the wrong kind, or the op is not defined
/// for them.
pub fn build_case(op: &OpDef, draft: &CaseDraft) -> Result<Case, BuildError> {
    if let Some((name, _)) = draft.values.iter().find(|(name, _)| op.param(name).is_none()) {
        let known: Vec<&str> = op.params.iter().map(|param| param.name.as_str()).collect();
        return Err(BuildError::UnknownArg {
            op: op.name.clone(),
            name: name.clone(),
            known: known.join(", "),
        });
    }
    let mut args = Vec::with_capacity(op.params.len());
    for param in &op.params {
        let given = draft.values.iter().find(|(name, _)| *name == param.name);
        let value = match given {
            Some((_, value)) => given_value(param, value, draft.dtype)?,
            None => param.default.clone().ok_or_else(|| missing(param))?,
        };
        args.push(Arg { name: param.name.clone(), value });
    }
    let mut case = Case {
        id: id(op, draft),
        op: op.name.clone(),
        count: None,
        dtype: draft.dtype,
        class: draft.class,
        distribution: draft.distribution,
        names_ignored: draft.values.iter().any(|(name, _)| name == "ignore_index"),
        in_place: false,
        args,
    };
    complete_case(op, &mut case)?;
    Ok(case)
}

/// Checks that a case is a valid call of the op and chooses the generators of its tensors.
///
/// # Errors
///
/// [`BuildError`] when the op is not defined for the arguments, or the distribution makes no sense.
pub fn complete_case(op: &OpDef, case: &mut Case) -> Result<(), BuildError> {
    op.infer(case)?;
    let generators = generators::generators(op, case)?;
    for (tensor, generator) in case.tensors_mut().zip(generators) {
        tensor.generator = generator;
    }
    Ok(())
}

fn missing(param: &Param) -> BuildError {
    BuildError::Missing { name: param.name.clone() }
}

fn wrong_kind(param: &Param, wanted: impl Into<String>) -> BuildError {
    BuildError::Kind { name: param.name.clone(), wanted: wanted.into() }
}

fn given_value(param: &Param, value: &DraftValue, dtype: DType) -> Result<ArgValue, BuildError> {
    Ok(match (param.kind, value) {
        (_, DraftValue::None) if param.optional => ArgValue::None,
        (Kind::Tensor, DraftValue::Tensor(draft)) => ArgValue::Tensor(tensor(param, draft, dtype)?),
        (Kind::Tensors, DraftValue::Tensors(list)) => {
            let one = |draft: &Option<DraftTensor>| {
                draft.as_ref().map(|draft| tensor(param, draft, dtype)).transpose()
            };
            ArgValue::Tensors(list.iter().map(one).collect::<Result<_, _>>()?)
        }
        (Kind::Int | Kind::Scalar, DraftValue::Int(value)) => ArgValue::Int(*value),
        // The name of an extent.
        (Kind::Int, DraftValue::Ints(values)) if values.len() == 1 => ArgValue::Int(values[0]),
        (Kind::Float | Kind::Scalar, DraftValue::Float(value)) => ArgValue::Float(*value),
        (Kind::Float, DraftValue::Int(value)) => ArgValue::Float(*value as f64),
        (Kind::Bool | Kind::Scalar, DraftValue::Bool(value)) => ArgValue::Bool(*value),
        (Kind::Str, DraftValue::Str(value)) if allowed(param, value) => {
            ArgValue::Str(value.clone())
        }
        (Kind::Str, _) if !param.choices.is_empty() => {
            return Err(wrong_kind(param, format!("one of {}", param.choices.join(", "))));
        }
        (Kind::Ints, DraftValue::Ints(values)) => ArgValue::Ints(values.clone()),
        (Kind::Floats, DraftValue::Floats(values)) => ArgValue::Floats(values.clone()),
        (Kind::DType, DraftValue::DType(dtype)) => ArgValue::DType(*dtype),
        (Kind::DType, DraftValue::Str(name)) => match schema::dtype(name) {
            Some(dtype) => ArgValue::DType(dtype),
            None => return Err(wrong_kind(param, param.kind.wanted())),
        },
        _ => return Err(wrong_kind(param, param.kind.wanted())),
    })
}

fn allowed(param: &Param, value: &str) -> bool {
    param.choices.is_empty() || param.choices.contains(&value)
}

fn tensor(param: &Param, draft: &DraftTensor, dtype: DType) -> Result<TensorArg, BuildError> {
    let by_role = match param.role {
        Role::ClassIndex | Role::Index => DType::I64,
        Role::Mask => DType::Bool,
        Role::ScaleF32 => DType::F32,
        _ => dtype,
    };
    let dtype = draft.dtype.unwrap_or(by_role);
    Ok(TensorArg {
        spec: laid_out(param, dtype, &draft.shape, draft.layout)?,
        generator: Gen::Constant { value: 0.0 },
    })
}

fn laid_out(
    param: &Param,
    dtype: DType,
    shape: &[usize],
    layout: Layout,
) -> Result<TensorSpec, BuildError> {
    layout
        .spec(dtype, shape)
        .map_err(|source| BuildError::Layout { name: param.name.clone(), source })
}

/// Names a case by its particular arguments: `f32[127,1023]:gap,[1023],alpha=2/normal`.
fn id(op: &OpDef, draft: &CaseDraft) -> String {
    let mut parts = Vec::new();
    for (name, value) in &draft.values {
        parts.push(match value {
            DraftValue::Tensor(tensor) => {
                let optional = op.param(name).is_some_and(|param| param.optional);
                let text = tensor_text(tensor);
                if optional { format!("{name}={text}") } else { text }
            }
            DraftValue::Tensors(list) => {
                let texts = list.iter().map(|one| one.as_ref().map_or("-".to_owned(), tensor_text));
                format!("({})", texts.collect::<Vec<_>>().join(","))
            }
            DraftValue::None => format!("{name}=None"),
            DraftValue::Int(value) => format!("{name}={value}"),
            DraftValue::Float(value) => format!("{name}={value:?}"),
            DraftValue::Bool(value) => format!("{name}={value}"),
            DraftValue::Str(value) => format!("{name}={value}"),
            DraftValue::Ints(values) => format!("{name}=[{}]", joined(values)),
            DraftValue::Floats(values) => format!("{name}=[{}]", joined(values)),
            DraftValue::DType(dtype) => format!("{name}={dtype}"),
        });
    }
    let mut id = draft.dtype.name().to_owned();
    write!(id, "{}/{}", parts.join(","), draft.distribution.name()).expect("a string grows");
    id
}

fn tensor_text(tensor: &DraftTensor) -> String {
    let mut text = tensor.dtype.map_or(String::new(), |dtype| dtype.name().to_owned());
    write!(text, "[{}]", joined(&tensor.shape)).expect("a string grows");
    if tensor.layout != Layout::Contiguous {
        write!(text, ":{}", tensor.layout).expect("a string grows");
    }
    text
}

/// Writes values behind each other, with commas.
pub(crate) fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
