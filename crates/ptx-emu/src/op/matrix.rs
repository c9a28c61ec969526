//! Matrix operations of a whole warp, and how their operands lie in registers.

use super::{
    Address, Class, MemoryOp, R,
    sparse::Sparse,
    warpgroup::{WarpgroupOrder, WarpgroupProduct},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
}

impl Element {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "s4" => Self::S4,
            "u4" => Self::U4,
            "b1" => Self::B1,
            "s32" => Self::S32,
            _ => return None,
        })
    }

    /// Bits in memory and in a register.
    pub(crate) fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Elements in a register.
    pub(crate) fn per_register(self) -> usize {
        (32 / self.bits()).max(1)
    }
}

/// Operand of a matrix product, `D = A * B + C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatrixOperand {
    A,
    B,
    /// C or D.
    C,
}

/// Extents of a product: A is `[m, k]`, B `[k, n]`, C and D `[m, n]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl Shape {
    /// The shape that a modifier such as `m16n8k16` names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    }

    /// Registers of each lane that hold an operand once.
    pub(crate) fn registers(self, operand: MatrixOperand, element: Element) -> usize {
        let size = match operand {
            MatrixOperand::A => self.m * self.k,
            MatrixOperand::B => self.k * self.n,
            MatrixOperand::C => self.m * self.n,
        };
        size / (32 * element.per_register())
    }

    /// Row and column of element `i` of `lane` (PTX ISA, "Matrix Fragments for mma").
    ///
    /// Factors lie in blocks of eight rows (columns of B) by four registers, the accumulator in
    /// blocks of eight by eight. `wmma` leaves the layout of its fragments open; it is the same
    /// here.
    pub(crate) fn place(
        self,
        operand: MatrixOperand,
        element: Element,
        lane: usize,
        i: usize,
    ) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        let per = element.per_register();
        let (register, within) = (i / per, i % per);
        match operand {
            MatrixOperand::A => {
                let (block, step) = (register % (self.m / 8), register / (self.m / 8));
                (group + 8 * block, (thread + 4 * step) * per + within)
            }
            MatrixOperand::B => {
                let steps = self.k / (4 * per);
                let (block, step) = (register / steps, register % steps);
                ((thread + 4 * step) * per + within, group + 8 * block)
            }
            MatrixOperand::C => {
                let (pair, within) = (i / 2, i % 2);
                let (block, column) = (pair % (self.m / 8), pair / (self.m / 8));
                (group + 8 * block, thread * 2 + within + 8 * column)
            }
        }
    }
}

/// A matrix in the registers of a warp.
#[derive(Debug, Clone)]
pub(crate) struct Fragment {
    pub element: Element,
    /// 64-bit registers for `f64`, else 32-bit ones. Those past the matrix's end repeat it.
    pub regs: Vec<R>,
}

impl Fragment {
    pub(crate) fn class(&self) -> Class {
        if self.element == Element::F64 { Class::D } else { Class::W }
    }
}

/// `wmma.load` or `wmma.store`.
#[derive(Debug, Clone)]
pub(crate) struct FragmentOp {
    pub store: bool,
    pub data: Fragment,
    pub address: Address,
    /// Elements from one row (column) to the next.
    pub stride: R,
    /// Alignment of each row (column) in bytes: a power of two.
    pub alignment: u32,
    pub accesses: Vec<FragmentAccess>,
}

