//! Accesses of asynchronous copies: long ranges that one lane's operation reads or writes.

use std::ops::Range;

use super::{
    super::{
        order::Order,
        shadow::{Cell, Shadow, cell, floor, record_of},
    },
    Conflict, FORGOTTEN, Races, Record, Touch,
};

/// An earlier access in a range.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Earlier {
    /// Its place.
    pub at: u64,
    pub cell: Cell,
}

/// Ranges of equal length.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Ranges<'r> {
    pub starts: &'r [u64],
    pub bytes: u64,
}

impl Ranges<'_> {
    /// The cells of each range, with its start.
    fn cells(self, shadow: &Shadow) -> impl Iterator<Item = (u64, Range<usize>)> {
        self.starts.iter().map(move |start| {
            let (first, n) = shadow.cells(*start, self.bytes as u32);
            (*start, first..first + n)
        })
    }
}

impl Races {
    /// Notes that `lane` accesses ranges; gives the first conflict and its place.
    pub(in crate::exec) fn touch_ranges(
        &mut self,
        touch: Touch,
        shadow: &mut Shadow,
        order: &Order,
        ranges: Ranges<'_>,
        lane: u32,
    ) -> Option<(u64, Conflict)> {
        if ranges.bytes == 0 {
            return None;
        }
        let aligned = ranges.starts.iter().fold(ranges.bytes | 16, |all, start| all | start);
        shadow.refine(aligned as u32);
        shadow.make_room(true);
        shadow.make_room(false);
        let me = cell(self.record(touch, order.serial), lane);
        let known = floor(order.latest(touch.warp));
        let mut found = None;
        // Neighbours mostly have the same past.
        let (mut read_memo, mut wrote_memo) = (None, None);
        for start in ranges.starts {
            let (first, n) = shadow.cells(*start, ranges.bytes as u32);
            for c in first..first + n {
                let (read, wrote) = (shadow.reads[c], shadow.writes[c]);
                if wrote_memo != Some(wrote) {
                    wrote_memo = Some(wrote);
                    if found.is_none() && self.conflict(wrote, lane, touch, order) {
                        found = Some((c, Conflict { lane, cell: wrote, wrote: true }));
                    }
                }
                if touch.write {
                    if read_memo.is_none_or(|(r, _)| r != read) {
                        read_memo = Some((read, 0));
                        let conflicts = self.conflict(read, lane, touch, order)
                            || (read & super::MANY != 0
                                && self.others_read(read, known, touch, order));
                        if found.is_none() && conflicts {
                            found = Some((c, Conflict { lane, cell: read, wrote: false }));
                        }
                    }
                    shadow.writes[c] = me;
                } else {
                    let after = match read_memo {
                        Some((r, after)) if r == read => after,
                        _ => self.after_read(read, me, known, touch, order),
                    };
                    read_memo = Some((read, after));
                    shadow.reads[c] = after;
                }
            }
        }
        found.map(|(c, conflict)| (u64::from(shadow.bytes(1)) * c as u64, conflict))
    }

    /// An access of the launch to a part of a buffer that races with one of a launch which overlaps
    /// it, and whether it is a write. Accesses that are atomic on both sides do not.
    pub(in crate::exec) fn touched(
        &self,
        buffer: usize,
        (at, bytes): (u64, u64),
        (write, strong): (bool, bool),
    ) -> Option<(Record, bool)> {
        let shadow = self.shadows.get(buffer)?.as_deref()?;
        let (first, _) = shadow.cells(at, 1);
        let (last, _) = shadow.cells(at + bytes.saturating_sub(1), 1);
        let find = |list: &[Cell]| {
            let n = list.len();
            let cells = list[first.min(n)..(last + 1).min(n)].iter().filter(|cell| **cell != 0);
            let mut records = cells.map(|cell| self.records[record_of(*cell) as usize]);
            records.find(|record| !(strong && record.strong))
        };
        let wrote = find(&shadow.writes).map(|record| (record, true));
        wrote.or_else(|| if write { find(&shadow.reads).map(|r| (r, false)) } else { None })
    }

    /// Whether one of these accesses of a block, or the first wait of another one, happened before
    /// an access of `warp` now.
    pub(in crate::exec) fn happened(&self, cells: &[Cell], warp: u32, order: &Order) -> bool {
        let past = |cell: &Cell| {
            let number = record_of(*cell);
            // Records are numbered anew once there are too many; older ones count as known.
            number >= self.next()
                || number < order.horizon(warp, u32::from(self.records[number as usize].warp))
        };
        cells.iter().any(past)
            || self.releases.iter().any(|(serial, released)| {
                let Some(number) = self.waits.get(serial) else { return false };
                let at = released.partition_point(|r| r <= number);
                released.get(at).is_some_and(|r| *r <= order.acquired)
            })
    }

    /// Notes that a warp waits for the launch before; gives the access that stands for it.
    pub(in crate::exec) fn waited(&mut self, pc: u32, warp: u32, order: &Order) -> Cell {
        self.advance();
        let touch = Touch { pc, warp, write: false, strong: false, own: false };
        let number = self.record(touch, order.serial);
        self.waits.entry(order.serial).or_insert(number);
        self.advance();
        cell(number, 0)
    }

    /// A write in ranges since the record with this number.
    pub(in crate::exec) fn written_since(
        shadow: &Shadow,
        ranges: Ranges<'_>,
        number: u32,
    ) -> Option<Earlier> {
        let limit = floor(number);
        ranges.cells(shadow).find_map(|(start, cells)| {
            let list = shadow.writes.get(cells)?;
            let n = list.iter().position(|cell| *cell >= limit)?;
            Some(Earlier { at: start + u64::from(shadow.bytes(n)), cell: list[n] })
        })
    }

    /// A write of the block's threads in ranges that no proxy fence follows; `is_async` tells of an
    /// operation whether it needs none.
    pub(in crate::exec) fn unfenced(
        &self,
        shadow: &Shadow,
        ranges: Ranges<'_>,
        order: &Order,
        is_async: impl Fn(u32) -> bool,
    ) -> Option<Earlier> {
        let mut fine = 0;
        for (start, cells) in ranges.cells(shadow) {
            for (n, &cell) in shadow.writes.get(cells)?.iter().enumerate() {
                if cell == fine || cell == 0 {
                    continue;
                }
                let number = record_of(cell);
                let record = self.records[number as usize];
                let own = record.serial == order.serial && record.serial != FORGOTTEN.serial;
                if own && number >= order.fenced(u32::from(record.warp)) && !is_async(record.pc) {
                    return Some(Earlier { at: start + u64::from(shadow.bytes(n)), cell });
                }
                fine = cell;
            }
        }
        None
    }
}
