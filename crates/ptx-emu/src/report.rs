//! Why a launch stopped, in words a kernel's author can act on.

use std::fmt;

/// Text that is not PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Line of the PTX text.
    pub line: u32,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// What a kernel did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// Read outside a buffer, shared variable or local memory.
    OutOfBoundsRead,
    /// Write outside a buffer, shared variable or local memory.
    OutOfBoundsWrite,
    /// Access whose address is no multiple of its size.
    Misaligned,
    /// Read of bytes that nobody wrote.
    UninitialisedRead,
    /// Access through a null pointer.
    NullPointer,
    /// `trap` or `__trap()`.
    Trap,
    /// A failed `assert`.
    Assertion,
    /// Threads wait at barriers that can never complete.
    BarrierDivergence,
    /// A warp-level operation whose member mask leaves out its own thread.
    InvalidMask,
    /// Local memory exhausted by recursion.
    StackOverflow,
}

impl FaultKind {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBoundsRead => "out_of_bounds_read",
            Self::OutOfBoundsWrite => "out_of_bounds_write",
            Self::Misaligned => "misaligned",
            Self::UninitialisedRead => "uninitialised_read",
            Self::NullPointer => "null_pointer",
            Self::Trap => "trap",
            Self::Assertion => "assertion",
            Self::BarrierDivergence => "barrier_divergence",
            Self::InvalidMask => "invalid_mask",
            Self::StackOverflow => "stack_overflow",
        }
    }
}

/// A fault with all that is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What was done wrong.
    pub kind: FaultKind,
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
    /// Offending threads of the warp.
    pub n_threads: u32,
    /// The whole report as one line.
    pub message: String,
}

/// Why a launch did not end normally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The kernel did something wrong.
    Fault(Box<Fault>),
    /// The emulator does not know an instruction.
    Unsupported {
        /// The instruction.
        instruction: String,
        /// Line of the kernel file.
        line: Option<u32>,
        /// `unsupported: <instruction> (k.cu:LINE)`
        message: String,
    },
    /// No thread can move.
    Deadlock {
        /// Who waits where.
        message: String,
        /// Line of the kernel file where the first thread waits.
        line: Option<u32>,
        /// Whether barriers, not loops, hold the threads.
        at_barrier: bool,
    },
    /// The budget of lane instructions ran out.
    Budget {
        /// Lane instructions executed.
        lane_instructions: u64,
        /// Where the threads were.
        message: String,
        /// Line of the kernel file where a thread was.
        line: Option<u32>,
    },
    /// The launch itself is impossible.
    Launch {
        /// Why.
        message: String,
    },
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => f.write_str(&fault.message),
            Self::Unsupported { message, .. }
            | Self::Deadlock { message, .. }
            | Self::Budget { message, .. }
            | Self::Launch { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for Stop {}
