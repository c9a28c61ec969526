//! Matrix operations of a whole warp.

use super::{Address, R, Reg};

/// Element of a matrix fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    S8,
    U8,
    S32,
}

/// Operand of a matrix product, `D = A * B + C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatrixOperand {
    A,
    B,
    /// C or D.
    C,
}

/// A matrix operation of the whole warp.
#[derive(Debug, Clone)]
pub(crate) enum MatrixOp {
    /// `wmma.load` or `wmma.store`.
    Fragment {
        store: bool,
        operand: MatrixOperand,
        element: Element,
        row_major: bool,
        address: Address,
        /// Elements from one row (column) to the next.
        stride: R,
        regs: Vec<R>,
        /// First of four registers to work in.
        scratch: R,
    },
    /// `wmma.mma` (16 columns) or `mma` (8 columns).
    Product {
        a_element: Element,
        b_element: Element,
        accumulator: Element,
        saturate: bool,
        k: u32,
        d: Vec<R>,
        a: Vec<R>,
        b: Vec<R>,
        c: Vec<R>,
    },
    /// `ldmatrix` or `stmatrix`.
    Rows { store: bool, transpose: bool, address: Address, regs: Vec<R>, scratch: R },
}

#[cfg_attr(not(test), expect(dead_code, reason = "the sanitizer's view of a matrix operation"))]
impl MatrixOp {
    /// Registers whose values become results or are stored, each once per operand.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Reg> {
        let lists: [&[R]; 3] = match self {
            Self::Product { a, b, c, .. } => [a, b, c],
            Self::Fragment { store: true, regs, .. } | Self::Rows { store: true, regs, .. } => {
                [regs, &[], &[]]
            }
            Self::Fragment { .. } | Self::Rows { .. } => [&[]; 3],
        };
        lists.into_iter().flatten().map(|r| Reg::W(*r))
    }

    /// Registers that receive results.
    pub(crate) fn writes(&self) -> impl Iterator<Item = Reg> {
        let list: &[R] = match self {
            Self::Product { d, .. } => d,
            Self::Fragment { store: false, regs, .. } | Self::Rows { store: false, regs, .. } => {
                regs
            }
            Self::Fragment { .. } | Self::Rows { .. } => &[],
        };
        list.iter().map(|r| Reg::W(*r))
    }

    /// Registers that make up the addresses.
    pub(crate) fn addressing(&self) -> impl Iterator<Item = Reg> {
        let (base, stride) = match self {
            Self::Fragment { address, stride, .. } => (address.base, Some(Reg::W(*stride))),
            Self::Rows { address, .. } => (address.base, None),
            Self::Product { .. } => (None, None),
        };
        base.into_iter().chain(stride)
    }
}

#[cfg(test)]
mod tests {
    use super::{Element, MatrixOp, Reg};

    #[test]
    fn a_product_reads_its_factors_and_its_start() {
        let op = MatrixOp::Product {
            a_element: Element::Tf32,
            b_element: Element::Tf32,
            accumulator: Element::F32,
            saturate: false,
            k: 4,
            d: vec![9, 10],
            a: vec![1, 2],
            b: vec![3],
            c: vec![4, 5],
        };
        let registers = |list: &[u32]| list.iter().map(|r| Reg::W(*r)).collect::<Vec<_>>();
        assert_eq!(op.reads().collect::<Vec<_>>(), registers(&[1, 2, 3, 4, 5]));
        assert_eq!(op.writes().collect::<Vec<_>>(), registers(&[9, 10]));
        assert_eq!(op.addressing().count(), 0);
    }
}
