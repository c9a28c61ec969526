//! Element types as logs spell them.

use std::fmt;

/// An element type that may occur in a log; no op need take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of `LogDType::name`")]
pub enum LogDType {
    F64,
    F32,
    F16,
    BF16,
    F8E4M3,
    F8E5M2,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
    C32,
    C64,
    C128,
    U16,
    U32,
    U64,
    F8E4M3Fnuz,
    F8E5M2Fnuz,
    F8E8M0,
    QI8,
    QU8,
    QI32,
}

/// Types with their short names, the names in `torch`, and other names there.
const NAMES: [(LogDType, &str, &str, &[&str]); 24] = [
    (LogDType::F64, "f64", "float64", &["double"]),
    (LogDType::F32, "f32", "float32", &["float"]),
    (LogDType::F16, "f16", "float16", &["half"]),
    (LogDType::BF16, "bf16", "bfloat16", &[]),
    (LogDType::F8E4M3, "f8e4m3", "float8_e4m3fn", &[]),
    (LogDType::F8E5M2, "f8e5m2", "float8_e5m2", &[]),
    (LogDType::I64, "i64", "int64", &["long"]),
    (LogDType::I32, "i32", "int32", &["int"]),
    (LogDType::I16, "i16", "int16", &["short"]),
    (LogDType::I8, "i8", "int8", &[]),
    (LogDType::U8, "u8", "uint8", &[]),
    (LogDType::Bool, "b8", "bool", &[]),
    (LogDType::C32, "c32", "complex32", &["chalf"]),
    (LogDType::C64, "c64", "complex64", &["cfloat"]),
    (LogDType::C128, "c128", "complex128", &["cdouble"]),
    (LogDType::U16, "u16", "uint16", &[]),
    (LogDType::U32, "u32", "uint32", &[]),
    (LogDType::U64, "u64", "uint64", &[]),
    (LogDType::F8E4M3Fnuz, "f8e4m3fnuz", "float8_e4m3fnuz", &[]),
    (LogDType::F8E5M2Fnuz, "f8e5m2fnuz", "float8_e5m2fnuz", &[]),
    (LogDType::F8E8M0, "f8e8m0", "float8_e8m0fnu", &[]),
    (LogDType::QI8, "qi8", "qint8", &[]),
    (LogDType::QU8, "qu8", "quint8", &[]),
    (LogDType::QI32, "qi32", "qint32", &[]),
];

impl LogDType {
    /// Returns the type's short name: `f16`, `b8`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(dtype, ..)| *dtype == self).map_or("", |(_, short, ..)| short)
    }

    /// Returns the type of a short name or of one in `torch`: `f16`, `torch.float16`, `float16`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let known = match name.strip_prefix("torch.") {
            Some(name) => {
                NAMES.iter().find(|(_, _, torch, others)| *torch == name || others.contains(&name))
            }
            None => NAMES.iter().find(|(_, short, torch, _)| *short == name || *torch == name),
        };
        known.map(|(dtype, ..)| *dtype)
    }

    /// Returns the type of a number of `PyTorch`'s enumeration `ScalarType`.
    #[must_use]
    pub fn from_scalar_type(number: i64) -> Option<Self> {
        const ORDER: [LogDType; 16] = [
            LogDType::U8,
            LogDType::I8,
            LogDType::I16,
            LogDType::I32,
            LogDType::I64,
            LogDType::F16,
            LogDType::F32,
            LogDType::F64,
            LogDType::C32,
            LogDType::C64,
            LogDType::C128,
            LogDType::Bool,
            LogDType::QI8,
            LogDType::QU8,
            LogDType::QI32,
            LogDType::BF16,
        ];
        usize::try_from(number).ok().and_then(|at| ORDER.get(at).copied())
    }
}

impl fmt::Display for LogDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
