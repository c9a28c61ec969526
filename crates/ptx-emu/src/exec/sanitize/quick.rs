//! A quick look at an access for races: eight lanes at a time, for accesses that are plainly
//! ordered after all before them. The others are left to [`super::races`], which is exact; both
//! leave the same cells behind.
//!
//! Records are numbered as they are made. So long as blocks run one after the other, the cells
//! from the running block's first record on are its own, those below its last meeting point are
//! ordered before its present access, and without fences nothing orders those of earlier blocks.

use super::{
    order::Order,
    races::{Races, Touch},
    shadow::{Cell, MANY, Shadow, WARPS, cell, floor, record_of},
};
use crate::{
    exec::{
        Machine,
        access::{Home, Registers},
        fast::steps,
        transfer::{Action, Places},
    },
    op::MemoryOp,
};

/// Lanes that are looked at together.
const GROUP: usize = 8;

/// The bounds that cells are compared with.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Cell of this access's lane 0.
    me: Cell,
    /// The running block's own cells start here; lower ones are of other blocks.
    first: Cell,
    /// Cells of the running block below this are ordered before this access.
    known: Cell,
    /// Cells of the running warp below this are ordered before this access.
    own: Cell,
    /// Whether other blocks' reads are never ordered before this access.
    apart: bool,
}

impl Look {
    /// Whether the cell is empty or its access plainly ordered before this one.
    #[inline(always)]
    fn is_past(self, c: Cell) -> bool {
        (c == 0) | (c.wrapping_sub(self.first) < self.known.saturating_sub(self.first))
    }

    /// The cell of readers that a read leaves, and whether that is plain; `mine` is the cell of an
    /// access of this lane.
    #[inline(always)]
    fn after_read(self, read: Cell, me: Cell, mine: Cell) -> (Cell, bool) {
        let own_lanes = (read ^ mine) & !31 == MANY;
        let replace =
            self.is_past(read) | (read == mine) | (read == me) | (own_lanes & (read < self.own));
        let other_block = self.apart & (read < self.first);
        let twin = (read ^ me) < MANY;
        let many = (read & MANY != 0) & (read >= self.known) & (own_lanes | (read & WARPS != 0));
        let kept = match (other_block, twin) {
            (true, _) => read | MANY | WARPS,
            (false, true) => read | MANY,
            (false, false) => read,
        };
        (if replace { me } else { kept }, replace | other_block | twin | many)
    }
}

/// Reads of consecutive lanes from `first_lane` on, `N` cells each. False if one is not plain; then
/// nothing was done.
#[inline(always)]
fn read_row<const L: usize, const N: usize>(
    look: Look,
    reads: &mut [Cell],
    writes: &[Cell],
    first_lane: u32,
    [mine_read, mine_wrote]: [Cell; 2],
) -> bool {
    let (Some(reads), Some(writes)) = (reads.get_mut(..L * N), writes.get(..L * N)) else {
        return false;
    };
    let mut plain = true;
    let mut left = [[0; N]; L];
    for i in 0..L {
        for n in 0..N {
            let lane = first_lane + i as u32;
            let (read, wrote) = (reads[i * N + n], writes[i * N + n]);
            let (cell, known) = look.after_read(read, look.me + lane, mine_read + lane);
            plain &= known & (look.is_past(wrote) | (wrote == mine_wrote + lane));
            left[i][n] = cell;
        }
    }
    if plain {
        reads.copy_from_slice(left.as_flattened());
    }
    plain
}

/// Writes of consecutive lanes, like [`read_row`].
#[inline(always)]
fn write_row<const L: usize, const N: usize>(
    look: Look,
    reads: &[Cell],
    writes: &mut [Cell],
    first_lane: u32,
    [mine_read, mine_wrote]: [Cell; 2],
) -> bool {
    let (Some(reads), Some(writes)) = (reads.get(..L * N), writes.get_mut(..L * N)) else {
        return false;
    };
    let mut plain = true;
    for i in 0..L {
        for n in 0..N {
            let lane = first_lane + i as u32;
            let (read, wrote) = (reads[i * N + n], writes[i * N + n]);
            plain &= look.is_past(read) | (read == mine_read + lane);
            plain &= look.is_past(wrote) | (wrote == mine_wrote + lane);
        }
    }
    if plain {
        for i in 0..L {
            writes[i * N..(i + 1) * N].fill(look.me + first_lane + i as u32);
        }
    }
    plain
}

