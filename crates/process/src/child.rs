//! A child process with its group, its keeper thread and its end.

use std::{
    fmt,
    os::unix::process::ExitStatusExt as _,
    process::{self, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use tokio::sync::watch;

use super::{Error, Spec, reaper};

/// Time that the system has to end a process after SIGKILL before it counts as undead.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
}

impl Status {
    /// Returns whether the exit code is 0.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Exited(0))
    }

    fn from_std(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            // waitpid reports stops only when asked to.
            (None, None) => Self::Exited(-1),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signalled(number) => match Signal::try_from(number) {
                Ok(signal) => write!(f, "was killed by {signal}"),
                Err(_) => write!(f, "was killed by signal {number}"),
            },
        }
    }
}

/// A running child process; dropping it kills its whole group.
#[derive(Debug)]
pub struct Child {
    /// Its standard input, until taken.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, until taken.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, until taken.
    pub stderr: Option<ChildStderr>,
    pid: u32,
    shared: Arc<Shared>,
    exit: watch::Receiver<Option<Status>>,
}

/// The state that the handle and the keeper thread share.
#[derive(Debug)]
struct Shared {
    /// Held while a signal is sent and while the leader is reaped, so that no signal ever goes to
    /// a number that belongs to somebody else by then.
    leader: Mutex<Leader>,
    ended: Condvar,
}

#[derive(Debug, Clone, Copy)]
enum Leader {
    Unreaped(Pid),
    Reaped(Status),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Leader> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, signal: Signal) {
        if let Leader::Unreaped(pid) = *self.lock() {
            // The group may be gone already, as the caller wants.
            _ = killpg(pid, signal);
        }
    }
}

/// Starts a process with pipes on all three standard streams.
///
/// # Errors
///
/// [`Error::Folder`] and [`Error::Start`] as they say; [`Error::Keeper`] when the system has no
/// thread left.
pub fn spawn(spec: &Spec) -> Result<Child, Error> {
    spawn_with(spec, Stdio::piped())
}

pub(super) fn spawn_with(spec: &Spec, stdin: Stdio) -> Result<Child, Error> {
    if !spec.dir.is_dir() {
        return Err(Error::Folder { program: spec.program.clone(), dir: spec.dir.clone() });
    }
    let mut command = spec.command(stdin);
    let is_asked = spec.asked_to_end;
    let (sender, receiver) = mpsc::sync_channel(1);
    let keeper = move || match command.spawn() {
        Ok(child) => keep(child, is_asked, &sender),
        Err(error) => drop(sender.send(Err(error))),
    };
    thread::Builder::new()
        .name("keeper".to_owned())
        // Forking and waiting need little; there may be hundreds of these threads.
        .stack_size(128 << 10)
        .spawn(keeper)
        .map_err(Error::Keeper)?;
    let started = receiver.recv().expect("the keeper answers before it does anything else");
    started.map_err(|source| Error::Start { program: spec.program.clone(), source })
}

/// Hands out the child, waits for its end, sweeps its group, reaps it.
fn keep(
    mut child: process::Child,
    is_asked: bool,
    started: &mpsc::SyncSender<std::io::Result<Child>>,
) {
    let number = child.id();
    let pid = Pid::from_raw(i32::try_from(number).expect("process numbers are positive i32"));
    reaper::add(pid, is_asked);
    let (exit_sender, exit) = watch::channel(None);
    let shared =
        Arc::new(Shared { leader: Mutex::new(Leader::Unreaped(pid)), ended: Condvar::new() });
    let handle = Child {
        stdin: child.stdin.take(),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        pid: number,
        shared: Arc::clone(&shared),
        exit,
    };
    // Without a receiver the handle is dropped here, which kills the child; it is reaped below.
    drop(started.send(Ok(handle)));
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
    let mut leader = shared.lock();
    _ = killpg(pid, Signal::SIGKILL);
    reaper::remove(pid, is_asked);
    let status = child.wait().map_or(Status::Exited(-1), Status::from_std);
    *leader = Leader::Reaped(status);
    drop(leader);
    shared.ended.notify_all();
    // Nobody waits: fine.
    _ = exit_sender.send(Some(status));
}

impl Child {
    /// Returns the process number, which is the group's too.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns how the process ended, if it did.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match *self.shared.lock() {
            Leader::Unreaped(_) => None,
            Leader::Reaped(status) => Some(status),
        }
    }

    /// Waits for the end of the process.
    pub async fn wait(&self) -> Status {
        self.exit().await
    }

    /// Returns a wait for the end of the process that does not need this handle.
    pub fn exit(&self) -> impl Future<Output = Status> + Send + use<> {
        let mut exit = self.exit.clone();
        async move {
            let ended = exit.wait_for(Option::is_some).await;
            ended.ok().and_then(|status| *status).expect("the keeper says how the child ended")
        }
    }

    /// Waits for the end of the process, without a runtime; `None` when `limit` passed before.
    #[must_use]
    pub fn wait_timeout(&self, limit: Duration) -> Option<Status> {
        let leader = self.shared.lock();
        let unreaped = |leader: &mut Leader| matches!(leader, Leader::Unreaped(_));
        let waited = self.shared.ended.wait_timeout_while(leader, limit, unreaped);
        match *waited.unwrap_or_else(PoisonError::into_inner).0 {
            Leader::Unreaped(_) => None,
            Leader::Reaped(status) => Some(status),
        }
    }

    /// Kills the group at once and returns without waiting.
    pub fn kill(&self) {
        self.shared.signal(Signal::SIGKILL);
    }

    /// Interrupts the group (SIGINT), as Ctrl-C does, and returns without waiting.
    pub fn interrupt(&self) {
        self.shared.signal(Signal::SIGINT);
    }

    /// Asks the group to end (SIGTERM) and returns without waiting.
    pub fn terminate(&self) {
        self.shared.signal(Signal::SIGTERM);
    }

    /// Ends the group: SIGTERM, `grace`, SIGKILL. Members that outlive the leader are killed too.
    ///
    /// # Errors
    ///
    /// [`Error::Undead`] when the leader is still there seconds after SIGKILL.
    pub async fn stop(&self, grace: Duration) -> Result<Status, Error> {
        if !grace.is_zero() {
            self.terminate();
            if let Ok(status) = tokio::time::timeout(grace, self.wait()).await {
                return Ok(status);
            }
        }
        self.kill();
        let killed = tokio::time::timeout(KILL_LIMIT, self.wait()).await;
        killed.map_err(|_| Error::Undead { pid: self.pid })
    }

    /// Same as [`Child::stop`], without a runtime.
    ///
    /// # Errors
    ///
    /// As for [`Child::stop`].
    pub fn stop_blocking(&self, grace: Duration) -> Result<Status, Error> {
        if !grace.is_zero() {
            self.terminate();
            if let Some(status) = self.wait_timeout(grace) {
                return Ok(status);
            }
        }
        self.kill();
        self.wait_timeout(KILL_LIMIT).ok_or(Error::Undead { pid: self.pid })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}
