//! Hands accesses and synchronisation to the race detector, and words its conflicts.

use super::{
    order::Order,
    races::{Conflict, Touch},
    shadow::{MANY, Shadow, lane_of},
    unused::ReadAhead,
};
use crate::{
    exec::{
        Machine,
        access::{Home, Refusal, Registers, each_lane, first},
        transfer::{Action, Places, value_of},
    },
    finding::{Finding, FindingKind, Other},
    op::{D, MemoryOp, StateSpace},
};

impl Machine<'_> {
    /// Notes an access that is about to be done; gives the lanes that read what they should not, if
    /// the value is to be followed.
    pub(in crate::exec) fn watch(
        &mut self,
        action: &Action<'_>,
        home: Home,
        places: &Places,
        regs: &Registers<'_>,
        mask: u32,
    ) -> ReadAhead {
        let mut ahead = ReadAhead::default();
        if self.sanitizer.races.is_none() {
            return ahead;
        }
        let alone = self.cluster.len() == 1;
        let (write, strong) = match action {
            Action::Memory(m) => (m.store, m.volatile),
            Action::Atomic(_) => (true, true),
            Action::Await(_) => (true, false),
        };
        let touch = Touch {
            pc: self.pc,
            warp: regs.warp,
            write,
            strong,
            own: home == Home::Shared && alone,
        };
        let bytes = action.bytes();
        if self.is_early(regs.warp, mask) {
            self.check_early(home, &places.at, bytes, (write, strong), regs, mask);
        }
        let Some(races) = &mut self.sanitizer.races else { return ahead };
        if races.overflow(&mut self.block.shared.shadow) {
            self.cluster.peers.iter_mut().for_each(|peer| peer.shared.shadow.clear());
        }
        let conflicts = match home {
            Home::Shared => {
                let shadow = &mut self.block.shared.shadow;
                races.touch(touch, shadow, &self.block.order, &places.at, bytes, mask)
            }
            Home::Peer(rank) => {
                let shadow = &mut self.cluster.peers[rank].shared.shadow;
                races.touch(touch, shadow, &self.block.order, &places.at, bytes, mask)
            }
            Home::Buffer(index) => {
                let mut shadow = races.take(index);
                shadow.resize(self.memory.buffers[index].data.len());
                let found =
                    races.touch(touch, &mut shadow, &self.block.order, &places.at, bytes, mask);
                races.put_back(index, shadow);
                found
            }
            Home::Local | Home::Param => return ahead,
        };
        let follows = !conflicts.is_empty() && self.follows(action, home);
        for conflict in conflicts {
            if !self.harmless(action, home, places, regs, &conflict) {
                let race = self.report_race(home, places, bytes, regs, (write, follows), &conflict);
                ahead = ahead.and(race);
            }
        }
        ahead
    }

    /// Whether both accesses write the same value.
    fn harmless(
        &self,
        action: &Action<'_>,
        home: Home,
        places: &Places,
        regs: &Registers<'_>,
        conflict: &Conflict,
    ) -> bool {
        let (Action::Memory(m), true) = (action, conflict.wrote) else { return false };
        if !m.store {
            return false;
        }
        let lane = conflict.lane as usize;
        let data = match home {
            Home::Buffer(index) => &self.memory.buffers[index].data,
            Home::Shared => &self.block.shared.data,
            Home::Peer(rank) => &self.cluster.peers[rank].shared.data,
            Home::Local | Home::Param => return false,
        };
        let at = places.at[lane] as usize;
        let new = stored(m, regs, lane);
        let same_instruction = self.sanitizer.races.as_ref().is_some_and(|r| {
            let (record, _) = r.who(conflict.cell);
            record.serial == self.block.order.serial
                && record.pc == self.pc
                && u32::from(record.warp) == regs.warp
        });
        let twin = lane_of(conflict.cell) as usize;
        data.get(at..at + new.len()) == Some(new.as_slice())
            || (same_instruction
                && places.at[twin] == places.at[lane]
                && stored(m, regs, twin) == new)
    }

    pub(in crate::exec) fn report_race(
        &mut self,
        home: Home,
        places: &Places,
        bytes: u32,
        regs: &Registers<'_>,
        (write, follows): (bool, bool),
        conflict: &Conflict,
    ) -> ReadAhead {
        let (pc, none) = (self.pc, ReadAhead::default());
        let Some(races) = &self.sanitizer.races else { return none };
        let (record, block) = races.who(conflict.cell);
        let kind = match home {
            Home::Shared | Home::Peer(_) => FindingKind::SharedRace,
            _ => FindingKind::GlobalRace,
        };
        // Whichever of the two lines came first by chance, the defect is the same.
        let (_, here, there) = self.key(kind, pc, Some(record.pc));
        let key = (kind, here.min(there), here.max(there));
        let (place, at) = self.addresses_of(home, places, regs);
        let lanes = 1 << conflict.lane;
        let element = self.target(&Refusal { kind, lanes, at, place, bytes }, at[first(lanes)]);
        let range = element.element.map(|e| (e, e));
        let shared = kind == FindingKind::SharedRace;
        let own = block == self.block.index && u32::from(record.warp) != regs.warp;
        let past = shared && write && !conflict.wrote && own && conflict.cell & MANY == 0;
        if follows || (past && self.never_used(record, lane_of(conflict.cell))) {
            let ahead = self.read_ahead(key, lanes, range, |machine| {
                machine.race(kind, place, &at, bytes, regs, write, conflict, record.pc, block)
            });
            return if follows { ahead } else { none };
        }
        self.error_after_all(key);
        if self.sanitizer.findings.again(key, 1, range) {
            if block == self.block.index && u32::from(record.warp) != regs.warp {
                self.sanitizer.findings.widen(key);
            }
            return none;
        }
        if self.sanitizer.findings.full() {
            return none;
        }
        let finding = self.race(kind, place, &at, bytes, regs, write, conflict, record.pc, block);
        self.keep(key, finding);
        none
    }

    #[expect(clippy::too_many_arguments, reason = "both accesses are described by all of them")]
    fn race(
        &self,
        kind: FindingKind,
        place: StateSpace,
        at: &D,
        bytes: u32,
        regs: &Registers<'_>,
        write: bool,
        conflict: &Conflict,
        other_pc: u32,
        other_block: u64,
    ) -> Finding {
        let lanes = 1 << conflict.lane;
        let refusal = Refusal { kind, lanes, at: *at, place, bytes };
        let target = self.target(&refusal, refusal.address());
        let what = |write: bool| if write { "write" } else { "read" };
        let space = if kind == FindingKind::SharedRace { "shared" } else { "global" };
        let buffer = target.label.clone().unwrap_or_default();
        let element = target.element.unwrap_or(0);
        let (line, instruction) = self.program.place_of(other_pc);
        let at_line = line.map(|l| format!(" at line {l}")).unwrap_or_default();
        let same_block = other_block == self.block.index;
        let text = format!(
            "race on {space} `{buffer}`[{element}]: this {} and the {}{at_line} by {} are not \
             ordered",
            what(write),
            what(conflict.wrote),
            if same_block { "another thread of the block" } else { "another block" },
        );
        let mut finding = self.finding(kind, &text, target, regs, self.pc, lanes);
        finding.access_bytes = bytes;
        let warp =
            self.sanitizer.races.as_ref().map_or(0, |r| u32::from(r.who(conflict.cell).0.warp));
        let shared_by_many = !conflict.wrote && conflict.cell & MANY != 0;
        let thread = self.thread_of(warp * 32 + lane_of(conflict.cell));
        let itself = same_block && thread == finding.thread;
        finding.other = Some(Other {
            what: format!("earlier {}", what(conflict.wrote)),
            line,
            instruction,
            block: Some(self.coordinates(other_block)),
            thread: (!(shared_by_many && itself)).then_some(thread),
        });
        finding.hint = Some(self.missing_order(same_block, warp == regs.warp, other_pc, self.pc));
        finding
    }

    /// Index of a block's thread along each axis.
    fn thread_of(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.context.launch.block;
        [thread % x, thread / x % y, thread / (x * y)]
    }

    /// A warp gets its turn.
    pub(in crate::exec) fn turn(&mut self) {
        if let Some(races) = &mut self.sanitizer.races {
            races.advance();
        }
    }

    /// The lanes of a warp have passed `bar.warp.sync`.
    pub(in crate::exec) fn lanes_met(&mut self, warp: u32) {
        if let Some(races) = &mut self.sanitizer.races {
            self.block.order.meet_lanes(warp, races.next());
            races.advance();
        }
    }

    /// A barrier opens for the warps that wait.
    pub(in crate::exec) fn warps_met(&mut self, barrier: u32, waiting: &[u32]) {
        if let Some(races) = &mut self.sanitizer.races {
            self.block.order.open(barrier, waiting, races.next());
            races.advance();
        }
    }

    /// A warp arrives at a barrier and goes on.
    pub(in crate::exec) fn warp_arrived(&mut self, barrier: u32, warp: u32) {
        if let Some(races) = &mut self.sanitizer.races {
            self.block.order.arrive(barrier, warp, races.next());
            races.advance();
        }
    }

    /// A fence: earlier accesses may be made known to others from now on.
    pub(in crate::exec) fn fence(&mut self) {
        self.publish_mbarriers();
        if let Some(races) = &mut self.sanitizer.races {
            self.block.order.fence = races.next();
            races.advance();
        }
    }

    /// An atomic or volatile access at these addresses takes up the knowledge left there, and
    /// makes known the accesses before the last fence.
    pub(in crate::exec) fn synchronise(
        &mut self,
        addresses: &D,
        warp: u32,
        mask: u32,
        (reads, writes): (bool, bool),
        release: bool,
    ) {
        if release {
            self.fence();
        }
        let block = self.block.index;
        let several = self.context.launch.grid.iter().any(|n| *n > 1);
        let Some(races) = &mut self.sanitizer.races else { return };
        for lane in each_lane(mask) {
            // Shared addresses mean another place in every block.
            let address = addresses[lane];
            let key = if address >> 40 == 0 { address | block << 32 } else { address };
            if reads && let Some(number) = races.acquire(key) {
                self.block.order.acquired = self.block.order.acquired.max(number);
                self.block.order.learn(warp, number);
            }
            if writes {
                races.publish(key, &self.block.order);
                // News of a block should reach blocks that look at them: those that come later get
                // a turn before it goes on.
                let global = address >> 40 != 0 && several;
                self.progress.preempt |= global && races.first_time(block, self.pc);
            }
        }
    }

    /// Notes that a lane uses the mbarrier at an offset: those who use it do not race with each
    /// other, but with who initialises it, which is the one write.
    pub(in crate::exec) fn watch_mbarrier(
        &mut self,
        peer: Option<usize>,
        at: usize,
        regs: &Registers<'_>,
        lane: usize,
        initialises: bool,
    ) {
        let own = peer.is_none() && self.cluster.len() == 1;
        let Some(races) = &mut self.sanitizer.races else { return };
        let touch =
            Touch { pc: self.pc, warp: regs.warp, write: initialises, strong: !initialises, own };
        let (home, shadow) = match peer {
            Some(rank) => (Home::Peer(rank), &mut self.cluster.peers[rank].shared.shadow),
            None => (Home::Shared, &mut self.block.shared.shadow),
        };
        let mask = 1 << lane;
        let places = Places::scattered([at as u64; 32], mask);
        for conflict in races.touch(touch, shadow, &self.block.order, &places.at, 8, mask) {
            self.report_race(home, &places, 8, regs, (initialises, false), &conflict);
        }
    }

    /// Lanes of a warp arrive at a phase of an mbarrier, of the running block or of a peer's.
    pub(in crate::exec) fn mbarrier_arrived(&mut self, key: u32, peer: Option<usize>, warp: u32) {
        if self.sanitizer.races.is_none() {
            return;
        }
        if self.cluster.len() > 1 {
            // An arrival at a mbarrier of the block's own need not be a release for the cluster.
            if peer.is_some() {
                self.publish_mbarriers();
            }
            let address = self.mbarrier_address(key, peer);
            if let Some(races) = &mut self.sanitizer.races {
                self.block.order.fence = races.next();
                races.advance();
                races.publish(address, &self.block.order);
            }
        }
        if peer.is_none() {
            self.warp_arrived(key, warp);
        }
    }

    /// A warp goes on because a phase of an mbarrier of its block is complete.
    pub(in crate::exec) fn mbarrier_passed(&mut self, key: u32, warp: u32) {
        let address = self.mbarrier_address(key, None);
        let Some(races) = &mut self.sanitizer.races else { return };
        self.block.order.hear(key, warp);
        if let Some(number) = races.acquire(address) {
            self.block.order.acquired = self.block.order.acquired.max(number);
        }
        races.advance();
    }

    /// A number that stands for a phase of an mbarrier in the whole grid; no address is like it.
    fn mbarrier_address(&self, key: u32, peer: Option<usize>) -> u64 {
        let number = (0..3).rev().fold(0, |n, axis| {
            let extent = self.context.launch.grid[axis] / self.cluster.extents[axis];
            n * u64::from(extent) + u64::from(self.block.at[axis] / self.cluster.extents[axis])
        });
        let rank = peer.unwrap_or(self.cluster.rank as usize) as u64;
        1 << 63 | (number << 4 | rank) << 24 | u64::from(key & 0xff_ffff)
    }

    /// All threads of a cluster have synchronised.
    pub(in crate::exec) fn cluster_met<'o>(&mut self, orders: impl Iterator<Item = &'o mut Order>) {
        let Some(races) = &mut self.sanitizer.races else { return };
        let next = races.next();
        for order in orders {
            order.open_all(next);
            order.acquired = order.acquired.max(next);
            races.release(order.serial, next);
        }
        races.advance();
    }

    /// The order of a block that starts.
    pub(in crate::exec) fn start_order(&mut self, index: u64, warps: usize) -> Order {
        match &mut self.sanitizer.races {
            Some(races) => races.start(index, warps),
            None => Order::default(),
        }
    }

    /// Makes a block's shadow of shared memory fit.
    pub(in crate::exec) fn fit_shadow(&self, shadow: &mut Shadow) {
        if self.sanitizer.races.is_some() {
            shadow.resize(self.layout.bytes);
        }
    }
}

/// The bytes a lane stores.
fn stored(m: &MemoryOp, regs: &Registers<'_>, lane: usize) -> Vec<u8> {
    let each = m.regs.iter().map(|reg| reg.map_or(0, |reg| value_of(reg, regs, lane, m.bytes)));
    each.flat_map(|value| value.to_le_bytes().into_iter().take(m.bytes as usize)).collect()
}
