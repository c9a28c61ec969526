//! Names of runs and attempts.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of a run and of its directory.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// A text that cannot name a run.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` cannot name a run: use 1 to 100 letters, digits, `.`, `_` or `-`, no leading `.` or `-`"
)]
pub struct InvalidRunIdError(String);

impl RunId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = InvalidRunIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let fits = (1..=100).contains(&text.len())
            && text.chars().all(plain)
            && !text.starts_with(['.', '-']);
        if fits { Ok(Self(text)) } else { Err(InvalidRunIdError(text)) }
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Folder name of an op inside a run: the base name for the canonical overload (`relu`), else
/// `base__overload`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct OpKey(pub String);

impl From<&kgen_ops::op::OpDef> for OpKey {
    fn from(op: &kgen_ops::op::OpDef) -> Self {
        Self(op.folder())
    }
}

impl fmt::Display for OpKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// An attempt within a run.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct AttemptId {
    pub op: OpKey,
    /// Number of the attempt, from 1.
    pub number: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_attempt_{}", self.op, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::RunId;

    #[test]
    fn a_run_id_can_never_leave_its_folder() {
        for bad in ["", ".", "..", "../x", "a/b", "-x", "a b", "é", &"x".repeat(101)] {
            assert!(bad.parse::<RunId>().is_err(), "{bad}");
        }
        assert!("run_20260101_000000".parse::<RunId>().is_ok());
    }
}
