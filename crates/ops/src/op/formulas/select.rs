//! Choices between values, and copies.

use crate::record::{DType, tensor::round_to};

use super::{
    super::{Call, InferError, broadcast},
    Bound,
    activation::limit,
    number, opt_number,
};

pub(crate) fn identity(x: f64) -> f64 {
    x
}

/// The larger of two values; NaN where one of them is.
pub(crate) fn maximum(left: f64, right: f64) -> f64 {
    if left.is_nan() || right.is_nan() { f64::NAN } else { left.max(right) }
}

/// The smaller of two values; NaN where one of them is.
pub(crate) fn minimum(left: f64, right: f64) -> f64 {
    if left.is_nan() || right.is_nan() { f64::NAN } else { left.min(right) }
}

/// The step function: the value at 0 is given.
pub(crate) fn heaviside(x: f64, at_zero: f64) -> f64 {
    if x == 0.0 { at_zero } else { f64::from(u8::from(x > 0.0)) }
}

/// A bound of NaN makes everything NaN where both are given; alone it is no bound.
pub(crate) fn clamp(call: &Call<'_>, dtype: DType) -> Bound {
    let (low, high) = (opt_number(call, "min", dtype)?, opt_number(call, "max", dtype)?);
    let lowest = f64::NEG_INFINITY;
    match (low, high) {
        (None, None) => Err(InferError::value("min", "None", "given where `max` is None")),
        (Some(low), Some(high)) if low.is_nan() || high.is_nan() => Ok(Box::new(|_| f64::NAN)),
        (low, high) => {
            let (low, high) = (low.unwrap_or(lowest), high.unwrap_or(f64::INFINITY));
            Ok(Box::new(move |at| limit(at[0], low, high)))
        }
    }
}

/// Limits that are tensors; NaN in any of them stays.
pub(crate) fn clamp_tensors(call: &Call<'_>, dtype: DType) -> Bound {
    if dtype == DType::Bool {
        return Err(InferError::dtype("self", dtype, "a type of numbers"));
    }
    match (call.opt_tensor("min"), call.opt_tensor("max")) {
        (None, None) => Err(InferError::value("min", "None", "given where `max` is None")),
        (Some(_), None) => Ok(Box::new(|at| maximum(at[0], at[1]))),
        (None, Some(_)) => Ok(Box::new(|at| minimum(at[0], at[1]))),
        (Some(_), Some(_)) => Ok(Box::new(|at| minimum(maximum(at[0], at[1]), at[2]))),
    }
}

pub(crate) fn clamp_min(call: &Call<'_>, dtype: DType) -> Bound {
    let low = number(call, "min", dtype)?;
    Ok(Box::new(move |at| maximum(at[0], low)))
}

pub(crate) fn clamp_max(call: &Call<'_>, dtype: DType) -> Bound {
    let high = number(call, "max", dtype)?;
    Ok(Box::new(move |at| minimum(at[0], high)))
}

pub(crate) fn nan_to_num(call: &Call<'_>, dtype: DType) -> Bound {
    let nan = call.opt_number("nan")?.unwrap_or(0.0);
    let above = call.opt_number("posinf")?.unwrap_or(dtype.max_value());
    let below = call.opt_number("neginf")?.unwrap_or(-dtype.max_value());
    Ok(Box::new(move |at| match at[0] {
        x if x.is_nan() => nan,
        f64::INFINITY => above,
        f64::NEG_INFINITY => below,
        x => x,
    }))
}

/// Elements: condition, self, other.
pub(crate) fn choose(_call: &Call<'_>, _dtype: DType) -> Bound {
    Ok(Box::new(|at| if at[0] == 0.0 { at[2] } else { at[1] }))
}

/// Elements: self, mask.
pub(crate) fn fill_number(call: &Call<'_>, dtype: DType) -> Bound {
    let value = round_to(dtype, number(call, "value", dtype)?);
    Ok(Box::new(move |at| if at[1] == 0.0 { at[0] } else { value }))
}

/// Elements: self, mask, value.
pub(crate) fn fill_tensor(call: &Call<'_>, _dtype: DType) -> Bound {
    let value = call.tensor("value")?;
    if value.ndim() != 0 {
        return Err(InferError::shape("value", &value.shape, "[] (0-dim)"));
    }
    Ok(Box::new(|at| if at[1] == 0.0 { at[0] } else { at[2] }))
}

/// Elements: self, src.
pub(crate) fn copy(call: &Call<'_>, _dtype: DType) -> Bound {
    let (to, from) = (call.tensor("self")?, call.tensor("src")?);
    if broadcast(&to.shape, &from.shape).as_ref() != Ok(&to.shape) {
        let wanted = format!("what broadcasts to {:?}", to.shape);
        return Err(InferError::shape("src", &from.shape, wanted));
    }
    Ok(Box::new(|at| at[1]))
}
