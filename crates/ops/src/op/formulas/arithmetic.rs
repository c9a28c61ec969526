//! Arithmetic of two or three tensors, or of a tensor and a number.

use crate::record::{DType, tensor::round_to};

use super::{
    super::{Call, InferError, Scalar},
    Bound, factor, fitting, number,
};

pub(crate) fn add(call: &Call<'_>, dtype: DType) -> Bound {
    let alpha = factor(call, "alpha", dtype)?;
    Ok(Box::new(move |at| at[0] + alpha * at[1]))
}

pub(crate) fn add_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    let added = factor(call, "alpha", dtype)? * call.number("other")?;
    Ok(Box::new(move |at| at[0] + added))
}

/// Refuses a subtraction in which anything is bool.
fn no_bools(call: &Call<'_>) -> Result<(), InferError> {
    let tensors =
        ["self", "other"].into_iter().filter_map(|name| Some((name, call.opt_tensor(name)?)));
    for (name, spec) in tensors {
        if spec.dtype == DType::Bool {
            return Err(InferError::dtype(name, spec.dtype, "no bool in a subtraction"));
        }
    }
    match call.opt_scalar("other") {
        Ok(Some(Scalar::Bool(value))) => {
            Err(InferError::value("other", value, "no truth value in a subtraction"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn sub(call: &Call<'_>, dtype: DType) -> Bound {
    no_bools(call)?;
    let alpha = factor(call, "alpha", dtype)?;
    Ok(Box::new(move |at| at[0] - alpha * at[1]))
}

pub(crate) fn sub_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    no_bools(call)?;
    let subtracted = factor(call, "alpha", dtype)? * call.number("other")?;
    Ok(Box::new(move |at| at[0] - subtracted))
}

pub(crate) fn rsub_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    no_bools(call)?;
    let (alpha, other) = (factor(call, "alpha", dtype)?, call.number("other")?);
    Ok(Box::new(move |at| other - alpha * at[0]))
}

pub(crate) fn mul(left: f64, right: f64) -> f64 {
    left * right
}

pub(crate) fn mul_scalar(call: &Call<'_>, _dtype: DType) -> Bound {
    let other = call.number("other")?;
    Ok(Box::new(move |at| at[0] * other))
}

pub(crate) fn div(left: f64, right: f64) -> f64 {
    left / right
}

pub(crate) fn div_scalar(call: &Call<'_>, _dtype: DType) -> Bound {
    let other = call.number("other")?;
    Ok(Box::new(move |at| at[0] / other))
}

pub(crate) fn div_mode(call: &Call<'_>, dtype: DType) -> Bound {
    let Some(mode) = call.opt_str("rounding_mode")? else {
        return Ok(Box::new(|at| div(at[0], at[1])));
    };
    if dtype == DType::Bool {
        return Err(InferError::dtype("self", dtype, "a type of numbers where a mode is given"));
    }
    match (mode, dtype.is_float()) {
        ("trunc", true) => Ok(Box::new(|at| (at[0] / at[1]).trunc())),
        ("trunc", false) => Ok(Box::new(|at| whole(at[0], at[1], i64::wrapping_div))),
        ("floor", true) => Ok(Box::new(|at| floor_quotient(at[0], at[1]))),
        ("floor", false) => Ok(Box::new(|at| whole(at[0], at[1], floored))),
        (other, _) => Err(InferError::value("rounding_mode", other, "None, trunc or floor")),
    }
}

pub(crate) fn floor_divide(_call: &Call<'_>, dtype: DType) -> Bound {
    if dtype.is_float() {
        Ok(Box::new(|at| floor_quotient(at[0], at[1])))
    } else {
        Ok(Box::new(|at| whole(at[0], at[1], floored)))
    }
}

/// Applies integer arithmetic; a division by 0, which is refused earlier, gives 0.
#[expect(clippy::cast_possible_truncation, reason = "operands of integer types are whole")]
#[expect(clippy::cast_precision_loss, reason = "kgen's integers are below 2^53")]
fn whole(left: f64, right: f64, of: fn(i64, i64) -> i64) -> f64 {
    if right == 0.0 { 0.0 } else { of(left as i64, right as i64) as f64 }
}

const fn floored(left: i64, right: i64) -> i64 {
    let quotient = left.wrapping_div(right);
    let inexact = left.wrapping_rem(right) != 0;
    if inexact && (left < 0) != (right < 0) { quotient - 1 } else { quotient }
}

/// The floor of the exact quotient: from the remainder, since the rounded quotient may already be
/// the next whole number.
fn floor_quotient(left: f64, right: f64) -> f64 {
    if right == 0.0 {
        return left / right;
    }
    let rest = left % right;
    let mut quotient = (left - rest) / right;
    if rest != 0.0 && (right < 0.0) != (rest < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return 0.0_f64.copysign(left / right);
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}

/// The remainder of truncated division, with the sign of the dividend.
pub(crate) fn fmod(left: f64, right: f64) -> f64 {
    left % right
}

/// The remainder of floored division, with the sign of the divisor.
pub(crate) fn remainder(left: f64, right: f64) -> f64 {
    let rest = left % right;
    if rest != 0.0 && (right < 0.0) != (rest < 0.0) { rest + right } else { rest }
}

pub(crate) fn pow(_call: &Call<'_>, dtype: DType) -> Bound {
    if dtype.is_float() {
        Ok(Box::new(|at| at[0].powf(at[1])))
    } else {
        Ok(Box::new(|at| whole_power(at[0], at[1])))
    }
}

/// A power of integers: it wraps, and a negative exponent gives the whole part of the fraction.
#[expect(clippy::cast_possible_truncation, reason = "operands of integer types are whole")]
#[expect(clippy::cast_sign_loss, reason = "only exponents that are not negative get there")]
#[expect(clippy::cast_precision_loss, reason = "kgen's integers are below 2^53")]
fn whole_power(base: f64, exponent: f64) -> f64 {
    let (base, exponent) = (base as i64, exponent as i64);
    if exponent < 0 {
        return match base {
            1 => 1.0,
            -1 if exponent % 2 == 0 => 1.0,
            -1 => -1.0,
            _ => 0.0,
        };
    }
    let (mut power, mut square, mut left) = (1_i64, base, exponent as u64);
    while left > 0 {
        if left % 2 == 1 {
            power = power.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left /= 2;
    }
    power as f64
}

pub(crate) fn pow_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    let scalar = call.scalar("exponent")?;
    let exponent = scalar.value();
    if !dtype.is_float() {
        let whole = matches!(scalar, Scalar::Int(_) | Scalar::Bool(_));
        if whole && exponent < 0.0 {
            return Err(InferError::value("exponent", exponent, "not negative for integers"));
        }
        return Ok(Box::new(move |at| whole_power(at[0], exponent)));
    }
    if exponent.is_finite() && round_to(dtype, exponent).is_infinite() && dtype == DType::F16 {
        return Err(InferError::value("exponent", exponent, "in the range of f16"));
    }
    // torch takes roots there, so that -Inf gives NaN and not Inf.
    Ok(match exponent {
        0.5 => Box::new(|at| at[0].sqrt()),
        -0.5 => Box::new(|at| 1.0 / at[0].sqrt()),
        _ => Box::new(move |at| at[0].powf(exponent)),
    })
}

pub(crate) fn addcmul(call: &Call<'_>, dtype: DType) -> Bound {
    let value = number(call, "value", dtype)?;
    Ok(Box::new(move |at| at[0] + value * at[1] * at[2]))
}

pub(crate) fn addcdiv(call: &Call<'_>, dtype: DType) -> Bound {
    let (dividend, divisor) = (call.tensor("tensor1")?, call.tensor("tensor2")?);
    if !dividend.dtype.is_float() && !divisor.dtype.is_float() {
        let wanted = "a floating-point type, or `tensor2` of one";
        return Err(InferError::dtype("tensor1", dividend.dtype, wanted));
    }
    let value = fitting("value", call.scalar("value")?, dtype)?;
    Ok(Box::new(move |at| at[0] + value * at[1] / at[2]))
}

pub(crate) fn lerp_scalar(call: &Call<'_>, _dtype: DType) -> Bound {
    let weight = call.number("weight")?;
    Ok(Box::new(move |at| lerp(at[0], at[1], weight)))
}

pub(crate) fn lerp_tensor(_call: &Call<'_>, _dtype: DType) -> Bound {
    Ok(Box::new(|at| lerp(at[0], at[1], at[2])))
}

/// From the nearer end, so that a weight of 1 gives `end`.
fn lerp(start: f64, end: f64, weight: f64) -> f64 {
    let way = end - start;
    if weight.abs() < 0.5 { start + weight * way } else { end - way * (1.0 - weight) }
}

/// The greatest common divisor; 0 of two zeros.
pub(crate) fn gcd(left: f64, right: f64) -> f64 {
    let (mut left, mut right) = (left.abs(), right.abs());
    while right != 0.0 {
        (left, right) = (right, left % right);
    }
    left
}

/// The number of a type that is next to one towards another.
#[expect(clippy::float_cmp, reason = "equal numbers have no next one between them")]
pub(crate) fn next_after(_call: &Call<'_>, dtype: DType) -> Bound {
    // Digits of the significand, and the exponent of the smallest normal number.
    let (digits, lowest) = match dtype {
        DType::F64 => (53, -1022),
        DType::F32 => (24, -126),
        DType::BF16 => (8, -126),
        DType::F16 => (11, -14),
        _ => return Err(InferError::dtype("self", dtype, "f64, f32, f16 or bf16")),
    };
    let largest = dtype.max_value();
    Ok(Box::new(move |at| {
        let (from, to) = (at[0], at[1]);
        if from.is_nan() || to.is_nan() {
            return f64::NAN;
        }
        if from == to {
            return to;
        }
        let up = from < to;
        if from.is_infinite() {
            return largest.copysign(from);
        }
        // Towards 0 from a power of two the step is half as large.
        let inward = if up { from < 0.0 } else { from > 0.0 };
        let size = if inward { from.abs().next_down() } else { from.abs() };
        let exponent = if size == 0.0 { lowest } else { libm::ilogb(size).max(lowest) };
        let step = libm::scalbn(1.0, exponent - digits + 1);
        let next = if up { from + step } else { from - step };
        if next.abs() > largest { f64::INFINITY.copysign(next) } else { next }
    }))
}
