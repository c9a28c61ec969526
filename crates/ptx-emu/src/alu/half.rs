//! f16 and bf16 instructions on the low 16 bits of a register.
//!
//! Single operations are done in f32, whose precision makes the second rounding harmless; the
//! fused ones in f64 with rounding to odd.

use super::convert::{BF16, F16, Format, Round, add_odd};

/// A 16-bit format.
pub(crate) trait Half {
    const FORMAT: Format;
    /// Exact value.
    fn to_f32(bits: u32) -> f32;
    /// Nearest encoding.
    fn from_f32(value: f32) -> u32;
}

pub(crate) struct F16Type;
pub(crate) struct Bf16Type;

impl Half for F16Type {
    const FORMAT: Format = F16;

    fn to_f32(bits: u32) -> f32 {
        half::f16::from_bits(bits as u16).to_f32()
    }

    fn from_f32(value: f32) -> u32 {
        if value.is_nan() { 0x7fff } else { u32::from(half::f16::from_f32(value).to_bits()) }
    }
}

impl Half for Bf16Type {
    const FORMAT: Format = BF16;

    fn to_f32(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }

    fn from_f32(value: f32) -> u32 {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        if value.is_nan() { 0x7fff } else { rounded }
    }
}

fn input<H: Half, const FTZ: bool>(bits: u32) -> f32 {
    let bits = bits & 0xffff;
    H::to_f32(if FTZ { H::FORMAT.flush(u64::from(bits)) as u32 } else { bits })
}

fn output<H: Half, const FTZ: bool, const SAT: bool>(value: f32) -> u32 {
    finish::<H, FTZ, SAT>(H::from_f32(value))
}

fn finish<H: Half, const FTZ: bool, const SAT: bool>(bits: u32) -> u32 {
    let bits = if FTZ { H::FORMAT.flush(u64::from(bits)) as u32 } else { bits };
    if !SAT {
        return bits;
    }
    let value = H::to_f32(bits);
    if value > 1.0 {
        H::from_f32(1.0)
    } else if value > 0.0 {
        bits
    } else {
        0
    }
}

pub(crate) fn add<H: Half, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    output::<H, FTZ, SAT>(input::<H, FTZ>(a) + input::<H, FTZ>(b))
}

pub(crate) fn sub<H: Half, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    output::<H, FTZ, SAT>(input::<H, FTZ>(a) - input::<H, FTZ>(b))
}

pub(crate) fn mul<H: Half, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    output::<H, FTZ, SAT>(input::<H, FTZ>(a) * input::<H, FTZ>(b))
}

/// `fma`; `RELU` clamps negative results to zero.
pub(crate) fn fma<H: Half, const FTZ: bool, const SAT: bool, const RELU: bool>(
    a: u32,
    b: u32,
    c: u32,
) -> u32 {
    let product = f64::from(input::<H, FTZ>(a)) * f64::from(input::<H, FTZ>(b));
    let sum = add_odd(product, f64::from(input::<H, FTZ>(c)));
    let bits = finish::<H, FTZ, SAT>(H::FORMAT.round(sum, Round::Nearest) as u32);
    if RELU && sum <= 0.0 { 0 } else { bits }
}

/// `min`, or `max` if `MAX`; NaN loses unless `PROPAGATE`; -0 is below +0. `XORSIGN` takes
/// magnitudes and gives the product's sign.
#[inline(always)]
pub(crate) fn extreme<
    H: Half,
    const MAX: bool,
    const XORSIGN: bool,
    const PROPAGATE: bool,
    const FTZ: bool,
>(
    a: u32,
    b: u32,
) -> u32 {
    let of = |a, b| signed_extreme::<H, MAX, PROPAGATE, FTZ>(a, b);
    if !XORSIGN {
        return of(a, b);
    }
    let pick = of(a & 0x7fff, b & 0x7fff);
    if H::to_f32(pick).is_nan() { 0x7fff } else { pick | ((a ^ b) & 0x8000) }
}

#[inline(always)]
fn signed_extreme<H: Half, const MAX: bool, const PROPAGATE: bool, const FTZ: bool>(
    a: u32,
    b: u32,
) -> u32 {
    let (x, y) = (input::<H, FTZ>(a), input::<H, FTZ>(b));
    if x.is_nan() || y.is_nan() {
        if PROPAGATE || (x.is_nan() && y.is_nan()) {
            return 0x7fff;
        }
        return H::from_f32(if x.is_nan() { y } else { x });
    }
    let first = if MAX { x > y } else { x < y };
    let second = if MAX { y > x } else { y < x };
    let (a, b) = (H::from_f32(x), H::from_f32(y));
    if first {
        a
    } else if second {
        b
    } else if MAX {
        a & b
    } else {
        a | b
    }
}

/// A subnormal number as a zero of its sign.
pub(crate) fn flush<H: Half>(a: u32) -> u32 {
    H::FORMAT.flush(u64::from(a & 0xffff)) as u32
}

pub(crate) fn abs<H: Half, const FTZ: bool>(a: u32) -> u32 {
    (if FTZ { flush::<H>(a) } else { a }) & 0x7fff
}

