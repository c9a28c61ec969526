//! Input values: the same seed, case and argument give the same bytes on every machine.

use std::num::NonZero;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use sha2::{Digest as _, Sha256};

use crate::record::{
    DType, Gen, HostTensor, MatrixStructure, TensorArg, WindowAxis, tensor::encode,
};

mod listed;
mod rows;
mod wide;

/// Elements that share one stream of random numbers, so that chunks can be made in parallel.
const CHUNK: usize = 1 << 16;

/// Elements from which on several threads share the work.
const PARALLEL_FROM: usize = 1 << 19;

/// Largest magnitude of the heavy-tailed distribution: products and sums stay in the range of f16.
const HEAVY_LIMIT: f64 = 1000.0;

/// Odds, one in this many, that an element of the specials distribution is special.
const SPECIAL_EVERY: u32 = 97;

/// Odds, one in this many, that an element of the specials distribution is 0.
const ZERO_EVERY: u32 = 9;

/// Marks streams of pairs of equal elements.
const MIRRORED: u64 = 1 << 63;

/// Levels of the ties distribution; each is exact in every floating-point type.
pub(super) const LEVELS: [f64; 4] = [-1.0, 0.0, 0.5, 2.0];

/// Makes the values of a tensor argument, rounded to its dtype.
///
/// Elements that the strides skip hold garbage that is noticed when it is read: NaN in floating-point
/// storages, huge values in integer ones.
#[must_use]
pub fn generate(tensor: &TensorArg, seed: u64, case_id: &str, arg_name: &str) -> HostTensor {
    let mut host = HostTensor::zeroed(tensor.spec.clone());
    host.storage.fill(garbage(tensor.spec.dtype));
    let stream = Stream {
        key: key(seed, case_id, arg_name),
        generator: tensor.generator,
        numel: tensor.spec.numel(),
        row: tensor.spec.shape.last().copied().unwrap_or(1).max(1),
    };
    if let Gen::Wide { bits, except } = tensor.generator {
        fill_wide(&mut host, &stream, bits, except);
    } else if tensor.spec.is_contiguous() {
        fill_contiguous(&mut host, &stream);
    } else {
        fill_strided(&mut host, &stream);
    }
    host
}

const fn garbage(dtype: DType) -> u8 {
    match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => 0xFF,
        DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::U8 => 0x7F,
        DType::Bool => 1,
    }
}

fn key(seed: u64, case_id: &str, arg_name: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(case_id.as_bytes());
    hash.update([0]);
    hash.update(arg_name.as_bytes());
    hash.finalize().into()
}

fn fill_contiguous(host: &mut HostTensor, stream: &Stream) {
    let dtype = host.spec.dtype;
    let size = dtype.size();
    let elements = &mut host.storage[host.spec.offset * size..];
    let mut chunks: Vec<(usize, &mut [u8])> =
        elements.chunks_mut(CHUNK * size).enumerate().collect();
    let fill = |share: &mut [(usize, &mut [u8])]| {
        for (index, bytes) in share {
            let values = stream.chunk(*index);
            for (value, bytes) in values.into_iter().zip(bytes.chunks_exact_mut(size)) {
                encode(dtype, value, bytes);
            }
        }
    };
    let threads = if stream.numel < PARALLEL_FROM {
        1
    } else {
        std::thread::available_parallelism().map_or(1, NonZero::get)
    };
    if threads == 1 {
        fill(&mut chunks);
        return;
    }
    let share = chunks.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for share in chunks.chunks_mut(share) {
            scope.spawn(move || fill(share));
        }
    });
}

fn fill_strided(host: &mut HostTensor, stream: &Stream) {
    let indices = host.spec.storage_indices();
    for (number, indices) in indices.chunks(CHUNK).enumerate() {
        for (value, &index) in stream.chunk(number).into_iter().zip(indices) {
            host.set(index, value);
        }
    }
}

/// f64 does not hold them all.
fn fill_wide(host: &mut HostTensor, stream: &Stream, bits: u32, except: Option<i64>) {
    let mut rng = ChaCha8Rng::from_seed(stream.key);
    for (index, at) in host.spec.storage_indices().into_iter().enumerate() {
        let value = wide::value(&mut rng, index, bits);
        host.set_integer(at, if except == Some(value) { value + 1 } else { value });
    }
}

