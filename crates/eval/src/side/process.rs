//! The connections to the processes beside a worker, and the messages of their failures.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kgen_baseline::side::{
    Client, Error, Facts, Kind, Ready, Refusal, RefusalKind, Side, Sidecar, Sides,
};
use kgen_device::LaunchError;
use kgen_record::{
    Adapter, AdapterFacts, Evaluation, Finding, Implementation, PythonFacts, PythonKind,
    PythonSettings, Target, Verdict,
};

/// Time that the process has to free the resources of its last client.
const HELLO_LIMIT: Duration = Duration::from_secs(30);

/// Time that the process has to let go of a call.
const DROP_LIMIT: Duration = Duration::from_secs(30);

/// The processes of one evaluation.
pub(crate) struct Processes<'s> {
    python: Process<'s>,
    adapters: BTreeMap<Adapter, Process<'s>>,
}

impl<'s> Processes<'s> {
    /// Returns the processes as the pool says they stand.
    pub(crate) fn new(sides: &'s Sides) -> Self {
        let process = |program| Process::new(program, sides.of(program));
        let adapter = |adapter| (adapter, process(Sidecar::Adapter(adapter)));
        Self {
            python: process(Sidecar::Python),
            adapters: Adapter::ALL.into_iter().map(adapter).collect(),
        }
    }

    /// Returns the Python process.
    pub(crate) const fn python(&self) -> &Process<'s> {
        &self.python
    }

    /// Returns the process that runs an implementation; `None` where none does.
    pub(crate) fn of(&self, implementation: &Implementation) -> Option<&Process<'s>> {
        match implementation.adapter() {
            Some(adapter) => self.adapters.get(&adapter),
            None => implementation.needs_python().then_some(&self.python),
        }
    }

    /// Records the facts of those in which something ran.
    pub(crate) fn note_facts(&self, evaluation: &mut Evaluation) {
        evaluation.python = self.python.facts();
        let adapters = self.adapters.values().filter_map(Process::adapter_facts);
        evaluation.adapters = adapters.cloned().collect();
    }
}

/// A process of one evaluation; the connection is made when it is first needed.
pub(crate) struct Process<'s> {
    program: Sidecar,
    side: &'s Side,
    state: Mutex<State>,
    /// PyTorch's settings for the calls of this evaluation.
    settings: Mutex<Option<PythonSettings>>,
}

enum State {
    /// Nobody asked yet.
    New,
    Connected(Client),
    /// It can be asked nothing more.
    Lost {
        why: String,
    },
}

/// Why the process did not execute a request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is not there.
    Unavailable {
        /// Why, in one line.
        reason: String,
    },
    /// It said no, and goes on.
    Refused(Refusal),
    /// It died, hangs or talks nonsense over this request.
    Lost(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { reason } => f.write_str(reason),
            Self::Refused(refusal) => match refusal.kind {
                RefusalKind::OutOfMemory => write!(f, "out of memory: {refusal}"),
                RefusalKind::Unsupported
                | RefusalKind::Raised
                | RefusalKind::WrongOutputs
                | RefusalKind::BadRequest
                | RefusalKind::GpuLost => refusal.fmt(f),
            },
            Self::Lost(error) => error.fmt(f),
        }
    }
}

impl Failure {
    /// Converts it for a candidate of a kind.
    pub(crate) fn into_launch_error(self, kind: Kind) -> LaunchError {
        let message = self.to_string();
        let (verdict, detail, device_lost) = match self {
            Self::Unavailable { .. } => (Verdict::Unsupported, None, true),
            Self::Refused(refusal) => (verdict_of(&refusal, kind), refusal.detail, false),
            Self::Lost(Error::Refused(refusal)) => (Verdict::Fault, refusal.detail, true),
            Self::Lost(Error::Overdue { .. }) => (Verdict::TimedOut, None, true),
            Self::Lost(Error::Untrue { .. }) => (Verdict::Suspicious, None, true),
            Self::Lost(Error::Connect { .. } | Error::Gone { .. } | Error::Garbage { .. }) => {
                (Verdict::Crashed, None, true)
            }
        };
        let traceback = detail.iter().flat_map(|text| text.lines());
        let lines = traceback.fold(message, |lines, line| lines + "\n    " + line);
        LaunchError::Kernel { verdict, finding: Box::new(Finding::new(lines)), device_lost }
    }
}

fn verdict_of(refusal: &Refusal, kind: Kind) -> Verdict {
    match refusal.kind {
        RefusalKind::Unsupported | RefusalKind::BadRequest => Verdict::Unsupported,
        // A library takes as much memory as it likes; a candidate's own code is written for the
        // case.
        RefusalKind::OutOfMemory if kind != Kind::Python(PythonKind::Triton) => {
            Verdict::Unsupported
        }
        RefusalKind::WrongOutputs => Verdict::WrongOutput,
        RefusalKind::OutOfMemory => Verdict::LaunchError,
        RefusalKind::GpuLost => Verdict::Fault,
        RefusalKind::Raised => {
            // Triton compiles at the first call; its compiler's errors are exceptions of that name.
            let text = refusal.detail.as_deref().unwrap_or_default();
            let compiled = !text.contains("CompilationError") && !text.contains("SyntaxError");
            if compiled { Verdict::LaunchError } else { Verdict::CompileError }
        }
    }
}