/// Reads of one place by several lanes, the first of them `lane`.
#[inline(always)]
fn read_same<const N: usize>(
    look: Look,
    reads: &mut [Cell],
    writes: &[Cell],
    lane: u32,
    mine: Cell,
) -> bool {
    let (Some(reads), Some(writes)) = (reads.get_mut(..N), writes.get(..N)) else { return false };
    let me = look.me + lane;
    let mut left = [0; N];
    let mut plain = true;
    for n in 0..N {
        let (cell, known) = look.after_read(reads[n], me, mine + lane);
        plain &= known & look.is_past(writes[n]);
        // The second lane finds the first one's cell, unless an older one was kept.
        left[n] = if cell == me { me | MANY } else { cell };
    }
    if plain {
        reads.copy_from_slice(&left);
    }
    plain
}

impl Races {
    /// Notes an access of the lanes of `mask` to `bytes` bytes at `at` each, as far as it is
    /// plain, lowest lane first; gives the lanes that are left.
    #[inline(always)]
    pub(in crate::exec) fn quick(
        &mut self,
        touch: Touch,
        shadow: &mut Shadow,
        order: &Order,
        at: &[u64; 32],
        bytes: u32,
        mask: u32,
    ) -> u32 {
        let Some(n) = shadow.whole_cells(bytes) else { return mask };
        shadow.make_room(touch.write);
        let record = self.record(touch, order.serial);
        let (first, apart) = self.own_records();
        let look = Look {
            me: cell(record, 0),
            first: if touch.own { 0 } else { floor(first) },
            known: floor(order.floor(touch.warp)),
            own: floor(order.horizon(touch.warp, touch.warp)),
            apart: apart || touch.own,
        };
        match n {
            1 => self.groups::<1>(look, touch, order.serial, shadow, at, mask),
            2 => self.groups::<2>(look, touch, order.serial, shadow, at, mask),
            4 => self.groups::<4>(look, touch, order.serial, shadow, at, mask),
            _ => mask,
        }
    }

    /// The record of a cell, as the cell of its lane 0, if the running warp made it; else a cell
    /// that no access has.
    #[inline(always)]
    fn mine(&self, touch: Touch, serial: u32, c: Cell) -> Cell {
        let number = record_of(c);
        let record = self.records[number as usize];
        let mine = number != 0 && u32::from(record.warp) == touch.warp && record.serial == serial;
        if mine { cell(number, 0) } else { !cell(0, 127) }
    }

    /// Lanes that follow each other.
    #[inline(always)]
    fn row<const L: usize, const N: usize>(
        &self,
        look: Look,
        touch: Touch,
        serial: u32,
        shadow: &mut Shadow,
        first: usize,
        lane: u32,
    ) -> bool {
        if touch.write {
            let (reads, writes) = shadow.for_write(first, L * N);
            let mine = [reads[0], writes[0]].map(|c| self.mine(touch, serial, c));
            write_row::<L, N>(look, reads, writes, lane, mine)
        } else {
            let (reads, writes) = shadow.for_read(first, L * N);
            let mine = [reads[0], writes[0]].map(|c| self.mine(touch, serial, c));
            read_row::<L, N>(look, reads, writes, lane, mine)
        }
    }

    #[inline(always)]
    fn groups<const N: usize>(
        &self,
        look: Look,
        touch: Touch,
        serial: u32,
        shadow: &mut Shadow,
        at: &[u64; 32],
        mask: u32,
    ) -> u32 {
        let bytes = shadow.bytes(N);
        if !touch.write && mask == u32::MAX && at[31] == at[0] && steps(at, 0) {
            let (first, _) = shadow.cells(at[0], bytes);
            let (reads, writes) = shadow.for_read(first, N);
            let mine = self.mine(touch, serial, reads[0]);
            return if read_same::<N>(look, reads, writes, 0, mine) { 0 } else { mask };
        }
        for (g, at) in at.as_chunks::<GROUP>().0.iter().enumerate() {
            let lane = (g * GROUP) as u32;
            let active = (mask >> lane) & 0xff;
            let (first, _) = shadow.cells(at[0], bytes);
            if active == 0xff && steps(at, bytes as usize) {
                if !self.row::<GROUP, N>(look, touch, serial, shadow, first, lane) {
                    return mask & (u32::MAX << lane);
                }
            } else if active == 0xff && !touch.write && steps(at, 0) {
                let (reads, writes) = shadow.for_read(first, N);
                let mine = self.mine(touch, serial, reads[0]);
                if !read_same::<N>(look, reads, writes, lane, mine) {
                    return mask & (u32::MAX << lane);
                }
            } else {
                for lane in (lane..lane + 8).filter(|i| (mask >> i) & 1 == 1) {
                    let (first, _) = shadow.cells(at[lane as usize % GROUP], bytes);
                    let plain = self.row::<1, N>(look, touch, serial, shadow, first, lane);
                    if !plain {
                        return mask & (u32::MAX << lane);
                    }
                }
            }
        }
        0
    }
}

