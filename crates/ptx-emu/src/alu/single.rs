//! f32 instructions. Every NaN result is the canonical one; `FTZ` flushes subnormal inputs and
//! results to a zero of their sign; `SAT` clamps to `[0, 1]` with NaN as 0.

use super::convert::{Round, add_odd};

/// The machine's NaN.
pub(crate) const NAN: u32 = 0x7fff_ffff;

/// Replaces a subnormal number by a zero of its sign.
pub(crate) fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

fn input<const FTZ: bool>(bits: u32) -> f32 {
    f32::from_bits(if FTZ { flush(bits) } else { bits })
}

/// Finishes a result: NaN, flush, clamp.
pub(crate) fn output<const FTZ: bool, const SAT: bool>(value: f32) -> u32 {
    let bits = if value.is_nan() { NAN } else { value.to_bits() };
    let bits = if FTZ { flush(bits) } else { bits };
    if !SAT {
        bits
    } else if value > 1.0 {
        0x3f80_0000
    } else if value > 0.0 {
        bits
    } else {
        0
    }
}

pub(crate) fn add<const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    output::<FTZ, SAT>(input::<FTZ>(a) + input::<FTZ>(b))
}

pub(crate) fn sub<const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    output::<FTZ, SAT>(input::<FTZ>(a) - input::<FTZ>(b))
}

pub(crate) fn mul<const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    output::<FTZ, SAT>(input::<FTZ>(a) * input::<FTZ>(b))
}

pub(crate) fn div<const FTZ: bool>(a: u32, b: u32) -> u32 {
    output::<FTZ, false>(input::<FTZ>(a) / input::<FTZ>(b))
}

#[inline(always)]
pub(crate) fn rcp<const FTZ: bool>(a: u32) -> u32 {
    div::<FTZ>(1.0_f32.to_bits(), a)
}

pub(crate) fn sqrt<const FTZ: bool>(a: u32) -> u32 {
    output::<FTZ, false>(input::<FTZ>(a).sqrt())
}

/// `fma.rn.f32`: the product is exact in f64 and the sum is rounded to odd, so the last rounding
/// is the only one.
pub(crate) fn fma<const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    let product = f64::from(input::<FTZ>(a)) * f64::from(input::<FTZ>(b));
    output::<FTZ, SAT>(add_odd(product, f64::from(input::<FTZ>(c))) as f32)
}

/// The same for hosts where `mul_add` is one instruction.
#[inline(always)]
pub(crate) fn fma_fused<const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    output::<FTZ, SAT>(input::<FTZ>(a).mul_add(input::<FTZ>(b), input::<FTZ>(c)))
}

/// Rounds an exact or odd-rounded value in a direction: to nearest first, then a step back where
/// that went the wrong way.
#[inline(always)]
fn directed<const FTZ: bool, const SAT: bool>(value: f64, round: Round) -> u32 {
    let near = value as f32;
    let back = f64::from(near);
    let negative = near.is_sign_negative();
    // Whether near went too far, and whether the way back adds to the magnitude.
    let (wrong, outwards) = match round {
        Round::Zero => (back.abs() > value.abs(), false),
        Round::Down => (back > value, negative),
        Round::Up => (back < value, !negative),
        Round::Nearest | Round::Away => (false, false),
    };
    let step = if outwards { 1 } else { u32::MAX };
    let bits = near.to_bits().wrapping_add(if wrong { step } else { 0 });
    output::<FTZ, SAT>(f32::from_bits(bits))
}

/// A zero sum of non-zero terms is negative when rounding down.
#[inline(always)]
fn add_directed(a: f64, b: f64, round: Round) -> f64 {
    let sum = add_odd(a, b);
    // IEEE 754 section 6.3: an exact cancellation gives -0 only when rounding down.
    if sum == 0.0 && round == Round::Down && !(a == 0.0 && b == 0.0 && a.to_bits() == b.to_bits()) {
        return -0.0;
    }
    sum
}

#[inline(always)]
pub(crate) fn add_round<const FTZ: bool, const SAT: bool>(a: u32, b: u32, round: Round) -> u32 {
    let sum = add_directed(f64::from(input::<FTZ>(a)), f64::from(input::<FTZ>(b)), round);
    directed::<FTZ, SAT>(sum, round)
}

/// `sub.{rz,rm,rp}.f32`: the addition of the opposite.
#[inline(always)]
pub(crate) fn sub_round<const FTZ: bool, const SAT: bool>(a: u32, b: u32, round: Round) -> u32 {
    add_round::<FTZ, SAT>(a, b ^ 0x8000_0000, round)
}

