//! Tensor instructions and asynchronous copies.

use super::{Builder, Lowered, Modifiers, UNKNOWN, control::operand};
use crate::{
    ast::{Instruction, Operand},
    op::{
        Address, Arithmetic, AsyncOp, Element, Fragment, FragmentAccess, FragmentOp, MatrixOp,
        MatrixOperand, MemoryOp, Op, ProductOp, R, Reg, RowsOp, Shape, Sparse, StateSpace,
        WarpSyncKind,
    },
};

/// Modifiers of a matrix instruction, in order.
struct Form {
    shape: Shape,
    elements: Vec<Element>,
    /// Layouts: whether each is by rows.
    by_rows: Vec<bool>,
}

impl Form {
    fn new(m: &Modifiers<'_>) -> Lowered<Self> {
        let parts = || m.parts.iter().copied();
        let layouts = parts().filter(|part| matches!(*part, "row" | "col"));
        Ok(Self {
            shape: parts().find_map(Shape::named).ok_or(UNKNOWN)?,
            elements: parts().filter_map(Element::named).collect(),
            by_rows: layouts.map(|layout| layout == "row").collect(),
        })
    }
}

impl<'a> Builder<'a, '_> {
    pub(super) fn push_matrix(&mut self, op: MatrixOp) {
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

    /// A fragment of `n` registers; those of a result may be sinks.
    fn matrix_fragment(
        &mut self,
        o: &Operand<'a>,
        element: Element,
        n: usize,
        result: bool,
    ) -> Lowered<Fragment> {
        let list = match o {
            Operand::Vector(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        if list.len() != n {
            return Err(format!("a fragment needs {n} registers, not {}", list.len()));
        }
        let double = element == Element::F64;
        let register = |o: &Operand<'a>| match o {
            Operand::Name("_") if result => Ok(self.temp(usize::from(double))),
            o => match self.register(o)? {
                Reg::D(r) if double => Ok(r),
                Reg::W(r) if !double => Ok(r),
                _ => Err("a fragment needs registers of its element's width".to_owned()),
            },
        };
        let regs = list.iter().map(register).collect::<Lowered<_>>()?;
        Ok(Fragment { element, regs })
    }

    pub(super) fn wmma(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        if m.has("mma") {
            // Layouts matter to the loads only: a fragment in registers is the same for all.
            return self.product(i, m, wmma_registers);
        }
        let form = Form::new(m)?;
        let (shape, element, by_rows) = (form.shape, form.elements[0], form.by_rows[0]);
        let store = m.has("store");
        let which = if m.has("a") {
            MatrixOperand::A
        } else if m.has("b") {
            MatrixOperand::B
        } else {
            MatrixOperand::C
        };
        let distinct = shape.registers(which, element);
        let (address, data) = if store { (0, 1) } else { (1, 0) };
        let n = wmma_registers(which, element, distinct);
        let data = self.matrix_fragment(operand(i, data)?, element, n, !store)?;
        let address = self.address(operand(i, address)?, self.place(m))?;
        let stride = match i.operands.get(2) {
            Some(o) => self.src_w(o, "u32")?,
            None => self.const_w(row_length(shape, which, by_rows) as u32),
        };
        let scratch = self.temp(0);
        let accesses = (0..distinct)
            .flat_map(|r| accesses(store, shape, which, by_rows, &data, &address, r, scratch))
            .collect();
        let row_bytes = row_length(shape, which, by_rows) * element.bits() / 8;
        let alignment = row_bytes.min(16) as u32;
        let op = FragmentOp { store, data, address, stride, alignment, accesses };
        self.push_matrix(MatrixOp::Fragment(Box::new(op)));
        Ok(())
    }

    pub(super) fn mma(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        self.product(i, m, |_, _, distinct| distinct)
    }

    fn product(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
        registers: impl Fn(MatrixOperand, Element, usize) -> usize,
    ) -> Lowered<()> {
        let Form { shape, elements, by_rows } = Form::new(m)?;
        let [d, a, b, c] = match elements[..] {
            [d, c] => [d, Element::F16, Element::F16, c],
            [d, a, b, c] => [d, a, b, c],
            _ => return Err(UNKNOWN.to_owned()),
        };
        let quads = (shape.m, shape.n) == (8, 8) && a == Element::F16;
        let arithmetic = match a {
            Element::B1 => Arithmetic::Bits { and: m.has("and") },
            Element::F64 => Arithmetic::Double,
            _ if quads => Arithmetic::Quads { a_rows: by_rows[0], b_rows: by_rows[1] },
            _ if d == Element::S32 => Arithmetic::Integer { saturate: m.has("satfinite") },
            _ => Arithmetic::Float,
        };
        let sparse = self.sparse(i, m, 4, (a, shape.k))?;
        let is_sparse = sparse.is_some();
        let mut fragment = |n: usize, which, element| {
            // Each lane of a quad holds four elements of a factor and eight of the sum.
            let per = element_count(which) / Element::per_register(element);
            let stored = if is_sparse && which == MatrixOperand::A { 2 } else { 1 };
            let distinct = if quads { per } else { shape.registers(which, element) / stored };
            let o = operand(i, n)?;
            self.matrix_fragment(o, element, registers(which, element, distinct), n == 0)
        };
        let op = ProductOp {
            shape,
            arithmetic,
            sparse,
            d: fragment(0, MatrixOperand::C, d)?,
            a: fragment(1, MatrixOperand::A, a)?,
            b: fragment(2, MatrixOperand::B, b)?,
            c: fragment(3, MatrixOperand::C, c)?,
        };
        self.push_matrix(MatrixOp::Product(Box::new(op)));
        Ok(())
    }

    /// The metadata of a sparse product: operand `at`, with the selector behind it.
    pub(super) fn sparse(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
        at: usize,
        (element, k): (Element, usize),
    ) -> Lowered<Option<Sparse>> {
        let ordered = m.has("sp::ordered_metadata");
        if !ordered && !m.has("sp") {
            return Ok(None);
        }
        let metadata = self.src_w(operand(i, at)?, "b32")?;
        let &Operand::Int(selector) = operand(i, at + 1)? else {
            return Err("the sparsity selector is no immediate".to_owned());
        };
        let sparse = Sparse { metadata, selector: selector as u32, ordered, element, k };
        if selector >= u64::from(sparse.selectors()) {
            return Err(format!("sparsity selector {selector} is undefined for this shape"));
        }
        Ok(Some(sparse))
    }

    pub(super) fn matrix_rows(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let store = i.opcode.starts_with("st");
        let n = if m.has("x1") { 1 } else { 2 << u32::from(m.has("x4")) };
        let (address, data) = if store { (0, 1) } else { (1, 0) };
        let address = self.address(operand(i, address)?, self.place(m))?;
        let data = self.matrix_fragment(operand(i, data)?, Element::F16, n, !store)?;
        let scratch = self.scratch();
        let regs = (0..4).map(|r| Some(Reg::W(scratch + r))).collect();
        let memory = MemoryOp::plain(store, 4, address, regs);
        let op = RowsOp { transpose: m.has("trans"), data, address, memory, scratch };
        self.push_matrix(MatrixOp::Rows(Box::new(op)));
        Ok(())
    }

    pub(super) fn matrix_transpose(
        &mut self,
        i: &Instruction<'a>,
        _: &Modifiers<'_>,
    ) -> Lowered<()> {
        let to = self.matrix_fragment(operand(i, 0)?, Element::F16, 1, true)?;
        let from = self.matrix_fragment(operand(i, 1)?, Element::F16, 1, false)?;
        self.push_matrix(MatrixOp::Transpose(to, from));
        Ok(())
    }

    pub(super) fn async_copy(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
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
            let to = self.address(operand(i, 0)?, StateSpace::Shared)?;
            let from = self.address(operand(i, 1)?, StateSpace::Global)?;
            let Operand::Int(bytes @ (4 | 8 | 16)) = operand(i, 2)? else {
                return Err("the size is not known".to_owned());
            };
            let bytes = *bytes as u32;
            // Behind the size, if any, there may be a cache policy.
            let n = i.operands.len() - usize::from(m.has("L2::cache_hint"));
            let size = if n > 3 { Some(self.src_w(operand(i, 3)?, "u32")?) } else { None };
            AsyncOp::Copy { to, from, bytes, size, scratch: self.scratch() }
        };
        self.program.copies.push(op);
        self.push(Op::Async(self.program.copies.len() as u32 - 1));
        Ok(())
    }
}

