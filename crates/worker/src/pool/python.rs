//! The Python process of a GPU, or of a cpu worker whose references are Python code: started when a request
//! first needs it, kept for the run, replaced when it dies or hangs.
//!
//! It belongs to the worker's place, so it is started only while nobody else uses the GPU, and it
//! outlives the workers: importing PyTorch takes seconds, and a kernel that kills its worker is no
//! reason to do it again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use kgen_baseline::{
    python::{self, HOW_TO},
    side::{Ready, Side},
};
use kgen_process::{
    Child, DEVICE_ENV, PYTHON_ENV, Scratch, Spec,
    sandbox::{Policy, Wall},
};
use kgen_record::PythonFacts;
use serde::Deserialize;
use tokio::{
    process::{ChildStderr, ChildStdout},
    sync::OnceCell,
    time::timeout,
};

use super::{
    config::{PoolConfig, PythonConfig},
    drain::Drain,
    lines::Lines,
    notice::Notices,
};

/// The device of a process without a GPU, as PyTorch calls it.
pub(super) const CPU: &str = "cpu";

/// Version of the protocol that is spoken with the process.
const PROTOCOL: u32 = 1;

/// Ends in a row, without a job that went well in between, after which a GPU goes on without.
const MAX_ENDS: u32 = 3;

/// Length of the line that the process is ready with.
const LINE_LIMIT: usize = 64 << 10;

/// Bytes of the process' standard error that are kept.
const STDERR_CAP: usize = 16 << 10;

/// Time that the process has to end by itself once its standard input is closed.
const OWN_END_LIMIT: Duration = Duration::from_secs(2);

/// Variables of PyTorch's compilers, and the names of their folders beside the compile cache.
const CACHES: [(&str, &str); 4] = [
    ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
    ("TRITON_CACHE_DIR", "triton"),
    ("TORCH_EXTENSIONS_DIR", "torch_extensions"),
    ("FLAGGEMS_CACHE_DIR", "flag_gems"),
];

/// Longest path of a Unix socket, its end included, is 108 bytes.
const SOCKET_PATH_LIMIT: usize = 100;

/// Options of all Python processes.
pub(super) struct Pythons {
    config: PythonConfig,
    scratch: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    sandbox: bool,
    notices: Notices,
    found: OnceCell<Result<python::Python, String>>,
    /// The warnings given already: several GPUs miss the same thing.
    said: Mutex<Vec<String>>,
}

impl Pythons {
    pub(super) fn new(config: &PoolConfig) -> Self {
        Self {
            config: config.python.clone(),
            scratch: config.scratch.clone(),
            cache_dir: config.cache_dir.clone(),
            sandbox: config.sandbox,
            notices: config.notices.clone(),
            found: OnceCell::new(),
            said: Mutex::default(),
        }
    }

    /// Looks for an interpreter, once.
    async fn find(&self) -> &Result<python::Python, String> {
        let path = self.config.path.clone();
        let look = || async {
            let found = tokio::task::spawn_blocking(move || python::find(path.as_deref())).await;
            let found = found.map_err(|error| error.to_string())?;
            found.map_err(|error| error.to_string())
        };
        self.found.get_or_init(look).await
    }

    fn warn_once(&self, text: String) {
        let mut said = self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !said.contains(&text) {
            said.push(text.clone());
            self.notices.warn(text);
        }
    }
}

/// The Python process of one place, or why there is none.
#[derive(Default)]
pub(super) struct Python {
    process: Option<Process>,
    n_ends: u32,
    refusal: Option<String>,
    /// The folder that it shares with its worker.
    place: Option<Arc<Scratch>>,
}

impl Python {
    /// Returns none that runs, for a place.
    pub(super) fn in_place(place: Option<Arc<Scratch>>) -> Self {
        Self { place, ..Self::default() }
    }

    /// Returns how the process stands, started if it does not run.
    ///
    /// `device`: as PyTorch calls it; `uuid`: of a GPU, as the worker sees it; `watch` gets every process
    /// that is started.
    pub(super) async fn ready(
        &mut self,
        pythons: &Pythons,
        device: &str,
        uuid: Option<&str>,
        watch: impl Fn(&Child),
    ) -> Side {
        loop {
            if let Some(reason) = &self.refusal {
                return Side::Unavailable { reason: reason.clone() };
            }
            match &self.process {
                Some(process) if process.child.status().is_none() => {
                    return process.side();
                }
                Some(process) => {
                    let why = process.how_it_ended();
                    self.note_end(pythons, device, &why);
                }
                None => match self.start(pythons, device, uuid, &watch).await {
                    Ok(process) => {
                        let facts = &process.facts;
                        let found = format!("torch {} on {}", facts.torch, facts.device);
                        pythons.notices.note(format!(
                            "Python process of {device}: {found}; {}",
                            facts.settings
                        ));
                        self.process = Some(process);
                    }
                    Err(Failure::Final(reason)) => self.refuse(pythons, reason),
                    Err(Failure::Died(why)) => self.note_end(pythons, device, &why),
                },
            }
        }
    }

