//! The geometry of tensor copies: which bytes of global memory a copy moves to which place in its
//! part of shared memory, swizzles left out.

use crate::tensor_map::{
    Interleave, MAX_RANK, OobFill, Swizzle, TensorMap, TensorMapMode, TensorMapType,
};

/// Bytes of a copy that lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Offset in the part of shared memory.
    pub at: u64,
    pub bytes: u64,
    /// Address in global memory; none for elements outside the tensor.
    pub global: Option<u64>,
}

/// Bytes from one place to the next along the innermost dimension: an element's, or those of a slice
/// of channels.
fn pitch(map: &TensorMap) -> u64 {
    map.interleave.slice().unwrap_or_else(|| u64::from(map.data_type.bytes()))
}

/// Elements of a tile along a dimension of the box.
fn count(map: &TensorMap, box_dims: &[u32], dim: usize) -> u64 {
    // The dimension of slices, of which an H200 copies one whatever the box says.
    if map.interleave != Interleave::None && dim + 2 == map.rank() {
        return 1;
    }
    let step = if dim == 0 { 1 } else { u64::from(map.element_strides[dim].max(1)) };
    u64::from(box_dims[dim]).div_ceil(step)
}

/// Bytes of shared memory that a copy fills, and of its innermost rows.
pub(super) fn tile_bytes(map: &TensorMap) -> (u64, u64) {
    match &map.mode {
        TensorMapMode::Tiled { box_dims } => {
            let row = count(map, box_dims, 0) * pitch(map);
            (row * (1..map.rank()).map(|i| count(map, box_dims, i)).product::<u64>(), row)
        }
        TensorMapMode::Im2col { channels, pixels, .. } => {
            let row = u64::from(*channels) * pitch(map);
            (row * u64::from(*pixels), row)
        }
    }
}

/// Why the layout of a map's tiles is not known here.
///
/// A swizzle leaves gaps behind rows that are shorter than it: they lie its span apart. Of interleaved
/// maps those are known that a GPU was seen to copy by.
pub(super) fn unknown_layout(map: &TensorMap) -> Option<String> {
    let swizzled = map.swizzle != Swizzle::None;
    let why = match (map.interleave, &map.mode) {
        (Interleave::None, _) => None,
        (_, TensorMapMode::Im2col { .. }) => Some("in im2col mode"),
        (Interleave::B16, _) if swizzled => Some("of 16 bytes with a swizzle"),
        _ if map.element_strides.iter().any(|step| *step != 1) => Some("with element strides"),
        _ => None,
    };
    if let Some(why) = why {
        return Some(format!("interleaved tensor maps {why} are not emulated"));
    }
    let (bytes, row) = tile_bytes(map);
    let short = map.swizzle.span().filter(|span| row < *span && row < bytes)?;
    Some(format!("tensor maps with rows of {row} bytes in a swizzle of {short} are not emulated"))
}

/// The row of `n` innermost elements from `at[0]` on, where the other coordinates are `at[1..]`.
fn row(map: &TensorMap, at: &[i64; MAX_RANK], n: u64, offset: u64, f: &mut impl FnMut(Run)) {
    let bytes = pitch(map);
    let inside = (1..map.rank()).all(|i| (0..map.dims[i] as i64).contains(&at[i]));
    let extent = map.dims[0] as i64;
    let before = (-at[0]).clamp(0, n as i64) as u64;
    let end = (extent - at[0]).clamp(before as i64, n as i64) as u64;
    if !inside || before == n || end == before {
        return f(Run { at: offset, bytes: n * bytes, global: None });
    }
    let outer = (1..map.rank()).map(|i| (at[i] as u64).wrapping_mul(map.strides[i - 1]));
    let outer = outer.fold(map.address, u64::wrapping_add);
    if before > 0 {
        f(Run { at: offset, bytes: before * bytes, global: None });
    }
    let first = (at[0] + before as i64) as u64;
    f(Run {
        at: offset + before * bytes,
        bytes: (end - before) * bytes,
        global: Some(outer.wrapping_add(first * bytes)),
    });
    if end < n {
        f(Run { at: offset + end * bytes, bytes: (n - end) * bytes, global: None });
    }
}

