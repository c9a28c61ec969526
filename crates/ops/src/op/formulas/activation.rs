//! Activations.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use crate::record::{DType, tensor::round_to};

use super::{
    super::{Call, InferError},
    Bound, number,
};

/// Coefficient of the cubic term in gelu's tanh form.
pub(super) const GELU_CUBIC: f64 = 0.044_715;

/// The two constants of selu.
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

/// Limits a value; NaN stays NaN, an upper limit below the lower one wins.
pub(crate) fn limit(x: f64, low: f64, high: f64) -> f64 {
    let above = if x < low { low } else { x };
    if above > high { high } else { above }
}

pub(crate) fn relu(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

pub(crate) fn relu6(x: f64) -> f64 {
    limit(x, 0.0, 6.0)
}

pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub(crate) fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// `x Φ(x)` by the complementary error function, which keeps its digits for negative x.
pub(crate) fn gelu_erf(x: f64) -> f64 {
    x * 0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// `0.5 x (1 + tanh z)` as `x / (1 + exp(-2z))`, which keeps its digits for negative x.
pub(crate) fn gelu_tanh(x: f64) -> f64 {
    let z = FRAC_2_PI.sqrt() * (x + GELU_CUBIC * x * x * x);
    x / (1.0 + (-2.0 * z).exp())
}

pub(crate) fn gelu(call: &Call<'_>, _dtype: DType) -> Bound {
    match call.str("approximate")? {
        "none" => Ok(Box::new(|at| gelu_erf(at[0]))),
        "tanh" => Ok(Box::new(|at| gelu_tanh(at[0]))),
        other => Err(InferError::value("approximate", other, "none or tanh")),
    }
}

pub(crate) fn mish(x: f64) -> f64 {
    x * log1p_exp(x).tanh()
}

/// `log(1 + exp(x))` without overflow.
pub(super) fn log1p_exp(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

pub(crate) fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

pub(crate) fn hardsigmoid(x: f64) -> f64 {
    limit(x + 3.0, 0.0, 6.0) / 6.0
}

pub(crate) fn hardswish(x: f64) -> f64 {
    x * limit(x + 3.0, 0.0, 6.0) / 6.0
}

pub(crate) fn softsign(x: f64) -> f64 {
    x / (1.0 + x.abs())
}

pub(crate) fn leaky_relu(call: &Call<'_>, _dtype: DType) -> Bound {
    let slope = call.number("negative_slope")?;
    Ok(Box::new(move |at| if at[0] > 0.0 { at[0] } else { at[0] * slope }))
}

pub(crate) fn prelu(x: f64, weight: f64) -> f64 {
    if x > 0.0 { x } else { x * weight }
}

/// `scale * (x if x > 0 else alpha * expm1(input_scale * x))`.
fn exponential_unit(alpha: f64, scale: f64, input_scale: f64) -> Bound {
    Ok(Box::new(move |at| {
        let x = at[0];
        if x <= 0.0 { (x * input_scale).exp_m1() * alpha * scale } else { x * scale }
    }))
}

pub(crate) fn elu(call: &Call<'_>, _dtype: DType) -> Bound {
    let (alpha, scale) = (call.number("alpha")?, call.number("scale")?);
    exponential_unit(alpha, scale, call.number("input_scale")?)
}

pub(crate) fn selu(_call: &Call<'_>, _dtype: DType) -> Bound {
    exponential_unit(SELU_ALPHA, SELU_SCALE, 1.0)
}

pub(crate) fn celu(call: &Call<'_>, _dtype: DType) -> Bound {
    let alpha = call.number("alpha")?;
    if alpha == 0.0 {
        return Err(InferError::value("alpha", alpha, "not 0"));
    }
    exponential_unit(alpha, 1.0, 1.0 / alpha)
}

pub(crate) fn softplus(call: &Call<'_>, _dtype: DType) -> Bound {
    let (beta, threshold) = (call.number("beta")?, call.number("threshold")?);
    Ok(Box::new(move |at| {
        let scaled = at[0] * beta;
        if scaled > threshold { at[0] } else { scaled.exp().ln_1p() / beta }
    }))
}

/// A threshold of a shrinking function.
fn lambda(call: &Call<'_>) -> Result<f64, InferError> {
    call.number("lambd")
}

pub(crate) fn softshrink(call: &Call<'_>, dtype: DType) -> Bound {
    let lambda = lambda(call)?;
    if !(0.0..=dtype.max_value()).contains(&lambda) {
        return Err(InferError::value("lambd", lambda, "0 or a positive number of the dtype"));
    }
    Ok(Box::new(move |at| match at[0] {
        x if x > lambda => x - lambda,
        x if x < -lambda => x + lambda,
        x if x.is_nan() => x,
        _ => 0.0,
    }))
}

pub(crate) fn hardshrink(call: &Call<'_>, dtype: DType) -> Bound {
    let lambda = round_to(dtype, lambda(call)?);
    let inside = move |x: f64| x >= -lambda && x <= lambda;
    Ok(Box::new(move |at| if inside(at[0]) { 0.0 } else { at[0] }))
}

pub(crate) fn threshold(call: &Call<'_>, dtype: DType) -> Bound {
    let threshold = number(call, "threshold", dtype)?;
    let threshold = round_to(dtype, threshold);
    let value = number(call, "value", dtype)?;
    Ok(Box::new(move |at| if at[0] <= threshold { value } else { at[0] }))
}

pub(crate) fn hardtanh(call: &Call<'_>, dtype: DType) -> Bound {
    for name in ["min_val", "max_val"] {
        let bound = call.number(name)?;
        if dtype == DType::U8 && bound < 0.0 {
            return Err(InferError::value(name, bound, "not negative, as the input is u8"));
        }
    }
    let (low, high) = (number(call, "min_val", dtype)?, number(call, "max_val", dtype)?);
    Ok(Box::new(move |at| limit(at[0], low, high)))
}
