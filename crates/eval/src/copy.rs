//! The launch of kgen's own strided copy, for `contiguous` and `expand` of a plan.

use kgen_compile::{COPY_MAX_DIMS, copy_kernel};
use kgen_record::TensorSpec;

/// Threads of a block.
const BLOCK: u32 = 256;

/// Blocks at most; the kernel's loop takes larger copies.
const MAX_GRID: usize = 1 << 16;

/// One launch of the copy kernel, without its two pointers.
#[derive(Debug, PartialEq)]
pub(super) struct CopyLaunch {
    /// The kernel's name.
    pub(super) kernel: &'static str,
    /// Blocks along x.
    pub(super) grid: u32,
    /// Threads along x.
    pub(super) block: u32,
    /// Source offset from the buffer's first byte.
    pub(super) byte_offset: i64,
    /// The scalar arguments, little-endian.
    pub(super) scalars: Vec<Vec<u8>>,
}

/// Plans the copy of a view; `None` where it has no elements.
///
/// # Panics
///
/// When the view keeps more than eight dimensions after merging neighbours: no op of kgen has so
/// many.
pub(super) fn copy_launch(spec: &TensorSpec) -> Option<CopyLaunch> {
    let numel = spec.numel();
    if numel == 0 {
        return None;
    }
    let size = spec.dtype.size();
    let dims = merge(spec);
    assert!(dims.len() <= COPY_MAX_DIMS, "a view of {} dimensions", dims.len());
    let padding = COPY_MAX_DIMS - dims.len();
    let extents = std::iter::repeat_n(1, padding).chain(dims.iter().map(|dim| dim.0));
    let strides = std::iter::repeat_n(0, padding).chain(dims.iter().map(|dim| dim.1));
    let scalars = std::iter::once(numel).chain(extents).chain(strides);
    let blocks = numel.div_ceil(BLOCK as usize).min(MAX_GRID);
    Some(CopyLaunch {
        kernel: copy_kernel(size).expect("every dtype is 1, 2, 4 or 8 bytes wide"),
        grid: u32::try_from(blocks).expect("at most MAX_GRID"),
        block: BLOCK,
        byte_offset: i64::try_from(spec.offset * size).expect("buffers are far below 2^63 bytes"),
        scalars: scalars.map(|value| (value as u64).to_le_bytes().to_vec()).collect(),
    })
}

/// Merges neighbouring dimensions that one stride walks; drops those of extent 1.
fn merge(spec: &TensorSpec) -> Vec<(usize, usize)> {
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (&extent, &stride) in spec.shape.iter().zip(&spec.stride) {
        match merged.last_mut() {
            _ if extent == 1 => {}
            Some(outer) if outer.1 == extent * stride => *outer = (outer.0 * extent, stride),
            Some(_) | None => merged.push((extent, stride)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_record::DType;

    #[test]
    fn dimensions_merge_where_one_stride_walks_them() {
        let spec = |shape: &[usize], stride: &[usize]| TensorSpec {
            dtype: DType::F16,
            shape: shape.to_vec(),
            stride: stride.to_vec(),
            offset: 3,
        };
        assert_eq!(merge(&spec(&[2, 3, 4], &[12, 4, 1])), [(24, 1)]);
        assert_eq!(merge(&spec(&[2, 1, 4], &[9, 7, 1])), [(2, 9), (4, 1)]);
        assert_eq!(merge(&spec(&[5, 4], &[0, 0])), [(20, 0)]);
        assert_eq!(merge(&spec(&[], &[])), []);
        assert!(copy_launch(&spec(&[0, 4], &[4, 1])).is_none());
        let launch = copy_launch(&spec(&[3, 5], &[1, 3])).unwrap();
        assert_eq!((launch.kernel, launch.grid, launch.byte_offset), ("kg_copy_2", 1, 6));
        assert_eq!(launch.scalars.len(), 1 + 2 * COPY_MAX_DIMS);
        assert_eq!(launch.scalars[0], 15u64.to_le_bytes());
    }
}
