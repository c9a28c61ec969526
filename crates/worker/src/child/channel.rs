//! The two ends of the protocol inside a worker.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    os::fd::AsFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::{dup2_stdout, getpgrp, getpid},
};

use crate::protocol::Message;

/// Time that an idle worker has to end in good order (closing a GPU takes a while).
const TEARDOWN_LIMIT: Duration = Duration::from_secs(5);

/// Where messages to the parent go.
pub(super) struct Output {
    file: Box<dyn io::Write>,
    line: Vec<u8>,
}

impl Output {
    /// Takes the pipe that standard output is, and lets standard output be standard error from
    /// here on: a kernel's `printf` writes to descriptor 1 and must not reach the protocol. The
    /// parent reads standard error all the time and keeps the last part.
    pub(super) fn take_over_stdout() -> io::Result<Self> {
        // The duplicate is closed on exec: no grandchild can hold the protocol open.
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        dup2_stdout(io::stderr())?;
        Ok(Self::new(file))
    }

    /// Returns an output into any writer.
    pub(super) fn new(writer: impl io::Write + 'static) -> Self {
        Self { file: Box::new(writer), line: Vec::new() }
    }

    pub(super) fn send(&mut self, message: &Message) -> io::Result<()> {
        self.send_line(|line| serde_json::to_writer(line, message))
    }

    /// Sends a line that `write` makes; the line goes out in one piece.
    pub(super) fn send_line(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> io::Result<()> {
        self.line.clear();
        write(&mut self.line)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)?;
        self.file.flush()?;
        // A program with its machine code may have made the buffer large.
        self.line.shrink_to(64 << 10);
        Ok(())
    }
}

/// Lines from the parent, read by a thread that ends the process when there are no more.
pub(super) struct Input {
    lines: mpsc::Receiver<Vec<u8>>,
    busy: Arc<AtomicBool>,
}

/// Reads the first line of standard input, on this thread; `None` when the parent closed the pipe.
pub(super) fn first_line() -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let n_read = io::stdin().lock().read_until(b'\n', &mut line).ok()?;
    (0 < n_read).then_some(line)
}

impl Input {
    /// Starts the thread that reads standard input from the second line on; the first one is work already.
    pub(super) fn watch_stdin() -> Self {
        let (sender, lines) = mpsc::sync_channel(1);
        let busy = Arc::new(AtomicBool::new(true));
        let watched = Arc::clone(&busy);
        thread::spawn(move || {
            forward(BufReader::new(io::stdin()), &sender);
            // The parent is gone or wants no more. An idle worker ends by itself when its channel
            // closes; one that is busy, perhaps with a kernel that never ends, is killed.
            drop(sender);
            if !watched.load(Ordering::Acquire) {
                thread::sleep(TEARDOWN_LIMIT);
            }
            end();
        });
        Self { lines, busy }
    }

    /// Returns an input from lines that are there already; for a worker without a parent.
    #[cfg(test)]
    pub(super) fn from_lines(text: &str) -> Self {
        let (sender, lines) = mpsc::sync_channel(100);
        forward(text.as_bytes(), &sender);
        Self { lines, busy: Arc::default() }
    }

    /// Waits for a line that belongs to the last one; `None` when the parent closed the pipe.
    pub(super) fn next_line(&self) -> Option<Vec<u8>> {
        self.lines.recv().ok()
    }

    /// Says that no work is left, before the parent hears it and perhaps closes the pipe.
    pub(super) fn rest(&self) {
        self.busy.store(false, Ordering::Release);
    }

    /// Waits for the next line and is busy from then on.
    pub(super) fn next_job(&self) -> Option<Vec<u8>> {
        self.rest();
        let line = self.next_line();
        self.busy.store(line.is_some(), Ordering::Release);
        line
    }
}

fn forward(mut input: impl io::BufRead, sender: &mpsc::SyncSender<Vec<u8>>) {
    loop {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(n_read) if n_read > 0 => {}
            Ok(_) | Err(_) => return,
        }
        if sender.send(line).is_err() {
            return;
        }
    }
}

/// Ends this process at once, and its group if it leads one: no handler runs, because a hung
/// kernel would block the teardown of the GPU.
fn end() {
    if getpgrp() == getpid() {
        _ = killpg(getpgrp(), Signal::SIGKILL);
    }
    _ = kill(getpid(), Signal::SIGKILL);
}
