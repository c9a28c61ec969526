//! A child's standard error, read all the time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use kgen_process::Tail;
use tokio::{io::AsyncReadExt as _, process::ChildStderr, task::JoinHandle, time::timeout};

use super::lock;

/// Reads a child's standard error, so that it never blocks on it, and keeps the end.
#[derive(Debug)]
pub(super) struct Drain {
    tail: Arc<Mutex<Tail>>,
    task: JoinHandle<()>,
}

impl Drain {
    /// Starts reading; keeps `cap` bytes.
    pub(super) fn new(mut pipe: ChildStderr, cap: usize) -> Self {
        let tail = Arc::new(Mutex::new(Tail::new(cap)));
        let shared = Arc::clone(&tail);
        let task = tokio::spawn(async move {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(n_read) = pipe.read(&mut buffer).await {
                if n_read == 0 {
                    return;
                }
                lock(&shared).push(&buffer[..n_read]);
            }
        });
        Self { tail, task }
    }

    /// Returns the end of the output, trimmed.
    pub(super) fn text(&self) -> String {
        lock(&self.tail).text().trim().to_owned()
    }

    /// Returns the last line, as the end of a sentence; empty where there is none.
    pub(super) fn last_line(&self) -> String {
        let text = self.text();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map_or(String::new(), |line| {
            let line: String = line.chars().take(300).collect();
            format!("; it said: {line}")
        })
    }

    /// Waits until the pipe is closed, for at most `limit`.
    pub(super) async fn ended(&mut self, limit: Duration) {
        drop(timeout(limit, &mut self.task).await);
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        // A process that left the child's group may hold the pipe for ever.
        self.task.abort();
    }
}
