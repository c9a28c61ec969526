//! Where profilers are, and the known facts about them on this machine.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kgen_compile::find_tool;
use kgen_process::{DEVICE_ENV, Output, Spec};
use serde::{Deserialize, Serialize};

/// File of the known facts, in kgen's cache folder.
const FILE: &str = "profilers.json";

/// Where Linux says whether only administrators may read the counters.
const DRIVER_PARAMETERS: &str = "/proc/driver/nvidia/params";

/// Time that a tool has to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// The profilers of this machine. Facts that take seconds to find out are in kgen's cache: its
/// version, metrics that it does not know, and that it is not permitted.
pub struct Profilers {
    find: Find,
    cache: Option<PathBuf>,
    known: Mutex<BTreeMap<String, Known>>,
}

/// Looks a program up by its name.
type Find = Box<dyn Fn(&str) -> Option<PathBuf> + Send + Sync>;

/// The known facts about one profiler.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// Identity of the tool and the driver; where it differs, all has to be found out anew.
    stamp: String,
    /// For people, for example `ncu 2025.3.1`.
    pub(super) version: String,
    /// Why it must not be used.
    pub(super) refused: Option<String>,
    /// Metrics that it does not have.
    pub(super) unknown_metrics: Vec<String>,
}

/// A profiler that can be tried.
#[derive(Debug, Clone)]
pub(super) struct Profiler {
    /// The program.
    pub(super) path: PathBuf,
    /// The known facts about it.
    pub(super) known: Known,
}

impl Profilers {
    /// Returns the profilers; `cache` is kgen's cache folder.
    #[must_use]
    pub fn new(cache: Option<&Path>) -> Self {
        Self::with(Box::new(find_tool), cache)
    }

    /// The same with another way to find programs.
    pub(super) fn with(find: Find, cache: Option<&Path>) -> Self {
        let cache = cache.map(|folder| folder.join(FILE));
        let stored = cache.as_ref().and_then(|path| std::fs::read(path).ok());
        let known = stored.and_then(|text| serde_json::from_slice(&text).ok());
        Self { find, cache, known: Mutex::new(known.unwrap_or_default()) }
    }

    /// Returns a profiler; `retry` forgets that it was not permitted.
    ///
    /// # Errors
    ///
    /// In one line, why it cannot be used.
    pub(super) fn get(&self, name: &str, retry: bool) -> Result<Profiler, String> {
        let path = (self.find)(name).ok_or_else(|| {
            format!("`{name}` is not installed (looked on PATH, in CUDA_HOME and /usr/local/cuda)")
        })?;
        let stamp = stamp(&path);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let known = match known.filter(|known| known.stamp == stamp) {
            Some(known) => known,
            None => {
                let known = Known { stamp, version: version(name, &path), ..Known::default() };
                self.remember(name, &known);
                known
            }
        };
        match &known.refused {
            Some(reason) if !retry => Err(format!("{reason} (found before; --retry tries again)")),
            Some(_) | None => Ok(Profiler { path, known }),
        }
    }

    /// Stores the known facts; a cache that cannot be written is none.
    pub(super) fn remember(&self, name: &str, known: &Known) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_owned(), known.clone());
        let Some(path) = &self.cache else { return };
        let text = serde_json::to_vec_pretty(&*all).expect("plain data is JSON");
        let folder = path.parent().unwrap_or(Path::new("."));
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            let file = tempfile::NamedTempFile::new_in(folder)?;
            std::fs::write(file.path(), &text)?;
            file.persist(path)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::debug!("cannot write {}: {error}", path.display());
        }
    }
}

/// Returns the key that permission and version of a tool depend on.
fn stamp(path: &Path) -> String {
    let changed = path.metadata().and_then(|file| file.modified()).ok();
    let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let parameters = std::fs::read_to_string(DRIVER_PARAMETERS).unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find(|line| line.starts_with("CapEff"));
    let admin_only = parameters.lines().find(|line| line.contains("RmProfilingAdminOnly"));
    format!(
        "{} {} {} {}",
        path.display(),
        changed.map_or(0, |time| time.as_secs()),
        admin_only.unwrap_or("-"),
        capabilities.unwrap_or("-")
    )
}

/// Asks a tool for its version, for people.
fn version(name: &str, path: &Path) -> String {
    let spec = Spec::new(path, "/").args(["--version"]).deadline(VERSION_LIMIT);
    let said =
        kgen_process::run(&spec).map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let said = said.unwrap_or_default();
    let line = said.lines().find_map(|line| line.trim().strip_prefix("Version "));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or_else(|| name.to_owned(), |number| format!("{name} {number}"))
}

/// Runs a tool in a folder; its messages are in the language of the parsers.
pub(super) fn run(
    path: &Path,
    dir: &Path,
    args: impl IntoIterator<Item = std::ffi::OsString>,
    limit: Duration,
) -> Result<Output, String> {
    let mut spec = Spec::new(path, dir)
        .args(args)
        .inherit(DEVICE_ENV)
        .env("LC_ALL", "C")
        // The lock of Nsight Compute is not shared with other users.
        .env("TMPDIR", dir)
        .deadline(limit);
    spec.stdout_cap = 64 << 20;
    let output = kgen_process::run(&spec).map_err(|error| error.to_string())?;
    if output.timed_out {
        return Err(format!("it did not end within {} s", limit.as_secs()));
    }
    Ok(output)
}
