//! Arithmetic, comparison, selection, moves and conversions.

use super::{
    Builder, Lowered, Operand, Reg,
    control::operand,
    table::{self, Compare, Fun, Modifiers},
};
use crate::{
    alu::{
        convert::{BF16, Conversion, F16, F32, F64, Number, Round},
        lanes::{d_to_w, w1, w2, ww_to_d},
    },
    ast::Instruction,
    op::{CarryKind, CarryOp, LaneMask, Op, R, Special},
};

impl<'a> Builder<'a, '_> {
    /// Lowers what only computes on registers.
    pub(super) fn compute(
        &mut self,
        i: &Instruction<'a>,
        parts: &[&'a str],
        m: &Modifiers<'a>,
    ) -> Lowered<()> {
        match parts[0] {
            "mov" => return self.mov(i, m),
            "setp" => return self.setp(i, parts, m),
            "set" => return self.set(i, parts, m),
            "selp" => return self.selp(i, m),
            "slct" => return self.slct(i, m),
            "cvt" => return self.cvt(i, m),
            "testp" => return self.testp(i, m),
            "addc" | "subc" | "madc" => return self.carry(i, parts[0], m),
            "add" | "sub" | "mad" if m.has("cc") => return self.carry(i, parts[0], m),
            _ => {}
        }
        let fun = table::find(parts[0], m).ok_or(super::UNKNOWN)?;
        self.apply(fun, i, m.ty())
    }

    fn apply(&mut self, fun: Fun, i: &Instruction<'a>, ty: &str) -> Lowered<()> {
        let n_sources = i.operands.len().saturating_sub(1);
        let wanted = match fun {
            Fun::W1(_) | Fun::D1(_) | Fun::DtoW(_) | Fun::WtoP(_) | Fun::DtoP(_) | Fun::P1(_) => 1,
            Fun::W2(_) | Fun::D2(_) | Fun::WWtoD(_) | Fun::DWtoD(_) | Fun::P2(_) => 2,
            Fun::W3(_) | Fun::D3(_) | Fun::WWDtoD(_) | Fun::DWWtoD(_) => 3,
            Fun::W4(_) | Fun::DDWWtoD(_) => 4,
        };
        if n_sources != wanted {
            return Err(format!("{n_sources} sources where {wanted} are known"));
        }
        let o = &i.operands;
        let op = match fun {
            Fun::W1(f) => Op::W1(f, self.dst_w(&o[0])?, self.src_w(&o[1], ty)?),
            Fun::W2(f) => {
                let (a, b) = (self.src_w(&o[1], ty)?, self.src_w(&o[2], ty)?);
                Op::W2(f, self.dst_w(&o[0])?, a, b)
            }
            Fun::W3(f) => {
                let (a, b) = (self.src_w(&o[1], ty)?, self.src_w(&o[2], ty)?);
                let c = self.src_w(&o[3], "b32")?;
                Op::W3(f, self.dst_w(&o[0])?, a, b, c)
            }
            Fun::W4(f) => {
                let (a, b) = (self.src_w(&o[1], ty)?, self.src_w(&o[2], ty)?);
                let (c, d) = (self.src_w(&o[3], "b32")?, self.src_w(&o[4], "b32")?);
                Op::W4(f, self.dst_w(&o[0])?, a, b, c, d)
            }
            Fun::D1(f) => Op::D1(f, self.dst_d(&o[0])?, self.src_d(&o[1])?),
            Fun::D2(f) => Op::D2(f, self.dst_d(&o[0])?, self.src_d(&o[1])?, self.src_d(&o[2])?),
            Fun::D3(f) => {
                let (a, b, c) = (self.src_d(&o[1])?, self.src_d(&o[2])?, self.src_d(&o[3])?);
                Op::D3(f, self.dst_d(&o[0])?, a, b, c)
            }
            Fun::DtoW(f) => Op::DtoW(f, self.dst_w(&o[0])?, self.src_d(&o[1])?),
            Fun::WWtoD(f) => {
                let (a, b) = (self.src_w(&o[1], ty)?, self.src_w(&o[2], ty)?);
                Op::WWtoD(f, self.dst_d(&o[0])?, a, b)
            }
            Fun::WWDtoD(f) => {
                let (a, b) = (self.src_w(&o[1], ty)?, self.src_w(&o[2], ty)?);
                Op::WWDtoD(f, self.dst_d(&o[0])?, a, b, self.src_d(&o[3])?)
            }
            Fun::DWtoD(f) => {
                let (a, b) = (self.src_d(&o[1])?, self.src_w(&o[2], "b32")?);
                Op::DWtoD(f, self.dst_d(&o[0])?, a, b)
            }
            Fun::DWWtoD(f) => {
                let (b, c) = (self.src_w(&o[2], "b32")?, self.src_w(&o[3], "b32")?);
                Op::DWWtoD(f, self.dst_d(&o[0])?, self.src_d(&o[1])?, b, c)
            }
            Fun::DDWWtoD(f) => {
                let (a, b) = (self.src_d(&o[1])?, self.src_d(&o[2])?);
                let (c, d) = (self.src_w(&o[3], "b32")?, self.src_w(&o[4], "b32")?);
                Op::DDWWtoD(f, self.dst_d(&o[0])?, a, b, c, d)
            }
            Fun::WtoP(f) => Op::WtoP(f, self.dst_p(&o[0])?, self.src_w(&o[1], ty)?),
            Fun::DtoP(f) => Op::DtoP(f, self.dst_p(&o[0])?, self.src_d(&o[1])?),
            Fun::P1(f) => {
                let (a, negated) = self.src_p(&o[1])?;
                let a = self.positive(a, negated);
                Op::P2(f, self.dst_p(&o[0])?, a, a)
            }
            Fun::P2(f) => {
                let (a, na) = self.src_p(&o[1])?;
                let (b, nb) = self.src_p(&o[2])?;
                let (a, b) = (self.positive(a, na), self.positive(b, nb));
                Op::P2(f, self.dst_p(&o[0])?, a, b)
            }
        };
        self.push(op);
        Ok(())
    }

    /// A predicate register that holds the possibly negated predicate.
    fn positive(&mut self, p: R, negated: bool) -> R {
        if !negated {
            return p;
        }
        let t = self.temp(2);
        self.push(Op::P2(|a, _| !a, t, p, p));
        t
    }

    fn mov(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (d, a) = (operand(i, 0)?, operand(i, 1)?);
        if m.types.len() != 1 || !m.flags.is_empty() {
            return Err("the form of `mov` is not known".to_owned());
        }
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
            Some(8) => {
                let a = self.src_d(a)?;
                let d = self.dst_d(d)?;
                self.push(Op::D1(|a| *a, d, a));
            }
            Some(2 | 4) => {
                let a = self.src_w(a, m.ty())?;
                let d = self.dst_w(d)?;
                self.push(Op::W1(|a| *a, d, a));
            }
            _ => return Err("the type is not known here".to_owned()),
        }
        Ok(())
    }

    fn pack(&mut self, d: &Operand<'a>, from: &[Operand<'a>], ty: &str) -> Lowered<()> {
        match (ty, from) {
            ("b32", [a, b]) => {
                let (a, b) = (self.src_w(a, "b16")?, self.src_w(b, "b16")?);
                let d = self.dst_w(d)?;
                self.push(Op::W2(w2!(|a: u32, b: u32| (a & 0xffff) | (b << 16)), d, a, b));
            }
            ("b64", [a, b]) => {
                let (a, b) = (self.src_w(a, "b32")?, self.src_w(b, "b32")?);
                let d = self.dst_d(d)?;
                let f = ww_to_d!(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32);
                self.push(Op::WWtoD(f, d, a, b));
            }
            ("b64", [a, b, c, e]) => {
                let half = w2!(|a: u32, b: u32| (a & 0xffff) | (b << 16));
                let (lo, hi) = (self.temp(0), self.temp(0));
                let (a, b) = (self.src_w(a, "b16")?, self.src_w(b, "b16")?);
                let (c, e) = (self.src_w(c, "b16")?, self.src_w(e, "b16")?);
                self.push(Op::W2(half, lo, a, b));
                self.push(Op::W2(half, hi, c, e));
                let d = self.dst_d(d)?;
                let f = ww_to_d!(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32);
                self.push(Op::WWtoD(f, d, lo, hi));
            }
            _ => return Err("the form of packing is not known".to_owned()),
        }
        Ok(())
    }

    fn unpack(&mut self, into: &[Operand<'a>], a: &Operand<'a>, ty: &str) -> Lowered<()> {
        match (ty, into) {
            ("b32", [lo, hi]) => {
                let a = self.src_w(a, "b32")?;
                let (lo, hi) = (self.dst_w(lo)?, self.dst_w(hi)?);
                self.push(Op::W1(w1!(|a: u32| a & 0xffff), lo, a));
                self.push(Op::W1(w1!(|a: u32| a >> 16), hi, a));
            }
            ("b64", [lo, hi]) => {
                let a = self.src_d(a)?;
                let (lo, hi) = (self.dst_w(lo)?, self.dst_w(hi)?);
                self.push(Op::DtoW(d_to_w!(|a: u64| a as u32), lo, a));
                self.push(Op::DtoW(d_to_w!(|a: u64| (a >> 32) as u32), hi, a));
            }
            ("b64", [p, q, r, s]) => {
                let a = self.src_d(a)?;
                let d = [self.dst_w(p)?, self.dst_w(q)?, self.dst_w(r)?, self.dst_w(s)?];
                self.push(Op::DtoW(d_to_w!(|a: u64| a as u32 & 0xffff), d[0], a));
                self.push(Op::DtoW(d_to_w!(|a: u64| (a >> 16) as u32 & 0xffff), d[1], a));
                self.push(Op::DtoW(d_to_w!(|a: u64| (a >> 32) as u32 & 0xffff), d[2], a));
                self.push(Op::DtoW(d_to_w!(|a: u64| (a >> 48) as u32), d[3], a));
            }
            _ => return Err("the form of unpacking is not known".to_owned()),
        }
        Ok(())
    }

    /// Pushes the comparison of operands `at` and `at + 1` into a fresh predicate.
    fn comparison(
        &mut self,
        i: &Instruction<'a>,
        at: usize,
        cmp: &str,
        ty: &str,
        ftz: bool,
    ) -> Lowered<R> {
        let t = self.temp(2);
        let (a, b) = (operand(i, at)?, operand(i, at + 1)?);
        match table::compare(cmp, ty, ftz).ok_or("the comparison is not known")? {
            Compare::W(f) => {
                let (a, b) = (self.src_w(a, ty)?, self.src_w(b, ty)?);
                self.push(Op::WWtoP(f, t, a, b));
            }
            Compare::D(f) => {
                let (a, b) = (self.src_d(a)?, self.src_d(b)?);
                self.push(Op::DDtoP(f, t, a, b));
            }
        }
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

    fn setp(&mut self, i: &Instruction<'a>, parts: &[&'a str], m: &Modifiers<'a>) -> Lowered<()> {
        let cmp = parts.get(1).copied().unwrap_or("");
        if !m.flags.iter().skip(1).all(|f| matches!(*f, "and" | "or" | "xor" | "ftz")) {
            return Err("the form of `setp` is not known".to_owned());
        }
        if let "f16x2" | "bf16x2" = m.ty() {
            return self.setp_pair(i, cmp, m);
        }
        if let (Operand::Name(_), None) = (operand(i, 0)?, i.operands.get(3)) {
            // The common form writes its destination at once.
            let t = self.comparison(i, 1, cmp, m.ty(), m.has("ftz"))?;
            let d = self.dst_p(operand(i, 0)?)?;
            match self.ops.last_mut() {
                Some((Op::WWtoP(_, r, ..) | Op::DDtoP(_, r, ..), _)) if *r == t => *r = d,
                _ => self.push(Op::P2(|a, _| a, d, t, t)),
            }
            return Ok(());
        }
        let t = self.comparison(i, 1, cmp, m.ty(), m.has("ftz"))?;
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
        if m.has("ftz") || i.operands.len() != 3 {
            return Err("the form of `setp` is not known".to_owned());
        }
        let [lo, hi] = self.compare_halves(i, cmp, m)?;
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
        let Some(Compare::W(f)) = table::compare(cmp, ty, false) else {
            return Err("the comparison is not known".to_owned());
        };
        let (a, b) = (self.src_w(operand(i, 1)?, "b32")?, self.src_w(operand(i, 2)?, "b32")?);
        let (lo, hi) = (self.temp(2), self.temp(2));
        self.push(Op::WWtoP(f, lo, a, b));
        let (a_hi, b_hi) = (self.temp(0), self.temp(0));
        self.push(Op::W1(w1!(|a: u32| a >> 16), a_hi, a));
        self.push(Op::W1(w1!(|a: u32| a >> 16), b_hi, b));
        self.push(Op::WWtoP(f, hi, a_hi, b_hi));
        Ok([lo, hi])
    }

    fn set(&mut self, i: &Instruction<'a>, parts: &[&'a str], m: &Modifiers<'a>) -> Lowered<()> {
        let [to, from] = m.types[..] else {
            return Err("the form of `set` is not known".to_owned());
        };
        let cmp = parts.get(1).copied().unwrap_or("");
        if !m.flags.iter().skip(1).all(|f| matches!(*f, "and" | "or" | "xor" | "ftz")) {
            return Err("the form of `set` is not known".to_owned());
        }
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
        let t = self.comparison(i, 1, cmp, from, m.has("ftz"))?;
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
        if m.has("ftz") || i.operands.len() != 3 {
            return Err("the form of `set` is not known".to_owned());
        }
        let [lo, hi] = self.compare_halves(i, cmp, m)?;
        let d = self.dst_w(operand(i, 0)?)?;
        let (one, zero) = (self.const_w(one), self.const_w(0));
        let (a, b) = (self.temp(0), self.temp(0));
        self.push(Op::SelectW(a, one, zero, lo));
        self.push(Op::SelectW(b, one, zero, hi));
        self.push(Op::W2(w2!(|a: u32, b: u32| (a & 0xffff) | (b << 16)), d, a, b));
        Ok(())
    }

    fn selp(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
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

    fn slct(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let [ty, by] = m.types[..] else {
            return Err("the form of `slct` is not known".to_owned());
        };
        let zero = self.const_w(0);
        let c = self.src_w(operand(i, 3)?, by)?;
        let Some(Compare::W(f)) = table::compare("ge", by, m.has("ftz")) else {
            return Err("the selector's type is not known".to_owned());
        };
        let t = self.temp(2);
        self.push(Op::WWtoP(f, t, c, zero));
        self.select(operand(i, 0)?, operand(i, 1)?, operand(i, 2)?, t, ty)
    }

    fn testp(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let [test] = m.flags[..] else { return Err("the test is not known".to_owned()) };
        let fun = table::testp(test, m.ty()).ok_or("the test is not known")?;
        self.apply(fun, i, m.ty())
    }

    fn carry(&mut self, i: &Instruction<'a>, op: &str, m: &Modifiers<'a>) -> Lowered<()> {
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

    /// Conversions to and from pairs of 8-bit floats.
    fn cvt_quarter(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'a>,
        to: &str,
        from: &str,
    ) -> Lowered<()> {
        use crate::alu::half::{E4m3, E5m2, F16Type, Half, from_quarter, to_quarter};
        macro_rules! from_f32 {
            ($q:ty, $relu:literal) => {
                w2!(|a: u32, b: u32| {
                    to_quarter::<$q, $relu>(f64::from(f32::from_bits(b)))
                        | to_quarter::<$q, $relu>(f64::from(f32::from_bits(a))) << 8
                })
            };
        }
        macro_rules! from_f16 {
            ($q:ty, $relu:literal) => {
                w1!(|a: u32| {
                    to_quarter::<$q, $relu>(f64::from(F16Type::to_f32(a & 0xffff)))
                        | to_quarter::<$q, $relu>(f64::from(F16Type::to_f32(a >> 16))) << 8
                })
            };
        }
        macro_rules! to_f16 {
            ($q:ty) => {
                w1!(|a: u32| from_quarter::<$q>(a & 0xff)
                    | from_quarter::<$q>((a >> 8) & 0xff) << 16)
            };
        }
        let d = self.dst_w(operand(i, 0)?)?;
        let a = self.src_w(operand(i, 1)?, from)?;
        let relu = m.has("relu");
        let op = match (to, from, &m.flags[..], relu) {
            ("e4m3x2", "f32", ["rn", "satfinite", ..], _) => {
                let b = self.src_w(operand(i, 2)?, from)?;
                Op::W2(if relu { from_f32!(E4m3, true) } else { from_f32!(E4m3, false) }, d, a, b)
            }
            ("e5m2x2", "f32", ["rn", "satfinite", ..], _) => {
                let b = self.src_w(operand(i, 2)?, from)?;
                Op::W2(if relu { from_f32!(E5m2, true) } else { from_f32!(E5m2, false) }, d, a, b)
            }
            ("e4m3x2", "f16x2", ["rn", "satfinite", ..], _) => {
                Op::W1(if relu { from_f16!(E4m3, true) } else { from_f16!(E4m3, false) }, d, a)
            }
            ("e5m2x2", "f16x2", ["rn", "satfinite", ..], _) => {
                Op::W1(if relu { from_f16!(E5m2, true) } else { from_f16!(E5m2, false) }, d, a)
            }
            ("f16x2", "e4m3x2", ["rn"], false) => Op::W1(to_f16!(E4m3), d, a),
            ("f16x2", "e5m2x2", ["rn"], false) => Op::W1(to_f16!(E5m2), d, a),
            _ => return Err("the form of `cvt` is not known".to_owned()),
        };
        if !m.only(&["rn", "satfinite", "relu"]) {
            return Err("a modifier of `cvt` is not known".to_owned());
        }
        self.push(op);
        Ok(())
    }

    fn cvt(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let [to, from] = m.types[..] else {
            return Err("the form of `cvt` is not known".to_owned());
        };
        if [to, from].iter().any(|t| t.starts_with("e4m3") || t.starts_with("e5m2")) {
            return self.cvt_quarter(i, m, to, from);
        }
        let known =
            ["rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "relu"];
        if !m.only(&known) {
            return Err("a modifier of `cvt` is not known".to_owned());
        }
        let mut conversion = Conversion {
            to: number(to).ok_or("the destination type is not known")?,
            from: number(from).ok_or("the source type is not known")?,
            round: Round::Zero,
            to_integral: false,
            ftz: m.has("ftz"),
            sat: m.has("sat"),
            relu: m.has("relu"),
        };
        for flag in &m.flags {
            let (round, integral) = match *flag {
                "rn" => (Round::Nearest, false),
                "rz" => (Round::Zero, false),
                "rm" => (Round::Down, false),
                "rp" => (Round::Up, false),
                "rna" => (Round::Away, false),
                "rni" => (Round::Nearest, true),
                "rzi" => (Round::Zero, true),
                "rmi" => (Round::Down, true),
                "rpi" => (Round::Up, true),
                _ => continue,
            };
            (conversion.round, conversion.to_integral) = (round, integral);
        }
        let pair = matches!(to, "f16x2" | "bf16x2");
        let d = self.register(operand(i, 0)?)?;
        let a = self.any_source(operand(i, 1)?, from)?;
        let b = match (pair, i.operands.get(2)) {
            (true, Some(o)) => Some(self.any_source(o, from)?),
            (false, None) => None,
            _ => return Err("the form of `cvt` is not known".to_owned()),
        };
        if let Some(op) = fast_conversion(to, from, m, d, a, b) {
            self.push(op);
            return Ok(());
        }
        let index = self.program.conversions.len() as u32;
        self.program.conversions.push((conversion, d, a, b));
        self.push(Op::Convert(index));
        Ok(())
    }

    /// A source register of either class, or a literal of the type's class.
    fn any_source(&mut self, o: &Operand<'a>, ty: &str) -> Lowered<Reg> {
        if let Ok(reg) = self.register(o) {
            return Ok(reg);
        }
        Ok(match crate::parse::type_bytes(ty) {
            Some(8) => Reg::D(self.src_d(o)?),
            _ => Reg::W(self.src_w(o, ty)?),
        })
    }
}

/// The type as `cvt` sees it; pairs stand for their element.
fn number(ty: &str) -> Option<Number> {
    Some(match ty {
        "u8" | "b8" => Number::Int(8, false),
        "s8" => Number::Int(8, true),
        "u16" | "b16" => Number::Int(16, false),
        "s16" => Number::Int(16, true),
        "u32" | "b32" => Number::Int(32, false),
        "s32" => Number::Int(32, true),
        "u64" | "b64" => Number::Int(64, false),
        "s64" => Number::Int(64, true),
        "f16" | "f16x2" => Number::Float(F16),
        "bf16" | "bf16x2" => Number::Float(BF16),
        "f32" => Number::Float(F32),
        "f64" => Number::Float(F64),
        "tf32" => Number::Tf32,
        _ => return None,
    })
}

/// Conversions common enough for a lane function of their own.
fn fast_conversion(
    to: &str,
    from: &str,
    m: &Modifiers<'_>,
    d: Reg,
    a: Reg,
    b: Option<Reg>,
) -> Option<Op> {
    use crate::alu::{
        double,
        half::{Bf16Type, F16Type, Half},
        lanes::{d1, w_to_d},
        single,
    };
    let plain = m.flags.is_empty();
    let nearest = m.flags[..] == ["rn"];
    Some(match (to, from, d, a, b) {
        ("s64", "s32", Reg::D(d), Reg::W(a), None) if plain => {
            Op::WtoD(w_to_d!(|a: u32| i64::from(a as i32) as u64), d, a)
        }
        ("u64" | "s64", "u32", Reg::D(d), Reg::W(a), None) if plain => {
            Op::WtoD(w_to_d!(|a: u32| u64::from(a)), d, a)
        }
        ("u32" | "s32", "u64" | "s64", Reg::W(d), Reg::D(a), None) if plain => {
            Op::DtoW(d_to_w!(|a: u64| a as u32), d, a)
        }
        ("u64" | "s64", "u64" | "s64", Reg::D(d), Reg::D(a), None) if plain => {
            Op::D1(d1!(|a: u64| a), d, a)
        }
        ("u16", "u32" | "s32", Reg::W(d), Reg::W(a), None)
        | ("u32" | "s32", "u16", Reg::W(d), Reg::W(a), None)
            if plain =>
        {
            Op::W1(w1!(|a: u32| a & 0xffff), d, a)
        }
        ("s32", "s16", Reg::W(d), Reg::W(a), None)
        | ("s16", "u32" | "s32", Reg::W(d), Reg::W(a), None)
            if plain =>
        {
            Op::W1(w1!(|a: u32| i32::from(a as u16 as i16) as u32), d, a)
        }
        ("f32", "s32", Reg::W(d), Reg::W(a), None) if nearest => {
            Op::W1(w1!(|a: u32| (a as i32 as f32).to_bits()), d, a)
        }
        ("f32", "u32", Reg::W(d), Reg::W(a), None) if nearest => {
            Op::W1(w1!(|a: u32| (a as f32).to_bits()), d, a)
        }
        ("f32", "f32", Reg::W(d), Reg::W(a), None) => {
            let f = match m.flags[..] {
                ["sat"] => w1!(|a: u32| single::output::<false, true>(f32::from_bits(a))),
                ["rni"] => w1!(|a: u32| single::integral(a, f32::round_ties_even)),
                ["rzi"] => w1!(|a: u32| single::integral(a, f32::trunc)),
                ["rmi"] => w1!(|a: u32| single::integral(a, f32::floor)),
                ["rpi"] => w1!(|a: u32| single::integral(a, f32::ceil)),
                _ => return None,
            };
            Op::W1(f, d, a)
        }
        ("s32", "f32", Reg::W(d), Reg::W(a), None) => {
            // The cast saturates and turns NaN into 0, as the instruction does.
            let f = match m.flags[..] {
                ["rni"] => w1!(|a: u32| f32::from_bits(a).round_ties_even() as i32 as u32),
                ["rzi"] => w1!(|a: u32| f32::from_bits(a) as i32 as u32),
                ["rmi"] => w1!(|a: u32| f32::from_bits(a).floor() as i32 as u32),
                ["rpi"] => w1!(|a: u32| f32::from_bits(a).ceil() as i32 as u32),
                _ => return None,
            };
            Op::W1(f, d, a)
        }
        ("f64", "f32", Reg::D(d), Reg::W(a), None) if plain => {
            Op::WtoD(w_to_d!(double::of_single), d, a)
        }
        ("f32", "f64", Reg::W(d), Reg::D(a), None) if nearest => {
            Op::DtoW(d_to_w!(double::to_single), d, a)
        }
        ("f32", "f16", Reg::W(d), Reg::W(a), None) if plain => {
            Op::W1(w1!(|a: u32| single::output::<false, false>(F16Type::to_f32(a & 0xffff))), d, a)
        }
        ("f32", "bf16", Reg::W(d), Reg::W(a), None) if plain => Op::W1(w1!(|a: u32| a << 16), d, a),
        ("f16", "f32", Reg::W(d), Reg::W(a), None) if nearest => {
            Op::W1(w1!(|a: u32| F16Type::from_f32(f32::from_bits(a))), d, a)
        }
        ("bf16", "f32", Reg::W(d), Reg::W(a), None) if nearest => {
            Op::W1(w1!(|a: u32| Bf16Type::from_f32(f32::from_bits(a))), d, a)
        }
        ("f16x2", "f32", Reg::W(d), Reg::W(a), Some(Reg::W(b))) if nearest => Op::W2(
            w2!(|a: u32, b: u32| {
                F16Type::from_f32(f32::from_bits(b)) | F16Type::from_f32(f32::from_bits(a)) << 16
            }),
            d,
            a,
            b,
        ),
        ("bf16x2", "f32", Reg::W(d), Reg::W(a), Some(Reg::W(b))) if nearest => Op::W2(
            w2!(|a: u32, b: u32| {
                Bf16Type::from_f32(f32::from_bits(b)) | Bf16Type::from_f32(f32::from_bits(a)) << 16
            }),
            d,
            a,
            b,
        ),
        _ => return None,
    })
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
            _ => return None,
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
        _ => return None,
    })
}
