//! `D = A * B + C` on fragments.
//!
//! Products of 16-bit and smaller floats and of integers are exact in f32. Float sums start at C
//! and are rounded to f32 after each product, in a fixed order: first the first elements of all
//! words along `k`, then the second ones, and so on. An f16 result is rounded once more, at the
//! end. The machine differs: it adds a group of products at once, aligned to the largest of them
//! with the lower bits cut off, so the last bits of a result are not the same. For sums without
//! cancellation the two agree to a few units in the last place of the largest partial sum. Integers
//! and bits agree exactly. Infinities and NaN follow IEEE; a NaN result is canonical.

use super::{
    super::access::Registers,
    element::{decode, from_f16, to_f16},
    sparse::Selection,
};
use crate::{
    alu::{convert::add_odd, double, single},
    op::{Arithmetic, Element, Fragment, MatrixOperand, ProductOp, Shape, W},
};

/// Most words and elements of a factor of any shape.
const WORDS: usize = 256;
const A: usize = 1024;
const B: usize = 1024;
/// Most elements of an accumulator.
const C: usize = 256;

/// Factors and sums out of their fragments. Words are `[k / per word, m]` (B: `n`); elements have
/// their place in the word as another, outermost dimension.
#[derive(Debug)]
pub(super) struct Factors {
    a_words: [u32; WORDS],
    b_words: [u32; WORDS],
    a: [f32; A],
    b: [f32; B],
    sum: [f32; C],
}

impl Default for Factors {
    fn default() -> Self {
        Self { a_words: [0; WORDS], b_words: [0; WORDS], a: [0.0; A], b: [0.0; B], sum: [0.0; C] }
    }
}

pub(super) fn product(
    op: &ProductOp,
    selection: Option<&Selection>,
    f: &mut Factors,
    regs: &mut Registers<'_>,
) {
    match op.arithmetic {
        Arithmetic::Float => {
            f.load_factors(op, regs);
            f.load_sum(op, regs);
            f.multiply(op, selection);
            f.store_floats(op, regs);
        }
        Arithmetic::Integer { saturate } => {
            f.load_factors(op, regs);
            f.sum.fill(0.0);
            f.multiply(op, selection);
            f.store_integers(op, regs, saturate);
        }
        Arithmetic::Bits { and } => {
            f.load_words(op, regs);
            f.count_bits(op.shape, and);
            f.store_integers(op, regs, false);
        }
        Arithmetic::Double => doubles(op, regs),
        Arithmetic::Quads { a_rows, b_rows } => quads(op, a_rows, b_rows, regs),
    }
}

/// Copies a register's block of eight rows by four words to `[word, row]`.
pub(in crate::exec) fn scatter(
    register: &W,
    block: usize,
    step: usize,
    rows: usize,
    words: &mut [u32],
) {
    for (t, row) in words[4 * step * rows..].chunks_exact_mut(rows).take(4).enumerate() {
        for (g, word) in row[8 * block..8 * block + 8].iter_mut().enumerate() {
            *word = register[4 * g + t];
        }
    }
}

/// The two registers (or halves of one) of an accumulator's block of eight by eight, as pairs of
/// neighbours in a row.
fn pair(element: Element, at: usize, list: &[u32]) -> [usize; 2] {
    match element {
        Element::F16 => [list[at] as usize; 2],
        _ => [list[2 * at] as usize, list[2 * at + 1] as usize],
    }
}

/// The blocks of eight by eight of an accumulator in the order of their registers: number and index
/// of the first element in `[m, n]`.
fn blocks(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    let Shape { m, n, .. } = shape;
    (0..n / 8)
        .flat_map(move |column| (0..m / 8).map(move |block| 8 * (block * n + column)))
        .enumerate()
}

/// A whole number below 2^22 in magnitude, as all sums of integers are: the last place of 1.5 *
/// 2^23 is one, so the sum with it has the integer in its lower bits.
#[inline]
fn small_integer(sum: f32) -> i32 {
    const BASE: f32 = 12_582_912.0;
    (sum + BASE).to_bits().wrapping_sub(BASE.to_bits()) as i32
}

