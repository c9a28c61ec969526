//! Operands as registers: sources, of whatever kind, and destinations.

use super::{Builder, Lowered, Symbol, function_address};
use crate::{
    alu::lanes::{LaneFunction, d2, w2},
    ast::Operand,
    exec::special::Special,
    op::{Class, Const, Op, R, Reg},
};

impl<'a> Builder<'a, '_> {
    /// The register operand, if it is one.
    pub(super) fn register(&self, operand: &Operand<'a>) -> Lowered<Reg> {
        match operand {
            Operand::Name(name) => match self.symbol(name) {
                Some(Symbol::Register(reg)) => Ok(reg),
                _ => Err(format!("`{name}` is no known register")),
            },
            Operand::Lane(name, n) => match self.symbol(name) {
                Some(Symbol::Vector(lanes, first)) if *n < lanes => Ok(first.behind(*n)),
                _ => Err(format!("`{name}` is no vector register")),
            },
            _ => Err("expected a register".to_owned()),
        }
    }

    /// A 32-bit source; `ty` is the type of a literal.
    pub(super) fn src_w(&mut self, operand: &Operand<'a>, ty: &str) -> Lowered<R> {
        match operand {
            Operand::Int(v) => {
                let mask = if crate::parse::type_bytes(ty) == Some(2) { 0xffff } else { u32::MAX };
                Ok(self.const_w(*v as u32 & mask))
            }
            Operand::F32(bits) => Ok(self.const_w(*bits)),
            Operand::F64(bits) => Ok(self.const_w((f64::from_bits(*bits) as f32).to_bits())),
            Operand::Name(name) => match self.symbol(name) {
                Some(Symbol::Register(Reg::W(r))) => Ok(r),
                Some(Symbol::Register(_) | Symbol::Wide(_) | Symbol::Vector(..)) => {
                    Err(format!("`{name}` is no 32-bit register"))
                }
                Some(Symbol::KernelParam(at) | Symbol::Frame(at)) => Ok(self.const_w(at)),
                None => {
                    if let Some(special) = Special::named(name) {
                        let r = self.temp(0);
                        self.push(Op::Special(special, Reg::W(r)));
                        return Ok(r);
                    }
                    if *name == "WARP_SZ" {
                        return Ok(self.const_w(32));
                    }
                    if let Some(r) = self.reserved_shared(name) {
                        return Ok(r);
                    }
                    let index = self.variable(name).ok_or(format!("`{name}` is not known"))?;
                    Ok(self.constant(0, Const::Variable(index, 0)))
                }
            },
            Operand::Offset(name, offset) => {
                if self.symbol(name).is_none()
                    && let Some(index) = self.variable(name)
                {
                    return Ok(self.constant(0, Const::Variable(index, *offset as u64)));
                }
                let (base, offset) = (self.src_w(&Operand::Name(name), ty)?, *offset as u32);
                let (d, offset) = (self.temp(0), self.const_w(offset));
                self.push(w2!(|a, b| a.wrapping_add(b)).op(d, &[base, offset]));
                Ok(d)
            }
            Operand::Lane(..) => match self.register(operand)? {
                Reg::W(r) => Ok(r),
                _ => Err("the vector's elements have no 32 bits".to_owned()),
            },
            _ => Err("operand form is not known here".to_owned()),
        }
    }

    pub(super) fn src_d(&mut self, operand: &Operand<'a>) -> Lowered<R> {
        match operand {
            Operand::Int(v) => Ok(self.constant(1, Const::Value(*v))),
            Operand::F64(bits) => Ok(self.constant(1, Const::Value(*bits))),
            Operand::F32(bits) => {
                let value = f64::from(f32::from_bits(*bits)).to_bits();
                Ok(self.constant(1, Const::Value(value)))
            }
            Operand::Name(name) => self.src_d_name(name, 0),
            Operand::Offset(name, offset) => self.src_d_name(name, *offset as u64),
            Operand::Lane(..) => match self.register(operand)? {
                Reg::D(r) => Ok(r),
                _ => Err("the vector's elements have no 64 bits".to_owned()),
            },
            _ => Err("operand form is not known here".to_owned()),
        }
    }

    fn src_d_name(&mut self, name: &'a str, offset: u64) -> Lowered<R> {
        match self.symbol(name) {
            Some(Symbol::Register(Reg::D(r))) => return Ok(self.plus(r, offset)),
            Some(Symbol::Register(_) | Symbol::Wide(_) | Symbol::Vector(..)) => {
                return Err(format!("`{name}` is no 64-bit register"));
            }
            Some(Symbol::KernelParam(at)) => {
                return Ok(self.constant(1, Const::Value(u64::from(at) + offset)));
            }
            Some(Symbol::Frame(at)) => {
                let r = self.temp(1);
                self.push(Op::LocalAddress(r, at.wrapping_add(offset as u32)));
                return Ok(r);
            }
            None => {}
        }
        if let Some(special) = Special::named(name) {
            let r = self.temp(1);
            self.push(Op::Special(special, Reg::D(r)));
            return Ok(self.plus(r, offset));
        }
        if let Some(index) = self.variable(name) {
            return Ok(self.constant(1, Const::Variable(index, offset)));
        }
        if let Some(index) = self.names.functions.get(name) {
            return Ok(self.constant(1, Const::Value(function_address(*index))));
        }
        Err(format!("`{name}` is not known"))
    }

    /// A 64-bit register plus a constant.
    fn plus(&mut self, r: R, offset: u64) -> R {
        if offset == 0 {
            return r;
        }
        let (d, offset) = (self.temp(1), self.constant(1, Const::Value(offset)));
        self.push(d2!(|a, b| a.wrapping_add(b)).op(d, &[r, offset]));
        d
    }

    /// A predicate source and whether it is negated.
    pub(super) fn src_p(&mut self, operand: &Operand<'a>) -> Lowered<(R, bool)> {
        match operand {
            Operand::Name(name) => match (self.symbol(name), Special::named(name)) {
                (Some(Symbol::Register(Reg::P(r))), _) => Ok((r, false)),
                (None, Some(special)) => {
                    let r = self.temp(2);
                    self.push(Op::Special(special, Reg::P(r)));
                    Ok((r, false))
                }
                _ => Err("expected a predicate".to_owned()),
            },
            Operand::Not(name) => {
                let (r, _) = self.src_p(&Operand::Name(name))?;
                Ok((r, true))
            }
            Operand::Int(v) => {
                // A predicate literal: xor of a register with itself gives false.
                let r = self.temp(2);
                self.push(Op::P2(|_, _| 0, r, r, r));
                Ok((r, *v != 0))
            }
            _ => Err("expected a predicate".to_owned()),
        }
    }

    /// A predicate register that holds the possibly negated predicate.
    pub(super) fn positive(&mut self, p: R, negated: bool) -> R {
        if !negated {
            return p;
        }
        let t = self.temp(2);
        self.push(Op::P2(|a, _| !a, t, p, p));
        t
    }

    /// The sources of a lane function, one operand each; `ty` is the type of literals.
    pub(super) fn sources(
        &mut self,
        f: LaneFunction,
        operands: &[Operand<'a>],
        ty: &str,
    ) -> Lowered<Vec<R>> {
        let mut registers = Vec::with_capacity(4);
        for (n, class) in f.sources().enumerate() {
            let operand = operands.get(n).ok_or("operands are missing")?;
            registers.push(match class {
                // The first two are of the type; others are counts and selectors.
                Class::W => self.src_w(operand, if n < 2 { ty } else { "b32" })?,
                Class::D => self.src_d(operand)?,
                Class::P => {
                    let (p, negated) = self.src_p(operand)?;
                    self.positive(p, negated)
                }
            });
        }
        Ok(registers)
    }

    pub(super) fn destination(&mut self, class: Class, operand: &Operand<'a>) -> Lowered<R> {
        match class {
            Class::W => self.dst_w(operand),
            Class::D => self.dst_d(operand),
            Class::P => self.dst_p(operand),
        }
    }

    pub(super) fn dst_w(&mut self, operand: &Operand<'a>) -> Lowered<R> {
        match operand {
            Operand::Name("_") => Ok(self.temp(0)),
            _ => match self.register(operand)? {
                Reg::W(r) => Ok(r),
                _ => Err("destination is no 32-bit register".to_owned()),
            },
        }
    }

    pub(super) fn dst_d(&mut self, operand: &Operand<'a>) -> Lowered<R> {
        match operand {
            Operand::Name("_") => Ok(self.temp(1)),
            _ => match self.register(operand)? {
                Reg::D(r) => Ok(r),
                _ => Err("destination is no 64-bit register".to_owned()),
            },
        }
    }

    pub(super) fn dst_p(&mut self, operand: &Operand<'a>) -> Lowered<R> {
        match operand {
            Operand::Name("_") => Ok(self.temp(2)),
            _ => match self.register(operand)? {
                Reg::P(r) => Ok(r),
                _ => Err("destination is no predicate".to_owned()),
            },
        }
    }
}
