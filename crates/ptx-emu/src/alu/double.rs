//! f64 instructions. A NaN operand is passed on, quieted, the first one first; an invalid operation
//! gives the default NaN. (f32 instructions instead always give one canonical NaN.)

use super::convert::{F64, Round, decompose, widen};

/// The NaN of invalid operations.
const INVALID: u64 = 0xfff8_0000_0000_0000;

/// Finishes the result of operands that stand in order.
fn output(value: f64, operands: &[u64]) -> u64 {
    if !value.is_nan() {
        return value.to_bits();
    }
    let nan = operands.iter().find(|bits| f64::from_bits(**bits).is_nan());
    nan.map_or(INVALID, |bits| bits | 1 << 51)
}

/// `cvt.f64.f32`: a NaN keeps its payload.
pub(crate) fn of_single(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        widen(u64::from(bits), super::convert::F32, F64)
    } else {
        f64::from(value).to_bits()
    }
}

/// `cvt.rn.f32.f64`
pub(crate) fn to_single(bits: u64) -> u32 {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        return widen(bits, F64, super::convert::F32) as u32;
    }
    (value as f32).to_bits()
}

pub(crate) fn add(a: u64, b: u64) -> u64 {
    output(f64::from_bits(a) + f64::from_bits(b), &[a, b])
}

pub(crate) fn sub(a: u64, b: u64) -> u64 {
    output(f64::from_bits(a) - f64::from_bits(b), &[a, b])
}

pub(crate) fn mul(a: u64, b: u64) -> u64 {
    output(f64::from_bits(a) * f64::from_bits(b), &[a, b])
}

pub(crate) fn div(a: u64, b: u64) -> u64 {
    output(f64::from_bits(a) / f64::from_bits(b), &[a, b])
}

pub(crate) fn rcp(a: u64) -> u64 {
    output(1.0 / f64::from_bits(a), &[a])
}

pub(crate) fn sqrt(a: u64) -> u64 {
    output(f64::from_bits(a).sqrt(), &[a])
}

pub(crate) fn fma(a: u64, b: u64, c: u64) -> u64 {
    let value = libm::fma(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
    // The addend's NaN goes before those of the factors.
    output(value, &[c, a, b])
}

/// The same for hosts where `mul_add` is one instruction.
#[inline(always)]
pub(crate) fn fma_fused(a: u64, b: u64, c: u64) -> u64 {
    let value = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c));
    output(value, &[c, a, b])
}

/// Moves a nearest-rounded value to the other neighbour where the direction asks for it; `error`
/// is the exact result minus `value`.
fn direct(value: f64, error: f64, finite: bool, round: Round) -> u64 {
    if value.is_infinite() && finite {
        let keep = match round {
            Round::Zero => false,
            Round::Down => value < 0.0,
            Round::Up => value > 0.0,
            Round::Nearest | Round::Away => true,
        };
        return if keep { value.to_bits() } else { f64::MAX.copysign(value).to_bits() };
    }
    if !value.is_finite() {
        return value.to_bits();
    }
    let towards_zero = (value > 0.0 && error < 0.0) || (value < 0.0 && error > 0.0);
    match round {
        Round::Zero if towards_zero => (value.to_bits()) - 1,
        Round::Down if error < 0.0 => value.next_down().to_bits(),
        Round::Up if error > 0.0 => value.next_up().to_bits(),
        _ => value.to_bits(),
    }
}

pub(crate) fn add_round(a: u64, b: u64, round: Round) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let sum = x + y;
    if sum.is_nan() {
        return output(sum, &[a, b]);
    }
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    if sum == 0.0 && round == Round::Down && x.to_bits() != y.to_bits() {
        return (-0.0_f64).to_bits();
    }
    direct(sum, error, x.is_finite() && y.is_finite(), round)
}

pub(crate) fn sub_round(a: u64, b: u64, round: Round) -> u64 {
    let minus_b = if f64::from_bits(b).is_nan() { b } else { b ^ (1 << 63) };
    add_round(a, minus_b, round)
}

/// `mul.{rz,rm,rp}.f64`: the product of the mantissas is exact in 128 bits.
pub(crate) fn mul_round(a: u64, b: u64, round: Round) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    if !x.is_finite() || !y.is_finite() {
        return output(x * y, &[a, b]);
    }
    let ((nx, mx, ex), (ny, my, ey)) = (decompose(x), decompose(y));
    F64.pack(nx != ny, u128::from(mx) * u128::from(my), ex + ey, round)
}

