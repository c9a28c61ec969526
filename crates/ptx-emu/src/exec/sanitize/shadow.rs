//! Who touched each part of a memory last.

/// An access in a shadow cell: 0 is nobody, else record number, who else read it, and lane.
///
/// ```text
/// bits 31..7  number of the record
/// bit  6      one of the other threads is of another warp
/// bit  5      more threads than this one read it
/// bits 4..0   lane
/// ```
pub(in crate::exec) type Cell = u32;

const LANE_BITS: u32 = 7;
/// Set in a read cell that several threads share.
pub(in crate::exec) const MANY: Cell = 32;
/// Set in a read cell that threads of several warps share.
pub(in crate::exec) const WARPS: Cell = 64;
/// Records that cells can name.
pub(in crate::exec) const MAX_RECORDS: usize = 1 << 22;

/// The cell of an access.
pub(in crate::exec) fn cell(record: u32, lane: u32) -> Cell {
    record << LANE_BITS | lane
}

/// The least cell of a record: lower ones belong to older records.
pub(in crate::exec) fn floor(record: u32) -> Cell {
    record << LANE_BITS
}

/// Number of a cell's record.
pub(in crate::exec) fn record_of(cell: Cell) -> u32 {
    cell >> LANE_BITS
}

pub(in crate::exec) fn lane_of(cell: Cell) -> u32 {
    cell & 31
}

/// Last reader and last writer of each granule of a memory.
#[derive(Debug)]
pub(in crate::exec) struct Shadow {
    /// log2 of a granule's bytes: the smallest access seen so far, so that threads that write
    /// neighbouring halves of a word do not conflict.
    granule: u32,
    n_cells: usize,
    /// Empty until the first read.
    pub reads: Vec<Cell>,
    /// Empty until the first write.
    pub writes: Vec<Cell>,
}

/// Cells from which on pages that are zero are only got when touched, which costs more if all are.
const LARGE: usize = 8 << 20;

/// Cells that nobody touched.
static UNTOUCHED: [Cell; 64] = [0; 64];

impl Default for Shadow {
    fn default() -> Self {
        Self { granule: 2, n_cells: 0, reads: Vec::new(), writes: Vec::new() }
    }
}

impl Shadow {
    /// The shadow of a memory of `bytes` bytes.
    pub(in crate::exec) fn resize(&mut self, bytes: usize) {
        let n = bytes.div_ceil(1 << self.granule);
        if self.n_cells < n {
            self.n_cells = n;
            for list in [&mut self.reads, &mut self.writes] {
                if !list.is_empty() {
                    list.resize(n, 0);
                }
            }
        }
    }

    /// Makes room for a write, or else a read.
    #[inline]
    pub(in crate::exec) fn make_room(&mut self, write: bool) {
        let list = if write { &mut self.writes } else { &mut self.reads };
        if list.is_empty() {
            if self.n_cells > LARGE {
                *list = vec![0; self.n_cells];
            } else {
                list.resize(self.n_cells, 0);
            }
        }
    }

    /// `n` cells of readers, to be changed, and of writers; at most 64, and there is
    /// [room](Self::make_room) for a read.
    #[inline(always)]
    pub(in crate::exec) fn for_read(&mut self, first: usize, n: usize) -> (&mut [Cell], &[Cell]) {
        let writes = if self.writes.is_empty() { &UNTOUCHED[..] } else { &self.writes[first..] };
        (&mut self.reads[first..first + n], &writes[..n])
    }

    /// Cells like [`Self::for_read`], to be written.
    #[inline(always)]
    pub(in crate::exec) fn for_write(&mut self, first: usize, n: usize) -> (&[Cell], &mut [Cell]) {
        let reads = if self.reads.is_empty() { &UNTOUCHED[..] } else { &self.reads[first..] };
        (&reads[..n], &mut self.writes[first..first + n])
    }

    /// Whether one of several parts of a launch wrote where another one read or wrote; also if that
    /// is unknown.
    pub(in crate::exec) fn overlap(parts: &[&Self]) -> bool {
        let Some(first) = parts.first() else { return false };
        if parts.len() < 2 || parts.iter().all(|p| p.writes.is_empty()) {
            return false;
        }
        if parts.iter().any(|p| p.granule != first.granule) {
            return true;
        }
        const TOUCHED: u8 = 1;
        const WROTE: u8 = 2;
        let n = parts.iter().map(|p| p.n_cells).max().unwrap_or(0);
        let mut before = vec![0_u8; n];
        let mut met = false;
        for part in parts {
            for (state, wrote) in before.iter().zip(&part.writes) {
                met |= (*wrote != 0) & (state & TOUCHED != 0);
            }
            for (state, read) in before.iter().zip(&part.reads) {
                met |= (*read != 0) & (state & WROTE != 0);
            }
            for (state, wrote) in before.iter_mut().zip(&part.writes) {
                *state |= if *wrote == 0 { 0 } else { TOUCHED | WROTE };
            }
            for (state, read) in before.iter_mut().zip(&part.reads) {
                *state |= if *read == 0 { 0 } else { TOUCHED };
            }
        }
        met
    }

    /// Puts one cell in place of all that name who accessed.
    pub(in crate::exec) fn forget(&mut self, stand_in: Cell) {
        for cell in self.reads.iter_mut().chain(&mut self.writes).filter(|c| **c != 0) {
            *cell = stand_in;
        }
    }

    pub(in crate::exec) fn clear(&mut self) {
        self.reads.fill(0);
        self.writes.fill(0);
    }

    /// First cell of an access of `bytes` bytes at `at`, and the number of its cells.
    pub(in crate::exec) fn cells(&self, at: u64, bytes: u32) -> (usize, usize) {
        let first = (at >> self.granule) as usize;
        (first, (bytes >> self.granule).max(1) as usize)
    }

    /// Bytes of so many cells.
    pub(in crate::exec) fn bytes(&self, cells: usize) -> u32 {
        (cells as u32) << self.granule
    }

    /// Cells of an access of `bytes` bytes; `None` if granules are larger.
    pub(in crate::exec) fn whole_cells(&self, bytes: u32) -> Option<usize> {
        match bytes >> self.granule {
            0 => None,
            n => Some(n as usize),
        }
    }

    /// Makes granules no larger than an access of `bytes` bytes.
    pub(in crate::exec) fn refine(&mut self, bytes: u32) {
        let wanted = bytes.trailing_zeros().min(2);
        if wanted >= self.granule {
            return;
        }
        let parts = 1 << (self.granule - wanted);
        self.n_cells *= parts;
        for list in [&mut self.reads, &mut self.writes] {
            *list = list.iter().flat_map(|c| std::iter::repeat_n(*c, parts)).collect();
        }
        self.granule = wanted;
    }
}

#[cfg(test)]
mod tests {
    use super::{Shadow, cell, lane_of, record_of};

    #[test]
    fn granules_shrink_to_the_smallest_access() {
        let mut shadow = Shadow::default();
        shadow.resize(16);
        shadow.make_room(true);
        shadow.writes[1] = 77;
        shadow.refine(8);
        assert_eq!(shadow.cells(8, 8), (2, 2));
        shadow.refine(2);
        assert_eq!(shadow.writes, [0, 0, 77, 77, 0, 0, 0, 0]);
        assert_eq!(shadow.cells(6, 2), (3, 1));
    }

    #[test]
    fn cells_name_record_and_lane() {
        let c = cell(12345, 31);
        assert_eq!((record_of(c), lane_of(c)), (12345, 31));
    }
}
