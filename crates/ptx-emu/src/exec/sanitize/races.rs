//! Data races: two threads touch the same bytes, one of them writes, and nothing orders them.
//!
//! Shared memory and buffers have a [`Shadow`] of last readers and writers. Within a block barriers
//! order accesses ([`Order`]); between blocks only a fence followed by an atomic or volatile write
//! that the other block reads does. Accesses that are atomic or volatile do not race with each
//! other. Where exactness would cost much, the error is on the side of silence.

mod ranges;

pub(in crate::exec) use self::ranges::{Earlier, Ranges};

use std::collections::{HashMap, HashSet};

use super::{
    order::Order,
    shadow::{Cell, MANY, MAX_RECORDS, Shadow, WARPS, cell, floor, lane_of, record_of},
};

/// An operation of a warp that accessed memory, between two points of synchronisation.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::exec) struct Record {
    /// The operation.
    pub pc: u32,
    /// The block, by order of start.
    pub serial: u32,
    /// Index of the warp in its block.
    pub warp: u16,
    /// Atomic or volatile.
    strong: bool,
}

impl Record {
    /// Whether it stands for accesses whose own records were given up.
    pub(in crate::exec) fn is_forgotten(self) -> bool {
        self.serial == FORGOTTEN.serial
    }
}

/// The record shared by accesses whose own ones were given up: number 1.
const FORGOTTEN: Record = Record { pc: 0, serial: u32::MAX, warp: 0, strong: false };

/// An access as races see it.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Touch {
    pub pc: u32,
    pub warp: u32,
    pub write: bool,
    pub strong: bool,
    /// The memory is the block's own: cells that other blocks left in its shadow are void.
    pub own: bool,
}

/// Two accesses that nothing orders.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Conflict {
    /// The later lane.
    pub lane: u32,
    /// The earlier access.
    pub cell: Cell,
    /// Whether that was a write.
    pub wrote: bool,
}

/// All that is known of accesses in a launch.
#[derive(Debug)]
pub(in crate::exec) struct Races {
    pub(super) records: Vec<Record>,
    /// The newest block, by order of start, that made records, and the first one it made.
    newest: (u32, u32),
    /// Whether an older block has gone on since.
    interleaved: bool,
    /// Record of the operation at each program counter, with the epoch it belongs to.
    current: Vec<(u64, u32)>,
    epoch: u64,
    /// By buffer.
    shadows: Vec<Option<Box<Shadow>>>,
    /// The knowledge that the last strong write to an address left.
    published: HashMap<u64, u32>,
    /// Numbers below which a block's accesses were made known, by serial number, ascending.
    releases: HashMap<u32, Vec<u32>>,
    /// The first wait of each block for the launch before, by serial number.
    waits: HashMap<u32, u32>,
    /// Linear index of each block, by serial number.
    blocks: Vec<u64>,
    /// Operations by which blocks have made something known.
    reported: HashSet<(u64, u32)>,
}

impl Races {
    /// For a module of so many operations.
    pub(in crate::exec) fn new(operations: usize) -> Self {
        Self {
            records: vec![Record::default(), FORGOTTEN],
            newest: (0, 2),
            interleaved: false,
            current: vec![(0, 0); operations],
            epoch: 1,
            shadows: Vec::new(),
            published: HashMap::new(),
            releases: HashMap::new(),
            waits: HashMap::new(),
            blocks: Vec::new(),
            reported: HashSet::new(),
        }
    }

    /// Number of the next record.
    pub(in crate::exec) fn next(&self) -> u32 {
        self.records.len() as u32
    }

    /// Later accesses get new records: something was synchronised, or another warp runs.
    pub(in crate::exec) fn advance(&mut self) {
        self.epoch += 1;
    }

    /// The order of a block that starts now.
    pub(in crate::exec) fn start(&mut self, block: u64, warps: usize) -> Order {
        self.advance();
        self.blocks.push(block);
        Order::new(self.blocks.len() as u32 - 1, warps, self.next())
    }

    /// The record and the linear block index behind a cell.
    pub(in crate::exec) fn who(&self, cell: Cell) -> (Record, u64) {
        let record = self.records[record_of(cell) as usize];
        (record, self.blocks[record.serial as usize])
    }

