//! Gradients of activations, in f64: of the result's gradient and the input, or the result, of the forward op.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, PI};

use crate::record::{DType, tensor::round_to};

use super::{
    super::{Call, InferError, broadcast},
    Bound, FLOOR,
    activation::{GELU_CUBIC, log1p_exp, sigmoid},
    number,
};

pub(crate) fn threshold(call: &Call<'_>, dtype: DType) -> Bound {
    let threshold = round_to(dtype, number(call, "threshold", dtype)?);
    Ok(Box::new(move |at| if at[1] <= threshold { 0.0 } else { at[0] }))
}

pub(crate) fn hardtanh(call: &Call<'_>, dtype: DType) -> Bound {
    // 16-bit elements are compared in f32, with limits that were never rounded to their type.
    let compared = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let low = round_to(compared, number(call, "min_val", dtype)?);
    let high = round_to(compared, number(call, "max_val", dtype)?);
    Ok(Box::new(move |at| if at[1] <= low || at[1] >= high { 0.0 } else { at[0] }))
}

pub(crate) fn sigmoid_of(grad: f64, y: f64) -> f64 {
    grad * (1.0 - y) * y
}

pub(crate) fn tanh(grad: f64, y: f64) -> f64 {
    grad * (1.0 - y * y)
}

pub(crate) fn silu(grad: f64, x: f64) -> f64 {
    let s = sigmoid(x);
    // exp(-x) is finite in f64 far beyond where its product with x is 0.
    grad * s * (1.0 + x * (1.0 - s))
}

/// Where sigmoid is 1 and tanh 1 or -1 in f32: beyond, their differences from it are exactly 0.
const SATURATED: f64 = 17.0;

/// 1 and x times a difference that cancels, or what underflows in f32.
pub(crate) fn silu_scale(grad: f64, x: f64) -> f64 {
    let scale = grad.abs() * (sigmoid(x) * (1.0 + x.abs().min(SATURATED)) + FLOOR);
    if scale.is_finite() { scale } else { 0.0 }
}

pub(crate) fn mish(grad: f64, x: f64) -> f64 {
    let tanh = log1p_exp(x).tanh();
    grad * (tanh + x * sigmoid(x) * (1.0 - tanh * tanh))
}

/// The two summands of [`mish`], before 1 - t² cancels, or what underflows in f32.
pub(crate) fn mish_scale(grad: f64, x: f64) -> f64 {
    let scale = grad.abs() * (log1p_exp(x).tanh() + x.abs() * sigmoid(x) + FLOOR);
    if scale.is_finite() { scale } else { 0.0 }
}

/// `Φ(x) + x φ(x)`.
fn gelu_erf(grad: f64, x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
    grad * (0.5 * libm::erfc(-x * FRAC_1_SQRT_2) + x * density)
}

fn gelu_tanh(grad: f64, x: f64) -> f64 {
    let factor = FRAC_2_PI.sqrt();
    let tanh = (factor * (x + GELU_CUBIC * x * x * x)).tanh();
    let inner = factor * (1.0 + 3.0 * GELU_CUBIC * x * x);
    grad * (0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * inner)
}

pub(crate) fn gelu(call: &Call<'_>, _dtype: DType) -> Bound {
    match call.str("approximate")? {
        "none" => Ok(Box::new(|at| gelu_erf(at[0], at[1]))),
        "tanh" => Ok(Box::new(|at| gelu_tanh(at[0], at[1]))),
        other => Err(InferError::value("approximate", other, "none or tanh")),
    }
}

/// |grad|, and for tanh's form what 1 - t² is multiplied by, as long as it is not 0 in f32.
pub(crate) fn gelu_scale(call: &Call<'_>, _dtype: DType) -> Bound {
    const SATURATED: f64 = 6.0;
    let is_tanh = call.str("approximate")? == "tanh";
    Ok(Box::new(move |at| {
        let x = if is_tanh { at[1].abs().min(SATURATED) } else { 0.0 };
        let inner = FRAC_2_PI.sqrt() * (1.0 + 3.0 * GELU_CUBIC * x * x);
        let scale = at[0].abs() * (1.0 + 0.5 * x * inner);
        if scale.is_finite() { scale } else { 0.0 }
    }))
}

