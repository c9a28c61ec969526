//! Arithmetic, comparison, selection, moves and conversions.

use super::{
    Builder, Lowered, Modifiers, Operand, Symbol, UNKNOWN, compare::compare, control::operand,
};
use crate::{
    alu::{
        integer,
        lanes::{LaneFunction, copy_d, copy_w, d_to_w, w_to_p, w1, w2, w4, ww_to_d},
    },
    ast::Instruction,
    exec::special::Special,
    op::{CarryKind, CarryOp, Op, R},
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
            && let Some(special) = Special::named(name)
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

    /// Moves a vector, whose elements may stand on both sides.
    pub(super) fn mov_vector(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (Operand::Vector(to), Operand::Vector(from)) = (operand(i, 0)?, operand(i, 1)?) else {
            return Err("expected two vectors".to_owned());
        };
        let lanes = if m.has("v2") { 2 } else { 4 };
        if to.len() != lanes || from.len() != lanes {
            return Err(format!("expected {lanes} elements"));
        }
        let (wide, copy) = if m.wide() { (1, copy_d()) } else { (0, copy_w()) };
        let mut held = Vec::new();
        for a in from {
            let a = if m.wide() { self.src_d(a)? } else { self.src_w(a, m.ty())? };
            let t = self.temp(wide);
            self.push(copy.op(t, &[a]));
            held.push(t);
        }
        for (d, t) in to.iter().zip(held) {
            let d = self.destination(copy.result(), d)?;
            self.push(copy.op(d, &[t]));
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

    /// Joins neighbours, lowest bits first, until they fill `d`.
    fn pack(&mut self, d: &Operand<'a>, from: &[Operand<'a>], ty: &str) -> Lowered<()> {
        let to = match ty {
            "b16" | "b32" => vec![self.dst_w(d)?],
            "b64" => vec![self.dst_d(d)?],
            _ => self.wide(d)?.to_vec(),
        };
        let mut bits = 8 * crate::parse::type_bytes(ty).unwrap_or(0) as usize / from.len().max(1);
        if bits == 64 {
            let [a, b] = [self.src_d(&from[0])?, self.src_d(&from[1])?];
            // Either source may be a half of the destination.
            let t = self.temp(1);
            self.push(copy_d().op(t, &[b]));
            self.push(copy_d().op(to[0], &[a]));
            self.push(copy_d().op(to[1], &[t]));
            return Ok(());
        }
        let literals = if bits == 32 { "b32" } else { "b16" };
        let parts = from.iter().map(|part| self.src_w(part, literals));
        let mut parts = parts.collect::<Lowered<Vec<R>>>()?;
        while parts.len() > to.len() {
            let f = match bits {
                8 => w2!(|a, b| (a & 0xff) | (b & 0xff) << 8),
                16 => w2!(|a, b| (a & 0xffff) | (b << 16)),
                32 => ww_to_d!(|a, b| u64::from(a) | u64::from(b) << 32),
                _ => return Err("the form of packing is not known".to_owned()),
            };
            let last = parts.len() == 2 * to.len();
            let join = |(n, pair): (usize, &[R])| {
                let d = if last { to[n] } else { self.temp(0) };
                self.push(f.op(d, pair));
                d
            };
            parts = parts.chunks(2).enumerate().map(join).collect();
            bits *= 2;
        }
        Ok(())
    }

    fn unpack(&mut self, into: &[Operand<'a>], a: &Operand<'a>, ty: &str) -> Lowered<()> {
        let (low_half, high_half) = (d_to_w!(|a| a as u32), d_to_w!(|a| (a >> 32) as u32));
        let parts: &[LaneFunction] = match (ty, into.len()) {
            ("b16", 2) => &[w1!(|a| a & 0xff), w1!(|a| (a >> 8) & 0xff)],
            ("b32", 2) => &[w1!(|a| a & 0xffff), w1!(|a| a >> 16)],
            ("b32", 4) => &[
                w1!(|a| a & 0xff),
                w1!(|a| (a >> 8) & 0xff),
                w1!(|a| (a >> 16) & 0xff),
                w1!(|a| a >> 24),
            ],
            ("b64", 2) | ("b128", 4) => &[low_half, high_half],
            ("b64", 4) => &[
                d_to_w!(|a| a as u32 & 0xffff),
                d_to_w!(|a| (a >> 16) as u32 & 0xffff),
                d_to_w!(|a| (a >> 32) as u32 & 0xffff),
                d_to_w!(|a| (a >> 48) as u32),
            ],
            ("b128", 2) => &[copy_d()],
            _ => return Err("the form of unpacking is not known".to_owned()),
        };
        let sources = match ty {
            "b128" => self.wide(a)?.to_vec(),
            "b64" => vec![self.src_d(a)?],
            _ => vec![self.src_w(a, ty)?],
        };
        let to = into.iter().map(|d| self.destination(parts[0].result(), d));
        let mut to = to.collect::<Lowered<Vec<R>>>()?.into_iter();
        for mut a in sources {
            if ty == "b16" || (ty, into.len()) == ("b32", 4) {
                // The source may be one of the destinations.
                let t = self.temp(0);
                self.push(copy_w().op(t, &[a]));
                a = t;
            }
            for (part, d) in parts.iter().zip(&mut to) {
                self.push(part.op(d, &[a]));
            }
        }
        Ok(())
    }

    /// Pushes the comparison of operands 1 and 2 into a fresh predicate; of pairs, that of the low
    /// and that of the high halves.
    fn comparison(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<(R, Option<R>)> {
        let (ty, element) = (m.ty(), m.ty().trim_end_matches("x2"));
        let f = compare(m.flags[0], element, m.has("ftz")).ok_or("the comparison is not known")?;
        let t = self.temp(2);
        if element == ty {
            let from = self.sources(f, &i.operands[1..], ty)?;
            self.push(f.op(t, &from));
            return Ok((t, None));
        }
        let (a, b) = (self.src_w(operand(i, 1)?, "b32")?, self.src_w(operand(i, 2)?, "b32")?);
        self.push(f.op(t, &[a, b]));
        let high = self.temp(2);
        let upper = [a, b].map(|half| {
            let t = self.temp(0);
            self.push(w1!(|a| a >> 16).op(t, &[half]));
            t
        });
        self.push(f.op(high, &upper));
        Ok((t, Some(high)))
    }

    /// The Boolean combination of a comparison that a `setp` or `set` ends with.
    fn combined(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>, t: R) -> Lowered<R> {
        let Some(op) = m.flags.iter().find(|f| matches!(**f, "and" | "or" | "xor")) else {
            return Ok(t);
        };
        let (c, negated) = self.src_p(operand(i, 3)?)?;
        let c = self.positive(c, negated);
        let r = self.temp(2);
        let f: fn(u32, u32) -> u32 = match *op {
            "and" => |a, b| a & b,
            "or" => |a, b| a | b,
            _ => |a, b| a ^ b,
        };
        self.push(Op::P2(f, r, t, c));
        Ok(r)
    }

    pub(super) fn setp(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (p, q) = match operand(i, 0)? {
            Operand::Pair(p, q) => (&**p, Some(&**q)),
            _ if m.ty().ends_with("x2") => return Err("expected two predicates".to_owned()),
            p => (p, None),
        };
        let (t, high) = self.comparison(i, m)?;
        if q.is_none() && i.operands.len() == 3 {
            // The common form writes its destination at once.
            let d = self.dst_p(p)?;
            match self.ops.last_mut() {
                Some((Op::Lanes(_, _, [r, ..]), _)) if *r == t => *r = d,
                _ => self.push(Op::P2(|a, _| a, d, t, t)),
            }
            return Ok(());
        }
        let r = self.combined(i, m, t)?;
        let second = match q {
            Some(q) => {
                let t = high.unwrap_or_else(|| self.positive(t, true));
                Some((q, self.combined(i, m, t)?))
            }
            None => None,
        };
        for (to, value) in [(p, r)].into_iter().chain(second) {
            let to = self.dst_p(to)?;
            self.push(Op::P2(|a, _| a, to, value, value));
        }
        Ok(())
    }

    pub(super) fn set(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (t, high) = self.comparison(i, m)?;
        let one = match (m.types[0], high) {
            ("f32", _) => 0x3f80_0000,
            ("f16" | "f16x2", _) => 0x3c00,
            ("bf16" | "bf16x2", _) => 0x3f80,
            ("u16" | "s16", _) | (_, Some(_)) => 0xffff,
            _ => u32::MAX,
        };
        let r = self.combined(i, m, t)?;
        let d = self.dst_w(operand(i, 0)?)?;
        let (one, zero) = (self.const_w(one), self.const_w(0));
        let Some(high) = high else {
            self.push(Op::SelectW(d, one, zero, r));
            return Ok(());
        };
        let high = self.combined(i, m, high)?;
        let (a, b) = (self.temp(0), self.temp(0));
        self.push(Op::SelectW(a, one, zero, r));
        self.push(Op::SelectW(b, one, zero, high));
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
        let (zero, by) = (self.const_w(0), m.ty());
        let c = self.src_w(operand(i, 3)?, by)?;
        let f = compare("ge", by, m.has("ftz")).ok_or(UNKNOWN)?;
        let t = self.temp(2);
        self.push(f.op(t, &[c, zero]));
        self.select(operand(i, 0)?, operand(i, 1)?, operand(i, 2)?, t, m.types[0])
    }

    pub(super) fn carry(&mut self, i: &Instruction<'a>, m: &Modifiers<'a>) -> Lowered<()> {
        let (op, wide) = (m.name, m.wide());
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
