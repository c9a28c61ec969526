//! Element types of tensors.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Element type of a tensor, named as `PyTorch`'s short names.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
    /// 8 bits, 3 of them fraction, no infinities, largest value 448 (`torch.float8_e4m3fn`).
    F8E4M3,
    /// 8 bits, 2 of them fraction, with infinities (`torch.float8_e5m2`).
    F8E5M2,
    /// Signed 64-bit integer.
    I64,
    /// Signed 32-bit integer.
    I32,
    /// Signed 16-bit integer.
    I16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// One byte, 0 or 1.
    Bool,
}

impl DType {
    /// All element types.
    pub const ALL: [Self; 12] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::U8,
        Self::Bool,
    ];

    /// Returns the size of one element, in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::F8E4M3 | Self::F8E5M2 | Self::I8 | Self::U8 | Self::Bool => 1,
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
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::I16 => "i16",
            Self::I8 => "i8",
            Self::U8 => "u8",
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
            Self::F8E4M3 => "__nv_fp8_e4m3",
            Self::F8E5M2 => "__nv_fp8_e5m2",
            Self::I64 => "long long",
            Self::I32 => "int",
            Self::I16 => "short",
            Self::I8 => "signed char",
            Self::U8 => "unsigned char",
            Self::Bool => "bool",
        }
    }

    /// Returns whether the type is a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16 | Self::F8E4M3 | Self::F8E5M2)
    }

    /// Returns whether the type is one of the two 8-bit floating-point types.
    #[must_use]
    pub const fn is_fp8(self) -> bool {
        matches!(self, Self::F8E4M3 | Self::F8E5M2)
    }

    /// Returns whether the type is an integer type; `bool` is none.
    #[must_use]
    pub const fn is_int(self) -> bool {
        matches!(self, Self::I64 | Self::I32 | Self::I16 | Self::I8 | Self::U8)
    }

    /// Returns fraction bits and the exponent of the smallest normal number; `None` for integers.
    #[must_use]
    pub const fn format(self) -> Option<(i32, i32)> {
        match self {
            Self::F64 => Some((52, -1022)),
            Self::F32 => Some((23, -126)),
            Self::F16 => Some((10, -14)),
            Self::BF16 => Some((7, -126)),
            Self::F8E4M3 => Some((3, -6)),
            Self::F8E5M2 => Some((2, -14)),
            Self::I64 | Self::I32 | Self::I16 | Self::I8 | Self::U8 | Self::Bool => None,
        }
    }

    /// Returns the largest finite value.
    #[must_use]
    pub fn max_value(self) -> f64 {
        match self {
            Self::F64 => f64::MAX,
            Self::F32 => f32::MAX.into(),
            Self::F16 => 65504.0,
            Self::BF16 => half::bf16::MAX.to_f64(),
            Self::F8E4M3 => 448.0,
            Self::F8E5M2 => 57344.0,
            Self::I64 => i64::MAX as f64,
            Self::I32 => i32::MAX.into(),
            Self::I16 => i16::MAX.into(),
            Self::I8 => i8::MAX.into(),
            Self::U8 => u8::MAX.into(),
            Self::Bool => 1.0,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no dtype.
#[derive(Debug, thiserror::Error)]
#[error(
    "unknown dtype `{0}` (known: f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, bool)"
)]
pub struct UnknownDTypeError(String);

impl FromStr for DType {
    type Err = UnknownDTypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|dtype| dtype.name() == text);
        known.ok_or_else(|| UnknownDTypeError(text.to_owned()))
    }
}
