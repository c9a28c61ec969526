//! Tensor maps: a tensor in global memory as the Tensor Memory Accelerator sees it.
//!
//! The rules of `check` are those of `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col`. The bytes
//! of a map are opaque on a GPU; those made here are the emulator's own.

mod bytes;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// Most dimensions of a tensor.
pub(crate) const MAX_RANK: usize = 5;

/// Type of a tensor's elements: `CUtensorMapDataType`, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorMapType {
    /// 8-bit integers; any type of one byte.
    U8,
    /// Unsigned 16-bit integers.
    U16,
    /// Unsigned 32-bit integers.
    U32,
    /// Signed 32-bit integers.
    I32,
    /// Unsigned 64-bit integers.
    U64,
    /// Signed 64-bit integers.
    I64,
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// bfloat16.
    Bf16,
    /// Single precision, subnormal numbers read as zeros.
    F32Ftz,
    /// Single precision, rounded to `tf32` on the way.
    Tf32,
    /// Single precision, rounded to `tf32` on the way, subnormal numbers read as zeros.
    Tf32Ftz,
}

impl TensorMapType {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// Bytes of an element.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether the elements are floating-point numbers.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::F32
                | Self::F64
                | Self::Bf16
                | Self::F32Ftz
                | Self::Tf32
                | Self::Tf32Ftz
        )
    }
}

/// How channels lie in global memory: `CUtensorMapInterleave`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// One after the other.
    None,
    /// In slices of 16 bytes, as in NC/8HWC8.
    B16,
    /// In slices of 32 bytes, as in NC/16HWC16.
    B32,
}

impl Interleave {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::None, Self::B16, Self::B32];

    /// Bytes of a slice of channels.
    #[must_use]
    pub fn slice(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::B16 => Some(16),
            Self::B32 => Some(32),
        }
    }
}

/// How chunks of 16 bytes are exchanged in shared memory: `CUtensorMapSwizzle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Swizzle {
    /// Not at all.
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::None, Self::B32, Self::B64, Self::B128];

    /// Bytes that chunks are exchanged within.
    #[must_use]
    pub fn span(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::B32 => Some(32),
            Self::B64 => Some(64),
            Self::B128 => Some(128),
        }
    }

    /// Address in shared memory at which the byte lies that would be at `address` without it: bits
    /// 4 and up are combined with those of the 128-byte rows.
    pub(crate) fn apply(self, address: u64) -> u64 {
        let chunks = self.span().map_or(0, |span| span / 16 - 1);
        address ^ (address >> 7 & chunks) << 4
    }
}

/// Bytes that a request brings into the L2 cache: `CUtensorMapL2promotion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum L2Promotion {
    /// As many as it needs.
    None,
    /// 64.
    B64,
    /// 128.
    B128,
    /// 256.
    B256,
}

impl L2Promotion {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::None, Self::B64, Self::B128, Self::B256];
}

/// Value of elements outside the tensor: `CUtensorMapFloatOOBfill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OobFill {
    /// Zero.
    Zeros,
    /// A NaN that `fma` with the right modifier takes as zero.
    Nan,
}

impl OobFill {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Zeros, Self::Nan];
}

/// The part of the tensor that one copy moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorMapMode {
    /// A box.
    Tiled {
        /// Elements along each dimension, innermost first (`boxDim`).
        box_dims: Vec<u32>,
    },
    /// Pixels in a row within a bounding box, as a convolution walks them.
    Im2col {
        /// Offset of the bounding box's lower corner along W, H, D (`pixelBoxLowerCorner`).
        lower: Vec<i32>,
        /// Offset of its upper corner (`pixelBoxUpperCorner`).
        upper: Vec<i32>,
        /// Channels of a pixel (`channelsPerPixel`).
        channels: u32,
        /// Pixels (`pixelsPerColumn`).
        pixels: u32,
    },
}

/// A tensor in global memory, and how parts of it are copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct TensorMap {
    /// Type of the elements.
    pub data_type: TensorMapType,
    /// Address in global memory.
    pub address: u64,
    /// Elements along each dimension, innermost first.
    pub dims: Vec<u64>,
    /// Bytes from one element to the next along each dimension but the innermost.
    pub strides: Vec<u64>,
    /// Steps, in elements, along each dimension.
    pub element_strides: Vec<u32>,
    /// How channels lie in global memory.
    pub interleave: Interleave,
    /// How chunks are exchanged in shared memory.
    pub swizzle: Swizzle,
    /// Bytes that a request brings into the L2 cache.
    pub l2: L2Promotion,
    /// Value of elements outside the tensor.
    pub oob: OobFill,
    /// The part that one copy moves.
    pub mode: TensorMapMode,
}

