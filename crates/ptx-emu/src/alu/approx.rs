//! The `.approx` functions: computed in f64 and rounded once, so within half an ulp where the
//! machine allows up to two; special values as the PTX ISA's tables give them.
//!
//! Where the machine is coarser by orders of magnitude (`tanh`, `sin`, `cos`), so are these
//! functions: a kernel that is too imprecise on a GPU must not be right here.

use super::{
    half::{Bf16Type, F16Type, Half},
    single::{flush, output},
};

fn lift<const FTZ: bool>(a: u32, f: impl Fn(f64) -> f64) -> u32 {
    let a = if FTZ { flush(a) } else { a };
    output::<FTZ, false>(f(f64::from(f32::from_bits(a))) as f32)
}

pub(crate) fn rcp<const FTZ: bool>(a: u32) -> u32 {
    lift::<FTZ>(a, |x| 1.0 / x)
}

pub(crate) fn sqrt<const FTZ: bool>(a: u32) -> u32 {
    lift::<FTZ>(a, f64::sqrt)
}

pub(crate) fn rsqrt<const FTZ: bool>(a: u32) -> u32 {
    lift::<FTZ>(a, |x| 1.0 / x.sqrt())
}

/// Evaluates a function of period 2π as the machine does: the angle is turned into periods in f32,
/// which makes large angles imprecise, and the result has an absolute error near 2^-21.
fn periodic(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 1.0 / (1 << 20) as f64;
    let periods = f64::from((x * std::f64::consts::TAU.recip()) as f32);
    if x.abs() < STEP {
        return f(x);
    }
    (f(periods * std::f64::consts::TAU) / STEP).round_ties_even() * STEP
}

pub(crate) fn sin<const FTZ: bool>(a: u32) -> u32 {
    lift::<FTZ>(a, |x| periodic(x, libm::sin))
}

pub(crate) fn cos<const FTZ: bool>(a: u32) -> u32 {
    lift::<FTZ>(a, |x| periodic(x, libm::cos))
}

pub(crate) fn lg2<const FTZ: bool>(a: u32) -> u32 {
    lift::<FTZ>(a, libm::log2)
}

pub(crate) fn ex2<const FTZ: bool>(a: u32) -> u32 {
    lift::<FTZ>(a, libm::exp2)
}

/// `tanh.approx.f32`, whose relative error is up to 2^-11: 11 bits are kept.
pub(crate) fn tanh(a: u32) -> u32 {
    lift::<false>(a, |x| {
        let exact = libm::tanh(x);
        if exact == 0.0 || !exact.is_finite() {
            return exact;
        }
        let step = f64::from_bits(exact.abs().to_bits() & (0x7ff << 52)) / f64::from(1 << 10);
        (exact / step).round_ties_even() * step
    })
}

pub(crate) fn div_full<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = if FTZ { (flush(a), flush(b)) } else { (a, b) };
    let quotient = f64::from(f32::from_bits(a)) / f64::from(f32::from_bits(b));
    output::<FTZ, false>(quotient as f32)
}

/// `div.approx.f32`: divisors of at least 2^126 give zero, or NaN under an infinity.
pub(crate) fn div<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let y = f32::from_bits(b);
    if y.abs() > f32::from_bits(0x7e80_0000) && y.is_finite() {
        let x = f32::from_bits(a);
        let zero = if x.is_sign_negative() == y.is_sign_negative() { 0.0 } else { -0.0 };
        return output::<FTZ, false>(if x.is_finite() { zero } else { f32::NAN });
    }
    div_full::<FTZ>(a, b)
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` see only the upper half of their input.
fn coarse(a: u64, f: impl Fn(f64) -> f64) -> u64 {
    let a = a & 0xffff_ffff_0000_0000;
    let a = if a & 0x7ff0_0000_0000_0000 == 0 { a & (1 << 63) } else { a };
    let value = f(f64::from_bits(a));
    let bits = if value.is_nan() { 0x7fff_ffff_0000_0000 } else { value.to_bits() };
    let bits = if bits & 0x7ff0_0000_0000_0000 == 0 { bits & (1 << 63) } else { bits };
    bits & 0xffff_ffff_0000_0000
}

/// `rcp.approx.ftz.f64`
pub(crate) fn rcp64(a: u64) -> u64 {
    coarse(a, |x| 1.0 / x)
}

/// `rsqrt.approx.ftz.f64`
pub(crate) fn rsqrt64(a: u64) -> u64 {
    coarse(a, |x| 1.0 / x.sqrt())
}

/// `rsqrt.approx.f64`
pub(crate) fn rsqrt64_full(a: u64) -> u64 {
    let value = 1.0 / f64::from_bits(a).sqrt();
    if value.is_nan() { 0x7fff_ffff_ffff_ffff } else { value.to_bits() }
}

fn lift_half<H: Half>(a: u32, f: impl Fn(f64) -> f64) -> u32 {
    H::from_f32(f(f64::from(H::to_f32(a & 0xffff))) as f32)
}

pub(crate) fn ex2_f16(a: u32) -> u32 {
    lift_half::<F16Type>(a, libm::exp2)
}

/// `ex2.approx.ftz.bf16`
pub(crate) fn ex2_bf16(a: u32) -> u32 {
    let a = if a & 0x7f80 == 0 { a & 0x8000 } else { a };
    lift_half::<Bf16Type>(a, libm::exp2)
}

pub(crate) fn tanh_f16(a: u32) -> u32 {
    lift_half::<F16Type>(a, libm::tanh)
}

pub(crate) fn tanh_bf16(a: u32) -> u32 {
    lift_half::<Bf16Type>(a, libm::tanh)
}