/// `div.{rz,rm,rp}.f64`: the quotient of the mantissas to 64 bits and more, its last bit set if
/// something remains.
pub(crate) fn div_round(a: u64, b: u64, round: Round) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    if !x.is_finite() || !y.is_finite() || y == 0.0 {
        return output(x / y, &[a, b]);
    }
    let ((nx, mx, ex), (ny, my, ey)) = (decompose(x), decompose(y));
    // Subnormal mantissas are brought to full length so that the quotient has enough bits.
    let (lift_x, lift_y) = (mx.leading_zeros(), my.leading_zeros());
    if mx == 0 {
        return F64.pack(nx != ny, 0, 0, round);
    }
    let (mx, my) = (u128::from(mx << lift_x) << 63, u128::from(my << lift_y));
    let quotient = (mx / my) << 1 | u128::from(mx % my != 0);
    let exponent = ex - lift_x as i32 - 63 - (ey - lift_y as i32) - 1;
    F64.pack(nx != ny, quotient, exponent, round)
}

pub(crate) fn rcp_round(a: u64, round: Round) -> u64 {
    div_round(1.0_f64.to_bits(), a, round)
}

/// A mantissa brought to 126 bits, and its exponent.
fn normal(mantissa: u128, exponent: i32) -> (u128, i32) {
    let shift = mantissa.leading_zeros() as i32 - 2;
    (mantissa << shift, exponent - shift)
}

/// `fma.{rz,rm,rp}.f64`: the exact product and the addend are aligned in 128 bits; bits that fall
/// off the smaller one's end stays as its last bit.
pub(crate) fn fma_round(a: u64, b: u64, c: u64, round: Round) -> u64 {
    let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
    if !(x.is_finite() && y.is_finite() && z.is_finite()) {
        return fma(a, b, c);
    }
    let ((nx, mx, ex), (ny, my, ey)) = (decompose(x), decompose(y));
    let product = (nx != ny, u128::from(mx) * u128::from(my), ex + ey);
    let (nz, mz, ez) = decompose(z);
    if product.1 == 0 || mz == 0 {
        let zero = product.1 == 0 && mz == 0;
        let negative = if product.0 == nz { nz } else { round == Round::Down };
        return match (zero, mz == 0) {
            (true, _) => F64.pack(negative, 0, 0, round),
            (_, true) => F64.pack(product.0, product.1, product.2, round),
            _ => c,
        };
    }
    let (mut big, mut small) = (normal(product.1, product.2), normal(u128::from(mz), ez));
    let (mut sign, mut other) = (product.0, nz);
    if (small.1, small.0) > (big.1, big.0) {
        (big, small) = (small, big);
        (sign, other) = (other, sign);
    }
    let gap = (big.1 - small.1) as u32;
    let kept = small.0.checked_shr(gap).unwrap_or(0);
    let lost = kept.checked_shl(gap).unwrap_or(0) != small.0;
    let aligned = kept | u128::from(lost);
    let sum = if sign == other { big.0 + aligned } else { big.0 - aligned };
    if sum == 0 {
        return F64.pack(round == Round::Down, 0, 0, round);
    }
    F64.pack(sign, sum, big.1, round)
}

/// `sqrt.{rz,rm,rp}.f64`: the integer root of the mantissa at an even exponent, its last bit set if
/// something remains.
pub(crate) fn sqrt_round(a: u64, round: Round) -> u64 {
    let x = f64::from_bits(a);
    if !x.is_finite() || x <= 0.0 {
        return sqrt(a);
    }
    let (_, mantissa, exponent) = decompose(x);
    let (mut mantissa, mut exponent) = normal(u128::from(mantissa), exponent);
    if exponent % 2 != 0 {
        (mantissa, exponent) = (mantissa << 1, exponent - 1);
    }
    let root = mantissa.isqrt();
    F64.pack(false, root << 1 | u128::from(root * root != mantissa), exponent / 2 - 1, round)
}

/// The result of `min` and `max` of two NaNs.
const NAN: u64 = 0x7fff_ffff_ffff_ffff;

/// `min.f64`, or `max` if `MAX`.
pub(crate) fn extreme<const MAX: bool>(a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let (x_wins, y_wins) = if MAX { (x > y, y > x) } else { (x < y, y < x) };
    match (x.is_nan(), y.is_nan()) {
        (true, true) => NAN,
        (true, false) => b,
        (false, true) => a,
        _ if x_wins => a,
        _ if y_wins => b,
        _ if MAX => a & b,
        _ => a | b,
    }
}

/// `copysign.f64`: the sign of `a` on the magnitude of `b`.
pub(crate) fn copysign(a: u64, b: u64) -> u64 {
    (b & !(1 << 63)) | (a & (1 << 63))
}
