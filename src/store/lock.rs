//! One process at a time works on a run.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{Error, layout};

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
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { path: run.to_owned(), holder: describe(&mut file) });
            }
            Err(TryLockError::Error(source))
                if source.kind() == std::io::ErrorKind::Unsupported =>
            {
                tracing::warn!("{} cannot be locked: {source}", path.display());
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path, source)),
        }
        let holder = Holder {
            pid: std::process::id(),
            host: std::fs::read_to_string("/proc/sys/kernel/hostname")
                .map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned()),
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
    }
}

fn describe(file: &mut File) -> String {
    let mut text = String::new();
    let holder = file
        .read_to_string(&mut text)
        .ok()
        .and_then(|_| serde_json::from_str::<Holder>(&text).ok());
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
}
