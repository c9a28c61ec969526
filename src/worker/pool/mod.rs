//! The parent's side: a fixed number of workers, and evaluations that go through them.
//!
//! An evaluation holds a cpu worker for its first half and a gpu worker for its second, never both
//! at once, so that compiling and emulating one candidate overlaps timing another. There is one
//! worker, and so one timing job, per GPU.

mod config;
mod deadline;
mod ledger;
mod lines;
mod link;
mod slots;

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, watch};

use crate::{
    baseline::side::Side,
    record::{EvalRequest, Evaluation, Split, Stage, Target},
    settings::DeviceChoice,
    worker::{
        Error,
        protocol::{Hello, Job, Role},
    },
};

pub use config::PoolConfig;
use deadline::Deadlines;
use ledger::Ledger;
use link::{Silence, Worker, json_line, verdict_of};
use slots::{Lease, Slots};

/// Time that evaluations have to notice a shutdown.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// Workers that judge, from [`Pool::start`] to [`Pool::shutdown`].
///
/// Dropping the pool, or the future of an evaluation, kills the processes behind it.
pub struct Pool {
    cpu: Slots,
    gpu: Option<Slots>,
    target: Target,
    nvrtc: Option<String>,
    gpu_refusal: Option<Error>,
    /// Evaluations that may have a compiled program: the machine code of programs that wait for a
    /// GPU is what takes memory.
    programs: Semaphore,
    closing: watch::Sender<bool>,
    n_active: watch::Sender<usize>,
    split: Mutex<Split>,
}

/// Hears of each stage that an evaluation enters.
pub type Observer<'a> = &'a (dyn Fn(Stage) + Send + Sync);

impl Pool {
    /// Starts the first cpu worker and, if one is asked for, the gpu worker; both must get ready.
    /// Further cpu workers start when they are needed.
    ///
    /// # Errors
    ///
    /// [`Error::Start`] with what the worker said, [`Error::Version`], [`Error::Scratch`];
    /// [`Error::Quarantined`] for a GPU that was asked for by its number.
    pub async fn start(config: PoolConfig) -> Result<Self, Error> {
        let cpu = Slots::new((0..config.cpu_jobs.max(1)).map(|_| config.cpu_launch()));
        let (first, gpu) = tokio::join!(ready(&cpu), start_gpu(&config));
        let cpu_hello = first?;
        let (gpu, gpu_refusal) = match gpu {
            Ok(gpu) => (gpu, None),
            Err(error) if config.device == DeviceChoice::Auto => (None, Some(error)),
            Err(error) => return Err(error),
        };
        let (gpu, gpu_target) = gpu.unzip();
        let n_gpus = usize::from(gpu.is_some());
        Ok(Self {
            cpu,
            gpu,
            target: gpu_target.flatten().unwrap_or(config.emu_target),
            nvrtc: cpu_hello.nvrtc,
            gpu_refusal,
            programs: Semaphore::new(config.cpu_jobs.max(1) + n_gpus),
            closing: watch::Sender::new(false),
            n_active: watch::Sender::new(0),
            split: Mutex::new(Split {
                cpu_workers: u32::try_from(config.cpu_jobs.max(1)).unwrap_or(u32::MAX),
                gpu_workers: u32::from(n_gpus == 1),
                ..Split::default()
            }),
        })
    }

    /// Returns the facts of the device that requests are to be made for.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Tells whether there is a GPU.
    #[must_use]
    pub const fn has_gpu(&self) -> bool {
        self.gpu.is_some()
    }

    /// Returns NVRTC's version, for example `13.0`.
    #[must_use]
    pub fn nvrtc(&self) -> Option<&str> {
        self.nvrtc.as_deref()
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
        let evaluation = self.run(request, observer).await?;
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
        let job = Job::Cpu { request: Box::new(Cow::Borrowed(request)) };
        let ledger = |hello: &Hello| Ledger::cpu(request, hello.nvrtc.clone(), observer);
        let first = half(&self.cpu, &job, &[], deadlines, ledger).await?;
        let (Some(gpu), Some(mut program)) = (gpu, first.program) else {
            return Ok(first.evaluation);
        };
        program.push(b'\n');
        let evaluation = first.evaluation;
        let job = Job::Gpu {
            request: Box::new(Cow::Borrowed(request)),
            evaluation: Box::new(Cow::Borrowed(&evaluation)),
            side: Box::new(Cow::Owned(Side::None)),
        };
        let ledger = |_: &Hello| Ledger::gpu(request, evaluation.clone(), observer);
        let second = half(gpu, &job, &program, deadlines, ledger).await?;
        Ok(second.evaluation)
    }

