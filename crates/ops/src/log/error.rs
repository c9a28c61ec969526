//! Mistakes in a line of a log.

/// A line that is no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct LogError {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The op and overload that the line calls, as far as they were read: `add.Tensor`.
    pub op: Option<String>,
    /// The expected token and the found one.
    pub reason: String,
}

/// A mistake at a byte of a line.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) at: usize,
    pub(super) reason: String,
}

impl Problem {
    pub(super) fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}
