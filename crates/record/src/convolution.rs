//! A convolution that a library computes.

use serde::{Deserialize, Serialize};

use super::{BufferOffset, DType};

/// `out = input * weight`, as PyTorch's `convolution` without a bias and not transposed.
///
/// All tensors are contiguous. `B` names a buffer: of a plan, or of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Convolution<B> {
    /// Element type of all tensors.
    pub dtype: DType,
    pub input: BufferOffset<B>,
    /// `[n, c, ..]` with 1 to 3 spatial extents.
    pub input_shape: Vec<usize>,
    pub weight: BufferOffset<B>,
    /// `[c_out, c / groups, ..]`.
    pub weight_shape: Vec<usize>,
    pub out: BufferOffset<B>,
    /// `[n, c_out, ..]`.
    pub out_shape: Vec<usize>,
    /// One per spatial dimension, as padding and dilation.
    pub stride: Vec<usize>,
    /// Zeros on either side.
    pub padding: Vec<usize>,
    pub dilation: Vec<usize>,
    pub groups: usize,
    /// Whether factors of f32 products may be rounded to TF32.
    pub tf32: bool,
    /// Line of the call in the kernel file.
    pub line: u32,
}

impl<B: Copy> Convolution<B> {
    /// Returns the same convolution in other buffers.
    #[must_use]
    pub fn map<C>(&self, buffer: impl Fn(B) -> C) -> Convolution<C> {
        let place = |at: BufferOffset<B>| BufferOffset {
            buffer: buffer(at.buffer),
            byte_offset: at.byte_offset,
        };
        Convolution {
            dtype: self.dtype,
            input: place(self.input),
            input_shape: self.input_shape.clone(),
            weight: place(self.weight),
            weight_shape: self.weight_shape.clone(),
            out: place(self.out),
            out_shape: self.out_shape.clone(),
            stride: self.stride.clone(),
            padding: self.padding.clone(),
            dilation: self.dilation.clone(),
            groups: self.groups,
            tf32: self.tf32,
            line: self.line,
        }
    }
}
