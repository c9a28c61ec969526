//! One process at a time works on a run.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    path::Path,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{Error, layout};
use kgen_process::Access;

/// How long a lock is waited for that nobody alive holds: a process that is being started has copies of
/// its parent's open files for an instant, and with them the lock.
const PATIENCE: Duration = Duration::from_secs(2);

/// Holds a run until it is dropped.
///
/// The lock is the operating system's, so it ends with the process that holds it however that
/// ends; the file's text only says who it is.
#[derive(Debug)]
pub(super) struct RunLock {
    file: File,
}

#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    host: String,
    since: String,
}

impl RunLock {
    /// Takes the lock of a run.
    pub(super) fn acquire(run: &Path) -> Result<Self, Error> {
        let path = run.join(layout::LOCK);
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| Error::io("open", &path, source))?;
        let began = Instant::now();
        let wait = || began.elapsed() < PATIENCE && !is_alive(holder(&file).as_ref());
        match kgen_process::lock(&file, Access::Exclusive, wait) {
            Ok(true) => {}
            Ok(false) => {
                let holder = describe(holder(&file));
                return Err(Error::Locked { path: run.to_owned(), holder });
            }
            Err(source) if source.kind() == io::ErrorKind::Unsupported => {
                tracing::warn!("{} cannot be locked: {source}", path.display());
            }
            Err(source) => return Err(Error::io("lock", &path, source)),
        }
        let holder = Holder {
            pid: std::process::id(),
            host: host(),
            since: jiff::Timestamp::now().to_string(),
        };
        let text = serde_json::to_string(&holder).expect("a holder is plain data");
        file.set_len(0)
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(|source| Error::io("write", &path, source))?;
        Ok(Self { file })
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // The file stays: removing it would let two later processes lock two different files.
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!("the lock's text stays behind: {error}");
        }
        // Closing alone would leave the lock to copies that a process being started has of the file.
        if let Err(error) = self.file.unlock() {
            tracing::debug!("the lock ends with the file: {error}");
        }
    }
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned())
}

/// Reads who holds the lock; `None` where nobody wrote it yet, or any more.
fn holder(mut file: &File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns whether a holder is at work, as far as this machine can see.
fn is_alive(holder: Option<&Holder>) -> bool {
    let there = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
    holder.is_some_and(|holder| holder.host != host() || there(holder.pid))
}

fn describe(holder: Option<Holder>) -> String {
    holder.map_or_else(
        || "another process".to_owned(),
        |Holder { pid, host, since }| format!("process {pid} on host {host}, since {since}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_the_run_and_the_third_gets_it() {
        let run = tempfile::tempdir().unwrap();
        let first = RunLock::acquire(run.path()).unwrap();
        let error = RunLock::acquire(run.path()).unwrap_err();
        let pid = format!("process {}", std::process::id());
        assert!(error.to_string().contains(&pid), "{error}");
        drop(first);
        RunLock::acquire(run.path()).unwrap();
    }

    #[test]
    fn a_copy_of_the_file_does_not_keep_a_lock_that_was_given_back() {
        let run = tempfile::tempdir().unwrap();
        let first = RunLock::acquire(run.path()).unwrap();
        let copy = first.file.try_clone().unwrap();
        drop(first);
        RunLock::acquire(run.path()).unwrap();
        drop(copy);
    }

    #[test]
    fn a_lock_that_nobody_alive_holds_is_waited_for() {
        let run = tempfile::tempdir().unwrap();
        let path = run.path().join(layout::LOCK);
        let file = File::create(&path).unwrap();
        file.lock().unwrap();
        // No process has this number: it is beyond the largest that Linux gives.
        let gone = Holder { pid: 1 << 30, host: host(), since: String::new() };
        std::fs::write(&path, serde_json::to_string(&gone).unwrap()).unwrap();
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(file);
        });
        RunLock::acquire(run.path()).unwrap();
        ends.join().unwrap();
    }
}
