//! One worker process: started, talked to, ended.

use std::{io, time::Duration};

use kgen_baseline::side::Sidecar;
use kgen_eval::Progress;
use kgen_process::{Child, Scratch, Status};
use kgen_record::{Evaluation, Verdict};
use serde::Deserialize;
use tokio::{
    io::AsyncWriteExt as _,
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::{Instant, timeout, timeout_at},
};

use super::{
    config::Launch,
    deadline::Deadlines,
    drain::Drain,
    ledger::{End, Ledger},
    lines::Lines,
};
use crate::{
    Error,
    protocol::{FailureCause, Hello, Message, PROTOCOL, Role, Setup},
};

/// Length of a worker's longest line: a program with the machine code of all its variants.
pub(super) const LINE_LIMIT: usize = 512 << 20;

/// Bytes of a worker's standard error that are kept, device `printf` among them.
const STDERR_CAP: usize = 16 << 10;

/// Time that a worker has to end by itself once a pipe is closed.
const OWN_END_LIMIT: Duration = Duration::from_secs(2);

/// Time that the pipes have to close once the process is dead.
const PIPE_LIMIT: Duration = Duration::from_secs(1);

/// A running worker. Dropping it kills its process group.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<ChildStdout>,
    stderr: Drain,
    hello: Hello,
    role: Role,
    /// Whether a job was sent to it.
    is_used: bool,
    grace: Duration,
    _scratch: Scratch,
}

/// The answer of a worker to a job.
#[derive(Debug)]
pub(super) struct Answer {
    /// The evaluation so far.
    pub(super) evaluation: Evaluation,
    /// The compiled program, unread.
    pub(super) program: Option<Vec<u8>>,
    /// Whether the worker can take another job.
    pub(super) fit: bool,
    /// The processes that must be replaced.
    pub(super) broken: Vec<Sidecar>,
}

/// Why a worker did not answer.
#[derive(Debug)]
pub(super) enum JobError {
    /// It was silent for longer than it may; it still runs.
    Overdue(Duration),
    /// Its pipe closed: it died or is about to.
    Closed,
    /// A message outside the protocol.
    Garbage(String),
    /// kgen panicked over this candidate.
    Panicked(String),
    /// kgen or its machine failed; the worker lives.
    Failed { message: String, broken: Vec<Sidecar> },
    /// The op cannot be judged; the worker lives.
    Op { message: String, broken: Vec<Sidecar> },
}

impl JobError {
    /// Returns the text for the log.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Overdue(allowed) => format!("no message for {} s", allowed.as_secs_f64()),
            Self::Closed => "its pipe closed".to_owned(),
            Self::Garbage(text) => format!("garbage: {text}"),
            Self::Panicked(message) => format!("panicked: {message}"),
            Self::Failed { message, .. } | Self::Op { message, .. } => format!("failed: {message}"),
        }
    }
}

impl Worker {
    /// Starts a process and waits for its hello.
    ///
    /// # Errors
    ///
    /// [`Error::Start`] with the output of the process, [`Error::Version`], [`Error::Scratch`].
    pub(super) async fn start(launch: &Launch) -> Result<Self, Error> {
        let role = launch.setup.role;
        let scratch = launch.scratch()?;
        let child = kgen_process::spawn(&launch.spec(scratch.path()));
        let mut child = child.map_err(|error| Error::start(role, &error))?;
        let pipes = pipes(&mut child);
        let (stdin, stdout, pipe) =
            pipes.map_err(|error| Error::Start { role, reason: error.to_string() })?;
        let stderr = Drain::new(pipe, STDERR_CAP);
        let lines = Lines::new(stdout, LINE_LIMIT);
        let hello = Hello {
            protocol: 0,
            kgen: String::new(),
            target: None,
            nvrtc: None,
            session: None,
            sandbox: None,
        };
        let grace = launch.grace;
        let mut worker = Self {
            child,
            stdin,
            lines,
            stderr,
            hello,
            role,
            is_used: false,
            grace,
            _scratch: scratch,
        };
        worker.greet(&launch.setup, launch.start_limit).await?;
        Ok(worker)
    }

    /// Returns the worker's role.
    pub(super) const fn role(&self) -> Role {
        self.role
    }

    /// Returns the worker's description of itself.
    pub(super) const fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Returns the process, for waiting on its end.
    pub(super) const fn child(&self) -> &Child {
        &self.child
    }

    /// Returns whether a job was sent to it.
    pub(super) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// Returns whether the process is still there.
    pub(super) fn is_alive(&self) -> bool {
        self.child.status().is_none()
    }

