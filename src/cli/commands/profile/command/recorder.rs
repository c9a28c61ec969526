//! Runs a command below its profiler: output goes to standard error, signals and the time limit end it.

use std::{
    io::{self, Read, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use kgen_process::{Child, Spec, Status, Tail};
use tokio::time::sleep_until;

use crate::cli::{CommandError, Context, exit_codes::Exit, session, signals::Signals};

/// Time that a tool has to write its report after SIGINT.
const GRACE: Duration = Duration::from_secs(60);

/// Time that the pipes have to close when the tool is dead.
const PIPE_LIMIT: Duration = Duration::from_secs(1);

/// Bytes of the output that are kept for messages of the tool.
const KEPT: usize = 256 << 10;

/// The time limit of a command.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) time: Duration,
    /// Time behind it in which `timeout` and the tool are to be through, before kgen itself ends them.
    pub(super) slack: Duration,
}

/// How a recording ended.
pub(super) struct Recorded {
    pub(super) status: Status,
    /// The end of what the tool and the command printed.
    pub(super) messages: String,
    pub(super) seconds: f64,
    /// Whether a signal or the time limit ended it.
    pub(super) is_cut: bool,
}

/// Runs the words to their end in kgen's own folder.
///
/// They are ended after `limit`.
///
/// The command has kgen's whole environment, as under any profiler: it is the user's, and no candidate.
pub(super) fn record(
    context: &Context,
    words: &[std::ffi::OsString],
    limit: Option<Limit>,
) -> Result<Recorded, CommandError> {
    let failed = |error: io::Error| CommandError::new(Exit::Device, error);
    let dir = std::env::current_dir().map_err(failed)?;
    let mut spec = Spec::new(&words[0], dir).args(&words[1..]).inherit(&["*"]);
    spec.asked_to_end = true;
    if let Some(draft) = context.ui.document() {
        draft.leave_signals();
    }
    let began = Instant::now();
    let device = |error: kgen_process::Error| CommandError::new(Exit::Device, error);
    let mut child = kgen_process::spawn(&spec).map_err(device)?;
    drop(child.stdin.take());
    let tail = Arc::new(Mutex::new(Tail::new(KEPT)));
    let (done, ends) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        forward(pipe, &tail, done.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        forward(pipe, &tail, done);
    }
    let deadline = limit.map(|limit| began + limit.time + limit.slack);
    let (status, is_cut) = session::runtime()?.block_on(end(&child, deadline)).map_err(failed)?;
    let seconds = began.elapsed().as_secs_f64();
    let until = Instant::now() + PIPE_LIMIT;
    for _ in 0..2 {
        // A process that left the group may hold the pipes for ever.
        _ = ends.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
    let messages = tail.lock().unwrap_or_else(PoisonError::into_inner).text();
    let is_over = limit.is_some_and(|limit| limit.time.as_secs_f64() <= seconds);
    Ok(Recorded { status, messages, seconds, is_cut: is_cut || is_over })
}

/// Copies a pipe to standard error and keeps its end.
fn forward(mut pipe: impl Read + Send + 'static, tail: &Arc<Mutex<Tail>>, done: mpsc::Sender<()>) {
    let tail = Arc::clone(tail);
    thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(n @ 1..) = pipe.read(&mut buffer) {
            // Nobody reads when standard error is gone.
            drop(io::stderr().lock().write_all(&buffer[..n]));
            tail.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..n]);
        }
        // The receiver waits for a second alone.
        _ = done.send(());
    });
}

/// Waits for the end: SIGINT at the deadline or on kgen's own signal, SIGKILL where that is not enough.
async fn end(child: &Child, deadline: Option<Instant>) -> io::Result<(Status, bool)> {
    let mut signals = Signals::new()?;
    let mut interrupted: Option<Instant> = None;
    let far = Instant::now() + Duration::from_secs(365 * 24 * 3600);
    loop {
        let until = match interrupted {
            Some(at) => at + GRACE,
            None => deadline.unwrap_or(far),
        };
        tokio::select! {
            status = child.wait() => return Ok((status, interrupted.is_some())),
            () = sleep_until(until.into()) => {}
            _ = signals.next() => {}
        }
        match interrupted {
            None => {
                child.interrupt();
                interrupted = Some(Instant::now());
            }
            Some(_) => {
                child.kill();
                return Ok((child.wait().await, true));
            }
        }
    }
}

/// Runs an export of a tool; returns its standard output, or in one line why it failed.
pub(super) fn export(
    program: &Path,
    args: &[std::ffi::OsString],
    dir: &Path,
) -> Result<Vec<u8>, String> {
    /// Time that a large report may take.
    const LIMIT: Duration = Duration::from_secs(1800);
    /// Bytes of text that samples of minutes take.
    const CAP: usize = 4 << 30;
    let mut spec =
        Spec::new(program, dir).args(args).inherit(&["*"]).env("LC_ALL", "C").deadline(LIMIT);
    spec.stdout_cap = CAP;
    let output = kgen_process::run(&spec).map_err(|error| error.to_string())?;
    if output.status.is_success() {
        return Ok(output.stdout);
    }
    let said = output.stderr_text();
    let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(format!("it {}: {said}", output.status))
}

/// Asks a tool for its version: the first line with a digit.
pub(super) fn version(program: &Path) -> Option<String> {
    let spec = Spec::new(program, "/").args(["--version"]).deadline(Duration::from_secs(20));
    let output = kgen_process::run(&spec).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line =
        text.lines().map(str::trim).rfind(|line| line.contains(|c: char| c.is_ascii_digit()));
    line.map(str::to_owned)
}
