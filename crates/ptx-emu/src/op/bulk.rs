//! Operations of the asynchronous proxy: bulk copies, copies of tensors, and their waits.

use super::{Address, R, Reg};

/// An operation that an engine beside the threads does, or that orders such.
#[derive(Debug, Clone)]
pub(crate) enum BulkOp {
    Copy(Box<BulkCopy>),
    Tensor(Box<TensorCopy>),
    /// `st.async` and `red.async`.
    Element(Box<ElementCopy>),
    Commit,
    /// Waits until at most so many groups are pending.
    Wait(u32),
    /// `wgmma.wait_group`, the same for products of the warpgroup.
    WaitProducts(u32),
    /// `fence.proxy.async` of shared memory.
    Fence,
    Replace(Box<ReplaceOp>),
    /// `tensormap.cp_fenceproxy`: to, from.
    CopyMap(Address, Address),
}

/// The way of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From global to shared memory; completes bytes of an mbarrier.
    Load,
    /// From shared memory to that of a block of the cluster; completes bytes of an mbarrier.
    Across,
    /// From shared to global memory, as a part of a bulk group.
    Store,
    /// Into the cache.
    Prefetch,
}

/// The operation of a copy that combines with the values at its destination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    /// The new value, from the old one and the operand.
    pub f: fn(u64, u64) -> u64,
    /// Bytes of an element.
    pub bytes: u32,
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`.
#[derive(Debug, Clone)]
pub(crate) struct BulkCopy {
    pub way: Way,
    pub to: Address,
    pub from: Address,
    pub bytes: R,
    /// The mbarrier, but for stores.
    pub bar: Option<Address>,
    /// Mask of the blocks of the cluster that receive the bytes.
    pub ranks: Option<R>,
    pub reduction: Option<Reduction>,
}

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
#[derive(Debug, Clone)]
pub(crate) struct TensorCopy {
    pub way: Way,
    pub map: Address,
    pub coordinates: Vec<R>,
    pub im2col: bool,
    /// Offsets of an im2col load.
    pub offsets: Vec<R>,
    /// In shared memory; none for a prefetch.
    pub shared: Option<Address>,
    pub bar: Option<Address>,
    pub ranks: Option<R>,
    /// The operation's name; its function depends on the map's type.
    pub reduction: Option<&'static str>,
}

/// `st.async` and `red.async`.
#[derive(Debug, Clone)]
pub(crate) struct ElementCopy {
    pub to: Address,
    pub values: Vec<Reg>,
    /// Bytes of a value.
    pub bytes: u32,
    pub bar: Address,
    pub reduction: Option<Reduction>,
}

/// The part of a tensor map that `tensormap.replace` puts another value into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapField {
    Address,
    Rank,
    Box(usize),
    Dim(usize),
    Stride(usize),
    ElementStride(usize),
    Type,
    Interleave,
    Swizzle,
    Fill,
}

/// `tensormap.replace`.
#[derive(Debug, Clone)]
pub(crate) struct ReplaceOp {
    pub field: MapField,
    pub map: Address,
    pub value: Reg,
}