    async fn start(
        &self,
        pythons: &Pythons,
        device: &str,
        uuid: Option<&str>,
        watch: impl Fn(&Child),
    ) -> Result<Process, Failure> {
        let place = self.place.as_ref().map(|place| place.path());
        Process::start(pythons, place, device, uuid, watch).await
    }

    /// Returns its number; `None` where none runs.
    pub(super) fn pid(&self) -> Option<u32> {
        let process = self.process.as_ref()?;
        process.child.status().is_none().then(|| process.child.pid())
    }

    /// Hears how a job that had the process ended.
    pub(super) async fn job_done(&mut self, pythons: &Pythons, device: &str, is_broken: bool) {
        if is_broken {
            if let Some(mut process) = self.process.take() {
                let why = match process.child.status() {
                    Some(_) => process.how_it_ended(),
                    None => {
                        format!("it did not answer{}", process.stderr.last_line())
                    }
                };
                process.kill().await;
                self.note_end(pythons, device, &why);
            }
        } else if self.process.as_ref().is_some_and(|process| process.child.status().is_none()) {
            self.n_ends = 0;
        }
    }

    /// Notes that the process is gone; after too many ends in a row there is no further one.
    fn note_end(&mut self, pythons: &Pythons, device: &str, why: &str) {
        self.process = None;
        self.n_ends += 1;
        if self.n_ends < MAX_ENDS {
            let text = format!("the Python process of {device} is started anew: {why}");
            pythons.notices.warn(text);
        } else {
            let reason = format!("the Python process ended {MAX_ENDS} times in a row: {why}");
            self.refuse(pythons, reason);
        }
    }

    fn refuse(&mut self, pythons: &Pythons, reason: String) {
        pythons.warn_once(reason.clone());
        self.refusal = Some(reason);
    }

    /// Ends the process: its input closes, and it has a moment to react.
    pub(super) async fn end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        drop(process.child.stdin.take());
        if timeout(OWN_END_LIMIT, process.child.wait()).await.is_err() {
            process.kill().await;
        }
    }
}

/// A Python process of a caller that uses the GPU itself, without workers.
pub struct LonePython {
    python: Python,
}

impl LonePython {
    /// Starts it on a GPU, and says how it stands.
    ///
    /// `device`: the GPU's index; `uuid`: its UUID, which PyTorch must see under that index too.
    pub async fn start(config: &PoolConfig, device: u32, uuid: Option<&str>) -> (Self, Side) {
        let mut python = Python::default();
        let side =
            Box::pin(python.ready(&Pythons::new(config), &format!("cuda:{device}"), uuid, |_| {}))
                .await;
        (Self { python }, side)
    }

    pub async fn end(mut self) {
        self.python.end().await;
    }
}

/// A process that listens. Dropping it kills its group.
struct Process {
    child: Child,
    stderr: Drain,
    socket: PathBuf,
    facts: PythonFacts,
    _scratch: Scratch,
}

/// Why a process did not get ready.
enum Failure {
    /// Another try would end alike.
    Final(String),
    /// It died or was silent.
    Died(String),
}

/// The only line that the process prints.
#[derive(Deserialize)]
struct Greeting {
    protocol: u32,
    ready: Option<PythonFacts>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    kind: String,
    message: String,
}

