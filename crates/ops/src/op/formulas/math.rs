//! Functions of analysis, and rounding to whole numbers.

use crate::record::DType;

use super::{super::Call, Bound};

pub(crate) fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

pub(crate) fn square(x: f64) -> f64 {
    x * x
}

pub(crate) fn negative(x: f64) -> f64 {
    -x
}

/// -1, 0 or 1; 0 for NaN.
pub(crate) fn sign(x: f64) -> f64 {
    f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))
}

/// libm takes large negative numbers for positive ones.
pub(crate) fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

pub(crate) fn sinc(x: f64) -> f64 {
    let turns = x * std::f64::consts::PI;
    if x == 0.0 { 1.0 } else { turns.sin() / turns }
}

pub(crate) fn radians(degrees: f64) -> f64 {
    degrees * (std::f64::consts::PI / 180.0)
}

pub(crate) fn degrees(radians: f64) -> f64 {
    radians * (180.0 / std::f64::consts::PI)
}

/// The angle of a real number in the complex plane.
pub(crate) fn angle(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x < 0.0 {
        std::f64::consts::PI
    } else {
        0.0
    }
}

pub(crate) fn frac(x: f64) -> f64 {
    x - x.trunc()
}

/// `log(z / (1 - z))` with z the input limited to `[eps, 1 - eps]`.
pub(crate) fn logit(call: &Call<'_>, _dtype: DType) -> Bound {
    let eps = call.opt_number("eps")?;
    Ok(Box::new(move |at| {
        let z = limited(at[0], eps);
        (z / (1.0 - z)).ln()
    }))
}

/// The scale of logit: how much a rounding of `1 - z` or of `1 - eps` moves the result.
pub(crate) fn logit_scale(call: &Call<'_>, _dtype: DType) -> Bound {
    let eps = call.opt_number("eps")?;
    Ok(Box::new(move |at| {
        let scale = 1.0 / (1.0 - limited(at[0], eps));
        if scale.is_finite() { scale.abs() } else { 0.0 }
    }))
}

fn limited(x: f64, eps: Option<f64>) -> f64 {
    match eps {
        Some(eps) if x < eps => eps,
        Some(eps) if x > 1.0 - eps => 1.0 - eps,
        _ => x,
    }
}