/// The values of one tensor in row-major order of its shape, in chunks.
struct Stream {
    key: [u8; 32],
    generator: Gen,
    numel: usize,
    /// Elements along the last dimension.
    row: usize,
}

impl Stream {
    fn chunk(&self, number: usize) -> Vec<f64> {
        let mut rng = ChaCha8Rng::from_seed(self.key);
        rng.set_stream(number as u64);
        let first = number * CHUNK;
        let last = self.numel.min(first + CHUNK);
        match self.generator {
            Gen::Permutation => return self.rows(first..last, permutation),
            Gen::Simplex => return self.rows(first..last, simplex),
            Gen::Offsets { total, closed } => {
                return self.rows(first..last, |rng, n| offsets(rng, n, total, closed));
            }
            Gen::Counts { total } => {
                return self.rows(first..last, |rng, n| counts(rng, n, total));
            }
            _ => {}
        }
        (first..last).map(|index| self.value(&mut rng, index)).collect()
    }

    /// Makes rows as a whole; a row that is cut by the end of the chunk is made twice.
    fn rows(
        &self,
        range: std::ops::Range<usize>,
        make: impl Fn(&mut ChaCha8Rng, usize) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut values = Vec::with_capacity(range.len());
        let mut at = range.start;
        while at < range.end {
            let number = at / self.row;
            let mut rng = ChaCha8Rng::from_seed(self.key);
            rng.set_stream(number as u64);
            let row = make(&mut rng, self.row);
            let from = at - number * self.row;
            let until = self.row.min(range.end - number * self.row);
            values.extend_from_slice(&row[from..until]);
            at += until - from;
        }
        values
    }

    fn is_lone(&self, index: usize) -> bool {
        rows::is_lone(&self.key, index, self.numel)
    }

