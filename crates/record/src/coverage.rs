//! Which parts of a kernel file the cases reached.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DType;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    pub lines: usize,
    /// Lines of which some thread executed something, in some element type.
    pub executed: usize,
    /// Cases that were drawn to reach more, and ran.
    pub further: usize,
    /// Remaining gaps, by line; last those that no case on the emulator may close.
    pub gaps: Vec<Gap>,
}

/// A part of a kernel file that no case reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    pub line: u32,
    pub text: String,
    /// How it was not reached.
    pub kind: GapKind,
    /// Element types in which it was not; empty where that is all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dtypes: Vec<DType>,
    /// The grids of a launch that never was a large one, or never ran though a case asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grids: Option<Grids>,
}

/// Blocks along x of the grids of one `launch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grids {
    /// Blocks of the largest that ran.
    pub ran: u32,
    /// Blocks of the largest that the plan asks for.
    pub planned: u32,
    /// Arguments of the case in which it does.
    pub args: String,
}

/// How a part of a kernel file was not reached.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// No case ran a `launch` of the plan.
    LaunchNeverRan,
    /// No thread executed anything of the line.
    LineNeverExecuted,
    /// The body of a loop that begins or ends on the line never ran twice.
    LoopNeverRepeated,
    /// The branches of the line all went the same way.
    BranchOneWay,
    /// A condition of the plan comes out otherwise in a case that did not run than in all that ran.
    PlanConditionOneWay,
    /// No case ran a `launch` with more than 65,535 blocks along x, and the plan asks for more.
    FewBlocks,
}

impl GapKind {
    /// Returns whether other values or extents may close such a gap on the emulator.
    #[must_use]
    pub const fn may_close(self) -> bool {
        !matches!(self, Self::FewBlocks)
    }
}

impl Coverage {
    /// Counts the lines that no thread executed in any element type.
    #[must_use]
    pub const fn n_unreached(&self) -> usize {
        self.lines - self.executed
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.kind {
            GapKind::LaunchNeverRan => "this launch never ran",
            GapKind::LineNeverExecuted => "never ran",
            GapKind::LoopNeverRepeated => "a loop whose body never ran twice",
            GapKind::BranchOneWay => "its condition always came out the same way",
            GapKind::PlanConditionOneWay => {
                "its condition comes out otherwise in a case that did not run"
            }
            GapKind::FewBlocks => "never launched with more than 65,535 blocks",
        };
        write!(f, "line {}: {how}", self.line)?;
        if !self.dtypes.is_empty() {
            let dtypes: Vec<&str> = self.dtypes.iter().map(|dtype| dtype.name()).collect();
            write!(f, " in {}, as it did in other types", dtypes.join(", "))?;
        }
        match &self.grids {
            Some(Grids { ran: 0, args, .. }) => {
                write!(f, " (the plan asks for it in {args}, which did not run)")?;
            }
            Some(Grids { ran, planned, args }) => {
                write!(f, " (at most {ran}; the plan asks for {planned} in {args})")?;
            }
            None => {}
        }
        write!(f, ": {}", self.text.trim())
    }
}
