//! Input values that are functions of their place, which a device can make by itself.
//!
//! An element is a function of (seed, case, argument, index) alone, made of 64-bit integer
//! arithmetic and at most two roundings of f64, so that every machine that can do those makes the
//! same bits: a GPU fills a tensor of gigabytes, and the host computes the few elements it needs.
//!
//! With `mix` the finaliser of `SplitMix64` (Steele, Lea and Flood 2014) and all arithmetic modulo
//! 2^64, the random word of element i is `w = mix(key + (i + 1) 0x9e3779b97f4a7c15)`; the key is the
//! first 8 bytes of the SHA-256 of seed, case and argument. Its use is described at
//! [`Recipe`]. Values are rounded to f32 first (but for f64 tensors), then to the element type.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding and cutting to what a type holds are the purpose"
)]

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::record::{DType, Gen, TensorArg};

use super::generate::{LEVELS, is_nonzero};

/// Distance between the states of neighbouring elements: 2^64 over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Added to a word to get a second one.
const SECOND: u64 = 0xd1b5_4a32_d192_ed03;

/// Elements from which on all cores share the work.
const PARALLEL_FROM: usize = 1 << 14;

/// Bits of the fraction below the sum of [`Recipe::Normal`].
const FRACTION_BITS: u32 = 24;

/// Mean of the sum of eight 16-bit words with its fraction, in units of the fraction.
const CENTRE: i64 = ((8 * 0xffff) << (FRACTION_BITS - 1)) + (1 << (FRACTION_BITS - 1));

/// How the values of a tensor follow from its random words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recipe {
    /// `mean + scale k`: k is the sum of the eight 16-bit parts of w and `mix(w + SECOND)`, with 24
    /// bits of their exclusive or as its fraction, less its mean: normal up to 4.9 standard
    /// deviations.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation over that of k.
        scale: f64,
    },
    /// `low + scale (w >> 11)`.
    Uniform {
        /// Smallest value.
        low: f64,
        /// Width over 2^53.
        scale: f64,
    },
    /// The value.
    Constant {
        /// The value.
        value: f64,
    },
    /// `low + floor(w n / 2^64)`; where w is a multiple of 4 and there is one, `other`.
    Integer {
        /// Smallest value.
        low: i64,
        /// Number of values.
        n: u64,
        /// The value outside the rule.
        other: Option<i64>,
    },
    /// `±(first + step floor(w n / 2^64))`, negative where w is odd; 0 but for `nonzero` elements
    /// of each `row`.
    Signed {
        /// Smallest magnitude.
        first: u32,
        /// Distance between magnitudes.
        step: u32,
        /// Number of magnitudes.
        n: u32,
        /// Elements per row that are not 0.
        nonzero: u32,
        /// Elements per row.
        row: u32,
    },
    /// One of four levels, by the lowest two bits of w.
    Levels,
    /// 1 where `w >> 11` is below the limit, else 0.
    Mask {
        /// The limit.
        below: u64,
    },
    /// `start + step i`: no word is used.
    Arange {
        /// The first value.
        start: f64,
        /// The step.
        step: f64,
    },
    /// `inside` where the column less the row is at most the diagonal, else `outside`: no word is used.
    Triangle {
        /// Columns.
        columns: u64,
        /// Rows of a matrix.
        rows: u64,
        /// The diagonal.
        diagonal: i64,
        /// The value on the diagonal and below it.
        inside: f64,
        /// The value above it.
        outside: f64,
    },
}

