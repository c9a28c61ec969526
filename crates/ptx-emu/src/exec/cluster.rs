//! Clusters: blocks that see each other's shared memory and wait for each other at a barrier.

use super::{
    Machine, Shared,
    access::Registers,
    simple::{put, put_p},
    warp::{Wait, Warp, put_w},
};
use crate::{
    finding::FindingKind,
    memory::{own_shared, shared_rank, window_base, window_of},
    op::{ClusterOp, D, Reg, Window},
    report::LaunchError,
};

/// The cluster that runs.
#[derive(Debug)]
pub(super) struct Cluster {
    /// Blocks along x, y, z.
    pub extents: [u32; 3],
    /// Whether launch or kernel asked for it.
    pub explicit: bool,
    /// Rank of the running block.
    pub rank: u32,
    /// The blocks by rank. The running block's shared memory is with the machine.
    pub peers: Vec<Peer>,
}

/// The part of a block that the others of its cluster see.
#[derive(Debug, Default)]
pub(super) struct Peer {
    pub shared: Shared,
    pub exited: bool,
}

/// How far a warp's lanes are at the cluster's barrier.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ClusterLanes {
    /// Lanes that have arrived in the phase under way.
    pub arrived: u32,
    /// Lanes whose phase is complete and that have not waited for it yet.
    pub passed: u32,
}

/// How a group of lanes goes on after an operation.
pub(super) enum Step {
    /// With the next operation.
    Next,
    /// With the same operation, once the wait is over.
    Wait(Wait),
}

pub(super) const MAX_CLUSTER: u32 = 16;

impl Cluster {
    pub(super) fn len(&self) -> u32 {
        self.extents.iter().product()
    }
}

/// The block that a rank field of a shared address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// The running block.
    Own,
    /// Another block of the cluster.
    Peer(usize),
    /// A block whose threads have all exited.
    Exited(usize),
    /// No block of the cluster.
    None,
}

impl Machine<'_> {
    /// The block in whose shared memory a window address lies.
    pub(super) fn holder(&self, address: u64) -> Holder {
        let Some(rank) = shared_rank(address) else { return Holder::Own };
        let at = usize::try_from(rank).unwrap_or(usize::MAX);
        if rank == u64::from(self.cluster.rank) {
            return Holder::Own;
        }
        match self.cluster.peers.get(at) {
            Some(peer) if peer.exited => Holder::Exited(at),
            Some(_) => Holder::Peer(at),
            None => Holder::None,
        }
    }

    /// The block of a shared address, for messages; nothing if it is the running one.
    pub(super) fn peer_name(&self, address: u64) -> String {
        let generic = window_of(address) == Window::Shared;
        let base = if generic { window_base(Window::Shared) } else { 0 };
        let address = address.wrapping_sub(base);
        match self.holder(address) {
            Holder::Own => String::new(),
            Holder::Peer(rank) => format!(" of block {rank} of the cluster"),
            Holder::Exited(rank) => format!(" of block {rank} of the cluster, which has exited"),
            Holder::None => {
                let rank = shared_rank(address).unwrap_or(0);
                format!(" of block {rank} of a cluster of {}", self.cluster.len())
            }
        }
    }

    /// Shared memory of the block with this rank, or of the running one.
    pub(super) fn shared_of(&mut self, peer: Option<usize>) -> &mut Shared {
        match peer.and_then(|rank| self.cluster.peers.get_mut(rank)) {
            Some(peer) => &mut peer.shared,
            None => &mut self.block.shared,
        }
    }

    pub(super) fn cluster_op(
        &mut self,
        index: u32,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<Step, LaunchError> {
        let program = self.program;
        match &program.cluster_ops[index as usize] {
            ClusterOp::Mbarrier(kind, address) => {
                return self.mbarrier(*kind, address, regs, pc, mask);
            }
            ClusterOp::PendingCount(to, state) => {
                let counts = regs.rows.d[*state as usize].map(super::mbarrier::pending_count);
                put_w(&mut regs.rows.w[*to as usize], &counts, mask);
            }
            ClusterOp::Map { to, address, rank, generic } => {
                let ranks = regs.rows.w[*rank as usize];
                let blocks = self.cluster.len();
                let beyond = (0..32).fold(0, |m, i| m | u32::from(ranks[i] >= blocks) << i) & mask;
                if beyond != 0 {
                    let rank = ranks[beyond.trailing_zeros() as usize & 31];
                    let what = format!("rank {rank} in a cluster of {blocks} blocks");
                    return Err(self.fault_here(FindingKind::Cluster, &what, regs, pc, beyond));
                }
                let base = if *generic { window_base(Window::Shared) } else { 0 };
                let at = read(*address, regs);
                let v = std::array::from_fn(|i| {
                    let own = own_shared(at[i].wrapping_sub(base));
                    crate::memory::peer_shared(own, ranks[i]).wrapping_add(base)
                });
                put(regs, *to, &v, mask);
            }
            ClusterOp::Rank { to, address, generic } => {
                let base = if *generic { window_base(Window::Shared) } else { 0 };
                let own = u64::from(self.cluster.rank);
                let at = read(*address, regs);
                let v = at.map(|a| shared_rank(a.wrapping_sub(base)).unwrap_or(own) as u32);
                put_w(&mut regs.rows.w[*to as usize], &v, mask);
            }
            ClusterOp::IsShared(to, address, any) => {
                let base = window_base(Window::Shared);
                let at = regs.rows.d[*address as usize];
                let v = (0..32).fold(0, |m, i| {
                    let own = || self.holder(at[i].wrapping_sub(base)) == Holder::Own;
                    let hit = window_of(at[i]) == Window::Shared && (*any || own());
                    m | u32::from(hit) << i
                });
                put_p(&mut regs.rows.p[*to as usize], v, mask);
            }
            ClusterOp::InitFence => self.publish_mbarriers(),
            ClusterOp::Arrive(releases) => {
                if *releases {
                    self.publish_mbarriers();
                }
                let twice = (regs.cluster.arrived | regs.cluster.passed) & mask;
                if twice != 0 {
                    let what = "a second arrival at the cluster's barrier without a wait between";
                    return Err(self.fault_here(FindingKind::Cluster, what, regs, pc, twice));
                }
                regs.cluster.arrived |= mask;
                self.progress.changes += 1;
            }
            ClusterOp::Wait => {
                let lost = mask & !(regs.cluster.arrived | regs.cluster.passed);
                if lost != 0 {
                    let what = "a wait at the cluster's barrier without an arrival before";
                    return Err(self.fault_here(FindingKind::Cluster, what, regs, pc, lost));
                }
                if regs.cluster.arrived & mask != 0 {
                    return Ok(Step::Wait(Wait::Cluster));
                }
                regs.cluster.passed &= !mask;
            }
        }
        Ok(Step::Next)
    }
}

/// Whether all lanes of the warp have arrived at the cluster's barrier, and any has.
pub(super) fn has_arrived(warp: &Warp) -> bool {
    warp.cluster.arrived & warp.alive == warp.alive
}

/// Completes the phase of the cluster's barrier for a warp.
pub(super) fn open(warp: &mut Warp) {
    warp.cluster.passed |= std::mem::take(&mut warp.cluster.arrived);
    for group in &mut warp.groups {
        if group.wait == Wait::Cluster {
            group.wait = Wait::None;
            group.penalty = 0;
        }
    }
}

fn read(reg: Reg, regs: &Registers<'_>) -> D {
    match reg {
        Reg::W(r) => regs.rows.w[r as usize].map(u64::from),
        Reg::D(r) => regs.rows.d[r as usize],
        Reg::P(_) => [0; 32],
    }
}