pub(crate) fn leaky_relu(call: &Call<'_>, _dtype: DType) -> Bound {
    let slope = call.number("negative_slope")?;
    if slope < 0.0 && call.bool("self_is_result")? {
        return Err(InferError::value("negative_slope", slope, "not negative beside a result"));
    }
    Ok(Box::new(move |at| if at[1] > 0.0 { at[0] } else { at[0] * slope }))
}

pub(crate) fn elu(call: &Call<'_>, _dtype: DType) -> Bound {
    let (alpha, scale) = (call.number("alpha")?, call.number("scale")?);
    let input_scale = call.number("input_scale")?;
    let is_result = call.bool("is_result")?;
    if is_result && alpha < 0.0 {
        return Err(InferError::value("alpha", alpha, "not negative beside a result"));
    }
    Ok(Box::new(move |at| {
        let (grad, x) = (at[0], at[1]);
        match (x <= 0.0, is_result) {
            (false, _) => grad * scale,
            (true, true) => grad * input_scale * (x + alpha * scale),
            (true, false) => grad * input_scale * alpha * scale * (x * input_scale).exp(),
        }
    }))
}

/// The two summands of [`elu`] of a result, or what underflows in f32.
pub(crate) fn elu_scale(call: &Call<'_>, _dtype: DType) -> Bound {
    let alpha = call.number("alpha")? * call.number("scale")?;
    let input_scale = call.number("input_scale")?;
    let is_result = call.bool("is_result")?;
    Ok(Box::new(move |at| {
        let of = if is_result { at[1].abs() + alpha.abs() } else { FLOOR };
        let scale = (at[0] * input_scale).abs() * of;
        if at[1] <= 0.0 && scale.is_finite() { scale } else { 0.0 }
    }))
}

pub(crate) fn hardswish(grad: f64, x: f64) -> f64 {
    if x <= -3.0 {
        0.0
    } else if x < 3.0 {
        grad * (x / 3.0 + 0.5)
    } else {
        grad
    }
}

/// PyTorch multiplies by the f32 number that is nearest to 1/6, in every type.
pub(crate) fn hardsigmoid(grad: f64, x: f64) -> f64 {
    if x > -3.0 && x < 3.0 { grad * f64::from(1.0_f32 / 6.0) } else { 0.0 }
}

pub(crate) fn softplus(call: &Call<'_>, _dtype: DType) -> Bound {
    let (beta, threshold) = (call.number("beta")?, call.number("threshold")?);
    Ok(Box::new(move |at| {
        let scaled = at[1] * beta;
        if scaled > threshold { at[0] } else { at[0] * sigmoid(scaled) }
    }))
}

/// The scale below which results underflow in f32.
pub(crate) fn floor_scale(grad: f64, _x: f64) -> f64 {
    if grad.is_finite() { grad.abs() * FLOOR } else { 0.0 }
}

/// 2, divided by the number of elements for a mean.
/// Returns 1, or for the mean 1 by the number of elements.
fn reduced(call: &Call<'_>) -> Result<f64, InferError> {
    match call.int("reduction")? {
        1 => Ok(1.0 / call.tensor("self")?.numel() as f64),
        0 | 2 => Ok(1.0),
        other => Err(InferError::value("reduction", other, "0, 1 or 2")),
    }
}

pub(crate) fn mse(call: &Call<'_>, _dtype: DType) -> Bound {
    let factor = 2.0 * reduced(call)?;
    Ok(Box::new(move |at| factor * (at[1] - at[2]) * at[0]))
}

/// Both terms of the difference.
pub(crate) fn mse_scale(call: &Call<'_>, _dtype: DType) -> Bound {
    let factor = 2.0 * reduced(call)?;
    Ok(Box::new(move |at| {
        let scale = factor * (at[1].abs() + at[2].abs()) * at[0].abs();
        if scale.is_finite() { scale } else { 0.0 }
    }))
}

/// Returns a number that is positive.
fn positive(call: &Call<'_>, name: &str) -> Result<f64, InferError> {
    let value = call.number(name)?;
    if value > 0.0 { Ok(value) } else { Err(InferError::value(name, value, "positive")) }
}

