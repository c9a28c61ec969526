//! Verdicts: the outcome of a kernel. They are data, never an error of kgen.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Outcome of an evaluation or of one case.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything that was run was right.
    Passed,
    /// The reply holds no kernel file.
    NoCode,
    /// A guard refused the source or the PTX.
    Rejected,
    /// The launch plan is wrong.
    PlanError,
    /// NVRTC refused the source.
    CompileError,
    /// The plan's `require` declined the case.
    Declined,
    /// The launch itself is impossible (block too large, too much shared memory, ...).
    LaunchError,
    /// A thread trapped: out-of-bounds or misaligned access, failed assertion, ...
    Fault,
    /// Two threads touch the same memory without order.
    Race,
    /// The output depends on memory that was never written.
    Uninitialised,
    /// Threads wait for each other for ever.
    Deadlock,
    WrongOutput,
    /// An input was changed.
    InputModified,
    /// A guard zone around a buffer was changed.
    OutOfBoundsWrite,
    /// The same inputs gave different outputs where the op promises equal ones.
    Nondeterministic,
    /// A stage ran out of time.
    TimedOut,
    Crashed,
    /// Faster than the hardware allows.
    Suspicious,
    /// The emulator cannot run this: never a pass, never the kernel's fault.
    Unsupported,
}

impl Verdict {
    pub const ALL: [Self; 19] = [
        Self::Passed,
        Self::NoCode,
        Self::Rejected,
        Self::PlanError,
        Self::CompileError,
        Self::Declined,
        Self::LaunchError,
        Self::Fault,
        Self::Race,
        Self::Uninitialised,
        Self::Deadlock,
        Self::WrongOutput,
        Self::InputModified,
        Self::OutOfBoundsWrite,
        Self::Nondeterministic,
        Self::TimedOut,
        Self::Crashed,
        Self::Suspicious,
        Self::Unsupported,
    ];

    /// Returns the name as stored and shown, for example `wrong_output`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::NoCode => "no_code",
            Self::Rejected => "rejected",
            Self::PlanError => "plan_error",
            Self::CompileError => "compile_error",
            Self::Declined => "declined",
            Self::LaunchError => "launch_error",
            Self::Fault => "fault",
            Self::Race => "race",
            Self::Uninitialised => "uninitialised",
            Self::Deadlock => "deadlock",
            Self::WrongOutput => "wrong_output",
            Self::InputModified => "input_modified",
            Self::OutOfBoundsWrite => "out_of_bounds_write",
            Self::Nondeterministic => "nondeterministic",
            Self::TimedOut => "timed_out",
            Self::Crashed => "crashed",
            Self::Suspicious => "suspicious",
            Self::Unsupported => "unsupported",
        }
    }

    /// Returns whether this is [`Verdict::Passed`].
    #[must_use]
    pub const fn is_pass(self) -> bool {
        matches!(self, Self::Passed)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where a verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Level {
    /// Before anything was executed.
    #[serde(rename = "static")]
    Static,
    #[serde(rename = "emu")]
    Emu,
    /// On a GPU alone.
    #[serde(rename = "cuda")]
    Cuda,
    /// Small cases on the emulator, all cases on a GPU.
    #[serde(rename = "emu+cuda")]
    EmuCuda,
}

impl Level {
    /// Returns the name as stored and shown, for example `emu+cuda`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Emu => "emu",
            Self::Cuda => "cuda",
            Self::EmuCuda => "emu+cuda",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
