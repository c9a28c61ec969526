//! Workers on other machines, which a command of the user's starts: `srun`, `ssh`, `docker run`, ...
//!
//! A node is the process at the other end of such a command. It runs one worker by the same code that
//! runs those of this machine, so that a kernel that kills its worker is charged there; the loss of a
//! node, of its connection or of its job is never a kernel's fault, and its job goes to another one.

mod bundle;
mod connection;
mod far;
mod protocol;

use std::{
    ffi::OsString,
    io,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Semaphore, mpsc, oneshot, watch},
    task::JoinSet,
    time::sleep,
};

pub use far::main;

use super::{
    Gpu, Notices, Observer,
    config::PoolConfig,
    gpus::{self, difference},
    half::Half,
    job::HalfJob,
    lock,
};
use crate::{
    Error,
    protocol::{Hello, Role},
};
use bundle::Bundle;
use connection::{Connection, LaunchError, Launcher, NodeError};
use protocol::NodeSetup;

/// Nodes that an evaluation may lose until it is given up: a kernel may take its node with it.
const MAX_LOSSES: u32 = 5;

/// Failures of a prefix in a row after which it is given up.
const MAX_FAILURES: u32 = 5;

/// The longest wait before a worker is launched anew.
const MAX_WAIT_S: u64 = 60;

/// How workers are launched elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Commands with their arguments, each of which starts a program elsewhere with its own streams.
    pub prefixes: Vec<Vec<OsString>>,
    /// Workers that each of them starts, at least 1.
    pub n_workers: usize,
    /// Time that a worker may take to be ready, that in a queue of jobs among it.
    pub wait: Duration,
}

/// The nodes of a pool.
pub(super) struct Nodes {
    shared: Arc<Shared>,
    places: Mutex<JoinSet<()>>,
    closing: watch::Sender<bool>,
    n_places: usize,
}

/// The state that evaluations and the tasks that launch nodes share.
struct Shared {
    ready: Mutex<Vec<Ready>>,
    permits: Semaphore,
    /// Places that were not given up.
    n_live: Mutex<usize>,
    given_up: Mutex<Option<Error>>,
    /// The first GPU, which the others must be like.
    first: OnceLock<Gpu>,
    notices: Notices,
}

/// A node without a job; dropping it has its place launch another one.
struct Ready {
    connection: Connection,
    /// Whether it finished a job.
    has_served: Arc<AtomicBool>,
    _gone: oneshot::Sender<()>,
}

impl Nodes {
    /// Launches all nodes and waits until one is ready.
    ///
    /// # Errors
    ///
    /// Why the last one does not start, where none does.
    pub(super) async fn start(
        config: &PoolConfig,
        launch: &LaunchConfig,
        role: Role,
    ) -> Result<(Self, Hello), Error> {
        let unreadable = |error: io::Error| Error::Start { role, reason: error.to_string() };
        let bundle = match role {
            Role::Cpu => Bundle::with_compiler(&config.toolchain),
            Role::Gpu => Bundle::of_exe(&config.toolchain),
        };
        let bundle = Arc::new(bundle.map_err(unreadable)?);
        let indices = match role {
            Role::Cpu => vec![0],
            Role::Gpu => gpus::indices(config.device)?,
        };
        let mut launchers = Vec::new();
        for prefix in &launch.prefixes {
            for _ in 0..launch.n_workers.max(1) {
                for &device in &indices {
                    let setup = setup(config, role, device, &bundle);
                    launchers.push(Launcher {
                        prefix: prefix.clone(),
                        bundle: Arc::clone(&bundle),
                        setup,
                        wait: launch.wait,
                        notices: config.notices.clone(),
                    });
                }
            }
        }
        let n_places = launchers.len();
        let shared = Arc::new(Shared {
            ready: Mutex::default(),
            permits: Semaphore::new(0),
            n_live: Mutex::new(n_places),
            given_up: Mutex::default(),
            first: OnceLock::new(),
            notices: config.notices.clone(),
        });
        let (first_ready, mut ready) = mpsc::unbounded_channel();
        let closing = watch::Sender::new(false);
        let mut places = JoinSet::new();
        for launcher in launchers {
            let place = Place {
                launcher,
                shared: Arc::clone(&shared),
                closing: closing.subscribe(),
                first_ready: Some(first_ready.clone()),
            };
            places.spawn(place.keep());
        }
        drop(first_ready);
        match ready.recv().await {
            Some(hello) => {
                Ok((Self { shared, places: Mutex::new(places), closing, n_places }, hello))
            }
            None => Err(lock(&shared.given_up).clone().unwrap_or(Error::ShutDown)),
        }
    }

    /// Returns how many workers there are when all are ready.
    pub(super) const fn len(&self) -> usize {
        self.n_places
    }

    /// Returns the first GPU.
    pub(super) fn first_gpu(&self) -> Option<&Gpu> {
        self.shared.first.get()
    }

    /// Has a node do half an evaluation; where the node is lost, another one does it.
    pub(super) async fn run(
        &self,
        job: &HalfJob<'_>,
        observer: Observer<'_>,
    ) -> Result<Half, Error> {
        let mut n_losses = 0;
        loop {
            let mut node = self.shared.lease().await?;
            let reason = match node.connection.run(job, observer).await {
                Ok(half) => {
                    node.has_served.store(true, Ordering::Release);
                    self.shared.put_back(node);
                    return Ok(half);
                }
                Err(NodeError::Op(error)) => {
                    self.shared.put_back(node);
                    return Err(error);
                }
                Err(NodeError::Lost(reason)) => reason,
            };
            n_losses += 1;
            let (host, said) = (node.connection.host.clone(), node.connection.said());
            let text = format!("the worker on {host} was lost: {reason}{said}");
            self.shared.notices.warn(format!("{text}; its evaluation goes to another one"));
            tokio::spawn(node.end());
            if n_losses == MAX_LOSSES {
                return Err(Error::Lost { n_losses, last: text });
            }
        }
    }

