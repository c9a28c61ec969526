//! Tensor maps of the kernels' buffers.

use ptx_emu::{Interleave, L2Promotion, OobFill, Swizzle, TensorMap, TensorMapMode, TensorMapType};

use crate::Dtype;

/// A dense tensor as a tensor map describes it. Dimensions are counted from the innermost.
#[derive(Debug, Clone, Default)]
pub struct MapShape {
    /// Elements along each dimension.
    pub dims: Vec<u64>,
    /// Elements of a box along each dimension; none in im2col mode.
    pub box_dims: Vec<u32>,
    /// Bytes within which chunks are exchanged in shared memory: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// The bounding box of im2col mode.
    pub im2col: Option<Im2col>,
}

/// Im2col mode: pixels in a row within a bounding box.
#[derive(Debug, Clone)]
pub struct Im2col {
    /// Offset of the box's lower corner along W, H, D.
    pub lower: Vec<i32>,
    /// Offset of its upper corner.
    pub upper: Vec<i32>,
    /// Channels of a pixel.
    pub channels: u32,
    /// Pixels of a copy.
    pub pixels: u32,
}

impl MapShape {
    /// A tensor of which boxes are copied.
    #[must_use]
    pub fn tiled(dims: &[u64], box_dims: &[u32], swizzle: u32) -> Self {
        Self { dims: dims.to_vec(), box_dims: box_dims.to_vec(), swizzle, im2col: None }
    }

    /// The map of the tensor at address 0.
    ///
    /// # Panics
    /// If there is no map of such elements, or no such swizzle.
    #[must_use]
    pub fn tensor_map(&self, dtype: Dtype) -> TensorMap {
        let data_type = match dtype {
            Dtype::F32 => TensorMapType::F32,
            Dtype::F16 => TensorMapType::F16,
            Dtype::Bf16 => TensorMapType::Bf16,
            Dtype::I32 => TensorMapType::I32,
            Dtype::U8 | Dtype::I8 => TensorMapType::U8,
            other => panic!("no map of {other:?}"),
        };
        let rank = self.dims.len();
        let stride = |n: usize| self.dims[..n].iter().product::<u64>() * dtype.bytes() as u64;
        let mode = match &self.im2col {
            None => TensorMapMode::Tiled { box_dims: self.box_dims.clone() },
            Some(Im2col { lower, upper, channels, pixels }) => TensorMapMode::Im2col {
                lower: lower.clone(),
                upper: upper.clone(),
                channels: *channels,
                pixels: *pixels,
            },
        };
        let swizzle =
            Swizzle::ALL.into_iter().find(|s| s.span().unwrap_or(0) == u64::from(self.swizzle));
        TensorMap {
            data_type,
            address: 0,
            dims: self.dims.clone(),
            strides: (1..rank).map(stride).collect(),
            element_strides: vec![1; rank],
            interleave: Interleave::None,
            swizzle: swizzle.expect("there is such a swizzle"),
            l2: L2Promotion::None,
            oob: OobFill::Zeros,
            mode,
        }
    }
}