impl Recipe {
    /// Returns the recipe of a generator for a tensor with so many columns, its last extent; `None` where its values depend on one another or take
    /// functions that machines compute differently.
    #[must_use]
    pub fn of(generator: Gen, columns: u64) -> Option<Self> {
        const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
        let range = |low: i64, high: i64| u64::try_from(high.max(low).wrapping_sub(low)).ok();
        let index = |bound: u64, other| Self::Integer { low: 0, n: bound.max(1), other };
        Some(match generator {
            Gen::Normal { mean, std } => Self::Normal { mean, scale: std / deviation() },
            Gen::Uniform { low, high } => Self::Uniform { low, scale: (high - low) * UNIT },
            Gen::Exact { magnitude, nonzero, row } => {
                let n = magnitude.div_ceil(2).max(1);
                Self::Signed { first: 1, step: 2, n, nonzero, row: row.max(1) }
            }
            Gen::Constant { value } => Self::Constant { value },
            Gen::Arange { start, step } => Self::Arange { start, step },
            Gen::Triangle { rows, diagonal, lower, inside, outside } => {
                let (columns, rows) = (columns.max(1), rows.max(1));
                let diagonal = if lower { diagonal } else { diagonal.saturating_sub(1) };
                let (inside, outside) = if lower { (inside, outside) } else { (outside, inside) };
                Self::Triangle { columns, rows, diagonal, inside, outside }
            }
            Gen::Ties => Self::Levels,
            Gen::Mask { p } => Self::Mask { below: (p.clamp(0.0, 1.0) / UNIT) as u64 },
            Gen::Int { low, high } => {
                Self::Integer { low, n: range(low, high)?.checked_add(1)?, other: None }
            }
            Gen::NonZero { magnitude } => {
                Self::Signed { first: 1, step: 1, n: magnitude.max(1), nonzero: 1, row: 1 }
            }
            Gen::Sign => Self::Signed { first: 1, step: 1, n: 1, nonzero: 1, row: 1 },
            Gen::Index { bound } => index(bound, None),
            Gen::IndexOr { bound, other } => index(bound, Some(other)),
            Gen::HeavyTail
            | Gen::Matrix { .. }
            | Gen::Specials
            | Gen::Wide { .. }
            | Gen::SpecialRows { .. }
            | Gen::LoneInfinity
            | Gen::Cancelling { .. }
            | Gen::LoneNan { .. }
            | Gen::Listed { .. }
            | Gen::Lone { .. }
            | Gen::LogNormal { .. }
            | Gen::Permutation
            | Gen::Simplex
            | Gen::Distinct { .. }
            | Gen::DistinctOr { .. }
            | Gen::Offsets { .. }
            | Gen::Counts { .. }
            | Gen::Bags { .. }
            | Gen::InWindow { .. } => return None,
        })
    }

    fn value(self, key: u64, index: u64) -> f64 {
        let word = word(key, index);
        match self {
            Self::Normal { mean, scale } => mean + scale * normal(word) as f64,
            Self::Uniform { low, scale } => low + scale * (word >> 11) as f64,
            Self::Constant { value } => value,
            Self::Integer { low, n, other } => match other {
                Some(other) if word.is_multiple_of(4) => other as f64,
                _ => low.wrapping_add_unsigned(bounded(word, n)) as f64,
            },
            Self::Signed { first, step, n, nonzero, row } => {
                let in_rows =
                    |index: u64| is_nonzero(index as usize, nonzero as usize, row as usize);
                if !in_rows(index) {
                    return 0.0;
                }
                let magnitude = u64::from(first) + u64::from(step) * bounded(word, n.into());
                if word % 2 == 1 { -(magnitude as f64) } else { magnitude as f64 }
            }
            Self::Levels => LEVELS[(word % 4) as usize],
            Self::Mask { below } => f64::from(u8::from(word >> 11 < below)),
            Self::Arange { start, step } => start + step * index as f64,
            Self::Triangle { columns, rows, diagonal, inside, outside } => {
                let offset =
                    (index % columns).cast_signed() - (index / columns % rows).cast_signed();
                if offset <= diagonal { inside } else { outside }
            }
        }
    }
}