    /// Ends all nodes.
    pub(super) async fn end(&self) {
        self.shared.permits.close();
        self.closing.send_replace(true);
        let places = std::mem::take(&mut *lock(&self.places));
        let ready = std::mem::take(&mut *lock(&self.shared.ready));
        let ends: Vec<_> = ready.into_iter().map(Ready::end).collect();
        tokio::join!(places.join_all(), futures_util::future::join_all(ends));
    }
}

impl Ready {
    async fn end(self) {
        self.connection.end().await;
    }
}

impl Shared {
    async fn lease(&self) -> Result<Ready, Error> {
        loop {
            match self.permits.acquire().await {
                Ok(permit) => permit.forget(),
                Err(_) => return Err(lock(&self.given_up).clone().unwrap_or(Error::ShutDown)),
            }
            // One that is gone is launched anew once it is dropped.
            let node = lock(&self.ready).pop();
            if let Some(mut node) = node
                && !node.connection.is_gone()
            {
                return Ok(node);
            }
        }
    }

    fn put_back(&self, node: Ready) {
        lock(&self.ready).push(node);
        self.permits.add_permits(1);
    }

    /// Gives a place up; with the last one all evaluations end.
    fn give_up(&self, error: &Error) {
        self.notices.warn(format!("it is tried no more: {error}"));
        let mut n_live = lock(&self.n_live);
        *n_live -= 1;
        if *n_live == 0 {
            *lock(&self.given_up) = Some(Error::NoNode { reason: error.to_string() });
            self.permits.close();
        }
    }
}

/// A place for a node: as often as it is gone, another one is launched.
struct Place {
    launcher: Launcher,
    shared: Arc<Shared>,
    closing: watch::Receiver<bool>,
    /// Hears of the first node.
    first_ready: Option<mpsc::UnboundedSender<Hello>>,
}

impl Place {
    async fn keep(mut self) {
        // Launches in a row after which no evaluation was finished.
        let mut n_vain = 0;
        let mut n_failures = 0;
        while !*self.closing.borrow() {
            match self.launch().await {
                Ok((gone, has_served)) => {
                    n_failures = 0;
                    let mut closing = self.closing.clone();
                    tokio::select! {
                        // An error is what dropping the other end leaves.
                        _ = gone => {}
                        _ = closing.wait_for(|closing| *closing) => return,
                    }
                    n_vain = if has_served.load(Ordering::Acquire) { 0 } else { n_vain + 1 };
                }
                Err(_) if *self.closing.borrow() => return,
                Err(LaunchError::Final(error)) => return self.shared.give_up(&error),
                Err(LaunchError::Again(error)) => {
                    n_failures += 1;
                    n_vain += 1;
                    if n_failures == MAX_FAILURES {
                        return self.shared.give_up(&error);
                    }
                    self.shared.notices.warn(format!("it is tried again: {error}"));
                }
            }
            tokio::select! {
                () = sleep(wait_before(n_vain)) => {}
                _ = self.closing.wait_for(|closing| *closing) => {}
            }
        }
    }

    /// Launches a node, and offers it to evaluations.
    async fn launch(&mut self) -> Result<(oneshot::Receiver<()>, Arc<AtomicBool>), LaunchError> {
        let connection = self.launcher.connect(&mut self.closing).await?;
        let Hello { target, session, sandbox, .. } = connection.hello.clone();
        if target.is_some() {
            let index = self.launcher.setup.device;
            let gpu = Gpu { index, target, session, sandbox };
            let first = self.shared.first.get_or_init(|| gpu.clone());
            if let Some(difference) = difference(first, &gpu) {
                let host = connection.host.clone();
                connection.end().await;
                let reason = format!("the GPU of {host} is left out: {difference}");
                return Err(Error::Start { role: self.launcher.setup.role, reason }.into());
            }
        }
        let hello = connection.hello.clone();
        let (_gone, gone) = oneshot::channel();
        let has_served = Arc::new(AtomicBool::new(false));
        tracing::info!(host = connection.host, "a launched worker is ready");
        let node = Ready { connection, has_served: Arc::clone(&has_served), _gone };
        self.shared.put_back(node);
        if let Some(first_ready) = self.first_ready.take() {
            // Nobody waits any more once one is ready.
            drop(first_ready.send(hello));
        }
        Ok((gone, has_served))
    }
}

/// Returns the wait before the next launch, after so many in a row that came to nothing.
fn wait_before(n_vain: u32) -> Duration {
    let seconds = 1_u64.checked_shl(n_vain.saturating_sub(1)).unwrap_or(MAX_WAIT_S);
    Duration::from_secs(seconds.min(MAX_WAIT_S))
}

fn setup(config: &PoolConfig, role: Role, device: u32, bundle: &Bundle) -> NodeSetup {
    NodeSetup {
        role,
        toolchain: bundle.toolchain().clone(),
        device,
        sandbox: config.sandbox,
        profilers: config.profilers,
        cpu_memory_bytes: config.cpu_memory_bytes,
        python: config.sides.python.clone(),
        adapters: config.sides.adapters.clone(),
    }
}
