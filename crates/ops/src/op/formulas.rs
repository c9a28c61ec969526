//! Formulas of elementwise ops.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use crate::record::DType;

use super::{Call, InferError, families::pointwise::Formula};

/// Scale below which silu's error does not count: for x under -88, exp(-x) is Inf in f32 and the
/// result 0, which is off by up to 2e-37.
pub(super) const SILU_FLOOR: f64 = 1e-29;

/// Coefficient of the cubic term in gelu's tanh form.
const GELU_CUBIC: f64 = 0.044_715;

type Bound = Result<Formula, InferError>;

/// |x|, 0 where it is not finite: the scale of formulas that cancel.
pub(super) fn magnitude(at: &[f64]) -> f64 {
    if at[0].is_finite() { at[0].abs() } else { 0.0 }
}

pub(super) fn relu(_call: &Call<'_>, _dtype: DType) -> Bound {
    Ok(Box::new(|at| if at[0].is_nan() { at[0] } else { at[0].max(0.0) }))
}

pub(super) fn silu(_call: &Call<'_>, _dtype: DType) -> Bound {
    Ok(Box::new(|at| at[0] / (1.0 + (-at[0]).exp())))
}

/// `x Φ(x)` by the complementary error function, which keeps its digits for negative x; and
/// `0.5 (1 + tanh z)` as `1 / (1 + exp(-2z))`, which does too.
pub(super) fn gelu(call: &Call<'_>, _dtype: DType) -> Bound {
    match call.str("approximate")? {
        "none" => Ok(Box::new(|at| at[0] * 0.5 * libm::erfc(-at[0] * FRAC_1_SQRT_2))),
        "tanh" => Ok(Box::new(|at| {
            let x = at[0];
            let z = FRAC_2_PI.sqrt() * (x + GELU_CUBIC * x * x * x);
            x / (1.0 + (-2.0 * z).exp())
        })),
        other => Err(InferError::value("approximate", other, "none or tanh")),
    }
}

pub(super) fn add(call: &Call<'_>, _dtype: DType) -> Bound {
    let alpha = call.number("alpha")?;
    Ok(Box::new(move |at| at[0] + alpha * at[1]))
}

pub(super) fn mul(_call: &Call<'_>, _dtype: DType) -> Bound {
    Ok(Box::new(|at| at[0] * at[1]))
}
