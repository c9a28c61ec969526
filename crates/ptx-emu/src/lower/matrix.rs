//! Tensor instructions and asynchronous copies.

use super::{Builder, Lowered, Modifiers, control::operand};
use crate::{
    ast::{Instruction, Operand},
    op::{
        Address, Arithmetic, AsyncOp, Element, Fragment, FragmentAccess, FragmentOp, MatrixOp,
        MatrixOperand, MemoryOp, Op, ProductOp, R, Reg, RowsOp, Shape, StateSpace, WarpSyncKind,
    },
};

/// Modifiers of a matrix instruction.
struct Form<'m> {
    shape: Shape,
    /// Elements in order.
    elements: Vec<Element>,
    /// Layouts in order: whether each is by rows.
    by_rows: Vec<bool>,
    /// Everything else but `sync` and `aligned`.
    rest: Vec<&'m str>,
}

impl<'m> Form<'m> {
    /// Splits the modifiers behind the opcode.
    fn new(parts: &[&'m str]) -> Lowered<Self> {
        let (mut shape, mut elements, mut by_rows, mut rest) = (None, vec![], vec![], vec![]);
        for part in parts {
            if let Some(named) = Shape::named(part) {
                shape = Some(named);
            } else if let Some(element) = Element::named(part) {
                elements.push(element);
            } else {
                match *part {
                    "row" => by_rows.push(true),
                    "col" => by_rows.push(false),
                    "sync" | "aligned" => {}
                    other => rest.push(other),
                }
            }
        }
        Ok(Self { shape: shape.ok_or("the shape is not known")?, elements, by_rows, rest })
    }

    /// Takes a modifier out; whether it was there.
    fn take(&mut self, name: &str) -> bool {
        let before = self.rest.len();
        self.rest.retain(|r| *r != name);
        self.rest.len() < before
    }

    /// Refuses modifiers that have not been taken.
    fn finish(&self) -> Lowered<()> {
        match self.rest.first() {
            Some(other) => Err(format!("the modifier `.{other}` is not known here")),
            None => Ok(()),
        }
    }
}

/// Whether `wmma` has the shape for factors of this type.
fn wmma_fits(shape: Shape, factor: Element) -> bool {
    use Element::{B1, Bf16, F16, F64, S4, S8, Tf32, U4, U8};
    match (shape.m, shape.n, shape.k) {
        (16, 16, 16) | (32, 8, 16) | (8, 32, 16) => matches!(factor, F16 | Bf16 | S8 | U8),
        (16, 16, 8) => factor == Tf32,
        (8, 8, 4) => factor == F64,
        (8, 8, 32) => matches!(factor, S4 | U4),
        (8, 8, 128) => factor == B1,
        _ => false,
    }
}

/// Whether `wmma` has a fragment of this type for the operand.
fn wmma_holds(shape: Shape, which: MatrixOperand, element: Element) -> bool {
    let factors: &[Element] = match (which, element) {
        (MatrixOperand::C, Element::F16) => &[Element::F16],
        (MatrixOperand::C, Element::F32) => &[Element::F16, Element::Tf32],
        (MatrixOperand::C, Element::F64) => &[Element::F64],
        (MatrixOperand::C, Element::S32) => &[Element::S8, Element::S4, Element::B1],
        (MatrixOperand::C, _) => &[],
        _ => &[element],
    };
    factors.iter().any(|f| wmma_fits(shape, *f))
}

/// Whether `mma` has the shape for these factors.
fn mma_fits(shape: Shape, a: Element, b: Element) -> bool {
    use Element::{B1, Bf16, E4m3, E5m2, F16, F64, S4, S8, Tf32, U4, U8};
    let small = (shape.m, shape.n) == (8, 8);
    if !small && (shape.m, shape.n) != (16, 8) {
        return false;
    }
    match (a, b) {
        (F16, F16) if small => shape.k == 4,
        (F16, F16) | (Bf16, Bf16) => !small && matches!(shape.k, 8 | 16),
        (Tf32, Tf32) => !small && matches!(shape.k, 4 | 8),
        (F64, F64) if small => shape.k == 4,
        (F64, F64) => matches!(shape.k, 4 | 8 | 16),
        (E4m3 | E5m2, E4m3 | E5m2) => !small && matches!(shape.k, 16 | 32),
        (S8 | U8, S8 | U8) if small => shape.k == 16,
        (S8 | U8, S8 | U8) => matches!(shape.k, 16 | 32),
        (S4 | U4, S4 | U4) if small => shape.k == 32,
        (S4 | U4, S4 | U4) => matches!(shape.k, 32 | 64),
        (B1, B1) if small => shape.k == 128,
        (B1, B1) => matches!(shape.k, 128 | 256),
        _ => false,
    }
}

/// Whether a product of the factor's type goes into these accumulators: D, C.
fn accumulates(factor: Element, d: Element, c: Element) -> bool {
    use Element::{Bf16, E4m3, E5m2, F16, F32, F64, S32, Tf32};
    match factor {
        F16 => matches!(d, F16 | F32) && matches!(c, F16 | F32),
        E4m3 | E5m2 => matches!(d, F16 | F32) && c == d,
        Bf16 | Tf32 => d == F32 && c == F32,
        F64 => d == F64 && c == F64,
        _ => d == S32 && c == S32,
    }
}

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

