//! Half an evaluation as data: its request, and for a GPU the results of the first half.

use std::borrow::Cow;

use kgen_baseline::side::{Sidecar, Sides};
use kgen_ops::op;
use kgen_process::Access;
use kgen_record::{EvalRequest, Evaluation};

use super::{
    Observer,
    deadline::Deadlines,
    half::{Half, Task},
    ledger::Ledger,
    link::json_line,
    side::Starters,
    slots::Slots,
};
use crate::{
    Error,
    protocol::{Hello, Job},
};

/// Half an evaluation.
#[derive(Clone, Copy)]
pub(super) enum HalfJob<'a> {
    /// The half that needs no GPU.
    Cpu { request: &'a EvalRequest, needs: &'a Needs },
    /// The half on a GPU.
    Gpu {
        request: &'a EvalRequest,
        needs: &'a Needs,
        /// The evaluation of the first half.
        evaluation: &'a Evaluation,
        /// The compiled program as one line.
        program: &'a [u8],
        /// How the GPU is used.
        usage: Access,
    },
}

impl HalfJob<'_> {
    /// Runs it on a worker of this machine.
    pub(super) async fn run(
        &self,
        slots: &Slots,
        starters: &Starters,
        observer: Observer<'_>,
    ) -> Result<Half, Error> {
        let task = Task {
            line: &|sides, side_pids| json_line(&self.message(sides, side_pids)),
            attachment: self.program(),
            deadlines: Deadlines::of(self.request()),
            ledger: &|hello: &Hello| self.ledger(hello, observer),
            starters,
            programs: self.programs(),
            fresh: self.needs_fresh_process(),
        };
        task.run(slots).await
    }

    pub(super) const fn request(&self) -> &EvalRequest {
        match self {
            Self::Cpu { request, .. } | Self::Gpu { request, .. } => request,
        }
    }

    pub(super) const fn program(&self) -> &[u8] {
        match self {
            Self::Cpu { .. } => &[],
            Self::Gpu { program, .. } => program,
        }
    }

    fn message<'a>(&'a self, sides: &'a Sides, side_pids: Vec<u32>) -> Job<'a> {
        let sides = Box::new(Cow::Borrowed(sides));
        match *self {
            Self::Cpu { request, .. } => {
                Job::Cpu { request: Box::new(Cow::Borrowed(request)), sides }
            }
            Self::Gpu { request, evaluation, usage, .. } => Job::Gpu {
                request: Box::new(Cow::Borrowed(request)),
                evaluation: Box::new(Cow::Borrowed(evaluation)),
                sides,
                side_pids,
                usage,
            },
        }
    }

    fn ledger<'a>(&'a self, hello: &Hello, observer: Observer<'a>) -> Ledger<'a> {
        match self {
            Self::Cpu { request, .. } => Ledger::cpu(request, hello.nvrtc.clone(), observer),
            Self::Gpu { request, evaluation, .. } => {
                let target = hello.target.clone().unwrap_or_else(|| evaluation.target.clone());
                let evaluation = Evaluation { target, ..Evaluation::clone(evaluation) };
                Ledger::gpu(request, evaluation, observer)
            }
        }
    }

    fn programs(&self) -> &[Sidecar] {
        match self {
            Self::Cpu { needs, .. } => &needs.on_cpu,
            Self::Gpu { needs, .. } => &needs.on_gpu,
        }
    }

    /// Times for a claim come from processes of their own, each with other addresses.
    fn needs_fresh_process(&self) -> bool {
        let timing = self.request().timing.as_ref();
        matches!(self, Self::Gpu { .. }) && timing.is_some_and(|t| 1 < t.profile.n_processes())
    }
}

/// The programs whose processes a request needs.
pub(super) struct Needs {
    /// For the reference of its op, without a GPU.
    pub(super) on_cpu: Vec<Sidecar>,
    /// For a reference or a baseline on a GPU.
    pub(super) on_gpu: Vec<Sidecar>,
}

impl Needs {
    pub(super) fn of(request: &EvalRequest) -> Self {
        let op = request.definition.as_deref().and_then(|text| op::custom(text).ok());
        let is_large = || request.cases.iter().any(|case| case.class.is_large());
        let on_cpu = op.as_ref().is_some_and(|op| op.python_reference.is_some());
        // Original sizes are judged beside the module.
        let by_module = op.is_some_and(|op| op.module.is_some()) && is_large();
        let python = |needed: bool| needed.then_some(Sidecar::Python);
        let on_gpu = python(on_cpu || by_module || request.needs_python());
        let adapters = request.adapters().into_iter().map(Sidecar::Adapter);
        Self {
            on_cpu: python(on_cpu).into_iter().collect(),
            on_gpu: on_gpu.into_iter().chain(adapters).collect(),
        }
    }
}
