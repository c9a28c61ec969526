//! Element types of tensors.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Element type of a tensor, named as `PyTorch`'s short names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// Signed 64-bit integer.
    I64,
    /// Signed 32-bit integer.
    I32,
    /// One byte, 0 or 1.
    Bool,
}

impl DType {
    /// All element types.
    pub const ALL: [Self; 7] =
        [Self::F64, Self::F32, Self::F16, Self::BF16, Self::I64, Self::I32, Self::Bool];

    /// Returns the size of one element, in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Bool => 1,
        }
    }

    /// Returns the short name, for example `bf16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::Bool => "bool",
        }
    }

    /// Returns the CUDA C++ type that the macro `T_<tensor>` stands for.
    #[must_use]
    pub const fn cuda_type(self) -> &'static str {
        match self {
            Self::F64 => "double",
            Self::F32 => "float",
            Self::F16 => "__half",
            Self::BF16 => "__nv_bfloat16",
            Self::I64 => "long long",
            Self::I32 => "int",
            Self::Bool => "bool",
        }
    }

    /// Tells whether the type is a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no dtype.
#[derive(Debug, thiserror::Error)]
#[error("unknown dtype `{0}` (known: f64, f32, f16, bf16, i64, i32, bool)")]
pub struct UnknownDType(String);

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|dtype| dtype.name() == text);
        known.ok_or_else(|| UnknownDType(text.to_owned()))
    }
}