    fn value(&self, rng: &mut ChaCha8Rng, index: usize) -> f64 {
        match self.generator {
            Gen::Normal { mean, std } => mean + std * normal(rng),
            Gen::Uniform { low, high } => low + (high - low) * rng.random::<f64>(),
            Gen::Exact { magnitude, nonzero, row } => {
                let value = odd(rng, magnitude);
                if is_nonzero(index, nonzero as usize, row as usize) { value } else { 0.0 }
            }
            Gen::Constant { value } => value,
            Gen::Matrix { low, high, rows, structure } => {
                let row = (index / self.row) as u64;
                let (column, row_in_matrix) = ((index % self.row) as u64, row % rows.max(1));
                let uniform = |rng: &mut ChaCha8Rng| low + (high - low) * rng.random::<f64>();
                let drawn = uniform(rng);
                match structure {
                    MatrixStructure::Upper if column < row_in_matrix => 0.0,
                    MatrixStructure::Lower if column > row_in_matrix => 0.0,
                    MatrixStructure::Upper | MatrixStructure::Lower => drawn,
                    MatrixStructure::Symmetric => {
                        let (first, second) =
                            (column.min(row_in_matrix), column.max(row_in_matrix));
                        let first = row - row_in_matrix + first;
                        let mut rng = ChaCha8Rng::from_seed(self.key);
                        rng.set_stream(MIRRORED | (first * self.row as u64 + second));
                        uniform(&mut rng)
                    }
                }
            }
            Gen::Arange { start, step } => start + step * index as f64,
            Gen::Triangle { rows, diagonal, lower, inside, outside } => {
                let row = (index / self.row) as u64 % rows.max(1);
                let offset = (index % self.row) as i64 - row.cast_signed();
                let is_inside = if lower { offset <= diagonal } else { offset >= diagonal };
                if is_inside { inside } else { outside }
            }
            Gen::HeavyTail => {
                let magnitude = (2.0 * normal(rng)).exp().min(HEAVY_LIMIT);
                if rng.random() { magnitude } else { -magnitude }
            }
            Gen::Specials => {
                let value = normal(rng);
                let lot = rng.random_range(0..SPECIAL_EVERY * 3);
                special(index, self, lot).unwrap_or(value)
            }
            Gen::SpecialRows { negative_nan } => {
                let value = rows::value(rng, &self.key, index, self.row);
                if negative_nan || !value.is_nan() { value } else { f64::NAN }
            }
            Gen::LoneInfinity if self.is_lone(index) => f64::INFINITY,
            Gen::LoneInfinity => normal(rng),
            Gen::Cancelling { scale, extent, inner } => {
                let magnitude = scale * (1.0 + rng.random::<f64>() / 8.0);
                magnitude * cancelling_sign(rng, index as u64, extent.max(1), inner.max(1))
            }
            Gen::LoneNan { .. } if self.is_lone(index) => f64::NAN,
            Gen::LoneNan { rest } => f64::from(rest),
            Gen::Listed { list } => listed::value(rng, list, index),
            Gen::Lone { value, .. } if self.is_lone(index) => value as f64,
            Gen::Lone { rest, .. } => rest as f64,
            Gen::Ties => LEVELS[rng.random_range(0..LEVELS.len())],
            Gen::Mask { p } => f64::from(u8::from(rng.random::<f64>() < p)),
            Gen::Int { low, high } => rng.random_range(low..=high.max(low)) as f64,
            Gen::NonZero { magnitude } => {
                f64::from(rng.random_range(1..=magnitude.max(1))) * sign(rng)
            }
            Gen::Sign => sign(rng),
            Gen::LogNormal { std } => (std * normal(rng)).exp(),
            Gen::Permutation
            | Gen::Simplex
            | Gen::Offsets { .. }
            | Gen::Counts { .. }
            | Gen::Wide { .. } => {
                unreachable!("they are made as a whole")
            }
            Gen::Distinct { extent, inner, bound } => {
                self.distinct(index as u64, extent.max(1), inner.max(1), bound.max(1)) as f64
            }
            Gen::DistinctOr { extent, bound, other } => {
                let value = self.distinct(index as u64, extent.max(1), 1, bound.max(1)) as f64;
                if rng.random_range(0..4) == 0 { other as f64 } else { value }
            }
            Gen::Bags { total, bags, begins: true } => begin(index as u64, total, bags) as f64,
            Gen::Bags { total, bags, .. } => bag_of(index as u64, total, bags) as f64,
            Gen::InWindow { rows, columns } => {
                let window = index as u64 % (rows.count * columns.count).max(1);
                let row = in_window(rng, rows, window / columns.count.max(1));
                let column = in_window(rng, columns, window % columns.count.max(1));
                (row * columns.extent + column) as f64
            }
            Gen::Index { bound } => rng.random_range(0..bound.max(1)) as f64,
            Gen::IndexOr { bound, other } => {
                let value = rng.random_range(0..bound.max(1)) as f64;
                if rng.random_range(0..4) == 0 { other as f64 } else { value }
            }
        }
    }

    /// Returns an element of a run of different integers: an affine function of the place in the
    /// run, with a factor that has no divisor in common with the bound; both are the run's own.
    fn distinct(&self, index: u64, extent: u64, inner: u64, bound: u64) -> u64 {
        let place = index / inner % extent;
        let run = index / (inner * extent) * inner + index % inner;
        let mut rng = ChaCha8Rng::from_seed(self.key);
        rng.set_stream(run);
        let first = rng.random_range(0..bound);
        let factor = std::iter::repeat_with(|| rng.random_range(1..=bound))
            .take(TRIES)
            .find(|&factor| coprime(factor, bound))
            .unwrap_or(1);
        let step = u128::from(place) * u128::from(factor);
        u64::try_from((u128::from(first) + step) % u128::from(bound)).unwrap_or(0)
    }
}

/// How often a factor is drawn before the plainest one is taken.
const TRIES: usize = 32;

fn coprime(mut a: u64, mut b: u64) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

fn offsets(rng: &mut ChaCha8Rng, n: usize, total: u64, closed: bool) -> Vec<f64> {
    let mut row: Vec<u64> = (0..n).map(|_| rng.random_range(0..=total)).collect();
    row.sort_unstable();
    if let Some(last) = row.last_mut().filter(|_| closed) {
        *last = total;
    }
    if let Some(first) = row.first_mut() {
        *first = 0;
    }
    row.into_iter().map(|offset| offset as f64).collect()
}

