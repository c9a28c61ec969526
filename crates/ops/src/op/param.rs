//! Parameters of an op.

use crate::record::{ArgValue, Gen};

/// One parameter of an op's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its name in the schema.
    pub name: String,
    /// The kind of value that it takes.
    pub kind: Kind,
    /// Whether it may be `None`.
    pub optional: bool,
    /// Its value when a case does not name it; `None` where it must be named.
    pub default: Option<ArgValue>,
    /// Whether the schema itself gives no default: a call must name it, also where a case need not.
    pub demanded: bool,
    /// The role of its values, where it is a tensor.
    pub role: Role,
    /// How floating-point values of the distribution of edges are made; `None` where its role says it.
    pub edges: Option<Gen>,
    /// The choices of a string; empty where anything goes.
    pub choices: &'static [&'static str],
}

/// The kind of value that a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tensor.
    Tensor,
    /// A list of tensors.
    Tensors,
    /// An integer, or an enum that the schema passes as one.
    Int,
    /// A number, always a floating-point one.
    Float,
    /// A number whose kind takes part in promotion.
    Scalar,
    /// A truth value.
    Bool,
    /// A string.
    Str,
    /// A list of integers.
    Ints,
    /// A list of numbers.
    Floats,
    /// An element type.
    DType,
}

impl Kind {
    /// Returns whether the parameter holds a tensor or several.
    #[must_use]
    pub const fn holds_tensors(self) -> bool {
        matches!(self, Self::Tensor | Self::Tensors)
    }

    /// Returns the kind's type in a schema: `int[]`.
    #[must_use]
    pub const fn schema_type(self) -> &'static str {
        match self {
            Self::Tensor => "Tensor",
            Self::Tensors => "Tensor[]",
            Self::Int => "int",
            Self::Float => "float",
            Self::Scalar => "Scalar",
            Self::Bool => "bool",
            Self::Str => "str",
            Self::Ints => "int[]",
            Self::Floats => "float[]",
            Self::DType => "ScalarType",
        }
    }

    /// Names the kind in words.
    #[must_use]
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::Tensor => "a tensor, written as a shape such as \"[127, 1023]\"",
            Self::Tensors => {
                "a list of tensors, written as shapes such as [\"[2, 3]\", \"[4, 3]\"]"
            }
            Self::Int => "an integer",
            Self::Float | Self::Scalar => "a number",
            Self::Bool => "true or false",
            Self::Str => "a string",
            Self::Ints => "a list of integers",
            Self::Floats => "a list of numbers",
            Self::DType => "an element type such as \"f32\"",
        }
    }
}

/// The role of a tensor parameter's values; decides its generator and its element type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// Not a tensor.
    None,
    /// Data: follows the case's distribution.
    Main,
    /// Further data, such as the second factor of a contraction: stays tame where `Main` is wild.
    Second,
    /// A gain near 1.
    Gain,
    /// An offset near 0.
    Bias,
    /// Data in an interval that the op is defined on, or interesting on.
    Between(f64, f64),
    /// Positive data, about 1: logarithms, roots, variances, scales.
    Positive,
    /// Data to divide by: as [`Role::Main`], but not 0 where it is of an integer type.
    Divisor,
    /// Exponents: as [`Role::Second`], but small and not negative where of an integer type.
    Exponent,
    /// Rows of probabilities that sum to 1.
    Simplex,
    /// Labels -1 and 1.
    Sign,
    /// i64 indices; the engine says below which bound.
    Index,
    /// i64 class indices, of which some equal `ignore_index` where the case names it.
    ClassIndex,
    /// A bool mask.
    Mask,
    /// Values of f32 whatever the case's type is: scales of quantised data.
    ScaleF32,
}
