//! Arithmetic, comparison, selection, moves and conversions.

use super::{Builder, Lowered, Modifiers, Operand, Symbol, compare::compare, control::operand};
use crate::{
    alu::{
        integer,
        lanes::{LaneFunction, copy_d, copy_w, d_to_w, w_to_p, w1, w2, w4, ww_to_d},
    },
    ast::Instruction,
    op::{CarryKind, CarryOp, LaneMask, Op, R, Special},
};

impl<'a> Builder<'a, '_> {
    /// Lowers an instruction that applies a function lane by lane.
    pub(super) fn lanes(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'a>,
        f: LaneFunction,
    ) -> Lowered<()> {
        let from = self.sources(f, &i.operands[1..], m.ty())?;
        let to = self.destination(f.result(), &i.operands[0])?;
        self.push(f.op(to, &from));
        Ok(())
    }

    /// `lop3` that also combines whether its result is not zero with a predicate.
    pub(super) fn lop3_with_predicate(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'a>,
    ) -> Lowered<()> {
        let Operand::Pair(d, p) = operand(i, 0)? else {
            return Err("expected a register and a predicate".to_owned());
        };
        let mut sources = [0; 4];
        for (n, source) in sources.iter_mut().enumerate() {
            *source = self.src_w(operand(i, n + 1)?, "b32")?;
        }
        let [a, b, c, lut] = sources;
        let (q, negated) = self.src_p(operand(i, 5)?)?;
        let q = self.positive(q, negated);
        let (result, t) = (self.temp(0), self.temp(2));
        self.push(w4!(integer::lop3).op(result, &[a, b, c, lut]));
        self.push(w_to_p!(|a| a != 0).op(t, &[result]));
        let (d, p) = (self.dst_w(d)?, self.dst_p(p)?);
        self.push(Op::P2(if m.has("or") { |a, b| a | b } else { |a, b| a & b }, p, t, q));
        self.push(copy_w().op(d, &[result]));
        Ok(())
    }

    pub(super) fn mov(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (d, a) = (operand(i, 0)?, operand(i, 1)?);
        if let Operand::Vector(elements) = d {
            return self.unpack(elements, a, m.ty());
        }
        if let Operand::Vector(elements) = a {
            return self.pack(d, elements, m.ty());
        }
        if m.ty() == "pred" {
            let (p, negated) = self.src_p(a)?;
            let f: fn(u32, u32) -> u32 = if negated { |a, _| !a } else { |a, _| a };
            let d = self.dst_p(d)?;
            self.push(Op::P2(f, d, p, p));
            return Ok(());
        }
        if let Operand::Name(name) = a
            && self.symbol(name).is_none()
            && let Some(special) = special(name)
        {
            let d = self.register(d)?;
            self.push(Op::Special(special, d));
            return Ok(());
        }
        match crate::parse::type_bytes(m.ty()) {
            Some(16) => {
                let ([d0, d1], [a0, a1]) = (self.wide(d)?, self.wide(a)?);
                self.push(copy_d().op(d0, &[a0]));
                self.push(copy_d().op(d1, &[a1]));
            }
            Some(8) => {
                let a = self.src_d(a)?;
                let d = self.dst_d(d)?;
                self.push(copy_d().op(d, &[a]));
            }
            Some(2 | 4) => {
                let a = self.src_w(a, m.ty())?;
                let d = self.dst_w(d)?;
                self.push(copy_w().op(d, &[a]));
            }
            _ => return Err("the type is not known here".to_owned()),
        }
        Ok(())
    }

    /// The two halves of a 128-bit register, the lower one first.
    pub(super) fn wide(&self, o: &Operand<'a>) -> Lowered<[R; 2]> {
        match o {
            Operand::Name(name) => match self.symbol(name) {
                Some(Symbol::Wide(r)) => Ok([r, r + 1]),
                _ => Err(format!("`{name}` is no 128-bit register")),
            },
            _ => Err("expected a 128-bit register".to_owned()),
        }
    }

    fn pack(&mut self, d: &Operand<'a>, from: &[Operand<'a>], ty: &str) -> Lowered<()> {
        match (ty, from) {
            ("b16", [a, b]) => {
                let (a, b) = (self.src_w(a, "b16")?, self.src_w(b, "b16")?);
                let d = self.dst_w(d)?;
                self.push(w2!(|a, b| (a & 0xff) | (b & 0xff) << 8).op(d, &[a, b]));
            }
            ("b32", [a, b, c, e]) => {
                let half = w2!(|a, b| (a & 0xff) | (b & 0xff) << 8);
                let (lo, hi) = (self.temp(0), self.temp(0));
                let (a, b) = (self.src_w(a, "b16")?, self.src_w(b, "b16")?);
                let (c, e) = (self.src_w(c, "b16")?, self.src_w(e, "b16")?);
                self.push(half.op(lo, &[a, b]));
                self.push(half.op(hi, &[c, e]));
                let d = self.dst_w(d)?;
                self.push(w2!(|a, b| a | b << 16).op(d, &[lo, hi]));
            }
            ("b32", [a, b]) => {
                let (a, b) = (self.src_w(a, "b16")?, self.src_w(b, "b16")?);
                let d = self.dst_w(d)?;
                self.push(w2!(|a, b| (a & 0xffff) | (b << 16)).op(d, &[a, b]));
            }
            ("b64", [a, b]) => {
                let (a, b) = (self.src_w(a, "b32")?, self.src_w(b, "b32")?);
                let d = self.dst_d(d)?;
                let f = ww_to_d!(|a, b| u64::from(a) | u64::from(b) << 32);
                self.push(f.op(d, &[a, b]));
            }
            ("b128", [a, b]) => {
                let (a, b) = (self.src_d(a)?, self.src_d(b)?);
                let [lo, hi] = self.wide(d)?;
                // Either source may be a half of the destination.
                let t = self.temp(1);
                self.push(copy_d().op(t, &[b]));
                self.push(copy_d().op(lo, &[a]));
                self.push(copy_d().op(hi, &[t]));
            }
            ("b128", [a, b, c, e]) => {
                let f = ww_to_d!(|a, b| u64::from(a) | u64::from(b) << 32);
                let (a, b) = (self.src_w(a, "b32")?, self.src_w(b, "b32")?);
                let (c, e) = (self.src_w(c, "b32")?, self.src_w(e, "b32")?);
                let [lo, hi] = self.wide(d)?;
                self.push(f.op(lo, &[a, b]));
                self.push(f.op(hi, &[c, e]));
            }
            ("b64", [a, b, c, e]) => {
                let half = w2!(|a, b| (a & 0xffff) | (b << 16));
                let (lo, hi) = (self.temp(0), self.temp(0));
                let (a, b) = (self.src_w(a, "b16")?, self.src_w(b, "b16")?);
                let (c, e) = (self.src_w(c, "b16")?, self.src_w(e, "b16")?);
                self.push(half.op(lo, &[a, b]));
                self.push(half.op(hi, &[c, e]));
                let d = self.dst_d(d)?;
                let f = ww_to_d!(|a, b| u64::from(a) | u64::from(b) << 32);
                self.push(f.op(d, &[lo, hi]));
            }
            _ => return Err("the form of packing is not known".to_owned()),
        }
        Ok(())
    }

    fn unpack(&mut self, into: &[Operand<'a>], a: &Operand<'a>, ty: &str) -> Lowered<()> {
        match (ty, into) {
            ("b16", [lo, hi]) => {
                let a = self.src_w(a, "b16")?;
                let (lo, hi) = (self.dst_w(lo)?, self.dst_w(hi)?);
                // The source may be one of the destinations.
                let t = self.temp(0);
                self.push(copy_w().op(t, &[a]));
                self.push(w1!(|a| a & 0xff).op(lo, &[t]));
                self.push(w1!(|a| (a >> 8) & 0xff).op(hi, &[t]));
            }
            ("b32", [p, q, r, s]) => {
                let a = self.src_w(a, "b32")?;
                let d = [self.dst_w(p)?, self.dst_w(q)?, self.dst_w(r)?, self.dst_w(s)?];
                let t = self.temp(0);
                self.push(copy_w().op(t, &[a]));
                self.push(w1!(|a| a & 0xff).op(d[0], &[t]));
                self.push(w1!(|a| (a >> 8) & 0xff).op(d[1], &[t]));
                self.push(w1!(|a| (a >> 16) & 0xff).op(d[2], &[t]));
                self.push(w1!(|a| a >> 24).op(d[3], &[t]));
            }
            ("b32", [lo, hi]) => {
                let a = self.src_w(a, "b32")?;
                let (lo, hi) = (self.dst_w(lo)?, self.dst_w(hi)?);
                self.push(w1!(|a| a & 0xffff).op(lo, &[a]));
                self.push(w1!(|a| a >> 16).op(hi, &[a]));
            }
            ("b64", [lo, hi]) => {
                let a = self.src_d(a)?;
                let (lo, hi) = (self.dst_w(lo)?, self.dst_w(hi)?);
                self.push(d_to_w!(|a| a as u32).op(lo, &[a]));
                self.push(d_to_w!(|a| (a >> 32) as u32).op(hi, &[a]));
            }
            ("b128", [lo, hi]) => {
                let a = self.wide(a)?;
                for (d, a) in [lo, hi].into_iter().zip(a) {
                    let d = self.dst_d(d)?;
                    self.push(copy_d().op(d, &[a]));
                }
            }
            ("b128", [p, q, r, s]) => {
                let [low, high] = self.wide(a)?;
                for (lo, hi, a) in [(p, q, low), (r, s, high)] {
                    let (lo, hi) = (self.dst_w(lo)?, self.dst_w(hi)?);
                    self.push(d_to_w!(|a| a as u32).op(lo, &[a]));
                    self.push(d_to_w!(|a| (a >> 32) as u32).op(hi, &[a]));
                }
            }
            ("b64", [p, q, r, s]) => {
                let a = self.src_d(a)?;
                let d = [self.dst_w(p)?, self.dst_w(q)?, self.dst_w(r)?, self.dst_w(s)?];
                self.push(d_to_w!(|a| a as u32 & 0xffff).op(d[0], &[a]));
                self.push(d_to_w!(|a| (a >> 16) as u32 & 0xffff).op(d[1], &[a]));
                self.push(d_to_w!(|a| (a >> 32) as u32 & 0xffff).op(d[2], &[a]));
                self.push(d_to_w!(|a| (a >> 48) as u32).op(d[3], &[a]));
            }
            _ => return Err("the form of unpacking is not known".to_owned()),
        }
        Ok(())
    }

    /// Pushes the comparison of operands 1 and 2 into a fresh predicate.
    fn comparison(&mut self, i: &Instruction<'a>, cmp: &str, ty: &str, ftz: bool) -> Lowered<R> {
        let t = self.temp(2);
        let f = compare(cmp, ty, ftz).ok_or("the comparison is not known")?;
        let from = self.sources(f, &i.operands[1..], ty)?;
        self.push(f.op(t, &from));
        Ok(t)
    }

    /// The Boolean combination a `setp` or `set` ends with.
    fn combined(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
        t: R,
        negate: bool,
    ) -> Lowered<R> {
        let base = if negate { self.positive(t, true) } else { t };
        let Some(op) = m.flags.iter().find(|f| matches!(**f, "and" | "or" | "xor")) else {
            return Ok(base);
        };
        let (c, negated) = self.src_p(operand(i, 3)?)?;
        let c = self.positive(c, negated);
        let r = self.temp(2);
        let f: fn(u32, u32) -> u32 = match *op {
            "and" => |a, b| a & b,
            "or" => |a, b| a | b,
            _ => |a, b| a ^ b,
        };
        self.push(Op::P2(f, r, base, c));
        Ok(r)
    }

    pub(super) fn setp(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let cmp = m.flags[0];
        if let "f16x2" | "bf16x2" = m.ty() {
            return self.setp_pair(i, cmp, m);
        }
        if let (Operand::Name(_), None) = (operand(i, 0)?, i.operands.get(3)) {
            // The common form writes its destination at once.
            let t = self.comparison(i, cmp, m.ty(), m.has("ftz"))?;
            let d = self.dst_p(operand(i, 0)?)?;
            match self.ops.last_mut() {
                Some((Op::Lanes(_, _, [r, ..]), _)) if *r == t => *r = d,
                _ => self.push(Op::P2(|a, _| a, d, t, t)),
            }
            return Ok(());
        }
        let t = self.comparison(i, cmp, m.ty(), m.has("ftz"))?;
        let (first, second) = match operand(i, 0)? {
            Operand::Pair(p, q) => ((**p).clone(), Some((**q).clone())),
            other => (other.clone(), None),
        };
        let r = self.combined(i, m, t, false)?;
        let s = match &second {
            Some(_) => Some(self.combined(i, m, t, true)?),
            None => None,
        };
        let d = self.dst_p(&first)?;
        self.push(Op::P2(|a, _| a, d, r, r));
        if let (Some(q), Some(s)) = (second, s) {
            let d = self.dst_p(&q)?;
            self.push(Op::P2(|a, _| a, d, s, s));
        }
        Ok(())
    }

    /// `setp.cmp.f16x2 p|q, a, b`: one predicate per half.
    fn setp_pair(&mut self, i: &Instruction<'a>, cmp: &str, m: &Modifiers<'a>) -> Lowered<()> {
        let Operand::Pair(p, q) = operand(i, 0)? else {
            return Err("expected two predicates".to_owned());
        };
        let [lo, hi] = self.compare_halves(i, cmp, m)?;
        let (lo, hi) = (self.combined(i, m, lo, false)?, self.combined(i, m, hi, false)?);
        let (p, q) = (self.dst_p(p)?, self.dst_p(q)?);
        self.push(Op::P2(|a, _| a, p, lo, lo));
        self.push(Op::P2(|a, _| a, q, hi, hi));
        Ok(())
    }

    /// Comparisons of the low and the high halves of operands 1 and 2.
    fn compare_halves(
        &mut self,
        i: &Instruction<'a>,
        cmp: &str,
        m: &Modifiers<'a>,
    ) -> Lowered<[R; 2]> {
        let ty = if m.ty() == "f16x2" { "f16" } else { "bf16" };
        let Some(f) = compare(cmp, ty, m.has("ftz")) else {
            return Err("the comparison is not known".to_owned());
        };
        let (a, b) = (self.src_w(operand(i, 1)?, "b32")?, self.src_w(operand(i, 2)?, "b32")?);
        let (lo, hi) = (self.temp(2), self.temp(2));
        self.push(f.op(lo, &[a, b]));
        let (a_hi, b_hi) = (self.temp(0), self.temp(0));
        self.push(w1!(|a| a >> 16).op(a_hi, &[a]));
        self.push(w1!(|a| a >> 16).op(b_hi, &[b]));
        self.push(f.op(hi, &[a_hi, b_hi]));
        Ok([lo, hi])
    }

    pub(super) fn set(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let [to, from] = m.types[..] else {
            return Err("the form of `set` is not known".to_owned());
        };
        let cmp = m.flags[0];
        if let "f16x2" | "bf16x2" = from {
            return self.set_pair(i, cmp, to, m);
        }
        let ones = match to {
            "f32" => 0x3f80_0000,
            "f16" => 0x3c00,
            "bf16" => 0x3f80,
            "u16" | "s16" => 0xffff,
            "u32" | "s32" => u32::MAX,
            _ => return Err("the destination type is not known here".to_owned()),
        };
        let t = self.comparison(i, cmp, from, m.has("ftz"))?;
        let r = self.combined(i, m, t, false)?;
        let d = self.dst_w(operand(i, 0)?)?;
        let (one, zero) = (self.const_w(ones), self.const_w(0));
        self.push(Op::SelectW(d, one, zero, r));
        Ok(())
    }

    fn set_pair(
        &mut self,
        i: &Instruction<'a>,
        cmp: &str,
        to: &str,
        m: &Modifiers<'a>,
    ) -> Lowered<()> {
        let one = match to {
            "f16x2" => 0x3c00,
            "bf16x2" => 0x3f80,
            "u32" | "s32" => 0xffff,
            _ => return Err("the destination type is not known here".to_owned()),
        };
        let [lo, hi] = self.compare_halves(i, cmp, m)?;
        let (lo, hi) = (self.combined(i, m, lo, false)?, self.combined(i, m, hi, false)?);
        let d = self.dst_w(operand(i, 0)?)?;
        let (one, zero) = (self.const_w(one), self.const_w(0));
        let (a, b) = (self.temp(0), self.temp(0));
        self.push(Op::SelectW(a, one, zero, lo));
        self.push(Op::SelectW(b, one, zero, hi));
        self.push(w2!(|a, b| (a & 0xffff) | (b << 16)).op(d, &[a, b]));
        Ok(())
    }

    pub(super) fn selp(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (p, negated) = self.src_p(operand(i, 3)?)?;
        let (x, y) = (operand(i, 1)?, operand(i, 2)?);
        let (x, y) = if negated { (y, x) } else { (x, y) };
        self.select(operand(i, 0)?, x, y, p, m.ty())
    }

    fn select(
        &mut self,
        d: &Operand<'a>,
        x: &Operand<'a>,
        y: &Operand<'a>,
        p: R,
        ty: &str,
    ) -> Lowered<()> {
        match crate::parse::type_bytes(ty) {
            Some(8) => {
                let (x, y) = (self.src_d(x)?, self.src_d(y)?);
                let d = self.dst_d(d)?;
                self.push(Op::SelectD(d, x, y, p));
            }
            Some(2 | 4) => {
                let (x, y) = (self.src_w(x, ty)?, self.src_w(y, ty)?);
                let d = self.dst_w(d)?;
                self.push(Op::SelectW(d, x, y, p));
            }
            _ => return Err("the type is not known here".to_owned()),
        }
        Ok(())
    }

    pub(super) fn slct(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let [ty, by] = m.types[..] else {
            return Err("the form of `slct` is not known".to_owned());
        };
        let zero = self.const_w(0);
        let c = self.src_w(operand(i, 3)?, by)?;
        let Some(f) = compare("ge", by, m.has("ftz")) else {
            return Err("the selector's type is not known".to_owned());
        };
        let t = self.temp(2);
        self.push(f.op(t, &[c, zero]));
        self.select(operand(i, 0)?, operand(i, 1)?, operand(i, 2)?, t, ty)
    }

    pub(super) fn carry(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let op = m.name;
        let wide = match m.ty() {
            "u32" | "s32" | "b32" => false,
            "u64" | "s64" | "b64" => true,
            _ => return Err("the type is not known here".to_owned()),
        };
        let kind = match op.trim_end_matches('c') {
            "add" => CarryKind::Add,
            "sub" => CarryKind::Sub,
            "mad" if m.has("lo") => CarryKind::MadLo,
            "mad" if m.ty().starts_with('s') => CarryKind::MadHiSigned,
            _ => CarryKind::MadHiUnsigned,
        };
        let mut regs = [0; 4];
        for (n, reg) in regs.iter_mut().enumerate() {
            let Some(o) = i.operands.get(n) else { break };
            *reg = match (n, wide) {
                (0, true) => self.dst_d(o)?,
                (0, false) => self.dst_w(o)?,
                (_, true) => self.src_d(o)?,
                (_, false) => self.src_w(o, m.ty())?,
            };
        }
        let carry_in = op.ends_with('c');
        let op = CarryOp { kind, carry_in, carry_out: m.has("cc"), wide, regs };
        self.program.carries.push(op);
        self.push(Op::Carry(self.program.carries.len() as u32 - 1));
        Ok(())
    }
}

/// The special register named `name`.
pub(super) fn special(name: &str) -> Option<Special> {
    let axis = |suffix: &str| match suffix {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((base, suffix)) = name.rsplit_once('.') {
        let axis = axis(suffix)?;
        return Some(match base {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            _ => return super::cluster::special(name),
        });
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%lanemask_eq" => Special::LaneMask(LaneMask::Eq),
        "%lanemask_lt" => Special::LaneMask(LaneMask::Lt),
        "%lanemask_le" => Special::LaneMask(LaneMask::Le),
        "%lanemask_gt" => Special::LaneMask(LaneMask::Gt),
        "%lanemask_ge" => Special::LaneMask(LaneMask::Ge),
        "%clock" | "%clock_lo" => Special::Clock,
        "%clock_hi" => Special::ClockHi,
        "%clock64" => Special::Clock64,
        "%globaltimer" => Special::Timer,
        "%globaltimer_lo" => Special::TimerLo,
        "%globaltimer_hi" => Special::TimerHi,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" => Special::TotalShared,
        _ => return super::cluster::special(name),
    })
}
