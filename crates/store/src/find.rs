//! Finding runs by name.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Zoned;
use kgen_record::RunId;

use super::{
    Error, Run, RunInfo,
    layout::{RUN_COPY, RUN_JSON},
};

/// A run below a folder of runs.
#[derive(Debug)]
pub struct RunEntry {
    pub dir: PathBuf,
    /// Its `run.json`, or why that cannot be read.
    pub info: Result<RunInfo, Error>,
}

/// Lists the runs below a folder, oldest first, unreadable ones before all others.
///
/// # Errors
///
/// [`Error::Io`]; a folder that does not exist holds no runs.
pub fn list_runs(root: &Path) -> Result<Vec<RunEntry>, Error> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::io("read", root, source)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let dir = entry.map_err(|source| Error::io("read", root, source))?.path();
        if dir.join(RUN_JSON).exists() {
            runs.push(RunEntry { info: Run::open(&dir).map(|run| run.info().clone()), dir });
        }
    }
    runs.sort_by(|a, b| age(a).cmp(&age(b)));
    Ok(runs)
}

fn age(entry: &RunEntry) -> (&str, &Path) {
    (entry.info.as_ref().map_or("", |info| info.created_at.as_str()), &entry.dir)
}

/// Returns the folder of the run that was made last.
///
/// # Errors
///
/// [`Error::Io`].
pub fn latest_run(root: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(list_runs(root)?.pop().map(|entry| entry.dir))
}

/// Stands for the run that was made last, where no run has this name.
const LATEST: &str = "latest";

/// Finds a run by its ID below `root` or in an experiment there, or by the path of its folder;
/// `latest` is the one that was made last below `root`.
///
/// # Errors
///
/// [`Error::UnknownRun`] with similar names, [`Error::NoRun`] where `latest` finds none, [`Error::NotARun`] for a folder without a run, or
/// [`Error::Io`].
pub fn find_run(root: &Path, name: &str) -> Result<PathBuf, Error> {
    let by_id = name.parse::<RunId>().ok().map(|id| root.join(id.as_str()));
    if let Some(dir) = by_id.filter(|dir| is_run(dir)) {
        return Ok(dir);
    }
    if let Some(dir) = in_experiment(root, name) {
        return Ok(dir);
    }
    let by_path = PathBuf::from(name);
    if is_run(&by_path) {
        return Ok(by_path);
    }
    if name == LATEST {
        return latest_run(root)?.ok_or_else(|| Error::NoRun { root: root.to_owned() });
    }
    if by_path.is_dir() {
        return Err(Error::NotARun { path: by_path });
    }
    let names = list_runs(root)?
        .into_iter()
        .filter_map(|entry| Some(entry.dir.file_name()?.to_str()?.to_owned()));
    // Among equals the newest is the likeliest.
    let mut names: Vec<String> = names.collect();
    names.reverse();
    let suggestions = kgen_ops::near(name, names.iter().map(String::as_str), 3);
    let suggestions = suggestions.into_iter().map(str::to_owned).collect();
    Err(Error::UnknownRun { name: name.to_owned(), root: root.to_owned(), suggestions })
}

/// Returns whether a folder holds a run, if only the copy of its `run.json`.
fn is_run(dir: &Path) -> bool {
    dir.join(RUN_JSON).exists() || dir.join(RUN_COPY).exists()
}

/// Finds a run by its ID in the experiments below a folder: their names begin it.
fn in_experiment(root: &Path, name: &str) -> Option<PathBuf> {
    let id: RunId = name.parse().ok()?;
    let ends = id.as_str().match_indices('_').map(|(at, _)| at).chain([id.as_str().len()]);
    let mut folders = ends.map(|end| root.join(&id.as_str()[..end]).join(id.as_str()));
    folders.find(|dir| is_run(dir))
}

/// Returns the run ID of a time; `n_taken` of that time are in use.
pub(super) fn dated_id(now: &Zoned, n_taken: u32) -> RunId {
    let id = now.strftime("run_%Y%m%d_%H%M%S");
    let id = if n_taken == 0 { id.to_string() } else { format!("{id}_{}", n_taken + 1) };
    id.parse().expect("letters, digits and underscores name a run")
}
