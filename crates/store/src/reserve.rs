//! Room on the disk for replies that are paid for before they can be written.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Write as _,
    path::Path,
    sync::{Mutex, PoisonError},
};

use kgen_llm::CallKey;
use nix::{errno::Errno, fcntl::posix_fallocate};
use tempfile::NamedTempFile;

use super::{Error, atomic};

/// Bytes for the text of a reply and the record of it: longer ones were never seen.
const RESERVED_BYTES: i64 = 1 << 20;

/// Files that hold the room of the calls in flight, each beside the place of its reply.
#[derive(Debug, Default)]
pub(super) struct Reserves(Mutex<BTreeMap<CallKey, NamedTempFile>>);

impl Reserves {
    /// Takes room for the reply of a call that is about to be sent. A file system that cannot promise room
    /// gives none.
    pub(super) fn take(&self, key: &CallKey, reply: &Path) -> Result<(), Error> {
        let failed = |source| Error::io("reserve room for", reply, source);
        let file = atomic::temporary(reply).map_err(failed)?;
        match posix_fallocate(file.as_file(), 0, RESERVED_BYTES) {
            Ok(()) => drop(self.lock().insert(key.clone(), file)),
            Err(Errno::EOPNOTSUPP | Errno::EINVAL | Errno::ENODEV) => {}
            Err(error) => return Err(failed(error.into())),
        }
        Ok(())
    }

    /// Gives the room of a call back.
    pub(super) fn release(&self, key: &CallKey) {
        drop(self.lock().remove(key));
    }

    /// Writes the text of a reply into its room, which the disk cannot refuse, and gives the rest back.
    pub(super) fn fill(
        &self,
        key: &CallKey,
        reply: &Path,
        text: &str,
    ) -> Option<Result<(), Error>> {
        let mut file = self.lock().remove(key)?;
        let fill = |file: &mut File| {
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)?;
            file.sync_all()
        };
        let filled = fill(file.as_file_mut());
        let filled = filled.and_then(|()| file.persist(reply).map_err(|error| error.error));
        Some(filled.map(drop).map_err(|source| Error::io("write", reply, source)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<CallKey, NamedTempFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use kgen_record::{AttemptId, OpKey};

    use super::*;

    #[test]
    fn a_reply_goes_into_its_room() {
        let folder = tempfile::tempdir().unwrap();
        let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
        let key = CallKey { attempt, call: 1 };
        let (reserves, reply) = (Reserves::default(), folder.path().join("a.reply.md"));
        reserves.take(&key, &reply).unwrap();
        let held: u64 = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert_eq!(held, RESERVED_BYTES.cast_unsigned());
        reserves.fill(&key, &reply, "paid for").unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(&reply).unwrap(), "paid for");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(reserves.fill(&key, &reply, "again").is_none());
        reserves.take(&key, &reply).unwrap();
        reserves.release(&key);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
