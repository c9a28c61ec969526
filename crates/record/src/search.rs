//! How an op's attempts are arranged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way to search for a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One candidate, mended until it is right and then improved.
    #[default]
    Repair,
    /// Several candidates at once, then the best of them mended and improved.
    BestOf,
    /// Several branches, the best of every round going on.
    Beam,
}

impl Strategy {
    pub const ALL: [Self; 3] = [Self::Repair, Self::BestOf, Self::Beam];

    /// Returns the name as flags and records spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repair => "repair",
            Self::BestOf => "best-of",
            Self::Beam => "beam",
        }
    }
}