/// A rule of the driver that a tensor map breaks. Dimensions are counted from the innermost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// Number of dimensions.
    #[error("a tensor map in {mode} mode has {least} to 5 dimensions, not {rank}")]
    Rank {
        /// The mode's name.
        mode: &'static str,
        /// Fewest dimensions.
        least: usize,
        /// Dimensions.
        rank: usize,
    },
    /// Dimensions that the interleaved layouts need.
    #[error("an interleaved tensor map needs at least 3 dimensions, not {rank}")]
    InterleaveRank {
        /// Dimensions.
        rank: usize,
    },
    /// An array with as many entries as the tensor has dimensions, or some fewer.
    #[error("`{field}` needs {want} numbers for a tensor of {rank} dimensions, not {got}")]
    Length {
        /// The array.
        field: &'static str,
        /// Dimensions.
        rank: usize,
        /// Numbers that it needs.
        want: usize,
        /// Numbers that it has.
        got: usize,
    },
    /// The base address.
    #[error("the tensor's address {address:#x} must be a multiple of {align} bytes{why}")]
    Address {
        /// The address.
        address: u64,
        /// Bytes it must be a multiple of.
        align: u64,
        /// Why so many.
        why: &'static str,
    },
    /// Elements along a dimension.
    #[error("dimension {dim} has {extent} elements; 1 to 2^32 are possible")]
    Extent {
        /// The dimension.
        dim: usize,
        /// Its elements.
        extent: u64,
    },
    /// A stride.
    #[error("the stride of dimension {dim}, {stride} bytes, must be a multiple of {align}{why}")]
    StrideAlignment {
        /// The dimension.
        dim: usize,
        /// Its stride in bytes.
        stride: u64,
        /// Bytes it must be a multiple of.
        align: u64,
        /// Why so many.
        why: &'static str,
    },
    /// A stride beyond the limit.
    #[error("the stride of dimension {dim}, {stride} bytes, must be less than 2^40")]
    StrideSize {
        /// The dimension.
        dim: usize,
        /// Its stride in bytes.
        stride: u64,
    },
    /// Elements of the box along a dimension.
    #[error("the box has {extent} elements along dimension {dim}; 1 to 256 are possible")]
    Box {
        /// The dimension.
        dim: usize,
        /// Elements of the box along it.
        extent: u32,
    },
    /// Step of the elements along a dimension.
    #[error("the element stride of dimension {dim} is {stride}; 1 to 8 are possible")]
    ElementStride {
        /// The dimension.
        dim: usize,
        /// The step.
        stride: u32,
    },
    /// Bytes of the box along the innermost dimension.
    #[error(
        "the innermost {elements} elements of {bytes} bytes take {total} bytes, which must be a \
         multiple of 16"
    )]
    InnerAlignment {
        /// Elements along the innermost dimension.
        elements: u32,
        /// Bytes of an element.
        bytes: u32,
        /// Bytes of all.
        total: u64,
    },
    /// Bytes of the box along the innermost dimension, beyond the swizzle's span.
    #[error(
        "the innermost {elements} elements of {bytes} bytes take {total} bytes, more than the {span} \
         bytes of the swizzle"
    )]
    InnerSpan {
        /// Elements along the innermost dimension.
        elements: u32,
        /// Bytes of an element.
        bytes: u32,
        /// Bytes of all.
        total: u64,
        /// Bytes of the swizzle's span.
        span: u64,
    },
    /// A swizzle that the interleaved layout does not go with.
    #[error("interleave of 32 bytes needs a swizzle of 32 bytes, or none")]
    InterleaveSwizzle,
    /// A fill that the type does not have.
    #[error(
        "elements outside the tensor can be NaN only for floating-point types, not {data_type:?}"
    )]
    Fill {
        /// The type.
        data_type: TensorMapType,
    },
    /// A corner of the bounding box.
    #[error(
        "the {which} corner's offset {offset} of dimension {dim} is outside {least} to {most}, which \
         a tensor of {rank} dimensions allows"
    )]
    Corner {
        /// `lower` or `upper`.
        which: &'static str,
        /// The dimension.
        dim: usize,
        /// The offset.
        offset: i32,
        /// Least offset.
        least: i32,
        /// Greatest offset.
        most: i32,
        /// Dimensions.
        rank: usize,
    },
    /// A bounding box without pixels.
    #[error(
        "the bounding box is empty along dimension {dim}: {extent} elements, corners {lower} and \
         {upper}"
    )]
    EmptyBox {
        /// The dimension.
        dim: usize,
        /// Elements of the tensor along it.
        extent: u64,
        /// Offset of the lower corner.
        lower: i32,
        /// Offset of the upper corner.
        upper: i32,
    },
    /// Channels of a pixel.
    #[error("{channels} channels per pixel; 1 to 256 are possible")]
    Channels {
        /// Channels.
        channels: u32,
    },
    /// Pixels of a column.
    #[error("{pixels} pixels per column; 1 to 1024 are possible")]
    Pixels {
        /// Pixels.
        pixels: u32,
    },
}

const INTERLEAVE_32: &str = " with interleave of 32 bytes";

