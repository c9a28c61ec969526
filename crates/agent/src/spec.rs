//! The specification of a run, and the services that it needs.

use std::{collections::BTreeMap, sync::Arc};

use kgen_llm::{Call, CallLog, Client, ReplyRecord};
use kgen_ops::op::OpDef;
use kgen_prompt::{Rendered, Situation};
use kgen_record::{
    Case, Emulation, EvalRequest, Evaluation, FeedbackSet, Implementation, Limits, OpKey,
    Precision, Stage, Target, TimingRequest,
};
use kgen_store::RecordedRun;
use kgen_worker::Pool;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Policy, Search};

/// Failure of something that the agent uses.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug)]
pub struct RunSpec {
    /// The ops, in the order in which work on them begins.
    pub ops: Vec<RunOp>,
    /// Where kernels come from.
    pub source: CandidateSource,
    /// How kernels are searched for.
    pub search: Search,
    /// When an op is over.
    pub policy: Policy,
    /// Seed of the run; `None` takes fresh ones from the operating system.
    pub seed: Option<u64>,
    /// Ops worked on at once, at least 1.
    pub max_concurrent_ops: usize,
    pub target: Target,
    /// Whether kernels run on a GPU; otherwise on the emulator alone.
    pub on_gpu: bool,
    /// Whether small cases run on the emulator before a GPU sees a kernel.
    pub screen: bool,
    pub precision: Precision,
    /// Whether plans may call libraries.
    pub libraries: bool,
    /// Whether kernels may include headers of CUTLASS.
    pub cutlass: bool,
    /// How closely the emulator looks.
    pub emulation: Emulation,
    /// Whether right kernels run again under profilers.
    pub profile: bool,
    pub feedback: FeedbackSet,
    /// Limits of one evaluation.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOp {
    /// Its name in kgen.
    pub name: String,
    /// The text that defines it, where it is not of the catalogue.
    pub definition: Option<String>,
    pub key: OpKey,
}

impl From<&OpDef> for RunOp {
    fn from(op: &OpDef) -> Self {
        let (name, definition) = (op.name.clone(), op.definition.clone());
        Self { name, definition, key: OpKey::from(op) }
    }
}

/// Where kernels come from.
#[derive(Debug)]
pub enum CandidateSource {
    /// An LLM, or a person or a recording in its place.
    Llm {
        /// Tokens that a reply may have.
        max_tokens: u32,
        /// Sampling temperature, sent only if it is set.
        temperature: Option<f64>,
        /// Whether a call without a reply still waits for one when the run is resumed, as those
        /// of a mailbox do; other calls are lost then.
        calls_wait: bool,
        /// The recording whose evaluations are taken instead of judging anew.
        reuse_evaluations: Option<Box<RecordedRun>>,
    },
    /// One implementation per op; nobody is asked.
    Given(BTreeMap<OpKey, Implementation>),
}

/// Answers prompts; [`Client`] does.
pub trait Llm: Send + Sync + 'static {
    /// Makes one call and puts it on record.
    fn complete(
        &self,
        call: &Call,
        log: &dyn CallLog,
    ) -> impl Future<Output = Result<ReplyRecord, kgen_llm::Error>> + Send;
}

impl Llm for Client {
    fn complete(
        &self,
        call: &Call,
        log: &dyn CallLog,
    ) -> impl Future<Output = Result<ReplyRecord, kgen_llm::Error>> + Send {
        Self::complete(self, call, log)
    }
}

/// Judges kernels; the pool of workers does.
pub trait EvaluationService: Send + Sync + 'static {
    /// Judges one kernel file and reports each stage as it is entered.
    fn evaluate(
        &self,
        request: EvalRequest,
        entered: &(dyn Fn(Stage) + Send + Sync),
    ) -> impl Future<Output = Result<Evaluation, BoxError>> + Send;
}

impl EvaluationService for Arc<Pool> {
    async fn evaluate(
        &self,
        request: EvalRequest,
        entered: &(dyn Fn(Stage) + Send + Sync),
    ) -> Result<Evaluation, BoxError> {
        Ok(self.evaluate_observed(request, entered).await?)
    }
}

/// Knows the ops: their cases and their prompts.
pub trait RunInputs: Send + Sync + 'static {
    /// Returns the cases of an op, those drawn from the seed included.
    ///
    /// # Errors
    ///
    /// When the suite has no such op or its cases cannot be made.
    fn cases(&self, op: &str, seed: u64) -> Result<Vec<Case>, BoxError>;

    /// Returns how a correct kernel is timed; `None` where that is not asked for.
    fn timing(&self, op: &str) -> Option<TimingRequest>;

    /// Returns the prompt of a call about an op.
    ///
    /// # Errors
    ///
    /// When a template is wrong.
    fn prompt(&self, op: &str, situation: &Situation<'_>) -> Result<Rendered, BoxError>;
}

/// How urgently a run is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    Running,
    /// Nothing new is started, and calls that wait are given up; other work that was begun is finished.
    Draining,
    /// Evaluations are given up as well, to be repeated when the run continues; replies of open requests are
    /// still stored.
    Graceful,
    /// All work is given up: calls in flight are lost.
    Immediate,
}

/// Stops a run from outside, for example on Ctrl-C. Clones stop the same run.
#[derive(Debug, Clone)]
pub struct ShutdownHandle {
    level: watch::Sender<Shutdown>,
    stopping: CancellationToken,
}

impl Default for ShutdownHandle {
    fn default() -> Self {
        Self { level: watch::Sender::new(Shutdown::Running), stopping: CancellationToken::new() }
    }
}

impl ShutdownHandle {
    /// Asks for a stop at least as urgent as `stop`.
    pub fn raise(&self, stop: Shutdown) {
        self.level.send_if_modified(|current| {
            let more_urgent = *current < stop;
            *current = stop.max(*current);
            more_urgent
        });
        if Shutdown::Running < stop {
            self.stopping.cancel();
        }
    }

    /// Returns a token that is cancelled once the run is to stop, however urgently.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    /// Returns how urgently the run is to stop.
    #[must_use]
    pub fn level(&self) -> Shutdown {
        *self.level.borrow()
    }

    /// Waits until the run is to stop at least as urgently as `stop`.
    pub(super) async fn reached(&self, stop: Shutdown) {
        let mut receiver = self.level.subscribe();
        let reached = receiver.wait_for(|level| stop <= *level).await;
        reached.expect("this handle keeps the channel open");
    }
}
