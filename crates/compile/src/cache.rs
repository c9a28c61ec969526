//! Compiled kernel files on disk, by content.
//!
//! An entry that cannot be read, is torn or of another format is a miss; a write that fails is
//! forgotten. Entries are written beside their place and renamed, so readers never see half. The
//! folder keeps to a size: entries used last stay.

use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime},
};

use kgen_record::hex;
use sha2::{Digest, Sha256};

use super::{compiler::Compiled, nvrtc::Header};

/// Part of every key: counts up when the content of an entry changes its meaning.
const FORMAT: &str = "kgen-compile-2";

/// Most bytes of all entries: some ten thousand kernels.
const MAX_BYTES: u64 = 2 << 30;

/// Most bytes of one entry: the most that the guard behind NVRTC takes, in base64.
const MAX_ENTRY_BYTES: u64 = 64 << 20;

/// How many entries are written between two looks at the folder's size.
const WRITES_PER_SWEEP: u32 = 64;

/// Age at which a file that is no entry was left by a process that died.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// A folder of compiled kernel files.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    writes: AtomicU32,
}

impl Cache {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self { folder, writes: AtomicU32::new(0) }
    }

    /// Returns the key of a compilation: a hash of all it depends on.
    pub(super) fn key(
        version: (u32, u32),
        code: &str,
        headers: &[Header],
        options: &[String],
        names: &[String],
    ) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(FORMAT);
        add(&format!("{}.{}", version.0, version.1));
        add(code);
        for header in headers {
            add(header.name);
            add(&header.text);
        }
        for list in [options, names] {
            add(&list.len().to_string());
            list.iter().for_each(|text| add(text));
        }
        hex(&hash.finalize())
    }

    pub(super) fn get(&self, key: &str) -> Option<Compiled> {
        let path = self.path(key);
        if path.metadata().ok()?.len() > MAX_ENTRY_BYTES {
            return None;
        }
        let bytes = fs::read(&path).ok()?;
        // The time of use decides which entry goes first; where it cannot be set, that of writing
        // does.
        drop(
            File::options()
                .append(true)
                .open(&path)
                .and_then(|f| f.set_modified(SystemTime::now())),
        );
        let (checksum, body) = bytes.split_at_checked(32)?;
        (Sha256::digest(body).as_slice() == checksum).then_some(())?;
        serde_json::from_slice(body).ok()
    }

    pub(super) fn put(&self, key: &str, compiled: &Compiled) {
        if let Err(error) = self.try_put(key, compiled) {
            tracing::debug!(folder = %self.folder.display(), %error, "compile cache not written");
        }
    }

    fn try_put(&self, key: &str, compiled: &Compiled) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let body = serde_json::to_vec(compiled)?;
        if body.len() as u64 > MAX_ENTRY_BYTES {
            return Ok(());
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(Sha256::digest(&body).as_slice())?;
        file.write_all(&body)?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        if self.writes.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_PER_SWEEP) {
            self.sweep(MAX_BYTES)?;
        }
        Ok(())
    }

    /// Removes the least recently used entries until the rest has at most this many bytes. Other
    /// processes may do the same at the same time: a file that is gone already is no error.
    fn sweep(&self, max_bytes: u64) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let Ok(file) = entry.metadata() else { continue };
            let (path, used) = (entry.path(), file.modified().unwrap_or(SystemTime::UNIX_EPOCH));
            let is_entry = path.extension().is_some_and(|extension| extension == "json");
            let is_old = used.elapsed().is_ok_and(|age| age > LEFT_BEHIND);
            if is_entry && file.len() <= MAX_ENTRY_BYTES {
                entries.push((used, file.len(), path));
            } else if is_entry || is_old && file.is_file() {
                drop(fs::remove_file(path));
            }
        }
        let mut bytes: u64 = entries.iter().map(|(_, len, _)| len).sum();
        entries.sort_unstable();
        for (_, len, path) in entries {
            if bytes <= max_bytes {
                break;
            }
            drop(fs::remove_file(path));
            bytes -= len;
        }
        Ok(())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileJob, Compiler, testing};
    use kgen_record::DType;

    #[test]
    fn a_hit_is_equal_and_a_damaged_entry_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let compiler =
            Compiler::open(testing::toolchain(), Some(folder.path().join("cache"))).unwrap();
        let kernels = ["k".to_owned()];
        let compile = |value: &str, dtype| {
            let job = CompileJob {
                source: "extern \"C\" __global__ void k(T_self* x) { x[0] = N; }",
                defines: &[("N".to_owned(), value.to_owned())],
                types: &[("T_self".to_owned(), dtype)],
                kernels: &kernels,
                arch: "sm_90a",
            };
            compiler.compile(&job).unwrap()
        };
        let fresh = compile("1", DType::F32);
        let mut hit = compile("1", DType::F32);
        assert!(!fresh.from_cache && hit.from_cache);
        hit.from_cache = false;
        assert_eq!(fresh, hit);
        assert!(!compile("2", DType::F32).from_cache);
        assert!(!compile("1", DType::F64).from_cache);
        for entry in folder.path().join("cache").read_dir().unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&path, &bytes[..]).unwrap();
        }
        assert!(!compile("1", DType::F32).from_cache);
        assert!(compile("1", DType::F32).from_cache);
    }

    #[test]
    fn what_was_used_last_stays_and_what_is_too_large_goes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let write = |name: &str, bytes: u64, age: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_len(bytes).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        write("old.json", 1000, 300);
        write("middle.json", 1000, 200);
        write("new.json", 1000, 100);
        write("huge.json", MAX_ENTRY_BYTES + 1, 0);
        write(".tmpDead", 10, 2 * LEFT_BEHIND.as_secs());
        write(".tmpAlive", 10, 0);
        cache.sweep(2500).unwrap();
        let mut left: Vec<_> =
            folder.path().read_dir().unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".tmpAlive", "middle.json", "new.json"]);
        assert!(cache.get("middle").is_none(), "it holds no product");
        cache.sweep(1500).unwrap();
        assert!(folder.path().join("middle.json").exists(), "it was asked for last");
        assert!(!folder.path().join("new.json").exists());
    }
}