    async fn greet(&mut self, setup: &Setup, limit: Duration) -> Result<(), Error> {
        let line = json_line(setup);
        let role = self.role;
        let fail = |reason: String| Error::Start { role, reason };
        let deadline = Instant::now() + limit;
        let said = timeout_at(deadline, async {
            // One that died already says why on its standard error.
            drop(self.stdin.write_all(&line).await);
            self.next_line().await
        });
        let reason = match said.await {
            Ok(Ok(Some(line))) => match read_hello(&line, role) {
                Ok(hello) => {
                    self.hello = hello;
                    return Ok(());
                }
                Err(error) => {
                    self.end().await?;
                    return Err(error);
                }
            },
            Ok(Ok(None)) => {
                let status = self.own_end().await;
                self.end().await?;
                match status {
                    Some(status) => format!("it {status} before it was ready"),
                    None => "it closed its pipe before it was ready".to_owned(),
                }
            }
            Ok(Err(error)) => {
                self.end().await?;
                format!("its pipe broke: {error}")
            }
            Err(_) => {
                self.end().await?;
                format!("it was not ready after {} s", limit.as_secs_f64())
            }
        };
        let tail = self.stderr_text();
        Err(fail(if tail.is_empty() { reason } else { format!("{reason}; it said: {tail}") }))
    }

    /// Sends a job and waits for its answer; progress goes into the ledger.
    ///
    /// After [`JobError`] other than `Failed` the worker is of no use any more: end it.
    pub(super) async fn judge(
        &mut self,
        job: &[&[u8]],
        deadlines: Deadlines,
        ledger: &mut Ledger<'_>,
    ) -> Result<Answer, JobError> {
        self.is_used = true;
        let mut allowed = Deadlines::first();
        let mut deadline = Instant::now() + allowed;
        for part in job {
            match timeout_at(deadline, self.stdin.write_all(part)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(JobError::Closed),
                Err(_) => return Err(self.silence(allowed)),
            }
        }
        loop {
            let line = self.line_before(deadline, allowed).await?;
            let message = serde_json::from_slice(&line)
                .map_err(|error| JobError::Garbage(format!("{error} in {}", excerpt(&line))))?;
            match message {
                Message::Progress { progress } => {
                    allowed = match progress {
                        Progress::Waiting { limit_s } => {
                            deadlines.while_waiting(limit_s, ledger.stage())
                        }
                        Progress::Queued => Deadlines::first(),
                        Progress::Stage { stage } => deadlines.after(stage, false),
                        Progress::CaseStarted { .. } => deadlines.after(ledger.stage(), true),
                        Progress::CaseDone { .. } => deadlines.after(ledger.stage(), false),
                    };
                    ledger.note(progress);
                    deadline = Instant::now() + allowed;
                }
                Message::Finished { evaluation, program, retire, broken } => {
                    let deadline = Instant::now() + Deadlines::first();
                    let program = match program {
                        true => Some(self.line_before(deadline, Deadlines::first()).await?),
                        false => None,
                    };
                    let (evaluation, fit) = (*evaluation, !retire);
                    return Ok(Answer { evaluation, program, fit, broken });
                }
                Message::Failed { message, cause, broken } => {
                    return Err(match cause {
                        FailureCause::Machine => JobError::Failed { message, broken },
                        FailureCause::Op => JobError::Op { message, broken },
                        FailureCause::Panic => JobError::Panicked(message),
                    });
                }
                Message::Hello { .. } => {
                    return Err(JobError::Garbage("a second hello".to_owned()));
                }
            }
        }
    }

    /// Reads the next line; `None` when the pipe closed or the process died. A process that left
    /// the worker's group may hold the pipe open for ever, so its death alone must do.
    async fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        tokio::select! {
            biased;
            line = self.lines.next() => return line,
            _ = self.child.wait() => {}
        }
        match timeout(PIPE_LIMIT, self.lines.next()).await {
            Ok(line) => line,
            Err(_) => Ok(None),
        }
    }

    /// Returns why a message did not come in time: a worker whose pipe somebody else keeps open may be dead.
    fn silence(&self, allowed: Duration) -> JobError {
        match self.child.status() {
            Some(_) => JobError::Closed,
            None => JobError::Overdue(allowed),
        }
    }

    async fn line_before(
        &mut self,
        deadline: Instant,
        allowed: Duration,
    ) -> Result<Vec<u8>, JobError> {
        match timeout_at(deadline, self.next_line()).await {
            Ok(Ok(Some(line))) => Ok(line),
            Ok(Ok(None)) => Err(JobError::Closed),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(JobError::Garbage(error.to_string()))
            }
            Ok(Err(_)) => Err(JobError::Closed),
            Err(_) => Err(self.silence(allowed)),
        }
    }

    /// Ends the process: SIGTERM, grace, SIGKILL to the group; waits for its pipes to close.
    ///
    /// # Errors
    ///
    /// [`Error::Judge`] when not even SIGKILL ends it.
    pub(super) async fn end(&mut self) -> Result<Status, Error> {
        let status = self.child.stop(self.grace).await;
        let role = self.role;
        let status = status.map_err(|error| Error::Judge { role, message: error.to_string() })?;
        let rest = async { while let Ok(Some(_)) = self.lines.next().await {} };
        drop(timeout(PIPE_LIMIT, rest).await);
        self.stderr.ended(PIPE_LIMIT).await;
        Ok(status)
    }

    /// Gives a worker whose pipe closed the time to die by itself, so that its exit status is its
    /// own.
    pub(super) async fn own_end(&self) -> Option<Status> {
        timeout(OWN_END_LIMIT, self.child.wait()).await.ok()
    }

    /// Lets an idle worker end by itself: its input closes.
    pub(super) async fn shut_down(self) -> Result<Status, Error> {
        let Self { child, stdin, role, .. } = self;
        drop(stdin);
        if let Ok(status) = timeout(OWN_END_LIMIT, child.wait()).await {
            return Ok(status);
        }
        let status = child.stop(Duration::ZERO).await;
        status.map_err(|error| Error::Judge { role, message: error.to_string() })
    }

    /// Returns the end of the worker's standard error.
    pub(super) fn stderr_text(&self) -> String {
        self.stderr.text()
    }
}

