//! Operations on mbarriers and between the blocks of a cluster.

use super::{Address, R, Reg};

/// An operation on an mbarrier or between the blocks of a cluster.
#[derive(Debug, Clone)]
pub(crate) enum ClusterOp {
    /// On the mbarrier at an address.
    Mbarrier(MbarrierKind, Address),
    /// `mbarrier.pending_count`: destination, state.
    PendingCount(R, R),
    /// `mapa`: destination, address, rank; whether the address is generic.
    Map {
        to: Reg,
        address: Reg,
        rank: R,
        generic: bool,
    },
    /// `getctarank`: destination, address; whether the address is generic.
    Rank {
        to: R,
        address: Reg,
        generic: bool,
    },
    /// `isspacep.shared`: predicate, address; whether any block of the cluster will do.
    IsShared(R, R, bool),
    /// At the cluster's barrier; whether what came before is released.
    Arrive(bool),
    Wait,
    /// `fence.mbarrier_init`.
    InitFence,
}

/// Operations on an mbarrier. Registers are operands of the instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MbarrierKind {
    /// `init` with the expected number of arrivals.
    Init(R),
    Invalidate,
    /// `expect_tx` of so many bytes.
    Expect(R),
    /// `complete_tx` of so many bytes.
    Complete(R),
    /// `arrive` and `arrive_drop`.
    Arrive(ArriveOp),
    /// `test_wait` and `try_wait`: the predicate and the awaited phase. A `try_wait` differs only
    /// in how long hardware may suspend the thread.
    Wait(R, Awaited),
    /// `cp.async.mbarrier.arrive`; whether the arrival is among the expected ones (`.noinc`).
    CopyArrive(bool),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ArriveOp {
    /// Receives the state before the arrival.
    pub state: Option<R>,
    /// Number of arrivals; one if absent.
    pub count: Option<R>,
    /// Bytes to expect before the arrival.
    pub expect: Option<R>,
    /// The arrivals also leave the later phases (`arrive_drop`).
    pub drop: bool,
    /// The arrival must not complete the phase (`.noComplete`).
    pub incomplete: bool,
}

/// The phase a wait is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Awaited {
    /// That of a state returned by `arrive`.
    State(R),
    /// That with this parity.
    Parity(R),
}

/// `griddepcontrol`: how a launch meets the one before it and the one behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GridControl {
    /// The one behind may begin once all blocks have come here or ended.
    LaunchDependents,
    /// Waits until the one before has ended and its writes are visible.
    Wait,
}

impl GridControl {
    /// The wait, or else the leave for others.
    pub(crate) fn of(wait: bool) -> Self {
        if wait { Self::Wait } else { Self::LaunchDependents }
    }
}
