//! Ctrl-C and SIGTERM: the first finishes work that was begun, the second drops it.

use kgen_agent::{Shutdown, ShutdownHandle};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
};

use super::ui::Ui;

/// Listens for signals until the task is aborted.
///
/// Where `calls_wait`, replies may come in days and are not lost by stopping, so the first signal
/// stops at once.
pub(crate) fn listen(ui: Ui, stop: ShutdownHandle, calls_wait: bool) -> JoinHandle<()> {
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            ui.warn("signals cannot be caught: Ctrl-C ends kgen at once");
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            match stop.level() {
                Shutdown::Running if !calls_wait => {
                    stop.raise(Shutdown::Graceful);
                    ui.note("stopping: what was begun is finished first; once more stops at once");
                }
                Shutdown::Running | Shutdown::Graceful | Shutdown::Immediate => {
                    stop.raise(Shutdown::Immediate);
                    ui.note("stopping at once");
                }
            }
        }
    })
}
