//! Errors of a run directory.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::layout::{RUN_COPY, RUN_JSON};

/// Failure to read or write a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The action, for example `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another process works on the run.
    #[error("run {} is in use by {holder}", path.display())]
    Locked {
        path: PathBuf,
        /// Who holds it, for example `process 4711 on host a, since 2026-01-01T00:00:00Z`.
        holder: String,
    },
    /// A run of that name is there already.
    #[error("{} exists already", path.display())]
    Exists { path: PathBuf },
    /// The folder holds no run.
    #[error("{} is not a run: it has no run.json", path.display())]
    NotARun { path: PathBuf },
    /// The run was written by a newer kgen.
    #[error(
        "{} has format {found_major}.{found_minor}, but this kgen reads up to {known_major}.x",
        path.display()
    )]
    NewerFormat {
        /// The run's `run.json`.
        path: PathBuf,
        found_major: u32,
        found_minor: u32,
        /// The major version that this kgen writes.
        known_major: u32,
    },
    /// A file that cannot be rebuilt is damaged.
    #[error("{} is damaged", path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// No run of that name.
    #[error("no run `{name}` in {}{}", root.display(), suggest(suggestions))]
    UnknownRun {
        name: String,
        /// Where it was looked for.
        root: PathBuf,
        /// Runs with a similar name.
        suggestions: Vec<String>,
    },
    /// There is no run yet.
    #[error("there is no run in {}", root.display())]
    NoRun {
        /// Where it was looked for.
        root: PathBuf,
    },
}

impl Error {
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    /// Returns whether there is no room on the disk.
    pub(super) fn is_disk_full(&self) -> bool {
        let kind = |source: &io::Error| source.kind();
        matches!(self, Self::Io { source, .. }
            if matches!(kind(source), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }

    /// Returns the way out, as a sentence for the user.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } => io_hint(source.kind()),
            Self::Locked { .. } => {
                Some("wait until it has finished, or end that process, then try again".to_owned())
            }
            Self::Exists { .. } => {
                Some("choose another --run-id, or go on with it: kgen resume RUN".to_owned())
            }
            Self::NotARun { path } if path.join(RUN_COPY).exists() => Some(format!(
                "`kgen check {} --repair` restores run.json from its copy",
                path.display()
            )),
            Self::NotARun { .. } => Some(
                "`kgen list runs` shows the runs; give a run ID or the path of a run's folder"
                    .to_owned(),
            ),
            Self::NewerFormat { .. } => {
                Some("use the kgen that wrote it, or a newer one; nothing was changed".to_owned())
            }
            Self::Damaged { path, .. } => {
                let run = path
                    .ancestors()
                    .skip(1)
                    .find(|dir| dir.join(RUN_JSON).exists() || dir.join(RUN_COPY).exists());
                let run = run.map_or_else(|| "RUN".to_owned(), |run| run.display().to_string());
                Some(format!("`kgen check {run} --repair` rebuilds it or sets it aside"))
            }
            Self::NoRun { .. } => {
                Some("`kgen generate` makes one; --output-dir says where runs are kept".to_owned())
            }
            Self::UnknownRun { .. } => Some(
                "`kgen list runs` shows the runs; a path works too, and --output-dir says where \
                 runs are kept"
                    .to_owned(),
            ),
        }
    }
}

fn io_hint(kind: io::ErrorKind) -> Option<String> {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(
            "make room on that disk, then go on with `kgen resume RUN`: all that was written before \
             is kept"
                .to_owned(),
        ),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(
            "choose a folder that you may write to with --output-dir, or change its permissions"
                .to_owned(),
        ),
        _ => None,
    }
}

fn suggest(suggestions: &[String]) -> String {
    if suggestions.is_empty() {
        return String::new();
    }
    format!(" (did you mean {}?)", suggestions.join(", "))
}