impl TensorMap {
    /// Dimensions of the tensor.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Checks the driver's rules.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), TensorMapError> {
        self.check_shape()?;
        self.check_memory()?;
        for (dim, &stride) in self.element_strides.iter().enumerate() {
            let ignored = dim == 0 && self.interleave == Interleave::None;
            if !(1..=8).contains(&stride) && !ignored {
                return Err(TensorMapError::ElementStride { dim, stride });
            }
        }
        let inner = match &self.mode {
            TensorMapMode::Tiled { box_dims } => {
                for (dim, &extent) in box_dims.iter().enumerate() {
                    if !(1..=256).contains(&extent) {
                        return Err(TensorMapError::Box { dim, extent });
                    }
                }
                box_dims[0]
            }
            TensorMapMode::Im2col { lower, upper, channels, pixels } => {
                self.check_corners(lower, upper)?;
                if !(1..=256).contains(channels) {
                    return Err(TensorMapError::Channels { channels: *channels });
                }
                if !(1..=1024).contains(pixels) {
                    return Err(TensorMapError::Pixels { pixels: *pixels });
                }
                *channels
            }
        };
        self.check_inner(inner)?;
        if self.oob == OobFill::Nan && !self.data_type.is_float() {
            return Err(TensorMapError::Fill { data_type: self.data_type });
        }
        Ok(())
    }

    fn check_shape(&self) -> Result<(), TensorMapError> {
        let rank = self.rank();
        let (mode, least) = match self.mode {
            TensorMapMode::Tiled { .. } => ("tiled", 1),
            TensorMapMode::Im2col { .. } => ("im2col", 3),
        };
        if !(least..=MAX_RANK).contains(&rank) {
            return Err(TensorMapError::Rank { mode, least, rank });
        }
        if self.interleave != Interleave::None && rank < 3 {
            return Err(TensorMapError::InterleaveRank { rank });
        }
        let same = |field, want, got| {
            if want == got {
                return Ok(());
            }
            Err(TensorMapError::Length { field, rank, want, got })
        };
        same("strides", rank - 1, self.strides.len())?;
        same("element_strides", rank, self.element_strides.len())?;
        match &self.mode {
            TensorMapMode::Tiled { box_dims } => same("box_dims", rank, box_dims.len()),
            TensorMapMode::Im2col { lower, upper, .. } => {
                same("lower", rank - 2, lower.len())?;
                same("upper", rank - 2, upper.len())
            }
        }
    }

    /// Address, extents and strides in global memory.
    fn check_memory(&self) -> Result<(), TensorMapError> {
        let (align, why) = match self.interleave {
            Interleave::B32 => (32, INTERLEAVE_32),
            Interleave::None | Interleave::B16 => (16, ""),
        };
        let address = self.address;
        if !address.is_multiple_of(align) {
            return Err(TensorMapError::Address { address, align, why });
        }
        for (dim, &extent) in self.dims.iter().enumerate() {
            if extent == 0 || extent > 1 << 32 {
                return Err(TensorMapError::Extent { dim, extent });
            }
        }
        for (dim, &stride) in (1..).zip(&self.strides) {
            if !stride.is_multiple_of(align) {
                return Err(TensorMapError::StrideAlignment { dim, stride, align, why });
            }
            if stride >= 1 << 40 {
                return Err(TensorMapError::StrideSize { dim, stride });
            }
        }
        Ok(())
    }

    fn check_corners(&self, lower: &[i32], upper: &[i32]) -> Result<(), TensorMapError> {
        let rank = self.rank();
        let (least, most) = match rank {
            3 => (-32768, 32767),
            4 => (-128, 127),
            _ => (-16, 15),
        };
        for (which, corner) in [("lower", lower), ("upper", upper)] {
            for (dim, &offset) in (1..).zip(corner) {
                if !(least..=most).contains(&offset) {
                    return Err(TensorMapError::Corner { which, dim, offset, least, most, rank });
                }
            }
        }
        for (dim, (&lower, &upper)) in (1..).zip(lower.iter().zip(upper)) {
            let extent = self.dims[dim];
            if extent as i64 + i64::from(upper) - i64::from(lower) <= 0 {
                return Err(TensorMapError::EmptyBox { dim, extent, lower, upper });
            }
        }
        Ok(())
    }

    /// The rules of the innermost dimension, of which a copy moves `elements`.
    fn check_inner(&self, elements: u32) -> Result<(), TensorMapError> {
        let bytes = self.data_type.bytes();
        let total = u64::from(elements) * u64::from(bytes);
        // In tiled maps the driver wants that of slices as well, though their size is another.
        let tiled = matches!(self.mode, TensorMapMode::Tiled { .. });
        if !total.is_multiple_of(16) && (tiled || self.interleave == Interleave::None) {
            return Err(TensorMapError::InnerAlignment { elements, bytes, total });
        }
        match (self.interleave, self.swizzle) {
            (Interleave::None, swizzle) => match swizzle.span() {
                Some(span) if total > span => {
                    Err(TensorMapError::InnerSpan { elements, bytes, total, span })
                }
                _ => Ok(()),
            },
            (Interleave::B32, Swizzle::B64 | Swizzle::B128) => {
                Err(TensorMapError::InterleaveSwizzle)
            }
            (Interleave::B16 | Interleave::B32, _) => Ok(()),
        }
    }
}
