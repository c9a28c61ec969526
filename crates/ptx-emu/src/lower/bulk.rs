//! Bulk copies, copies of tensors, and asynchronous stores.

use super::{Builder, Lowered, Modifiers, UNKNOWN, control::operand, memory::atomic_function};
use crate::{
    ast::{Instruction, Operand},
    op::{
        Address, BulkCopy, BulkOp, ElementCopy, MapField, Op, R, Reduction, Reg, ReplaceOp,
        StateSpace, TensorCopy, Way,
    },
};

const REDUCTIONS: [&str; 8] = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];

/// The ways of copies by the modifiers that name both state spaces.
fn way(m: &Modifiers<'_>) -> Way {
    let at = |space: &str| m.parts.iter().position(|part| *part == space);
    let own = at("shared::cluster").or(at("shared::cta"));
    match (m.has("prefetch"), own, at("global")) {
        (true, ..) => Way::Prefetch,
        (_, _, None) => Way::Across,
        (_, Some(shared), Some(global)) if global < shared => Way::Store,
        _ => Way::Load,
    }
}

/// The operation of `cp.reduce.async.bulk` or `red.async`; `tensor` for one whose type the tensor
/// map gives.
fn reduction(m: &Modifiers<'_>, shared: bool) -> Lowered<Reduction> {
    let operation = m.flags.iter().find(|f| REDUCTIONS.contains(f)).ok_or(UNKNOWN)?;
    let bytes = crate::parse::type_bytes(m.ty()).ok_or(UNKNOWN)?;
    let f = function_of(operation, m.ty(), shared).ok_or(UNKNOWN)?;
    Ok(Reduction { f, bytes })
}

/// The function of a reduction in shared or global memory.
pub(crate) fn function_of(operation: &str, ty: &str, shared: bool) -> Option<fn(u64, u64) -> u64> {
    match (operation, ty) {
        ("add", "f32") if shared => Some(super::memory::add_f32_exactly),
        ("add", "s32") => atomic_function("add", "u32"),
        ("and" | "or" | "xor", ty) if ty.ends_with("32") => atomic_function(operation, "b32"),
        ("and" | "or" | "xor", ty) if ty.ends_with("64") => atomic_function(operation, "b64"),
        _ => atomic_function(operation, ty),
    }
}