    /// The first record of the running block, if all since are its own, and whether nothing orders
    /// it after earlier blocks.
    pub(super) fn own_records(&self) -> (u32, bool) {
        if self.interleaved {
            return (MAX_RECORDS as u32, false);
        }
        (self.newest.1, self.releases.is_empty())
    }

    /// The record of an access.
    pub(super) fn record(&mut self, touch: Touch, serial: u32) -> u32 {
        let current = &mut self.current[touch.pc as usize];
        if current.0 != self.epoch {
            let Touch { pc, warp, strong, .. } = touch;
            if serial != self.newest.0 {
                self.interleaved |= serial < self.newest.0;
                self.newest = (serial, self.records.len() as u32);
            }
            self.records.push(Record { pc, serial, warp: warp as u16, strong });
            *current = (self.epoch, self.records.len() as u32 - 1);
        }
        current.1
    }

    /// Whether parts of a launch that ran apart would have conflicted, had they run together.
    pub(in crate::exec) fn overlap(parts: &[&Self]) -> bool {
        let n = parts.iter().map(|p| p.shadows.len()).max().unwrap_or(0);
        (0..n).any(|buffer| {
            let list: Vec<&Shadow> =
                parts.iter().filter_map(|p| p.shadows.get(buffer)?.as_deref()).collect();
            Shadow::overlap(&list)
        })
    }

    /// Forgets who made the accesses so far when their records fill up; they are not compared any
    /// more.
    pub(in crate::exec) fn overflow(&mut self, shared: &mut Shadow) -> bool {
        if self.records.len() < MAX_RECORDS {
            return false;
        }
        self.shadows.iter_mut().flatten().for_each(|s| s.forget(floor(1)));
        shared.clear();
        self.records.truncate(2);
        self.newest.1 = 2;
        self.published.clear();
        self.releases.clear();
        self.waits.clear();
        self.advance();
        true
    }

    /// Whether the access in `cell` happened before that of `touch`, in block `order`.
    fn ordered(&self, cell: Cell, lane: u32, touch: Touch, order: &Order) -> bool {
        let number = record_of(cell);
        let record = self.records[number as usize];
        if record.serial == FORGOTTEN.serial {
            true
        } else if record.serial == order.serial {
            let warp = u32::from(record.warp);
            (warp == touch.warp && lane_of(cell) == lane)
                || number < order.horizon(touch.warp, warp)
        } else if touch.own {
            true
        } else {
            let released = self.releases.get(&record.serial).map_or(&[][..], Vec::as_slice);
            let at = released.partition_point(|r| *r <= number);
            released.get(at).is_some_and(|r| *r <= order.acquired)
        }
    }

    /// An access of another block that did not happen before the end of block `order`, whose shared
    /// memory `shadow` is of: its record and the block's linear index.
    pub(in crate::exec) fn stranger(
        &self,
        shadow: &Shadow,
        order: &Order,
    ) -> Option<(Record, u64)> {
        let touch = Touch { pc: 0, warp: 0, write: true, strong: false, own: false };
        let foreign = |cell: &&Cell| {
            let serial = self.records[record_of(**cell) as usize].serial;
            **cell != 0 && serial != order.serial && !self.ordered(**cell, 0, touch, order)
        };
        shadow.reads.iter().chain(&shadow.writes).find(foreign).map(|cell| self.who(*cell))
    }

    fn conflict(&self, cell: Cell, lane: u32, touch: Touch, order: &Order) -> bool {
        cell != 0
            && !(touch.strong && self.records[record_of(cell) as usize].strong)
            && !self.ordered(cell, lane, touch, order)
    }

    /// The shadow of a buffer, to be given back with [`Self::put_back`].
    pub(in crate::exec) fn take(&mut self, buffer: usize) -> Box<Shadow> {
        if self.shadows.len() <= buffer {
            self.shadows.resize_with(buffer + 1, || None);
        }
        self.shadows[buffer].take().unwrap_or_default()
    }

