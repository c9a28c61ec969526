//! Requests, and the specification of a job that they resolve to.

use kgen_record::{DType, Precision, hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{ApiError, ErrorKind};

/// A kernel file and the op that it is to be judged on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluateRequest {
    /// An op of the catalogue, by any of its names; exactly one of `op` and `problem`.
    #[serde(default)]
    pub op: Option<String>,
    /// An op of the caller's own.
    #[serde(default)]
    pub problem: Option<Problem>,
    /// The kernel file.
    pub source: String,
    #[serde(default)]
    pub level: JobLevel,
    /// Element types to judge in; all of the suite without it.
    #[serde(default)]
    pub dtypes: Option<Vec<DType>>,
    /// A builtin suite; the server's without it.
    #[serde(default)]
    pub suite: Option<String>,
    /// The server's without it.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// Seed of inputs and drawn shapes; fresh without it.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
    /// Seconds from acceptance by which the job has to end.
    #[serde(default)]
    pub deadline_s: Option<f64>,
    /// A name of the request: another request under the same name is refused.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub idempotency_key: Option<String>,
}

/// Longest deadline in seconds: a month.
const MAX_DEADLINE_S: f64 = 2_678_400.0;

/// Longest idempotency key in characters.
const MAX_KEY: usize = 128;

impl EvaluateRequest {
    /// Checks what needs no catalogue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] with the member.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        let wrong = |field: &str, text: &str| {
            Err(ApiError::new(ErrorKind::InvalidRequest, text).field(field))
        };
        match (&self.op, &self.problem) {
            (Some(_), Some(_)) => return wrong("problem", "`op` and `problem` exclude each other"),
            (None, None) => return wrong("op", "one of `op` and `problem` is needed"),
            _ => {}
        }
        let has_one = |problem: &Problem| problem.name.is_some() != problem.definition.is_some();
        if !self.problem.as_ref().is_none_or(has_one) {
            return wrong("problem", "a problem has one of `name` and `definition`");
        }
        if self.source.trim().is_empty() {
            return wrong("source", "the source is empty");
        }
        if self.dtypes.as_ref().is_some_and(Vec::is_empty) {
            return wrong("dtypes", "the list of types is empty");
        }
        if self.seed.is_some_and(|seed| i64::try_from(seed).is_err()) {
            return wrong("seed", "a seed is at most 2^63 - 1");
        }
        if self.deadline_s.is_some_and(|s| !(s > 0.0 && s <= MAX_DEADLINE_S)) {
            return wrong("deadline_s", "a deadline is more than 0 and at most 2678400 seconds");
        }
        let is_key = |key: &String| (1..=MAX_KEY).contains(&key.chars().count());
        if self.idempotency_key.as_ref().is_some_and(|key| !is_key(key)) {
            return wrong("idempotency_key", "a key has 1 to 128 characters");
        }
        Ok(())
    }
}

/// An op of the caller's own; has exactly one of its members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// An op file of the server, without `.toml`.
    #[serde(default)]
    pub name: Option<String>,
    /// The text of an op file.
    #[serde(default)]
    pub definition: Option<String>,
}

/// How far a job goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobLevel {
    /// The source is compiled for the op's cases.
    Compile,
    /// It is judged.
    #[default]
    Judge,
    /// Passed kernels are timed.
    Time,
}

impl JobLevel {
    /// Returns the name as stored and shown.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Judge => "judge",
            Self::Time => "time",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::Compile, Self::Judge, Self::Time].into_iter().find(|level| level.name() == name)
    }
}

/// A request with its defaults filled in: all that decides a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The op's name in kgen.
    pub op: String,
    /// The text that defines it, where it is not of the catalogue.
    pub definition: Option<String>,
    pub source: String,
    pub level: JobLevel,
    /// Sorted; empty is all that the suite has.
    pub dtypes: Vec<DType>,
    /// `None` where the op has a definition.
    pub suite: Option<String>,
    pub precision: Precision,
    pub seed: Option<u64>,
}

impl Spec {
    /// Returns the id of the job; `server` stands for everything about the server that decides results.
    #[must_use]
    pub(crate) fn id(&self, server: &str) -> String {
        let text = serde_json::to_string(&(server, self)).expect("kgen's own data turns into JSON");
        let hash = Sha256::digest(text);
        format!("j_{}", hex(&hash[..16]))
    }
}

/// Several requests at once.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchRequest {
    #[schemars(length(min = 1, max = 256))]
    pub(crate) requests: Vec<serde_json::Value>,
}
