//! A warp: registers, groups of lanes that stand at the same place, and the interpreter's loop.
//!
//! A warp is a list of groups. The group that runs is the least penalised, then the deepest in
//! calls, then the one with the lowest program counter; groups at one place merge. A group that used
//! up its time slice is penalised, so lanes that spin do not starve the lanes they wait for.

use std::collections::HashMap;

use super::{
    Machine,
    access::Registers,
    bulk::Engine,
    cluster::{ClusterLanes, Step},
    copy::Copies,
    sanitize::taint::Taint,
};
use crate::{
    coverage::{ENTERED, PASSED, TAKEN},
    op::{D, Op, W},
    report::LaunchError,
};

/// An activation of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Frame {
    /// First register of each class.
    pub base: [u32; 3],
    /// First byte of local memory.
    pub local: u32,
    /// Function index.
    pub function: u32,
    /// Where the caller goes on.
    pub return_pc: u32,
    /// The call that made it.
    pub call: u32,
}

/// The condition that a group waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    None,
    /// The lanes named by the member mask of the operation at its program counter.
    Warp,
    /// The block barrier at its program counter, with its number and thread count.
    Block(u32, Option<u32>),
    /// The barrier of the cluster.
    Cluster,
    /// The other warps of the warpgroup; the state of memory in which they were last seen behind.
    Warpgroup(u64),
    /// An mbarrier, at the operation at its program counter; the state of memory in which it was
    /// last seen incomplete.
    Mbarrier(u64),
}

/// Lanes that stand at the same place.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub pc: u32,
    pub mask: u32,
    pub frame: Frame,
    /// Frames of the callers, outermost first.
    pub callers: Vec<Frame>,
    pub wait: Wait,
    pub penalty: u32,
}

/// Local memory of a warp: one contiguous part per lane.
#[derive(Debug, Default)]
pub(super) struct Local {
    pub bytes: Vec<u8>,
    /// Marks of each byte, as those of buffers.
    pub flags: Vec<u8>,
    /// Where the undefined values stored in it come from, by offset.
    pub origins: HashMap<u64, u32>,
    /// Bytes per lane.
    pub stride: usize,
}

pub(super) const MAX_LOCAL: usize = 512 << 10;

impl Local {
    /// Makes room for `bytes` per lane.
    pub(super) fn reserve(&mut self, bytes: usize) {
        if bytes <= self.stride {
            return;
        }
        let stride = bytes.next_power_of_two();
        for list in [&mut self.bytes, &mut self.flags] {
            let mut grown = vec![0; stride * 32];
            if self.stride > 0 {
                for (lane, old) in list.chunks_exact(self.stride).enumerate() {
                    grown[lane * stride..lane * stride + self.stride].copy_from_slice(old);
                }
            }
            *list = grown;
        }
        self.stride = stride;
    }
}

#[derive(Debug, Default)]
pub(super) struct Warp {
    /// Number within its block.
    pub index: u32,
    pub r32: Vec<W>,
    pub r64: Vec<D>,
    pub pred: Vec<u32>,
    /// Carry flag of each lane.
    pub carry: u32,
    /// Lanes that have not exited.
    pub alive: u32,
    pub groups: Vec<Group>,
    pub local: Local,
    /// Thread index of each lane.
    pub tid: [W; 3],
    /// Asynchronous copies under way.
    pub copies: Copies,
    /// Bulk copies and products of the warpgroup under way.
    pub engine: Engine,
    /// Undefined values.
    pub taint: Taint,
    /// How far the lanes are at the cluster's barrier.
    pub cluster: ClusterLanes,
    /// Slices that were used up.
    pub slices: u32,
    /// The state of memory in which the warp is known to loop until memory changes.
    pub spins_since: Option<u64>,
}

/// Bytes of so many registers of each class in a warp.
pub(super) fn register_bytes([w, d, p]: [u32; 3]) -> usize {
    w as usize * size_of::<W>() + d as usize * size_of::<D>() + p as usize * 4
}

