//! Special values, one kind a row.

use rand_chacha::ChaCha8Rng;

use super::normal;

/// Kinds of rows; the last one is normal.
const KINDS: usize = 19;

/// Values that a maximum which begins at -10,000 does not see; f16 holds them.
const FAR_BELOW: f64 = -20_000.0;

/// Values beyond f16, in which they are infinite.
const FAR_ABOVE: f64 = 70_000.0;

/// Values whose exponentials are 0 in f32.
const BELOW: f64 = -150.0;

/// Values whose exponentials are subnormal in f32.
const NEAR_NOTHING: f64 = -95.0;

/// Distance of the last quarter of a row from the rest: its exponentials overflow beside those.
const RISE: f64 = 100.0;

/// Returns an element of a tensor whose rows, along its last dimension, take turns.
///
/// `key`: the tensor's own, which chooses where the turns begin and the places inside of rows.
pub(super) fn value(rng: &mut ChaCha8Rng, key: &[u8; 32], index: usize, row: usize) -> f64 {
    let (number, place) = (index / row, index % row);
    let drawn = drawn(key, number, row);
    let value = normal(rng);
    let (first, last, here) = (place == 0, place + 1 == row, place == drawn);
    match (number + usize::from(key[3])) % KINDS {
        0 if first => f64::NAN,
        // Two of them, next to each other.
        1 if place + 2 >= row => f64::NAN,
        2 if last => f64::NAN,
        // The sign of NaN says nothing.
        2 if here => -f64::NAN,
        3 => f64::NEG_INFINITY,
        4 if here => f64::INFINITY,
        5 if here => f64::NEG_INFINITY,
        6 => -0.0,
        7 => 0_f64.copysign(value),
        8 => FAR_BELOW + value,
        9 if first => f64::NEG_INFINITY,
        9 if here => f64::INFINITY,
        10 if first => f64::INFINITY,
        11 if here => f64::NAN,
        11 => 0.0,
        12 => BELOW + value,
        14 => f64::INFINITY,
        15 => FAR_ABOVE + value.abs(),
        16 => NEAR_NOTHING + value,
        17 if place < row / 2 => f64::NEG_INFINITY,
        13 if place >= row - row / 4 => RISE + value,
        _ => value,
    }
}

/// Returns whether a place is the one that is unlike the others of its tensor.
pub(super) fn is_lone(key: &[u8; 32], index: usize, numel: usize) -> bool {
    index == drawn(key, 0, numel)
}

/// Returns a place in a row.
fn drawn(key: &[u8; 32], number: usize, row: usize) -> usize {
    let byte = |at: usize| usize::from(key[(number + at) % key.len()]);
    (byte(0) << 16 | byte(8) << 8 | byte(16)) % row.max(1)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn the_sign_of_nan_is_stored() {
        use crate::record::{DType, HostTensor, TensorSpec};
        let mut host = HostTensor::zeroed(TensorSpec::contiguous(DType::F32, &[KINDS, 65]));
        let key = [7; 32];
        let mut rng = ChaCha8Rng::from_seed(key);
        for index in 0..KINDS * 65 {
            host.set(index, value(&mut rng, &key, index, 65));
        }
        let negative =
            host.storage.chunks(4).filter(|bytes| bytes[3] == 0xff && bytes[2] & 0xc0 == 0xc0);
        assert!(negative.count() >= 1);
    }

    #[test]
    fn every_kind_of_row_is_there() {
        let (row, key) = (65, [7; 32]);
        let mut rng = ChaCha8Rng::from_seed(key);
        let all: Vec<f64> = (0..KINDS * row).map(|at| value(&mut rng, &key, at, row)).collect();
        let rows = |is: &dyn Fn(&[f64]) -> bool| all.chunks(row).filter(|row| is(row)).count();
        let count = |row: &[f64], is: fn(f64) -> bool| row.iter().filter(|x| is(**x)).count();
        let masked = |row: &[f64]| count(row, |x| x < -1e300) == row.len() / 2;
        assert_eq!(
            rows(&|row| masked(row) && row[0] < -1e300 && row[row.len() / 2].is_finite()),
            1
        );
        assert_eq!(rows(&|row| count(row, f64::is_nan) == 1), 2);
        assert_eq!(rows(&|row| count(row, f64::is_nan) == 2), 2);
        assert_eq!(rows(&|row| count(row, |x| x.is_nan() && x.is_sign_negative()) == 1), 1);
        assert_eq!(rows(&|row| count(row, |x| x < -1e300) == row.len()), 1);
        assert_eq!(rows(&|row| count(row, |x| x > 1e300) == row.len()), 1);
        assert_eq!(rows(&|row| count(row, |x| x > 65_504.0 && x.is_finite()) == row.len()), 1);
        assert_eq!(rows(&|row| count(row, |x| (-110.0..-80.0).contains(&x)) == row.len()), 1);
        assert_eq!(rows(&|row| count(row, |x| x > 1e300) == 1), 3);
        assert_eq!(rows(&|row| count(row, |x| x.to_bits() == 1 << 63) == row.len()), 1);
        assert_eq!(rows(&|row| count(row, |x| x == 0.0) == row.len()), 2);
        assert_eq!(rows(&|row| count(row, |x| x < -1e4 && x.is_finite()) == row.len()), 1);
    }
}