/// `neg`; a NaN becomes the canonical one, as the machine multiplies.
pub(crate) fn neg<H: Half, const FTZ: bool>(a: u32) -> u32 {
    let a = if FTZ { flush::<H>(a) } else { a };
    if H::to_f32(a & 0xffff).is_nan() { 0x7fff } else { (a ^ 0x8000) & 0xffff }
}

/// An 8-bit float: `e4m3` (no infinity, NaN 0x7f) or `e5m2`.
pub(crate) trait Quarter {
    const FRACTION: u32;
    /// Exponent of the smallest normal number.
    const EMIN: i32;
    /// Largest finite number.
    const MAX: f64;
}

pub(crate) struct E4m3;
pub(crate) struct E5m2;

impl Quarter for E4m3 {
    const FRACTION: u32 = 3;
    const EMIN: i32 = -6;
    const MAX: f64 = 448.0;
}

impl Quarter for E5m2 {
    const FRACTION: u32 = 2;
    const EMIN: i32 = -14;
    const MAX: f64 = 57344.0;
}

/// Nearest encoding of a value, the largest finite one beyond the range (`.satfinite`).
pub(crate) fn to_quarter<Q: Quarter, const RELU: bool>(value: f64) -> u32 {
    if value.is_nan() {
        return 0x7f;
    }
    if RELU && value <= 0.0 {
        return 0;
    }
    // A format with the same fraction and range downwards, and f32's upwards.
    let wide = Format { fraction: Q::FRACTION, emin: Q::EMIN, emax: 127 + 126 + Q::EMIN, nan: 0 };
    let sign = u32::from(value.is_sign_negative()) << 7;
    sign | wide.round(value.abs().min(Q::MAX), Round::Nearest) as u32
}

/// Value of an encoding, as f16 bits: every 8-bit float is one.
pub(crate) fn from_quarter<Q: Quarter>(bits: u32) -> u32 {
    let sign = (bits & 0x80) << 8;
    let magnitude = bits & 0x7f;
    if Q::FRACTION == 2 {
        // `e5m2` is the upper half of an f16; NaN is canonical.
        return if magnitude > 0x7c { 0x7fff } else { sign | magnitude << 8 };
    }
    if magnitude == 0x7f {
        return 0x7fff;
    }
    let (field, fraction) = (magnitude >> 3, f64::from(magnitude & 7));
    let value = match field {
        0 => fraction * libm::exp2(-9.0),
        _ => (8.0 + fraction) * libm::exp2(f64::from(field) - 10.0),
    };
    sign | F16.round(value, Round::Nearest) as u32
}

/// `cvt.rn` of a single.
pub(crate) fn of_single<H: Half>(a: u32) -> u32 {
    H::from_f32(f32::from_bits(a))
}

/// `cvt.rn` of two singles, the first one above.
pub(crate) fn of_singles<H: Half>(a: u32, b: u32) -> u32 {
    of_single::<H>(b) | of_single::<H>(a) << 16
}

/// `cvt` of two singles to 8-bit floats, the first one above.
pub(crate) fn quarters_of_singles<Q: Quarter, const RELU: bool>(a: u32, b: u32) -> u32 {
    let quarter = |bits| to_quarter::<Q, RELU>(f64::from(f32::from_bits(bits)));
    quarter(b) | quarter(a) << 8
}

/// `cvt` of an f16 pair to 8-bit floats.
pub(crate) fn quarters_of_halves<Q: Quarter, const RELU: bool>(a: u32) -> u32 {
    let quarter = |bits| to_quarter::<Q, RELU>(f64::from(F16Type::to_f32(bits)));
    quarter(a & 0xffff) | quarter(a >> 16) << 8
}

/// `cvt` of the two 8-bit floats in the low 16 bits to an f16 pair.
pub(crate) fn halves_of_quarters<Q: Quarter, const RELU: bool>(bits: u32) -> u32 {
    let half = |bits| {
        let half = from_quarter::<Q>(bits & 0xff);
        if RELU { relu_f16(half) } else { half }
    };
    half(bits) | half(bits >> 8) << 16
}

/// An f16 with negative values as zero; NaN stays.
fn relu_f16(bits: u32) -> u32 {
    if F16Type::to_f32(bits) <= 0.0 { 0 } else { bits }
}

/// Applies a function to both halves of one register.
pub(crate) fn pair1(f: impl Fn(u32) -> u32, a: u32) -> u32 {
    (f(a & 0xffff) & 0xffff) | f(a >> 16) << 16
}

/// Applies a function to both halves of two registers.
pub(crate) fn pair2(f: impl Fn(u32, u32) -> u32, a: u32, b: u32) -> u32 {
    (f(a & 0xffff, b & 0xffff) & 0xffff) | f(a >> 16, b >> 16) << 16
}

/// Applies a function to both halves of three registers.
pub(crate) fn pair3(f: impl Fn(u32, u32, u32) -> u32, a: u32, b: u32, c: u32) -> u32 {
    (f(a & 0xffff, b & 0xffff, c & 0xffff) & 0xffff) | f(a >> 16, b >> 16, c >> 16) << 16
}
