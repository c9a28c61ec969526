//! The processes beside a worker of a GPU, or of a cpu worker whose references are Python code: started when a
//! request first needs one, kept for the run, replaced when it dies or hangs.
//!
//! They belong to the worker's place, so they are started only while nobody else uses the GPU, and
//! outlive the workers: importing PyTorch takes seconds, and a kernel that kills its worker is no
//! reason to do it again.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use kgen_baseline::{
    python::{self, HOW_TO},
    side::{Facts, Ready, Side, Sidecar, Sides},
};
use kgen_process::{Child, Scratch};
use serde::Deserialize;
use tokio::{
    process::{ChildStderr, ChildStdout},
    sync::OnceCell,
    time::timeout,
};

use super::{
    adapter,
    config::{PoolConfig, SideConfig},
    drain::Drain,
    lines::Lines,
    notice::Notices,
    python::python_spec,
};

/// The device of a process without a GPU.
pub(super) const CPU: &str = "cpu";

/// Version of the protocol that is spoken with the processes.
const PROTOCOL: u32 = 1;

/// Ends in a row, without a job that went well in between, after which a GPU goes on without.
const MAX_ENDS: u32 = 3;

/// Length of the line that a process is ready with.
const LINE_LIMIT: usize = 64 << 10;

/// Bytes of a process' standard error that are kept.
const STDERR_CAP: usize = 16 << 10;

/// Time that a process has to end by itself once its standard input is closed.
const OWN_END_LIMIT: Duration = Duration::from_secs(2);

/// Longest path of a Unix socket, its end included, is 108 bytes.
const SOCKET_PATH_LIMIT: usize = 100;

/// Options of all processes beside workers.
pub(super) struct Starters {
    pub(super) config: SideConfig,
    pub(super) scratch: Option<PathBuf>,
    pub(super) cache_dir: Option<PathBuf>,
    pub(super) sandbox: bool,
    notices: Notices,
    found: OnceCell<Result<python::Python, String>>,
    /// The warnings given already: several GPUs miss the same thing.
    said: Mutex<Vec<String>>,
}

impl Starters {
    pub(super) fn new(config: &PoolConfig) -> Self {
        Self {
            config: config.sides.clone(),
            scratch: config.scratch.clone(),
            cache_dir: config.cache_dir.clone(),
            sandbox: config.sandbox,
            notices: config.notices.clone(),
            found: OnceCell::new(),
            said: Mutex::default(),
        }
    }

