//! Formulas of losses of the elements at each place.

use crate::record::DType;

use super::{
    super::{
        super::{Call, InferError},
        pointwise::Formula,
    },
    is, positive,
};

type Bound = Result<Formula, InferError>;

pub(crate) fn mse(_call: &Call<'_>) -> Bound {
    Ok(Box::new(|at| (at[0] - at[1]).powi(2)))
}

pub(crate) fn l1(_call: &Call<'_>) -> Bound {
    Ok(Box::new(|at| (at[0] - at[1]).abs()))
}

pub(crate) fn smooth_l1(call: &Call<'_>) -> Bound {
    let beta = call.number("beta")?;
    if beta.is_nan() || beta < 0.0 {
        return Err(InferError::value("beta", beta, "not negative"));
    }
    Ok(Box::new(move |at| {
        let distance = (at[0] - at[1]).abs();
        if distance < beta { 0.5 * distance * distance / beta } else { distance - 0.5 * beta }
    }))
}

pub(crate) fn huber(call: &Call<'_>) -> Bound {
    let delta = call.number("delta")?;
    if delta.is_nan() || delta <= 0.0 {
        return Err(InferError::value("delta", delta, "positive"));
    }
    Ok(Box::new(move |at| {
        let distance = (at[0] - at[1]).abs();
        if distance < delta { 0.5 * distance * distance } else { delta * (distance - 0.5 * delta) }
    }))
}

pub(crate) fn kl_div(call: &Call<'_>) -> Bound {
    if call.bool("log_target")? {
        return Ok(Box::new(|at| at[1].exp() * (at[1] - at[0])));
    }
    Ok(Box::new(|at| {
        let (input, target) = (at[0], at[1]);
        let entropy = if target == 0.0 { 0.0 } else { target * target.ln() };
        entropy - target * input
    }))
}

/// The least logarithm that binary cross entropy counts with.
const LOG_FLOOR: f64 = -100.0;

pub(crate) fn bce(_call: &Call<'_>) -> Bound {
    let floor = |log: f64| if log < LOG_FLOOR { LOG_FLOOR } else { log };
    Ok(Box::new(move |at| {
        let (p, target) = (at[0], at[1]);
        let loss = (target - 1.0) * floor((-p).ln_1p()) - target * floor(p.ln());
        at.get(2).map_or(loss, |weight| weight * loss)
    }))
}

/// `ln(1 / (1 + exp(-x)))` without overflow.
fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

pub(crate) fn bce_with_logits(call: &Call<'_>) -> Bound {
    let (weighted, raised) =
        (call.opt_tensor("weight").is_some(), call.opt_tensor("pos_weight").is_some());
    if let Some(raise) = call.opt_tensor("pos_weight") {
        let (own, target) = (&call.tensor("self")?.shape, &call.tensor("target")?.shape);
        if own != target {
            let wanted = format!("{target:?}, that of target, beside a pos_weight");
            return Err(InferError::shape("self", own, wanted));
        }
        if raise.dtype == DType::Bool {
            return Err(InferError::dtype("pos_weight", raise.dtype, "a type of numbers"));
        }
    }
    Ok(Box::new(move |at| {
        let (x, target) = (at[0], at[1]);
        let raise = if raised { at[at.len() - 1] } else { 1.0 };
        let factor = (raise - 1.0) * target + 1.0;
        let log = if x.is_nan() { x } else { log_sigmoid(x) };
        let loss = (1.0 - target) * x - factor * log;
        if weighted { loss * at[2] } else { loss }
    }))
}

pub(crate) fn soft_margin(_call: &Call<'_>) -> Bound {
    Ok(Box::new(|at| {
        let z = -at[1] * at[0];
        if z.is_nan() { z } else { z.max(0.0) + (-z.abs()).exp().ln_1p() }
    }))
}

pub(crate) fn hinge(_call: &Call<'_>) -> Bound {
    Ok(Box::new(|at| positive(1.0 - at[0] * at[1])))
}

pub(crate) fn hinge_embedding(call: &Call<'_>) -> Bound {
    let margin = call.number("margin")?;
    Ok(Box::new(move |at| {
        let (x, label) = (at[0], at[1]);
        let apart = if is(label, 1.0) { 0.0 } else { positive(margin - x) };
        let near = if is(label, -1.0) { 0.0 } else { x };
        apart + near
    }))
}

pub(crate) fn margin_ranking(call: &Call<'_>) -> Bound {
    let margin = call.number("margin")?;
    Ok(Box::new(move |at| positive(-at[2] * (at[0] - at[1]) + margin)))
}

/// |x| and 1, times weights: `(1 - y) x - log σ(x)` cancels for x far below 0.
pub(crate) fn logit_scale(at: &[f64]) -> f64 {
    let larger = |x: &f64| if x.is_finite() { x.abs().max(1.0) } else { 1.0 };
    larger(&at[0]) * at[2..].iter().map(larger).product::<f64>()
}