/// Elements of an operand in each lane of a quad.
fn element_count(which: MatrixOperand) -> usize {
    if which == MatrixOperand::C { 8 } else { 4 }
}

/// Registers of a `wmma` fragment: factors of f16 always fill eight.
fn wmma_registers(which: MatrixOperand, element: Element, distinct: usize) -> usize {
    if which != MatrixOperand::C && element == Element::F16 { 8 } else { distinct }
}

/// Elements from one row (column) to the next in a matrix without gaps.
fn row_length(shape: Shape, which: MatrixOperand, by_rows: bool) -> usize {
    match (which, by_rows) {
        (MatrixOperand::A, true) | (MatrixOperand::B, false) => shape.k,
        (MatrixOperand::B | MatrixOperand::C, true) => shape.n,
        (MatrixOperand::A | MatrixOperand::C, false) => shape.m,
    }
}

/// The accesses that fill or store register `r` of a fragment: one if the elements of the register
/// follow each other in memory, else one for each of them.
#[expect(clippy::too_many_arguments, reason = "the instruction's operands")]
fn accesses(
    store: bool,
    shape: Shape,
    which: MatrixOperand,
    by_rows: bool,
    data: &Fragment,
    address: &Address,
    r: usize,
    scratch: R,
) -> Vec<FragmentAccess> {
    let element = data.element;
    let (bits, per) = (element.bits(), element.per_register());
    let whole = per == 1 || by_rows != (which == MatrixOperand::B);
    let n = if whole { 1 } else { per };
    let access = |within: usize| {
        let place = |lane: usize| {
            let (row, column) = shape.place(which, element, lane, r * per + within);
            if by_rows { (row, column) } else { (column, row) }
        };
        let register = match element {
            _ if !whole => Reg::W(scratch),
            Element::F64 => Reg::D(data.regs[r]),
            _ => Reg::W(data.regs[r]),
        };
        let bytes = if whole { (bits * per / 8) as u32 } else { bits as u32 / 8 };
        FragmentAccess {
            register: r,
            shift: (!whole).then_some((bits * within) as u32),
            memory: MemoryOp::plain(store, bytes, *address, vec![Some(register)]),
            rows: std::array::from_fn(|lane| place(lane).0 as u8),
            bytes: std::array::from_fn(|lane| (place(lane).1 * bits / 8) as u8),
        }
    };
    (0..n).map(access).collect()
}
