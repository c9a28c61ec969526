//! How a run and its ops ended.

use std::path::PathBuf;

use kgen_llm::CallKey;
use kgen_record::{Cap, OpKey, Verdict};
use kgen_store::{AttemptRecord, Totals};

use super::{BoxError, Ending};

/// A reason to end a run early; a candidate's failure never is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The LLM cannot be used.
    #[error(transparent)]
    Llm(#[from] kgen_llm::Error),
    /// The run directory cannot be written or read.
    #[error(transparent)]
    Store(#[from] kgen_store::Error),
    /// The workers cannot judge.
    #[error("failed to judge {attempt}")]
    Judge {
        /// The attempt, for example `relu_attempt_1`.
        attempt: String,
        #[source]
        source: BoxError,
    },
    /// A suite or a template is wrong.
    #[error("failed to prepare `{op}`")]
    RunInputs {
        op: String,
        #[source]
        source: BoxError,
    },
    /// The operating system gives no random numbers.
    #[error("failed to draw a seed")]
    Entropy(#[source] BoxError),
    /// A bug of kgen.
    #[error("work on an op ended in a panic; this is a bug of kgen")]
    Panicked(#[source] BoxError),
}

/// How a run went.
#[derive(Debug)]
pub struct RunOutcome {
    /// One entry per op, in the plan's order.
    pub ops: Vec<OpOutcome>,
    pub end: RunEnd,
    /// Sums over the whole run, earlier processes that worked on it included.
    pub totals: Totals,
}

impl RunOutcome {
    /// Returns whether every op has a kernel that passed.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        self.ops.iter().all(OpOutcome::passed)
    }
}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// Every op came to its end.
    Finished,
    /// Calls wait for replies; the run goes on when they are there.
    AwaitingReplies,
    /// A cap was reached that left something to be done.
    BudgetReached { cap: Cap },
    /// It was stopped from outside.
    Interrupted,
    /// Some ops got no answer, the first for this reason; the others came to their end.
    Incomplete(Error),
    /// It cannot go on; nothing that was stored is lost.
    Failed(Error),
}

/// How an op went.
#[derive(Debug, Clone)]
pub struct OpOutcome {
    /// Its name in kgen.
    pub op: String,
    pub key: OpKey,
    pub end: OpEnd,
    /// The best attempt; `None` where none was finished.
    pub best: Option<AttemptRecord>,
    /// The best attempt's verdict, its confirmation included.
    pub verdict: Option<Verdict>,
    /// Whether the best attempt was judged again with fresh seeds, and passed.
    pub confirmed: bool,
    pub n_attempts: u32,
}

impl OpOutcome {
    /// Returns whether the best attempt passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict.is_some_and(Verdict::is_pass)
    }
}

/// Why an op ended.
#[derive(Debug, Clone, PartialEq)]
pub enum OpEnd {
    /// By the rule of the search.
    Rule(Ending),
    /// The recording has no further reply.
    EndOfRecording,
    /// A cap was reached.
    BudgetReached { cap: Cap },
    /// Calls wait for their replies.
    Awaiting {
        /// The calls, each with the file where its reply goes.
        calls: Vec<(CallKey, PathBuf)>,
    },
    /// The run stopped before.
    Interrupted,
    /// Something failed that was not the candidate.
    Failed {
        /// The reason, in words.
        message: String,
    },
}
