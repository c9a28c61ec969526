//! `D = A * B + C` on fragments.
//!
//! Products of 16-bit and smaller floats and of integers are exact in f32. Float sums start at C
//! and are rounded to f32 after each product, in the order of `k`; an f16 result is rounded once
//! more, at the end. The machine differs: it adds a group of products at once, aligned to the
//! largest of them with the lower bits cut off, so the last bits of a result are not the same. For
//! sums without cancellation the two agree to a few units in the last place of the largest partial
//! sum. Integers and bits agree exactly. Infinities and NaN follow IEEE; a NaN result is canonical.

use super::{super::access::Registers, element::decode};
use crate::{
    alu::{
        convert::add_odd,
        double,
        half::{F16Type, Half},
        single,
    },
    op::{Arithmetic, Element, Fragment, MatrixOperand, ProductOp, Shape, W},
};

/// Most words and elements of a factor of any shape.
const WORDS: usize = 256;
const A: usize = 1024;
const B: usize = 512;
/// Most elements of an accumulator.
const C: usize = 256;

/// Factors and sums out of their fragments. Factors have `k` as their outer dimension.
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

/// Computes a product.
pub(super) fn product(op: &ProductOp, f: &mut Factors, regs: &mut Registers<'_>) {
    match op.arithmetic {
        Arithmetic::Float => {
            f.load_factors(op, regs);
            f.load_sum(op, regs);
            f.multiply(op.shape, op.a.element);
            f.store_floats(op, regs);
        }
        Arithmetic::Integer { saturate } => {
            f.load_factors(op, regs);
            f.sum.fill(0.0);
            f.multiply(op.shape, op.a.element);
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
fn scatter(register: &W, block: usize, step: usize, rows: usize, words: &mut [u32]) {
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

impl Factors {
    fn load_words(&mut self, op: &ProductOp, regs: &Registers<'_>) {
        let Shape { m, n, k } = op.shape;
        let steps = |element: Element| k / (4 * element.per_register());
        let (blocks, a_steps) = (m / 8, steps(op.a.element));
        for step in 0..a_steps {
            for block in 0..blocks {
                let register = &regs.w[op.a.regs[block + blocks * step] as usize];
                scatter(register, block, step, m, &mut self.a_words);
            }
        }
        let b_steps = steps(op.b.element);
        for block in 0..n / 8 {
            for step in 0..b_steps {
                let register = &regs.w[op.b.regs[block * b_steps + step] as usize];
                scatter(register, block, step, n, &mut self.b_words);
            }
        }
    }

    fn load_factors(&mut self, op: &ProductOp, regs: &Registers<'_>) {
        self.load_words(op, regs);
        let Shape { m, n, k } = op.shape;
        let (a, b) = (op.a.element, op.b.element);
        let words = self.a_words[..m * k / a.per_register()].chunks_exact(m);
        for (words, out) in words.zip(self.a.chunks_exact_mut(m * a.per_register())) {
            decode(a, words, out);
        }
        let words = self.b_words[..n * k / b.per_register()].chunks_exact(n);
        for (words, out) in words.zip(self.b.chunks_exact_mut(n * b.per_register())) {
            decode(b, words, out);
        }
    }

    fn load_sum(&mut self, op: &ProductOp, regs: &Registers<'_>) {
        let Shape { m, n, .. } = op.shape;
        let (blocks, element) = (m / 8, op.c.element);
        for column in 0..n / 8 {
            for block in 0..blocks {
                let [even, odd] = pair(element, block + blocks * column, &op.c.regs);
                let (even, odd) = (&regs.w[even], &regs.w[odd]);
                for g in 0..8 {
                    let row = &mut self.sum[(8 * block + g) * n + 8 * column..][..8];
                    for t in 0..4 {
                        let (x, y) = (even[4 * g + t], odd[4 * g + t]);
                        [row[2 * t], row[2 * t + 1]] = match element {
                            Element::F16 => [F16Type::to_f32(x & 0xffff), F16Type::to_f32(x >> 16)],
                            _ => [f32::from_bits(x), f32::from_bits(y)],
                        };
                    }
                }
            }
        }
    }

    fn multiply(&mut self, shape: Shape, element: Element) {
        let Shape { m, n, k } = shape;
        let (a, b, sum) = (&self.a[..m * k], &self.b[..n * k], &mut self.sum[..m * n]);
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
        let Shape { m, n, k } = shape;
        for row in 0..m {
            for column in 0..n {
                let bits = |word: usize| {
                    let (a, b) = (self.a_words[word * m + row], self.b_words[word * n + column]);
                    if and { (a & b).count_ones() } else { (a ^ b).count_ones() }
                };
                let count: u32 = (0..k / 32).map(bits).sum();
                // At most 256.
                self.sum[row * n + column] = count as f32;
            }
        }
    }

    fn store_floats(&self, op: &ProductOp, regs: &mut Registers<'_>) {
        let Shape { m, n, .. } = op.shape;
        let (blocks, element) = (m / 8, op.d.element);
        for column in 0..n / 8 {
            for block in 0..blocks {
                let [even, odd] = pair(element, block + blocks * column, &op.d.regs);
                for lane in 0..32 {
                    let at = (8 * block + lane / 4) * n + 8 * column + 2 * (lane % 4);
                    let (x, y) = (self.sum[at], self.sum[at + 1]);
                    if element == Element::F16 {
                        regs.w[even][lane] = F16Type::from_f32(x) | F16Type::from_f32(y) << 16;
                    } else {
                        regs.w[even][lane] = single::output::<false, false>(x);
                        regs.w[odd][lane] = single::output::<false, false>(y);
                    }
                }
            }
        }
    }

    /// Adds the sums, which are exact integers, to C.
    fn store_integers(&self, op: &ProductOp, regs: &mut Registers<'_>, saturate: bool) {
        let Shape { m, n, .. } = op.shape;
        let blocks = m / 8;
        // A register of C may be another one of D.
        let mut starts = [[0; 32]; 8];
        for (start, from) in starts.iter_mut().zip(&op.c.regs) {
            *start = regs.w[*from as usize];
        }
        for (r, (start, to)) in starts.iter().zip(&op.d.regs).enumerate() {
            let (block, column) = (r / 2 % blocks, r / 2 / blocks);
            regs.w[*to as usize] = std::array::from_fn(|lane| {
                let at = (8 * block + lane / 4) * n + 8 * column + 2 * (lane % 4) + r % 2;
                let (start, sum) = (start[lane] as i32, self.sum[at] as i32);
                let total =
                    if saturate { start.saturating_add(sum) } else { start.wrapping_add(sum) };
                total as u32
            });
        }
    }
}

/// Adds the product of `[k, m]` and `[k, N]` to `[m, N]`, `R` rows at a time.
fn multiply<const N: usize, const R: usize>(m: usize, a: &[f32], b: &[f32], sum: &mut [f32]) {
    let (b, _) = b.as_chunks::<N>();
    let (a, _) = a.as_chunks::<R>();
    let (sum, _) = sum.as_chunks_mut::<N>();
    let (sum, _) = sum.as_chunks_mut::<R>();
    for (i, sum) in sum.iter_mut().enumerate() {
        let mut total = *sum;
        for (a, b) in a.iter().skip(i).step_by(m / R).zip(b) {
            for (total, a) in total.iter_mut().zip(a) {
                for (total, b) in total.iter_mut().zip(b) {
                    *total += a * b;
                }
            }
        }
        *sum = total;
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
            for (lane, value) in regs.d[*register as usize].iter().enumerate() {
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
        regs.d[*register as usize] = std::array::from_fn(|lane| {
            let (row, column) = op.shape.place(MatrixOperand::C, Element::F64, lane, r);
            sum[row * n + column]
        });
    }
}

/// Element `i` of an f16 or f32 fragment of one lane.
fn float(from: &Fragment, i: usize, lane: usize, regs: &Registers<'_>) -> f32 {
    let per = from.element.per_register();
    let word = regs.w[from.regs[i / per] as usize][lane];
    match from.element {
        Element::F16 => F16Type::to_f32((word >> (16 * (i % 2))) & 0xffff),
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
                regs.w[*register as usize][lane] = match op.d.element {
                    Element::F16 => {
                        F16Type::from_f32(value(2 * r)) | F16Type::from_f32(value(2 * r + 1)) << 16
                    }
                    _ => single::output::<false, false>(value(r)),
                };
            }
        }
    }
}