/// Whether a worker ended itself because the compiler took too much memory.
pub(super) const fn ended_over_memory(died: Option<Status>) -> bool {
    matches!(died, Some(Status::Exited(kgen_compile::MEMORY_EXIT)))
}

/// Decides the verdict on the candidate whose worker ended.
///
/// `died` is how the process ended if it did so by itself; `is_candidates` whether it was the
/// candidate that took the time.
pub(super) fn verdict_of(silence: &JobError, died: Option<Status>, is_candidates: bool) -> End {
    match silence {
        JobError::Overdue(allowed) if is_candidates => End {
            verdict: Verdict::TimedOut,
            what: format!("nothing happened for {:.1} s", allowed.as_secs_f64()),
            hint: None,
        },
        JobError::Overdue(allowed) => End {
            verdict: Verdict::Unsupported,
            what: format!(
                "kgen's own work took more than {:.0} s, which is not the kernel's fault",
                allowed.as_secs_f64()
            ),
            hint: None,
        },
        JobError::Closed if ended_over_memory(died) => End {
            verdict: Verdict::CompileError,
            what: format!(
                "the compiler takes more than {} MiB of memory for this source",
                kgen_compile::COMPILE_MEMORY_BYTES >> 20
            ),
            hint: Some("initialise less, unroll less, nest fewer templates and macros".to_owned()),
        },
        JobError::Closed => End {
            verdict: Verdict::Crashed,
            what: match died {
                Some(status) => format!("the worker {status}"),
                None => "the worker fell silent".to_owned(),
            },
            hint: None,
        },
        JobError::Garbage(_) => End {
            verdict: Verdict::Crashed,
            what: "the worker's memory is corrupt: it sent an unreadable message".to_owned(),
            hint: None,
        },
        JobError::Panicked(message)
        | JobError::Failed { message, .. }
        | JobError::Op { message, .. } => End {
            verdict: Verdict::Unsupported,
            what: format!("kgen itself failed, which is not the kernel's fault: {message}"),
            hint: None,
        },
    }
}

/// Serialises one line of the protocol.
pub(super) fn json_line(value: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("the protocol has string keys only");
    line.push(b'\n');
    line
}

/// Reads a hello of any version far enough to know its version.
fn read_hello(line: &[u8], role: Role) -> Result<Hello, Error> {
    #[derive(Deserialize)]
    struct AnyHello {
        hello: AnyVersion,
    }
    #[derive(Deserialize)]
    struct AnyVersion {
        protocol: u64,
    }
    let theirs = serde_json::from_slice(line).map(|any: AnyHello| any.hello.protocol);
    if let Ok(theirs) = theirs
        && theirs != u64::from(PROTOCOL)
    {
        return Err(Error::Version { role, theirs, ours: PROTOCOL });
    }
    match serde_json::from_slice(line) {
        Ok(Message::Hello { hello }) => Ok(*hello),
        Ok(Message::Failed { message, .. }) => Err(Error::Start { role, reason: message }),
        Ok(Message::Progress { .. } | Message::Finished { .. }) | Err(_) => {
            let said = excerpt(line);
            Err(Error::Start { role, reason: format!("instead of a hello it said {said}") })
        }
    }
}

/// Returns the beginning of a line that is not understood.
pub(super) fn excerpt(line: &[u8]) -> String {
    const MAX_CHARS: usize = 200;
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MAX_CHARS)]);
    format!("{:?}", text.chars().take(MAX_CHARS).collect::<String>())
}

pub(super) fn pipes(child: &mut Child) -> io::Result<(ChildStdin, ChildStdout, ChildStderr)> {
    const PIPED: &str = "a fresh child has all three pipes";
    Ok((
        ChildStdin::from_std(child.stdin.take().expect(PIPED))?,
        ChildStdout::from_std(child.stdout.take().expect(PIPED))?,
        ChildStderr::from_std(child.stderr.take().expect(PIPED))?,
    ))
}