impl Factors {
    fn load_words(&mut self, op: &ProductOp, regs: &Registers<'_>) {
        let Shape { m, n, k } = op.shape;
        let steps = |element: Element, k: usize| k / (4 * element.per_register());
        let (blocks, a_steps) = (m / 8, steps(op.a.element, op.stored_k()));
        for step in 0..a_steps {
            for block in 0..blocks {
                let register = &regs.rows.w[op.a.regs[block + blocks * step] as usize];
                scatter(register, block, step, m, &mut self.a_words);
            }
        }
        let b_steps = steps(op.b.element, k);
        for block in 0..n / 8 {
            for step in 0..b_steps {
                let register = &regs.rows.w[op.b.regs[block * b_steps + step] as usize];
                scatter(register, block, step, n, &mut self.b_words);
            }
        }
    }

    fn load_factors(&mut self, op: &ProductOp, regs: &Registers<'_>) {
        self.load_words(op, regs);
        let (Shape { m, n, k }, half) = (op.shape, op.stored_k());
        let (a, b) = (op.a.element, op.b.element);
        decode(a, &self.a_words[..m * half / a.per_register()], &mut self.a[..m * half]);
        decode(b, &self.b_words[..n * k / b.per_register()], &mut self.b[..n * k]);
    }

    fn load_sum(&mut self, op: &ProductOp, regs: &Registers<'_>) {
        let (n, element) = (op.shape.n, op.c.element);
        for (at, start) in blocks(op.shape) {
            let [even, odd] = pair(element, at, &op.c.regs).map(|r| &regs.rows.w[r]);
            let (even, _) = even.as_chunks::<4>();
            let (odd, _) = odd.as_chunks::<4>();
            let rows = self.sum[start..].chunks_mut(n);
            for ((row, even), odd) in rows.zip(even).zip(odd) {
                let Some(row) = row.first_chunk_mut::<8>() else { continue };
                for t in 0..4 {
                    let (x, y) = (even[t], odd[t]);
                    [row[2 * t], row[2 * t + 1]] = match element {
                        Element::F16 => [from_f16(x), from_f16(x >> 16)],
                        _ => [f32::from_bits(x), f32::from_bits(y)],
                    };
                }
            }
        }
    }

    fn multiply(&mut self, op: &ProductOp, selection: Option<&Selection>) {
        let (Shape { m, n, k }, element) = (op.shape, op.a.element);
        let a = &self.a[..m * op.stored_k()];
        let (b, sum) = (&self.b[..n * k], &mut self.sum[..m * n]);
        if let Some(selection) = selection {
            return selection.add(n, a, b, sum);
        }
        if matches!(element, Element::Bf16 | Element::Tf32) && !is_exact(a, b) {
            return multiply_wide(m, n, a, b, sum);
        }
        match n {
            8 => multiply::<8, 4>(m, a, b, sum),
            16 => multiply::<16, 2>(m, a, b, sum),
            _ => multiply::<32, 1>(m, a, b, sum),
        }
    }

    fn count_bits(&mut self, shape: Shape, and: bool) {
        let Shape { m, k, .. } = shape;
        let (b, _) = self.b_words[..8 * (k / 32)].as_chunks::<8>();
        let (sum, _) = self.sum.as_chunks_mut::<8>();
        for (row, sum) in sum[..m].iter_mut().enumerate() {
            let mut counts = [0; 8];
            for (a, b) in self.a_words.chunks_exact(m).zip(b) {
                for (count, b) in counts.iter_mut().zip(b) {
                    let bits = if and { a[row] & b } else { a[row] ^ b };
                    *count += bits.count_ones() as i32;
                }
            }
            // At most 256.
            *sum = counts.map(|count| count as f32);
        }
    }

    /// The sums at even and at odd columns of a block that starts at `start`, by lane.
    #[inline]
    fn lanes<T: Copy + Default>(
        &self,
        start: usize,
        n: usize,
        convert: impl Fn(f32) -> T,
    ) -> [[T; 32]; 2] {
        let [mut evens, mut odds] = [[T::default(); 32]; 2];
        let rows = self.sum[start..].chunks(n);
        let (even_rows, _) = evens.as_chunks_mut::<4>();
        let (odd_rows, _) = odds.as_chunks_mut::<4>();
        for ((row, even), odd) in rows.zip(even_rows).zip(odd_rows) {
            let Some(row) = row.first_chunk::<8>() else { continue };
            for t in 0..4 {
                even[t] = convert(row[2 * t]);
                odd[t] = convert(row[2 * t + 1]);
            }
        }
        [evens, odds]
    }

