//! Tensor instructions and asynchronous copies.

use super::{Builder, Lowered, control::operand, table::Modifiers};
use crate::{
    ast::{Instruction, Operand},
    op::{AsyncOp, Element, MatrixOp, MatrixOperand, Op, Place, R, Reg, WarpSyncKind},
};

impl<'a> Builder<'a, '_> {
    fn push_matrix(&mut self, op: MatrixOp) {
        self.program.matrices.push(op);
        let index = self.program.matrices.len() as u32 - 1;
        let members = self.const_w(u32::MAX);
        self.push_sync(WarpSyncKind::Matrix(index), members);
    }

    /// Four 32-bit registers in a row; the first is given.
    fn scratch(&mut self) -> R {
        let first = self.temp(0);
        for _ in 0..3 {
            self.temp(0);
        }
        first
    }

    fn fragment_registers(&mut self, o: &Operand<'a>) -> Lowered<Vec<R>> {
        let list = match o {
            Operand::Vector(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        list.iter()
            .map(|o| match self.register(o)? {
                Reg::W(r) => Ok(r),
                _ => Err("a fragment needs 32-bit registers".to_owned()),
            })
            .collect()
    }

    fn matrix_place(m: &Modifiers<'_>) -> Lowered<Place> {
        for flag in &m.flags {
            match *flag {
                "global" => return Ok(Place::Global),
                "shared" | "shared::cta" => return Ok(Place::Shared),
                f if f.starts_with("shared") => {
                    return Err("the state space is not known".to_owned());
                }
                _ => {}
            }
        }
        Ok(Place::Generic)
    }

    pub(super) fn wmma(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let depth =
            match m.flags.iter().find(|f| f.starts_with('m') && f.contains('n') && *f != &"mma") {
                Some(&"m16n16k16") => 16,
                Some(&"m16n16k8") => 8,
                _ => return Err("the shape is not known".to_owned()),
            };
        if m.has("mma") {
            return self.wmma_product(i, m, depth);
        }
        let store = m.has("store");
        let element = element(m.ty()).ok_or("the element type is not known")?;
        let which = if m.has("a") {
            MatrixOperand::A
        } else if m.has("b") {
            MatrixOperand::B
        } else {
            MatrixOperand::C
        };
        let (address, data) = if store { (0, 1) } else { (1, 0) };
        let place = Self::matrix_place(m)?;
        let address = self.address(operand(i, address)?, place)?;
        let regs = self.fragment_registers(operand(i, data)?)?;
        let wanted = match (which, element) {
            (MatrixOperand::C, Element::F32 | Element::S32) => 8,
            (MatrixOperand::C, Element::F16) => 4,
            (MatrixOperand::A | MatrixOperand::B, Element::F16) if depth == 16 => 8,
            (MatrixOperand::A | MatrixOperand::B, Element::Bf16) if depth == 16 => 4,
            (MatrixOperand::A | MatrixOperand::B, Element::Tf32) if depth == 8 => 4,
            _ => return Err("the fragment is not known".to_owned()),
        };
        if regs.len() != wanted {
            return Err("the number of registers does not match".to_owned());
        }
        let row_major = m.has("row");
        let stride = match i.operands.get(2) {
            Some(o) => self.src_w(o, "u32")?,
            None => return Err("the stride is missing".to_owned()),
        };
        let scratch = self.scratch();
        self.push_matrix(MatrixOp::Fragment {
            store,
            operand: which,
            element,
            row_major,
            address,
            stride,
            regs,
            scratch,
        });
        Ok(())
    }

    fn wmma_product(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>, k: u32) -> Lowered<()> {
        let (accumulator, factor) = match m.types[..] {
            ["f32", "f32"] => (Element::F32, Element::F16),
            ["f16", "f16"] => (Element::F16, Element::F16),
            ["f32", "bf16", "bf16", "f32"] => (Element::F32, Element::Bf16),
            ["f32", "tf32", "tf32", "f32"] => (Element::F32, Element::Tf32),
            _ => return Err("the element types are not known".to_owned()),
        };
        if m.has("satfinite") {
            return Err("the form is not known".to_owned());
        }
        self.product(i, m, accumulator, [factor, factor], k)
    }

    pub(super) fn mma(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let shape = m.flags.iter().find_map(|f| f.strip_prefix("m16n8k"));
        let depth: u32 = shape.and_then(|k| k.parse().ok()).ok_or("the shape is not known")?;
        let [d, a, b, c] = m.types[..] else {
            return Err("the element types are not known".to_owned());
        };
        let known = ["sync", "aligned", "row", "col", "satfinite"];
        if d != c || !m.flags.iter().all(|f| known.contains(f) || f.starts_with("m16n8k")) {
            return Err("the form is not known".to_owned());
        }
        let of = |ty| element(ty).ok_or("the element type is not known");
        let (accumulator, a, b) = (of(d)?, of(a)?, of(b)?);
        let fits = match (a, b, accumulator) {
            (Element::F16, Element::F16, Element::F16 | Element::F32)
            | (Element::Bf16, Element::Bf16, Element::F32) => matches!(depth, 8 | 16),
            (Element::Tf32, Element::Tf32, Element::F32) => matches!(depth, 4 | 8),
            (Element::S8 | Element::U8, Element::S8 | Element::U8, Element::S32) => {
                matches!(depth, 16 | 32)
            }
            _ => false,
        };
        if !fits {
            return Err("the combination of types and shape is not known".to_owned());
        }
        self.product(i, m, accumulator, [a, b], depth)
    }

    fn product(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
        accumulator: Element,
        [a_element, b_element]: [Element; 2],
        k: u32,
    ) -> Lowered<()> {
        let d = self.fragment_registers(operand(i, 0)?)?;
        let a = self.fragment_registers(operand(i, 1)?)?;
        let b = self.fragment_registers(operand(i, 2)?)?;
        let c = self.fragment_registers(operand(i, 3)?)?;
        let saturate = m.has("satfinite");
        self.push_matrix(MatrixOp::Product {
            a_element,
            b_element,
            accumulator,
            saturate,
            k,
            d,
            a,
            b,
            c,
        });
        Ok(())
    }

    pub(super) fn matrix_rows(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let store = i.opcode.starts_with("st");
        let known = ["sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta"];
        if !m.only(&known) || !m.has("m8n8") || m.ty() != "b16" {
            return Err("the form is not known".to_owned());
        }
        let (address, data) = if store { (0, 1) } else { (1, 0) };
        let place = Self::matrix_place(m)?;
        let address = self.address(operand(i, address)?, place)?;
        let regs = self.fragment_registers(operand(i, data)?)?;
        let n = if m.has("x4") {
            4
        } else if m.has("x2") {
            2
        } else {
            1
        };
        if regs.len() != n {
            return Err("the number of registers does not match".to_owned());
        }
        let scratch = self.scratch();
        let transpose = m.has("trans");
        self.push_matrix(MatrixOp::Rows { store, transpose, address, regs, scratch });
        Ok(())
    }

    pub(super) fn async_copy(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        if !m.has("async") || m.flags.iter().any(|f| matches!(*f, "bulk" | "mbarrier" | "reduce")) {
            return Err(super::UNKNOWN.to_owned());
        }
        let op = if m.has("commit_group") {
            AsyncOp::Commit
        } else if m.has("wait_all") {
            AsyncOp::WaitAll { scratch: self.scratch() }
        } else if m.has("wait_group") {
            let Operand::Int(n) = operand(i, 0)? else {
                return Err("expected a number of groups".to_owned());
            };
            AsyncOp::Wait { pending: *n as u32, scratch: self.scratch() }
        } else {
            let to = self.address(operand(i, 0)?, Place::Shared)?;
            let from = self.address(operand(i, 1)?, Place::Global)?;
            let Operand::Int(bytes @ (4 | 8 | 16)) = operand(i, 2)? else {
                return Err("the size is not known".to_owned());
            };
            let bytes = *bytes as u32;
            let size = match i.operands.get(3) {
                Some(o @ (Operand::Name(_) | Operand::Int(_))) => {
                    if let Operand::Name(name) = o
                        && !matches!(self.symbol(name), Some(super::Symbol::Register(Reg::W(_))))
                    {
                        return Err("the form is not known".to_owned());
                    }
                    Some(self.src_w(o, "u32")?)
                }
                Some(_) => return Err("the form is not known".to_owned()),
                None => None,
            };
            if i.operands.len() > 4 {
                return Err("the form is not known".to_owned());
            }
            AsyncOp::Copy { to, from, bytes, size, scratch: self.scratch() }
        };
        self.program.copies.push(op);
        self.push(Op::Async(self.program.copies.len() as u32 - 1));
        Ok(())
    }
}

fn element(ty: &str) -> Option<Element> {
    Some(match ty {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "f32" => Element::F32,
        "s8" => Element::S8,
        "u8" => Element::U8,
        "s32" => Element::S32,
        _ => return None,
    })
}
