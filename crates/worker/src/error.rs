//! Failures of workers that are not a candidate's doing.

use std::io;

use serde::{Deserialize, Serialize};

use super::protocol::Role;

/// Why an evaluation could not be had. The fate of a candidate is never an error.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "error", content = "facts", rename_all = "snake_case")]
pub enum Error {
    /// The process could not be started, or ended before it was ready.
    #[error("failed to start a {role} worker: {reason}")]
    Start {
        /// The worker's role.
        role: Role,
        /// Why, with the end of its standard error where it said something.
        reason: String,
    },
    /// The worker is another version of kgen.
    #[error(
        "the {role} worker speaks protocol {theirs}, this kgen speaks {ours}: \
         use the same version of kgen on both sides"
    )]
    Version {
        /// The worker's role.
        role: Role,
        /// Its protocol.
        theirs: u64,
        /// The parent's protocol.
        ours: u32,
    },
    /// A GPU was given up.
    #[error("GPU {device} is no longer used: {reason}")]
    Quarantined {
        /// Index of the GPU.
        device: u32,
        /// The cause of its end.
        reason: String,
    },
    /// A request wants a GPU and the pool has none.
    #[error("the request is for a GPU, but no GPU is in use")]
    NoGpu,
    /// kgen or its machine failed while judging.
    #[error("a {role} worker failed: {message}")]
    Judge {
        /// The worker's role.
        role: Role,
        /// The worker's error with its causes.
        message: String,
    },
    /// The op cannot be judged, whoever the candidate is: its definition or reference is wrong.
    #[error("{message}")]
    Op {
        /// The error with its causes.
        message: String,
    },
    /// One evaluation lost the machines that it was on, one after the other.
    #[error("{n_losses} workers were lost over it; in the end {last}")]
    Lost {
        /// Number of workers.
        n_losses: u32,
        /// How the last one was lost.
        last: String,
    },
    /// No machine is left on which workers are launched.
    #[error("no worker can be launched: {reason}")]
    NoNode {
        /// Why the last one could not.
        reason: String,
    },
    /// The pool is shutting down.
    #[error("the workers are shut down")]
    ShutDown,
    /// No folder for a worker to work in.
    #[error("failed to make a scratch folder: {0}")]
    Scratch(String),
}

impl Error {
    /// Returns whether other evaluations may fare better than the one that this ended: the machine
    /// failed over it, and its workers are still there or may start again.
    #[must_use]
    pub const fn is_of_one_evaluation(&self) -> bool {
        match self {
            Self::Judge { .. } | Self::Op { .. } | Self::Start { .. } | Self::Lost { .. } => true,
            Self::Version { .. }
            | Self::Quarantined { .. }
            | Self::NoGpu
            | Self::NoNode { .. }
            | Self::ShutDown
            | Self::Scratch(_) => false,
        }
    }

    pub(super) fn start(role: Role, error: &kgen_process::Error) -> Self {
        let mut reason = error.to_string();
        if let Some(cause) = std::error::Error::source(error) {
            reason = format!("{reason}: {cause}");
        }
        Self::Start { role, reason }
    }

    pub(super) fn scratch(error: &io::Error) -> Self {
        Self::Scratch(error.to_string())
    }
}
