//! Matrix descriptors: where the chunks of 16 bytes of a factor lie in shared memory.

use crate::tensor_map::Swizzle;

/// A factor in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    start: u64,
    lead: u64,
    stride: u64,
    swizzle: Swizzle,
    /// Rows of 128 bytes by which the swizzle's pattern is shifted.
    shift: u64,
    /// Rows (columns of B) are innermost.
    transposed: bool,
    /// Chunks of a row along k.
    pub(super) wide: usize,
}

impl Layout {
    /// The layout that a descriptor describes.
    pub(super) fn new(descriptor: u64, transposed: bool, wide: usize) -> Self {
        let field = |at: u64| ((descriptor >> at) & 0x3fff) << 4;
        let swizzle = match descriptor >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::B128,
            2 => Swizzle::B64,
            _ => Swizzle::B32,
        };
        Self {
            start: field(0),
            lead: field(16),
            stride: field(32),
            swizzle,
            shift: (descriptor >> 49) & 7,
            transposed,
            wide,
        }
    }

    fn swizzled(self, at: u64) -> u64 {
        let shift = self.shift << 7;
        self.swizzle.apply(at.wrapping_sub(shift)).wrapping_add(shift)
    }

    /// Whether a row has more chunks along k than a row of the swizzle, which no field of a
    /// descriptor describes.
    pub(super) fn is_split(self) -> bool {
        !self.transposed && self.swizzle.span().is_some_and(|span| span < 16 * self.wide as u64)
    }

    /// Chunk `chunk` of row `row`.
    fn along_k(self, row: u64, chunk: u64) -> u64 {
        let (pitch, step) = self.swizzle.span().map_or((16, self.lead), |span| (span, 16));
        self.start + row / 8 * self.stride + row % 8 * pitch + chunk * step
    }

    /// The eight rows from `8 * octet` on, at `k`, of a factor with its rows innermost.
    fn along_rows(self, octet: u64, k: u64) -> u64 {
        match self.swizzle.span() {
            None => self.start + octet * self.stride + k % 8 * 16 + k / 8 * self.lead,
            Some(span) => {
                let chunks = span / 16;
                self.start
                    + octet % chunks * 16
                    + octet / chunks * self.lead
                    + k % 8 * span
                    + k / 8 * self.stride
            }
        }
    }

    /// The chunks of `rows` rows from `first` on: those of a row, or eight times as many of eight
    /// rows if they are innermost.
    pub(super) fn chunks(self, first: usize, rows: usize, out: &mut Vec<u64>) {
        out.clear();
        let (first, rows, wide) = (first as u64, rows as u64, self.wide as u64);
        if self.transposed {
            for octet in first / 8..(first + rows) / 8 {
                out.extend((0..8 * wide).map(|k| self.swizzled(self.along_rows(octet, k))));
            }
        } else {
            for row in first..first + rows {
                out.extend((0..wide).map(|c| self.swizzled(self.along_k(row, c))));
            }
        }
    }

    pub(super) fn is_transposed(self) -> bool {
        self.transposed
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    fn descriptor(start: u64, lead: u64, stride: u64, mode: u64) -> u64 {
        start >> 4 | (lead >> 4) << 16 | (stride >> 4) << 32 | mode << 62
    }

    fn chunks(descriptor: u64, transposed: bool, first: usize, rows: usize) -> Vec<u64> {
        let mut out = Vec::new();
        Layout::new(descriptor, transposed, 2).chunks(first, rows, &mut out);
        out
    }

    #[test]
    fn rows_of_128_bytes_are_swizzled() {
        let got = chunks(descriptor(1024, 16, 1024, 1), false, 0, 16);
        for row in 0..16_u64 {
            for chunk in 0..2 {
                let want = 1024 + row * 128 + ((chunk ^ (row % 8)) * 16);
                assert_eq!(got[(2 * row + chunk) as usize], want);
            }
        }
        // The next 32 bytes along k: the start moves within the row.
        let got = chunks(descriptor(1024 + 32, 16, 1024, 1), false, 8, 8);
        assert_eq!(got[2], 1024 + 9 * 128 + ((2 ^ 1) * 16));
    }

    #[test]
    fn core_matrices_lie_apart_without_a_swizzle() {
        let got = chunks(descriptor(0, 128, 256, 0), false, 0, 16);
        assert_eq!(got[..4], [0, 128, 16, 144]);
        assert_eq!(got[16], 256);
        let got = chunks(descriptor(0, 4096, 128, 0), true, 0, 16);
        assert_eq!((got[1], got[8], got[16]), (16, 4096, 128));
    }
}