pub(crate) fn smooth_l1(call: &Call<'_>, _dtype: DType) -> Bound {
    let (factor, beta) = (reduced(call)?, positive(call, "beta")?);
    Ok(Box::new(move |at| factor * limited(at[1] - at[2], beta) / beta * at[0]))
}

pub(crate) fn huber(call: &Call<'_>, _dtype: DType) -> Bound {
    let (factor, delta) = (reduced(call)?, positive(call, "delta")?);
    Ok(Box::new(move |at| factor * limited(at[1] - at[2], delta) * at[0]))
}

/// NaN stays.
fn limited(x: f64, by: f64) -> f64 {
    if x.is_nan() { x } else { x.clamp(-by, by) }
}

pub(crate) fn smooth_l1_scale(call: &Call<'_>, _dtype: DType) -> Bound {
    limited_scale(reduced(call)? / positive(call, "beta")?, positive(call, "beta")?)
}

pub(crate) fn huber_scale(call: &Call<'_>, _dtype: DType) -> Bound {
    limited_scale(reduced(call)?, positive(call, "delta")?)
}

/// Both terms of a difference that counts below a limit.
fn limited_scale(factor: f64, limit: f64) -> Bound {
    Ok(Box::new(move |at| {
        let terms = at[1].abs() + at[2].abs();
        let near = (at[1] - at[2]).abs() < limit * 1.001;
        let scale = factor * at[0].abs() * if near { terms.max(limit) } else { limit };
        if scale.is_finite() { scale } else { 0.0 }
    }))
}

/// Smallest divisor of the gradient of binary cross-entropy: the f32 number nearest to 1e-12.
const LEAST_VARIANCE: f64 = 1e-12_f32 as f64;

pub(crate) fn binary_cross_entropy(call: &Call<'_>, _dtype: DType) -> Bound {
    let factor = reduced(call)?;
    if let Some(weight) = call.opt_tensor("weight") {
        let others = ["grad_output", "self", "target"].into_iter();
        let shape = others
            .map(|name| call.tensor(name))
            .try_fold(Vec::new(), |shape, spec| broadcast(&shape, &spec?.shape))?;
        if broadcast(&shape, &weight.shape)? != shape {
            let wanted = format!("one that broadcasts to {shape:?}");
            return Err(InferError::shape("weight", &weight.shape, wanted));
        }
    }
    Ok(Box::new(move |at| {
        let (x, weight) = (at[1], at.get(3).copied().unwrap_or(1.0));
        let variance = (1.0 - x) * x;
        let variance = if variance < LEAST_VARIANCE { LEAST_VARIANCE } else { variance };
        factor * weight * at[0] * (x - at[2]) / variance
    }))
}

/// Both terms of the difference, by a divisor whose own difference cancels near 1.
pub(crate) fn binary_cross_entropy_scale(call: &Call<'_>, _dtype: DType) -> Bound {
    let factor = reduced(call)?;
    Ok(Box::new(move |at| {
        let (x, weight) = (at[1], at.get(3).copied().unwrap_or(1.0));
        let variance = ((1.0 - x) * x).max(LEAST_VARIANCE);
        let scale = factor * (weight * at[0]).abs() * (x.abs() + at[2].abs()) / variance;
        if scale.is_finite() { scale } else { 0.0 }
    }))
}

/// The gradient where the forward op shrank towards 0, which it did not within the limit.
pub(crate) fn shrink(call: &Call<'_>, _dtype: DType) -> Bound {
    let lambd = call.number("lambd")?;
    Ok(Box::new(move |at| if at[1] >= -lambd && at[1] <= lambd { 0.0 } else { at[0] }))
}

#[expect(clippy::float_cmp, reason = "the ends of the interval are exact")]
pub(crate) fn logit(call: &Call<'_>, _dtype: DType) -> Bound {
    let eps = call.opt_number("eps")?.filter(|eps| *eps >= 0.0);
    Ok(Box::new(move |at| {
        let (grad, x) = (at[0], at[1]);
        let (low, high) = eps.map_or((0.0, 1.0), |eps| (eps, 1.0 - eps));
        match x {
            x if x < low || x > high => {
                if eps.is_some() {
                    0.0
                } else {
                    f64::NAN
                }
            }
            x if x == 0.0 || x == 1.0 => grad * f64::INFINITY,
            x => grad / (x * (1.0 - x)),
        }
    }))
}
