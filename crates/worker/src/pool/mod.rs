//! The parent's side: a fixed number of workers, and evaluations that go through them.
//!
//! An evaluation holds a cpu worker for its first half and a gpu worker for its second, never both
//! at once, so that compiling and emulating one candidate overlaps timing another. Where something is
//! timed there is one worker per GPU, else several; any of them takes the next evaluation.

mod config;
mod deadline;
mod drain;
mod gpus;
mod half;
mod ledger;
mod lines;
mod link;
mod notice;
mod python;
mod slots;

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use kgen_ops::op;
use kgen_process::{Access, sandbox::Report};
use kgen_record::{EvalRequest, Evaluation, Split, Stage, Target, Verdict};
use kgen_settings::DeviceChoice;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};

use crate::{
    Error,
    protocol::{Hello, Job},
};

pub use config::{PoolConfig, PythonConfig};
pub use gpus::Gpu;
pub use notice::{Notice, Notices};
pub use python::LonePython;

use deadline::Deadlines;
use half::{Half, Task};
use ledger::Ledger;
use link::json_line;
use python::Pythons;
use slots::Slots;

/// Time that evaluations have to notice a shutdown.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// Workers that judge, from [`Pool::start`] to [`Pool::shutdown`].
///
/// Dropping the pool, or the future of an evaluation, kills the processes behind it.
pub struct Pool {
    cpu: Slots,
    gpu: Option<Arc<Slots>>,
    gpus: Vec<Gpu>,
    /// Whether several workers use a GPU at once.
    shares_gpus: bool,
    target: Target,
    nvrtc: Option<String>,
    sandbox: Option<Report>,
    gpu_refusal: Option<Error>,
    pythons: Arc<Pythons>,
    /// Starts of Python processes ahead of the jobs that need them; `None` before the first such job.
    warm_ups: Mutex<Option<JoinSet<()>>>,
    /// Evaluations that may have a compiled program: the machine code of programs that wait for a
    /// GPU takes memory.
    programs: Semaphore,
    closing: watch::Sender<bool>,
    n_active: watch::Sender<usize>,
    split: Mutex<Split>,
}

/// Hears of each stage that an evaluation enters.
pub type Observer<'a> = &'a (dyn Fn(Stage) + Send + Sync);

impl Pool {
    /// Starts the first cpu worker and the gpu workers that are asked for; the former and one of the
    /// latter must get ready. Further cpu workers start when they are needed.
    ///
    /// # Errors
    ///
    /// [`Error::Start`] with the worker's output, [`Error::Version`], [`Error::Scratch`].
    pub async fn start(config: PoolConfig) -> Result<Self, Error> {
        let n_cpu = config.cpu_jobs.max(1);
        let places = (0..n_cpu).map(|_| (config.cpu_launch(), None));
        let cpu = Slots::new(places, config.notices.clone());
        let (first, started) = tokio::join!(half::ready(&cpu), gpus::start(&config));
        let cpu_hello = first?;
        let (started, gpu_refusal) = match started {
            Ok(started) => (started, None),
            Err(error) if config.device == DeviceChoice::Auto => (None, Some(error)),
            Err(error) => return Err(error),
        };
        let (gpu, gpus) =
            started.map_or((None, Vec::new()), |(slots, gpus)| (Some(Arc::new(slots)), gpus));
        let n_gpu = gpu.as_ref().map_or(0, |places| places.len());
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let split =
            Split { cpu_workers: count(n_cpu), gpu_workers: count(n_gpu), ..Split::default() };
        Ok(Self {
            target: gpus::target(&gpus).unwrap_or_else(|| config.emu_target.clone()),
            pythons: Arc::new(Pythons::new(&config)),
            warm_ups: Mutex::default(),
            programs: Semaphore::new(n_cpu + n_gpu),
            shares_gpus: gpus.len() < n_gpu,
            cpu,
            gpu,
            gpus,
            nvrtc: cpu_hello.nvrtc,
            sandbox: cpu_hello.sandbox,
            gpu_refusal,
            closing: watch::Sender::new(false),
            n_active: watch::Sender::new(0),
            split: Mutex::new(split),
        })
    }

