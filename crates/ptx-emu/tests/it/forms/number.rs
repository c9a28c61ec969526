//! Exact numbers and their rounding to floating-point formats, with nothing of the emulator in it.

use std::cmp::Ordering;

/// How a result is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    NearestEven,
    NearestAway,
    Zero,
    Down,
    Up,
}

/// Layout of a floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// Bits in all.
    pub(super) bits: u32,
    /// Stored fraction bits.
    pub(super) fraction: u32,
    /// The NaN that an instruction writes; `None` where any NaN is right.
    pub(super) nan: Option<u64>,
}

/// The format of a type, if it is a float.
pub(super) fn format(ty: &str) -> Option<Format> {
    Some(match ty {
        "f16" => Format { bits: 16, fraction: 10, nan: Some(0x7fff) },
        "bf16" => Format { bits: 16, fraction: 7, nan: Some(0x7fff) },
        "tf32" => Format { bits: 19, fraction: 10, nan: None },
        "f32" => Format { bits: 32, fraction: 23, nan: Some(0x7fff_ffff) },
        "f64" => Format { bits: 64, fraction: 52, nan: None },
        _ => return None,
    })
}

impl Format {
    pub(super) fn bias(self) -> u64 {
        (1 << (self.bits - self.fraction - 2)) - 1
    }

    pub(super) fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    /// Positive infinity.
    pub(super) fn infinity(self) -> u64 {
        (2 * self.bias() + 1) << self.fraction
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    pub(super) fn is_infinite(self, bits: u64) -> bool {
        bits & (self.sign() - 1) == self.infinity()
    }

    pub(super) fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }

    pub(super) fn is_zero(self, bits: u64) -> bool {
        bits & (self.sign() - 1) == 0
    }

    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude >> self.fraction == 0
    }

    /// A subnormal number as a zero of its sign.
    pub(super) fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// One.
    pub(super) fn one(self) -> u64 {
        self.bias() << self.fraction
    }

    /// Unit in which every number of the format is an integer, as a power of two.
    fn unit(self) -> i32 {
        1 - self.bias() as i32 - self.fraction as i32
    }

    /// The value of a finite number.
    pub(super) fn exact(self, bits: u64) -> Exact {
        let magnitude = bits & (self.sign() - 1);
        let field = magnitude >> self.fraction;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let mantissa = if field == 0 { fraction } else { fraction | 1 << self.fraction };
        let shift = field.max(1) as u32 - 1;
        Exact {
            negative: self.is_negative(bits),
            magnitude: Big::of(u128::from(mantissa)).shifted_left(shift),
            unit: self.unit(),
        }
    }

    /// The value as an `f64`, for formats that fit.
    pub(super) fn to_f64(self, bits: u64) -> f64 {
        if self.is_nan(bits) {
            return f64::NAN;
        }
        let sign = if self.is_negative(bits) { -1.0 } else { 1.0 };
        if self.is_infinite(bits) {
            return sign * f64::INFINITY;
        }
        let double = Self { bits: 64, fraction: 52, nan: None };
        f64::from_bits(double.round(&self.exact(bits), Rounding::NearestEven))
    }

    /// The encoding of a finite `f64`.
    pub(super) fn round_f64(self, x: f64, rounding: Rounding) -> u64 {
        if x.is_infinite() {
            return self.infinity() | if x < 0.0 { self.sign() } else { 0 };
        }
        let double = Self { bits: 64, fraction: 52, nan: None };
        self.round(&double.exact(x.to_bits()), rounding)
    }

    /// The encoding nearest to a value; overflow goes where the rounding sends it.
    pub(super) fn round(self, x: &Exact, rounding: Rounding) -> u64 {
        let sign = if x.negative { self.sign() } else { 0 };
        let length = x.magnitude.length() as i32;
        if length == 0 {
            return sign;
        }
        // Exponent of the last place that the format keeps.
        let top = length - 1 + x.unit;
        let last = (top - self.fraction as i32).max(self.unit());
        let drop = last - x.unit;
        let (mut kept, half, sticky) = if drop <= 0 {
            (x.magnitude.shifted_left((-drop) as u32).low(), false, false)
        } else {
            let drop = drop as u32;
            (
                x.magnitude.bits_from(drop),
                x.magnitude.bit(drop - 1),
                x.magnitude.any_below(drop - 1),
            )
        };
        let up = match rounding {
            Rounding::NearestEven => half && (sticky || kept & 1 == 1),
            Rounding::NearestAway => half,
            Rounding::Zero => false,
            Rounding::Down => x.negative && (half || sticky),
            Rounding::Up => !x.negative && (half || sticky),
        };
        kept += u64::from(up);
        // The mantissa's leading one carries into the exponent field.
        let steps = (last - self.unit()) as u64;
        let magnitude = (steps << self.fraction) + kept;
        if magnitude < self.infinity() {
            return sign | magnitude;
        }
        let stays = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => false,
            Rounding::Zero => true,
            Rounding::Down => !x.negative,
            Rounding::Up => x.negative,
        };
        sign | if stays { self.infinity() - 1 } else { self.infinity() }
    }
}

