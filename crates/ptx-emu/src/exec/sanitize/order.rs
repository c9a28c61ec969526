//! The order of accesses in a block: vector clocks of warps, counted in records.
//!
//! Records of accesses are numbered in the order of their making. Warp `c` knows of warp `w` a
//! number below which all its accesses happened before the present one of `c`.

use std::collections::HashMap;

use super::shadow::Cell;

/// The order that barriers and atomics have made among the warps of a block.
#[derive(Debug, Default)]
pub(in crate::exec) struct Order {
    /// Number of the block in order of start.
    pub serial: u32,
    /// The least that each warp knows of every other one.
    floor: Vec<u32>,
    /// Knowledge of the lanes of each warp of each other.
    own: Vec<u32>,
    /// Knowledge of each warp of each other one, `[c * n + w]`, once some barrier held only a part
    /// of the block.
    seen: Vec<u32>,
    /// Knowledge of those that arrived at a barrier without waiting.
    arrived: HashMap<u32, Vec<u32>>,
    /// The number, by warp, below which a proxy fence follows its writes to shared memory.
    fenced: Vec<u32>,
    /// Accesses below this number were made before a fence for other blocks.
    pub fence: u32,
    /// Releases of other blocks below this number have been seen.
    pub acquired: u32,
    pub grid: Grid,
}

/// How a block stands to the launches before and behind its own.
#[derive(Debug, Default)]
pub(in crate::exec) struct Grid {
    /// Lanes of each warp behind a wait for the launch before.
    pub behind: Vec<u32>,
    /// Accesses that stand for such waits, the first of each warp.
    pub waits: Vec<Cell>,
    /// The launch behind may begin, as far as the block goes.
    pub triggered: bool,
}

impl Order {
    /// A block of `warps` warps that starts when `next` is the number of the next record.
    pub(in crate::exec) fn new(serial: u32, warps: usize, next: u32) -> Self {
        let grid = Grid { behind: vec![0; warps], ..Grid::default() };
        Self { serial, floor: vec![next; warps], own: vec![next; warps], grid, ..Self::default() }
    }

    /// The number below which every access of the block happened before the present one of `warp`.
    pub(in crate::exec) fn floor(&self, warp: u32) -> u32 {
        self.floor[warp as usize]
    }

    /// The number below which all accesses of warp `of` happened before the present one of `warp`.
    pub(in crate::exec) fn horizon(&self, warp: u32, of: u32) -> u32 {
        if warp == of {
            return self.own[warp as usize];
        }
        let known = self.seen.get(warp as usize * self.floor.len() + of as usize).copied();
        known.unwrap_or(0).max(self.floor[warp as usize])
    }

    /// The lanes of a warp have synchronised.
    pub(in crate::exec) fn meet_lanes(&mut self, warp: u32, next: u32) {
        self.own[warp as usize] = next;
    }

    /// All threads of the block have synchronised.
    pub(in crate::exec) fn open_all(&mut self, next: u32) {
        self.floor.fill(next);
        self.own.fill(next);
        self.seen.fill(next);
    }

    /// Knowledge of a warp of all warps.
    fn knowledge(&self, warp: u32, next: u32) -> Vec<u32> {
        let n = self.floor.len() as u32;
        (0..n).map(|w| if w == warp { next } else { self.horizon(warp, w) }).collect()
    }

    /// A warp arrives at a barrier and goes on.
    pub(in crate::exec) fn arrive(&mut self, barrier: u32, warp: u32, next: u32) {
        let knowledge = self.knowledge(warp, next);
        let known = self.arrived.entry(barrier).or_insert_with(|| vec![0; knowledge.len()]);
        for (known, new) in known.iter_mut().zip(knowledge) {
            *known = (*known).max(new);
        }
    }

