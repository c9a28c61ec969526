//! Operations that neither wait nor change the flow of control.

use super::{
    Machine,
    access::Registers,
    fault::Target,
    warp::{put_d, put_w},
};
use crate::{
    alu::{integer::Integer as _, simd::Loop},
    finding::FindingKind,
    memory::window_of,
    op::{CarryKind, CarryOp, Class, D, Op, R, Reg, W, Window},
    report::LaunchError,
};

impl Machine<'_> {
    #[inline]
    pub(super) fn simple(
        &mut self,
        op: &Op,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        match *op {
            Op::Lanes(f, _, ref r) if mask == u32::MAX => f.run(&mut regs.rows, r),
            Op::Lanes(f, classes, ref r) => masked(f, classes.to, r, regs, mask),
            Op::P2(f, to, a, b) => {
                let v = f(regs.rows.p[a as usize], regs.rows.p[b as usize]);
                put_p(&mut regs.rows.p[to as usize], v, mask);
            }
            Op::SelectW(to, a, b, p) => {
                let p = regs.rows.p[p as usize];
                let mut v = regs.rows.w[b as usize];
                put_w(&mut v, &regs.rows.w[a as usize], p);
                put_w(&mut regs.rows.w[to as usize], &v, mask);
            }
            Op::SelectD(to, a, b, p) => {
                let p = regs.rows.p[p as usize];
                let mut v = regs.rows.d[b as usize];
                put_d(&mut v, &regs.rows.d[a as usize], p);
                put_d(&mut regs.rows.d[to as usize], &v, mask);
            }
            Op::AddBase(to, a, base) => {
                let v = regs.rows.d[a as usize].map(|a| a.wrapping_add(base));
                put_d(&mut regs.rows.d[to as usize], &v, mask);
            }
            Op::Memory(index) => {
                let program = self.program;
                self.memory_op(&program.memory[index as usize], regs, pc, mask);
            }
            Op::Nop => {}
            other => return self.rare(other, regs, pc, mask),
        }
        Ok(())
    }

    #[inline(never)]
    fn rare(
        &mut self,
        op: Op,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        let program = self.program;
        match op {
            Op::Atomic(index) => {
                self.atomic_op(&program.atomics[index as usize], regs, pc, mask);
            }
            Op::Carry(index) => carry(program.carries[index as usize], regs, mask),
            Op::Convert(index) => {
                let (conversion, to, a, b) = &program.conversions[index as usize];
                let mut v = regs.row(*a).map(|a| conversion.apply(a));
                if let Some(b) = b {
                    // The first source goes into the upper half.
                    let low = regs.row(*b).map(|b| conversion.apply(b));
                    for (v, low) in v.iter_mut().zip(low) {
                        *v = *v << 16 | low;
                    }
                }
                put(regs, *to, &v, mask);
            }
            Op::Special(special, to) => {
                let v = special.value(self, regs);
                put(regs, to, &v, mask);
            }
            Op::LocalAddress(to, offset) => {
                let v = [u64::from(regs.frame.local + offset); 32];
                put_d(&mut regs.rows.d[to as usize], &v, mask);
            }
            Op::IsSpace(to, a, window) => {
                let a = regs.rows.d[a as usize];
                let v = (0..32).fold(0, |m, i| m | u32::from(self.window(a[i]) == window) << i);
                put_p(&mut regs.rows.p[to as usize], v, mask);
            }
            Op::ActiveMask(to) => put_w(&mut regs.rows.w[to as usize], &[mask; 32], mask),
            Op::Fence => self.fence(),
            Op::Grid(control) => self.grid_control(control, regs, pc, mask),
            Op::Async(index) => self.async_op(index, regs, pc, mask),
            Op::Builtin(index) => return self.builtin(index, regs, pc, mask),
            Op::Trap => return Err(self.trap(regs, pc, mask)),
            Op::Unsupported(index) => {
                return Err(self.unsupported(pc, &program.unsupported[index as usize]));
            }
            _ => return Err(self.unsupported(pc, "the operation is not known here")),
        }
        Ok(())
    }

    /// `trap`. The library's barrier of the grid ends in one where it finds no workspace.
    fn trap(&self, regs: &Registers<'_>, pc: u32, mask: u32) -> LaunchError {
        let kind = FindingKind::Trap;
        let mut finding = self.finding(kind, "trap", Target::default(), regs, pc, mask);
        if self.program.cooperative && self.context.workspace.is_none() {
            finding.hint = Some(
                "a barrier of the whole grid traps in a launch that is not cooperative, as this one"
                    .to_owned(),
            );
        }
        LaunchError::Fault(Box::new(finding))
    }

    /// The window of a generic address; constants are a window of their own.
    fn window(&self, address: u64) -> Window {
        match (window_of(address), self.memory.decode(address)) {
            (Window::Global, Some((index, _))) if self.memory.buffers[index].read_only => {
                Window::Const
            }
            (window, _) => window,
        }
    }
}