    /// Returns the facts of the device that requests are to be made for. Of several GPUs those of
    /// the first, without a UUID: which of them it will be is open.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the GPUs that were taken into use; none on the emulator.
    #[must_use]
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }

    /// Returns whether there is a GPU.
    #[must_use]
    pub const fn has_gpu(&self) -> bool {
        self.gpu.is_some()
    }

    /// Returns how many evaluations keep all workers busy.
    #[must_use]
    pub fn n_ahead(&self) -> usize {
        let split = self.split();
        2 * (split.cpu_workers + split.gpu_workers) as usize + 1
    }

    /// Returns NVRTC's version, for example `13.0`.
    #[must_use]
    pub fn nvrtc(&self) -> Option<&str> {
        self.nvrtc.as_deref()
    }

    /// Returns the walls of cpu workers; `None` where none were asked for.
    #[must_use]
    pub const fn sandbox(&self) -> Option<&Report> {
        self.sandbox.as_ref()
    }

    /// Returns why there is no GPU although the configuration asked for one if possible.
    #[must_use]
    pub const fn gpu_refusal(&self) -> Option<&Error> {
        self.gpu_refusal.as_ref()
    }

    /// Judges a kernel file. Waits for a free worker first.
    ///
    /// A worker that dies or hangs over the candidate is a verdict with the findings it had until
    /// then; the next evaluation gets a fresh process.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; none of them says anything about the candidate.
    pub async fn evaluate(&self, request: EvalRequest) -> Result<Evaluation, Error> {
        self.evaluate_observed(request, &|_| {}).await
    }

    /// Judges a kernel file and says which stage it is in.
    ///
    /// # Errors
    ///
    /// As for [`Pool::evaluate`].
    pub async fn evaluate_observed(
        &self,
        request: EvalRequest,
        observer: Observer<'_>,
    ) -> Result<Evaluation, Error> {
        let _active = Active::new(&self.n_active);
        let mut closing = self.closing.subscribe();
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => Err(Error::ShutDown),
            result = Box::pin(self.run_timed(&request, observer)) => result,
        }
    }

    /// Judges a kernel file as often as its timing asks for, each time in a fresh worker
    /// ([`kgen_record::Profile::n_processes`]), and joins the results ([`kgen_eval::across`]).
    ///
    /// # Errors
    ///
    /// As for [`Pool::evaluate`].
    pub async fn evaluate_across(
        &self,
        request: EvalRequest,
        observer: Observer<'_>,
    ) -> Result<Evaluation, Error> {
        let timing = request.timing.as_ref().filter(|_| request.on_gpu);
        let n = timing.map_or(1, |timing| timing.profile.n_processes());
        if n == 1 {
            return self.evaluate_observed(request, observer).await;
        }
        // A kernel is profiled once.
        let again = EvalRequest { profile: None, ..request.clone() };
        let first = self.evaluate_observed(request, observer).await?;
        let mut found = vec![first.clone()];
        for _ in 1..n {
            if found.last().is_some_and(|evaluation| !evaluation.verdict.is_pass()) {
                break;
            }
            found.push(self.evaluate_observed(again.clone(), observer).await?);
        }
        Ok(kgen_eval::across(found).unwrap_or(first))
    }

    /// Returns where the time of all evaluations so far went; `wall_s` and `parent_s` are the
    /// caller's to fill in.
    #[must_use]
    pub fn split(&self) -> Split {
        *self.split.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run_timed(
        &self,
        request: &EvalRequest,
        observer: Observer<'_>,
    ) -> Result<Evaluation, Error> {
        let began = Instant::now();
        let mut evaluation = self.run(request, observer).await?;
        for choice in kgen_eval::tuned(request, &evaluation) {
            let judged = self.run(&choice, observer).await?;
            kgen_eval::join_tuned(&mut evaluation, &choice.params, judged);
            if !evaluation.verdict.is_pass() {
                break;
            }
        }
        let wall = began.elapsed().as_secs_f64();
        let mut split = self.split.lock().unwrap_or_else(PoisonError::into_inner);
        split.add(&evaluation, wall);
        Ok(evaluation)
    }

    async fn run(
        &self,
        request: &EvalRequest,
        observer: Observer<'_>,
    ) -> Result<Evaluation, Error> {
        let gpu = match (&self.gpu, request.on_gpu) {
            (Some(gpu), true) => Some(gpu),
            (None, true) => return Err(Error::NoGpu),
            (_, false) => None,
        };
        let _program = match gpu {
            Some(_) => Some(self.programs.acquire().await.map_err(|_| Error::ShutDown)?),
            None => None,
        };
        let deadlines = Deadlines::of(request);
        let needs = PythonNeeds::of(request);
        let on_gpu = needs.on_gpu || request.needs_python();
        let first = Task {
            line: &|side, _| {
                json_line(&Job::Cpu {
                    request: Box::new(Cow::Borrowed(request)),
                    side: Box::new(Cow::Borrowed(side)),
                })
            },
            attachment: &[],
            deadlines,
            ledger: &|hello: &Hello| Ledger::cpu(request, hello.nvrtc.clone(), observer),
            pythons: needs.on_cpu.then_some(&*self.pythons),
            fresh: false,
        };
        if let Some(gpu) = gpu.filter(|_| on_gpu) {
            // PyTorch takes seconds to import: that overlaps the work without a GPU.
            self.warm_up(gpu);
        }
        match (gpu, first.run(&self.cpu).await?) {
            (Some(gpu), Half { evaluation, program: Some(mut program) }) => {
                program.push(b'\n');
                let first = GpuJob { request, evaluation, program, needs_python: on_gpu, observer };
                let alone = !self.shares_gpus || request.timing.is_some();
                let usage = if alone { Access::Exclusive } else { Access::Shared };
                let found = self.run_on_gpu(gpu, &first, usage).await?;
                // Other evaluations had a part of its time, or of its memory.
                let disturbed =
                    found.verdict == Verdict::TimedOut || kgen_eval::was_lacking(&found);
                if usage == Access::Shared && disturbed {
                    return self.run_on_gpu(gpu, &first, Access::Exclusive).await;
                }
                Ok(found)
            }
            (_, Half { evaluation, .. }) => Ok(evaluation),
        }
    }

    async fn run_on_gpu(
        &self,
        gpu: &Slots,
        job: &GpuJob<'_>,
        usage: Access,
    ) -> Result<Evaluation, Error> {
        let GpuJob { request, evaluation, program, needs_python, observer } = job;
        let task = Task {
            line: &|side, python_pid| {
                json_line(&Job::Gpu {
                    request: Box::new(Cow::Borrowed(request)),
                    evaluation: Box::new(Cow::Borrowed(evaluation)),
                    side: Box::new(Cow::Borrowed(side)),
                    python_pid,
                    usage,
                })
            },
            attachment: program,
            deadlines: Deadlines::of(request),
            ledger: &|hello: &Hello| {
                let target = hello.target.clone().unwrap_or_else(|| evaluation.target.clone());
                Ledger::gpu(request, Evaluation { target, ..evaluation.clone() }, *observer)
            },
            pythons: needs_python.then_some(&*self.pythons),
            // Times for a claim come from processes of their own, each with other addresses.
            fresh: request.timing.as_ref().is_some_and(|t| 1 < t.profile.n_processes()),
        };
        Ok(task.run(gpu).await?.evaluation)
    }

    /// Starts the Python process of every gpu worker, once; an error comes back in the job that
    /// needs the process.
    fn warm_up(&self, gpu: &Arc<Slots>) {
        let mut warm_ups = self.warm_ups.lock().unwrap_or_else(PoisonError::into_inner);
        if warm_ups.is_some() {
            return;
        }
        let tasks = warm_ups.insert(JoinSet::new());
        for _ in 0..gpu.len() {
            let (gpu, pythons) = (Arc::clone(gpu), Arc::clone(&self.pythons));
            tasks.spawn(async move {
                if let Ok(mut lease) = gpu.lease().await {
                    drop(half::side(&mut lease, &pythons).await);
                }
            });
        }
    }

    /// Cancels all evaluations, ends all workers and waits until their processes are gone.
    pub async fn shutdown(&self) {
        self.closing.send_replace(true);
        let mut n_active = self.n_active.subscribe();
        let idle = n_active.wait_for(|n_active| *n_active == 0);
        drop(tokio::time::timeout(SHUTDOWN_LIMIT, idle).await);
        let warm_ups = self.warm_ups.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut warm_ups) = warm_ups {
            drop(tokio::time::timeout(SHUTDOWN_LIMIT, warm_ups.shutdown()).await);
        }
        let all = async {
            match &self.gpu {
                Some(gpu) => _ = tokio::join!(self.cpu.end(), gpu.end()),
                None => self.cpu.end().await,
            }
        };
        if tokio::time::timeout(SHUTDOWN_LIMIT, all).await.is_err() {
            tracing::warn!("a worker does not die, not even by SIGKILL");
        }
    }
}

/// Whether the references of a request's op come from the Python process.
struct PythonNeeds {
    on_cpu: bool,
    on_gpu: bool,
}

impl PythonNeeds {
    fn of(request: &EvalRequest) -> Self {
        let op = request.definition.as_deref().and_then(|text| op::custom(text).ok());
        let is_large = || request.cases.iter().any(|case| case.class.is_large());
        let on_cpu = op.as_ref().is_some_and(|op| op.python_reference.is_some());
        // Original sizes are judged beside the module.
        let by_module = op.is_some_and(|op| op.module.is_some()) && is_large();
        Self { on_cpu, on_gpu: on_cpu || by_module }
    }
}

/// Input of the second half of an evaluation: the results of the first.
struct GpuJob<'a> {
    request: &'a EvalRequest,
    evaluation: Evaluation,
    /// The compiled program as one line.
    program: Vec<u8>,
    /// Whether it needs the GPU's Python process.
    needs_python: bool,
    observer: Observer<'a>,
}

/// Counts an evaluation as long as it lives.
struct Active<'a>(&'a watch::Sender<usize>);

impl<'a> Active<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
