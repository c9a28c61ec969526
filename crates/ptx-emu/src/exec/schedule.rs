//! The order in which blocks run: clusters one after another, those that spin in turns with the
//! others, and the blocks of a cluster in turns.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    Machine, Shared, choice,
    cluster::{self, Peer},
    sanitize::order::Order,
    warp::{Frame, Group, Wait, Warp, register_bytes},
};
use crate::{memory::INITIALISED, op::Reg, report::LaunchError};

/// A block between its turns.
pub(super) struct Block {
    /// Linear index in the grid.
    index: u64,
    warps: Vec<Warp>,
    /// Threads that arrived at barriers without waiting, by barrier.
    arrivals: HashMap<u32, u32>,
    /// Lanes that can no longer come to a barrier, by warp and the barrier's program counter.
    passed: HashMap<(u32, u32), u32>,
    order: Order,
    done: bool,
}

/// A cluster that was left before its end: its blocks by rank and their shared state.
struct Parked {
    blocks: Vec<Block>,
    peers: Vec<Peer>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// All threads have exited.
    Done,
    /// Threads spin on memory that only others can change.
    Spinning,
    /// The block has made something known and lets those go first who may look at it.
    Preempted,
    /// All threads wait for other blocks of the cluster, or for an mbarrier.
    Waiting,
}

/// Most blocks that are kept half-run at once, about as many as a large GPU holds.
const MAX_RESIDENT: usize = 2112;

/// Most bytes that these take, roughly.
const MAX_RESIDENT_BYTES: usize = 8 << 30;

/// How often the waits for mbarriers give up in a cluster in which nothing else can run and nothing
/// changes, before that counts as a deadlock. Kernels may count such failures and go another way.
const MAX_TIMEOUTS: u32 = 1000;

/// Rounds of turns without any change of memory after which this many spinning blocks count as
/// deadlocked. A block that only reads volatile memory for long looks the same, hence the patience.
fn idle_rounds(blocks: usize) -> usize {
    if blocks < 4 { 256 } else { 32 }
}

