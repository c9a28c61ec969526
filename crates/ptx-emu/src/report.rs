//! The report of a launch.

use std::fmt;

use crate::{
    counters::Counters,
    coverage::Coverage,
    finding::{Finding, Severity},
};

/// Text that is not PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The violated expectation.
    pub message: String,
}

impl ParseError {
    /// An error at a byte offset of the text.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let column = before.len() - start + 1;
        Self { line: line as u32, column: column as u32, message: message.into() }
    }

    /// An error at `part`, a slice of the text.
    pub(crate) fn at_part(text: &str, part: &str, message: impl Into<String>) -> Self {
        let offset = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        Self::at(text, offset, message)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The report of a launch.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whether all blocks came to their ends, and if not, why.
    pub end: Result<(), LaunchError>,
    /// Errors of the kernel, in order of first occurrence. The finding that ended the launch,
    /// if one did, is the last.
    pub findings: Vec<Finding>,
    /// Instructions times active threads.
    pub lane_instructions: u64,
    /// Blocks that came to their ends.
    pub blocks: u64,
    /// The counters, if they were asked for.
    pub counters: Option<Counters>,
    /// The coverage, if it was asked for.
    pub coverage: Option<Coverage>,
    /// Output of device `printf`.
    pub stdout: String,
}

impl Report {
    /// The report of a launch that did not start.
    pub(crate) fn refused(error: LaunchError) -> Self {
        Self {
            end: Err(error),
            findings: Vec::new(),
            lane_instructions: 0,
            blocks: 0,
            counters: None,
            coverage: None,
            stdout: String::new(),
        }
    }

    /// The findings that make the kernel wrong.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.severity == Severity::Error)
    }

    /// Whether the launch came to its end without an error.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.end.is_ok() && self.errors().next().is_none()
    }

    /// The report of a clean launch.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn into_result(self) -> Result<Self, LaunchError> {
        if let Some(first) = self.errors().next() {
            return Err(LaunchError::Fault(Box::new(first.clone())));
        }
        match self.end {
            Ok(()) => Ok(self),
            Err(error) => Err(error),
        }
    }
}

/// Why a launch did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchError {
    /// The kernel did something wrong.
    Fault(Box<Finding>),
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

impl fmt::Display for LaunchError {
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

impl std::error::Error for LaunchError {}