    /// See [`Self::take`].
    pub(in crate::exec) fn put_back(&mut self, buffer: usize, shadow: Box<Shadow>) {
        self.shadows[buffer] = Some(shadow);
    }

    /// Notes an access of the lanes of `mask` to `bytes` bytes at `at` each; gives the first
    /// conflict of each lane.
    pub(in crate::exec) fn touch(
        &mut self,
        touch: Touch,
        shadow: &mut Shadow,
        order: &Order,
        at: &[u64; 32],
        bytes: u32,
        mask: u32,
    ) -> Vec<Conflict> {
        shadow.refine(bytes);
        shadow.make_room(true);
        shadow.make_room(false);
        let record = self.record(touch, order.serial);
        // Of several readers only the first is kept; the others count as known if any warp is.
        let known = floor(order.latest(touch.warp));
        let mut conflicts = Vec::new();
        for lane in (0..32).filter(|i| (mask >> i) & 1 == 1) {
            let (first, n) = shadow.cells(at[lane as usize], bytes);
            let me = cell(record, lane);
            let found = if touch.write {
                self.write(touch, shadow, order, first..first + n, me, known)
            } else {
                self.read(touch, shadow, order, first..first + n, me, known)
            };
            conflicts.extend(found);
        }
        conflicts
    }

    fn write(
        &self,
        touch: Touch,
        shadow: &mut Shadow,
        order: &Order,
        cells: std::ops::Range<usize>,
        me: Cell,
        known: Cell,
    ) -> Option<Conflict> {
        let lane = lane_of(me);
        let mut found = None;
        for c in cells {
            let (read, wrote) = (shadow.reads[c], shadow.writes[c]);
            shadow.writes[c] = me;
            let quiet = (read | wrote) == 0 || (wrote == me && read == 0);
            if found.is_some() || quiet {
                continue;
            }
            if self.conflict(wrote, lane, touch, order) {
                found = Some(Conflict { lane, cell: wrote, wrote: true });
            } else if self.conflict(read, lane, touch, order)
                || (read & MANY != 0 && self.others_read(read, known, touch, order))
            {
                found = Some(Conflict { lane, cell: read, wrote: false });
            }
        }
        found
    }

    /// Whether another thread than the one named has read since the block's last meeting; if all
    /// are of one warp, since the running warp knew of that warp's accesses.
    fn others_read(&self, read: Cell, known: Cell, touch: Touch, order: &Order) -> bool {
        let record = self.records[record_of(read) as usize];
        let known = match read & WARPS {
            0 => floor(order.horizon(touch.warp, u32::from(record.warp))),
            _ => known,
        };
        record.serial == order.serial && read >= known && !(touch.strong && record.strong)
    }

    /// The cell of readers that a read leaves: of several that nothing orders the first is kept.
    fn after_read(&self, read: Cell, me: Cell, known: Cell, touch: Touch, order: &Order) -> Cell {
        if read == 0 || read == me {
            return me;
        }
        let record = self.records[record_of(read) as usize];
        let own_warp = record.serial == order.serial && u32::from(record.warp) == touch.warp;
        let follows = if read & MANY == 0 || read < known {
            self.ordered(read, lane_of(me), touch, order)
        } else {
            // The lanes of this warp have synchronised since they all read it.
            own_warp && read & WARPS == 0 && read < floor(order.horizon(touch.warp, touch.warp))
        };
        match (follows, own_warp) {
            (true, _) => me,
            (false, true) => read | MANY,
            (false, false) => read | MANY | WARPS,
        }
    }

    fn read(
        &self,
        touch: Touch,
        shadow: &mut Shadow,
        order: &Order,
        cells: std::ops::Range<usize>,
        me: Cell,
        known: Cell,
    ) -> Option<Conflict> {
        let lane = lane_of(me);
        let mut found = None;
        for c in cells {
            let (read, wrote) = (shadow.reads[c], shadow.writes[c]);
            shadow.reads[c] = self.after_read(read, me, known, touch, order);
            if found.is_none() && self.conflict(wrote, lane, touch, order) {
                found = Some(Conflict { lane, cell: wrote, wrote: true });
            }
        }
        found
    }

