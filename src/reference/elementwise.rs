//! Elementwise ops: formulas, derivatives, scales.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI};

use crate::{
    op::{Binary, Unary, broadcast, str_arg},
    record::Case,
};

use super::{
    Error, parallel,
    values::{Inputs, number},
};

/// Scale below which silu's error does not count: for x under -88, exp(-x) is Inf in f32 and the
/// result 0, which is off by up to 2e-37.
const SILU_FLOOR: f64 = 1e-29;

/// Coefficient of the cubic term in gelu's tanh form.
const GELU_CUBIC: f64 = 0.044_715;

/// A formula of one variable.
type Formula = fn(f64) -> f64;

/// Returns the formula of a unary op and its derivative.
fn formula(unary: Unary, case: &Case) -> Result<(Formula, Formula), Error> {
    Ok(match unary {
        Unary::Relu => (relu, |x| if x > 0.0 { 1.0 } else { 0.0 }),
        Unary::Silu => (silu, silu_slope),
        Unary::Gelu if str_arg(case, "approximate")? == "tanh" => (gelu_tanh, gelu_tanh_slope),
        Unary::Gelu => (gelu, gelu_slope),
    })
}

fn relu(x: f64) -> f64 {
    if x.is_nan() { x } else { x.max(0.0) }
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn silu_slope(x: f64) -> f64 {
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    sigmoid * (1.0 + x * (1.0 - sigmoid))
}

/// `x Φ(x)` by the complementary error function, which keeps its digits for negative x.
fn gelu(x: f64) -> f64 {
    x * normal_cdf(x)
}

fn gelu_slope(x: f64) -> f64 {
    let density = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (-0.5 * x * x).exp();
    normal_cdf(x) + x * density
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// `0.5 (1 + tanh z)` is `1 / (1 + exp(-2z))`, which keeps its digits for negative z.
fn gelu_tanh(x: f64) -> f64 {
    x / (1.0 + (-2.0 * gelu_argument(x)).exp())
}

fn gelu_argument(x: f64) -> f64 {
    FRAC_2_PI.sqrt() * (x + GELU_CUBIC * x * x * x)
}

fn gelu_tanh_slope(x: f64) -> f64 {
    let gate = 1.0 / (1.0 + (-2.0 * gelu_argument(x)).exp());
    let slope = FRAC_2_PI.sqrt() * (1.0 + 3.0 * GELU_CUBIC * x * x);
    if gate == 0.0 { 0.0 } else { gate + 2.0 * x * gate * (1.0 - gate) * slope }
}

pub(super) fn unary(unary: Unary, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let (formula, _) = formula(unary, case)?;
    Ok(map(inputs, formula))
}

/// `|f'(x) x|`.
pub(super) fn unary_spread(unary: Unary, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let (_, slope) = formula(unary, case)?;
    Ok(map(inputs, |x| (slope(x) * x).abs()))
}

fn map(inputs: &Inputs, formula: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
    let input = &inputs.at(0).values;
    let mut values = vec![0.0; input.len()];
    parallel::fill(&mut values, 1, |start, share| {
        for (value, &x) in share.iter_mut().zip(&input[start..]) {
            *value = formula(x);
        }
    });
    values
}

/// |x| for gelu, whose `1 + erf` and `1 + tanh` cancel for negative x; a floor for silu.
pub(super) fn unary_hint(unary: Unary, inputs: &Inputs) -> Result<Option<Vec<f64>>, Error> {
    Ok(match unary {
        Unary::Relu => None,
        Unary::Gelu => Some(map(inputs, |x| if x.is_finite() { x.abs() } else { 0.0 })),
        Unary::Silu => Some(vec![SILU_FLOOR; inputs.at(0).values.len()]),
    })
}

pub(super) fn binary(binary: Binary, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    Ok(match binary {
        Binary::Add => {
            let alpha = number(case, "alpha")?;
            zip(inputs, |x, y| x + alpha * y)?
        }
        Binary::Mul => zip(inputs, |x, y| x * y)?,
    })
}

/// `sqrt((∂f/∂x x)² + (∂f/∂y y)²)`.
pub(super) fn binary_spread(
    binary: Binary,
    case: &Case,
    inputs: &Inputs,
) -> Result<Vec<f64>, Error> {
    Ok(match binary {
        Binary::Add => {
            let alpha = number(case, "alpha")?;
            zip(inputs, |x, y| x.hypot(alpha * y))?
        }
        Binary::Mul => zip(inputs, |x, y| (x * y).hypot(x * y))?,
    })
}

fn zip(inputs: &Inputs, formula: impl Fn(f64, f64) -> f64 + Sync) -> Result<Vec<f64>, Error> {
    let (left, right) = (inputs.at(0), inputs.at(1));
    let shape = broadcast(&left.shape, &right.shape)?;
    let (left, right) = (left.broadcast(&shape), right.broadcast(&shape));
    let mut values = vec![0.0; left.len()];
    parallel::fill(&mut values, 1, |start, share| {
        let pairs = left[start..].iter().zip(&right[start..]);
        for (value, (&x, &y)) in share.iter_mut().zip(pairs) {
            *value = formula(x, y);
        }
    });
    Ok(values)
}
