//! Comparisons, truth values and bits. Truth values are 0 and 1.

use crate::record::DType;

use super::{
    super::{Call, InferError},
    Bound, converted,
};

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

pub(crate) fn is_nan(x: f64) -> f64 {
    truth(x.is_nan())
}

pub(crate) fn is_inf(x: f64) -> f64 {
    truth(x.is_infinite())
}

pub(crate) fn is_finite(x: f64) -> f64 {
    truth(x.is_finite())
}

pub(crate) fn is_pos_inf(x: f64) -> f64 {
    truth(x == f64::INFINITY)
}

pub(crate) fn is_neg_inf(x: f64) -> f64 {
    truth(x == f64::NEG_INFINITY)
}

pub(crate) fn is_negative(x: f64) -> f64 {
    truth(x.is_sign_negative())
}

pub(crate) fn eq(left: f64, right: f64) -> f64 {
    truth(left == right)
}

pub(crate) fn ne(left: f64, right: f64) -> f64 {
    truth(left != right)
}

pub(crate) fn lt(left: f64, right: f64) -> f64 {
    truth(left < right)
}

pub(crate) fn le(left: f64, right: f64) -> f64 {
    truth(left <= right)
}

pub(crate) fn gt(left: f64, right: f64) -> f64 {
    truth(left > right)
}

pub(crate) fn ge(left: f64, right: f64) -> f64 {
    truth(left >= right)
}

/// Whether two elements differ by little.
#[expect(clippy::float_cmp, reason = "equal infinities are close")]
pub(crate) fn is_close(call: &Call<'_>, _dtype: DType) -> Bound {
    let (rtol, atol) = (tolerance(call, "rtol")?, tolerance(call, "atol")?);
    let equal_nan = call.bool("equal_nan")?;
    Ok(Box::new(move |at| {
        let (left, right) = (at[0], at[1]);
        let near =
            (left - right).is_finite() && (left - right).abs() <= atol + (rtol * right).abs();
        truth(left == right || near || equal_nan && left.is_nan() && right.is_nan())
    }))
}

fn tolerance(call: &Call<'_>, name: &str) -> Result<f64, InferError> {
    let value = call.number(name)?;
    if value >= 0.0 { Ok(value) } else { Err(InferError::value(name, value, "not negative")) }
}

/// Compares with the number `other`, converted to the type of the comparison.
fn with_number(call: &Call<'_>, dtype: DType, compare: fn(f64, f64) -> f64) -> Bound {
    let other = converted(call, "other", dtype)?;
    Ok(Box::new(move |at| compare(at[0], other)))
}

pub(crate) fn eq_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    with_number(call, dtype, eq)
}

pub(crate) fn ne_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    with_number(call, dtype, ne)
}

pub(crate) fn lt_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    with_number(call, dtype, lt)
}

pub(crate) fn le_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    with_number(call, dtype, le)
}

pub(crate) fn gt_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    with_number(call, dtype, gt)
}

pub(crate) fn ge_scalar(call: &Call<'_>, dtype: DType) -> Bound {
    with_number(call, dtype, ge)
}

pub(crate) fn logical_not(x: f64) -> f64 {
    truth(x == 0.0)
}

pub(crate) fn logical_and(left: f64, right: f64) -> f64 {
    truth(left != 0.0 && right != 0.0)
}

pub(crate) fn logical_or(left: f64, right: f64) -> f64 {
    truth(left != 0.0 || right != 0.0)
}

pub(crate) fn logical_xor(left: f64, right: f64) -> f64 {
    truth((left != 0.0) != (right != 0.0))
}

/// Applies a function to the bits of integers; bool is 0 or 1.
#[expect(clippy::cast_possible_truncation, reason = "operands of integer types are whole")]
#[expect(clippy::cast_precision_loss, reason = "kgen's integers are below 2^53")]
fn bits(left: f64, right: f64, of: impl Fn(i64, i64) -> i64) -> f64 {
    of(left as i64, right as i64) as f64
}

pub(crate) fn bitwise_and(left: f64, right: f64) -> f64 {
    bits(left, right, |left, right| left & right)
}

pub(crate) fn bitwise_or(left: f64, right: f64) -> f64 {
    bits(left, right, |left, right| left | right)
}

pub(crate) fn bitwise_xor(left: f64, right: f64) -> f64 {
    bits(left, right, |left, right| left ^ right)
}

pub(crate) fn left_shift(left: f64, right: f64) -> f64 {
    bits(left, right, shifted_left)
}

pub(crate) fn right_shift(left: f64, right: f64) -> f64 {
    bits(left, right, shifted_right)
}

/// Bits beyond those of a narrower type fall away where the result is stored.
pub(crate) fn shifted_left(value: i64, by: i64) -> i64 {
    u32::try_from(by).ok().and_then(|by| value.checked_shl(by)).unwrap_or(0)
}

pub(crate) fn shifted_right(value: i64, by: i64) -> i64 {
    let all = value >> 63;
    u32::try_from(by).ok().and_then(|by| value.checked_shr(by)).unwrap_or(all)
}

pub(crate) fn bitwise_not(_call: &Call<'_>, dtype: DType) -> Bound {
    let bool = dtype == DType::Bool;
    Ok(Box::new(move |at| if bool { logical_not(at[0]) } else { -1.0 - at[0] }))
}
