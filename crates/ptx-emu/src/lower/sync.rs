//! Warp-level rendezvous: shuffles, votes, matches, reductions.

use super::{Builder, Lowered, Modifiers, Reg, control::operand};
use crate::{
    alu::{lanes::w1, single},
    ast::{Instruction, Operand},
    op::{Op, R, Shuffle, Vote, WarpSyncKind, WarpSyncOp},
};

impl<'a> Builder<'a, '_> {
    pub(super) fn push_sync(&mut self, kind: WarpSyncKind, members: R) {
        self.program.syncs.push(WarpSyncOp { kind, members });
        self.push(Op::WarpSync(self.program.syncs.len() as u32 - 1));
    }

    pub(super) fn warp_barrier(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let members = self.src_w(operand(i, 0)?, "b32")?;
        self.push_sync(WarpSyncKind::Barrier, members);
        Ok(())
    }

    pub(super) fn shuffle(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let mode = match m.flags[1] {
            "up" => Shuffle::Up,
            "down" => Shuffle::Down,
            "bfly" => Shuffle::Butterfly,
            _ => Shuffle::Index,
        };
        let (d, p) = match operand(i, 0)? {
            Operand::Pair(d, p) => (self.dst_w(d)?, Some(self.dst_p(p)?)),
            d => (self.dst_w(d)?, None),
        };
        let a = self.src_w(operand(i, 1)?, "b32")?;
        let b = self.src_w(operand(i, 2)?, "b32")?;
        let c = self.src_w(operand(i, 3)?, "b32")?;
        let members = self.src_w(operand(i, 4)?, "b32")?;
        self.push_sync(WarpSyncKind::Shuffle(mode, d, p, a, b, c), members);
        Ok(())
    }

    pub(super) fn vote(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let mode = match m.flags[1] {
            "all" => Vote::All,
            "any" => Vote::Any,
            "uni" => Vote::Uniform,
            _ => Vote::Ballot,
        };
        let d = operand(i, 0)?;
        let d = if mode == Vote::Ballot { self.dst_w(d)? } else { self.dst_p(d)? };
        let (p, negated) = self.src_p(operand(i, 1)?)?;
        let members = self.src_w(operand(i, 2)?, "b32")?;
        self.push_sync(WarpSyncKind::Vote(mode, d, p, negated), members);
        Ok(())
    }

    pub(super) fn matching(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let value = operand(i, 1)?;
        let value = match m.wide() {
            true => Reg::D(self.src_d(value)?),
            false => Reg::W(self.src_w(value, "b32")?),
        };
        let members = self.src_w(operand(i, 2)?, "b32")?;
        let kind = if m.has("any") {
            WarpSyncKind::MatchAny(self.dst_w(operand(i, 0)?)?, value)
        } else {
            match operand(i, 0)? {
                Operand::Pair(d, p) => {
                    WarpSyncKind::MatchAll(self.dst_w(d)?, Some(self.dst_p(p)?), value)
                }
                d => WarpSyncKind::MatchAll(self.dst_w(d)?, None, value),
            }
        };
        self.push_sync(kind, members);
        Ok(())
    }

    pub(super) fn redux(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let operations = ["add", "min", "max", "and", "or", "xor"];
        let operation = m.flags.iter().copied().find(|flag| operations.contains(flag));
        let f: fn(u32, u32) -> u32 = match (operation.unwrap_or(""), m.ty()) {
            ("min", "f32") if m.has("NaN") => single::extreme::<false, false, false, true>,
            ("min", "f32") => single::extreme::<false, false, false, false>,
            ("max", "f32") if m.has("NaN") => single::extreme::<true, false, false, true>,
            ("max", "f32") => single::extreme::<true, false, false, false>,
            ("add", "u32" | "s32") => u32::wrapping_add,
            ("min", "u32") => u32::min,
            ("max", "u32") => u32::max,
            ("min", "s32") => |a, b| (a as i32).min(b as i32) as u32,
            ("max", "s32") => |a, b| (a as i32).max(b as i32) as u32,
            ("and", "b32") => |a, b| a & b,
            ("or", "b32") => |a, b| a | b,
            ("xor", "b32") => |a, b| a ^ b,
            _ => return Err("the operation is not known".to_owned()),
        };
        let d = self.dst_w(operand(i, 0)?)?;
        let mut a = self.src_w(operand(i, 1)?, "b32")?;
        if m.has("abs") {
            let t = self.temp(0);
            self.push(w1!(single::abs::<false>).op(t, &[a]));
            a = t;
        }
        let members = self.src_w(operand(i, 2)?, "b32")?;
        self.push_sync(WarpSyncKind::Redux(f, d, a), members);
        Ok(())
    }

    pub(super) fn elect(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let Operand::Pair(d, p) = operand(i, 0)? else {
            return Err("expected a register and a predicate".to_owned());
        };
        let d = if **d == Operand::Name("_") { None } else { Some(self.dst_w(d)?) };
        let p = self.dst_p(p)?;
        let members = self.src_w(operand(i, 1)?, "b32")?;
        self.push_sync(WarpSyncKind::Elect(d, p), members);
        Ok(())
    }
}
