//! Number formats and conversions between them (PTX ISA, "cvt").

/// Rounding of a result that a format cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    Away,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// A binary floating-point format with IEEE encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Stored fraction bits.
    pub fraction: u32,
    /// Exponent of the smallest normal number.
    pub emin: i32,
    /// Exponent of the largest finite number.
    pub emax: i32,
    /// The machine's NaN.
    pub nan: u64,
}

pub(crate) const F16: Format = Format { fraction: 10, emin: -14, emax: 15, nan: 0x7fff };
pub(crate) const BF16: Format = Format { fraction: 7, emin: -126, emax: 127, nan: 0x7fff };
pub(crate) const F32: Format = Format { fraction: 23, emin: -126, emax: 127, nan: 0x7fff_ffff };
pub(crate) const F64: Format =
    Format { fraction: 52, emin: -1022, emax: 1023, nan: 0x7ff8_0000_0000_0000 };

impl Format {
    /// Bits of the encoding.
    pub(crate) fn width(self) -> u32 {
        let exponents = (self.emax - self.emin + 3) as u32;
        1 + exponents.trailing_zeros() + self.fraction
    }

    fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.width() - 1)
    }

    pub(crate) fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | (((self.emax - self.emin + 2) as u64) << self.fraction)
    }

    /// Value of an encoding, exactly.
    pub(crate) fn value(self, bits: u64) -> f64 {
        if self == F64 {
            return f64::from_bits(bits);
        }
        let negative = (bits >> (self.width() - 1)) & 1 == 1;
        let fraction = bits & ((1 << self.fraction) - 1);
        let exponent = ((bits & (self.sign(true) - 1)) >> self.fraction) as i32;
        let magnitude = if exponent == self.emax - self.emin + 2 {
            if fraction == 0 { f64::INFINITY } else { f64::NAN }
        } else if exponent == 0 {
            fraction as f64 * power(self.emin - self.fraction as i32)
        } else {
            let full = fraction | (1 << self.fraction);
            full as f64 * power(exponent - 1 + self.emin - self.fraction as i32)
        };
        if negative { -magnitude } else { magnitude }
    }

    /// Nearest encoding of `mantissa * 2^exponent`.
    pub(crate) fn pack(self, negative: bool, mantissa: u128, exponent: i32, round: Round) -> u64 {
        if mantissa == 0 {
            return self.sign(negative);
        }
        let msb = 127 - mantissa.leading_zeros() as i32 + exponent;
        let scale = msb.max(self.emin);
        let drop = scale - self.fraction as i32 - exponent;
        let (mut kept, rest, half) = match drop {
            ..=0 => (mantissa << -drop, 0, 1),
            1..=127 => (mantissa >> drop, mantissa & ((1 << drop) - 1), 1_u128 << (drop - 1)),
            _ => (0, 1, 2),
        };
        let up = match round {
            Round::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Round::Away => rest >= half,
            Round::Zero => false,
            Round::Down => negative && rest != 0,
            Round::Up => !negative && rest != 0,
        };
        kept += u128::from(up);
        // A normal number's hidden bit adds one to the exponent field.
        let bits = kept as u64 + (((scale - self.emin) as u64) << self.fraction);
        let infinity = self.infinity(false);
        if bits < infinity {
            return self.sign(negative) | bits;
        }
        let saturates = match round {
            Round::Nearest | Round::Away => false,
            Round::Zero => true,
            Round::Down => !negative,
            Round::Up => negative,
        };
        self.sign(negative) | (infinity - u64::from(saturates))
    }

    /// Encoding of `x`.
    pub(crate) fn round(self, x: f64, round: Round) -> u64 {
        if x.is_nan() {
            return self.nan;
        }
        if x.is_infinite() {
            return self.infinity(x < 0.0);
        }
        let (negative, mantissa, exponent) = decompose(x);
        self.pack(negative, u128::from(mantissa), exponent, round)
    }

    /// Replaces a subnormal number by a zero of its sign.
    pub(crate) fn flush(self, bits: u64) -> u64 {
        let exponent = (self.infinity(false)) & bits;
        if exponent == 0 { bits & self.sign(true) } else { bits }
    }
}

fn power(exponent: i32) -> f64 {
    libm::scalbn(1.0, exponent)
}

/// Sign, mantissa and exponent of a finite number: `x = ±mantissa * 2^exponent`.
pub(super) fn decompose(x: f64) -> (bool, u64, i32) {
    let bits = x.to_bits();
    let field = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if field == 0 { fraction } else { fraction | (1 << 52) };
    (bits >> 63 == 1, mantissa, field.max(1) - 1075)
}

/// A NaN of one format in another: sign and upper payload stay, and it is quiet.
pub(crate) fn widen(bits: u64, from: Format, to: Format) -> u64 {
    let sign = to.sign((bits >> (from.width() - 1)) & 1 == 1);
    let payload = bits & ((1 << from.fraction) - 1);
    let payload = payload << (64 - from.fraction) >> (64 - to.fraction);
    sign | to.infinity(false) | 1 << (to.fraction - 1) | payload
}

/// `x` rounded to an integral value.
pub(crate) fn integral(x: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => libm::rint(x),
        Round::Away => libm::round(x),
        Round::Zero => libm::trunc(x),
        Round::Down => libm::floor(x),
        Round::Up => libm::ceil(x),
    }
}

