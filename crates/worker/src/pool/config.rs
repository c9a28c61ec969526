//! How workers are started.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kgen_compile::Toolchain;
use kgen_process::{
    DEVICE_ENV, SELF_EXE, Scratch, Spec,
    sandbox::{Namespaces, user_namespace},
};
use kgen_record::{Adapter, Target};
use kgen_settings::DeviceChoice;

use super::{nodes::LaunchConfig, notice::Notices};
use crate::{
    Error,
    protocol::{PROTOCOL, Role, Setup, Walls},
};

/// Address space of a cpu worker: room for the references of large cases, none for a compile bomb.
const CPU_MEMORY_BYTES: u64 = 16 << 30;

/// Time that a worker has to open its compiler or its GPU.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The machine and limits of a pool.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// How workers are launched on other machines: those of a GPU where one is used, else those that
    /// compile; `None` starts all of them here.
    pub launch: Option<LaunchConfig>,
    /// The executable; [`SELF_EXE`] is this very program.
    pub exe: PathBuf,
    /// Its arguments in front of `--role`.
    pub args: Vec<OsString>,
    /// Number of cpu workers, at least 1.
    pub cpu_jobs: usize,
    /// The device asked for. `Auto` takes the first GPU if it answers, else the emulator; of several
    /// GPUs those are used that answer.
    pub device: DeviceChoice,
    /// Workers per GPU, at least 1. Where there are more, evaluations that are not timed run beside
    /// each other.
    pub workers_per_gpu: usize,
    /// The target of evaluations where no GPU is used.
    pub emu_target: Target,
    /// The compiler.
    pub toolchain: Toolchain,
    /// Folder of the compile cache.
    pub cache_dir: Option<PathBuf>,
    /// Folder for the workers' scratch folders; `None` is the system's.
    pub scratch: Option<PathBuf>,
    /// Limit of a cpu worker's address space, in bytes.
    pub cpu_memory_bytes: Option<u64>,
    /// Time that a worker has to get ready.
    pub start_limit: Duration,
    /// Time that a worker has to react to SIGTERM until it is killed.
    pub grace: Duration,
    /// Waits before each try to start a GPU's worker anew; the GPU is given up after the last. A
    /// GPU that was torn away from a killed process may need some seconds.
    pub gpu_restart_waits: Vec<Duration>,
    /// Whether workers and Python processes without a GPU are behind walls.
    pub sandbox: bool,
    /// Whether profilers are to run: then gpu workers may start programs.
    pub profilers: bool,
    /// The processes beside workers.
    pub sides: SideConfig,
    /// Hears of GPUs that are left out or given up, and of the processes beside workers.
    pub notices: Notices,
}

/// How processes beside workers are started.
#[derive(Debug, Clone)]
pub struct SideConfig {
    /// The interpreter; `None` looks for one that has PyTorch.
    pub python: Option<PathBuf>,
    /// Programs of adapters; those that are left out are looked for.
    pub adapters: BTreeMap<Adapter, PathBuf>,
    /// Time that a process has to get ready: PyTorch may come from a slow disk.
    pub start_limit: Duration,
}

impl Default for SideConfig {
    fn default() -> Self {
        let start_limit = Duration::from_secs(180);
        Self { python: None, adapters: BTreeMap::new(), start_limit }
    }
}

impl PoolConfig {
    /// Returns a pool of workers that are this very program.
    #[must_use]
    pub fn new(
        toolchain: Toolchain,
        device: DeviceChoice,
        emu_target: Target,
        cpu_jobs: usize,
    ) -> Self {
        Self {
            launch: None,
            exe: SELF_EXE.into(),
            args: vec!["worker".into()],
            cpu_jobs,
            device,
            workers_per_gpu: 1,
            emu_target,
            toolchain,
            cache_dir: None,
            scratch: None,
            cpu_memory_bytes: Some(CPU_MEMORY_BYTES),
            start_limit: START_LIMIT,
            grace: Duration::from_secs(2),
            gpu_restart_waits: [0, 1, 4].map(Duration::from_secs).to_vec(),
            sandbox: true,
            profilers: false,
            sides: SideConfig::default(),
            notices: Notices::default(),
        }
    }

    /// Returns how cpu workers are started.
    pub(super) fn cpu_launch(&self) -> Launch {
        let waits = [0, 500].map(Duration::from_millis).to_vec();
        self.launch(Role::Cpu, 0, self.cpu_memory_bytes, waits)
    }

    /// Returns how the worker of a GPU is started. CUDA reserves more address space than it uses,
    /// so there is no limit.
    pub(super) fn gpu_launch(&self, device: u32) -> Launch {
        self.launch(Role::Gpu, device, None, self.gpu_restart_waits.clone())
    }

    fn launch(
        &self,
        role: Role,
        device: u32,
        memory_bytes: Option<u64>,
        start_waits: Vec<Duration>,
    ) -> Launch {
        let mut args = self.args.clone();
        args.extend(["--role".into(), role.name().into()]);
        // A place that cannot be made is missed when its worker's folder cannot be either.
        let place = Scratch::new("place", self.scratch.as_deref()).ok().map(Arc::new);
        let has_namespaces = role == Role::Cpu;
        let walls = Walls {
            outer_namespace: has_namespaces.then(user_namespace).flatten(),
            place: place.as_ref().map(|place| place.path().to_owned()),
            python: false,
            profilers: self.profilers,
        };
        let namespaces = || Namespaces::where_allowed().filter(|_| has_namespaces);
        let setup = Setup {
            protocol: PROTOCOL,
            role,
            toolchain: self.toolchain.clone(),
            cache_dir: self.cache_dir.clone(),
            device,
            side_pids: Vec::new(),
            calibrate: true,
            sandbox: self.sandbox.then_some(walls),
        };
        Launch {
            program: self.exe.clone(),
            args,
            setup,
            scratch: self.scratch.clone(),
            place,
            namespaces: self.sandbox.then(namespaces).flatten(),
            memory_bytes,
            start_limit: self.start_limit,
            grace: self.grace,
            start_waits,
        }
    }
}

/// How one kind of worker is started.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    program: PathBuf,
    args: Vec<OsString>,
    /// Its first line.
    pub(super) setup: Setup,
    scratch: Option<PathBuf>,
    /// The folder around those of its worker and the processes beside it, which pass tensors in files.
    pub(super) place: Option<Arc<Scratch>>,
    namespaces: Option<Namespaces>,
    memory_bytes: Option<u64>,
    /// Time that it has to get ready.
    pub(super) start_limit: Duration,
    /// Time that it has to react to SIGTERM.
    pub(super) grace: Duration,
    /// Waits before each try to start it.
    pub(super) start_waits: Vec<Duration>,
}

impl Launch {
    /// Makes a scratch folder.
    pub(super) fn scratch(&self) -> Result<Scratch, Error> {
        let place = self.place.as_ref().map(|place| place.path());
        let made = Scratch::new("worker", place.or(self.scratch.as_deref()));
        made.map_err(|error| Error::scratch(&error))
    }

    /// Returns the process to start in a scratch folder.
    pub(super) fn spec(&self, dir: &Path) -> Spec {
        let mut spec =
            Spec::new(&self.program, dir).args(&self.args).inherit(DEVICE_ENV).env("TMPDIR", dir);
        spec.memory_bytes = self.memory_bytes;
        spec.namespaces = self.namespaces.clone();
        spec
    }
}