    /// Looks for a Python interpreter, once.
    pub(super) async fn find_python(&self) -> &Result<python::Python, String> {
        let path = self.config.python.clone();
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

/// The processes of one place.
#[derive(Default)]
pub(super) struct Sidecars {
    processes: BTreeMap<Sidecar, SideProcess>,
    /// The folder that they share with their worker.
    place: Option<Arc<Scratch>>,
}

impl Sidecars {
    /// Returns none that runs, for a place.
    pub(super) fn in_place(place: Option<Arc<Scratch>>) -> Self {
        Self { place, ..Self::default() }
    }

    /// Returns how the processes of some programs stand, started where they do not run.
    ///
    /// `device`: as PyTorch calls it; `uuid`: of a GPU, as the worker sees it; `watch` gets every process
    /// that is started.
    pub(super) async fn ready(
        &mut self,
        starters: &Starters,
        programs: &[Sidecar],
        device: &str,
        uuid: Option<&str>,
        watch: impl Fn(&Child),
    ) -> Sides {
        let mut sides = Vec::new();
        for &program in programs {
            let process = self.processes.entry(program).or_insert_with(|| SideProcess {
                program,
                process: None,
                n_ends: 0,
                refusal: None,
                place: self.place.clone(),
            });
            sides.push((program, process.ready(starters, device, uuid, &watch).await));
        }
        sides.into_iter().collect()
    }

    /// Returns the numbers of those that run.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.processes.values().filter_map(SideProcess::pid).collect()
    }

    /// Hears how a job that had the processes of `sides` ended; those that are `broken` are replaced.
    pub(super) async fn job_done(
        &mut self,
        starters: &Starters,
        device: &str,
        sides: &Sides,
        broken: &[Sidecar],
    ) {
        for program in sides.ready() {
            if let Some(process) = self.processes.get_mut(&program) {
                process.job_done(starters, device, broken.contains(&program)).await;
            }
        }
    }

    /// Ends the processes: their input closes, and they have a moment to react.
    pub(super) async fn end(&mut self) {
        futures_util::future::join_all(self.processes.values_mut().map(SideProcess::end)).await;
    }
}

/// The process of one program in one place, or why there is none.
struct SideProcess {
    program: Sidecar,
    process: Option<Process>,
    n_ends: u32,
    refusal: Option<String>,
    place: Option<Arc<Scratch>>,
}

impl SideProcess {
    async fn ready(
        &mut self,
        starters: &Starters,
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
                    self.note_end(starters, device, &why);
                }
                None => {
                    let place = self.place.as_ref().map(|place| place.path());
                    match Process::start(starters, self.program, place, device, uuid, &watch).await
                    {
                        Ok(process) => {
                            starters.notices.note(started(&process.facts, device));
                            self.process = Some(process);
                        }
                        Err(Failure::Final(reason)) => self.refuse(starters, reason),
                        Err(Failure::Died(why)) => self.note_end(starters, device, &why),
                    }
                }
            }
        }
    }

    fn pid(&self) -> Option<u32> {
        let process = self.process.as_ref()?;
        process.child.status().is_none().then(|| process.child.pid())
    }

    async fn job_done(&mut self, starters: &Starters, device: &str, is_broken: bool) {
        if is_broken {
            if let Some(mut process) = self.process.take() {
                let why = match process.child.status() {
                    Some(_) => process.how_it_ended(),
                    None => {
                        format!("it did not answer{}", process.stderr.last_line())
                    }
                };
                process.kill().await;
                self.note_end(starters, device, &why);
            }
        } else if self.process.as_ref().is_some_and(|process| process.child.status().is_none()) {
            self.n_ends = 0;
        }
    }

    /// Notes that the process is gone; after too many ends in a row there is no further one.
    fn note_end(&mut self, starters: &Starters, device: &str, why: &str) {
        self.process = None;
        self.n_ends += 1;
        let program = self.program;
        if self.n_ends < MAX_ENDS {
            let text = format!("{program} of {device} is started anew: {why}");
            starters.notices.warn(text);
        } else {
            let reason = format!("{program} ended {MAX_ENDS} times in a row: {why}");
            self.refuse(starters, reason);
        }
    }

    fn refuse(&mut self, starters: &Starters, reason: String) {
        starters.warn_once(reason.clone());
        self.refusal = Some(reason);
    }

    async fn end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        drop(process.child.stdin.take());
        if timeout(OWN_END_LIMIT, process.child.wait()).await.is_err() {
            process.kill().await;
        }
    }
}

/// Returns the note of a process that listens.
fn started(facts: &Facts, device: &str) -> String {
    match facts {
        Facts::Python(facts) => {
            let found = format!("torch {} on {}", facts.torch, facts.device);
            format!("Python process of {device}: {found}; {}", facts.settings)
        }
        Facts::Adapter(facts) => {
            let program = facts.library.program();
            let found = format!("{} {} on {}", facts.library, facts.version, facts.device);
            format!("{program} of {device}: {found}")
        }
    }
}

/// A Python process of a caller that uses the GPU itself, without workers.
pub struct LonePython {
    sidecars: Sidecars,
}

impl LonePython {
    /// Starts it on a GPU, and says how it stands.
    ///
    /// `device`: the GPU's index; `uuid`: its UUID, which PyTorch must see under that index too.
    pub async fn start(config: &PoolConfig, device: u32, uuid: Option<&str>) -> (Self, Side) {
        let mut sidecars = Sidecars::default();
        let (starters, device) = (Starters::new(config), format!("cuda:{device}"));
        let ready = sidecars.ready(&starters, &[Sidecar::Python], &device, uuid, |_| {});
        let sides = Box::pin(ready).await;
        (Self { sidecars }, sides.of(Sidecar::Python).clone())
    }

    pub async fn end(mut self) {
        self.sidecars.end().await;
    }
}

/// A process that listens. Dropping it kills its group.
struct Process {
    child: Child,
    stderr: Drain,
    socket: PathBuf,
    facts: Facts,
    _scratch: Scratch,
}

/// Why a process did not get ready.
pub(super) enum Failure {
    /// Another try would end alike.
    Final(String),
    /// It died or was silent.
    Died(String),
}

/// The only line that a process prints.
#[derive(Deserialize)]
struct Greeting {
    protocol: u32,
    ready: Option<Facts>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    kind: String,
    message: String,
}

