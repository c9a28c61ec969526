//! A matrix product that a library computes.

use serde::{Deserialize, Serialize};

use super::{DType, number};

/// `out = alpha * left @ right + beta * addend + bias`, for each matrix of a batch.
///
/// `B` names a buffer: of a plan, or of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gemm<B> {
    /// Element type of the factors.
    pub dtype: DType,
    /// Element type of result and addend: that of the factors, or f32 of 16-bit ones.
    pub out_dtype: DType,
    /// Rows of `left` and `out`.
    pub m: usize,
    /// Columns of `right` and `out`.
    pub n: usize,
    /// Columns of `left`, rows of `right`; 0 gives zeros.
    pub k: usize,
    /// Matrices in the batch.
    pub batch: usize,
    /// The first factor, `[m, k]`.
    pub left: Matrix<B>,
    /// The second factor, `[k, n]`.
    pub right: Matrix<B>,
    /// The result, `[m, n]`, row-major.
    pub out: Matrix<B>,
    /// The addend, `[m, n]`, row-major.
    pub addend: Option<Matrix<B>>,
    /// A row of `n` elements that is added to each row of `out`.
    pub bias: Option<BufferOffset<B>>,
    /// Factor of the product.
    #[serde(with = "number::plain")]
    pub alpha: f64,
    /// Factor of the addend.
    #[serde(with = "number::plain")]
    pub beta: f64,
    /// Whether factors of f32 products may be rounded to TF32.
    pub tf32: bool,
    /// Line of the call in the kernel file; `None` where kgen wrote the plan.
    pub line: Option<u32>,
}

/// A matrix of a batch in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix<B> {
    pub at: BufferOffset<B>,
    /// Whether the elements of a row are neighbours; otherwise those of a column are.
    pub row_major: bool,
    /// Distance between neighbouring rows, or columns, in elements.
    pub ld: usize,
    /// Distance between neighbouring matrices of the batch, in elements.
    pub batch_stride: usize,
}

/// A place in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferOffset<B> {
    pub buffer: B,
    /// Distance from its first byte, in bytes.
    pub byte_offset: usize,
}

impl<B: Copy> Gemm<B> {
    /// Returns the same product in other buffers.
    #[must_use]
    pub fn map<C>(&self, buffer: impl Fn(B) -> C) -> Gemm<C> {
        let place = |at: BufferOffset<B>| BufferOffset {
            buffer: buffer(at.buffer),
            byte_offset: at.byte_offset,
        };
        let matrix = |matrix: Matrix<B>| Matrix {
            at: place(matrix.at),
            row_major: matrix.row_major,
            ld: matrix.ld,
            batch_stride: matrix.batch_stride,
        };
        Gemm {
            dtype: self.dtype,
            out_dtype: self.out_dtype,
            m: self.m,
            n: self.n,
            k: self.k,
            batch: self.batch,
            left: matrix(self.left),
            right: matrix(self.right),
            out: matrix(self.out),
            addend: self.addend.map(matrix),
            bias: self.bias.map(place),
            alpha: self.alpha,
            beta: self.beta,
            tf32: self.tf32,
            line: self.line,
        }
    }
}