/// Standard deviation of k of [`Recipe::Normal`].
fn deviation() -> f64 {
    // Eight words that are uniform over 2^16 values, and a fraction that is uniform below 1.
    const WORD_VALUES: f64 = (1_u64 << 16) as f64;
    let variance = (8.0 * (WORD_VALUES * WORD_VALUES - 1.0) + 1.0) / 12.0;
    variance.sqrt() * f64::from(1_u32 << FRACTION_BITS)
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn word(key: u64, index: u64) -> u64 {
    mix(key.wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
}

/// `floor(w n / 2^64)`.
fn bounded(word: u64, n: u64) -> u64 {
    ((u128::from(word) * u128::from(n)) >> 64) as u64
}

fn normal(word: u64) -> i64 {
    let second = mix(word.wrapping_add(SECOND));
    let parts = |word: u64| (0..4).map(|part| (word >> (16 * part)) & 0xffff).sum::<u64>();
    let fraction = (word ^ second) >> (64 - FRACTION_BITS);
    let sum = ((parts(word) + parts(second)) << FRACTION_BITS) | fraction;
    sum.cast_signed() - CENTRE
}

/// The values of one contiguous tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counter {
    /// The key of this tensor's words.
    pub key: u64,
    /// The conversion of the words to values.
    pub recipe: Recipe,
    /// Element type.
    pub dtype: DType,
}

impl Counter {
    /// Returns the values of an argument; `None` where its generator has no [`Recipe`], its type
    /// has 8-bit floating-point numbers, or it does not fill its storage.
    #[must_use]
    pub fn new(tensor: &TensorArg, seed: u64, case_id: &str, arg_name: &str) -> Option<Self> {
        let spec = &tensor.spec;
        if !spec.is_dense() || spec.offset != 0 || spec.dtype.is_fp8() {
            return None;
        }
        let columns = spec.shape.last().copied().unwrap_or(1) as u64;
        let recipe = Recipe::of(tensor.generator, columns)?;
        // Rows are rows of the storage.
        let by_place = match recipe {
            Recipe::Signed { nonzero, row, .. } => nonzero < row,
            Recipe::Arange { .. } | Recipe::Triangle { .. } => true,
            _ => false,
        };
        if by_place && !spec.is_contiguous() {
            return None;
        }
        let mut hash = Sha256::new();
        hash.update(b"counter");
        hash.update(seed.to_le_bytes());
        hash.update(case_id.as_bytes());
        hash.update([0]);
        hash.update(arg_name.as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let key = u64::from_le_bytes(*digest.first_chunk()?);
        Some(Self { key, recipe, dtype: spec.dtype })
    }

    /// Writes elements side by side; `element` is the storage index of each.
    pub fn fill(&self, bytes: &mut [u8], element: impl Fn(usize) -> usize + Sync) {
        let size = self.dtype.size();
        let write = |(place, bytes): (usize, &mut [u8])| self.write(element(place), bytes);
        if bytes.len() < PARALLEL_FROM * size {
            bytes.chunks_exact_mut(size).enumerate().for_each(write);
        } else {
            bytes.par_chunks_exact_mut(size).enumerate().for_each(write);
        }
    }

    /// Writes the bytes of one element (storage index).
    ///
    /// # Panics
    ///
    /// When `bytes` is not exactly one element long.
    pub fn write(&self, index: usize, bytes: &mut [u8]) {
        let value = self.recipe.value(self.key, index as u64);
        let single = value as f32;
        match self.dtype {
            DType::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
            DType::F32 => bytes.copy_from_slice(&single.to_le_bytes()),
            DType::F16 => bytes.copy_from_slice(&half::f16::from_f32(single).to_le_bytes()),
            DType::BF16 => bytes.copy_from_slice(&half::bf16::from_f32(single).to_le_bytes()),
            DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::U8 => {
                bytes.copy_from_slice(&(value as i64).to_le_bytes()[..self.dtype.size()]);
            }
            DType::Bool => bytes[0] = u8::from(value != 0.0),
            DType::F8E4M3 | DType::F8E5M2 => unreachable!("refused by `new`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{TensorSpec, tensor::decode};

    fn values(dtype: DType, generator: Gen, n: usize) -> Vec<f64> {
        let tensor = TensorArg { spec: TensorSpec::contiguous(dtype, &[n]), generator };
        let counter = Counter::new(&tensor, 7, "case", "self").unwrap();
        let mut bytes = vec![0; dtype.size()];
        let value = |index| {
            counter.write(index, &mut bytes);
            decode(dtype, &bytes)
        };
        (0..n).map(value).collect()
    }

    #[test]
    fn words_are_those_of_splitmix() {
        // The first outputs of the published generator for the seed 1234567.
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973_u64];
        assert_eq!([word(1_234_567, 0), word(1_234_567, 1)], expected);
    }

    #[test]
    fn normal_values_have_their_moments() {
        let n = 200_000;
        let all = values(DType::F32, Gen::Normal { mean: 2.0, std: 3.0 }, n);
        let moment =
            |power| all.iter().map(|x| ((x - 2.0) / 3.0).powi(power)).sum::<f64>() / n as f64;
        assert!(moment(1).abs() < 0.01 && moment(3).abs() < 0.03);
        // Eight uniform words: the fourth moment is 3 - 1.2 / 8.
        assert!((moment(2) - 1.0).abs() < 0.01 && (moment(4) - 2.85).abs() < 0.05);
        let beyond = all.iter().filter(|x| (*x - 2.0).abs() > 9.0).count();
        assert!(beyond > 200, "{beyond} values beyond three deviations");
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        assert!(sorted.len() > 197_000, "f32 values are nearly all different: {}", sorted.len());
    }

    #[test]
    fn integers_stay_in_their_range_and_reach_its_ends() {
        let table = [
            (Gen::Int { low: -3, high: 4 }, -3.0, 4.0),
            (Gen::Index { bound: 11 }, 0.0, 10.0),
            (Gen::IndexOr { bound: 11, other: -100 }, -100.0, 10.0),
            (Gen::NonZero { magnitude: 5 }, -5.0, 5.0),
            (Gen::Sign, -1.0, 1.0),
            (Gen::Exact { magnitude: 7, nonzero: 4, row: 16 }, -7.0, 7.0),
            (Gen::Mask { p: 0.25 }, 0.0, 1.0),
        ];
        for (generator, low, high) in table {
            let all = values(DType::I64, generator, 4096);
            let (min, max) = all.iter().fold((0_f64, 0_f64), |(a, b), &x| (a.min(x), b.max(x)));
            assert_eq!((min, max), (low, high), "{generator:?}");
        }
        let exact = values(DType::F32, Gen::Exact { magnitude: 7, nonzero: 4, row: 16 }, 4096);
        assert!(exact.chunks(16).all(|row| row.iter().filter(|x| **x != 0.0).count() == 4));
        let mask = values(DType::Bool, Gen::Mask { p: 0.25 }, 40_000);
        assert!((mask.iter().sum::<f64>() / 40_000.0 - 0.25).abs() < 0.01);
    }

    #[test]
    fn what_a_device_cannot_make_has_no_recipe() {
        for generator in [Gen::HeavyTail, Gen::Permutation, Gen::LogNormal { std: 1.0 }] {
            assert_eq!(Recipe::of(generator, 1), None);
        }
        let strided =
            TensorSpec { dtype: DType::F32, shape: vec![2, 3], stride: vec![1, 2], offset: 0 };
        let counted = |spec: &TensorSpec, generator| {
            Counter::new(&TensorArg { spec: spec.clone(), generator }, 7, "case", "self").is_some()
        };
        assert!(counted(&strided, Gen::Ties));
        assert!(!counted(&strided, Gen::Exact { magnitude: 3, nonzero: 1, row: 3 }));
        assert!(!counted(&TensorSpec { stride: vec![4, 1], ..strided.clone() }, Gen::Ties));
        assert!(!counted(&TensorSpec { stride: vec![0, 1], ..strided }, Gen::Ties));
    }
}
