//! Element types: their names, sizes, NumPy descriptions and values.

use half::{bf16, f16};

/// Type of an array's elements or of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    F64,
    F32,
    F16,
    Bf16,
    E4m3,
    E5m2,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
}

/// Each type with its name, its bytes and its NumPy descriptions, the one to write first.
const TABLE: [(Element, &str, usize, &[&str]); 14] = [
    (Element::F64, "f64", 8, &["<f8"]),
    (Element::F32, "f32", 4, &["<f4"]),
    (Element::F16, "f16", 2, &["<f2"]),
    // NumPy has none of the next three; ml_dtypes stores them as opaque bytes.
    (Element::Bf16, "bf16", 2, &["<V2", "|V2", "<u2", "<i2"]),
    (Element::E4m3, "e4m3", 1, &["|V1", "<V1", "|u1", "|i1"]),
    (Element::E5m2, "e5m2", 1, &["|V1", "<V1", "|u1", "|i1"]),
    (Element::I64, "i64", 8, &["<i8"]),
    (Element::I32, "i32", 4, &["<i4"]),
    (Element::I16, "i16", 2, &["<i2"]),
    (Element::I8, "i8", 1, &["|i1"]),
    (Element::U64, "u64", 8, &["<u8"]),
    (Element::U32, "u32", 4, &["<u4"]),
    (Element::U16, "u16", 2, &["<u2"]),
    (Element::U8, "u8", 1, &["|u1", "|b1"]),
];

impl Element {
    /// The type called so.
    pub(super) fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, usize, &'static [&'static str]) {
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }

    pub(super) fn name(self) -> &'static str {
        self.row().1
    }

    /// Bytes of one element.
    pub(super) fn bytes(self) -> usize {
        self.row().2
    }

    /// NumPy descriptions that hold this type, the one to write first.
    pub(super) fn numpy(self) -> &'static [&'static str] {
        self.row().3
    }

    /// Name of the type that a NumPy description stands for.
    pub(super) fn of_numpy(description: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.3.first() == Some(&description)).map(|row| row.0)
    }

    /// The little-endian bytes of the number written as `text`.
    pub(super) fn parse(self, text: &str) -> Option<Vec<u8>> {
        let float = || text.parse::<f64>().ok();
        Some(match self {
            Self::F64 | Self::F32 | Self::F16 | Self::Bf16 => self.of_f64(float()?),
            Self::E4m3 | Self::E5m2 => return None,
            _ => {
                let value = integer(text)?;
                let size = self.bytes();
                let bits = 8 * u32::try_from(size).ok()?;
                let signed = matches!(self, Self::I64 | Self::I32 | Self::I16 | Self::I8);
                let (low, high) = if signed {
                    (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
                } else {
                    (0, (1_i128 << bits) - 1)
                };
                if value < low || value > high {
                    return None;
                }
                value.to_le_bytes()[..size].to_vec()
            }
        })
    }

    /// The bytes of the element nearest to `value`.
    #[expect(clippy::cast_possible_truncation, reason = "rounding and saturation are meant")]
    pub(super) fn of_f64(self, value: f64) -> Vec<u8> {
        let size = self.bytes();
        match self {
            Self::F64 => value.to_le_bytes().to_vec(),
            Self::F32 => (value as f32).to_le_bytes().to_vec(),
            Self::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            Self::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
            // Enough for the small numbers that arrays are filled with: nearest of all codes.
            Self::E4m3 | Self::E5m2 => {
                let off = |code: &u8| (self.value(&[*code]) - value).abs();
                let codes = (0..=u8::MAX).filter(|code| off(code).is_finite());
                vec![codes.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(0)]
            }
            _ => (value as i128).to_le_bytes()[..size].to_vec(),
        }
    }

    /// The number that little-endian `bytes` hold.
    #[expect(clippy::cast_precision_loss, reason = "64-bit integers are only compared nearly")]
    pub(super) fn value(self, bytes: &[u8]) -> f64 {
        let mut word = [0; 8];
        word[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        let [b0, b1, b2, b3, ..] = word;
        match self {
            Self::F64 => f64::from_le_bytes(word),
            Self::F32 => f32::from_le_bytes([b0, b1, b2, b3]).into(),
            Self::F16 => f16::from_le_bytes([b0, b1]).into(),
            Self::Bf16 => bf16::from_le_bytes([b0, b1]).into(),
            Self::E4m3 if b0 & 0x7f == 0x7f => f64::NAN,
            Self::E4m3 => small(b0, 3, 7),
            // An e5m2 is the upper half of an f16.
            Self::E5m2 => f16::from_le_bytes([0, b0]).into(),
            Self::I64 => i64::from_le_bytes(word) as f64,
            Self::I32 => i32::from_le_bytes([b0, b1, b2, b3]).into(),
            Self::I16 => i16::from_le_bytes([b0, b1]).into(),
            Self::I8 => i8::from_le_bytes([b0]).into(),
            Self::U64 => u64::from_le_bytes(word) as f64,
            Self::U32 => u32::from_le_bytes([b0, b1, b2, b3]).into(),
            Self::U16 => u16::from_le_bytes([b0, b1]).into(),
            Self::U8 => b0.into(),
        }
    }
}

/// An integer in decimal or, with `0x`, hexadecimal.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    (value >= 0).then_some(sign * value)
}

/// A finite 8-bit float with so many mantissa bits and this exponent bias.
fn small(code: u8, mantissa_bits: u32, bias: i32) -> f64 {
    let mantissa = f64::from(code & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let exponent = i32::from((code & 0x7f) >> mantissa_bits);
    let size = match exponent {
        0 => mantissa * 2_f64.powi(1 - bias),
        _ => (1.0 + mantissa) * 2_f64.powi(exponent - bias),
    };
    if code & 0x80 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::Element;

    #[test]
    fn numbers_become_bytes_and_back() {
        assert_eq!(Element::I32.parse("-2"), Some((-2_i32).to_le_bytes().to_vec()));
        assert_eq!(Element::U8.parse("256"), None);
        assert_eq!(Element::U16.parse("0xffff"), Some(vec![255, 255]));
        assert_eq!(Element::I8.parse("--1"), None);
        assert_eq!(Element::F32.parse("1.5"), Some(1.5_f32.to_le_bytes().to_vec()));
        for element in [Element::F64, Element::F16, Element::Bf16, Element::E4m3, Element::E5m2] {
            for value in [0.0, 1.0, -0.5, 1.75] {
                assert_eq!(element.value(&element.of_f64(value)).to_bits(), f64::to_bits(value));
            }
        }
        assert_eq!(Element::E4m3.value(&[0x7e]).to_bits(), 448_f64.to_bits());
    }
}
