//! Integers that a detour through a narrower type, or through floating point, changes.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Elements in a row that are variations of one value.
const GROUP: usize = 4;

/// Elements in a row that are alike: more than a row of the suite's smaller cases has.
const STRETCH: usize = 256;

/// Distance of the elements of an empty stretch that are not 0.
const SPARSE: usize = 61;

/// The low 32 bits.
const LOW: i128 = 0xFFFF_FFFF;

/// Returns an element in `-2^bits..2^bits`; `bits`: at most 63.
///
/// Of four stretches, one has the most negative values alone, close together, and one is 0 but for a
/// few values without a low word: a maximum that begins at too large a number, and a test for 0 of
/// half a number, show there.
pub(super) fn value(rng: &mut ChaCha8Rng, index: usize, bits: u32) -> i64 {
    let limit = 1_i128 << bits;
    let value = match index / STRETCH % 4 {
        1 => rng.random_range(0..limit.min(4)) - limit,
        2 if !index.is_multiple_of(SPARSE) => 0,
        2 => limit / 2,
        _ => varied(rng, index, bits),
    };
    i64::try_from(value).expect("at most 63 bits and a sign")
}

/// Returns a variation of a value that depends on the place alone, so that tensors which combine
/// element by element hold variations of the same value.
fn varied(rng: &mut ChaCha8Rng, index: usize, bits: u32) -> i128 {
    let limit = 1_i128 << bits;
    let mut place = ChaCha8Rng::seed_from_u64((index / GROUP) as u64);
    let base = spread(&mut place, bits);
    let step = if rng.random() { 1 } else { -1 };
    let varied = match rng.random_range(0..12) {
        0 | 1 => base,
        2..=4 => base + step,
        // The low word alone: anything, its sign, nothing.
        5 => (base & !LOW) | rng.random_range(0..=LOW),
        6 => base ^ (1 << 31),
        7 => base & !LOW,
        // The high word alone.
        8 | 9 => base + (step << 32),
        10 => spread(rng, bits),
        _ => [limit - 1, limit - 2, -limit, 1 - limit, 0, 1, -1][rng.random_range(0..7)],
    };
    if (-limit..limit).contains(&varied) { varied } else { varied % limit }
}

/// Returns a value whose power of two is uniform below `bits`.
fn spread(rng: &mut ChaCha8Rng, bits: u32) -> i128 {
    let power = 1_i128 << rng.random_range(0..bits.max(1));
    let magnitude = power + rng.random_range(0..power);
    if rng.random() { magnitude } else { -magnitude }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::float_cmp, reason = "losses are the purpose")]
mod tests {
    use super::*;

    fn drawn(seed: u64, bits: u32) -> Vec<i64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..257).map(|index| i64::try_from(varied(&mut rng, index, bits)).unwrap()).collect()
    }

    #[test]
    fn values_stay_in_range_and_reach_its_ends() {
        for bits in [7, 8, 15, 26, 31, 45, 52, 63] {
            let limit = 1_i128 << bits;
            let all = drawn(1, bits);
            assert!(all.iter().all(|&value| (-limit..limit).contains(&value.into())), "{bits}");
            assert!(all.iter().any(|&value| i128::from(value) == -limit), "{bits}");
            assert!(all.iter().any(|&value| i128::from(value) == limit - 1), "{bits}");
        }
    }

    #[test]
    fn stretches_are_negative_alone_or_sparse() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let all: Vec<i64> = (0..4 * STRETCH).map(|index| value(&mut rng, index, 52)).collect();
        let of = |stretch: usize| &all[stretch * STRETCH..][..STRETCH];
        assert!(of(1).iter().all(|&value| value < -(1 << 51)));
        let close =
            of(1).windows(2).any(|pair| pair[0] != pair[1] && pair[0] as f32 == pair[1] as f32);
        assert!(close);
        let some: Vec<i64> = of(2).iter().copied().filter(|&value| value != 0).collect();
        assert!(
            (1..10).contains(&some.len()) && some.iter().all(|value| i128::from(*value) & LOW == 0)
        );
    }

    #[test]
    fn shortcuts_change_the_order_of_pairs() {
        let pairs = || drawn(1, 63).into_iter().zip(drawn(2, 63));
        let through = |short: fn(i64) -> f64| {
            pairs().any(|(a, b)| (a < b) != (short(a) < short(b)))
                && pairs().any(|(a, b)| (a == b) != (short(a) == short(b)))
        };
        assert!(through(|value| value as f64));
        assert!(through(|value| f64::from(value as f32)));
        assert!(through(|value| f64::from(value as i32)));
        assert!(through(|value| (value >> 32) as f64));
    }
}
