//! Element types that a suite names for an op that lacks them.

use std::fmt;

use crate::record::DType;

use super::file::names;

/// An element type that an op lacks: the cases are built in the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedType {
    /// The file.
    pub file: String,
    /// The line on which the op or the case begins, from 1.
    pub line: usize,
    /// The op.
    pub op: String,
    /// The type.
    pub dtype: DType,
    /// The types that the op has.
    pub known: Vec<DType>,
}

impl fmt::Display for SkippedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, op, dtype, known } = self;
        let known = names(known);
        write!(
            f,
            "suite {file}, line {line}: op `{op}` has no dtype {dtype} (it has: {known}): skipped"
        )
    }
}
