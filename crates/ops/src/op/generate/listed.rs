//! Values from lists.

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;

use crate::record::List;

/// Divisors that no binary fraction equals.
const DECIMALS: [f32; 8] = [0.1, -0.1, 0.3, 0.7, -1.1, 2.3, 0.01, -3.7];

/// Numbers that rounding by adding a half takes for others: beside halves, and odd ones of which only
/// the next even one is left when a half is added.
const HALVES: [f32; 12] = [
    0.499_999_97,
    -0.499_999_97,
    0.5,
    1.5,
    -2.5,
    0.500_000_06,
    8_388_607.5,
    8_388_609.0,
    -8_388_609.0,
    16_777_215.0,
    4_194_304.5,
    -1.5,
];

/// Values of which two are often equal, or 0 and an infinity.
const EXTREMES: [f64; 10] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, 65_504.0, -65_504.0, 6e-8, 1e-40];

const PROBABILITIES: [f64; 6] = [0.0, 0.0, 1.0, 1.0, 0.5, 0.25];

const WEIGHTS: [f64; 8] = [0.0, -0.0, 1.0, 0.5, -0.5, 0.25, 0.75, 1.5];

const INFINITIES: [f64; 16] = [
    f64::NEG_INFINITY,
    f64::NEG_INFINITY,
    f64::NEG_INFINITY,
    f64::INFINITY,
    f64::NAN,
    0.0,
    -0.0,
    0.25,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.5,
    -2.0,
    3.0,
    -4.0,
];

/// Returns an element of a tensor.
pub(super) fn value(rng: &mut ChaCha8Rng, list: List, index: usize) -> f64 {
    let divisor = DECIMALS[index % DECIMALS.len()];
    match list {
        List::Divisors => f64::from(divisor),
        // The product is rounded to f32, as the elements of an f32 tensor are.
        List::Multiples => f64::from(divisor * f32::from(rng.random_range(-200_i16..=200))),
        List::Extremes => EXTREMES[rng.random_range(0..EXTREMES.len())],
        List::Probabilities => PROBABILITIES[rng.random_range(0..PROBABILITIES.len())],
        List::Weights => WEIGHTS[rng.random_range(0..WEIGHTS.len())],
        List::Alternating => f64::from(u8::from(index % 2 == 1)),
        List::Infinities => INFINITIES[rng.random_range(0..INFINITIES.len())],
        List::Halves => f64::from(HALVES[rng.random_range(0..HALVES.len())]),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn rounded_quotients_of_multiples_are_whole_where_exact_ones_are_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut lower = 0;
        for index in 0..257 {
            let divisor = value(&mut rng, List::Divisors, index);
            let multiple = value(&mut rng, List::Multiples, index);
            #[expect(clippy::cast_possible_truncation, reason = "both are f32")]
            let rounded = multiple as f32 / divisor as f32;
            lower += i32::from(f64::from(rounded.floor()) > (multiple / divisor).floor());
        }
        assert!(lower > 20, "{lower}");
    }
}
