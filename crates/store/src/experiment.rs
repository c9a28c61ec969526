//! `experiment.json`: which runs an experiment is made of, and with which settings it began.

use std::path::{Path, PathBuf};

use kgen_record::RunId;
use serde::{Deserialize, Serialize};

use super::{
    Error,
    atomic::{self, Durability},
    layout::RUN_JSON,
    lock::RunLock,
    run::read_json,
};

const MANIFEST: &str = "experiment.json";

/// The manifest of an experiment. `T` is a run's cell of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentInfo<T> {
    /// Version of the manifest.
    pub format: u32,
    pub name: String,
    /// Version of kgen that began it.
    pub kgen_version: String,
    /// When it was begun, RFC 3339, UTC.
    pub created_at: String,
    /// The text of its file: going on with another one is an error.
    pub file: String,
    /// All settings as they were resolved when it began, without keys.
    pub settings: serde_json::Value,
    /// Its runs, in the order of their execution.
    pub runs: Vec<T>,
}

/// The folder of an experiment: its manifest, its runs, their results. One process at a time
/// holds it.
#[derive(Debug)]
pub struct ExperimentStore {
    dir: PathBuf,
    _lock: Option<RunLock>,
}

/// Files that are made of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonFile {
    /// `comparison.txt`.
    Text,
    /// `comparison.csv`.
    Csv,
    /// `comparison.json`.
    Json,
    /// `comparison.html`.
    Html,
}

impl ComparisonFile {
    /// Returns the file's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "comparison.txt",
            Self::Csv => "comparison.csv",
            Self::Json => "comparison.json",
            Self::Html => "comparison.html",
        }
    }
}

impl ExperimentStore {
    /// Takes an experiment's folder, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] or [`Error::Io`].
    pub fn hold(dir: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(dir).map_err(|source| Error::io("create", dir, source))?;
        Ok(Self { dir: dir.to_owned(), _lock: Some(RunLock::acquire(dir)?) })
    }

    /// Makes the folder for one run of it, beside which other processes may do others.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn join(dir: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(dir).map_err(|source| Error::io("create", dir, source))?;
        Ok(Self { dir: dir.to_owned(), _lock: None })
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the manifest.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write_info<T: Serialize>(&self, info: &ExperimentInfo<T>) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(info).expect("a manifest is plain data") + "\n";
        atomic::write(&self.dir.join(MANIFEST), text.as_bytes(), Durability::Disk)
    }

    /// Writes the result of all runs.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write_comparison(&self, file: ComparisonFile, text: &str) -> Result<(), Error> {
        atomic::write(&self.dir.join(file.name()), text.as_bytes(), Durability::Process)
    }
}

/// Reads the manifest of an experiment; `None` where the folder has none.
///
/// # Errors
///
/// [`Error::Damaged`] or [`Error::Io`].
pub fn read_experiment<T: for<'de> Deserialize<'de>>(
    dir: &Path,
) -> Result<Option<ExperimentInfo<T>>, Error> {
    read_json(&dir.join(MANIFEST))
}

/// Returns the folders of an experiment's runs that were begun; `None` where the folder is that of no
/// experiment.
///
/// # Errors
///
/// [`Error::Damaged`] or [`Error::Io`].
pub fn experiment_runs(dir: &Path) -> Result<Option<Vec<PathBuf>>, Error> {
    #[derive(Deserialize)]
    struct Begun {
        run: RunId,
    }
    let Some(info) = read_experiment::<Begun>(dir)? else { return Ok(None) };
    let dirs = info.runs.iter().map(|begun| dir.join(begun.run.as_str()));
    Ok(Some(dirs.filter(|dir| dir.join(RUN_JSON).exists()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_is_held_by_one_and_knows_its_runs() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("prompts");
        let store = ExperimentStore::hold(&dir).unwrap();
        assert!(matches!(ExperimentStore::hold(&dir), Err(Error::Locked { .. })));
        assert!(experiment_runs(&dir).unwrap().is_none());
        let run = |name: &str| serde_json::json!({"run": name, "seed": 1});
        let info = ExperimentInfo {
            format: 1,
            name: "prompts".to_owned(),
            kgen_version: "0".to_owned(),
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            file: "name = \"prompts\"".to_owned(),
            settings: serde_json::json!({}),
            runs: vec![run("a_s1"), run("a_s2")],
        };
        store.write_info(&info).unwrap();
        assert_eq!(read_experiment(&dir).unwrap(), Some(info));
        std::fs::create_dir(dir.join("a_s2")).unwrap();
        std::fs::write(dir.join("a_s2").join(RUN_JSON), "{}").unwrap();
        assert_eq!(experiment_runs(&dir).unwrap(), Some(vec![dir.join("a_s2")]));
        std::fs::write(dir.join(MANIFEST), "{").unwrap();
        assert!(matches!(experiment_runs(&dir), Err(Error::Damaged { .. })));
    }
}
