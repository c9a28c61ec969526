//! The executable form of a module: dense operations over register indices.
//!
//! Arithmetic operations carry a pointer to a function over all 32 lanes (made from a scalar
//! function of [`crate::alu`]) and the classes of its operands, so one variant serves every opcode.
//! Rare operations hold an index into a side table, which keeps [`Op`] small.

mod bulk;
mod cluster;
mod matrix;
mod operands;
mod sparse;
mod warpgroup;

pub(crate) use self::{
    bulk::{BulkCopy, BulkOp, ElementCopy, MapField, Reduction, ReplaceOp, TensorCopy, Way},
    cluster::{ArriveOp, Awaited, ClusterOp, GridControl, MbarrierKind},
    matrix::{
        Arithmetic, Element, Fragment, FragmentAccess, FragmentOp, MatrixOp, MatrixOperand,
        ProductOp, RowsOp, Shape,
    },
    operands::{Use, visit, visit_mut},
    sparse::{ROWS as SPARSE_ROWS, Sparse},
    warpgroup::{WarpgroupFactor, WarpgroupOrder, WarpgroupProduct},
};
use crate::{
    alu::{lanes::Classes, simd::Loop},
    exec::special::Special,
};

/// 32-bit register of a warp: one value per lane. Also holds 8- and 16-bit values.
pub(crate) type W = [u32; 32];
/// 64-bit register of a warp.
pub(crate) type D = [u64; 32];
/// Index of a register in its file.
pub(crate) type R = u32;

/// Registers of a warp, by class.
pub(crate) struct Rows<'w> {
    pub w: &'w mut [W],
    pub d: &'w mut [D],
    /// Predicates as lane masks.
    pub p: &'w mut [u32],
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// A function applied lane by lane: its loop, the classes of the registers, and these:
    /// destination, then sources.
    Lanes(Loop, Classes, [R; 5]),
    /// Predicates as lane masks.
    P2(fn(u32, u32) -> u32, R, R, R),
    /// `d = p ? a : b`
    SelectW(R, R, R, R),
    /// `d = p ? a : b`
    SelectD(R, R, R, R),
    Carry(u32),
    /// Conversion without a lane function of its own.
    Convert(u32),
    Special(Special, Reg),
    /// Address of the running function's local memory plus an offset.
    LocalAddress(R, u32),
    /// The next operation runs only where the predicate (negated if true) holds.
    Guard(R, bool),
    Memory(u32),
    Atomic(u32),
    /// Nothing but its place in the program.
    Nop,
    /// Orders accesses before it and behind it, as other threads see them.
    Fence,
    /// `griddepcontrol`.
    Grid(GridControl),
    /// Changes the address's window by a wrapping addition (`cvta`).
    AddBase(R, R, u64),
    /// `isspacep`: whether the address lies in the window `[lo, hi)` (by slot), or in none.
    IsSpace(R, R, Window),
    /// To the label or program counter.
    Jump(u32),
    /// To the label where the predicate (negated if true) holds.
    Branch(R, bool, u32),
    /// A branch one way of which leaves a barrier behind that the other one leads to.
    Fork(R, bool, u32),
    /// Through a table of labels.
    BranchTable(R, u32),
    Call(u32),
    /// Out of a device function; ends the thread in a kernel.
    Return,
    Exit,
    Trap,
    /// Warp-level rendezvous: shuffle, vote and the like.
    WarpSync(u32),
    Barrier(u32),
    ActiveMask(R),
    Builtin(u32),
    /// `cp.async` and its waits.
    Async(u32),
    /// mbarriers and clusters.
    Cluster(u32),
    /// Bulk copies and their waits.
    Bulk(u32),
    /// An unknown instruction: the message's index.
    Unsupported(u32),
}

impl Op {
    /// Whether control may go on to the next operation.
    pub(crate) fn falls_through(self) -> bool {
        !matches!(
            self,
            Self::Jump(_) | Self::BranchTable(..) | Self::Return | Self::Exit | Self::Trap
        )
    }
}

/// Windows of the generic address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    /// Buffers.
    Global,
    /// Module constants.
    Const,
    Shared,
    Local,
    Param,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// 32 bits.
    W = 1,
    /// 64 bits.
    D = 2,
    /// Predicate.
    P = 3,
}

