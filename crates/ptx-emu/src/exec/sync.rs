//! Warp-level operations in which lanes read each other, and the rendezvous before them.

use super::{
    Machine,
    access::{Registers, each_lane},
    simple::put_p,
    warp::{Group, Wait, Warp, put_d, put_w},
};
use crate::{
    finding::FindingKind,
    op::{D, Op, Shuffle, Vote, W, WarpSyncKind, WarpSyncOp},
    report::LaunchError,
};

/// The value that a lane yields to a reader without taking part: visibly wrong as a float and
/// as an integer.
const GARBAGE: u32 = 0xffff_ffff;

/// The lanes' contributions to the rendezvous.
struct Input {
    w: W,
    d: D,
    p: u32,
}

/// Gathers the input of `lanes`, which stand in one group.
fn gather(sync: &WarpSyncOp, regs: &Registers<'_>, lanes: u32, input: &mut Input) {
    match sync.kind {
        WarpSyncKind::Shuffle(_, _, _, a, _, _) | WarpSyncKind::Redux(_, _, a) => {
            put_w(&mut input.w, &regs.rows.w[a as usize], lanes);
        }
        WarpSyncKind::Vote(_, _, p, negated) => {
            let p = regs.rows.p[p as usize];
            put_p(&mut input.p, if negated { !p } else { p }, lanes);
        }
        WarpSyncKind::MatchAny(_, value) | WarpSyncKind::MatchAll(_, _, value) => {
            put_d(&mut input.d, &regs.row(value), lanes);
        }
        WarpSyncKind::Barrier | WarpSyncKind::Elect(..) | WarpSyncKind::Matrix(_) => {}
    }
}

/// The source lane of each lane and whether it lies within the segment (PTX ISA, "shfl.sync").
pub(super) fn shuffle_source(mode: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let segment = (c >> 8) & 31;
    let clamp = c & 31;
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let b = b & 31;
    let (source, in_range) = match mode {
        Shuffle::Up => {
            let j = lane.wrapping_sub(b) as i32;
            (j as u32, j >= max as i32)
        }
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Butterfly => (lane ^ b, lane ^ b <= max),
        Shuffle::Index => {
            let j = min | (b & !segment);
            (j, j <= max)
        }
    };
    if in_range { (source & 31, true) } else { (lane, false) }
}

/// Gives `lanes` (one group's part of `members`) their results, and names those of them that read a
/// lane that does not take part.
fn scatter(
    sync: &WarpSyncOp,
    regs: &mut Registers<'_>,
    lanes: u32,
    members: u32,
    input: &Input,
) -> u32 {
    let mut absent = 0;
    match sync.kind {
        WarpSyncKind::Barrier | WarpSyncKind::Matrix(_) => {}
        WarpSyncKind::Shuffle(mode, to, p, _, b, c) => {
            let (b, c) = (regs.rows.w[b as usize], regs.rows.w[c as usize]);
            let mut out = [0; 32];
            let mut in_range = 0;
            for lane in 0..32_u32 {
                let (source, ok) = shuffle_source(mode, lane, b[lane as usize], c[lane as usize]);
                let there = (members >> source) & 1 == 1;
                out[lane as usize] = if there { input.w[source as usize] } else { GARBAGE };
                absent |= u32::from(!there) << lane;
                in_range |= u32::from(ok) << lane;
            }
            put_w(&mut regs.rows.w[to as usize], &out, lanes);
            if let Some(p) = p {
                put_p(&mut regs.rows.p[p as usize], in_range, lanes);
            }
        }
        WarpSyncKind::Vote(mode, to, _, _) => {
            let votes = input.p & members;
            let whole = |hit: bool| if hit { u32::MAX } else { 0 };
            match mode {
                Vote::All => put_p(&mut regs.rows.p[to as usize], whole(votes == members), lanes),
                Vote::Any => put_p(&mut regs.rows.p[to as usize], whole(votes != 0), lanes),
                Vote::Uniform => {
                    let uniform = votes == members || votes == 0;
                    put_p(&mut regs.rows.p[to as usize], whole(uniform), lanes);
                }
                Vote::Ballot => put_w(&mut regs.rows.w[to as usize], &[votes; 32], lanes),
            }
        }
        WarpSyncKind::MatchAny(to, _) => {
            let same = |i: usize| {
                (0..32).fold(0, |m, j| {
                    m | u32::from((members >> j) & 1 == 1 && input.d[i] == input.d[j]) << j
                })
            };
            let out = std::array::from_fn(same);
            put_w(&mut regs.rows.w[to as usize], &out, lanes);
        }
        WarpSyncKind::MatchAll(to, p, _) => {
            let first = input.d[members.trailing_zeros() as usize & 31];
            let all = (0..32).all(|i| (members >> i) & 1 == 0 || input.d[i] == first);
            put_w(&mut regs.rows.w[to as usize], &[if all { members } else { 0 }; 32], lanes);
            if let Some(p) = p {
                put_p(&mut regs.rows.p[p as usize], if all { u32::MAX } else { 0 }, lanes);
            }
        }
        WarpSyncKind::Redux(f, to, _) => {
            let taking_part = each_lane(members);
            let total = taking_part.map(|i| input.w[i]).reduce(f).unwrap_or(0);
            put_w(&mut regs.rows.w[to as usize], &[total; 32], lanes);
        }
        WarpSyncKind::Elect(to, p) => {
            let leader = members.trailing_zeros() & 31;
            if let Some(to) = to {
                put_w(&mut regs.rows.w[to as usize], &[leader; 32], lanes);
            }
            put_p(&mut regs.rows.p[p as usize], 1 << leader, lanes);
        }
    }
    absent & lanes
}