/// `±magnitude * 2^unit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) magnitude: Big,
    pub(super) unit: i32,
}

impl Exact {
    pub(super) fn of(value: i128) -> Self {
        Self { negative: value < 0, magnitude: Big::of(value.unsigned_abs()), unit: 0 }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            magnitude: self.magnitude.times(&other.magnitude),
            unit: self.unit + other.unit,
        }
    }

    /// The sum; the sign of an exact zero follows IEEE 754, section 6.3.
    pub(super) fn plus(&self, other: &Self, rounding: Rounding) -> Self {
        let unit = self.unit.min(other.unit);
        let a = self.magnitude.shifted_left((self.unit - unit) as u32);
        let b = other.magnitude.shifted_left((other.unit - unit) as u32);
        if self.negative == other.negative {
            return Self { negative: self.negative, magnitude: a.plus(&b), unit };
        }
        match a.compare(&b) {
            Ordering::Equal => {
                Self { negative: rounding == Rounding::Down, magnitude: Big::of(0), unit }
            }
            Ordering::Greater => Self { negative: self.negative, magnitude: a.minus(&b), unit },
            Ordering::Less => Self { negative: other.negative, magnitude: b.minus(&a), unit },
        }
    }

    /// The quotient to more than 60 bits, its last bit set if it is not exact.
    pub(super) fn over(&self, other: &Self) -> Self {
        let (a, ua) = self.magnitude.leading();
        let (b, ub) = other.magnitude.leading();
        let (a, b) = (u128::from(a) << 62, u128::from(b));
        let quotient = (a / b) << 1 | u128::from(a % b != 0);
        let unit = self.unit + ua - 62 - (other.unit + ub) - 1;
        Self { negative: self.negative != other.negative, magnitude: Big::of(quotient), unit }
    }

    /// The square root to more than 60 bits, its last bit set if it is not exact.
    pub(super) fn root(&self) -> Self {
        let (m, shift) = self.magnitude.leading();
        let mut unit = self.unit + shift - 62;
        let mut m = u128::from(m) << 62;
        if unit % 2 != 0 {
            (m, unit) = (m << 1, unit - 1);
        }
        // Bit by bit from the top.
        let mut root = 0_u128;
        for bit in (0..64).rev() {
            let next = root | 1 << bit;
            if next.checked_mul(next).is_some_and(|square| square <= m) {
                root = next;
            }
        }
        let magnitude = Big::of(root << 1 | u128::from(root * root != m));
        Self { negative: false, magnitude, unit: unit / 2 - 1 }
    }

    /// Rounded to an integer.
    pub(super) fn integer(&self, rounding: Rounding) -> Self {
        if self.unit >= 0 {
            return self.clone();
        }
        let drop = (-self.unit) as u32;
        let (half, sticky) = (self.magnitude.bit(drop - 1), self.magnitude.any_below(drop - 1));
        let whole = self.magnitude.shifted_right(drop);
        let up = match rounding {
            Rounding::NearestEven => half && (sticky || whole.bit(0)),
            Rounding::NearestAway => half,
            Rounding::Zero => false,
            Rounding::Down => self.negative && (half || sticky),
            Rounding::Up => !self.negative && (half || sticky),
        };
        let magnitude = whole.plus(&Big::of(u128::from(up)));
        Self { negative: self.negative, magnitude, unit: 0 }
    }

    /// The integer value, clamped to a range.
    pub(super) fn clamped(&self, low: i128, high: i128) -> i128 {
        let length = self.magnitude.length() as i64 + i64::from(self.unit);
        if length > 100 {
            return if self.negative { low } else { high };
        }
        let magnitude = self.magnitude.shifted_left(self.unit.max(0) as u32).wide() as i128;
        (if self.negative { -magnitude } else { magnitude }).clamp(low, high)
    }
}