impl Process {
    async fn start(
        pythons: &Pythons,
        place: Option<&Path>,
        device: &str,
        uuid: Option<&str>,
        watch: impl Fn(&Child),
    ) -> Result<Self, Failure> {
        let python = match pythons.find().await {
            Ok(found) => found,
            Err(missing) => return Err(Failure::Final(missing.clone())),
        };
        let folder =
            |error: io::Error| Failure::Final(format!("no folder for the Python process: {error}"));
        let scratch = socket_folder(place.or(pythons.scratch.as_deref())).map_err(folder)?;
        let script = python::install(scratch.path()).map_err(folder)?;
        let socket = scratch.path().join("s");
        let mut spec = Spec::new(&python.path, scratch.path())
            .args(["-u".as_ref(), script.as_os_str()])
            .args(["--socket".as_ref(), socket.as_os_str()])
            .args(["--device", device])
            .inherit(DEVICE_ENV)
            .inherit(PYTHON_ENV)
            .env("TMPDIR", scratch.path());
        let mut write = vec![place.unwrap_or(scratch.path()).to_owned(), scratch.path().to_owned()];
        // Outlive the scratch folder: compiled kernels are found again.
        for (variable, name) in CACHES {
            if let Some(cache) = &pythons.cache_dir {
                let folder = cache.with_file_name(name);
                // One that cannot be made is one that cannot be written to, which PyTorch will say.
                drop(fs::create_dir_all(&folder));
                spec = spec.env(variable, &folder);
                write.push(folder);
            }
        }
        // PyTorch finds no GPU behind it.
        let walled = pythons.sandbox && device == CPU;
        spec.wall = walled.then(|| Arc::new(Wall::new(&Policy::python(write))));
        let at = python.path.display();
        let failed = |error: &dyn std::fmt::Display| Failure::Died(format!("{at}: {error}"));
        let mut child = kgen_process::spawn(&spec).map_err(|error| failed(&error))?;
        watch(&child);
        let (stdout, stderr) = pipes(&mut child).map_err(|error| failed(&error))?;
        let mut stderr = Drain::new(stderr, STDERR_CAP);
        let mut lines = Lines::new(stdout, LINE_LIMIT);
        let limit = pythons.config.start_limit;
        let line = match timeout(limit, lines.next()).await {
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) => {
                let ended = timeout(OWN_END_LIMIT, child.wait()).await;
                stderr.ended(OWN_END_LIMIT).await;
                let how = ended.map_or("closed its pipe".to_owned(), |status| status.to_string());
                let said = stderr.last_line();
                return Err(Failure::Died(format!("{at} {how} before it was ready{said}")));
            }
            Ok(Err(error)) => return Err(failed(&error)),
            Err(_) => {
                let said = stderr.last_line();
                let seconds = limit.as_secs_f64();
                return Err(Failure::Died(format!("{at} was not ready after {seconds} s{said}")));
            }
        };
        let facts = greeted(&line, uuid).map_err(|why| Failure::Final(format!("{at}: {why}")))?;
        Ok(Self { child, stderr, socket, facts, _scratch: scratch })
    }

    fn side(&self) -> Side {
        let (socket, facts) = (self.socket.clone(), Box::new(self.facts.clone()));
        Side::Ready(Ready { socket, facts, alarm: Default::default() })
    }

    fn how_it_ended(&self) -> String {
        let status = self.child.status().map_or("ended".to_owned(), |status| status.to_string());
        format!("it {status}{}", self.stderr.last_line())
    }

    async fn kill(&mut self) {
        if let Err(error) = self.child.stop(Duration::ZERO).await {
            tracing::warn!(%error, "a Python process does not end");
        }
    }
}

/// Makes a folder in which the path of a socket is short enough.
fn socket_folder(around: Option<&Path>) -> io::Result<Scratch> {
    let made = Scratch::new("python", around)?;
    if made.path().as_os_str().len() < SOCKET_PATH_LIMIT {
        return Ok(made);
    }
    Scratch::new("python", Some("/tmp".as_ref()))
}

/// Reads the line that the process is ready with, or refuses with.
fn greeted(line: &[u8], uuid: Option<&str>) -> Result<PythonFacts, String> {
    let text = String::from_utf8_lossy(line);
    let shown: String = text.chars().take(200).collect();
    let greeting: Greeting = serde_json::from_slice(line)
        .map_err(|_| format!("instead of a greeting it said {shown:?}"))?;
    if greeting.protocol != PROTOCOL {
        let theirs = greeting.protocol;
        return Err(format!("it speaks protocol {theirs}, this kgen speaks {PROTOCOL}"));
    }
    match (greeting.ready, greeting.error) {
        (Some(facts), _) => match (&facts.uuid, uuid) {
            (Some(theirs), Some(ours)) if !theirs.eq_ignore_ascii_case(ours) => {
                Err(format!("PyTorch numbers the GPUs differently: it sees {theirs}, not {ours}"))
            }
            _ => Ok(facts),
        },
        (None, Some(Refusal { kind, message })) if kind == "no_torch" => {
            Err(format!("{message}; {HOW_TO}"))
        }
        (None, Some(Refusal { message, .. })) => Err(message),
        (None, None) => Err(format!("instead of a greeting it said {shown:?}")),
    }
}

fn pipes(child: &mut Child) -> io::Result<(ChildStdout, ChildStderr)> {
    const PIPED: &str = "a fresh child has all three pipes";
    Ok((
        ChildStdout::from_std(child.stdout.take().expect(PIPED))?,
        ChildStderr::from_std(child.stderr.take().expect(PIPED))?,
    ))
}
