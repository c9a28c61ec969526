//! Which registers an operation reads, addresses with and writes.

use super::{
    Address, AsyncOp, BarrierKind, CallTarget, CarryKind, MatrixOp, Op, Reg, WarpSyncKind,
};
use crate::lower::Program;

/// What a register is to an operation.
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

/// Calls `f` with every register of `op`, sources before destinations. The carry flag is left out.
#[expect(clippy::too_many_lines, reason = "one arm per operand shape")]
pub(crate) fn visit(program: &Program, op: Op, f: &mut impl FnMut(Use, Reg)) {
    use Reg::{D, P, W};
    use Use::{Control, Read, Write};
    let mut all = |sources: &[Reg], to: Reg| {
        sources.iter().for_each(|r| f(Read, *r));
        f(Write, to);
    };
    match op {
        Op::W1(_, d, a) => all(&[W(a)], W(d)),
        Op::W2(_, d, a, b) => all(&[W(a), W(b)], W(d)),
        Op::W3(_, d, a, b, c) => all(&[W(a), W(b), W(c)], W(d)),
        Op::W4(_, d, a, b, c, e) => all(&[W(a), W(b), W(c), W(e)], W(d)),
        Op::D1(_, d, a) => all(&[D(a)], D(d)),
        Op::D2(_, d, a, b) => all(&[D(a), D(b)], D(d)),
        Op::D3(_, d, a, b, c) => all(&[D(a), D(b), D(c)], D(d)),
        Op::WtoD(_, d, a) => all(&[W(a)], D(d)),
        Op::DtoW(_, d, a) => all(&[D(a)], W(d)),
        Op::WWtoD(_, d, a, b) => all(&[W(a), W(b)], D(d)),
        Op::WWDtoD(_, d, a, b, c) => all(&[W(a), W(b), D(c)], D(d)),
        Op::DWtoD(_, d, a, b) => all(&[D(a), W(b)], D(d)),
        Op::DWWtoD(_, d, a, b, c) => all(&[D(a), W(b), W(c)], D(d)),
        Op::DDWWtoD(_, d, a, b, c, e) => all(&[D(a), D(b), W(c), W(e)], D(d)),
        Op::WtoP(_, d, a) => all(&[W(a)], P(d)),
        Op::DtoP(_, d, a) => all(&[D(a)], P(d)),
        Op::WWtoP(_, d, a, b) => all(&[W(a), W(b)], P(d)),
        Op::DDtoP(_, d, a, b) => all(&[D(a), D(b)], P(d)),
        // A literal predicate is made by an operation that ignores its sources.
        Op::P2(_, d, a, b) if d == a && a == b => f(Write, P(d)),
        Op::P2(_, d, a, b) => all(&[P(a), P(b)], P(d)),
        Op::SelectW(d, a, b, p) => all(&[W(a), W(b), P(p)], W(d)),
        Op::SelectD(d, a, b, p) => all(&[D(a), D(b), P(p)], D(d)),
        Op::AddBase(d, a, _) => all(&[D(a)], D(d)),
        Op::IsSpace(d, a, _) => all(&[D(a)], P(d)),
        Op::LocalAddress(d, _) => f(Write, D(d)),
        Op::Special(_, to) => f(Write, to),
        Op::ActiveMask(d) => f(Write, W(d)),
        Op::Carry(index) => {
            let carry = program.carries[index as usize];
            let class = |r| if carry.wide { D(r) } else { W(r) };
            let [d, a, b, c] = carry.regs.map(class);
            f(Read, a);
            f(Read, b);
            if !matches!(carry.kind, CarryKind::Add | CarryKind::Sub) {
                f(Read, c);
            }
            f(Write, d);
        }
        Op::Convert(index) => {
            let (_, to, a, b) = &program.conversions[index as usize];
            f(Read, *a);
            b.iter().for_each(|b| f(Read, *b));
            f(Write, *to);
        }
        Op::Memory(index) => {
            let m = &program.memory[index as usize];
            address(&m.address, f);
            let role = if m.store { Read } else { Write };
            m.regs.iter().flatten().for_each(|r| f(role, *r));
        }
        Op::Atomic(index) => {
            let a = &program.atomics[index as usize];
            address(&a.address, f);
            a.a.iter().chain(&a.b).for_each(|r| f(Read, *r));
            a.dest.iter().flatten().for_each(|r| f(Write, *r));
        }
        Op::Guard(p, _) | Op::Branch(p, _, _) => f(Control, P(p)),
        Op::BranchTable(r, _) => f(Control, W(r)),
        Op::Call(index) => {
            if let CallTarget::Indirect(r) = program.calls[index as usize].target {
                f(Control, D(r));
            }
        }
        Op::WarpSync(index) => {
            let sync = program.syncs[index as usize];
            f(Control, W(sync.members));
            warp_sync(program, sync.kind, f);
        }
        Op::Barrier(index) => {
            let barrier = program.barriers[index as usize];
            f(Control, W(barrier.id));
            barrier.count.iter().for_each(|c| f(Control, W(*c)));
            match barrier.kind {
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
            if let AsyncOp::Copy { to, from, size, .. } = &program.copies[index as usize] {
                address(to, f);
                address(from, f);
                size.iter().for_each(|r| f(Use::Address, W(*r)));
            }
        }
        Op::Cluster(index) => program.cluster_ops[index as usize].visit(f),
        Op::Nop
        | Op::Fence
        | Op::Jump(_)
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Builtin(_)
        | Op::Unsupported(_) => {}
    }
}

fn address(address: &Address, f: &mut impl FnMut(Use, Reg)) {
    address.base.iter().for_each(|r| f(Use::Address, *r));
}

fn warp_sync(program: &Program, kind: WarpSyncKind, f: &mut impl FnMut(Use, Reg)) {
    use Reg::{P, W};
    use Use::{Read, Write};
    match kind {
        WarpSyncKind::Barrier => {}
        WarpSyncKind::Shuffle(_, d, p, a, b, c) => {
            [a, b, c].iter().for_each(|r| f(Read, W(*r)));
            f(Write, W(d));
            p.iter().for_each(|p| f(Write, P(*p)));
        }
        WarpSyncKind::Vote(vote, d, p, _) => {
            f(Read, P(p));
            f(Write, if vote == super::Vote::Ballot { W(d) } else { P(d) });
        }
        WarpSyncKind::MatchAny(d, value) => {
            f(Read, value);
            f(Write, W(d));
        }
        WarpSyncKind::MatchAll(d, p, value) => {
            f(Read, value);
            f(Write, W(d));
            p.iter().for_each(|p| f(Write, P(*p)));
        }
        WarpSyncKind::Redux(_, d, a) => {
            f(Read, W(a));
            f(Write, W(d));
        }
        WarpSyncKind::Elect(d, p) => {
            d.iter().for_each(|d| f(Write, W(*d)));
            f(Write, P(p));
        }
        WarpSyncKind::Matrix(index) => {
            let matrix: &MatrixOp = &program.matrices[index as usize];
            matrix.addressing().for_each(|r| f(Use::Address, r));
            matrix.reads().for_each(|r| f(Read, r));
            matrix.writes().for_each(|r| f(Write, r));
        }
    }
}
