//! Which registers an operation reads, addresses with and writes.

use super::{
    AsyncOp, BarrierKind, CallTarget, CarryKind, Class, Op, R, Reg,
    Register::{self, D, P, W},
    Vote, WarpSyncKind,
    bulk::BulkOp,
    cluster::{Awaited, ClusterOp, MbarrierKind},
    matrix::{Fragment, MatrixOp},
    warpgroup::WarpgroupFactor,
};
use crate::lower::Program;

/// The role of a register in an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Its value goes into a result or memory.
    Read,
    /// It makes up an address.
    Address,
    /// It decides which way control goes, or how many threads a barrier waits for.
    Control,
    /// It receives a result.
    Write,
}

use Use::{Address, Control, Read, Write};

/// Calls `f` with every register of `op`, sources before destinations. The carry flag is left out.
pub(crate) fn visit(program: &Program, op: Op, f: &mut impl FnMut(Use, Reg)) {
    shared::visit(program, &op, &mut |role, r| f(role, r.copied()));
}

/// [`visit`] for registers that are to be changed.
pub(crate) fn visit_mut(
    program: &mut Program,
    op: &mut Op,
    f: &mut impl FnMut(Use, Register<&mut R>),
) {
    exclusive::visit(program, op, f);
}

impl MatrixOp {
    /// Calls `f` with every register, sources before destinations.
    pub(crate) fn visit(&self, f: &mut impl FnMut(Use, Reg)) {
        shared::matrix(self, &mut |role, r| f(role, r.copied()));
    }
}

