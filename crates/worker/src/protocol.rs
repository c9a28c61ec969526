//! Messages between parent and worker: JSON, one message per line.
//!
//! The parent's first line is a [`Setup`]; the worker opens its compiler or device and answers with
//! a [`Hello`] or says why not ([`Message::Failed`]). From then on the parent sends one [`Job`] at
//! a time, and the worker answers with any number of [`Message::Progress`] and one
//! [`Message::Finished`] or [`Message::Failed`].
//!
//! A compiled program goes from the cpu worker to the gpu worker as a line of its own behind
//! [`Message::Finished`] and behind [`Job::Gpu`]: the parent passes that line on unread.

use std::{borrow::Cow, fmt, path::PathBuf, str::FromStr};

use kgen_baseline::side::{Sidecar, Sides};
use kgen_compile::Toolchain;
use kgen_eval::Progress;
use kgen_process::{Access, sandbox::Report};
use kgen_record::{EvalRequest, Evaluation, Sandbox, Session, Target};
use serde::{Deserialize, Serialize};

/// Version of the protocol; both sides must speak the same.
pub const PROTOCOL: u32 = 6;

/// The role of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Compiles, guards and emulates.
    Cpu,
    /// Launches and times on one GPU.
    Gpu,
}

impl Role {
    /// Returns the name as `--role` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown role `{0}` (known: cpu, gpu)")]
pub struct UnknownRoleError(String);

impl FromStr for Role {
    type Err = UnknownRoleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let role = [Self::Cpu, Self::Gpu].into_iter().find(|role| role.name() == text);
        role.ok_or_else(|| UnknownRoleError(text.to_owned()))
    }
}

/// The first line a worker reads, with its role and its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The parent's [`PROTOCOL`].
    pub protocol: u32,
    /// The worker's role.
    pub role: Role,
    /// The compiler of cpu workers.
    pub toolchain: Toolchain,
    /// Folder of the compile cache.
    pub cache_dir: Option<PathBuf>,
    /// Index of the GPU among the visible ones, for gpu workers.
    pub device: u32,
    /// The processes beside the worker that outlived the last one of this GPU.
    pub side_pids: Vec<u32>,
    /// Whether a gpu worker measures its GPU before it says hello.
    pub calibrate: bool,
    /// The worker's walls; `None` is none.
    pub sandbox: Option<Walls>,
}

/// The walls that a worker puts around itself before it opens anything, as far as they differ from worker to
/// worker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Walls {
    /// The user namespace of the parent, where the worker was to have another one.
    pub outer_namespace: Option<PathBuf>,
    /// The folder that it shares with the processes beside it.
    pub place: Option<PathBuf>,
    /// Whether a cpu worker speaks with a Python process.
    pub python: bool,
    /// Whether a gpu worker starts profilers.
    pub profilers: bool,
}

/// The first line a worker writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The worker's [`PROTOCOL`].
    pub protocol: u32,
    /// The version of kgen that the worker is.
    pub kgen: String,
    /// Facts of the GPU; `None` from a cpu worker.
    pub target: Option<Target>,
    /// Version of NVRTC, for example `13.0`; `None` from a gpu worker.
    pub nvrtc: Option<String>,
    /// Measurements of the GPU at the start of the worker; `None` from a cpu worker,
    /// and from one that did not.
    pub session: Option<Box<Session>>,
    /// The walls that hold; `None` where none were asked for.
    pub sandbox: Option<Report>,
}

impl Hello {
    /// Returns the state of the worker's sandbox.
    #[must_use]
    pub fn sandbox(&self) -> Sandbox {
        let lacking = |report: &Report| Sandbox::lacking(report.missing.clone());
        self.sandbox.as_ref().map_or(Sandbox::Off, lacking)
    }
}

/// A request of the parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Job<'a> {
    /// The half of an evaluation that needs no GPU.
    Cpu {
        request: Box<Cow<'a, EvalRequest>>,
        /// With the Python process of a reference in Python.
        sides: Box<Cow<'a, Sides>>,
    },
    /// The half on the GPU; the program is the next line.
    Gpu {
        request: Box<Cow<'a, EvalRequest>>,
        /// The evaluation of the first half.
        evaluation: Box<Cow<'a, Evaluation>>,
        /// The processes of this GPU that the request needs.
        sides: Box<Cow<'a, Sides>>,
        /// The numbers of those that run, needed or not.
        side_pids: Vec<u32>,
        /// How the GPU is used.
        usage: Access,
    },
}

/// A message of a worker after its hello.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Message {
    Hello {
        hello: Box<Hello>,
    },
    /// The job goes on.
    Progress {
        /// How far it is.
        progress: Progress,
    },
    /// The job is done.
    Finished {
        /// The evaluation so far.
        evaluation: Box<Evaluation>,
        /// Whether the next line is the compiled program.
        program: bool,
        /// Whether the worker ends now, because its device is in a state that only a fresh
        /// process gets it out of.
        retire: bool,
        /// The processes that do not answer any more and must be replaced.
        broken: Vec<Sidecar>,
    },
    /// The job failed; says nothing about the candidate.
    Failed {
        /// The error with its causes.
        message: String,
        cause: FailureCause,
        /// As in [`Self::Finished`].
        broken: Vec<Sidecar>,
    },
}

/// The party that a failed job is laid to; never the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// kgen or its machine: a fresh worker may succeed.
    Machine,
    /// The op: its definition or its reference is wrong, for every candidate.
    Op,
    /// A bug of kgen that one candidate brought to light: it panicked.
    Panic,
}
