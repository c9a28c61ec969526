//! `D = A * B + D` for the 16 rows of a warp.
//!
//! Sums are rounded to f32 after each product, as those of [`super::super::matrix`] are; integers
//! agree exactly. Each step is one fused multiply-add where the host has it, which is the same.

use super::super::matrix::{Fallback, Selection, decode, scatter};
use super::layout::Layout;
use crate::{
    alu::simd::{Task, Width},
    op::{Element, W},
};

/// Rows of a warp.
pub(super) const ROWS: usize = 16;

/// Words of a row along k in a chunk, and in A.
const CHUNK_WORDS: usize = 4;
const WORDS: usize = 2 * CHUNK_WORDS;

/// Room to work in.
#[derive(Debug, Default)]
pub(in crate::exec) struct Scratch {
    pub chunks: Vec<u64>,
    words: Vec<u32>,
    a: Vec<f32>,
    b: Vec<f32>,
    sum: Vec<f32>,
    /// The elements of a sparse A.
    pub selection: Option<Selection>,
}

/// Copies the four words of the chunks of each row to `[word, row]`.
fn words_along_k(data: &[u8], chunks: &[u64], rows: usize, words: &mut [u32]) {
    for (row, list) in chunks.chunks_exact(chunks.len() / rows).enumerate() {
        for (n, at) in list.iter().enumerate() {
            let Some(bytes) = data[*at as usize..].first_chunk::<16>() else { continue };
            for (i, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
                words[(CHUNK_WORDS * n + i) * rows + row] = u32::from_le_bytes(*word);
            }
        }
    }
}

/// Pairs the elements of chunks along k: `[pair, row]`, where chunks hold eight rows at one k.
fn words_along_rows(data: &[u8], chunks: &[u64], rows: usize, words: &mut [u32]) {
    for (octet, list) in chunks.chunks_exact(8 * chunks.len() / rows).enumerate() {
        for (pair, ks) in list.chunks_exact(2).enumerate() {
            let chunk = |at: u64| data[at as usize..].first_chunk::<16>();
            let (Some(low), Some(high)) = (chunk(ks[0]), chunk(ks[1])) else { continue };
            let to = &mut words[pair * rows + 8 * octet..][..8];
            let halves = low.as_chunks::<2>().0.iter().zip(high.as_chunks::<2>().0);
            for (to, (low, high)) in to.iter_mut().zip(halves) {
                *to = u32::from_le_bytes([low[0], low[1], high[0], high[1]]);
            }
        }
    }
}

impl Scratch {
    fn gather(&mut self, data: &[u8], layout: Layout, rows: usize) {
        self.words.clear();
        self.words.resize(CHUNK_WORDS * layout.wide * rows, 0);
        if layout.is_transposed() {
            words_along_rows(data, &self.chunks, rows, &mut self.words);
        } else {
            words_along_k(data, &self.chunks, rows, &mut self.words);
        }
    }

    /// Takes A out of the chunks of shared memory.
    pub(super) fn load_a(&mut self, data: &[u8], layout: Layout, element: Element) {
        self.gather(data, layout, ROWS);
        self.decode_a(element);
    }

    /// Takes A out of registers.
    pub(super) fn registers_a(&mut self, registers: &[W; 4], element: Element) {
        self.words.clear();
        self.words.resize(WORDS * ROWS, 0);
        for (n, register) in registers.iter().enumerate() {
            scatter(register, n % 2, n / 2, ROWS, &mut self.words);
        }
        self.decode_a(element);
    }

    fn decode_a(&mut self, element: Element) {
        self.a.clear();
        self.a.resize(self.words.len() * element.per_register(), 0.0);
        decode(element, &self.words, &mut self.a);
    }

    /// Takes B out of the chunks of shared memory.
    pub(super) fn load_b(&mut self, data: &[u8], layout: Layout, n: usize, element: Element) {
        self.gather(data, layout, n);
        self.b.clear();
        self.b.resize(self.words.len() * element.per_register(), 0.0);
        decode(element, &self.words, &mut self.b);
    }

    pub(super) fn negate(&mut self) {
        self.a.iter_mut().for_each(|value| *value = -*value);
    }

    /// Adds the product of the factors to `[row, column]`.
    pub(super) fn add(&self, n: usize, element: Element, sum: &mut [f32], width: Width) {
        let (a, b) = (&self.a[..], &self.b[..]);
        if let Some(selection) = &self.selection {
            selection.add(n, a, b, sum);
        } else if width.fuses() {
            width.widely(Product::<true> { n, a, b, sum });
        } else if matches!(element, Element::Bf16 | Element::Tf32) && !Fallback::is_exact(a, b) {
            Fallback::multiply(ROWS, n, a, b, sum);
        } else {
            width.widely(Product::<false> { n, a, b, sum });
        }
    }

    /// Adds the product of integers.
    pub(super) fn add_integers(
        &mut self,
        n: usize,
        total: &mut [i32],
        saturate: bool,
        width: Width,
    ) {
        let mut sum = std::mem::take(&mut self.sum);
        sum.clear();
        sum.resize(ROWS * n, 0.0);
        self.add(n, Element::S8, &mut sum, width);
        for (total, sum) in total.iter_mut().zip(&sum) {
            // Sums of 32 products of bytes, or 256 of bits, are exact.
            let sum = *sum as i32;
            *total = if saturate { total.saturating_add(sum) } else { total.wrapping_add(sum) };
        }
        self.sum = sum;
    }
}

/// `[k, ROWS]` times `[k, n]`, added to `[ROWS, n]`.
struct Product<'p, const FUSED: bool> {
    n: usize,
    a: &'p [f32],
    b: &'p [f32],
    sum: &'p mut [f32],
}

impl<const FUSED: bool> Task for Product<'_, FUSED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { n, a, b, sum } = self;
        let mut at = 0;
        while at + 16 <= n {
            columns::<FUSED, 16>(n, at, a, b, sum);
            at += 16;
        }
        if at < n {
            columns::<FUSED, 8>(n, at, a, b, sum);
        }
    }
}

/// Rows whose sums are in registers at once.
const BLOCK: usize = 4;

/// `C` columns from `at` on.
#[inline(always)]
fn columns<const FUSED: bool, const C: usize>(
    n: usize,
    at: usize,
    a: &[f32],
    b: &[f32],
    sum: &mut [f32],
) {
    let (a, _) = a.as_chunks::<ROWS>();
    for block in 0..ROWS / BLOCK {
        let first = block * BLOCK;
        let mut total = [[0.0_f32; C]; BLOCK];
        for r in 0..BLOCK {
            total[r].copy_from_slice(&sum[(first + r) * n + at..][..C]);
        }
        for k in 0..a.len() {
            let Some(b) = b[k * n + at..].first_chunk::<C>() else { return };
            for r in 0..BLOCK {
                let a = a[k][first + r];
                for c in 0..C {
                    total[r][c] =
                        if FUSED { a.mul_add(b[c], total[r][c]) } else { total[r][c] + a * b[c] };
                }
            }
        }
        for r in 0..BLOCK {
            sum[(first + r) * n + at..][..C].copy_from_slice(&total[r]);
        }
    }
}
