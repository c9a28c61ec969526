//! The judge as the service sees it.

use futures_util::future::BoxFuture;
use kgen_record::Evaluation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApiError, EvaluateRequest, Spec};

/// Judges kernel files.
pub trait Judge: Send + Sync + 'static {
    /// Returns facts that do not change while the server runs.
    fn facts(&self) -> &Facts;

    /// Checks a request against the catalogue and fills in its defaults.
    ///
    /// # Errors
    ///
    /// An [`ApiError`] about the request.
    fn resolve(&self, request: &EvaluateRequest) -> Result<Spec, ApiError>;

    /// Evaluates a kernel; dropping the future ends the processes behind it.
    fn evaluate(&self, spec: Spec) -> BoxFuture<'_, Result<Judged, Failure>>;

    /// Returns the ops of the catalogue.
    fn ops(&self) -> Vec<OpEntry>;

    /// Returns the op files that requests may name.
    fn problems(&self) -> Vec<ProblemEntry>;

    /// Returns the first prompt about an op.
    ///
    /// # Errors
    ///
    /// An [`ApiError`] about the query.
    fn prompt(&self, query: &PromptQuery) -> Result<Prompt, ApiError>;
}

#[derive(Debug, Clone)]
pub struct Facts {
    pub kgen_version: String,
    /// Name of the device.
    pub device: String,
    /// Workers, and so the jobs that run at once.
    pub workers: usize,
    /// Everything about the server that decides results: version, device, settings.
    pub identity: String,
}

/// An evaluation, and its findings in words for the next prompt.
#[derive(Debug, Clone)]
pub struct Judged {
    pub evaluation: Evaluation,
    pub feedback: String,
}

/// A failure of the machine, which says nothing about the kernel.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: FailureKind,
    pub text: String,
}

/// The part of the machine that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A worker or its toolchain.
    Worker,
    /// Several workers on other machines were lost over the job, one after the other.
    Lost,
    /// The GPU or its driver.
    Device,
    /// The job did not end by its deadline.
    Deadline,
    /// The server died over the job too often.
    ServerDied,
    /// The emulator cannot run the kernel, or no case could be run.
    Unsupported,
    /// The op itself cannot be judged: its definition or reference is wrong.
    Op,
    /// A defect of kgen.
    Internal,
}

impl FailureKind {
    /// Returns whether the same request may fare better later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        !matches!(self, Self::Unsupported | Self::Op | Self::ServerDied)
    }

    /// Returns the name in results and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Lost => "lost",
            Self::Device => "device",
            Self::Deadline => "deadline",
            Self::ServerDied => "server_died",
            Self::Unsupported => "unsupported",
            Self::Op => "op",
            Self::Internal => "internal",
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OpEntry {
    pub name: String,
    /// The overload's name in PyTorch, for example `aten.add.Tensor`.
    pub overload: String,
    pub signature: String,
    pub aliases: Vec<String>,
}

/// An op file that requests may name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProblemEntry {
    pub name: String,
    /// Name of the op in it.
    pub op: String,
}

/// A question for a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptQuery {
    /// Name of an op or of a problem.
    pub op: String,
    /// Types as text, to be checked; empty is all.
    pub dtypes: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Prompt {
    pub op: String,
    /// The first prompt of `kgen generate`: instructions, then the task.
    pub prompt: String,
}
