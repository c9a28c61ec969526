//! SIGINT, SIGTERM and SIGHUP: the first one keeps replies that come soon, the second drops them.

use std::{
    io,
    sync::{Arc, OnceLock},
    thread,
};

use kgen_agent::{Shutdown, ShutdownHandle};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
    time::{Duration, Instant, sleep_until},
};

use super::{exit_codes::Exit, output, ui::Ui};

/// Time that the replies of open requests have after the first signal: those who stop services kill them
/// soon after.
const GRACE: Duration = Duration::from_secs(4);

/// Listens for signals until it is dropped.
#[derive(Debug)]
pub(crate) struct SignalListener {
    task: JoinHandle<()>,
    first: Arc<OnceLock<Exit>>,
}

impl SignalListener {
    /// Stops a run on signals.
    ///
    /// Where `calls_wait`, replies may come in days and are not lost by stopping, so the first signal
    /// stops at once.
    pub(crate) fn new(ui: Ui, stop: ShutdownHandle, calls_wait: bool) -> Self {
        let first = Arc::new(OnceLock::new());
        let seen = Arc::clone(&first);
        if let Some(draft) = ui.document() {
            draft.leave_signals();
        }
        let task = tokio::spawn(async move {
            let Ok(mut signals) = Signals::new() else {
                ui.warn("signals cannot be caught: Ctrl-C ends kgen at once");
                return;
            };
            let mut deadline = None;
            loop {
                let exit = tokio::select! {
                    exit = signals.next() => exit,
                    () = until(deadline) => {
                        stop.raise(Shutdown::Immediate);
                        deadline = None;
                        continue;
                    }
                };
                _ = seen.set(exit);
                match stop.level() {
                    Shutdown::Running | Shutdown::Draining if !calls_wait => {
                        stop.raise(Shutdown::Graceful);
                        deadline = Some(Instant::now() + GRACE);
                        ui.note(&format!(
                            "stopping: replies that come within {} s are stored; once more stops at once",
                            GRACE.as_secs()
                        ));
                    }
                    Shutdown::Running
                    | Shutdown::Draining
                    | Shutdown::Graceful
                    | Shutdown::Immediate => {
                        stop.raise(Shutdown::Immediate);
                        ui.note("stopping at once");
                    }
                }
            }
        });
        Self { task, first }
    }

    /// Returns the exit code of an interrupted run.
    pub(crate) fn exit(&self) -> Exit {
        self.first.get().copied().unwrap_or(Exit::Interrupted)
    }
}

impl Drop for SignalListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends kgen on a signal, with its document where one is asked for; a run listens itself, once it is one.
pub(crate) fn end_on_signal(ui: &Ui) {
    let Some(draft) = ui.document().cloned() else { return };
    let ui = ui.clone();
    thread::spawn(move || {
        let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            let Ok(mut signals) = Signals::new() else { return };
            loop {
                let exit = signals.next().await;
                if draft.is_run() {
                    continue;
                }
                // Where the document is being written, the next signal ends kgen.
                let exit =
                    if draft.claim() { output::print(&ui, Ok(exit)) } else { signals.next().await };
                #[expect(clippy::exit, reason = "the command itself is busy")]
                std::process::exit(exit.code().into());
            }
        });
    });
}

/// Waits until a time, or for ever.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The signals that end kgen, but for those that it was started to ignore, as `nohup` does.
pub(crate) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = ignored();
        let listen = |kind: SignalKind| match ignored >> (kind.as_raw_value() - 1) & 1 {
            0 => signal(kind).map(Some),
            _ => Ok(None),
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal; returns the exit code of a process that it ends.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            () = came(&mut self.interrupt) => Exit::Interrupted,
            () = came(&mut self.terminate) => Exit::Terminated,
            // The terminal is gone.
            () = came(&mut self.hangup) => Exit::Terminated,
        }
    }
}

async fn came(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Returns the signals that this process ignores, a bit each from the lowest: 1 is the first.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