    fn store_floats(&self, op: &ProductOp, regs: &mut Registers<'_>) {
        for (at, start) in blocks(op.shape) {
            let [even, odd] = pair(op.d.element, at, &op.d.regs);
            if op.d.element == Element::F16 {
                let [x, y] = self.lanes(start, op.shape.n, to_f16);
                for ((to, x), y) in regs.rows.w[even].iter_mut().zip(x).zip(y) {
                    *to = x | y << 16;
                }
            } else {
                let values = self.lanes(start, op.shape.n, single::output::<false, false>);
                [regs.rows.w[even], regs.rows.w[odd]] = values;
            }
        }
    }

    /// Adds the sums, which are exact integers, to C.
    fn store_integers(&self, op: &ProductOp, regs: &mut Registers<'_>, saturate: bool) {
        // A register of C may be another one of D.
        let mut starts = [[0; 32]; 8];
        for (start, from) in starts.iter_mut().zip(&op.c.regs) {
            *start = regs.rows.w[*from as usize];
        }
        for (at, start) in blocks(op.shape) {
            let sums = self.lanes(start, op.shape.n, small_integer);
            let registers = pair(op.d.element, at, &op.d.regs);
            for ((sums, to), starts) in sums.iter().zip(registers).zip(&starts[2 * at..]) {
                for ((to, start), sum) in regs.rows.w[to].iter_mut().zip(starts).zip(sums) {
                    let start = *start as i32;
                    let total = start.wrapping_add(*sum);
                    *to = if saturate { start.saturating_add(*sum) } else { total } as u32;
                }
            }
        }
    }
}

/// Adds the product of `[k, m]` and `[k, N]` to `[m, N]`, `R` rows at a time.
fn multiply<const N: usize, const R: usize>(m: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
    let ((a, _), (b, _)) = (a.as_chunks::<R>(), b.as_chunks::<N>());
    let (sum, _) = sum.as_chunks_mut::<N>();
    let (sum, _) = sum.as_chunks_mut::<R>();
    for (i, sum) in sum.iter_mut().enumerate() {
        let mut total = *sum;
        for (a, b) in a[i..].iter().step_by(m / R).zip(b) {
            for (total, a) in total.iter_mut().zip(a) {
                for (total, b) in total.iter_mut().zip(b) {
                    *total += a * b;
                }
            }
        }
        *sum = total;
    }
}

/// Products where the host has no fused multiply-add.
pub(in crate::exec) struct Fallback;

impl Fallback {
    /// Whether every product is exact in f32.
    pub(in crate::exec) fn is_exact(a: &[f32], b: &[f32]) -> bool {
        is_exact(a, b)
    }

    /// Adds products that are not.
    pub(in crate::exec) fn multiply(m: usize, n: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
        multiply_wide(m, n, a, b, sum);
    }
}

/// Whether every product is exact in f32: none overflows, and none that is not zero underflows.
fn is_exact(a: &[f32], b: &[f32]) -> bool {
    let range = |list: &[f32]| {
        let (mut most, mut least) = (0_i32, i32::MAX);
        for value in list {
            let magnitude = value.to_bits() as i32 & i32::MAX;
            most = most.max(magnitude);
            least = least.min(if magnitude == 0 { i32::MAX } else { magnitude });
        }
        let least = if least == i32::MAX { 1.0 } else { f32::from_bits(least as u32) };
        (f64::from(f32::from_bits(most as u32)), f64::from(least))
    };
    let ((a_most, a_least), (b_most, b_least)) = (range(a), range(b));
    a_most * b_most <= f64::from(f32::MAX) && a_least * b_least >= f64::from(f32::MIN_POSITIVE)
}

/// [`multiply`] for factors whose products f32 cannot hold: each step is rounded once.
fn multiply_wide(m: usize, n: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
    for (a, b) in a.chunks_exact(m).zip(b.chunks_exact(n)) {
        for (a, sum) in a.iter().zip(sum.chunks_exact_mut(n)) {
            for (b, sum) in b.iter().zip(sum) {
                *sum = add_odd(f64::from(*a) * f64::from(*b), f64::from(*sum)) as f32;
            }
        }
    }
}