fn counts(rng: &mut ChaCha8Rng, n: usize, total: u64) -> Vec<f64> {
    let ends = offsets(rng, n + 1, total, true);
    ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns where a bag begins.
fn begin(bag: u64, total: u64, bags: u64) -> u64 {
    let square = |n: u64| u128::from(n) * u128::from(n);
    u64::try_from(square(bag.min(bags)) * u128::from(total) / square(bags.max(1))).unwrap_or(total)
}

/// Returns the bag of an element: the last one that begins at it or before.
fn bag_of(element: u64, total: u64, bags: u64) -> u64 {
    let (mut low, mut high) = (0, bags.saturating_sub(1));
    while low < high {
        let middle = high - (high - low) / 2;
        if begin(middle, total, bags) <= element {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Draws a place of a window; one that lies in the padding as a whole gives the last place.
fn in_window(rng: &mut ChaCha8Rng, axis: WindowAxis, window: u64) -> u64 {
    let (first, len) = axis.inside(window);
    let place = first + rng.random_range(0..len.max(1)) * axis.dilation;
    place.min(axis.extent.saturating_sub(1))
}

fn permutation(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    let mut row: Vec<f64> = (0..n).map(|index| index as f64).collect();
    for last in (1..n).rev() {
        row.swap(last, rng.random_range(0..=last));
    }
    row
}

fn simplex(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    let weights: Vec<f64> = (0..n).map(|_| normal(rng).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

fn sign(rng: &mut ChaCha8Rng) -> f64 {
    if rng.random() { 1.0 } else { -1.0 }
}

fn cancelling_sign(rng: &mut ChaCha8Rng, index: u64, extent: u64, inner: u64) -> f64 {
    let drawn = sign(rng);
    let (run, place) = (index / (inner * extent), index / inner % extent);
    match run % 3 {
        2 => drawn,
        _ if 2 * place < extent => 1.0,
        _ => -1.0,
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    rng.sample(StandardNormal)
}

/// Returns an odd integer of magnitude at most `magnitude`: its last bit is lost where a type is
/// too coarse.
fn odd(rng: &mut ChaCha8Rng, magnitude: u32) -> f64 {
    let n_odd = magnitude.div_ceil(2).max(1);
    let value = f64::from(2 * rng.random_range(0..n_odd) + 1);
    if rng.random() { value } else { -value }
}

/// Spreads `nonzero` elements evenly over each row, from another place in each row.
pub(super) fn is_nonzero(index: usize, nonzero: usize, row: usize) -> bool {
    let row = row.max(1);
    let place = index % row + 7919 * (index / row);
    (place % row) * nonzero % row < nonzero
}

/// The values of the specials distribution, in the order in which places for them are drawn.
const SPECIALS: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0];

/// Returns a special value at about one place in [`SPECIAL_EVERY`], a zero at about one in
/// [`ZERO_EVERY`], and each kind at least once: at places that differ from tensor to tensor, so
/// that a special value of one input is combined with ordinary ones and zeros of the others.
fn special(index: usize, stream: &Stream, lot: u32) -> Option<f64> {
    let numel = stream.numel;
    if numel < SPECIALS.len() {
        // A tail that is forgotten shows in the last element.
        return (index + 1 == numel).then(|| SPECIALS[usize::from(stream.key[0]) % 3]);
    }
    // Distinct places: one per fifth of the tensor.
    let (part, n_parts) = (index * SPECIALS.len() / numel, SPECIALS.len());
    let first = (part * numel).div_ceil(n_parts);
    let length = ((part + 1) * numel).div_ceil(n_parts) - first;
    let drawn = usize::from(stream.key[part]) * 256 + usize::from(stream.key[part + 8]);
    if index == first + drawn % length {
        return Some(SPECIALS[(part + usize::from(stream.key[20])) % n_parts]);
    }
    // In the last element, of one tensor in two.
    if index + 1 == numel && stream.key[21].is_multiple_of(2) {
        return Some(f64::NAN);
    }
    match lot {
        0 => Some(-0.0),
        1 => Some(f64::INFINITY),
        2 => Some(f64::NEG_INFINITY),
        _ if lot % ZERO_EVERY == 3 => Some(0.0),
        _ => None,
    }
}