impl<'s> Process<'s> {
    /// Returns the process as the pool says it stands.
    pub(super) const fn new(program: Sidecar, side: &'s Side) -> Self {
        Self { program, side, state: Mutex::new(State::New), settings: Mutex::new(None) }
    }

    /// Returns the facts of the process, with PyTorch's settings for the calls of this evaluation;
    /// `None` where nothing ran there.
    pub(crate) fn facts(&self) -> Option<Box<PythonFacts>> {
        let Side::Ready(ready) = self.side else { return None };
        let Facts::Python(facts) = &ready.facts else { return None };
        let mut facts = facts.clone();
        if let Some(settings) = lock(&self.settings).take() {
            facts.settings = settings;
        }
        Some(facts)
    }

    /// Returns the facts of an adapter; `None` where nothing ran there.
    fn adapter_facts(&self) -> Option<&AdapterFacts> {
        match self.side {
            Side::Ready(Ready { facts: Facts::Adapter(facts), .. }) => Some(facts),
            Side::Ready(_) | Side::None | Side::Unavailable { .. } => None,
        }
    }

    /// Records PyTorch's settings for a call.
    pub(super) fn note_settings(&self, settings: Option<PythonSettings>) {
        if settings.is_some() {
            *lock(&self.settings) = settings;
        }
    }

    /// Sends a request. A failure for good raises the alarm: the pool then starts another process
    /// for the next evaluation.
    pub(crate) fn ask<T>(
        &self,
        target: &Target,
        what: impl FnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let ready = self.ready(target)?;
        let mut state = lock(&self.state);
        if matches!(*state, State::New) {
            *state = match connect(self.program, ready) {
                Ok(client) => State::Connected(client),
                Err(error) => return Err(lose(&mut state, ready, error)),
            };
        }
        let client = match &mut *state {
            State::Connected(client) => client,
            State::Lost { why } => return Err(Failure::Unavailable { reason: why.clone() }),
            State::New => unreachable!("it was connected above"),
        };
        match what(client) {
            Ok(answer) => Ok(answer),
            Err(error) if error.is_fatal() => Err(lose(&mut state, ready, error)),
            Err(Error::Refused(refusal)) => Err(Failure::Refused(refusal)),
            Err(error) => Err(lose(&mut state, ready, error)),
        }
    }

    /// Asks for something that nobody waits for, if the process is there at all.
    fn send(&self, what: impl FnOnce(&mut Client) -> Result<(), Error>) {
        let Side::Ready(ready) = self.side else { return };
        let mut state = lock(&self.state);
        let State::Connected(client) = &mut *state else { return };
        if let Err(error) = what(client) {
            tracing::info!(%error, "a process beside the worker did not let go of a call");
            if error.is_fatal() {
                drop(lose(&mut state, ready, error));
            }
        }
    }

    /// Lets go of a call.
    pub(crate) fn drop_handle(&self, handle: u64) {
        self.send(|client| client.drop_handle(handle, DROP_LIMIT));
    }

    fn ready(&self, target: &Target) -> Result<&'s Ready, Failure> {
        let reason = match self.side {
            Side::Ready(ready) if same_gpu(ready, target) => return Ok(ready),
            Side::Ready(ready) => format!(
                "{} is on another GPU ({}) than the worker ({})",
                self.program,
                ready.facts.uuid().unwrap_or_default(),
                target.uuid.as_deref().unwrap_or_default()
            ),
            Side::Unavailable { reason } => reason.clone(),
            Side::None => format!("{} was not started for this evaluation", self.program),
        };
        Err(Failure::Unavailable { reason })
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect(program: Sidecar, ready: &Ready) -> Result<Client, Error> {
    let mut client = Client::connect(program, &ready.socket)?;
    client.hello(HELLO_LIMIT)?;
    Ok(client)
}

fn lose(state: &mut State, ready: &Ready, error: Error) -> Failure {
    ready.alarm.raise();
    *state = State::Lost { why: format!("not asked any more: {error}") };
    Failure::Lost(error)
}

/// Returns whether process and worker share a GPU, as far as both say which one they have.
fn same_gpu(ready: &Ready, target: &Target) -> bool {
    let plain = |uuid: &str| uuid.trim_start_matches("GPU-").to_ascii_lowercase();
    match (ready.facts.uuid(), &target.uuid) {
        (Some(its), Some(ours)) => plain(its) == plain(ours),
        (None, _) | (_, None) => true,
    }
}
