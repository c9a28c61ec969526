//! Shared use of a GPU: evaluations that are not timed share it, timed ones have it alone.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use kgen_process::Access;
use nix::fcntl::OFlag;

/// Folder of the locks: the same for all users and for processes with temporary folders of their own.
const FOLDER: &str = "/tmp/kgen-gpu";

/// The right to use a GPU in one way, while this lives.
#[derive(Debug)]
pub struct GpuLock {
    _file: LockedFile,
}

impl GpuLock {
    /// Waits until no kgen on this machine uses the GPU in a way that excludes this one.
    ///
    /// `waited` gets the time so far, again and again while there is something to wait for; where it
    /// returns false, `None` comes back.
    ///
    /// # Errors
    ///
    /// When a lock file cannot be opened or locked.
    pub fn wait(
        uuid: &str,
        usage: Access,
        waited: impl FnMut(Duration) -> bool,
    ) -> io::Result<Option<Self>> {
        Self::wait_in(Self::folder(), uuid, usage, waited)
    }

    /// Returns the folder of the locks, made if it is not there: a worker behind a wall must be let in.
    #[must_use]
    pub fn folder() -> &'static Path {
        // One that cannot be made is missed by whoever locks.
        if fs::create_dir(FOLDER).is_ok() {
            drop(fs::set_permissions(FOLDER, Permissions::from_mode(0o1777)));
        }
        Path::new(FOLDER)
    }

    fn wait_in(
        folder: &Path,
        uuid: &str,
        usage: Access,
        mut waited: impl FnMut(Duration) -> bool,
    ) -> io::Result<Option<Self>> {
        let began = Instant::now();
        let mut wait = || waited(began.elapsed());
        // Whoever waits for the GPU alone holds the gate meanwhile, or those who share it, one after
        // another, would keep it waiting for ever.
        let Some(gate) = acquire(&path(folder, uuid, "gate"), usage, &mut wait)? else {
            return Ok(None);
        };
        let file = acquire(&path(folder, uuid, "lock"), usage, &mut wait)?;
        drop(gate);
        Ok(file.map(|file| Self { _file: file }))
    }
}

fn acquire(
    path: &Path,
    usage: Access,
    wait: &mut impl FnMut() -> bool,
) -> io::Result<Option<LockedFile>> {
    let file = LockedFile(open(path)?);
    Ok(kgen_process::lock(&file.0, usage, wait)?.then_some(file))
}

/// A file whose lock ends when this is dropped, whoever has copies of the file.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!("the lock ends with the file: {error}");
        }
    }
}

fn path(folder: &Path, uuid: &str, kind: &str) -> PathBuf {
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    folder.join(format!("{}.{kind}", uuid.chars().filter(plain).collect::<String>()))
}

/// Opens a lock file that everybody may lock. Another user's is opened and not made: systems refuse
/// to create a file that exists in a folder of all users.
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

    const UUID: &str = "GPU-1/../2";

    fn now(folder: &Path, usage: Access) -> Option<GpuLock> {
        GpuLock::wait_in(folder, UUID, usage, |_| false).unwrap()
    }

    #[test]
    fn the_name_of_a_lock_is_no_path() {
        let path = path(Path::new("/tmp"), UUID, "lock");
        assert_eq!(path.file_name().unwrap(), "GPU-12.lock");
    }

    #[test]
    fn those_who_share_keep_nobody_out_but_exclusive_use() {
        let folder = tempfile::tempdir().unwrap();
        let first = now(folder.path(), Access::Shared);
        let second = now(folder.path(), Access::Shared);
        assert!(first.is_some() && second.is_some());
        assert!(now(folder.path(), Access::Exclusive).is_none());
        drop((first, second));
        let alone = now(folder.path(), Access::Exclusive);
        assert!(alone.is_some());
        assert!(now(folder.path(), Access::Shared).is_none());
    }

    #[test]
    fn who_waits_to_be_alone_is_overtaken_by_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let shared = now(folder.path(), Access::Shared).unwrap();
        let (told, waits) = mpsc::channel();
        let alone = std::thread::spawn({
            let folder = folder.path().to_owned();
            move || {
                let waited = |_| told.send(()).is_ok();
                GpuLock::wait_in(&folder, UUID, Access::Exclusive, waited).unwrap().is_some()
            }
        });
        waits.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(now(folder.path(), Access::Shared).is_none());
        assert!(!alone.is_finished());
        drop(shared);
        assert!(alone.join().unwrap());
        assert!(now(folder.path(), Access::Shared).is_some());
    }

    #[test]
    fn a_lock_that_cannot_be_made_is_an_error() {
        let missing = Path::new("/proc/none");
        let error = GpuLock::wait_in(missing, UUID, Access::Shared, |_| true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