/// A register with its class: its number, or a reference to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Register<T> {
    W(T),
    D(T),
    P(T),
}

/// A register with its class.
pub(crate) type Reg = Register<R>;

impl Class {
    /// The register `r` of the class.
    pub(crate) fn register<T>(self, r: T) -> Register<T> {
        match self {
            Self::W => Register::W(r),
            Self::D => Register::D(r),
            Self::P => Register::P(r),
        }
    }
}

impl Reg {
    /// The register so many behind this one.
    pub(crate) fn behind(self, n: u32) -> Self {
        match self {
            Self::W(r) => Self::W(r + n),
            Self::D(r) => Self::D(r + n),
            Self::P(r) => Self::P(r + n),
        }
    }
}

impl<T> Register<T> {
    /// Its number or reference, if it is of the class.
    pub(crate) fn of_class(self, class: Class) -> Option<T> {
        match (class, self) {
            (Class::W, Self::W(r)) | (Class::D, Self::D(r)) | (Class::P, Self::P(r)) => Some(r),
            _ => None,
        }
    }
}

impl Register<&R> {
    fn copied(self) -> Reg {
        match self {
            Self::W(r) => Reg::W(*r),
            Self::D(r) => Reg::D(*r),
            Self::P(r) => Reg::P(*r),
        }
    }
}

impl<'r> From<&'r Reg> for Register<&'r R> {
    fn from(reg: &'r Reg) -> Self {
        match reg {
            Reg::W(r) => Self::W(r),
            Reg::D(r) => Self::D(r),
            Reg::P(r) => Self::P(r),
        }
    }
}

