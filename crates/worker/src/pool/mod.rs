//! The parent's side: a fixed number of workers, and evaluations that go through them.
//!
//! An evaluation holds a cpu worker for its first half and a gpu worker for its second, never both
//! at once, so that compiling and emulating one candidate overlaps timing another. Where something is
//! timed there is one worker per GPU, else several; any of them takes the next evaluation.

mod adapter;
mod config;
mod deadline;
mod drain;
mod gpus;
mod half;
mod job;
mod ledger;
mod lines;
mod link;
mod nodes;
mod notice;
mod python;
mod side;
mod slots;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use kgen_baseline::side::Sidecar;
use kgen_process::{Access, sandbox::Report};
use kgen_record::{EvalRequest, Evaluation, Split, Stage, Target, Verdict};
use kgen_settings::DeviceChoice;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};

use crate::{
    Error,
    protocol::{Hello, Role},
};

pub use config::{PoolConfig, SideConfig};
pub use gpus::Gpu;
pub use nodes::{LaunchConfig, main as node_main};
pub use notice::{Notice, Notices};
pub use side::LonePython;

use half::Half;
use job::{HalfJob, Needs};
use nodes::Nodes;
use side::Starters;
use slots::Slots;

/// Time that evaluations have to notice a shutdown.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// Workers that judge, from [`Pool::start`] to [`Pool::shutdown`].
///
/// Dropping the pool, or the future of an evaluation, kills the processes behind it.
pub struct Pool {
    cpu: Places,
    gpu: Option<Places>,
    gpus: Vec<Gpu>,
    /// Whether several workers use a GPU at once.
    shares_gpus: bool,
    target: Target,
    nvrtc: Option<String>,
    sandbox: Option<Report>,
    gpu_refusal: Option<Error>,
    starters: Arc<Starters>,
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
        let (cpu, started) = tokio::join!(start_cpu(&config), start_gpu(&config));
        let (cpu, cpu_hello) = cpu?;
        let (started, gpu_refusal) = match started {
            Ok(started) => (started, None),
            Err(error) if config.device == DeviceChoice::Auto => (None, Some(error)),
            Err(error) => return Err(error),
        };
        let (gpu, gpus) = started.map_or((None, Vec::new()), |(gpu, gpus)| (Some(gpu), gpus));
        let n_cpu = cpu.len();
        let n_gpu = gpu.as_ref().map_or(0, Places::len);
        let is_alone = match &gpu {
            Some(Places::Elsewhere(nodes)) => nodes.len() == 1,
            Some(Places::Here(_)) | None => gpus.len() == 1,
        };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let split =
            Split { cpu_workers: count(n_cpu), gpu_workers: count(n_gpu), ..Split::default() };
        Ok(Self {
            target: gpus::target(&gpus, is_alone).unwrap_or_else(|| config.emu_target.clone()),
            starters: Arc::new(Starters::new(&config)),
            warm_ups: Mutex::default(),
            programs: Semaphore::new(n_cpu + n_gpu),
            shares_gpus: matches!(&gpu, Some(Places::Here(slots)) if gpus.len() < slots.len()),
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
        *lock(&self.split)
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
        let mut split = lock(&self.split);
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
        let needs = &Needs::of(request);
        if let Some(Places::Here(slots)) = gpu
            && !needs.on_gpu.is_empty()
        {
            // PyTorch takes seconds to import: that overlaps the work without a GPU.
            self.warm_up(slots, &needs.on_gpu);
        }
        let first = HalfJob::Cpu { request, needs };
        match (gpu, self.cpu.run(&first, &self.starters, observer).await?) {
            (Some(gpu), Half { evaluation, program: Some(mut program) }) => {
                program.push(b'\n');
                let run = async |usage| {
                    let (evaluation, program) = (&evaluation, &program[..]);
                    let second = HalfJob::Gpu { request, needs, evaluation, program, usage };
                    Ok(gpu.run(&second, &self.starters, observer).await?.evaluation)
                };
                let alone = !self.shares_gpus || request.timing.is_some();
                let usage = if alone { Access::Exclusive } else { Access::Shared };
                let found: Evaluation = run(usage).await?;
                // Other evaluations had a part of its time, or of its memory.
                let disturbed =
                    found.verdict == Verdict::TimedOut || kgen_eval::was_lacking(&found);
                if usage == Access::Shared && disturbed {
                    return run(Access::Exclusive).await;
                }
                Ok(found)
            }
            (_, Half { evaluation, .. }) => Ok(evaluation),
        }
    }

    /// Starts processes beside every gpu worker, once; an error comes back in the job that needs the process.
    fn warm_up(&self, gpu: &Arc<Slots>, programs: &[Sidecar]) {
        let mut warm_ups = lock(&self.warm_ups);
        if warm_ups.is_some() {
            return;
        }
        let tasks = warm_ups.insert(JoinSet::new());
        for _ in 0..gpu.len() {
            let (gpu, starters) = (Arc::clone(gpu), Arc::clone(&self.starters));
            let programs = programs.to_vec();
            tasks.spawn(async move {
                if let Ok(mut lease) = gpu.lease().await {
                    drop(half::warm_up(&mut lease, &starters, &programs).await);
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
        let warm_ups = lock(&self.warm_ups).take();
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

/// The workers of one role.
enum Places {
    Here(Arc<Slots>),
    Elsewhere(Nodes),
}

impl Places {
    async fn run(
        &self,
        job: &HalfJob<'_>,
        starters: &Starters,
        observer: Observer<'_>,
    ) -> Result<Half, Error> {
        match self {
            Self::Here(slots) => job.run(slots, starters, observer).await,
            Self::Elsewhere(nodes) => nodes.run(job, observer).await,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Here(slots) => slots.len(),
            Self::Elsewhere(nodes) => nodes.len(),
        }
    }

    async fn end(&self) {
        match self {
            Self::Here(slots) => slots.end().await,
            Self::Elsewhere(nodes) => nodes.end().await,
        }
    }
}

/// Starts the first of the workers that compile; the others start when they are needed.
async fn start_cpu(config: &PoolConfig) -> Result<(Places, Hello), Error> {
    if let (Some(launch), DeviceChoice::Emu) = (&config.launch, config.device) {
        let (nodes, hello) = Nodes::start(config, launch, Role::Cpu).await?;
        return Ok((Places::Elsewhere(nodes), hello));
    }
    let places = (0..config.cpu_jobs.max(1)).map(|_| (config.cpu_launch(), None));
    let slots = Slots::new(places, config.notices.clone());
    let hello = half::ready(&slots).await?;
    Ok((Places::Here(Arc::new(slots)), hello))
}

/// Starts the workers of the GPUs; `None` where none is asked for.
async fn start_gpu(config: &PoolConfig) -> Result<Option<(Places, Vec<Gpu>)>, Error> {
    match (&config.launch, config.device) {
        (_, DeviceChoice::Emu) => Ok(None),
        (Some(launch), _) => {
            let (nodes, _) = Nodes::start(config, launch, Role::Gpu).await?;
            let gpus = nodes.first_gpu().cloned().into_iter().collect();
            Ok(Some((Places::Elsewhere(nodes), gpus)))
        }
        (None, _) => {
            let started = gpus::start(config).await?;
            Ok(started.map(|(slots, gpus)| (Places::Here(Arc::new(slots)), gpus)))
        }
    }
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

/// Locks what no panic leaves half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
