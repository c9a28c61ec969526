//! Scratch folders that go with their owner, however it ends.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;
use tempfile::TempDir;

/// The beginning of the names of all scratch folders.
const PREFIX: &str = "kgen-";

/// The file in a scratch folder that its owner has locked.
const LOCK: &str = "lock";

/// A scratch folder; dropping it removes it.
///
/// One whose owner was killed is removed by the next [`Scratch::sweep`]: its lock ended with the owner.
#[derive(Debug)]
pub struct Scratch {
    _dir: TempDir,
    work: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes a folder whose name says what it is for, in `folder` or in the system's for temporary files.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn new(purpose: &str, folder: Option<&Path>) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let prefix = format!("{PREFIX}{purpose}-");
        builder.prefix(&prefix);
        let dir = match folder {
            Some(folder) => builder.tempdir_in(folder),
            None => builder.tempdir(),
        }?;
        // It has its name only once it is locked: a sweep leaves folders without a lock alone.
        let unlocked = dir.path().join("lock.new");
        let lock = File::create_new(&unlocked)?;
        lock.lock()?;
        fs::rename(&unlocked, dir.path().join(LOCK))?;
        let work = dir.path().join("work");
        fs::create_dir(&work)?;
        Ok(Self { _dir: dir, work, _lock: lock })
    }

    /// Returns the folder to work in.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.work
    }

    /// Removes the scratch folders of this user whose owners are gone.
    pub fn sweep(folder: Option<&Path>) {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
                && entry.metadata().is_ok_and(|of| of.is_dir() && of.uid() == geteuid().as_raw());
            if is_ours && let Ok(lock) = File::open(entry.path().join(LOCK)) {
                match lock.try_lock() {
                    // One that cannot be removed is in nobody's way.
                    Ok(()) => drop(fs::remove_dir_all(entry.path())),
                    Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_an_owner_that_is_gone_is_swept_and_no_other() {
        let root = tempfile::tempdir().unwrap();
        let live = Scratch::new("worker", Some(root.path())).unwrap();
        fs::write(live.path().join("a"), "a").unwrap();
        for foreign in ["kgen-of-mine", "other"] {
            fs::create_dir(root.path().join(foreign)).unwrap();
        }
        let stale = root.path().join("kgen-worker-gone");
        fs::create_dir_all(stale.join("work/deep")).unwrap();
        fs::write(stale.join(LOCK), "").unwrap();
        Scratch::sweep(Some(root.path()));
        assert!(!stale.exists() && live.path().join("a").exists());
        assert!(root.path().join("kgen-of-mine").exists() && root.path().join("other").exists());
        drop(live);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }
}
