//! The folder of a profile, which a profile that fails does not leave behind.

use std::{
    fs,
    path::{Path, PathBuf, absolute},
};

use kgen_profile::report::Tool;

use super::{tools, unwritable};
use crate::cli::CommandError;

/// Files that a profile makes beside its raw report.
const FILES: [&str; 14] = [
    tools::EXIT_CODE,
    tools::BEGUN,
    tools::TORCH_TRACER,
    tools::TORCH_VERSION,
    tools::TORCH_ENDED,
    "stat.csv",
    "perf.txt",
    "raw.csv",
    "details.csv",
    "report.sqlite",
    "report.xml",
    "flame.svg",
    "summary.txt",
    "summary.json",
];

/// A folder that is being filled. Where no raw report is in it when it is dropped, its files go, and so do
/// the folders that were made for it.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    raw: PathBuf,
    /// The innermost first.
    made: Vec<PathBuf>,
}

impl Folder {
    /// Returns the absolute path of the folder, since the command may change its own; makes nothing.
    pub(super) fn path(tool: Tool, out: Option<&Path>) -> Result<PathBuf, CommandError> {
        let now = jiff::Zoned::now().strftime("%Y-%m-%d_%H%M%S").to_string();
        let name = || format!("profile_{}_{now}", tool.name()).into();
        let out = out.map_or_else(name, PathBuf::from);
        absolute(&out).map_err(|error| unwritable(&out, &error))
    }

    /// Makes the folder, and drops the files of a profile that was made in it before: one that fails is not to look
    /// like it.
    pub(super) fn make(path: &Path, raw: PathBuf) -> Result<Self, CommandError> {
        let made = path.ancestors().take_while(|folder| !folder.exists());
        let made = made.map(Path::to_path_buf).collect();
        let folder = Self { path: path.to_path_buf(), raw, made };
        fs::create_dir_all(path).map_err(|error| unwritable(path, &error))?;
        folder.clear();
        Ok(folder)
    }

    fn clear(&self) {
        for name in FILES {
            drop(fs::remove_file(self.path.join(name)));
        }
        let raw = &self.raw;
        drop(if raw.is_dir() { fs::remove_dir_all(raw) } else { fs::remove_file(raw) });
    }

    fn has_report(&self) -> bool {
        self.raw.metadata().is_ok_and(|raw| raw.is_dir() || 0 < raw.len())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.has_report() {
            return;
        }
        self.clear();
        for folder in &self.made {
            // Files of others stay.
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}