#[inline(always)]
pub(crate) fn mul_round<const FTZ: bool, const SAT: bool>(a: u32, b: u32, round: Round) -> u32 {
    directed::<FTZ, SAT>(f64::from(input::<FTZ>(a)) * f64::from(input::<FTZ>(b)), round)
}

#[inline(always)]
pub(crate) fn fma_round<const FTZ: bool, const SAT: bool>(
    a: u32,
    b: u32,
    c: u32,
    round: Round,
) -> u32 {
    let product = f64::from(input::<FTZ>(a)) * f64::from(input::<FTZ>(b));
    directed::<FTZ, SAT>(add_directed(product, f64::from(input::<FTZ>(c)), round), round)
}

/// `div.{rz,rm,rp}.f32`: the remainder of the f64 quotient shows the side of the exact one.
pub(crate) fn div_round<const FTZ: bool>(a: u32, b: u32, round: Round) -> u32 {
    let (x, y) = (f64::from(input::<FTZ>(a)), f64::from(input::<FTZ>(b)));
    let quotient = x / y;
    if !quotient.is_finite() || quotient == 0.0 {
        return directed::<FTZ, false>(quotient, round);
    }
    let error = -libm::fma(quotient, y, -x) * y.signum();
    directed::<FTZ, false>(odd(quotient, error), round)
}

pub(crate) fn rcp_round<const FTZ: bool>(a: u32, round: Round) -> u32 {
    div_round::<FTZ>(1.0_f32.to_bits(), a, round)
}

/// `sqrt.{rz,rm,rp}.f32`
pub(crate) fn sqrt_round<const FTZ: bool>(a: u32, round: Round) -> u32 {
    let x = f64::from(input::<FTZ>(a));
    let root = x.sqrt();
    if !root.is_finite() || root == 0.0 {
        return directed::<FTZ, false>(root, round);
    }
    directed::<FTZ, false>(odd(root, -libm::fma(root, root, -x)), round)
}

/// `value` made odd if the exact result differs from it by something of `error`'s sign.
fn odd(value: f64, error: f64) -> f64 {
    let bits = value.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        return value;
    }
    let step = if (error > 0.0) == (value > 0.0) { 1 } else { u64::MAX };
    f64::from_bits(bits.wrapping_add(step))
}

#[inline(always)]
fn or_number<const PROPAGATE: bool>(x: f32, y: f32, pick: u32) -> u32 {
    let one_nan = if PROPAGATE {
        NAN
    } else if x.is_nan() {
        y.to_bits()
    } else {
        x.to_bits()
    };
    let both = x.is_nan() & y.is_nan();
    let any = x.is_nan() | y.is_nan();
    if both {
        NAN
    } else if any {
        one_nan
    } else {
        pick
    }
}

/// `min.f32`, or `max` if `MAX`: a NaN loses against a number unless `PROPAGATE`; -0 is below +0;
/// `XORSIGN` takes magnitudes and gives the product's sign.
#[inline(always)]
pub(crate) fn extreme<
    const MAX: bool,
    const XORSIGN: bool,
    const FTZ: bool,
    const PROPAGATE: bool,
>(
    a: u32,
    b: u32,
) -> u32 {
    let (x, y) = if XORSIGN { (a & 0x7fff_ffff, b & 0x7fff_ffff) } else { (a, b) };
    let (x, y) = (input::<FTZ>(x), input::<FTZ>(y));
    let (x_wins, y_wins) = if MAX { (x > y, y > x) } else { (x < y, y < x) };
    let pick = if x_wins {
        x.to_bits()
    } else if y_wins {
        y.to_bits()
    } else if MAX {
        x.to_bits() & y.to_bits()
    } else {
        x.to_bits() | y.to_bits()
    };
    let pick = or_number::<PROPAGATE>(x, y, pick);
    if !XORSIGN {
        pick
    } else if f32::from_bits(pick).is_nan() {
        NAN
    } else {
        pick | ((a ^ b) & 0x8000_0000)
    }
}

pub(crate) fn abs<const FTZ: bool>(a: u32) -> u32 {
    input::<FTZ>(a).to_bits() & 0x7fff_ffff
}

pub(crate) fn neg<const FTZ: bool>(a: u32) -> u32 {
    input::<FTZ>(a).to_bits() ^ 0x8000_0000
}

/// Rounding to an integral value.
pub(crate) fn integral(a: u32, round: impl Fn(f32) -> f32) -> u32 {
    output::<false, false>(round(f32::from_bits(a)))
}

/// `copysign.f32`: the sign of `a` on the magnitude of `b`.
pub(crate) fn copysign(a: u32, b: u32) -> u32 {
    (b & 0x7fff_ffff) | (a & 0x8000_0000)
}

#[cfg(test)]
mod tests;
