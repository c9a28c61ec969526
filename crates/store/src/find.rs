//! Finding runs by name.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Zoned;
use kgen_record::RunId;

use super::{Error, Run, RunInfo, layout::RUN_JSON};

/// How alike two names must be to be suggested.
const SUGGESTION_SIMILARITY: f64 = 0.7;

/// A run below a folder of runs.
#[derive(Debug)]
pub struct RunEntry {
    /// Its folder.
    pub dir: PathBuf,
    /// What its `run.json` says, or why that cannot be read.
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

/// Finds a run by its ID below `root` or in an experiment there, or by the path of its folder.
///
/// # Errors
///
/// [`Error::UnknownRun`] with similar names, [`Error::NotARun`] for a folder without a run, or
/// [`Error::Io`].
pub fn find_run(root: &Path, name: &str) -> Result<PathBuf, Error> {
    let by_id = name.parse::<RunId>().ok().map(|id| root.join(id.as_str()));
    if let Some(dir) = by_id.filter(|dir| dir.join(RUN_JSON).exists()) {
        return Ok(dir);
    }
    if let Some(dir) = in_experiment(root, name) {
        return Ok(dir);
    }
    let by_path = PathBuf::from(name);
    if by_path.join(RUN_JSON).exists() {
        return Ok(by_path);
    }
    if by_path.is_dir() {
        return Err(Error::NotARun { path: by_path });
    }
    let names = list_runs(root)?
        .into_iter()
        .filter_map(|entry| Some(entry.dir.file_name()?.to_str()?.to_owned()));
    let mut scored: Vec<_> = names
        .map(|other| (strsim::normalized_damerau_levenshtein(name, &other), other))
        .filter(|(score, other)| SUGGESTION_SIMILARITY <= *score || other.starts_with(name))
        .collect();
    // The most similar first; among equals the newest is the likeliest.
    scored.reverse();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut suggestions: Vec<_> = scored.into_iter().map(|(_, other)| other).collect();
    suggestions.truncate(3);
    Err(Error::UnknownRun { name: name.to_owned(), root: root.to_owned(), suggestions })
}

/// Finds a run by its ID in the experiments below a folder: their names begin it.
fn in_experiment(root: &Path, name: &str) -> Option<PathBuf> {
    let id: RunId = name.parse().ok()?;
    let ends = id.as_str().match_indices('_').map(|(at, _)| at).chain([id.as_str().len()]);
    let mut folders = ends.map(|end| root.join(&id.as_str()[..end]).join(id.as_str()));
    folders.find(|dir| dir.join(RUN_JSON).exists())
}

/// Returns the run ID of a time; `n_taken` of that time are in use.
pub(super) fn dated_id(now: &Zoned, n_taken: u32) -> RunId {
    let id = now.strftime("run_%Y%m%d_%H%M%S");
    let id = if n_taken == 0 { id.to_string() } else { format!("{id}_{}", n_taken + 1) };
    id.parse().expect("letters, digits and underscores name a run")
}