/// Calls `f` with the parts of a copy in the order of shared memory.
pub(super) fn runs(map: &TensorMap, coordinates: &[i64], offsets: &[i64], f: &mut impl FnMut(Run)) {
    let mut start = [0; MAX_RANK];
    start[..coordinates.len()].copy_from_slice(coordinates);
    match &map.mode {
        TensorMapMode::Tiled { box_dims } => tiled(map, box_dims, start, f),
        TensorMapMode::Im2col { lower, upper, channels, pixels } => {
            let shape = (u64::from(*channels), *pixels);
            im2col(map, (lower, upper), shape, (start, offsets), f);
        }
    }
}

fn tiled(map: &TensorMap, box_dims: &[u32], start: [i64; MAX_RANK], f: &mut impl FnMut(Run)) {
    let rank = map.rank();
    let inner = count(map, box_dims, 0);
    let bytes = inner * pitch(map);
    let counts: Vec<u64> = (0..rank).map(|i| count(map, box_dims, i)).collect();
    let rows: u64 = counts[1..].iter().product();
    for n in 0..rows {
        let mut at = start;
        let mut rest = n;
        for dim in 1..rank {
            at[dim] += (rest % counts[dim]) as i64 * i64::from(map.element_strides[dim]);
            rest /= counts[dim];
        }
        row(map, &at, inner, n * bytes, f);
    }
}

/// Pixels follow each other within the bounding box, along W first, and go on with the next image.
fn im2col(
    map: &TensorMap,
    (lower, upper): (&[i32], &[i32]),
    (channels, pixels): (u64, u32),
    (start, offsets): ([i64; MAX_RANK], &[i64]),
    f: &mut impl FnMut(Run),
) {
    let rank = map.rank();
    let spatial = rank - 2;
    let bytes = channels * pitch(map);
    let mut base = start;
    for pixel in 0..u64::from(pixels) {
        let mut at = base;
        for i in 0..spatial {
            at[i + 1] += offsets.get(i).copied().unwrap_or(0);
        }
        row(map, &at, channels, pixel * bytes, f);
        for i in 0..=spatial {
            if i == spatial {
                base[rank - 1] += 1;
                break;
            }
            base[i + 1] += i64::from(map.element_strides[i + 1]);
            if base[i + 1] < map.dims[i + 1] as i64 + i64::from(upper[i]) {
                break;
            }
            base[i + 1] = i64::from(lower[i]);
        }
    }
}

/// Bytes of an element outside the tensor.
fn fill(map: &TensorMap) -> u64 {
    match (map.oob, map.data_type) {
        (OobFill::Zeros, _) => 0,
        (OobFill::Nan, TensorMapType::F64) => 0x7fff_ffff_ffff_ffff,
        (OobFill::Nan, TensorMapType::F16 | TensorMapType::Bf16) => 0x7fff,
        (OobFill::Nan, _) => 0x7fff_ffff,
    }
}

/// Puts the value of elements outside the tensor into bytes.
pub(super) fn fill_outside(map: &TensorMap, bytes: &mut [u8]) {
    let size = map.data_type.bytes() as usize;
    let value = fill(map).to_le_bytes();
    for element in bytes.chunks_mut(size) {
        element.copy_from_slice(&value[..element.len()]);
    }
}

/// Changes that the type makes to the values on their way into shared memory.
pub(super) fn convert(data_type: TensorMapType, bytes: &mut [u8]) {
    use TensorMapType::{F32Ftz, Tf32, Tf32Ftz};
    if !matches!(data_type, F32Ftz | Tf32 | Tf32Ftz) {
        return;
    }
    let (words, _) = bytes.as_chunks_mut::<4>();
    for word in words {
        let mut bits = u32::from_le_bytes(*word);
        if matches!(data_type, F32Ftz | Tf32Ftz) && bits & 0x7f80_0000 == 0 {
            bits &= 0x8000_0000;
        }
        if matches!(data_type, Tf32 | Tf32Ftz) && bits & 0x7f80_0000 != 0x7f80_0000 {
            // To nearest, ties away from zero, as `cvt.rna.tf32.f32` does.
            bits = bits.wrapping_add(0x1000) & 0xffff_e000;
        }
        *word = bits.to_le_bytes();
    }
}
