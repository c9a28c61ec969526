//! Compiled kernel files on disk, by content.
//!
//! An entry that cannot be read, is torn or of another format is a miss; a write that fails is
//! forgotten. Entries are written beside their place and renamed, so readers never see half.

use std::{fs, io::Write, path::PathBuf};

use sha2::{Digest, Sha256};

use super::{compiler::Compiled, nvrtc::Header};

/// Part of every key: counts up when the content of an entry changes its meaning.
const FORMAT: &str = "kgen-compile-1";

/// A folder of compiled kernel files.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self { folder }
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
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(super) fn get(&self, key: &str) -> Option<Compiled> {
        let bytes = fs::read(self.path(key)).ok()?;
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
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(Sha256::digest(&body).as_slice())?;
        file.write_all(&body)?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compile::{Compiler, Job, testing},
        record::DType,
    };

    #[test]
    fn a_hit_is_equal_and_a_damaged_entry_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let compiler =
            Compiler::open(testing::toolchain(), Some(folder.path().join("cache"))).unwrap();
        let kernels = ["k".to_owned()];
        let compile = |value: &str, dtype| {
            let job = Job {
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
}
