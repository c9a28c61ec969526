//! Operations on mbarriers and between the blocks of a cluster.

use super::{Address, R, Reg, Use};

/// An operation on an mbarrier or between the blocks of a cluster.
#[derive(Debug, Clone)]
pub(crate) enum ClusterOp {
    /// On the mbarrier at an address.
    Mbarrier(MbarrierKind, Address),
    /// `mbarrier.pending_count`: destination, state.
    PendingCount(R, R),
    /// `mapa`: destination, address, rank; whether the address is generic.
    Map { to: Reg, address: Reg, rank: R, generic: bool },
    /// `getctarank`: destination, address; whether the address is generic.
    Rank { to: R, address: Reg, generic: bool },
    /// `isspacep.shared`: predicate, address; whether any block of the cluster will do.
    IsShared(R, R, bool),
    /// `barrier.cluster.arrive`
    Arrive,
    /// `barrier.cluster.wait`
    Wait,
}

/// What is done to an mbarrier. Registers are operands of the instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MbarrierKind {
    /// `init` with the expected number of arrivals.
    Init(R),
    /// `inval`
    Invalidate,
    /// `expect_tx` of so many bytes.
    Expect(R),
    /// `complete_tx` of so many bytes.
    Complete(R),
    /// `arrive` and `arrive_drop`.
    Arrive(ArriveOp),
    /// `test_wait` and `try_wait`: the predicate and what is waited for. A `try_wait` differs only
    /// in how long hardware may suspend the thread.
    Wait(R, Awaited),
    /// `cp.async.mbarrier.arrive`; whether the arrival is among the expected ones (`.noinc`).
    CopyArrive(bool),
}

/// Operands of `arrive`.
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

impl ClusterOp {
    /// Calls the functions with every register that is read and so may be a constant.
    pub(crate) fn sources(&mut self, fix_w: impl Fn(&mut R), fix_d: impl Fn(&mut R)) {
        let fix = |reg: &mut Reg| match reg {
            Reg::W(r) => fix_w(r),
            Reg::D(r) => fix_d(r),
            Reg::P(_) => {}
        };
        match self {
            Self::Mbarrier(kind, address) => {
                address.base.as_mut().map(fix);
                match kind {
                    MbarrierKind::Init(count) => fix_w(count),
                    MbarrierKind::Expect(bytes) | MbarrierKind::Complete(bytes) => fix_w(bytes),
                    MbarrierKind::Arrive(arrive) => {
                        arrive.count.as_mut().map(&fix_w);
                        arrive.expect.as_mut().map(&fix_w);
                    }
                    MbarrierKind::Wait(_, Awaited::State(state)) => fix_d(state),
                    MbarrierKind::Wait(_, Awaited::Parity(parity)) => fix_w(parity),
                    MbarrierKind::Invalidate | MbarrierKind::CopyArrive(_) => {}
                }
            }
            Self::PendingCount(_, state) => fix_d(state),
            Self::IsShared(_, address, _) => fix_d(address),
            Self::Map { address, rank, .. } => {
                fix(address);
                fix_w(rank);
            }
            Self::Rank { address, .. } => fix(address),
            Self::Arrive | Self::Wait => {}
        }
    }

    /// Calls `f` with every register, sources before destinations.
    pub(crate) fn visit(&self, f: &mut impl FnMut(Use, Reg)) {
        use Reg::{D, P, W};
        match self {
            Self::Mbarrier(kind, address) => {
                address.base.iter().for_each(|r| f(Use::Address, *r));
                match *kind {
                    MbarrierKind::Init(r) | MbarrierKind::Expect(r) | MbarrierKind::Complete(r) => {
                        f(Use::Control, W(r));
                    }
                    MbarrierKind::Arrive(arrive) => {
                        let counts = arrive.count.iter().chain(&arrive.expect);
                        counts.for_each(|r| f(Use::Control, W(*r)));
                        arrive.state.iter().for_each(|r| f(Use::Write, D(*r)));
                    }
                    MbarrierKind::Wait(done, awaited) => {
                        let phase = match awaited {
                            Awaited::State(r) => D(r),
                            Awaited::Parity(r) => W(r),
                        };
                        f(Use::Control, phase);
                        f(Use::Write, P(done));
                    }
                    MbarrierKind::Invalidate | MbarrierKind::CopyArrive(_) => {}
                }
            }
            Self::PendingCount(to, state) => {
                f(Use::Read, D(*state));
                f(Use::Write, W(*to));
            }
            Self::Map { to, address, rank, .. } => {
                f(Use::Read, *address);
                f(Use::Address, W(*rank));
                f(Use::Write, *to);
            }
            Self::Rank { to, address, .. } => {
                f(Use::Read, *address);
                f(Use::Write, W(*to));
            }
            Self::IsShared(to, address, _) => {
                f(Use::Read, D(*address));
                f(Use::Write, P(*to));
            }
            Self::Arrive | Self::Wait => {}
        }
    }
}