    /// Cancels all evaluations, ends all workers and waits until their processes are gone.
    pub async fn shutdown(&self) {
        self.closing.send_replace(true);
        let mut n_active = self.n_active.subscribe();
        let idle = n_active.wait_for(|n_active| *n_active == 0);
        drop(tokio::time::timeout(SHUTDOWN_LIMIT, idle).await);
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

/// Starts a worker, to see that it can be done, and returns its hello.
async fn ready(slots: &Slots) -> Result<Hello, Error> {
    let mut lease = slots.lease().await?;
    let worker = lease.worker().await?;
    let hello = worker.hello().clone();
    lease.give_back(worker);
    Ok(hello)
}

async fn start_gpu(config: &PoolConfig) -> Result<Option<(Slots, Option<Target>)>, Error> {
    let device = match config.device {
        DeviceChoice::Emu => return Ok(None),
        DeviceChoice::Auto => 0,
        DeviceChoice::Cuda(device) => device,
    };
    // One try: whether there is a GPU at all is not a matter of patience.
    let launch = config.gpu_launch(device);
    let worker = Worker::start(&launch).await?;
    let target = worker.hello().target.clone();
    let slots = Slots::new([launch]);
    slots.lease().await?.give_back(worker);
    Ok(Some((slots, target)))
}

/// What half an evaluation came to.
struct Half {
    evaluation: Evaluation,
    program: Option<Vec<u8>>,
}

/// Sends a job and the lines that belong to it to a worker of one role; its death becomes a
/// verdict.
async fn half<'a>(
    slots: &Slots,
    job: &Job<'_>,
    attachment: &[u8],
    deadlines: Deadlines,
    ledger: impl Fn(&Hello) -> Ledger<'a>,
) -> Result<Half, Error> {
    let mut lease = slots.lease().await?;
    // Made only now: hundreds of evaluations may wait for the lease.
    let job = json_line(job);
    let mut is_retry = false;
    loop {
        let mut worker = lease.worker().await?;
        let mut ledger = ledger(worker.hello());
        let silence = match worker.judge(&[&job, attachment], deadlines, &mut ledger).await {
            Ok(answer) => {
                if answer.side_broken {
                    tracing::warn!("the Python process does not answer");
                }
                if answer.fit {
                    lease.give_back(worker);
                } else {
                    worker.dismiss().await?;
                }
                return Ok(Half { evaluation: answer.evaluation, program: answer.program });
            }
            Err(silence) => silence,
        };
        let died = match silence {
            Silence::Closed => worker.own_end().await,
            Silence::Overdue(_)
            | Silence::Garbage(_)
            | Silence::Panicked(_)
            | Silence::Failed(_) => None,
        };
        end(&mut worker, &mut lease).await?;
        let role = worker.role();
        let (why, said) = (silence.detail(), worker.stderr_text());
        tracing::info!(%role, why, ?died, said, "a worker was ended");
        match silence {
            // A fresh process may find the machine in better order, once.
            Silence::Failed(_) if !is_retry => is_retry = true,
            Silence::Failed(message) => return Err(Error::Judge { role, message }),
            // It died before it began: that was not over this candidate.
            Silence::Closed if !ledger.has_begun() && !is_retry => is_retry = true,
            Silence::Closed | Silence::Overdue(_) | Silence::Garbage(_) | Silence::Panicked(_) => {
                let evaluation = ledger.close(verdict_of(&silence, died));
                return Ok(Half { evaluation, program: None });
            }
        }
    }
}

/// Ends a worker; a GPU whose process does not die is given up.
async fn end(worker: &mut Worker, lease: &mut Lease<'_>) -> Result<(), Error> {
    let ended = worker.end().await;
    ended.map(drop).map_err(|error| match worker.role() {
        Role::Cpu => error,
        Role::Gpu => lease.quarantine(worker.device(), &error.to_string()),
    })
}
