//! Messages between kgen and a node: JSON, one message per line, over the streams of a launched process.
//!
//! kgen's first line is a [`NodeSetup`]; the node starts a worker and answers with
//! [`NodeMessage::Ready`] or [`NodeMessage::Refused`]. From then on kgen sends one [`NodeJob`] at a time.
//! A compiled program follows its job, or [`NodeMessage::Finished`], as a line of its own.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf, time::Duration};

use kgen_compile::Toolchain;
use kgen_process::Access;
use kgen_record::{Adapter, EvalRequest, Evaluation, Stage};
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    pool::Notice,
    protocol::{Hello, Role},
};

/// Time between two signs of life, which either side gives when it has nothing to say: kgen an empty line, a
/// node [`NodeMessage::Alive`].
pub(super) const ALIVE_EVERY: Duration = Duration::from_secs(2);

/// Silence after which the other side is gone.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(15);

/// First word of the line with which the shell of a node answers, before anything of kgen runs there.
pub(super) const GREETING: &str = "kgen-node";

/// The settings of a node's worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeSetup {
    /// The role of its worker.
    pub(super) role: Role,
    /// The compiler of a cpu worker; paths are relative to the folder of kgen's files there.
    pub(super) toolchain: Toolchain,
    /// Index of the GPU among those visible there.
    pub(super) device: u32,
    pub(super) sandbox: bool,
    pub(super) profilers: bool,
    /// Limit of a cpu worker's address space, in bytes.
    pub(super) cpu_memory_bytes: Option<u64>,
    /// Interpreter there; `None` looks for one.
    pub(super) python: Option<PathBuf>,
    /// Programs of adapters there; those that are left out are looked for.
    pub(super) adapters: BTreeMap<Adapter, PathBuf>,
}

/// Half an evaluation; the program for a GPU is the next line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeJob<'a> {
    pub(super) request: Box<Cow<'a, EvalRequest>>,
    /// The half on a GPU, if it is that.
    pub(super) gpu: Option<GpuHalf<'a>>,
}

/// Results of the first half, for the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct GpuHalf<'a> {
    pub(super) evaluation: Box<Cow<'a, Evaluation>>,
    pub(super) usage: Access,
}

/// A message of a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum NodeMessage {
    /// Its worker is ready.
    Ready {
        hello: Box<Hello>,
        /// Name of the node.
        host: String,
    },
    /// Its worker does not start.
    Refused { message: String },
    /// It is there, even if it has nothing to say.
    Alive,
    /// The job entered a stage.
    Stage { stage: Stage },
    /// Something for people.
    Notice { notice: Notice },
    /// The job is done.
    Finished {
        evaluation: Box<Evaluation>,
        /// Whether the next line is the compiled program.
        program: bool,
    },
    /// The job failed; says nothing about the candidate.
    Failed { error: Error },
}
