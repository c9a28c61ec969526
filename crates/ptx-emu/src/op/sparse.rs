//! Which elements of a sparse factor are stored.

use super::{R, matrix::Element};

/// Rows of A in a warp.
pub(crate) const ROWS: usize = 16;

/// Metadata of a sparse A (PTX ISA, "Sparse matrix storage"): four bits for each chunk of a row, two
/// indices of elements that are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sparse {
    /// A 32-bit register.
    pub metadata: R,
    /// The thread or the pair of threads, of each four, whose metadata count.
    pub selector: u32,
    /// The second index of a chunk must be the greater one.
    pub ordered: bool,
    pub element: Element,
    /// Elements of a row, of which half are stored.
    pub k: usize,
}

impl Sparse {
    /// Elements that an index counts, times two: `tf32` counts halves, four-bit integers pairs.
    fn unit(self) -> usize {
        match self.element.bits() {
            32 => 1,
            4 => 4,
            _ => 2,
        }
    }

    /// Chunks of a row: four units each.
    pub(crate) fn chunks(self) -> usize {
        self.k / (2 * self.unit())
    }

    /// Number of selectors that there are.
    pub(crate) fn selectors(self) -> u32 {
        let threads = self.chunks() * ROWS * 4 / 32 / 8;
        4 / threads as u32
    }

    /// Lane and shift of the four bits of a chunk. Threads hold 16 bits of two rows, or 32 bits of
    /// one where elements have eight bits or fewer.
    pub(crate) fn place(self, row: usize, chunk: usize) -> (usize, usize) {
        let (octet, half) = (row % 8, row / 8);
        let selected = self.selector as usize * 4 / self.selectors() as usize;
        let (thread, shift) = if self.element.bits() <= 8 {
            (half + 2 * (chunk / 8), 4 * (chunk % 8))
        } else {
            (chunk / 4, 16 * half + 4 * (chunk % 4))
        };
        (4 * octet + selected + thread, shift)
    }

    /// The lanes whose metadata count.
    pub(crate) fn lanes(self) -> u32 {
        let n = 4 / self.selectors();
        let four = ((1 << n) - 1) << (self.selector * n);
        0x1111_1111 * four
    }

    /// Why a chunk's four bits stand for nothing.
    pub(crate) fn fault(self, bits: u32) -> Option<&'static str> {
        let (first, second) = (bits & 3, bits >> 2);
        if self.unit() == 1 {
            let whole = matches!(bits, 0b0100 | 0b1110);
            return (!whole).then_some("is neither 0b0100 nor 0b1110");
        }
        match first.cmp(&second) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some("names an element twice"),
            std::cmp::Ordering::Greater => self.ordered.then_some("is not in ascending order"),
        }
    }

    /// Where stored element `n` of a row stands in the row, by the four bits of its chunk.
    pub(crate) fn position(self, n: usize, bits: u32) -> usize {
        let unit = self.unit();
        if unit == 1 {
            return 2 * n + (bits as usize >> 1 & 1);
        }
        let (per, within) = (unit / 2, n % unit);
        let index = (bits >> (2 * (within / per)) & 3) as usize;
        n / unit * 2 * unit + index * per + within % per
    }

    /// Chunk of stored element `n` of a row.
    pub(crate) fn chunk_of(self, n: usize) -> usize {
        n / self.unit()
    }
}

#[cfg(test)]
mod tests {
    use super::{ROWS, Sparse};
    use crate::op::Element;

    #[test]
    fn every_chunk_has_bits_of_its_own() {
        for (element, k, selectors) in [
            (Element::F16, 16, 4),
            (Element::Bf16, 32, 2),
            (Element::Tf32, 8, 4),
            (Element::Tf32, 16, 2),
            (Element::S8, 32, 2),
            (Element::E4m3, 64, 1),
            (Element::U4, 64, 2),
            (Element::S4, 128, 1),
        ] {
            for selector in 0..selectors {
                let sparse = Sparse { metadata: 0, selector, ordered: true, element, k };
                assert_eq!(sparse.selectors(), selectors);
                let mut seen = [0_u32; 32];
                for (row, chunk) in
                    (0..ROWS).flat_map(|r| (0..sparse.chunks()).map(move |c| (r, c)))
                {
                    let (lane, shift) = sparse.place(row, chunk);
                    assert_eq!(seen[lane] >> shift & 0xf, 0, "{element:?} {k}");
                    seen[lane] |= 0xf << shift;
                }
                let lanes = sparse.lanes();
                for (lane, bits) in seen.into_iter().enumerate() {
                    let whole = if lanes >> lane & 1 == 1 { u32::MAX } else { 0 };
                    assert_eq!(bits, whole, "{element:?} {k} lane {lane}");
                }
            }
        }
    }
}