impl<'a> Builder<'a, '_> {
    fn push_bulk(&mut self, op: BulkOp) {
        self.program.bulks.push(op);
        self.push(Op::Bulk(self.program.bulks.len() as u32 - 1));
    }

    #[expect(clippy::unnecessary_wraps, reason = "the table asks for this signature")]
    pub(super) fn bulk_plain(
        &mut self,
        _: &Instruction<'a>,
        m: &Modifiers<'_>,
        op: BulkOp,
    ) -> Lowered<()> {
        // A fence of global memory alone says nothing of shared memory.
        if m.has("proxy") && m.has("global") {
            self.push(Op::Nop);
        } else {
            self.push_bulk(op);
        }
        Ok(())
    }

    pub(super) fn bulk_wait(
        &mut self,
        i: &Instruction<'a>,
        _: &Modifiers<'_>,
        op: fn(u32) -> BulkOp,
    ) -> Lowered<()> {
        let Operand::Int(pending) = operand(i, 0)? else {
            return Err("expected a number of groups".to_owned());
        };
        self.push_bulk(op(u32::try_from(*pending).unwrap_or(u32::MAX)));
        Ok(())
    }

    /// The blocks of a multicast: operand `at`.
    fn ranks(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>, at: usize) -> Lowered<Option<R>> {
        if !m.has("multicast::cluster") {
            return Ok(None);
        }
        Ok(Some(self.src_w(operand(i, at)?, "u16")?))
    }

    pub(super) fn bulk_copy(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let way = way(m);
        let (to, from) = match way {
            Way::Load | Way::Prefetch => (StateSpace::Shared, StateSpace::Global),
            Way::Across => (StateSpace::Shared, StateSpace::Shared),
            Way::Store => (StateSpace::Global, StateSpace::Shared),
        };
        let reduction = match m.has("reduce") {
            true => Some(reduction(m, way == Way::Across)?),
            false => None,
        };
        let bar = match way {
            Way::Load | Way::Across => Some(self.address(operand(i, 3)?, StateSpace::Shared)?),
            Way::Store | Way::Prefetch => None,
        };
        let copy = BulkCopy {
            way,
            to: self.address(operand(i, 0)?, to)?,
            from: self.address(operand(i, 1)?, from)?,
            bytes: self.src_w(operand(i, 2)?, "u32")?,
            bar,
            ranks: self.ranks(i, m, 4)?,
            reduction,
        };
        self.push_bulk(BulkOp::Copy(Box::new(copy)));
        Ok(())
    }

    /// `[map, {coordinates}]`
    fn tensor_operand(&mut self, o: &Operand<'a>) -> Lowered<(Address, Vec<R>)> {
        let Operand::List(parts) = o else {
            return Err("expected a tensor map with coordinates".to_owned());
        };
        let [map, Operand::Vector(coordinates)] = parts.as_slice() else {
            return Err("expected a tensor map with coordinates".to_owned());
        };
        let map = self.address(map, StateSpace::Generic)?;
        let coordinates =
            coordinates.iter().map(|c| self.src_w(c, "s32")).collect::<Lowered<Vec<R>>>()?;
        Ok((map, coordinates))
    }

    pub(super) fn tensor_copy(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let way = way(m);
        let (tensor, shared) = match way {
            Way::Store => (0, Some(1)),
            Way::Prefetch => (0, None),
            Way::Load | Way::Across => (1, Some(0)),
        };
        let (map, coordinates) = self.tensor_operand(operand(i, tensor)?)?;
        let rank = m.parts.iter().find_map(|p| p.strip_suffix('d')?.parse::<usize>().ok());
        if rank != Some(coordinates.len()) {
            return Err(format!("{} coordinates", coordinates.len()));
        }
        let shared = match shared {
            Some(at) => Some(self.address(operand(i, at)?, StateSpace::Shared)?),
            None => None,
        };
        let bar = match way {
            Way::Load => Some(self.address(operand(i, 2)?, StateSpace::Shared)?),
            _ => None,
        };
        let im2col = m.has("im2col") || m.has("im2col_no_offs");
        let mut next = if way == Way::Prefetch { 1 } else { 3 };
        let mut offsets = Vec::new();
        if m.has("im2col") {
            let Operand::Vector(list) = operand(i, next)? else {
                return Err("expected im2col offsets".to_owned());
            };
            offsets = list.iter().map(|o| self.src_w(o, "u16")).collect::<Lowered<_>>()?;
            if offsets.len() + 2 != coordinates.len() {
                return Err(format!("{} im2col offsets", offsets.len()));
            }
            next += 1;
        }
        // The type is known with the map, so the operation is chosen then.
        let reduction = match m.flags.iter().find(|f| REDUCTIONS.contains(f)) {
            Some(name) if m.has("reduce") => {
                Some(REDUCTIONS.iter().position(|r| r == name).unwrap_or(0))
            }
            _ => None,
        };
        let copy = TensorCopy {
            way,
            map,
            coordinates,
            im2col,
            offsets,
            shared,
            bar,
            ranks: self.ranks(i, m, next)?,
            reduction: reduction.map(|n| REDUCTIONS[n]),
        };
        self.push_bulk(BulkOp::Tensor(Box::new(copy)));
        Ok(())
    }

    /// `st.async` and `red.async`.
    pub(super) fn element_copy(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let bytes = crate::parse::type_bytes(m.ty()).ok_or(UNKNOWN)?;
        let reduction = if m.name == "red" { Some(reduction(m, true)?) } else { None };
        let list = match operand(i, 1)? {
            Operand::Vector(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        let want = match (m.has("v2"), m.has("v4")) {
            (true, _) => 2,
            (_, true) => 4,
            _ => 1,
        };
        if list.len() != want {
            return Err(format!("{} registers where {want} are needed", list.len()));
        }
        let value = |b: &mut Self, o: &Operand<'a>| {
            Ok(if bytes == 8 { Reg::D(b.src_d(o)?) } else { Reg::W(b.src_w(o, "b32")?) })
        };
        let values = list.iter().map(|o| value(self, o)).collect::<Lowered<_>>()?;
        let copy = ElementCopy {
            to: self.address(operand(i, 0)?, StateSpace::Shared)?,
            values,
            bytes,
            bar: self.address(operand(i, 2)?, StateSpace::Shared)?,
            reduction,
        };
        self.push_bulk(BulkOp::Element(Box::new(copy)));
        Ok(())
    }

    pub(super) fn tensormap_replace(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
    ) -> Lowered<()> {
        let mut last = 1;
        let mut ordinal = || match i.operands.get(1) {
            Some(Operand::Int(n)) => {
                last = 2;
                Ok(usize::try_from(*n).unwrap_or(usize::MAX))
            }
            _ => Err("expected the number of a dimension".to_owned()),
        };
        let field = match *m.parts.get(2).ok_or(UNKNOWN)? {
            "global_address" => MapField::Address,
            "rank" => MapField::Rank,
            "box_dim" => MapField::Box(ordinal()?),
            "global_dim" => MapField::Dim(ordinal()?),
            "global_stride" => MapField::Stride(ordinal()?),
            "element_stride" => MapField::ElementStride(ordinal()?),
            "elemtype" => MapField::Type,
            "interleave_layout" => MapField::Interleave,
            "swizzle_mode" => MapField::Swizzle,
            "fill_mode" => MapField::Fill,
            _ => return Err(UNKNOWN.to_owned()),
        };
        let value = operand(i, last)?;
        let value =
            if m.wide() { Reg::D(self.src_d(value)?) } else { Reg::W(self.src_w(value, "u32")?) };
        let map = self.address(operand(i, 0)?, self.place(m))?;
        self.push_bulk(BulkOp::Replace(Box::new(ReplaceOp { field, map, value })));
        Ok(())
    }

    pub(super) fn tensormap_copy(&mut self, i: &Instruction<'a>, _: &Modifiers<'_>) -> Lowered<()> {
        let to = self.address(operand(i, 0)?, StateSpace::Global)?;
        let from = self.address(operand(i, 1)?, StateSpace::Shared)?;
        self.push_bulk(BulkOp::CopyMap(to, from));
        Ok(())
    }
}