impl Warp {
    /// Whether some lanes can go on.
    pub(super) fn runnable(&self) -> bool {
        self.groups.iter().any(|g| g.wait == Wait::None)
    }

    /// Whether some lanes can go on in this state of memory.
    pub(super) fn can_run(&self, changes: u64) -> bool {
        self.groups.iter().any(|g| match g.wait {
            Wait::None => true,
            Wait::Mbarrier(seen) | Wait::Warpgroup(seen) => seen != changes,
            _ => false,
        })
    }

    /// Whether some lanes wait for an event that may come from outside the block.
    pub(super) fn waits_for_others(&self) -> bool {
        self.groups.iter().any(|g| matches!(g.wait, Wait::Cluster | Wait::Mbarrier(_)))
    }

    pub(super) fn waits_for_mbarrier(&self) -> bool {
        self.groups.iter().any(|g| matches!(g.wait, Wait::Mbarrier(_)))
    }

    /// Lets the lanes that wait for mbarriers look again, if memory has changed.
    fn look_again(&mut self, changes: u64) {
        for group in &mut self.groups {
            if matches!(group.wait, Wait::Mbarrier(seen) | Wait::Warpgroup(seen) if seen != changes)
            {
                group.wait = Wait::None;
            }
        }
    }

    /// Index of the group to run next.
    fn pick(&self) -> Option<usize> {
        let key = |g: &Group| (g.penalty, usize::MAX - g.callers.len(), g.pc);
        let runnable = self.groups.iter().enumerate().filter(|(_, g)| g.wait == Wait::None);
        runnable.min_by_key(|(_, g)| key(g)).map(|(i, _)| i)
    }

    /// Takes the group at `index` out, merged with those at the same place.
    fn take_merged(&mut self, index: usize) -> Group {
        let mut group = self.groups.swap_remove(index);
        let mut i = 0;
        while i < self.groups.len() {
            let other = &self.groups[i];
            if other.pc == group.pc
                && other.wait == Wait::None
                && other.frame == group.frame
                && other.callers == group.callers
            {
                group.mask |= other.mask;
                group.penalty = group.penalty.max(other.penalty);
                self.groups.swap_remove(i);
            } else {
                i += 1;
            }
        }
        group
    }
}

/// Writes the active lanes of a 32-bit register.
#[inline(always)]
pub(super) fn put_w(to: &mut W, from: &W, mask: u32) {
    if mask == u32::MAX {
        *to = *from;
    } else {
        for i in 0..32 {
            to[i] = if (mask >> i) & 1 == 1 { from[i] } else { to[i] };
        }
    }
}

/// Writes the active lanes of a 64-bit register.
#[inline(always)]
pub(super) fn put_d(to: &mut D, from: &D, mask: u32) {
    if mask == u32::MAX {
        *to = *from;
    } else {
        for i in 0..32 {
            to[i] = if (mask >> i) & 1 == 1 { from[i] } else { to[i] };
        }
    }
}

/// Why the loop over a group's operations ended.
enum End {
    /// The group stands at `pc` and can go on.
    Yield,
    /// Its time slice is over.
    Slice,
    /// Some of its lanes go elsewhere.
    Diverged(u32, u32),
    /// Its lanes have exited.
    Exited,
    /// It enters the call with this index.
    Call(u32),
    /// It leaves its function.
    Return,
    /// It waits at the operation at `pc`.
    Wait(Wait),
    /// A branch through a table.
    Table(u32, u32),
}

/// Operations a group runs before others get a turn.
pub(super) const SLICE: u32 = 4096;