/// Runs a loop for the lanes of `mask`: it writes the whole register, and the others get their
/// values back.
#[inline(never)]
fn masked(f: Loop, to: Class, r: &[R; 5], regs: &mut Registers<'_>, mask: u32) {
    let at = r[0] as usize;
    match to {
        Class::W => {
            let old = regs.rows.w[at];
            f.run(&mut regs.rows, r);
            put_w(&mut regs.rows.w[at], &old, !mask);
        }
        Class::D => {
            let old = regs.rows.d[at];
            f.run(&mut regs.rows, r);
            put_d(&mut regs.rows.d[at], &old, !mask);
        }
        Class::P => {
            let old = regs.rows.p[at];
            f.run(&mut regs.rows, r);
            put_p(&mut regs.rows.p[at], old, !mask);
        }
    }
}

pub(super) fn put_p(to: &mut u32, value: u32, mask: u32) {
    *to = (*to & !mask) | (value & mask);
}

pub(super) fn put(regs: &mut Registers<'_>, to: Reg, v: &D, mask: u32) {
    match to {
        Reg::W(r) => {
            let v: W = v.map(|v| v as u32);
            put_w(&mut regs.rows.w[r as usize], &v, mask);
        }
        Reg::D(r) => put_d(&mut regs.rows.d[r as usize], v, mask),
        Reg::P(r) => {
            let bits = (0..32).fold(0, |m, i| m | u32::from(v[i] != 0) << i);
            put_p(&mut regs.rows.p[r as usize], bits, mask);
        }
    }
}

/// Adds or subtracts with the carry flag. A GPU subtracts by adding the complement, so the flag that a
/// difference leaves is 1 where nothing was borrowed, which shows where it feeds `addc`; the manual
/// calls it "borrow-out".
fn carry(op: CarryOp, regs: &mut Registers<'_>, mask: u32) {
    let read = |r: u32| {
        if op.wide { regs.rows.d[r as usize] } else { regs.rows.w[r as usize].map(u64::from) }
    };
    let mad =
        matches!(op.kind, CarryKind::MadLo | CarryKind::MadHiSigned | CarryKind::MadHiUnsigned);
    let (a, b) = (read(op.regs[1]), read(op.regs[2]));
    let c = if mad { read(op.regs[3]) } else { [0; 32] };
    let width = if op.wide { 64 } else { 32 };
    let all = u64::MAX >> (64 - width);
    let mut out = [0; 32];
    let mut flags = 0;
    for i in 0..32 {
        let flag = (*regs.carry >> i) & 1 == 1;
        let (x, y) = match op.kind {
            CarryKind::Add | CarryKind::Sub => (a[i], b[i]),
            CarryKind::MadLo => (a[i].wrapping_mul(b[i]) & all, c[i]),
            CarryKind::MadHiUnsigned if op.wide => (a[i].mul_hi(b[i]), c[i]),
            CarryKind::MadHiUnsigned => ((a[i] * b[i]) >> 32, c[i]),
            CarryKind::MadHiSigned if op.wide => ((a[i] as i64).mul_hi(b[i] as i64) as u64, c[i]),
            CarryKind::MadHiSigned => (u64::from((a[i] as i32).mul_hi(b[i] as i32) as u32), c[i]),
        };
        let (value, carry) = if op.kind == CarryKind::Sub {
            let borrow = op.carry_in && !flag;
            let taken = u128::from(y) + u128::from(borrow);
            let borrows = u128::from(x) < taken;
            ((u128::from(x).wrapping_sub(taken)) as u64, !borrows)
        } else {
            let sum = u128::from(x) + u128::from(y) + u128::from(op.carry_in && flag);
            (sum as u64, sum >> width != 0)
        };
        out[i] = value & all;
        flags |= u32::from(carry) << i;
    }
    if op.wide {
        put_d(&mut regs.rows.d[op.regs[0] as usize], &out, mask);
    } else {
        let out: W = out.map(|v| v as u32);
        put_w(&mut regs.rows.w[op.regs[0] as usize], &out, mask);
    }
    if op.carry_out {
        put_p(regs.carry, flags, mask);
    }
}
