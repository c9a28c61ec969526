//! The standard normal distribution.

/// Returns the probability of a value beyond `z` standard deviations on either side.
///
/// Relative error below 1e-9 where the result is above 1e-200.
///
/// Source: erfc by its series (below 3) and continued fraction, Abramowitz and Stegun 7.1.6, 7.1.14.
#[must_use]
pub fn two_sided_tail(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

fn erfc(x: f64) -> f64 {
    let scale = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < 3.0 {
        let mut term = 2.0 * x;
        let mut sum = term;
        let mut odd = 1.0;
        while term > 1e-17 * sum {
            odd += 2.0;
            term *= 2.0 * x * x / odd;
            sum += term;
        }
        return 1.0 - scale * sum;
    }
    // x + (1/2)/(x + 1/(x + (3/2)/(x + ..))), from its far end.
    let mut tail = x;
    for k in (1..=60).rev() {
        tail = x + f64::from(k) / 2.0 / tail;
    }
    scale / tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_scipy() {
        // 2 * scipy.stats.norm.sf(z)
        for (z, p) in [
            (0.0, 1.0),
            (0.5, 0.617_075_077_451_973_8),
            (1.0, 0.317_310_507_862_914_15),
            (1.959_963_984_540_054, 0.05),
            (2.575_829_303_548_900_4, 0.01),
            (4.0, 6.334_248_366_623_973e-5),
            (5.0, 5.733_031_437_583_892e-7),
            (8.0, 1.244_192_114_854_348e-15),
            (20.0, 5.507_248_237_212_311e-89),
        ] {
            let found = two_sided_tail(z);
            assert!((found - p).abs() <= 1e-9 * p, "{z}: {found} and {p}");
        }
    }
}