    /// A barrier opens for the warps that wait at it.
    pub(in crate::exec) fn open(&mut self, barrier: u32, waiting: &[u32], next: u32) {
        let n = self.floor.len();
        if waiting.len() == n {
            self.arrived.remove(&barrier);
            self.open_all(next);
            return;
        }
        for warp in waiting {
            self.arrive(barrier, *warp, next);
        }
        let Some(joint) = self.arrived.remove(&barrier) else { return };
        if self.seen.is_empty() {
            self.seen = vec![0; n * n];
        }
        for &warp in waiting {
            let at = warp as usize;
            let row = &mut self.seen[at * n..(at + 1) * n];
            for (seen, joint) in row.iter_mut().zip(&joint) {
                *seen = (*seen).max(*joint);
            }
            self.own[at] = next;
        }
    }

    /// A warp goes on because a phase of an mbarrier is complete: it learns from those that
    /// arrived.
    pub(in crate::exec) fn hear(&mut self, barrier: u32, warp: u32) {
        let n = self.floor.len();
        let Some(joint) = self.arrived.get(&barrier) else { return };
        if self.seen.is_empty() {
            self.seen = vec![0; n * n];
        }
        let at = warp as usize;
        for (seen, joint) in self.seen[at * n..(at + 1) * n].iter_mut().zip(joint) {
            *seen = (*seen).max(*joint);
        }
        self.own[at] = self.own[at].max(joint[at]);
    }

    /// A proxy fence of a warp: what it knows of, its own accesses included, may be read by
    /// asynchronous copies.
    pub(in crate::exec) fn fence_proxy(&mut self, warp: u32, next: u32) {
        let knowledge = self.knowledge(warp, next);
        self.fenced.resize(knowledge.len(), 0);
        for (fenced, known) in self.fenced.iter_mut().zip(knowledge) {
            *fenced = (*fenced).max(known);
        }
    }

    /// The number below which a proxy fence follows the writes of a warp.
    pub(in crate::exec) fn fenced(&self, warp: u32) -> u32 {
        self.fenced.get(warp as usize).copied().unwrap_or(0)
    }

    /// The number below which every access of some other warp happened before the present one of
    /// `warp`.
    pub(in crate::exec) fn latest(&self, warp: u32) -> u32 {
        let n = self.floor.len();
        let row = self.seen.chunks(n.max(1)).nth(warp as usize).unwrap_or(&[]);
        let others = row.iter().enumerate().filter(|(w, _)| *w != warp as usize);
        others.map(|(_, seen)| *seen).fold(self.floor(warp), u32::max)
    }

    /// A warp learns that all accesses below a number happened before, from an atomic, a volatile
    /// read or an mbarrier.
    pub(in crate::exec) fn learn(&mut self, warp: u32, number: u32) {
        let at = warp as usize;
        self.floor[at] = self.floor[at].max(number);
        self.own[at] = self.own[at].max(number);
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn a_barrier_of_some_warps_orders_only_those() {
        let mut order = Order::new(0, 4, 1);
        order.open(1, &[0, 1], 10);
        assert_eq!((order.horizon(0, 1), order.horizon(1, 0)), (10, 10));
        assert_eq!((order.horizon(0, 2), order.horizon(2, 0)), (1, 1));
        // Knowledge travels on: 2 learns from 1 all that 1 learnt from 0, and nothing that 0 did
        // since.
        order.open(2, &[1, 2], 20);
        assert_eq!((order.horizon(2, 1), order.horizon(2, 0)), (20, 10));
        order.open(0, &[0, 1, 2, 3], 30);
        assert_eq!((order.horizon(3, 0), order.floor(2)), (30, 30));
    }

    #[test]
    fn a_phase_passes_on_what_its_arrivals_knew() {
        let mut order = Order::new(0, 3, 1);
        order.arrive(1 << 31, 0, 5);
        order.arrive(1 << 31, 1, 7);
        order.hear(1 << 31, 2);
        assert_eq!((order.horizon(2, 0), order.horizon(2, 1)), (5, 7));
        assert_eq!((order.horizon(0, 1), order.latest(2), order.latest(0)), (1, 7, 1));
    }

    #[test]
    fn those_that_only_arrive_give_but_do_not_take() {
        let mut order = Order::new(0, 2, 1);
        order.arrive(3, 0, 5);
        order.open(3, &[1], 9);
        assert_eq!((order.horizon(1, 0), order.horizon(0, 1)), (5, 1));
    }
}
