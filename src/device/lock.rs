//! One kgen at a time measures on a GPU.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg, OFlag},
};

/// Time between two looks at a lock that another process holds.
const POLL: Duration = Duration::from_millis(20);

/// A GPU that no other kgen measures on while this lives.
#[derive(Debug)]
pub struct GpuLock {
    _file: Flock<File>,
}

impl GpuLock {
    /// Waits until no other kgen on this machine has the GPU.
    ///
    /// `waited` is told, again and again while there is something to wait for, how long that was so
    /// far; where it returns false, `None` comes back.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be opened or locked.
    pub fn wait(uuid: &str, waited: impl FnMut(Duration) -> bool) -> io::Result<Option<Self>> {
        Self::wait_for(&path(&std::env::temp_dir(), uuid), waited)
    }

    fn wait_for(path: &Path, mut waited: impl FnMut(Duration) -> bool) -> io::Result<Option<Self>> {
        let mut file = open(path)?;
        let began = Instant::now();
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) => return Ok(Some(Self { _file: file })),
                Err((file, Errno::EWOULDBLOCK | Errno::EINTR)) => file,
                Err((_, error)) => return Err(error.into()),
            };
            if !waited(began.elapsed()) {
                return Ok(None);
            }
            thread::sleep(POLL);
        }
    }
}

fn path(folder: &Path, uuid: &str) -> PathBuf {
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    folder.join(format!("kgen-gpu-{}.lock", uuid.chars().filter(plain).collect::<String>()))
}

/// Opens a lock file that everybody may lock. Another user's is opened and not made: systems refuse
/// to make what is there already in a folder of all users.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).mode(0o644).custom_flags(OFlag::O_NOFOLLOW.bits());
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            options.write(true).create(true).truncate(false).open(path)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_second_one_waits_says_so_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "GPU-1/../2");
        assert_eq!(path.file_name().unwrap(), "kgen-gpu-GPU-12.lock");
        let first = GpuLock::wait_for(&path, |_| panic!("nobody else has it")).unwrap();
        assert!(first.is_some());
        assert!(GpuLock::wait_for(&path, |_| false).unwrap().is_none());
        let (told, waits) = mpsc::channel();
        let second = thread::spawn({
            let path = path.clone();
            move || GpuLock::wait_for(&path, |_| told.send(()).is_ok()).unwrap().is_some()
        });
        waits.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(!second.is_finished());
        drop(first);
        assert!(second.join().unwrap());
        let error = GpuLock::wait_for(&folder.path().join("none/lock"), |_| true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