impl Machine<'_> {
    /// Notes a load or store of the running block to its shared memory or a buffer.
    #[inline(always)]
    pub(in crate::exec) fn look_for_races(
        &mut self,
        m: &MemoryOp,
        home: Home,
        places: &Places,
        regs: &mut Registers<'_>,
        mask: u32,
    ) {
        let Some(races) = &mut self.sanitizer.races else { return };
        let own = home == Home::Shared;
        let touch = Touch { pc: self.pc, warp: regs.warp, write: m.store, strong: m.volatile, own };
        let bytes = m.bytes * m.regs.len() as u32;
        races.overflow(&mut self.block.shared.shadow);
        let left = match home {
            Home::Shared => races.quick(
                touch,
                &mut self.block.shared.shadow,
                &self.block.order,
                &places.at,
                bytes,
                mask,
            ),
            Home::Buffer(index) => {
                let mut shadow = races.take(index);
                shadow.resize(self.memory.buffers[index].data.len());
                let left =
                    races.quick(touch, &mut shadow, &self.block.order, &places.at, bytes, mask);
                races.put_back(index, shadow);
                left
            }
            Home::Peer(_) | Home::Local | Home::Param => return,
        };
        // The others are looked at there.
        if self.is_early(regs.warp, mask & !left) {
            let how = (m.store, m.volatile);
            self.check_early(home, &places.at, bytes, how, regs, mask & !left);
        }
        if left != 0 {
            let action = Action::Memory(m);
            let ahead = self.watch(&action, home, places, regs, left);
            self.mark_read_ahead(&action, regs, ahead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Races, Shadow, Touch};

    /// Numbers below `n` from a fixed sequence.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % n
        }
    }

    fn start(races: &mut [Races; 2], block: u64) -> [Order; 2] {
        races.each_mut().map(|races| races.start(block, 3))
    }

    fn places(dice: &mut Dice, bytes: u64) -> [u64; 32] {
        let (first, pattern) = (dice.below(24), dice.below(5));
        std::array::from_fn(|i| {
            let i = i as u64;
            let element = match pattern {
                0 => first,
                1 => first + i,
                2 => first + i % 16,
                3 => first + i / 8,
                _ => dice.below(56),
            };
            element * bytes
        })
    }

    #[test]
    fn the_quick_look_finds_what_the_exact_one_finds() {
        let mut dice = Dice(1);
        for run in 0..300 {
            let own = run % 2 == 0;
            let mut races = [Races::new(8), Races::new(8)];
            let mut shadows = [Shadow::default(), Shadow::default()];
            shadows.iter_mut().for_each(|s| s.resize(56 * 16));
            let mut order = start(&mut races, 0);
            let mut warp = 0;
            for step in 1..120 {
                match dice.below(24) {
                    0 => order = start(&mut races, step),
                    1 => {
                        for (order, races) in order.iter_mut().zip(&mut races) {
                            order.open_all(races.next());
                            races.advance();
                        }
                    }
                    2 => races.iter_mut().for_each(Races::advance),
                    3 => {
                        let warp = dice.below(3) as u32;
                        for (order, races) in order.iter_mut().zip(&mut races) {
                            order.meet_lanes(warp, races.next());
                            races.advance();
                        }
                    }
                    _ => {}
                }
                let (pc, turn) = (dice.below(8) as u32, dice.below(3) as u32);
                if turn != warp {
                    warp = turn;
                    races.iter_mut().for_each(Races::advance);
                }
                let touch = Touch { pc, warp, write: pc % 3 == 0, strong: pc == 7, own };
                let bytes = [4, 8, 16, 2][(dice.below(19) / 6) as usize];
                let at = places(&mut dice, bytes);
                let mask = if dice.below(3) == 0 { dice.below(1 << 32) as u32 } else { u32::MAX };
                let bytes = bytes as u32;
                let [mut quick, mut exact] = races;
                let left = quick.quick(touch, &mut shadows[0], &order[0], &at, bytes, mask);
                let found = quick.touch(touch, &mut shadows[0], &order[0], &at, bytes, left);
                let want = exact.touch(touch, &mut shadows[1], &order[1], &at, bytes, mask);
                assert_eq!(format!("{found:?}"), format!("{want:?}"), "{touch:?} {at:?}");
                assert_eq!(shadows[0].reads, shadows[1].reads, "{touch:?} {at:?} {mask:x}");
                assert_eq!(shadows[0].writes, shadows[1].writes, "{touch:?} {at:?} {mask:x}");
                races = [quick, exact];
            }
        }
    }
}
