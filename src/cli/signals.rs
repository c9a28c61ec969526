//! SIGINT, SIGTERM and SIGHUP: the first one keeps replies that come soon, the second drops them.

use std::{
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
        let task = tokio::spawn(async move {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
                ui.warn("signals cannot be caught: Ctrl-C ends kgen at once");
                return;
            };
            let mut deadline = None;
            loop {
                let exit = tokio::select! {
                    exit = next(&mut interrupt, &mut terminate, &mut hangup) => exit,
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

/// Ends kgen on the first signal, with the document that is asked for. Nothing is to be stored: what a
/// worker leaves is ended with it.
pub(crate) fn end_on_signal(ui: &Ui) {
    let ui = ui.clone();
    thread::spawn(move || {
        let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
        let first = runtime.block_on(async {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
                return None;
            };
            Some(next(&mut interrupt, &mut terminate, &mut hangup).await)
        });
        if let Some(exit) = first {
            let exit = output::end(&ui, Ok(exit));
            #[expect(clippy::exit, reason = "the command itself is busy")]
            std::process::exit(exit.code().into());
        }
    });
}

/// Waits until a time, or for ever.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal, hangup: &mut Signal) -> Exit {
    tokio::select! {
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
        // The terminal is gone.
        _ = hangup.recv() => Exit::Terminated,
    }
}
