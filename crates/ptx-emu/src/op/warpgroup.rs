//! `wgmma`: products of a group of four warps, whose factors lie in shared memory.

use super::{Fragment, R, matrix::Element, sparse::Sparse};

/// The first factor of a warpgroup's product.
#[derive(Debug, Clone)]
pub(crate) enum WarpgroupFactor {
    /// Its rows of the warp, in registers.
    Registers(Vec<R>),
    /// A 64-bit register with a matrix descriptor.
    Memory(R),
}

/// `wgmma.mma_async`: `D = A * B + D`, where A has 64 rows.
#[derive(Debug, Clone)]
pub(crate) struct WarpgroupProduct {
    /// Columns of B.
    pub n: usize,
    pub d: Fragment,
    pub a: WarpgroupFactor,
    pub a_element: Element,
    /// A 64-bit register with a matrix descriptor.
    pub b: R,
    pub b_element: Element,
    /// The predicate that says whether D is added, and whether it is negated.
    pub scale_d: (R, bool),
    /// The product is subtracted.
    pub negate: bool,
    /// Whether A and B lie with their rows (columns) innermost.
    pub transposed: [bool; 2],
    pub saturate: bool,
    /// A is stored without half of its elements.
    pub sparse: Option<Sparse>,
}

/// Order of a warpgroup's products.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WarpgroupOrder {
    Fence,
    Commit,
}