/// The whole operation when all members stand in one group; the lanes that read an absent one.
fn single(sync: &WarpSyncOp, regs: &mut Registers<'_>, mask: u32) -> u32 {
    let mut input = Input { w: [0; 32], d: [0; 32], p: 0 };
    gather(sync, regs, mask, &mut input);
    scatter(sync, regs, mask, mask, &input)
}

/// Whether lanes at the two operations synchronise: the same opcode and modifiers.
fn same_operation(a: &WarpSyncOp, b: &WarpSyncOp) -> bool {
    use WarpSyncKind::{Barrier, Elect, MatchAll, MatchAny, Matrix, Redux, Shuffle, Vote};
    match (a.kind, b.kind) {
        (Barrier, Barrier)
        | (MatchAny(..), MatchAny(..))
        | (MatchAll(..), MatchAll(..))
        | (Elect(..), Elect(..)) => true,
        (Shuffle(x, ..), Shuffle(y, ..)) => x == y,
        (Matrix(x), Matrix(y)) => x == y,
        (Vote(x, ..), Vote(y, ..)) => x == y,
        (Redux(x, ..), Redux(y, ..)) => std::ptr::fn_addr_eq(x, y),
        _ => false,
    }
}

impl Machine<'_> {
    /// Does a warp-level operation if the lanes of `mask` are all its members; false if they have
    /// to wait for others.
    pub(super) fn warp_sync(
        &mut self,
        index: u32,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
        alive: u32,
    ) -> Result<bool, LaunchError> {
        let sync = self.program.syncs[index as usize];
        let members = regs.rows.w[sync.members as usize];
        let first = members[mask.trailing_zeros() as usize & 31];
        let uniform = members.iter().enumerate().all(|(i, m)| *m == first || (mask >> i) & 1 == 0);
        if !uniform || first & alive != mask {
            return Ok(false);
        }
        if let WarpSyncKind::Matrix(index) = sync.kind {
            if mask != u32::MAX {
                return Err(self.unsupported(pc, "fewer than 32 threads take part"));
            }
            if !self.warpgroup(index, regs, pc)? {
                self.matrix_tracked(index, regs, pc);
            }
        } else {
            let absent = single(&sync, regs, mask);
            if matches!(sync.kind, WarpSyncKind::Barrier) {
                self.lanes_met(regs.warp);
            }
            self.mark_absent(&sync, regs, pc, absent);
        }
        Ok(true)
    }

    fn sync_at(&self, group: &Group) -> Option<WarpSyncOp> {
        match self.program.ops[group.pc as usize] {
            Op::WarpSync(index) if group.wait == Wait::Warp => {
                Some(self.program.syncs[index as usize])
            }
            _ => None,
        }
    }

    /// Completes the warp-level operations whose members have all come; whether there were any.
    pub(super) fn resolve_syncs(&mut self, warp: &mut Warp) -> Result<bool, LaunchError> {
        for index in 0..warp.groups.len() {
            let Some(sync) = self.sync_at(&warp.groups[index]) else { continue };
            let group = warp.groups[index].clone();
            let members = {
                let regs = Registers::new(warp, group.frame);
                regs.rows.w[sync.members as usize]
            };
            let mut rest = group.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros();
                let named = members[lane as usize];
                rest &= !(1 << lane);
                let wanted = named & warp.alive;
                if (named >> lane) & 1 == 0 {
                    let pc = group.pc;
                    let regs = Registers::new(warp, group.frame);
                    let text = format!("member mask 0x{named:08x} leaves out the calling thread");
                    return Err(self.fault_here(
                        FindingKind::InvalidMask,
                        &text,
                        &regs,
                        pc,
                        1 << lane,
                    ));
                }
                if self.complete(warp, &sync, named, wanted) {
                    return Ok(true);
                }
                rest &= !lanes_with(&members, named);
            }
        }
        Ok(false)
    }

    /// Does the operation for the `wanted` lanes if all of them wait for it with the same mask.
    fn complete(&mut self, warp: &mut Warp, sync: &WarpSyncOp, named: u32, wanted: u32) -> bool {
        let mut parts: Vec<(usize, u32, WarpSyncOp)> = Vec::new();
        let mut present = 0;
        for index in 0..warp.groups.len() {
            let Some(other) = self.sync_at(&warp.groups[index]) else { continue };
            if !same_operation(sync, &other) {
                continue;
            }
            let (frame, mask) = (warp.groups[index].frame, warp.groups[index].mask);
            let regs = Registers::new(warp, frame);
            let lanes = mask & wanted & lanes_with(&regs.rows.w[other.members as usize], named);
            if lanes != 0 {
                present |= lanes;
                parts.push((index, lanes, other));
            }
        }
        if present != wanted {
            return false;
        }
        if matches!(sync.kind, WarpSyncKind::Matrix(_)) {
            return gathered(warp, &parts);
        }
        if matches!(sync.kind, WarpSyncKind::Barrier) {
            self.lanes_met(warp.index);
        }
        let mut input = Input { w: [0; 32], d: [0; 32], p: 0 };
        for &(index, lanes, part) in &parts {
            let frame = warp.groups[index].frame;
            gather(&part, &Registers::new(warp, frame), lanes, &mut input);
        }
        for &(index, lanes, part) in &parts {
            let frame = warp.groups[index].frame;
            let pc = warp.groups[index].pc;
            let regs = &mut Registers::new(warp, frame);
            let absent = scatter(&part, regs, lanes, wanted, &input);
            self.mark_absent(&part, regs, pc, absent);
            let mut done = warp.groups[index].clone();
            done.mask = lanes;
            done.pc += 1;
            done.wait = Wait::None;
            warp.groups[index].mask &= !lanes;
            warp.groups.push(done);
        }
        warp.groups.retain(|g| g.mask != 0);
        true
    }
}