    /// A fragment of `n` registers.
    fn matrix_fragment(&self, o: &Operand<'a>, element: Element, n: usize) -> Lowered<Fragment> {
        let list = match o {
            Operand::Vector(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        if list.len() != n {
            return Err(format!("a fragment needs {n} registers, not {}", list.len()));
        }
        let register = |o| match (self.register(o)?, element) {
            (Reg::D(r), Element::F64) => Ok(r),
            (Reg::W(r), e) if e != Element::F64 => Ok(r),
            _ => Err("a fragment needs registers of its element's width".to_owned()),
        };
        let regs = list.iter().map(register).collect::<Lowered<_>>()?;
        Ok(Fragment { element, regs })
    }

    fn matrix_place(flag: &str) -> Option<StateSpace> {
        match flag {
            "global" => Some(StateSpace::Global),
            "shared" | "shared::cta" => Some(StateSpace::Shared),
            _ => None,
        }
    }

    pub(super) fn wmma(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let mut form = Form::new(&m.parts)?;
        if form.take("mma") {
            return self.wmma_product(i, form);
        }
        let store = form.take("store");
        if !store && !form.take("load") {
            return Err(super::UNKNOWN.to_owned());
        }
        let which = if form.take("a") {
            MatrixOperand::A
        } else if form.take("b") {
            MatrixOperand::B
        } else {
            form.take(if store { "d" } else { "c" });
            MatrixOperand::C
        };
        let place = form.rest.iter().find_map(|f| Self::matrix_place(f));
        form.rest.retain(|f| Self::matrix_place(f).is_none());
        form.finish()?;
        let (&[element], &[by_rows]) = (form.elements.as_slice(), form.by_rows.as_slice()) else {
            return Err("one type and one layout are needed".to_owned());
        };
        let shape = form.shape;
        if !wmma_holds(shape, which, element) {
            return Err("the combination of type and shape is not known".to_owned());
        }
        if element.bits() < 8 && by_rows == (which == MatrixOperand::B) {
            return Err("the layout is not known for this type".to_owned());
        }
        let distinct = shape.registers(which, element);
        let (address, data) = if store { (0, 1) } else { (1, 0) };
        let n = wmma_registers(which, element, distinct);
        let data = self.matrix_fragment(operand(i, data)?, element, n)?;
        let address = self.address(operand(i, address)?, place.unwrap_or(StateSpace::Generic))?;
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

    fn wmma_product(&mut self, i: &Instruction<'a>, mut form: Form<'_>) -> Lowered<()> {
        let (d, a, b, c) = match form.elements[..] {
            [d, c] => (d, Element::F16, Element::F16, c),
            [d, a, b, c] => (d, a, b, c),
            _ => return Err("the element types are not known".to_owned()),
        };
        // Doubles are rounded to nearest, as everything else.
        form.take("rn");
        if a != b || !wmma_fits(form.shape, a) || !accumulates(a, d, c) {
            return Err("the combination of types and shape is not known".to_owned());
        }
        // Layouts matter to the loads only: a fragment in registers is the same for all.
        self.product(i, form, [d, a, b, c], wmma_registers)
    }

    pub(super) fn mma(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let form = Form::new(&m.parts)?;
        let [d, a, b, c] = form.elements[..] else {
            return Err("the element types are not known".to_owned());
        };
        let quads = a == Element::F16 && form.shape.m == 8;
        let same = d == c || (quads && d == Element::F32);
        if !mma_fits(form.shape, a, b) || !accumulates(a, d, c) || !same {
            return Err("the combination of types and shape is not known".to_owned());
        }
        if !quads && form.by_rows != [true, false] {
            return Err("the layouts are not known".to_owned());
        }
        self.product(i, form, [d, a, b, c], |_, _, distinct| distinct)
    }

    fn product(
        &mut self,
        i: &Instruction<'a>,
        mut form: Form<'_>,
        [d, a, b, c]: [Element; 4],
        registers: impl Fn(MatrixOperand, Element, usize) -> usize,
    ) -> Lowered<()> {
        let shape = form.shape;
        let saturate = form.take("satfinite");
        let (and, xor) = (form.take("and"), form.take("xor"));
        let counts = form.take("popc");
        form.finish()?;
        let [a_rows, b_rows] = form.by_rows[..] else {
            return Err("two layouts are needed".to_owned());
        };
        let quads = (shape.m, shape.n, shape.k) == (8, 8, 4) && a == Element::F16;
        let arithmetic = match a {
            Element::B1 if counts && and != xor => Arithmetic::Bits { and },
            Element::B1 => return Err("the operation on bits is not known".to_owned()),
            Element::F64 => Arithmetic::Double,
            _ if quads => Arithmetic::Quads { a_rows, b_rows },
            _ if d == Element::S32 => Arithmetic::Integer { saturate },
            _ => Arithmetic::Float,
        };
        let integer = matches!(arithmetic, Arithmetic::Integer { .. });
        if (saturate && !integer) || (counts && a != Element::B1) {
            return Err("the modifier is not known for these types".to_owned());
        }
        let fragment = |n: usize, which, element| {
            // Each lane of a quad holds four elements of a factor and eight of the sum.
            let per = element_count(which) / Element::per_register(element);
            let distinct = if quads { per } else { shape.registers(which, element) };
            let o = operand(i, n)?;
            self.matrix_fragment(o, element, registers(which, element, distinct))
        };
        let op = ProductOp {
            shape,
            arithmetic,
            d: fragment(0, MatrixOperand::C, d)?,
            a: fragment(1, MatrixOperand::A, a)?,
            b: fragment(2, MatrixOperand::B, b)?,
            c: fragment(3, MatrixOperand::C, c)?,
        };
        self.push_matrix(MatrixOp::Product(Box::new(op)));
        Ok(())
    }

    pub(super) fn matrix_rows(&mut self, i: &Instruction<'a>, m: &Modifiers<'_>) -> Lowered<()> {
        let store = i.opcode.starts_with("st");
        let known = ["sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta"];
        if !m.only(&known) || !m.has("m8n8") || m.ty() != "b16" {
            return Err("the form is not known".to_owned());
        }
        let n = match (m.has("x1"), m.has("x2"), m.has("x4")) {
            (true, false, false) => 1,
            (false, true, false) => 2,
            (false, false, true) => 4,
            _ => return Err("the number of matrices is not known".to_owned()),
        };
        let (address, data) = if store { (0, 1) } else { (1, 0) };
        let place =
            m.flags.iter().find_map(|f| Self::matrix_place(f)).unwrap_or(StateSpace::Generic);
        let address = self.address(operand(i, address)?, place)?;
        let data = self.matrix_fragment(operand(i, data)?, Element::F16, n)?;
        let scratch = self.scratch();
        let regs = (0..4).map(|r| Some(Reg::W(scratch + r))).collect();
        let memory = MemoryOp {
            store,
            bytes: 4,
            signed: false,
            volatile: false,
            release: false,
            address,
            regs,
        };
        let op = RowsOp { transpose: m.has("trans"), data, address, memory, scratch };
        self.push_matrix(MatrixOp::Rows(Box::new(op)));
        Ok(())
    }

    pub(super) fn matrix_transpose(
        &mut self,
        i: &Instruction<'a>,
        m: &Modifiers<'_>,
    ) -> Lowered<()> {
        if m.flags != ["sync", "aligned", "m8n8", "trans"] || m.types != ["b16"] {
            return Err("the form is not known".to_owned());
        }
        let to = self.matrix_fragment(operand(i, 0)?, Element::F16, 1)?;
        let from = self.matrix_fragment(operand(i, 1)?, Element::F16, 1)?;
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
            memory: MemoryOp {
                store,
                bytes,
                signed: false,
                volatile: false,
                release: false,
                address: *address,
                regs: vec![Some(register)],
            },
            rows: std::array::from_fn(|lane| place(lane).0 as u8),
            bytes: std::array::from_fn(|lane| (place(lane).1 * bits / 8) as u8),
        }
    };
    (0..n).map(access).collect()
}
