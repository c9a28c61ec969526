//! The user's folder of kept replies: one file per reply, named by its request.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use kgen_llm::{CachedReply, CachedRequest, LogError, ReplyCache};

use super::{
    Error,
    atomic::{self, Durability},
    blocking::wait_for_disk,
    run::read_json,
};

/// A folder of kept replies; runs may share it.
#[derive(Debug, Clone)]
pub struct ReplyCacheFolder {
    dir: PathBuf,
}

impl ReplyCacheFolder {
    /// Opens a folder; it is made when the first reply is kept.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    fn path(&self, key: &str) -> PathBuf {
        // Few folders of many files are slow on some file systems.
        self.dir.join(key.get(..2).unwrap_or("xx")).join(format!("{key}.json"))
    }

    /// Lists the files, newest first.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        for folder in entries(&self.dir)? {
            for file in entries(&folder)? {
                let is_kept = file.extension().is_some_and(|extension| extension == "json");
                let changed = file.metadata().and_then(|metadata| metadata.modified());
                if is_kept {
                    files.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), file));
                }
            }
        }
        files.sort_by(|a, b| b.cmp(a));
        Ok(files.into_iter().map(|(_, file)| file).collect())
    }
}

/// Lists a folder; one that is not there, or a file in its place, is empty.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(|source| Error::io("read", folder, source))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

impl ReplyCache for ReplyCacheFolder {
    fn get(&self, key: &str) -> Result<Option<CachedReply>, LogError> {
        Ok(wait_for_disk(|| read_json(&self.path(key)))?)
    }

    fn put(&self, reply: &CachedReply) -> Result<(), LogError> {
        let path = self.path(&reply.key);
        let folder = path.parent().unwrap_or(&self.dir);
        let mut text = serde_json::to_string_pretty(reply)?;
        text.push('\n');
        wait_for_disk(|| {
            fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source))?;
            atomic::write(&path, text.as_bytes(), Durability::Process)
        })?;
        Ok(())
    }

    fn recent(&self, limit: usize) -> Result<Vec<CachedRequest>, LogError> {
        let read = |file: PathBuf| read_json::<CachedReply>(&file).ok().flatten();
        let requests = wait_for_disk(|| {
            let files = self.files()?.into_iter().take(limit);
            Ok::<_, Error>(files.filter_map(read).map(|kept| kept.request).collect())
        });
        Ok(requests?)
    }

    fn place(&self) -> String {
        self.dir.display().to_string()
    }
}
