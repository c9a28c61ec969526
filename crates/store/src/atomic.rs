//! Writing a file so that it is there whole or not at all.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use tempfile::NamedTempFile;

use super::Error;

/// Suffix of files that are not yet in their place.
const TEMP_SUFFIX: &str = ".kgen-tmp";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// The file survives the end of this process.
    Process,
    /// The file survives a loss of power once another one of its folder is written to the disk.
    Contents,
    /// The file survives a loss of power.
    Disk,
}

/// Writes a whole file by way of a temporary one in the same folder.
pub(super) fn write(path: &Path, bytes: &[u8], durability: Durability) -> Result<(), Error> {
    let failed = |source| Error::io("write", path, source);
    let mut temp = temporary(path).map_err(failed)?;
    fill(&mut temp, path, bytes)?;
    if durability != Durability::Process {
        temp.as_file().sync_all().map_err(failed)?;
    }
    temp.persist(path).map_err(|error| failed(error.error))?;
    if durability == Durability::Disk {
        // The rename itself is only safe once the folder has reached the disk.
        sync_folder(folder(path))?;
    }
    #[cfg(any(test, feature = "testing"))]
    {
        use crate::testing::journal::{Change, Kept, note};
        let kept = match durability {
            Durability::Process => Kept::Nothing,
            Durability::Contents => Kept::Contents,
            Durability::Disk => Kept::Name,
        };
        note(path, Change::Whole(bytes.to_vec()), kept);
    }
    Ok(())
}

/// Makes a file beside a place, under a name that marks it as not yet there: those of a killed process are
/// swept when the run is opened again.
pub(super) fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".")
        .suffix(TEMP_SUFFIX)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(path))
}

/// Makes sure that the names in a folder survive a loss of power.
pub(super) fn sync_folder(path: &Path) -> Result<(), Error> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|source| Error::io("write", path, source))
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Appends one line to a file that other lines are appended to as well.
pub(super) fn append_line(path: &Path, line: &str) -> Result<(), Error> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|source| Error::io("append to", path, source))?;
    // One call, so that a line of another thread never lands inside this one.
    let bytes = format!("{line}\n").into_bytes();
    fill(&mut file, path, &bytes)?;
    #[cfg(any(test, feature = "testing"))]
    {
        use crate::testing::journal::{Change, Kept, note};
        note(path, Change::Appended(bytes), Kept::Nothing);
    }
    Ok(())
}

fn fill(file: &mut dyn Write, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    file.write_all(bytes).map_err(|source| Error::io("write", path, source))
}

/// Returns whether a file is a left-over of an interrupted [`write`].
pub(super) fn is_left_over(name: &str) -> bool {
    let is_own = name.starts_with('.') && name.ends_with(TEMP_SUFFIX);
    // Libraries name theirs so.
    is_own || name.strip_prefix(".tmp").is_some_and(|rest| rest.chars().all(char::is_alphanumeric))
}

/// Removes such a file.
pub(super) fn remove_left_over(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(|source| Error::io("remove", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_its_way_out() {
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = fill(&mut full, Path::new("run/relu/relu.cu"), b"x").unwrap_err();
        assert_eq!(error.to_string(), "failed to write run/relu/relu.cu");
        assert!(error.hint().unwrap().contains("kgen resume"), "{error:?}");

        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index.jsonl");
        std::os::unix::fs::symlink("/dev/full", &index).unwrap();
        let error = append_line(&index, "{}").unwrap_err();
        assert!(error.hint().unwrap().contains("make room"), "{error:?}");
    }

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, b"one", Durability::Disk).unwrap();
        write(&path, b"2", Durability::Process).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("a.json");
        fs::create_dir(&taken).unwrap();
        write(&taken, b"one", Durability::Process).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