/// `a + b` rounded to odd, so that a second rounding to fewer bits gives the result of one.
///
/// Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums".
#[inline(always)]
pub(crate) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    let bits = sum.to_bits();
    let inexact = (error > 0.0) | (error < 0.0);
    let fix = inexact & (bits & 1 == 0) & (sum.abs() < f64::INFINITY);
    let step = if (error > 0.0) == (sum > 0.0) { 1 } else { u64::MAX };
    f64::from_bits(bits.wrapping_add(if fix { step } else { 0 }))
}

/// A type as `cvt` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Integer: bits, signed.
    Int(u32, bool),
    Float(Format),
    /// The upper 19 bits of a single.
    Tf32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversion {
    /// Destination type.
    pub to: Number,
    /// Source type.
    pub from: Number,
    /// Rounding, to the format or to an integral value.
    pub round: Round,
    /// Rounds to an integral value although the destination is a float.
    pub to_integral: bool,
    /// Flushes subnormal singles.
    pub ftz: bool,
    /// Clamps to the destination's range, or to `[0, 1]` for floats.
    pub sat: bool,
    /// Clamps negative results to zero.
    pub relu: bool,
    /// Gives the largest finite number where the result would be infinite.
    pub satfinite: bool,
}

impl Conversion {
    /// Converts one value; register bits in, register bits out.
    pub(crate) fn apply(&self, bits: u64) -> u64 {
        match self.from {
            Number::Int(width, signed) => self.of_int(extend(bits, width, signed)),
            Number::Float(format) => {
                let mut bits = bits & (u64::MAX >> (64 - format.width()));
                // A half rounded up or down from a subnormal single is not zero, even with `.ftz`.
                if self.ftz && format == F32 && self.to != Number::Float(F16) {
                    bits = format.flush(bits);
                }
                let value = format.value(bits);
                match self.to {
                    Number::Float(to) if value.is_nan() && !self.sat => self.nan(bits, format, to),
                    Number::Tf32 if value.is_nan() && self.round == Round::Away => {
                        bits & 0xffff_e000
                    }
                    Number::Tf32 if value.is_nan() => F32.nan & 0xffff_e000,
                    _ => self.of_float(value),
                }
            }
            Number::Tf32 => self.of_float(F32.value(bits & 0xffff_e000)),
        }
    }

    /// Payloads survive where an f64 takes part and from bf16 up; else the NaN is canonical.
    fn nan(&self, bits: u64, from: Format, to: Format) -> u64 {
        if from == F64 || (from == BF16 && to == F32 && !self.ftz) {
            return widen(bits, from, to);
        }
        if to == F64 {
            return widen(if self.ftz { from.nan } else { bits }, from, to);
        }
        to.nan
    }

    fn of_int(&self, value: i128) -> u64 {
        match self.to {
            Number::Int(width, signed) => {
                let value = if self.sat { clamp(value, width, signed) } else { value };
                // The register may be wider: results fill it by their sign.
                extend(value as u64, width, signed) as u64
            }
            Number::Float(format) => {
                let bits = format.pack(value < 0, value.unsigned_abs(), 0, self.round);
                self.finish(format, bits)
            }
            Number::Tf32 => F32.pack(value < 0, value.unsigned_abs(), 0, self.round) & 0xffff_e000,
        }
    }

    fn of_float(&self, value: f64) -> u64 {
        match self.to {
            Number::Int(width, signed) => {
                if value.is_nan() {
                    let wide = width == 64 || self.from == Number::Float(F64);
                    let smallest = extend(1 << (width - 1), width, signed);
                    return if wide { smallest as u64 } else { 0 };
                }
                let whole = integral(value, self.round);
                // The cast saturates at the ends of i128, far outside every register.
                clamp(whole as i128, width, signed) as u64
            }
            Number::Float(format) => {
                let value = if self.to_integral { integral(value, self.round) } else { value };
                self.finish(format, format.round(value, self.round))
            }
            Number::Tf32 => {
                let narrow = Format { fraction: 10, ..F32 };
                let bits = self.finite(narrow, narrow.round(value, self.round));
                let bits = if self.relu && value <= 0.0 { 0 } else { bits };
                bits << 13
            }
        }
    }

    /// The largest finite number for an infinity, if that is asked for.
    fn finite(&self, format: Format, bits: u64) -> u64 {
        let infinite = self.satfinite && bits & !format.sign(true) == format.infinity(false);
        bits - u64::from(infinite)
    }

    fn finish(&self, format: Format, bits: u64) -> u64 {
        let mut bits = bits;
        if self.ftz && format == F32 {
            bits = format.flush(bits);
        }
        bits = self.finite(format, bits);
        let value = format.value(bits);
        if self.sat {
            // NaN and everything below zero, -0 included, become +0.
            if value.is_nan() || value <= 0.0 {
                return 0;
            }
            if value > 1.0 {
                return format.round(1.0, Round::Nearest);
            }
        }
        if self.relu && value <= 0.0 {
            return 0;
        }
        bits
    }
}

/// The value of the low `width` bits.
pub(crate) fn extend(bits: u64, width: u32, signed: bool) -> i128 {
    let shift = 64 - width;
    if signed {
        i128::from(((bits << shift) as i64) >> shift)
    } else {
        i128::from((bits << shift) >> shift)
    }
}

fn clamp(value: i128, width: u32, signed: bool) -> i128 {
    if signed {
        let limit = 1_i128 << (width - 1);
        value.clamp(-limit, limit - 1)
    } else {
        value.clamp(0, (1_i128 << width) - 1)
    }
}