/// Doubles: a chain of fused multiply-adds in the order of `k`.
fn doubles(op: &ProductOp, regs: &mut Registers<'_>) {
    let Shape { m, n, k } = op.shape;
    let gather = |operand, from: &Fragment, columns: usize, out: &mut [u64]| {
        for (r, register) in from.regs.iter().enumerate() {
            for (lane, value) in regs.rows.d[*register as usize].iter().enumerate() {
                let (row, column) = op.shape.place(operand, Element::F64, lane, r);
                out[row * columns + column] = *value;
            }
        }
    };
    let (mut a, mut b, mut sum) = ([0; 256], [0; 128], [0; 128]);
    gather(MatrixOperand::A, &op.a, k, &mut a);
    gather(MatrixOperand::B, &op.b, n, &mut b);
    gather(MatrixOperand::C, &op.c, n, &mut sum);
    for row in 0..m {
        for column in 0..n {
            let cell = &mut sum[row * n + column];
            for p in 0..k {
                *cell = double::fma(a[row * k + p], b[p * n + column], *cell);
            }
        }
    }
    for (r, register) in op.d.regs.iter().enumerate() {
        regs.rows.d[*register as usize] = std::array::from_fn(|lane| {
            let (row, column) = op.shape.place(MatrixOperand::C, Element::F64, lane, r);
            sum[row * n + column]
        });
    }
}

/// Element `i` of an f16 or f32 fragment of one lane.
fn float(from: &Fragment, i: usize, lane: usize, regs: &Registers<'_>) -> f32 {
    let per = from.element.per_register();
    let word = regs.rows.w[from.regs[i / per] as usize][lane];
    match from.element {
        Element::F16 => from_f16(word >> (16 * (i % 2))),
        _ => f32::from_bits(word),
    }
}

/// Row and column of element `i` of C or D in lane `j` of a quad pair.
fn quad_place(element: Element, j: usize, i: usize) -> (usize, usize) {
    match element {
        Element::F16 => (j, i),
        _ => ((j & 5) + (i & 2), (i & 4) + (j & 2) + (i & 1)),
    }
}

/// `mma.m8n8k4` of f16: four products, each of lanes `4 q` to `4 q + 3` and those 16 further on.
fn quads(op: &ProductOp, a_rows: bool, b_rows: bool, regs: &mut Registers<'_>) {
    for q in 0..4 {
        let lanes: [usize; 8] = std::array::from_fn(|j| 4 * q + j % 4 + 16 * (j / 4));
        let (mut a, mut b, mut sum) = ([[0.0; 4]; 8], [[0.0; 8]; 4], [[0.0_f32; 8]; 8]);
        for (j, &lane) in lanes.iter().enumerate() {
            for i in 0..4 {
                let (row, column) = if a_rows { (j, i) } else { (i + 4 * (j / 4), j % 4) };
                a[row][column] = float(&op.a, i, lane, regs);
                let (row, column) = if b_rows { (j % 4, i + 4 * (j / 4)) } else { (i, j) };
                b[row][column] = float(&op.b, i, lane, regs);
            }
            for i in 0..8 {
                let (row, column) = quad_place(op.c.element, j, i);
                sum[row][column] = float(&op.c, i, lane, regs);
            }
        }
        for (row, sum) in sum.iter_mut().enumerate() {
            for (column, sum) in sum.iter_mut().enumerate() {
                for (a, b) in a[row].iter().zip(&b) {
                    *sum += a * b[column];
                }
            }
        }
        for (j, &lane) in lanes.iter().enumerate() {
            let value = |i: usize| {
                let (row, column) = quad_place(op.d.element, j, i);
                sum[row][column]
            };
            for (r, register) in op.d.regs.iter().enumerate() {
                regs.rows.w[*register as usize][lane] = match op.d.element {
                    Element::F16 => to_f16(value(2 * r)) | to_f16(value(2 * r + 1)) << 16,
                    _ => single::output::<false, false>(value(r)),
                };
            }
        }
    }
}