/// Makes one group of those that wait for a matrix operation, if they stand in the same frame; the
/// operation then finds the warp whole.
fn gathered(warp: &mut Warp, parts: &[(usize, u32, WarpSyncOp)]) -> bool {
    let Some(&(first, ..)) = parts.first() else { return false };
    let head = warp.groups[first].clone();
    let same = |g: &Group| g.pc == head.pc && g.frame == head.frame && g.callers == head.callers;
    if !parts.iter().all(|(index, ..)| same(&warp.groups[*index])) {
        return false;
    }
    for &(index, ..) in &parts[1..] {
        let mask = std::mem::take(&mut warp.groups[index].mask);
        warp.groups[first].mask |= mask;
    }
    warp.groups[first].wait = Wait::None;
    warp.groups.retain(|g| g.mask != 0);
    true
}

fn lanes_with(members: &W, named: u32) -> u32 {
    (0..32).fold(0, |m, i| m | u32::from(members[i] == named) << i)
}

#[cfg(test)]
mod tests {
    use super::shuffle_source;
    use crate::op::Shuffle;

    #[test]
    fn shuffles_follow_the_isa() {
        // __shfl_down_sync(.., 4): c = 0x1f; __shfl_up_sync: c = 0; width 8: segment mask 0x18.
        for (mode, lane, b, c, want) in [
            (Shuffle::Down, 3, 4, 0x1f, (7, true)),
            (Shuffle::Down, 30, 4, 0x1f, (30, false)),
            (Shuffle::Up, 3, 4, 0, (3, false)),
            (Shuffle::Up, 9, 4, 0, (5, true)),
            (Shuffle::Butterfly, 5, 16, 0x1f, (21, true)),
            (Shuffle::Index, 13, 2, 0x181f, (10, true)),
            (Shuffle::Down, 7, 1, 0x181f, (7, false)),
        ] {
            assert_eq!(shuffle_source(mode, lane, b, c), want, "{mode:?} {lane} {b} {c}");
        }
    }
}