impl Process {
    async fn start(
        starters: &Starters,
        program: Sidecar,
        place: Option<&Path>,
        device: &str,
        uuid: Option<&str>,
        watch: impl Fn(&Child),
    ) -> Result<Self, Failure> {
        let folder = |error: io::Error| Failure::Final(format!("no folder for {program}: {error}"));
        let scratch = socket_folder(place.or(starters.scratch.as_deref())).map_err(folder)?;
        let (spec, at) = match program {
            Sidecar::Python => python_spec(starters, place, &scratch, device).await?,
            Sidecar::Adapter(adapter) => adapter::spec(starters, adapter, &scratch)?,
        };
        let socket = scratch.path().join("s");
        let spec = spec.args(["--socket".as_ref(), socket.as_os_str()]).args(["--device", device]);
        let failed =
            |error: &dyn std::fmt::Display| Failure::Died(format!("{}: {error}", at.display()));
        let mut child = kgen_process::spawn(&spec).map_err(|error| failed(&error))?;
        watch(&child);
        let (stdout, stderr) = pipes(&mut child).map_err(|error| failed(&error))?;
        let mut stderr = Drain::new(stderr, STDERR_CAP);
        let mut lines = Lines::new(stdout, LINE_LIMIT);
        let at = at.display();
        let limit = starters.config.start_limit;
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
        let facts =
            greeted(program, &line, uuid).map_err(|why| Failure::Final(format!("{at}: {why}")))?;
        Ok(Self { child, stderr, socket, facts, _scratch: scratch })
    }

    fn side(&self) -> Side {
        let (socket, facts) = (self.socket.clone(), self.facts.clone());
        Side::Ready(Ready { socket, facts, alarm: Default::default() })
    }

    fn how_it_ended(&self) -> String {
        let status = self.child.status().map_or("ended".to_owned(), |status| status.to_string());
        format!("it {status}{}", self.stderr.last_line())
    }

    async fn kill(&mut self) {
        if let Err(error) = self.child.stop(Duration::ZERO).await {
            tracing::warn!(%error, "a process sidecars a worker does not end");
        }
    }
}

/// Makes a folder in which the path of a socket is short enough.
fn socket_folder(around: Option<&Path>) -> io::Result<Scratch> {
    let made = Scratch::new("side", around)?;
    if made.path().as_os_str().len() < SOCKET_PATH_LIMIT {
        return Ok(made);
    }
    Scratch::new("side", Some("/tmp".as_ref()))
}

/// Reads the line that a process is ready with, or refuses with.
fn greeted(program: Sidecar, line: &[u8], uuid: Option<&str>) -> Result<Facts, String> {
    let text = String::from_utf8_lossy(line);
    let shown: String = text.chars().take(200).collect();
    let garbage = || format!("instead of a greeting it said {shown:?}");
    let greeting: Greeting = serde_json::from_slice(line).map_err(|_| garbage())?;
    if greeting.protocol != PROTOCOL {
        let theirs = greeting.protocol;
        return Err(format!("it speaks protocol {theirs}, this kgen speaks {PROTOCOL}"));
    }
    let facts = match (greeting.ready, greeting.error) {
        (Some(facts), _) => facts,
        (None, Some(Refusal { kind, message })) if kind == "no_torch" => {
            return Err(format!("{message}; {HOW_TO}"));
        }
        (None, Some(Refusal { message, .. })) => return Err(message),
        (None, None) => return Err(garbage()),
    };
    let who = match (program, &facts) {
        (Sidecar::Python, Facts::Python(_)) => "PyTorch",
        (Sidecar::Adapter(adapter), Facts::Adapter(facts)) if facts.library == adapter => {
            adapter.program()
        }
        _ => return Err(format!("it is not {program}: {shown:?}")),
    };
    match (facts.uuid(), uuid) {
        (Some(theirs), Some(ours)) if !theirs.eq_ignore_ascii_case(ours) => {
            Err(format!("{who} numbers the GPUs differently: it sees {theirs}, not {ours}"))
        }
        _ => Ok(facts),
    }
}

fn pipes(child: &mut Child) -> io::Result<(ChildStdout, ChildStderr)> {
    const PIPED: &str = "a fresh child has all three pipes";
    Ok((
        ChildStdout::from_std(child.stdout.take().expect(PIPED))?,
        ChildStderr::from_std(child.stderr.take().expect(PIPED))?,
    ))
}