/// The visitors of registers, behind references of one kind.
macro_rules! visitors {
    ($name:ident $($m:tt)?) => {
        mod $name {
            use super::*;

            pub(super) fn visit(
                program: &$($m)? Program,
                op: &$($m)? Op,
                f: &mut impl FnMut(Use, Register<&$($m)? R>),
            ) {
                match op {
                    Op::Lanes(_, classes, [d, sources @ ..]) => {
                        for (class, r) in classes.sources().zip(sources) {
                            f(Read, class.register(r));
                        }
                        f(Write, classes.to.register(d));
                    }
                    // A literal predicate is made by an operation that ignores its sources.
                    Op::P2(_, d, a, b) if d == a && a == b => f(Write, P(d)),
                    Op::P2(_, d, a, b) => {
                        f(Read, P(a));
                        f(Read, P(b));
                        f(Write, P(d));
                    }
                    Op::SelectW(d, a, b, p) => {
                        f(Read, W(a));
                        f(Read, W(b));
                        f(Read, P(p));
                        f(Write, W(d));
                    }
                    Op::SelectD(d, a, b, p) => {
                        f(Read, D(a));
                        f(Read, D(b));
                        f(Read, P(p));
                        f(Write, D(d));
                    }
                    Op::AddBase(d, a, _) => {
                        f(Read, D(a));
                        f(Write, D(d));
                    }
                    Op::IsSpace(d, a, _) => {
                        f(Read, D(a));
                        f(Write, P(d));
                    }
                    Op::LocalAddress(d, _) => f(Write, D(d)),
                    Op::Special(_, to) => f(Write, to.into()),
                    Op::ActiveMask(d) => f(Write, W(d)),
                    Op::Guard(p, _) | Op::Branch(p, _, _) | Op::Fork(p, _, _) => {
                        f(Control, P(p));
                    }
                    Op::BranchTable(r, _) => f(Control, W(r)),
                    Op::Nop
                    | Op::Fence
                    | Op::Grid(_)
                    | Op::Jump(_)
                    | Op::Return
                    | Op::Exit
                    | Op::Trap
                    | Op::Builtin(_)
                    | Op::Unsupported(_) => {}
                    op => tabled(program, *op, f),
                }
            }

            /// Registers of an operation that stands in a side table.
            fn tabled(
                program: &$($m)? Program,
                op: Op,
                f: &mut impl FnMut(Use, Register<&$($m)? R>),
            ) {
                match op {
                    Op::Carry(index) => {
                        let carry = &$($m)? program.carries[index as usize];
                        let class = if carry.wide { Class::D } else { Class::W };
                        let [d, a, b, c] = &$($m)? carry.regs;
                        f(Read, class.register(a));
                        f(Read, class.register(b));
                        if !matches!(carry.kind, CarryKind::Add | CarryKind::Sub) {
                            f(Read, class.register(c));
                        }
                        f(Write, class.register(d));
                    }
                    Op::Convert(index) => {
                        let (_, to, a, b) = &$($m)? program.conversions[index as usize];
                        f(Read, a.into());
                        b.into_iter().for_each(|b| f(Read, b.into()));
                        f(Write, to.into());
                    }
                    Op::Memory(index) => {
                        let m = &$($m)? program.memory[index as usize];
                        address(&$($m)? m.address, f);
                        let role = if m.store { Read } else { Write };
                        (&$($m)? m.regs).into_iter().flatten().for_each(|r| f(role, r.into()));
                    }
                    Op::Atomic(index) => {
                        let a = &$($m)? program.atomics[index as usize];
                        address(&$($m)? a.address, f);
                        let sources = (&$($m)? a.a).into_iter().chain(&$($m)? a.b);
                        sources.for_each(|r| f(Read, r.into()));
                        (&$($m)? a.dest).into_iter().flatten().for_each(|r| f(Write, r.into()));
                    }
                    Op::Call(index) => {
                        if let CallTarget::Indirect(r) =
                            &$($m)? program.calls[index as usize].target
                        {
                            f(Control, D(r));
                        }
                    }
                    Op::WarpSync(index) => {
                        let sync = &$($m)? program.syncs[index as usize];
                        f(Control, W(&$($m)? sync.members));
                        if let WarpSyncKind::Matrix(index) = sync.kind {
                            matrix(&$($m)? program.matrices[index as usize], f);
                        } else {
                            warp_sync(&$($m)? sync.kind, f);
                        }
                    }
                    Op::Barrier(index) => {
                        let barrier = &$($m)? program.barriers[index as usize];
                        f(Control, W(&$($m)? barrier.id));
                        (&$($m)? barrier.count).into_iter().for_each(|c| f(Control, W(c)));
                        match &$($m)? barrier.kind {
                            BarrierKind::Popc(d, p, _) => {
                                f(Read, P(p));
                                f(Write, W(d));
                            }
                            BarrierKind::Reduce(_, d, p, _) => {
                                f(Read, P(p));
                                f(Write, P(d));
                            }
                            BarrierKind::Sync | BarrierKind::Arrive => {}
                        }
                    }
                    Op::Async(index) => {
                        if let AsyncOp::Copy { to, from, size, .. } =
                            &$($m)? program.copies[index as usize]
                        {
                            address(to, f);
                            address(from, f);
                            size.into_iter().for_each(|r| f(Address, W(r)));
                        }
                    }
                    Op::Cluster(index) => cluster(&$($m)? program.cluster_ops[index as usize], f),
                    Op::Bulk(index) => bulk(&$($m)? program.bulks[index as usize], f),
                    _ => {}
                }
            }

            fn address(
                address: &$($m)? super::super::Address,
                f: &mut impl FnMut(Use, Register<&$($m)? R>),
            ) {
                (&$($m)? address.base).into_iter().for_each(|r| f(Address, r.into()));
            }

            fn warp_sync(
                kind: &$($m)? WarpSyncKind,
                f: &mut impl FnMut(Use, Register<&$($m)? R>),
            ) {
                match kind {
                    WarpSyncKind::Barrier | WarpSyncKind::Matrix(_) => {}
                    WarpSyncKind::Shuffle(_, d, p, a, b, c) => {
                        [a, b, c].into_iter().for_each(|r| f(Read, W(r)));
                        f(Write, W(d));
                        p.into_iter().for_each(|p| f(Write, P(p)));
                    }
                    WarpSyncKind::Vote(vote, d, p, _) => {
                        f(Read, P(p));
                        f(Write, if *vote == Vote::Ballot { W(d) } else { P(d) });
                    }
                    WarpSyncKind::MatchAny(d, value) => {
                        f(Read, value.into());
                        f(Write, W(d));
                    }
                    WarpSyncKind::MatchAll(d, p, value) => {
                        f(Read, value.into());
                        f(Write, W(d));
                        p.into_iter().for_each(|p| f(Write, P(p)));
                    }
                    WarpSyncKind::Redux(_, d, a) => {
                        f(Read, W(a));
                        f(Write, W(d));
                    }
                    WarpSyncKind::Elect(d, p) => {
                        d.into_iter().for_each(|d| f(Write, W(d)));
                        f(Write, P(p));
                    }
                }
            }

            pub(super) fn matrix(
                op: &$($m)? MatrixOp,
                f: &mut impl FnMut(Use, Register<&$($m)? R>),
            ) {
                let role = |store| if store { Read } else { Write };
                match op {
                    MatrixOp::Product(op) => {
                        let op = &$($m)? **op;
                        for part in [&$($m)? op.a, &$($m)? op.b, &$($m)? op.c] {
                            fragment(Read, part, f);
                        }
                        (&$($m)? op.sparse)
                            .into_iter()
                            .for_each(|sparse| f(Read, W(&$($m)? sparse.metadata)));
                        fragment(Write, &$($m)? op.d, f);
                    }
                    MatrixOp::Fragment(op) => {
                        let op = &$($m)? **op;
                        address(&$($m)? op.address, f);
                        f(Address, W(&$($m)? op.stride));
                        fragment(role(op.store), &$($m)? op.data, f);
                    }
                    MatrixOp::Rows(op) => {
                        let op = &$($m)? **op;
                        address(&$($m)? op.address, f);
                        fragment(role(op.memory.store), &$($m)? op.data, f);
                    }
                    MatrixOp::WarpgroupProduct(op) => {
                        let op = &$($m)? **op;
                        match &$($m)? op.a {
                            WarpgroupFactor::Registers(list) => {
                                list.into_iter().for_each(|r| f(Read, W(r)));
                            }
                            WarpgroupFactor::Memory(r) => f(Address, D(r)),
                        }
                        f(Address, D(&$($m)? op.b));
                        (&$($m)? op.sparse)
                            .into_iter()
                            .for_each(|sparse| f(Read, W(&$($m)? sparse.metadata)));
                        f(Control, P(&$($m)? op.scale_d.0));
                        // Sums are added to D, unless the predicate says otherwise.
                        fragment(Read, &$($m)? op.d, f);
                        fragment(Write, &$($m)? op.d, f);
                    }
                    MatrixOp::Warpgroup(_) => {}
                    MatrixOp::Transpose(to, from) => {
                        fragment(Read, from, f);
                        fragment(Write, to, f);
                    }
                }
            }

            fn fragment(
                role: Use,
                fragment: &$($m)? Fragment,
                f: &mut impl FnMut(Use, Register<&$($m)? R>),
            ) {
                let class = fragment.class();
                (&$($m)? fragment.regs).into_iter().for_each(|r| f(role, class.register(r)));
            }

            fn bulk(op: &$($m)? BulkOp, f: &mut impl FnMut(Use, Register<&$($m)? R>)) {
                match op {
                    BulkOp::Copy(copy) => {
                        let copy = &$($m)? **copy;
                        address(&$($m)? copy.to, f);
                        address(&$($m)? copy.from, f);
                        f(Address, W(&$($m)? copy.bytes));
                        (&$($m)? copy.bar).into_iter().for_each(|bar| address(bar, f));
                        (&$($m)? copy.ranks).into_iter().for_each(|r| f(Address, W(r)));
                    }
                    BulkOp::Tensor(copy) => {
                        let copy = &$($m)? **copy;
                        address(&$($m)? copy.map, f);
                        (&$($m)? copy.coordinates).into_iter().for_each(|r| f(Address, W(r)));
                        (&$($m)? copy.offsets).into_iter().for_each(|r| f(Address, W(r)));
                        (&$($m)? copy.shared).into_iter().for_each(|at| address(at, f));
                        (&$($m)? copy.bar).into_iter().for_each(|bar| address(bar, f));
                        (&$($m)? copy.ranks).into_iter().for_each(|r| f(Address, W(r)));
                    }
                    BulkOp::Element(copy) => {
                        let copy = &$($m)? **copy;
                        address(&$($m)? copy.to, f);
                        (&$($m)? copy.values).into_iter().for_each(|r| f(Read, r.into()));
                        address(&$($m)? copy.bar, f);
                    }
                    BulkOp::Replace(op) => {
                        let op = &$($m)? **op;
                        address(&$($m)? op.map, f);
                        f(Address, (&$($m)? op.value).into());
                    }
                    BulkOp::CopyMap(to, from) => {
                        address(to, f);
                        address(from, f);
                    }
                    BulkOp::Commit
                    | BulkOp::Wait(_)
                    | BulkOp::WaitProducts(_)
                    | BulkOp::Fence => {}
                }
            }

            fn cluster(op: &$($m)? ClusterOp, f: &mut impl FnMut(Use, Register<&$($m)? R>)) {
                match op {
                    ClusterOp::Mbarrier(kind, at) => {
                        address(at, f);
                        mbarrier(kind, f);
                    }
                    ClusterOp::PendingCount(to, state) => {
                        f(Read, D(state));
                        f(Write, W(to));
                    }
                    ClusterOp::Map { to, address, rank, .. } => {
                        f(Read, address.into());
                        f(Address, W(rank));
                        f(Write, to.into());
                    }
                    ClusterOp::Rank { to, address, .. } => {
                        f(Read, address.into());
                        f(Write, W(to));
                    }
                    ClusterOp::IsShared(to, address, _) => {
                        f(Read, D(address));
                        f(Write, P(to));
                    }
                    ClusterOp::Arrive(_) | ClusterOp::Wait | ClusterOp::InitFence => {}
                }
            }

            fn mbarrier(
                kind: &$($m)? MbarrierKind,
                f: &mut impl FnMut(Use, Register<&$($m)? R>),
            ) {
                match kind {
                    MbarrierKind::Init(r)
                    | MbarrierKind::Expect(r)
                    | MbarrierKind::Complete(r) => f(Control, W(r)),
                    MbarrierKind::Arrive(arrive) => {
                        let counts =
                            (&$($m)? arrive.count).into_iter().chain(&$($m)? arrive.expect);
                        counts.for_each(|r| f(Control, W(r)));
                        (&$($m)? arrive.state).into_iter().for_each(|r| f(Write, D(r)));
                    }
                    MbarrierKind::Wait(done, awaited) => {
                        match awaited {
                            Awaited::State(r) => f(Control, D(r)),
                            Awaited::Parity(r) => f(Control, W(r)),
                        }
                        f(Write, P(done));
                    }
                    MbarrierKind::Invalidate | MbarrierKind::CopyArrive(_) => {}
                }
            }
        }
    };
}

visitors!(shared);
visitors!(exclusive mut);