impl Machine<'_> {
    /// Runs the warp until all its lanes wait or have exited or its slice is over.
    pub(super) fn run_warp(&mut self, warp: &mut Warp) -> Result<(), LaunchError> {
        if warp.spins_since == Some(self.progress.changes) {
            self.progress.waited = true;
            return Ok(());
        }
        warp.spins_since = None;
        self.turn();
        warp.look_again(self.progress.changes);
        if super::spin::is_due(warp.slices) {
            warp.slices += 1;
            self.probe(warp)?;
        } else {
            let mut fuel = SLICE;
            self.run_slice(warp, &mut fuel)?;
            warp.slices += u32::from(fuel == 0);
        }
        if warp.copies.tracked() { self.land(warp) } else { Ok(()) }
    }

    /// Runs the warp until all its lanes wait or have exited or the fuel is gone.
    pub(super) fn run_slice(&mut self, warp: &mut Warp, fuel: &mut u32) -> Result<(), LaunchError> {
        loop {
            let Some(index) = warp.pick() else {
                if !self.resolve_syncs(warp)? {
                    return Ok(());
                }
                continue;
            };
            if *fuel == 0 {
                return Ok(());
            }
            let mut group = warp.take_merged(index);
            let stop_pc = warp
                .groups
                .iter()
                .filter(|g| {
                    g.wait == Wait::None
                        && g.penalty <= group.penalty
                        && g.callers.len() == group.callers.len()
                })
                .map(|g| g.pc)
                .filter(|pc| *pc > group.pc)
                .min()
                .unwrap_or(u32::MAX);
            let before = *fuel;
            let end = if warp.taint.active {
                self.run_group::<true>(warp, &mut group, stop_pc, fuel)
            } else {
                self.run_group::<false>(warp, &mut group, stop_pc, fuel)
            };
            self.lane_instructions +=
                u64::from(before - *fuel) * u64::from(group.mask.count_ones());
            self.put_back(warp, group, end?)?;
            if self.progress.preempt {
                return Ok(());
            }
            if self.lane_instructions > self.context.limits.lane_instructions {
                return Err(self.out_of_budget(warp));
            }
        }
    }

    /// Puts the group back where the end of its run leaves it.
    fn put_back(&mut self, warp: &mut Warp, mut group: Group, end: End) -> Result<(), LaunchError> {
        match end {
            End::Yield => warp.groups.push(group),
            End::Slice => {
                group.penalty += 1;
                warp.groups.push(group);
            }
            End::Diverged(pc, mask) => {
                let mut other = group.clone();
                other.pc = pc;
                other.mask = mask;
                group.mask &= !mask;
                warp.groups.push(group);
                warp.groups.push(other);
            }
            End::Exited => warp.alive &= !group.mask,
            End::Call(index) => self.enter(warp, group, index)?,
            End::Return => self.leave(warp, group),
            End::Wait(wait) => {
                group.wait = wait;
                warp.groups.push(group);
            }
            End::Table(register, table) => {
                let row = warp.r32[(group.frame.base[0] + register) as usize];
                let targets = &self.program.branch_tables[table as usize];
                for lane in 0..32 {
                    if (group.mask >> lane) & 1 == 0 {
                        continue;
                    }
                    // An index past the table is undefined; the last target is taken.
                    let target = (row[lane] as usize).min(targets.len() - 1);
                    let mut part = group.clone();
                    part.pc = targets[target];
                    self.observers.coverage.mark(part.pc, ENTERED);
                    part.mask = 1 << lane;
                    match warp.groups.iter_mut().find(|g| {
                        g.pc == part.pc
                            && g.wait == Wait::None
                            && g.frame == part.frame
                            && g.callers == part.callers
                    }) {
                        Some(same) => same.mask |= part.mask,
                        None => warp.groups.push(part),
                    }
                }
            }
        }
        Ok(())
    }

    /// `TAINT`: undefined values are followed.
    fn run_group<const TAINT: bool>(
        &mut self,
        warp: &mut Warp,
        group: &mut Group,
        stop_pc: u32,
        fuel: &mut u32,
    ) -> Result<End, LaunchError> {
        let program = self.program;
        let ops = program.ops.as_slice();
        let mask = group.mask;
        let mut pc = group.pc;
        let mut left = *fuel;
        let alive = warp.alive;
        let regs = &mut Registers::new(warp, group.frame);
        let end = loop {
            if pc >= stop_pc {
                break Ok(End::Yield);
            }
            if left == 0 {
                break Ok(End::Slice);
            }
            left -= 1;
            let op = &ops[pc as usize];
            if self.observers.active
                && let Some(count) = &mut self.observers.count
            {
                count.operation(*op, pc, mask);
            }
            if TAINT {
                self.propagate(*op, regs, pc, mask);
            }
            match *op {
                Op::Jump(target) => {
                    self.observers.coverage.mark(pc, TAKEN);
                    pc = target;
                }
                Op::Branch(p, negated, target) | Op::Fork(p, negated, target) => {
                    let taken = regs.lanes_with(p, negated) & mask;
                    if let Op::Fork(..) = *op {
                        self.forked(regs.warp, pc, [taken, mask & !taken]);
                    }
                    if taken == mask {
                        self.observers.coverage.mark(pc, TAKEN);
                        pc = target;
                    } else if taken == 0 {
                        self.observers.coverage.mark(pc, PASSED);
                        pc += 1;
                    } else {
                        self.observers.coverage.mark(pc, TAKEN | PASSED);
                        pc += 1;
                        if let Some(count) = &mut self.observers.count {
                            count.parted();
                        }
                        break Ok(End::Diverged(target, taken));
                    }
                }
                Op::Guard(p, negated) => {
                    let taken = regs.lanes_with(p, negated) & mask;
                    if let Err(error) = self.behind_guard::<TAINT>(regs, pc + 1, taken) {
                        break Err(error);
                    }
                    pc += 2;
                    if (!TAINT && regs.taint.active) || self.progress.preempt {
                        break Ok(End::Yield);
                    }
                }
                Op::Return => {
                    break Ok(if group.callers.is_empty() { End::Exited } else { End::Return });
                }
                Op::Exit => break Ok(End::Exited),
                Op::Call(index) => break Ok(End::Call(index)),
                Op::BranchTable(r, table) => break Ok(End::Table(r, table)),
                Op::WarpSync(index) => match self.warp_sync(index, regs, pc, mask, alive) {
                    Ok(true) => {
                        pc += 1;
                        if TAINT != regs.taint.active {
                            break Ok(End::Yield);
                        }
                    }
                    Ok(false) => break Ok(End::Wait(Wait::Warp)),
                    Err(error) => break Err(error),
                },
                Op::Barrier(_) | Op::Cluster(_) | Op::Bulk(_) => {
                    match self.rendezvous(*op, regs, pc, mask) {
                        Ok(Step::Next) => pc += 1,
                        Ok(Step::Wait(wait)) => break Ok(End::Wait(wait)),
                        Err(error) => break Err(error),
                    }
                }
                _ => {
                    let done = match self.observers.active {
                        true => self.observed(op, regs, pc, mask),
                        false => self.simple(op, regs, pc, mask),
                    };
                    if let Err(error) = done {
                        break Err(error);
                    }
                    pc += 1;
                    if (!TAINT && regs.taint.active) || self.progress.preempt {
                        break Ok(End::Yield);
                    }
                }
            }
        };
        *fuel = left;
        group.pc = pc;
        end
    }

    /// Runs the operation behind a guard for the lanes that the guard lets through.
    #[inline(always)]
    fn behind_guard<const TAINT: bool>(
        &mut self,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        let op = &self.program.ops[pc as usize];
        if let Some(count) = &mut self.observers.count {
            count.operation(*op, pc, mask);
        }
        if mask == 0 {
            return Ok(());
        }
        self.observers.coverage.mark(pc - 1, TAKEN);
        if TAINT {
            self.propagate(*op, regs, pc, mask);
        }
        if self.observers.active {
            self.observed(op, regs, pc, mask)
        } else {
            self.simple(op, regs, pc, mask)
        }
    }
}