impl<'r> From<&'r mut Reg> for Register<&'r mut R> {
    fn from(reg: &'r mut Reg) -> Self {
        match reg {
            Reg::W(r) => Self::W(r),
            Reg::D(r) => Self::D(r),
            Reg::P(r) => Self::P(r),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateSpace {
    /// By the address's window.
    Generic,
    /// Buffers.
    Global,
    Shared,
    /// Local memory of the thread.
    Local,
    /// The running function's local memory, by offset.
    Frame,
    /// The kernel's parameters.
    Param,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    /// Where it points into.
    pub place: StateSpace,
    /// Base register, if any.
    pub base: Option<Reg>,
    /// Added to the base.
    pub offset: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct MemoryOp {
    /// Store, else load.
    pub store: bool,
    /// Bytes of one element.
    pub bytes: u32,
    /// Whether a loaded element is sign-extended.
    pub signed: bool,
    /// May be waited on by other threads (volatile, acquire, relaxed).
    pub volatile: bool,
    /// Makes known the accesses before it.
    pub release: bool,
    /// Where.
    pub address: Address,
    /// One register per element; `None` for a sink.
    pub regs: Vec<Option<Reg>>,
}

impl MemoryOp {
    /// An access with no meaning for other threads.
    pub(crate) fn plain(store: bool, bytes: u32, address: Address, regs: Vec<Option<Reg>>) -> Self {
        Self { store, bytes, signed: false, volatile: false, release: false, address, regs }
    }
}

/// The operation of an atomic on its cell.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AtomicKind {
    /// One operand: old and operand to new.
    Binary(fn(u64, u64) -> u64),
    /// Compare and swap.
    Cas,
}

#[derive(Debug, Clone)]
pub(crate) struct AtomicOp {
    /// Operation on the cell.
    pub kind: AtomicKind,
    /// Bytes of the cell.
    pub bytes: u32,
    /// Where.
    pub address: Address,
    /// Receives the old value.
    pub dest: Vec<Option<Reg>>,
    /// Operand of each cell (compare value for `cas`).
    pub a: Vec<Reg>,
    /// New value of each cell of `cas`, which swaps all of them or none.
    pub b: Vec<Reg>,
    /// Makes known the accesses before it.
    pub release: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CarryOp {
    /// The operation.
    pub kind: CarryKind,
    /// Reads the flag.
    pub carry_in: bool,
    /// Writes the flag.
    pub carry_out: bool,
    /// 64 bits, else 32.
    pub wide: bool,
    /// Destination and sources.
    pub regs: [R; 4],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarryKind {
    Add,
    Sub,
    MadLo,
    MadHiSigned,
    MadHiUnsigned,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WarpSyncOp {
    /// The operation when all have come.
    pub kind: WarpSyncKind,
    /// Register of the member mask.
    pub members: R,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum WarpSyncKind {
    Barrier,
    /// `shfl.sync`: destination, in-range predicate, source, lane or offset, clamp and segment.
    Shuffle(Shuffle, R, Option<R>, R, R, R),
    /// `vote.sync`: destination predicate or register, source predicate and its negation.
    Vote(Vote, R, R, bool),
    /// `match.any.sync` on 32 bits.
    MatchAny(R, Reg),
    MatchAll(R, Option<R>, Reg),
    Redux(fn(u32, u32) -> u32, R, R),
    Matrix(u32),
    /// `elect.sync`: destination register, predicate.
    Elect(Option<R>, R),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// `cp.async` and its waits.
#[derive(Debug, Clone)]
pub(crate) enum AsyncOp {
    /// Copies `bytes`, of which only `size` are read if given and the rest is zero.
    Copy {
        to: Address,
        from: Address,
        bytes: u32,
        size: Option<R>,
        scratch: R,
    },
    Commit,
    /// Waits until at most this many groups are pending.
    Wait {
        pending: u32,
        scratch: R,
    },
    WaitAll {
        scratch: R,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BarrierOp {
    /// Its operation beside waiting.
    pub kind: BarrierKind,
    /// Register of the barrier's number.
    pub id: R,
    /// Register of the thread count; all threads if absent.
    pub count: Option<R>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// Number of threads whose predicate (negated if true) holds.
    Popc(R, R, bool),
    /// Whether all (true) or any (false) predicates hold.
    Reduce(bool, R, R, bool),
}

#[derive(Debug, Clone)]
pub(crate) struct CallOp {
    /// Index of the function, or the register that holds it.
    pub target: CallTarget,
    /// Offsets of the arguments in the caller's frame.
    pub args: Vec<u32>,
    /// Offsets of the results in the caller's frame.
    pub results: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum CallTarget {
    Direct(u32),
    /// A function by its address in a 64-bit register.
    Indirect(R),
}

/// A call into the device runtime.
#[derive(Debug, Clone)]
pub(crate) struct BuiltinOp {
    /// Which function.
    pub kind: Builtin,
    /// Offsets of the arguments in the caller's frame.
    pub args: Vec<u32>,
    /// Offsets of the results in the caller's frame.
    pub results: Vec<u32>,
}

/// Functions of the device runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Printf,
    AssertFail,
    Malloc,
    Free,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin {
    /// Line of the kernel file; 0 if unknown.
    pub line: u32,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// Byte range of the instruction in the PTX text.
    pub text: (u32, u32),
    /// Row of the instruction table; see [`crate::isa::InstructionForm`].
    pub form: u16,
}

/// A constant of a function's register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Const {
    Value(u64),
    /// Address of a module variable plus an offset.
    Variable(u32, u64),
}

/// A function ready to run.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// First operation, and the one behind the last.
    pub entry: u32,
    pub end: u32,
    /// Registers of each class, constants included: 32 bits, 64 bits, predicates.
    pub registers: [u32; 3],
    /// First constant of each class.
    pub first_const: [u32; 3],
    /// 32-bit constants.
    pub consts_w: Vec<Const>,
    /// 64-bit constants.
    pub consts_d: Vec<Const>,
    /// Bytes of local memory of one activation.
    pub frame_bytes: u32,
    /// Offset and size of each parameter in the frame (device functions).
    pub params: Vec<(u32, u32)>,
    /// Offset and size of each result in the frame.
    pub results: Vec<(u32, u32)>,
    /// Shared variables it names.
    pub shared: Vec<u32>,
    /// Functions it may call; `None` stands for any.
    pub calls: Vec<Option<u32>>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn operations_stay_small() {
        assert_eq!(size_of::<super::Op>(), 32);
    }
}
