//! Which lines of a kernel file the cases reached.

use std::fmt;

use ptx_emu::GapKind;
use serde::{Deserialize, Serialize};

use super::DType;

/// What the cases on the emulator reached of a kernel file's code.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Lines with code.
    pub lines: usize,
    /// Lines of which some thread executed something, in every element type that has them.
    pub executed: usize,
    /// What was not reached, by line.
    pub gaps: Vec<Gap>,
}

/// A part of a kernel file that no case reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The line.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// How it was not reached.
    pub kind: GapKind,
    /// Element types of the compile variants in which it was not; empty where that is all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dtypes: Vec<DType>,
}

impl Coverage {
    /// Counts the lines that no thread executed in some element type.
    #[must_use]
    pub const fn n_unreached(&self) -> usize {
        self.lines - self.executed
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.kind {
            GapKind::LineNeverExecuted => "never ran",
            GapKind::LoopNeverRepeated => "a loop whose body never ran twice",
        };
        write!(f, "line {}: {how}", self.line)?;
        if !self.dtypes.is_empty() {
            let dtypes: Vec<&str> = self.dtypes.iter().map(|dtype| dtype.name()).collect();
            write!(f, " in {}", dtypes.join(", "))?;
        }
        write!(f, ": {}", self.text.trim())
    }
}
