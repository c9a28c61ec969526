//! The folder of a bench: its plan, a line per finished cell, and the outputs.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use kgen_bench::{Bench, Cell};

use super::{
    plan::{BenchPlan, PlannedOp},
    stored::{PLAN, RESULTS, StoredBench, dir_of, failed, key},
};
use crate::cli::CommandError;

/// A bench on disk, which nobody else writes to meanwhile.
pub(super) struct Folder {
    dir: PathBuf,
    stored: StoredBench,
    results: File,
}

impl Folder {
    /// Makes the folder of a new bench.
    pub(super) fn create(root: &Path, plan: BenchPlan) -> Result<Self, CommandError> {
        let dir = root.join(&plan.id);
        let failed = |error: io::Error| failed(&dir, "cannot make", &error);
        fs::create_dir_all(root).map_err(failed)?;
        match fs::create_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(CommandError::config(format!("{} is there already", dir.display()))
                    .hint(format!("`kgen bench --resume {}` goes on with it", plan.id)));
            }
            made => made.map_err(failed)?,
        }
        let text = serde_json::to_string(&plan).expect("a plan turns into JSON");
        fs::write(dir.join(PLAN), text + "\n").map_err(failed)?;
        Self::with(dir, StoredBench { plan: Arc::new(plan), cells: HashMap::new() })
    }

    /// Opens the folder of a bench that was begun.
    pub(super) fn open(root: &Path, id: &str) -> Result<Self, CommandError> {
        Self::with(dir_of(root, id), StoredBench::read(root, id)?)
    }

    fn with(dir: PathBuf, stored: StoredBench) -> Result<Self, CommandError> {
        let path = dir.join(RESULTS);
        let opened = OpenOptions::new().create(true).append(true).read(true).open(&path);
        let mut results = opened.map_err(|error| failed(&path, "cannot write", &error))?;
        if results.try_lock().is_err() {
            return Err(CommandError::config(format!("another kgen works on {}", dir.display())));
        }
        end_line(&mut results).map_err(|error| failed(&path, "cannot write", &error))?;
        Ok(Self { dir, stored, results })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) const fn plan(&self) -> &Arc<BenchPlan> {
        &self.stored.plan
    }

    pub(super) fn n_done(&self) -> u64 {
        self.stored.cells.len() as u64
    }

    /// Returns which cases of an op lack a cell, by their places, each with the first implementation that
    /// is missing. A case with times but without all cells begins anew: its times belong together.
    pub(super) fn missing(&self, op: &PlannedOp) -> Vec<(usize, usize)> {
        let mut missing = Vec::new();
        for (place, planned) in op.cases.iter().enumerate() {
            let cell = |name: &String| {
                self.stored.cells.get(&(op.op.clone(), planned.case.id.clone(), name.clone()))
            };
            let cells: Vec<Option<&Cell>> = self.plan().implementations.iter().map(cell).collect();
            let Some(first) = cells.iter().position(Option::is_none) else { continue };
            let is_timed = cells.iter().flatten().any(|cell| cell.timing.is_some());
            missing.push((place, if is_timed { 0 } else { first }));
        }
        missing
    }

    /// Adds finished cells; they are on disk when it returns.
    pub(super) fn add(&mut self, cells: Vec<Cell>) -> Result<(), CommandError> {
        let mut text = String::new();
        for cell in &cells {
            text.push_str(&serde_json::to_string(cell).expect("a cell turns into JSON"));
            text.push('\n');
        }
        let written = self.results.write_all(text.as_bytes());
        let written = written.and_then(|()| self.results.sync_data());
        written.map_err(|error| failed(&self.dir.join(RESULTS), "cannot write", &error))?;
        self.stored.cells.extend(cells.into_iter().map(|cell| (key(&cell), cell)));
        Ok(())
    }

    /// Returns all cells; those that are missing were not run, for this reason.
    pub(super) fn bench(&self, why_missing: &str) -> Bench {
        self.stored.bench(why_missing)
    }
}

/// Ends the last line where kgen was killed before it could; one that is no cell is taken away.
fn end_line(results: &mut File) -> io::Result<()> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    if results.metadata()?.len() == 0 {
        return Ok(());
    }
    results.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    results.read_exact(&mut last)?;
    if last[0] == b'\n' {
        return Ok(());
    }
    let mut text = Vec::new();
    results.rewind()?;
    results.read_to_end(&mut text)?;
    let start = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    match serde_json::from_slice::<Cell>(&text[start..]) {
        Ok(_) => results.write_all(b"\n"),
        Err(_) => results.set_len(start as u64),
    }
}
