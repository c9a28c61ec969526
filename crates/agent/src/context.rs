//! State that all ops of a run share, and errors that end an attempt.

use std::{path::PathBuf, sync::Arc};

use kgen_llm::{CallKey, Scope};
use kgen_record::Cap;
use kgen_store::RunStore;
use tokio::sync::mpsc;

use super::{
    BoxError, Error, EvaluationService, Event, Llm, RunInputs, RunSpec, Shutdown, ShutdownHandle,
};

#[derive(Debug)]
pub struct Deps<L, J, M> {
    /// Answers prompts; `None` where every kernel is given.
    pub llm: Option<L>,
    pub judge: J,
    pub inputs: M,
    pub store: Arc<RunStore>,
    pub stop: ShutdownHandle,
}

pub(super) struct Context<L, J, M> {
    pub(super) plan: RunSpec,
    pub(super) deps: Deps<L, J, M>,
    pub(super) events: mpsc::UnboundedSender<Event>,
}

impl<L: Llm, J: EvaluationService, M: RunInputs> Context<L, J, M> {
    pub(super) fn send(&self, event: Event) {
        // Nobody has to watch.
        let _unwatched = self.events.send(event);
    }

    pub(super) fn store(&self) -> &RunStore {
        &self.deps.store
    }

    /// Stops an op between two stages if the run is to stop.
    pub(super) fn may_go_on(&self) -> Result<(), AttemptError> {
        match self.deps.stop.level() {
            Shutdown::Running => Ok(()),
            Shutdown::Draining | Shutdown::Graceful | Shutdown::Immediate => {
                Err(AttemptError::Interrupted)
            }
        }
    }
}

/// Why work on an op stops before its rule says so; reasons that reach farther stand farther down.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// The plan of another branch, which this one needs, is not made.
    Sibling,
    /// The recording has no further reply.
    EndOfRecording,
    /// A cap is reached.
    Budget(Cap),
    /// Calls wait for their replies, which go to these files.
    Awaiting {
        calls: Vec<(CallKey, PathBuf)>,
    },
    Interrupted,
    /// The provider did not answer this op, or the workers failed over it; others may fare better.
    OfOp(Error),
    Failed(Error),
}

impl AttemptError {
    /// Joins the reasons of two attempts of an op: the one that reaches farther counts.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Awaiting { mut calls }, Self::Awaiting { calls: others }) => {
                calls.extend(others);
                calls.sort();
                Self::Awaiting { calls }
            }
            (one, other) if one.reach() < other.reach() => other,
            (one, _) => one,
        }
    }

    const fn reach(&self) -> u8 {
        match self {
            Self::Sibling => 0,
            Self::EndOfRecording => 1,
            Self::Budget(_) => 2,
            Self::Awaiting { .. } => 3,
            Self::Interrupted => 4,
            Self::OfOp(_) => 5,
            Self::Failed(_) => 6,
        }
    }

    /// Sorts an error of the material: a prompt that is too long is one op's trouble, a wrong
    /// template everybody's.
    pub(super) fn inputs(op: &str, source: BoxError) -> Self {
        let of_one = matches!(source.downcast_ref(), Some(kgen_prompt::Error::TooLong { .. }));
        let error = Error::RunInputs { op: op.to_owned(), source };
        if of_one { Self::OfOp(error) } else { Self::Failed(error) }
    }
}

impl From<kgen_store::Error> for AttemptError {
    fn from(error: kgen_store::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Sorts an error of a call: `Ok` is a refusal that only this attempt suffers from.
pub(super) fn refusal(error: kgen_llm::Error) -> Result<kgen_llm::Error, AttemptError> {
    match error {
        kgen_llm::Error::AwaitingReply { key, path } => {
            Err(AttemptError::Awaiting { calls: vec![(key, path)] })
        }
        kgen_llm::Error::EndOfRecording { .. } => Err(AttemptError::EndOfRecording),
        kgen_llm::Error::Budget { cap } => Err(AttemptError::Budget(cap)),
        kgen_llm::Error::Stopped => Err(AttemptError::Interrupted),
        error => match error.scope() {
            Scope::Call => Ok(error),
            Scope::Op => Err(AttemptError::OfOp(error.into())),
            Scope::Run => Err(AttemptError::Failed(error.into())),
        },
    }
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