    /// A strong write to an address: the block's accesses before its last fence become known to
    /// those who read it.
    pub(in crate::exec) fn publish(&mut self, address: u64, order: &Order) {
        if order.fence == 0 {
            return;
        }
        let known = self.published.entry(address).or_insert(0);
        *known = (*known).max(order.fence).max(order.acquired);
        let list = self.releases.entry(order.serial).or_default();
        if list.last() != Some(&order.fence) {
            list.push(order.fence);
        }
    }

    /// All accesses of a cluster's blocks below this number are known to all of them.
    pub(in crate::exec) fn release(&mut self, serial: u32, number: u32) {
        let list = self.releases.entry(serial).or_default();
        if list.last() != Some(&number) {
            list.push(number);
        }
    }

    /// Whether a block makes something known by this operation for the first time.
    pub(in crate::exec) fn first_time(&mut self, block: u64, pc: u32) -> bool {
        self.reported.insert((block, pc))
    }

    /// A strong read of an address: the knowledge that a write left there, if any.
    pub(in crate::exec) fn acquire(&self, address: u64) -> Option<u32> {
        self.published.get(&address).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_RECORDS, Races, Record, Shadow, Touch};

    /// A part of a launch in which one block touched bytes 16 to 19 of buffer 0.
    fn part(write: bool) -> Races {
        let mut races = Races::new(1);
        let order = races.start(0, 1);
        let mut shadow = races.take(0);
        shadow.resize(64);
        let touch = Touch { pc: 0, warp: 0, write, strong: false, own: false };
        assert!(races.touch(touch, &mut shadow, &order, &[16; 32], 4, 1).is_empty());
        races.put_back(0, shadow);
        races
    }

    /// Conflicts of accesses to one word, each `(pc, warp, write, lanes)`; before those of
    /// `converged` the lanes of the warp converge.
    fn conflicts<const N: usize>(
        accesses: [(u32, u32, bool, u32); N],
        converged: &[usize],
    ) -> [usize; N] {
        let mut races = Races::new(4);
        let mut order = races.start(0, 2);
        let mut shadow = Shadow::default();
        shadow.resize(64);
        let mut index = 0;
        accesses.map(|(pc, warp, write, mask)| {
            if converged.contains(&index) {
                order.meet_lanes(warp, races.next());
            }
            index += 1;
            races.advance();
            let touch = Touch { pc, warp, write, strong: false, own: true };
            let left = races.quick(touch, &mut shadow, &order, &[16; 32], 4, mask);
            races.touch(touch, &mut shadow, &order, &[16; 32], 4, left).len()
        })
    }

    #[test]
    fn lanes_that_met_have_done_with_what_they_read() {
        const ALL: u32 = u32::MAX;
        let twice = [(0, 0, false, ALL), (1, 0, false, ALL), (2, 0, true, 1)];
        assert_eq!(conflicts(twice, &[2]), [0, 0, 0]);
        assert_eq!(conflicts(twice, &[1, 2]), [0, 0, 0]);
        assert_eq!(conflicts(twice, &[]), [0, 0, 1]);
        assert_eq!(conflicts(twice, &[1]), [0, 0, 1], "they read again after they met");
        let others = [(0, 0, false, ALL), (1, 1, false, 2), (2, 0, true, 1)];
        assert_eq!(conflicts(others, &[2]), [0, 0, 1], "another warp reads too");
    }

    #[test]
    fn parts_meet_where_one_wrote_also_after_its_records_were_given_up() {
        let (reader, mut writer) = (part(false), part(true));
        assert!(!Races::overlap(&[&reader, &part(false)]));
        assert!(Races::overlap(&[&reader, &writer]));
        writer.records.resize(MAX_RECORDS, Record::default());
        assert!(writer.overflow(&mut Shadow::default()));
        assert!(Races::overlap(&[&reader, &writer]));
        // Nobody is accused on the ground of forgotten accesses.
        let order = writer.start(1, 1);
        let mut shadow = writer.take(0);
        let touch = Touch { pc: 0, warp: 0, write: true, strong: false, own: false };
        assert!(writer.touch(touch, &mut shadow, &order, &[16; 32], 4, 1).is_empty());
    }
}
