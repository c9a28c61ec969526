//! Errors of a kernel, as data and as text that a kernel's author can act on.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident $name:literal,)+) => {
        /// Kinds of errors of a kernel.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[$doc])+ $kind,)+
        }

        impl FindingKind {
            /// Stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// Read outside a buffer, shared variable or local memory.
    OutOfBoundsRead "out_of_bounds_read",
    /// Write outside a buffer, shared variable or local memory.
    OutOfBoundsWrite "out_of_bounds_write",
    /// Access whose address is no multiple of its size.
    Misaligned "misaligned",
    /// Access through a null pointer.
    NullPointer "null_pointer",
    /// A value read from bytes that nobody wrote is used.
    UninitialisedRead "uninitialised_read",
    /// A register that nobody wrote is used.
    UninitialisedRegister "uninitialised_register",
    /// The destination of an asynchronous copy is read before the copy was waited for.
    AsyncRead "async_read",
    /// Threads of a block access the same shared memory without order, one of them writing.
    SharedRace "shared_race",
    /// Threads access the same global memory without order, one of them writing.
    GlobalRace "global_race",
    /// Threads wait at barriers that can never complete, or at different ones that happen to match.
    BarrierDivergence "barrier_divergence",
    /// An mbarrier that is not initialised, was overwritten or is used against its rules.
    Mbarrier "mbarrier",
    /// A tensor map that is none, or a copy that it does not describe.
    TensorMap "tensor_map",
    /// An asynchronous operation reads what threads wrote without a proxy fence between.
    AsyncProxy "async_proxy",
    /// Registers of `wgmma` used while it is under way, or without its fence.
    Wgmma "wgmma",
    /// Metadata of a sparse product that stand for nothing, or not in the order that it asks for.
    SparseMetadata "sparse_metadata",
    /// A cluster's barrier or shared memory used against its rules: a block that is not there or
    /// has exited, an arrival without a wait.
    Cluster "cluster",
    /// A warp-level operation whose member mask leaves out its own thread.
    InvalidMask "invalid_mask",
    /// `trap` or `__trap()`.
    Trap "trap",
    /// A failed `assert`.
    Assertion "assertion",
    /// Local memory exhausted by recursion.
    StackOverflow "stack_overflow",
    /// `free` of an address that `malloc` did not give, or twice.
    InvalidFree "invalid_free",
    /// The first NaN or infinity that finite operands yielded.
    NonFinite "non_finite",
    /// A module constant is read that neither the module nor the host gave a value.
    UnsetConstant "unset_constant",
    /// Elements of an output that no thread wrote.
    Unwritten "unwritten",
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; the kernel may be right.
    Info,
    /// Hardware happens to do as was meant; CUDA does not promise it.
    Warning,
    /// The kernel is wrong.
    Error,
}

/// The other place a finding is about: the earlier access of a race, the read that brought in an
/// undefined value, the copy that was not waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// The access there, e.g. `write`.
    pub what: String,
    /// Line of the kernel file.
    pub line: Option<u32>,
    /// The PTX instruction.
    pub instruction: String,
    /// Block and thread, if one thread did it.
    pub block: Option<[u32; 3]>,
    /// Thread index in its block.
    pub thread: Option<[u32; 3]>,
}

/// Something a kernel did wrong at one line: the first occurrence and the traits that all share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of error.
    pub kind: FindingKind,
    /// How bad it is.
    pub severity: Severity,
    /// Kernel's name.
    pub kernel: String,
    /// Line of the kernel file.
    pub line: Option<u32>,
    /// The PTX instruction.
    pub instruction: String,
    /// Block of the first offending thread.
    pub block: [u32; 3],
    /// First offending thread.
    pub thread: [u32; 3],
    /// Buffer or variable the address was computed from.
    pub buffer: Option<String>,
    /// Signed index of the element in that buffer.
    pub element: Option<i64>,
    /// Elements of that buffer.
    pub buffer_elements: Option<u64>,
    /// Bytes of the access by one thread.
    pub access_bytes: u32,
    /// Offending accesses by threads in the whole launch.
    pub n_threads: u64,
    /// Least and greatest element of all occurrences.
    pub elements: Option<(i64, i64)>,
    /// The other place this is about.
    pub other: Option<Other>,
    /// The remedy, where that is known: the place of a missing barrier, say.
    pub hint: Option<String>,
    /// The first occurrence in one line.
    pub message: String,
}

impl Finding {
    /// A sentence on these elements of an output; nothing, if there are none.
    pub(crate) fn unwritten(
        kernel: &str,
        buffer: &str,
        elements: u64,
        ranges: &[Range<u64>],
    ) -> Option<Self> {
        let (first, last) = (ranges.first()?, ranges.last()?);
        let missing: u64 = ranges.iter().map(|r| r.end - r.start).sum();
        let shown: Vec<String> = ranges
            .iter()
            .take(SHOWN_RANGES)
            .map(|r| match r.end - r.start {
                1 => r.start.to_string(),
                _ => format!("{} to {}", r.start, r.end - 1),
            })
            .collect();
        let more = match ranges.len().saturating_sub(SHOWN_RANGES) {
            0 => String::new(),
            n => format!(" and {n} more ranges"),
        };
        let message = format!(
            "{missing} of {elements} elements of `{buffer}` were never written: {}{more}",
            shown.join(", ")
        );
        Some(Self {
            kind: FindingKind::Unwritten,
            severity: Severity::Error,
            kernel: kernel.to_owned(),
            line: None,
            instruction: String::new(),
            block: [0; 3],
            thread: [0; 3],
            buffer: Some(buffer.to_owned()),
            element: Some(first.start as i64),
            buffer_elements: Some(elements),
            access_bytes: 0,
            n_threads: 0,
            elements: Some((first.start as i64, last.end as i64 - 1)),
            other: None,
            hint: None,
            message,
        })
    }
}

/// Ranges of unwritten elements that a message lists.
const SHOWN_RANGES: usize = 4;

impl fmt::Display for Finding {
    /// At most eight lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)?;
        if let Some(other) = &self.other {
            write!(f, "\n  {}", other.what)?;
            if let Some(line) = other.line {
                write!(f, " at line {line}")?;
            }
            match (other.block, other.thread) {
                (Some([bx, by, bz]), Some([x, y, z])) => {
                    write!(f, " by block ({bx},{by},{bz}), thread ({x},{y},{z})")?;
                }
                (Some([bx, by, bz]), None) => {
                    write!(f, " by several threads of block ({bx},{by},{bz})")?;
                }
                (None, _) => {}
            }
            write!(f, ": {}", other.instruction)?;
        }
        if self.n_threads > 1 {
            let what = if self.access_bytes > 0 { "accesses" } else { "occurrences" };
            write!(f, "\n  {} {what} in all", self.n_threads)?;
            if let (Some(buffer), Some((low, high))) = (&self.buffer, self.elements)
                && low != high
            {
                write!(f, ", elements {low} to {high} of `{buffer}`")?;
            }
        }
        write!(f, "\n  kernel {}", self.kernel)?;
        if !self.instruction.is_empty() {
            write!(f, ": {}", self.instruction)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  {hint}")?;
        }
        Ok(())
    }
}