/// An unsigned integer of any length, lowest word first, without leading zero words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Big(Vec<u64>);

impl Big {
    pub(super) fn of(value: u128) -> Self {
        Self(vec![value as u64, (value >> 64) as u64]).trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    /// Bits without leading zeros.
    pub(super) fn length(&self) -> usize {
        self.0.last().map_or(0, |top| self.0.len() * 64 - top.leading_zeros() as usize)
    }

    pub(super) fn bit(&self, at: u32) -> bool {
        self.0.get(at as usize / 64).is_some_and(|w| (w >> (at % 64)) & 1 == 1)
    }

    fn any_below(&self, at: u32) -> bool {
        let words = (at / 64) as usize;
        self.0.iter().take(words).any(|w| *w != 0)
            || self.0.get(words).is_some_and(|w| w & ((1_u64 << (at % 64)) - 1) != 0)
    }

    fn low(&self) -> u64 {
        self.0.first().copied().unwrap_or(0)
    }

    fn wide(&self) -> u128 {
        u128::from(self.low()) | u128::from(self.0.get(1).copied().unwrap_or(0)) << 64
    }

    fn bits_from(&self, at: u32) -> u64 {
        self.shifted_right(at).low()
    }

    /// The same value as a word with bit 62 set times a power of two.
    fn leading(&self) -> (u64, i32) {
        let shift = self.length() as i32 - 63;
        assert!(shift <= 0 || !self.any_below(shift as u32), "a format has fewer than 63 bits");
        let word = self.shifted_right(shift.max(0) as u32).shifted_left((-shift).max(0) as u32);
        (word.low(), shift)
    }

    pub(super) fn shifted_left(&self, by: u32) -> Self {
        let (words, bits) = ((by / 64) as usize, by % 64);
        let mut out = vec![0; words];
        let mut carry = 0;
        for w in &self.0 {
            out.push(if bits == 0 { *w } else { w << bits | carry });
            carry = if bits == 0 { 0 } else { w >> (64 - bits) };
        }
        out.push(carry);
        Self(out).trimmed()
    }

    fn shifted_right(&self, by: u32) -> Self {
        let (words, bits) = ((by / 64) as usize, by % 64);
        let rest = self.0.get(words..).unwrap_or(&[]);
        let word = |i: usize| {
            let high = rest.get(i + 1).copied().unwrap_or(0);
            if bits == 0 { rest[i] } else { rest[i] >> bits | high << (64 - bits) }
        };
        Self((0..rest.len()).map(word).collect()).trimmed()
    }

    fn plus(&self, other: &Self) -> Self {
        let n = self.0.len().max(other.0.len());
        let mut out = Vec::with_capacity(n + 1);
        let mut carry = 0;
        for i in 0..n {
            let of = |b: &Self| u128::from(b.0.get(i).copied().unwrap_or(0));
            let sum = of(self) + of(other) + carry;
            out.push(sum as u64);
            carry = sum >> 64;
        }
        out.push(carry as u64);
        Self(out).trimmed()
    }

    /// The difference; `other` is not larger.
    fn minus(&self, other: &Self) -> Self {
        let mut borrow = 0;
        let mut out = Vec::with_capacity(self.0.len());
        for (i, w) in self.0.iter().enumerate() {
            let taken = i128::from(other.0.get(i).copied().unwrap_or(0)) + borrow;
            let rest = i128::from(*w) - taken;
            borrow = i128::from(rest < 0);
            out.push(rest as u64);
        }
        Self(out).trimmed()
    }

    fn times(&self, other: &Self) -> Self {
        let mut out = vec![0_u64; self.0.len() + other.0.len()];
        for (i, a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, b) in other.0.iter().enumerate() {
                let sum = u128::from(*a) * u128::from(*b) + u128::from(out[i + j]) + carry;
                out[i + j] = sum as u64;
                carry = sum >> 64;
            }
            out[i + other.0.len()] = carry as u64;
        }
        Self(out).trimmed()
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}
