//! Cases: concrete calls of an op.

use serde::{Deserialize, Serialize};

use super::{DType, TensorSpec};

/// One concrete call of an op.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Name that is unique among the cases of one op, for example `f32[127,1023]/normal`.
    pub id: String,
    /// The op's name in kgen, for example `relu`.
    pub op: String,
    /// The floating-point type the case is about: that of its main input.
    pub dtype: DType,
    /// Why the case is there.
    pub class: CaseClass,
    /// What the values of its inputs look like.
    pub family: Family,
    /// The arguments in the order of the schema.
    pub args: Vec<Arg>,
}

impl Case {
    /// Returns the value of an argument.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&ArgValue> {
        self.args.iter().find(|arg| arg.name == name).map(|arg| &arg.value)
    }

    /// Returns a tensor argument; `None` too when it is an optional input that was left out.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&TensorArg> {
        self.arg(name)?.as_tensor()
    }

    /// Returns the tensor arguments with their names, in the order of the schema.
    ///
    /// An input's position here is its index in [`super::BufferRef::Input`].
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &TensorArg)> {
        self.args.iter().filter_map(|arg| Some((arg.name.as_str(), arg.value.as_tensor()?)))
    }
}

/// An argument with its name in the ATen schema (a trailing `_` where that is a plan builtin).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// The name.
    pub name: String,
    /// The value.
    pub value: ArgValue,
}

/// Value of an argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum ArgValue {
    /// A tensor.
    Tensor(TensorArg),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string such as gelu's `approximate`.
    Str(String),
    /// A list of integers such as sum's `dim`.
    Ints(Vec<i64>),
    /// An optional argument left out.
    None,
}

impl ArgValue {
    /// Returns the tensor, if it is one.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&TensorArg> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Int(_)
            | Self::Float(_)
            | Self::Bool(_)
            | Self::Str(_)
            | Self::Ints(_)
            | Self::None => None,
        }
    }
}

/// A tensor argument: its layout and how its values are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TensorArg {
    /// Layout and element type.
    pub spec: TensorSpec,
    /// The generator of its values.
    pub generator: Gen,
}

/// How the values of one tensor are made from a seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Gen {
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
    /// Uniform in `[low, high)`.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Integers of magnitude at most `magnitude`, of which at most `nonzero` per `row` consecutive
    /// elements are not 0: sums of products are then exact in every order.
    Exact {
        /// Largest magnitude.
        magnitude: u32,
        /// Non-zero elements per row.
        nonzero: u32,
        /// Elements per row along the last dimension.
        row: u32,
    },
    /// All elements equal.
    Constant {
        /// The value.
        value: f64,
    },
    /// Normal values with magnitudes spread over many powers of two (`±exp(2 N)`).
    HeavyTail,
    /// Normal values, a few of which (the last element among them) are NaN, ±Inf or -0.
    Specials,
    /// Values drawn from four levels, so that many are equal.
    Ties,
    /// Uniform integers in `[0, bound)`, for index tensors.
    Index {
        /// Exclusive upper bound.
        bound: u64,
    },
    /// As [`Gen::Index`], but about one element in four is `other`: a value that the op ignores.
    IndexOr {
        /// Exclusive upper bound.
        bound: u64,
        /// The value outside the rule.
        other: i64,
    },
}

/// Why a case is in its suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseClass {
    /// No or one element, odd sizes.
    Edge,
    /// Strided, broadcast or misaligned inputs.
    Layout,
    /// Input families other than the main one.
    Values,
    /// Drawn from the secret seed of the evaluation.
    Drawn,
    /// A size that real models use; these cases are timed.
    Realistic,
}

/// What the values of a case's inputs look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Normal values: the main family, which decides about precision.
    Normal,
    /// Integers for which every summation order is exact: bit equality is asked for.
    Exact,
    /// Values far from 0 with a small spread.
    Shifted,
    /// Magnitudes spread over many powers of two.
    HeavyTail,
    /// Large magnitudes: a naive intermediate overflows.
    Large,
    /// All elements equal.
    Constant,
    /// Few distinct values.
    Ties,
    /// NaN, infinities and negative zero among normal values.
    Specials,
}

impl Family {
    /// Returns the name as it appears in case names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Exact => "exact",
            Self::Shifted => "shifted",
            Self::HeavyTail => "heavy_tail",
            Self::Large => "large",
            Self::Constant => "constant",
            Self::Ties => "ties",
            Self::Specials => "specials",
        }
    }
}
