//! `wgmma`.

use super::{Builder, Lowered, Modifiers, UNKNOWN, control::operand};
use crate::{
    ast::{Instruction, Operand},
    op::{
        Element, Fragment, MatrixOp, R, Reg, Shape, WarpgroupFactor, WarpgroupOrder,
        WarpgroupProduct,
    },
};

impl<'a> Builder<'a, '_> {
    #[expect(clippy::unnecessary_wraps, reason = "the table asks for this signature")]
    pub(super) fn warpgroup(
        &mut self,
        _: &Instruction<'a>,
        _: &Modifiers<'_>,
        order: WarpgroupOrder,
    ) -> Lowered<()> {
        self.push_matrix(MatrixOp::Warpgroup(order));
        Ok(())
    }

    fn registers_of(&self, list: &[Operand<'a>], n: usize) -> Lowered<Vec<R>> {
        if list.len() != n {
            return Err(format!("a fragment needs {n} registers, not {}", list.len()));
        }
        let register = |o| match self.register(o)? {
            Reg::W(r) => Ok(r),
            _ => Err("a fragment needs 32-bit registers".to_owned()),
        };
        list.iter().map(register).collect()
    }

    pub(super) fn wgmma(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let shape = m.parts.iter().find_map(|part| Shape::named(part)).ok_or(UNKNOWN)?;
        let elements: Vec<Element> = m.parts.iter().filter_map(|p| Element::named(p)).collect();
        let [d, a_element, b_element] = elements[..] else { return Err(UNKNOWN.to_owned()) };
        let Operand::Vector(list) = operand(i, 0)? else {
            return Err("expected a vector of accumulators".to_owned());
        };
        let per = if d == Element::F16 { 4 } else { 2 };
        let d = Fragment { element: d, regs: self.registers_of(list, shape.n / per)? };
        let a = match operand(i, 1)? {
            Operand::Vector(list) => WarpgroupFactor::Registers(self.registers_of(list, 4)?),
            desc => WarpgroupFactor::Memory(self.src_d(desc)?),
        };
        let b = self.src_d(operand(i, 2)?)?;
        let sparse = self.sparse(i, m, 3, (a_element, shape.k))?;
        // Metadata and their selector stand before the scales.
        let scale_at = if sparse.is_some() { 5 } else { 3 };
        let scale_d = self.src_p(operand(i, scale_at)?)?;
        let number = |n: usize| match i.operands.get(scale_at + n) {
            Some(Operand::Int(n)) => Ok(n.cast_signed()),
            _ => Err("expected an immediate".to_owned()),
        };
        let floats = d.element != Element::S32;
        let mut negate = false;
        if floats {
            for at in [1, 2] {
                match number(at)? {
                    1 => {}
                    -1 => negate = !negate,
                    other => return Err(format!("scale {other} is neither 1 nor -1")),
                }
            }
        }
        let halves = matches!(b_element, Element::F16 | Element::Bf16);
        let in_registers = matches!(a, WarpgroupFactor::Registers(_));
        let transposed = match (halves, in_registers) {
            (false, _) => [false; 2],
            (true, true) => [false, number(3)? != 0],
            (true, false) => [number(3)? != 0, number(4)? != 0],
        };
        let most = match (floats, halves, in_registers) {
            (false, ..) => 1,
            (true, false, _) => 3,
            (true, true, true) => 4,
            (true, true, false) => 5,
        };
        if i.operands.len() != scale_at + most {
            return Err(format!("{} operands are not what it takes", i.operands.len()));
        }
        let product = WarpgroupProduct {
            n: shape.n,
            d,
            a,
            a_element,
            b,
            b_element,
            scale_d,
            negate,
            transposed,
            saturate: m.has("satfinite"),
            sparse,
        };
        self.push_matrix(MatrixOp::WarpgroupProduct(Box::new(product)));
        Ok(())
    }
}