impl Machine<'_> {
    pub(super) fn coordinates(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.context.launch.grid.map(u64::from);
        [(index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32]
    }

    /// Bytes that a half-run block takes, roughly.
    fn block_bytes(&self) -> usize {
        let registers = register_bytes(self.program.code[self.context.kernel].registers);
        let threads: u32 = self.context.launch.block.iter().product();
        // Beside the contents of shared memory there are flags and last accesses.
        registers * threads.div_ceil(32) as usize + 8 * self.layout.bytes + 4096
    }

    /// Linear index of the block with this rank in the cluster with this number.
    fn block_of(&self, cluster: u64, rank: u64) -> u64 {
        let [x, y, _] = self.context.launch.grid.map(u64::from);
        let [cx, cy, cz] = self.cluster.extents.map(u64::from);
        let (nx, ny) = (x / cx, y / cy);
        let at = [cluster % nx, cluster / nx % ny, cluster / (nx * ny)];
        let within = [rank % cx, rank / cx % cy, rank / (cx * cy)];
        let [bx, by, bz] = [0, 1, 2].map(|i| at[i] * [cx, cy, cz][i] + within[i]);
        bx + x * (by + y * bz)
    }

    /// Numbers of the clusters of which blocks were asked for, if not all blocks run.
    fn chosen_clusters(&self) -> Option<Vec<u64>> {
        let blocks = choice::chosen(&self.selection.blocks, self.context.launch.grid)?;
        let [nx, ny, _] = [0, 1, 2].map(|i| self.context.launch.grid[i] / self.cluster.extents[i]);
        let mut seen = HashSet::new();
        let number = |block: u64| {
            let at = self.coordinates(block);
            let [x, y, z] = [0, 1, 2].map(|i| u64::from(at[i] / self.cluster.extents[i]));
            x + u64::from(nx) * (y + u64::from(ny) * z)
        };
        Some(blocks.into_iter().map(number).filter(|n| seen.insert(*n)).collect())
    }

    /// Runs all blocks.
    pub(super) fn run(&mut self) -> Result<(), LaunchError> {
        let n_blocks: u64 = self.context.launch.grid.iter().map(|n| u64::from(*n)).product();
        let size = u64::from(self.cluster.len());
        let chosen = self.chosen_clusters();
        let n_clusters = chosen.as_ref().map_or(n_blocks / size, |c| c.len() as u64);
        let resident = MAX_RESIDENT.min(MAX_RESIDENT_BYTES / self.block_bytes());
        let resident = (resident / size as usize).max(1);
        let (mut next, n_clusters) =
            self.selection.part.as_ref().map_or((0, n_clusters), |part| (part.start, part.end));
        let mut parked: VecDeque<Parked> = VecDeque::new();
        let mut spare: Option<Parked> = None;
        let mut idle = 0_usize;
        loop {
            let changes = self.progress.changes;
            let starts = next < n_clusters && parked.len() < resident;
            let mut cluster = if starts {
                let number = chosen.as_ref().map_or(next, |c| c[next as usize]);
                next += 1;
                self.start_cluster(number, spare.take())
            } else if let Some(mut cluster) = parked.pop_front() {
                for block in &mut cluster.blocks {
                    self.time_out(&mut block.warps);
                }
                cluster
            } else {
                return Ok(());
            };
            self.cluster.peers = std::mem::take(&mut cluster.peers);
            let turn = self.run_cluster(&mut cluster.blocks)?;
            cluster.peers = std::mem::take(&mut self.cluster.peers);
            if turn == Turn::Done {
                self.selection.done += size;
                spare = Some(cluster);
                idle = 0;
                continue;
            }
            if turn == Turn::Preempted {
                // The latest goes first, so that blocks find predecessors half done.
                parked.push_front(cluster);
                idle = 0;
                continue;
            }
            idle = if self.progress.changes == changes && !starts { idle + 1 } else { 0 };
            let clusters = parked.len() + 1;
            if idle > clusters * idle_rounds(clusters) {
                self.cluster.peers = cluster.peers;
                let who = match clusters * size as usize {
                    1 => "1 block spins and nothing it reads changes".to_owned(),
                    n => format!("{n} blocks spin and nothing they read changes"),
                };
                return Err(LaunchError::Deadlock {
                    message: format!(
                        "deadlock: {who}; {}",
                        self.describe_blocks(&mut cluster.blocks)
                    ),
                    line: cluster.blocks.iter().find_map(|b| self.first_line(&b.warps)),
                    at_barrier: false,
                });
            }
            parked.push_back(cluster);
        }
    }

    fn start_cluster(&mut self, number: u64, spare: Option<Parked>) -> Parked {
        let (blocks, peers) = spare.map_or_else(Default::default, |s| (s.blocks, s.peers));
        let (mut blocks, mut peers) = (blocks.into_iter(), peers.into_iter());
        let mut started = Parked { blocks: Vec::new(), peers: Vec::new() };
        for rank in 0..u64::from(self.cluster.len()) {
            let index = self.block_of(number, rank);
            let warps = blocks.next().map(|block| block.warps);
            let shared = peers.next().map(|peer| peer.shared).unwrap_or_default();
            started.blocks.push(self.start(index, warps));
            let shared = self.fresh_shared(shared);
            started.peers.push(Peer { shared, exited: false });
        }
        started
    }

    /// Offset and bytes of the system's part of shared memory, if the kernel uses it.
    fn reserved_shared(&self) -> Option<(usize, usize)> {
        let slot = self
            .layout
            .variables
            .iter()
            .position(|v| v.is_some() && *v == self.program.reserved)?;
        self.layout.slots[slot]
    }

    fn fresh_shared(&self, mut shared: Shared) -> Shared {
        shared.data.resize(self.layout.bytes, 0);
        shared.flags.clear();
        shared.flags.resize(self.layout.bytes, 0);
        shared.mbarriers.clear();
        shared.warpgroups.clear();
        shared.origins.clear();
        if let Some((at, size)) = self.reserved_shared() {
            shared.data[at..at + size].fill(0);
            shared.flags[at..at + size].fill(INITIALISED);
        }
        self.fit_shadow(&mut shared.shadow);
        if self.cluster.len() > 1 {
            // Accesses of other clusters must not be taken for a neighbour's.
            shared.shadow.clear();
        }
        shared
    }

    /// A block at its first instruction, with the warps of one that ended.
    fn start(&mut self, index: u64, spare: Option<Vec<Warp>>) -> Block {
        let code = &self.program.code[self.context.kernel];
        let threads: u32 = self.context.launch.block.iter().product();
        let mut warps =
            spare.unwrap_or_else(|| (0..threads.div_ceil(32)).map(|w| self.new_warp(w)).collect());
        for warp in &mut warps {
            let lanes = (threads - warp.index * 32).min(32);
            warp.alive = u32::MAX >> (32 - lanes);
            let alive = warp.alive;
            warp.taint.clear();
            self.enter_undefined(warp, self.context.kernel as u32, [0; 3], alive);
            // The others are written before they are read.
            for reg in self.program.undefined(self.context.kernel as u32) {
                match *reg {
                    Reg::W(r) => warp.r32[r as usize] = [0; 32],
                    Reg::D(r) => warp.r64[r as usize] = [0; 32],
                    Reg::P(r) => warp.pred[r as usize] = 0,
                }
            }
            warp.carry = 0;
            warp.slices = 0;
            warp.copies.clear();
            warp.engine.clear();
            warp.local.flags.fill(0);
            warp.local.origins.clear();
            warp.spins_since = None;
            warp.cluster = cluster::ClusterLanes::default();
            warp.groups.clear();
            warp.groups.push(Group {
                pc: code.entry,
                mask: warp.alive,
                frame: Frame { function: self.context.kernel as u32, ..Frame::default() },
                callers: Vec::new(),
                wait: Wait::None,
                penalty: 0,
            });
        }
        let order = self.start_order(index, warps.len());
        let (arrivals, passed) = (HashMap::new(), HashMap::new());
        Block { index, warps, arrivals, passed, order, done: false }
    }

    /// Makes a block the running one, or puts it back.
    fn swap(&mut self, block: &mut Block, rank: usize) {
        self.block.index = block.index;
        self.block.at = self.coordinates(block.index);
        self.cluster.rank = rank as u32;
        std::mem::swap(&mut self.block.arrivals, &mut block.arrivals);
        std::mem::swap(&mut self.block.passed, &mut block.passed);
        std::mem::swap(&mut self.block.order, &mut block.order);
        std::mem::swap(&mut self.block.shared, &mut self.cluster.peers[rank].shared);
    }

    /// Lets the blocks of a cluster run in turns until all have ended or they only spin.
    fn run_cluster(&mut self, blocks: &mut [Block]) -> Result<Turn, LaunchError> {
        let mut timeouts = 0;
        loop {
            let changes = self.progress.changes;
            let mut ended = false;
            let mut spins = false;
            let mut preempted = false;
            // The last first: often the first block of a cluster is the one that uses the others'
            // memory, and it should not find them alive by chance.
            for rank in (0..blocks.len()).rev() {
                let block = &mut blocks[rank];
                if block.done {
                    continue;
                }
                self.swap(block, rank);
                let turn = self.run_block(&mut block.warps)?;
                self.swap(block, rank);
                block.done = turn == Turn::Done;
                self.cluster.peers[rank].exited = block.done;
                ended |= block.done;
                spins |= turn == Turn::Spinning;
                preempted |= turn == Turn::Preempted;
            }
            if blocks.iter().all(|block| block.done) {
                return Ok(Turn::Done);
            }
            if preempted {
                return Ok(Turn::Preempted);
            }
            if self.open_barrier(blocks)
                || ended
                || (blocks.len() > 1 && self.progress.changes != changes)
            {
                timeouts = 0;
                continue;
            }
            if spins {
                return Ok(Turn::Spinning);
            }
            timeouts = if self.progress.changes == changes { timeouts + 1 } else { 0 };
            let mut warps = blocks.iter().flat_map(|block| &block.warps);
            if timeouts > MAX_TIMEOUTS || !warps.any(Warp::waits_for_mbarrier) {
                return Err(self.stuck_cluster(blocks));
            }
            for block in &mut *blocks {
                self.time_out(&mut block.warps);
            }
        }
    }

    /// Opens the barrier of a cluster whose threads have all arrived or exited; whether it did.
    fn open_barrier(&mut self, blocks: &mut [Block]) -> bool {
        let warps = || blocks.iter().flat_map(|b| &b.warps).filter(|w| w.alive != 0);
        if !warps().all(cluster::has_arrived) {
            return false;
        }
        for warp in blocks.iter_mut().flat_map(|b| &mut b.warps).filter(|w| w.alive != 0) {
            cluster::open(warp);
        }
        self.cluster_met(blocks.iter_mut().map(|block| &mut block.order));
        true
    }

    /// The report of a cluster none of whose threads can move.
    fn stuck_cluster(&mut self, blocks: &mut [Block]) -> LaunchError {
        let live = || blocks.iter().filter(|block| !block.done);
        let line = live().find_map(|block| self.first_line(&block.warps));
        LaunchError::Deadlock {
            message: format!("deadlock: {}", self.describe_blocks(blocks)),
            line,
            at_barrier: true,
        }
    }

    /// Who waits where in the blocks of a cluster.
    fn describe_blocks(&mut self, blocks: &mut [Block]) -> String {
        let mut parts = Vec::new();
        for rank in 0..blocks.len() {
            let block = &mut blocks[rank];
            if block.done {
                continue;
            }
            self.swap(block, rank);
            let text = self.describe_all(&block.warps);
            self.swap(block, rank);
            parts.push(text);
        }
        parts.join("; ")
    }
}
