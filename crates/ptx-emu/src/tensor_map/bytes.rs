//! The emulator's own format of a tensor map's 128 bytes.

use super::{
    Interleave, L2Promotion, MAX_RANK, OobFill, Swizzle, TensorMap, TensorMapMode, TensorMapType,
};

/// First bytes of every map, which zeros or a map of a driver's do not have.
const MAGIC: [u8; 8] = *b"ptxemuTM";

/// Places of the parts.
const ADDRESS: usize = 8;
const DIMS: usize = 16;
const STRIDES: usize = 56;
const CODES: usize = 88;
const ELEMENT_STRIDES: usize = 95;
const SIZES: usize = 100;
const CORNERS: usize = 110;

/// Writer and reader agree on the places, which tests hold to be apart.
fn put(bytes: &mut [u8; 128], at: usize, part: &[u8]) {
    bytes[at..at + part.len()].copy_from_slice(part);
}

fn long(bytes: &[u8; 128], at: usize) -> u64 {
    let mut part = [0; 8];
    part.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(part)
}

fn short(bytes: &[u8; 128], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Corners of all sizes fit 16 bits, of which the bytes from `CORNERS` hold twice three.
fn corner(bytes: &[u8; 128], at: usize, n: usize) -> Vec<i32> {
    (0..n).map(|i| i32::from(short(bytes, at + 2 * i).cast_signed())).collect()
}

impl TensorMap {
    /// The bytes that a kernel's argument takes, in the emulator's own format. A map that
    /// [`check`](Self::check) refuses has bytes as well, which need not describe it.
    #[must_use]
    pub fn encode(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        put(&mut bytes, 0, &MAGIC);
        put(&mut bytes, ADDRESS, &self.address.to_le_bytes());
        for (i, extent) in self.dims.iter().take(MAX_RANK).enumerate() {
            put(&mut bytes, DIMS + 8 * i, &extent.to_le_bytes());
        }
        for (i, stride) in self.strides.iter().take(MAX_RANK - 1).enumerate() {
            put(&mut bytes, STRIDES + 8 * i, &stride.to_le_bytes());
        }
        for (i, stride) in self.element_strides.iter().take(MAX_RANK).enumerate() {
            bytes[ELEMENT_STRIDES + i] = u8::try_from(*stride).unwrap_or(u8::MAX);
        }
        let im2col = matches!(self.mode, TensorMapMode::Im2col { .. });
        let codes = [
            self.rank().min(MAX_RANK) as u8,
            self.data_type as u8,
            self.interleave as u8,
            self.swizzle as u8,
            self.l2 as u8,
            self.oob as u8,
            u8::from(im2col),
        ];
        put(&mut bytes, CODES, &codes);
        match &self.mode {
            TensorMapMode::Tiled { box_dims } => {
                for (i, extent) in box_dims.iter().take(MAX_RANK).enumerate() {
                    let extent = u16::try_from(*extent).unwrap_or(u16::MAX);
                    put(&mut bytes, SIZES + 2 * i, &extent.to_le_bytes());
                }
            }
            TensorMapMode::Im2col { lower, upper, channels, pixels } => {
                for (i, size) in [*channels, *pixels].into_iter().enumerate() {
                    let size = u16::try_from(size).unwrap_or(u16::MAX);
                    put(&mut bytes, SIZES + 2 * i, &size.to_le_bytes());
                }
                for (at, corner) in [(CORNERS, lower), (CORNERS + 6, upper)] {
                    for (i, offset) in corner.iter().take(MAX_RANK - 2).enumerate() {
                        put(&mut bytes, at + 2 * i, &(*offset as i16).to_le_bytes());
                    }
                }
            }
        }
        bytes
    }

    /// The map in these bytes, if [`encode`](Self::encode) made them or a kernel replaced parts of such.
    pub(crate) fn decode(bytes: &[u8; 128]) -> Option<Self> {
        if bytes[..8] != MAGIC {
            return None;
        }
        let code = |n: usize| usize::from(bytes[CODES + n]);
        let rank = code(0);
        if !(1..=MAX_RANK).contains(&rank) {
            return None;
        }
        let sizes = |n: usize| u32::from(short(bytes, SIZES + 2 * n));
        let mode = match code(6) {
            0 => TensorMapMode::Tiled { box_dims: (0..rank).map(sizes).collect() },
            1 if rank > 2 => TensorMapMode::Im2col {
                lower: corner(bytes, CORNERS, rank - 2),
                upper: corner(bytes, CORNERS + 6, rank - 2),
                channels: sizes(0),
                pixels: sizes(1),
            },
            _ => return None,
        };
        Some(Self {
            data_type: *TensorMapType::ALL.get(code(1))?,
            address: long(bytes, ADDRESS),
            dims: (0..rank).map(|i| long(bytes, DIMS + 8 * i)).collect(),
            strides: (1..rank).map(|i| long(bytes, STRIDES + 8 * (i - 1))).collect(),
            element_strides: (0..rank).map(|i| u32::from(bytes[ELEMENT_STRIDES + i])).collect(),
            interleave: *Interleave::ALL.get(code(2))?,
            swizzle: *Swizzle::ALL.get(code(3))?,
            l2: *L2Promotion::ALL.get(code(4))?,
            oob: *OobFill::ALL.get(code(5))?,
            mode,
        })
    }
}
