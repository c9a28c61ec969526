//! Cases out of what a suite says about them.

use std::fmt::Write as _;

use crate::record::{Arg, ArgValue, Case, CaseClass, DType, Family, Gen, TensorArg, TensorSpec};

use super::{
    FamilyError, InferError, Layout, LayoutError, OpDef, ParamKind, family,
    param::{Fallback, Param, Role},
    plan_name,
};

/// A case as a suite words it: only the arguments that it names.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseDraft {
    /// Element type of the floating-point tensors.
    pub dtype: DType,
    /// Why the case is there.
    pub class: CaseClass,
    /// What the values of its inputs look like.
    pub family: Family,
    /// The arguments that are not left out, by their names in the schema.
    pub values: Vec<(String, DraftValue)>,
}

/// Value of an argument of a [`CaseDraft`].
#[derive(Debug, Clone, PartialEq)]
pub enum DraftValue {
    /// A tensor; its dtype follows from the parameter.
    Tensor {
        /// Extent of each dimension.
        shape: Vec<usize>,
        /// How it lies in memory.
        layout: Layout,
    },
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
        /// What it must be.
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
    /// The family makes no sense for the op.
    #[error(transparent)]
    Family(#[from] FamilyError),
}

/// Completes a draft: defaults, generators, layouts, the id; the result is a valid call of the op.
///
/// # Errors
///
/// [`BuildError`] when an argument is unknown, missing, of the wrong kind, or the op is not defined
/// for them.
pub fn build_case(op: &OpDef, draft: &CaseDraft) -> Result<Case, BuildError> {
    if let Some((name, _)) = draft.values.iter().find(|(name, _)| op.param(name).is_none()) {
        let known: Vec<&str> = op.params.iter().map(|param| param.name).collect();
        return Err(BuildError::UnknownArg {
            op: op.name.to_owned(),
            name: name.clone(),
            known: known.join(", "),
        });
    }
    let mut args = Vec::with_capacity(op.params.len());
    for param in op.params {
        let given = draft.values.iter().find(|(name, _)| name == param.name);
        let value = match given {
            Some((_, value)) => given_value(param, value, draft.dtype)?,
            None => default_value(param)?,
        };
        args.push(Arg { name: plan_name(param.name), value });
    }
    let mut case = Case {
        id: id(op, draft),
        op: op.name.to_owned(),
        dtype: draft.dtype,
        class: draft.class,
        family: draft.family,
        args,
    };
    op.infer(&case)?;
    let names_ignored = draft.values.iter().any(|(name, _)| name == "ignore_index");
    let generators = family::generators(op, &case, names_ignored)?;
    let tensors = case.args.iter_mut().filter_map(|arg| match &mut arg.value {
        ArgValue::Tensor(tensor) => Some(tensor),
        ArgValue::Int(_)
        | ArgValue::Float(_)
        | ArgValue::Bool(_)
        | ArgValue::Str(_)
        | ArgValue::Ints(_)
        | ArgValue::None => None,
    });
    for (tensor, generator) in tensors.zip(generators) {
        tensor.generator = generator;
    }
    Ok(case)
}

fn wrong_kind(param: &Param, wanted: impl Into<String>) -> BuildError {
    BuildError::Kind { name: param.name.to_owned(), wanted: wanted.into() }
}

fn given_value(param: &Param, value: &DraftValue, dtype: DType) -> Result<ArgValue, BuildError> {
    match (param.kind, value) {
        (ParamKind::Tensor { role, .. }, DraftValue::Tensor { shape, layout }) => {
            let dtype = if role == Role::ClassIndex { DType::I64 } else { dtype };
            Ok(ArgValue::Tensor(TensorArg {
                spec: laid_out(param, dtype, shape, *layout)?,
                generator: Gen::Constant { value: 0.0 },
            }))
        }
        (ParamKind::Tensor { .. }, _) => Err(wrong_kind(param, "a shape such as \"[127, 1023]\"")),
        (ParamKind::Int(_), DraftValue::Int(value)) => Ok(ArgValue::Int(*value)),
        (ParamKind::Int(_), _) => Err(wrong_kind(param, "an integer")),
        (ParamKind::Float(_), DraftValue::Float(value)) => Ok(ArgValue::Float(*value)),
        (ParamKind::Float(_), DraftValue::Int(value)) => Ok(ArgValue::Float(*value as f64)),
        (ParamKind::Float(_), _) => Err(wrong_kind(param, "a number")),
        (ParamKind::Bool(_), DraftValue::Bool(value)) => Ok(ArgValue::Bool(*value)),
        (ParamKind::Bool(_), _) => Err(wrong_kind(param, "true or false")),
        (ParamKind::Str { one_of, .. }, DraftValue::Str(value))
            if one_of.contains(&value.as_str()) =>
        {
            Ok(ArgValue::Str(value.clone()))
        }
        (ParamKind::Str { one_of, .. }, _) => {
            Err(wrong_kind(param, format!("one of {}", one_of.join(", "))))
        }
        (ParamKind::Ints(_), DraftValue::Ints(values)) => Ok(ArgValue::Ints(values.clone())),
        (ParamKind::Ints(_), _) => Err(wrong_kind(param, "a list of integers")),
    }
}

fn laid_out(
    param: &Param,
    dtype: DType,
    shape: &[usize],
    layout: Layout,
) -> Result<TensorSpec, BuildError> {
    layout
        .spec(dtype, shape)
        .map_err(|source| BuildError::Layout { name: param.name.to_owned(), source })
}

fn default_value(param: &Param) -> Result<ArgValue, BuildError> {
    let missing = || BuildError::Missing { name: param.name.to_owned() };
    match param.kind {
        ParamKind::Tensor { optional: true, .. } => Ok(ArgValue::None),
        ParamKind::Tensor { optional: false, .. } => Err(missing()),
        ParamKind::Str { default, .. } => Ok(ArgValue::Str(default.to_owned())),
        ParamKind::Int(fallback) => or_default(fallback, ArgValue::Int).ok_or_else(missing),
        ParamKind::Float(fallback) => or_default(fallback, ArgValue::Float).ok_or_else(missing),
        ParamKind::Bool(fallback) => or_default(fallback, ArgValue::Bool).ok_or_else(missing),
        ParamKind::Ints(fallback) => {
            or_default(fallback, |values| ArgValue::Ints(values.to_vec())).ok_or_else(missing)
        }
    }
}

fn or_default<T>(fallback: Fallback<T>, wrap: impl FnOnce(T) -> ArgValue) -> Option<ArgValue> {
    match fallback {
        Fallback::Required => None,
        Fallback::Absent => Some(ArgValue::None),
        Fallback::Value(value) => Some(wrap(value)),
    }
}

/// Names a case by what is particular about it: `f32[127,1023]:gap,[1023],alpha=2/normal`.
fn id(op: &OpDef, draft: &CaseDraft) -> String {
    let mut parts = Vec::new();
    for (name, value) in &draft.values {
        parts.push(match value {
            DraftValue::Tensor { shape, layout } => {
                let shape = joined(shape);
                let shape = match op.param(name).map(|param| param.kind) {
                    Some(ParamKind::Tensor { optional: true, .. }) => format!("{name}=[{shape}]"),
                    _ => format!("[{shape}]"),
                };
                match layout {
                    Layout::Contiguous => shape,
                    Layout::Transposed | Layout::Gap | Layout::Offset | Layout::Expanded => {
                        format!("{shape}:{layout}")
                    }
                }
            }
            DraftValue::Int(value) => format!("{name}={value}"),
            DraftValue::Float(value) => format!("{name}={value:?}"),
            DraftValue::Bool(value) => format!("{name}={value}"),
            DraftValue::Str(value) => format!("{name}={value}"),
            DraftValue::Ints(values) => format!("{name}=[{}]", joined(values)),
        });
    }
    let mut id = draft.dtype.name().to_owned();
    write!(id, "{}/{}", parts.join(","), draft.family.name()).expect("a string grows");
    id
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
