//! Jobs as callers see them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{JobLevel, result::JobResult};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobState {
    Queued,
    Running,
    /// There is a result about the kernel.
    Done,
    /// The machine failed.
    Failed,
}

impl JobState {
    /// Returns the name as stored and shown.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Done, Self::Failed]
            .into_iter()
            .find(|state| state.name() == name)
    }

    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// Milliseconds since 1970, written as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Millis(pub(crate) i64);

impl Millis {
    pub(crate) fn now() -> Self {
        Self(Timestamp::now().as_millisecond())
    }

    /// Returns the seconds since an earlier time; 0 where the clock went back.
    pub(crate) fn since(self, earlier: Self) -> f64 {
        let millis = self.0.saturating_sub(earlier.0).max(0);
        std::time::Duration::from_millis(millis.unsigned_abs()).as_secs_f64()
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = Timestamp::from_millisecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH);
        serializer.serialize_str(&time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
    }
}

/// A job with its result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct JobView {
    pub(crate) id: String,
    pub(crate) state: JobState,
    pub(crate) op: String,
    pub(crate) level: JobLevel,
    #[schemars(with = "String")]
    pub(crate) created_at: Millis,
    #[schemars(with = "Option<String>")]
    pub(crate) started_at: Option<Millis>,
    #[schemars(with = "Option<String>")]
    pub(crate) finished_at: Option<Millis>,
    /// Evaluations begun.
    pub(crate) tries: u32,
    /// As it was stored when the job ended.
    #[schemars(with = "Option<JobResult>")]
    pub(crate) result: Option<serde_json::Value>,
    /// Whether an equal request is queued anew.
    #[serde(skip)]
    pub(crate) retryable: bool,
}
