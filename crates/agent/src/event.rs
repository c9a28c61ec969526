//! Events of a run, for whoever watches it.

use std::path::PathBuf;

use kgen_llm::{CallKey, Usage};
use kgen_record::{AttemptId, Stage};
use kgen_store::{AttemptRecord, Purpose};

use super::OpOutcome;

/// Something that happened in a run, in the order in which it happened within an op.
#[derive(Debug, Clone)]
pub enum Event {
    /// Work on an op began.
    OpStarted {
        /// The op's name in kgen.
        op: String,
    },
    /// An attempt began, or goes on where an interrupted run left it.
    AttemptStarted {
        attempt: AttemptId,
        /// Why it is made.
        purpose: Purpose,
    },
    /// A call is made.
    CallStarted { key: CallKey },
    /// Its reply is there.
    ReplyReceived {
        key: CallKey,
        seconds: f64,
        usage: Usage,
        /// Cost in US dollars; `None` where it is unknown.
        cost: Option<f64>,
        /// Whether the reply is a recorded one, and if so whether it answered another prompt.
        replayed: Option<PromptMatch>,
        /// Whether the reply was kept from an equal request of another run.
        cached: bool,
    },
    /// The judge entered a stage.
    Evaluating { attempt: AttemptId, stage: Stage },
    /// An attempt is over.
    AttemptDone {
        attempt: AttemptId,
        record: Box<AttemptRecord>,
        /// Why no case was judged, where that is so.
        reason: Option<String>,
    },
    /// The winner is judged again.
    Confirming { attempt: AttemptId },
    Confirmed {
        attempt: AttemptId,
        /// Whether it passed with every fresh seed.
        passed: bool,
    },
    /// A call waits for the reply file of a person or another machine.
    Awaiting {
        key: CallKey,
        /// Where the reply goes.
        path: PathBuf,
    },
    /// Something worth a line that is no failure.
    Note { message: String },
    /// Work on an op is over, for good or for this process.
    OpDone { outcome: Box<OpOutcome> },
}

/// Whether a recorded reply answered the prompt it is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptMatch {
    /// The prompts are equal.
    Same,
    Differs,
}
