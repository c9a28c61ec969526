//! Counts operations and their traffic.

use super::{
    Machine,
    access::{Home, each_lane},
    transfer::{Action, Places},
};
use crate::{
    counters::{Atomics, Counters, Executed, SharedTraffic, Traffic},
    lower::{Program, opcode},
    op::Op,
};

#[derive(Debug, Default)]
pub(super) struct Count {
    /// By program counter.
    executed: Vec<Executed>,
    loads: Traffic,
    stores: Traffic,
    shared: SharedTraffic,
    atomics: Atomics,
    barriers: u64,
    divergent: u64,
    /// Bytes touched, a bit each, by buffer: read and written.
    touched: Vec<[Vec<u64>; 2]>,
}

impl Count {
    pub(super) fn new(operations: usize) -> Self {
        Self { executed: vec![Executed::default(); operations], ..Self::default() }
    }

    pub(super) fn operation(&mut self, op: Op, pc: u32, mask: u32) {
        let executed = &mut self.executed[pc as usize];
        executed.lanes += u64::from(mask.count_ones());
        executed.warps += 1;
        self.barriers += u64::from(matches!(op, Op::Barrier(_)));
    }

    pub(super) fn parted(&mut self) {
        self.divergent += 1;
    }

    pub(super) fn access(
        &mut self,
        action: &Action<'_>,
        home: Home,
        places: &Places,
        size: usize,
        mask: u32,
    ) {
        let bytes = action.bytes();
        let lanes = || each_lane(mask).map(|i| places.at[i]);
        if let Action::Atomic(_) = action {
            let mut at: Vec<u64> = lanes().collect();
            let n = at.len();
            at.sort_unstable();
            at.dedup();
            self.atomics.requests += 1;
            self.atomics.lanes += n as u64;
            self.atomics.collisions += (n - at.len()) as u64;
            return;
        }
        match home {
            Home::Buffer(index) => {
                let write = action.writes();
                self.touch(index, usize::from(write), size, lanes(), bytes);
                let traffic = if write { &mut self.stores } else { &mut self.loads };
                traffic.requests += 1;
                traffic.bytes += u64::from(mask.count_ones() * bytes);
                let last = u64::from(bytes) - 1;
                let mut sectors: Vec<u64> =
                    lanes().flat_map(|at| at / 32..=(at + last) / 32).collect();
                sectors.sort_unstable();
                sectors.dedup();
                traffic.sectors += sectors.len() as u64;
            }
            Home::Shared if bytes <= 4 => {
                let mut words: Vec<u64> = lanes().map(|at| at / 4).collect();
                words.sort_unstable();
                words.dedup();
                let mut banks = [0_u64; 32];
                for word in words {
                    banks[(word % 32) as usize] += 1;
                }
                self.shared.requests += 1;
                self.shared.wavefronts += banks.into_iter().max().unwrap_or(0);
            }
            Home::Shared => self.shared.wide_requests += 1,
            // Another block's memory is reached over the network between multiprocessors.
            Home::Peer(_) => {}
            Home::Local | Home::Param => {}
        }
    }

    fn touch(
        &mut self,
        buffer: usize,
        direction: usize,
        size: usize,
        at: impl Iterator<Item = u64>,
        bytes: u32,
    ) {
        if self.touched.len() <= buffer {
            self.touched.resize_with(buffer + 1, Default::default);
        }
        let bits = &mut self.touched[buffer][direction];
        bits.resize(size.div_ceil(64), 0);
        for at in at {
            for byte in at..at + u64::from(bytes) {
                bits[(byte / 64) as usize] |= 1 << (byte % 64);
            }
        }
    }

    /// The sums, by names a reader knows.
    pub(super) fn finish(self, program: &Program) -> Counters {
        let mut counters = Counters {
            global_loads: self.loads,
            global_stores: self.stores,
            shared: self.shared,
            atomics: self.atomics,
            barriers: self.barriers,
            divergent_branches: self.divergent,
            ..Counters::default()
        };
        let ones = |bits: &[u64]| bits.iter().map(|b| u64::from(b.count_ones())).sum::<u64>();
        for [read, written] in &self.touched {
            counters.global_loads.unique_bytes += ones(read);
            counters.global_stores.unique_bytes += ones(written);
        }
        let counted = |(pc, executed): &(usize, &Executed)| {
            executed.warps > 0 && !matches!(program.ops[*pc], Op::Guard(..))
        };
        for (pc, executed) in self.executed.iter().enumerate().filter(counted) {
            let add = |to: &mut Executed| {
                to.lanes += executed.lanes;
                to.warps += executed.warps;
            };
            add(&mut counters.total);
            let (line, text) = program.place_of(pc as u32);
            let mnemonic = opcode(&text).split('.').next().unwrap_or("").to_owned();
            add(counters.by_kind.entry(mnemonic).or_default());
            if let Some(line) = line {
                add(counters.by_line.entry(line).or_default());
            }
        }
        counters
    }
}

impl Machine<'_> {
    /// Counts an access to memory.
    pub(super) fn count_access(
        &mut self,
        action: &Action<'_>,
        home: Home,
        places: &Places,
        mask: u32,
    ) {
        let size = match home {
            Home::Buffer(index) => self.memory.buffers[index].data.len(),
            _ => 0,
        };
        if let Some(count) = &mut self.observers.count {
            count.access(action, home, places, size, mask);
        }
    }
}
