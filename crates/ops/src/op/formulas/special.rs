//! Special functions, from series, continued fractions and Newton's method.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

/// Argument from which on the asymptotic series of the Bessel functions are exact in f64.
const ASYMPTOTIC: f64 = 20.0;

/// Steps of Newton's method: it doubles the digits with each.
const STEPS: usize = 40;

/// `ln |Γ(x)|`; Inf at its poles.
pub(crate) fn lgamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// The scale of [`lgamma`]: what the reflection at 0 subtracts.
pub(crate) fn lgamma_scale(x: f64) -> f64 {
    let scale = lgamma(x).abs() + lgamma(-x).abs() + 1.0;
    if x < 0.0 && scale.is_finite() { scale } else { 0.0 }
}

/// The derivative of `ln Γ`: -Inf or Inf at 0 by its sign, NaN at negative whole numbers.
///
/// Source: recurrence and asymptotic series, Abramowitz and Stegun 6.3.5, 6.3.7 and 6.3.18.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        let fraction = x.fract();
        return if fraction == 0.0 || x.is_infinite() {
            f64::NAN
        } else {
            digamma(1.0 - x) - PI / (PI * fraction).tan()
        };
    }
    let (mut x, mut below) = (x, 0.0);
    while x < 12.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    const COEFFICIENTS: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32760.0,
        1.0 / 12.0,
    ];
    let square = x.powi(-2);
    let series =
        COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * square);
    x.ln() - 0.5 / x - series - below
}

/// The scale of [`digamma`]: sums of the recurrence, and what the reflection subtracts.
pub(crate) fn digamma_scale(x: f64) -> f64 {
    let reflected = if x < 0.0 { (PI / (PI * x.fract()).tan()).abs() } else { 0.0 };
    let scale = 3.0 + x.abs().ln_1p() + reflected;
    if scale.is_finite() { scale } else { 0.0 }
}

/// The modified Bessel function of the first kind and of a whole order, times `exp(-|x|)`, of |x|.
///
/// Source: power series and asymptotic series, Abramowitz and Stegun 9.6.10 and 9.7.1.
fn bessel_scaled(order: u32, x: f64) -> f64 {
    let x = x.abs();
    let order = f64::from(order);
    let (mut term, mut sum) = (1.0, 1.0);
    if x < ASYMPTOTIC {
        let quarter = x * x / 4.0;
        for k in 1..=200 {
            let k = f64::from(k);
            term *= quarter / (k * (k + order));
            sum += term;
        }
        let first = if order == 0.0 { 1.0 } else { x / 2.0 };
        return first * sum * (-x).exp();
    }
    for k in 1..=40 {
        let odd = f64::from(2 * k - 1);
        term *= -(4.0 * order * order - odd * odd) / (f64::from(8 * k) * x);
        sum += term;
    }
    sum / (2.0 * PI * x).sqrt()
}

/// Multiplies by `exp(x)` where neither factor is beyond the range that the product is in.
fn times_exp(scaled: f64, x: f64) -> f64 {
    let half = (x.abs() / 2.0).exp();
    if scaled == 0.0 && half.is_infinite() { half } else { scaled * half * half }
}

/// NaN of infinities, where the product of `PyTorch`'s factors has no limit.
pub(crate) fn i0(x: f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { times_exp(bessel_scaled(0, x), x) }
}

pub(crate) fn i0e(x: f64) -> f64 {
    bessel_scaled(0, x)
}

/// NaN of infinities, as [`i0`].
pub(crate) fn i1(x: f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { times_exp(bessel_scaled(1, x), x) * sign(x) }
}

pub(crate) fn i1e(x: f64) -> f64 {
    bessel_scaled(1, x) * sign(x)
}

fn sign(x: f64) -> f64 {
    1.0_f64.copysign(x)
}

/// `exp(x^2) * erfc(x)`, by its continued fraction where the product would lose digits.
///
/// Source: Abramowitz and Stegun 7.1.14.
fn erfcx(x: f64) -> f64 {
    if x < 2.0 {
        return (x * x).exp() * libm::erfc(x);
    }
    if x.is_infinite() {
        return 0.0;
    }
    let tail = (1..=200).rev().fold(0.0, |tail, k| f64::from(k) / 2.0 / (x + tail));
    FRAC_2_SQRT_PI / 2.0 / (x + tail)
}

/// The inverse of erfc on (0, 1], by Newton's method on the logarithm.
fn erfc_inverse(z: f64) -> f64 {
    let target = z.ln();
    let mut y = (-target).max(0.0).sqrt() * 0.9;
    for _ in 0..STEPS {
        let scaled = erfcx(y);
        let step = (scaled.ln() - y * y - target) * scaled / FRAC_2_SQRT_PI;
        y += step;
        if step.abs() <= f64::EPSILON * y.abs() {
            break;
        }
    }
    y
}

/// The inverse of erf, NaN outside of [-1, 1].
#[expect(clippy::float_cmp, reason = "the ends of the interval are exact")]
pub(crate) fn erfinv(x: f64) -> f64 {
    let size = x.abs();
    if size >= 1.0 || x.is_nan() {
        return if size == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    if size >= 0.5 {
        return erfc_inverse(1.0 - size).copysign(x);
    }
    let mut y = x / FRAC_2_SQRT_PI;
    for _ in 0..STEPS {
        let step = (x - libm::erf(y)) / FRAC_2_SQRT_PI * (y * y).exp();
        y += step;
        if step.abs() <= f64::EPSILON * y.abs() {
            break;
        }
    }
    y
}

/// The distribution function of the standard normal distribution.
pub(crate) fn ndtr(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// `-x ln x`, 0 at 0 and -Inf below.
pub(crate) fn entr(x: f64) -> f64 {
    match x {
        x if x.is_nan() => x,
        x if x > 0.0 => -x * x.ln(),
        0.0 => 0.0,
        _ => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, wanted: f64) {
        assert!((got - wanted).abs() <= 4e-15 * wanted.abs(), "{got:e} instead of {wanted:e}");
    }

    /// Values of Abramowitz and Stegun, tables 6.1, 7.1, 9.8 and 26.1, and of exact identities.
    #[test]
    fn special_functions_have_their_tabled_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        near(digamma(1.0), -EULER);
        near(digamma(0.5), -EULER - 2.0 * 2.0_f64.ln());
        near(digamma(-0.5) - 2.0, digamma(0.5));
        near(i0(1.0), 1.266_065_877_752_008_4);
        near(i1(-1.0), -0.565_159_103_992_485);
        near(erfinv(0.5), 0.476_936_276_204_469_9);
        near(ndtr(0.0), 0.5);
        near(erfcx(2.0), 0.255_395_676_310_505_74);
    }

    /// Either formula of a function has the same value where one gives way to the other.
    #[test]
    fn formulas_meet() {
        for order in [0, 1] {
            let (below, above) = (ASYMPTOTIC.next_down(), ASYMPTOTIC);
            near(bessel_scaled(order, below), bessel_scaled(order, above));
        }
        near(erfcx(2.0_f64.next_down()), erfcx(2.0));
        near(erfinv(0.5_f64.next_down()), erfinv(0.5));
    }
}