/// One access of all lanes on the way of a fragment from or to memory.
#[derive(Debug, Clone)]
pub(crate) struct FragmentAccess {
    /// Index of the register in the fragment.
    pub register: usize,
    /// Where the element stands in the register; `None` for a whole register.
    pub shift: Option<u32>,
    /// From or to the register, or a scratch register if there is a shift.
    pub memory: MemoryOp,
    /// Rows (columns) before each lane's element.
    pub rows: [u8; 32],
    /// Bytes before each lane's element within its row (column).
    pub bytes: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// Floats of at most 32 bits, summed in f32.
    Float,
    /// Integers; the sum wraps or is clamped.
    Integer {
        saturate: bool,
    },
    Double,
    /// Number of bits of `a & b` (or `a ^ b`).
    Bits {
        and: bool,
    },
    /// Four products at once, each of eight lanes; layouts of A and B.
    Quads {
        a_rows: bool,
        b_rows: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct ProductOp {
    pub shape: Shape,
    pub arithmetic: Arithmetic,
    /// A is stored without half of its elements.
    pub sparse: Option<Sparse>,
    pub d: Fragment,
    pub a: Fragment,
    pub b: Fragment,
    pub c: Fragment,
}

/// `ldmatrix` or `stmatrix`: one register per 8x8 matrix of 16-bit elements.
#[derive(Debug, Clone)]
pub(crate) struct RowsOp {
    pub transpose: bool,
    pub data: Fragment,
    pub address: Address,
    /// A row of 16 bytes from or to scratch registers.
    pub memory: MemoryOp,
    /// First of those four.
    pub scratch: R,
}

#[derive(Debug, Clone)]
pub(crate) enum MatrixOp {
    Fragment(Box<FragmentOp>),
    Product(Box<ProductOp>),
    Rows(Box<RowsOp>),
    /// `movmatrix`: destination and source, one register each.
    Transpose(Fragment, Fragment),
    WarpgroupProduct(Box<WarpgroupProduct>),
    Warpgroup(WarpgroupOrder),
}

impl MatrixOp {
    /// The sparsity of a product's first factor.
    pub(crate) fn sparse(&self) -> Option<Sparse> {
        match self {
            Self::Product(op) => op.sparse,
            Self::WarpgroupProduct(op) => op.sparse,
            _ => None,
        }
    }
}

impl ProductOp {
    /// Elements of a row of A that are stored.
    pub(crate) fn stored_k(&self) -> usize {
        if self.sparse.is_some() { self.shape.k / 2 } else { self.shape.k }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arithmetic, Element, Fragment, MatrixOp, MatrixOperand, ProductOp, Shape};
    use crate::op::{Reg, Use};

    #[test]
    fn a_product_reads_its_factors_and_its_start() {
        let fragment = |element, regs: &[u32]| Fragment { element, regs: regs.to_vec() };
        let op = MatrixOp::Product(Box::new(ProductOp {
            shape: Shape { m: 8, n: 8, k: 4 },
            arithmetic: Arithmetic::Double,
            sparse: None,
            d: fragment(Element::F64, &[9, 10]),
            a: fragment(Element::F64, &[1]),
            b: fragment(Element::F64, &[3]),
            c: fragment(Element::F64, &[4, 5]),
        }));
        let mut visited = Vec::new();
        op.visit(&mut |role, r| visited.push((role, r)));
        let of =
            |role, list: &[u32]| list.iter().map(move |r| (role, Reg::D(*r))).collect::<Vec<_>>();
        assert_eq!(visited, [of(Use::Read, &[1, 3, 4, 5]), of(Use::Write, &[9, 10])].concat());
    }

    #[test]
    fn the_lanes_hold_every_element_once() {
        use Element::{B1, F16, F32, F64, S4, S8, S32, Tf32};
        for (shape, factor, accumulator) in [
            ("m16n8k16", F16, F32),
            ("m16n16k16", F16, F16),
            ("m32n8k16", S8, S32),
            ("m8n32k16", F16, F32),
            ("m16n8k4", Tf32, F32),
            ("m8n8k4", F64, F64),
            ("m16n8k64", S4, S32),
            ("m16n8k256", B1, S32),
        ] {
            let shape = Shape::named(shape).expect("the name is well formed");
            for (operand, element, rows, columns) in [
                (MatrixOperand::A, factor, shape.m, shape.k),
                (MatrixOperand::B, factor, shape.k, shape.n),
                (MatrixOperand::C, accumulator, shape.m, shape.n),
            ] {
                let n = shape.registers(operand, element) * element.per_register();
                let mut seen = vec![false; rows * columns];
                for (lane, i) in (0..32).flat_map(|lane| (0..n).map(move |i| (lane, i))) {
                    let (row, column) = shape.place(operand, element, lane, i);
                    assert!(!std::mem::replace(&mut seen[row * columns + column], true));
                }
                assert!(seen.into_iter().all(|s| s), "{shape:?} {operand:?}");
            }
        }
    }
}
