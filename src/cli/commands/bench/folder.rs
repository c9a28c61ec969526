//! The folder of a bench: its plan, a line per finished cell, and the outputs.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use kgen_bench::{Bench, Cell, FORMAT, Outcome};
use kgen_eval::describe_args;
use kgen_record::{EvalRequest, Implementation};

use super::plan::{BenchPlan, PlannedCase, PlannedOp};
use crate::cli::{CommandError, commands::bench::bench_dir};

/// The plan.
pub(super) const PLAN: &str = "bench.json";
/// One cell per line.
const RESULTS: &str = "results.jsonl";

/// Op, case and implementation.
type Key = (String, String, String);

/// A bench on disk, which nobody else writes to meanwhile.
pub(super) struct Folder {
    dir: PathBuf,
    pub(super) plan: BenchPlan,
    cells: HashMap<Key, Cell>,
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
        Self::with(dir, plan, HashMap::new())
    }

    /// Opens the folder of a bench that was begun.
    pub(super) fn open(root: &Path, id: &str) -> Result<Self, CommandError> {
        let dir = bench_dir(root, id);
        let (plan, cells) = read(&dir)?;
        Self::with(dir, plan, cells)
    }

    fn with(
        dir: PathBuf,
        plan: BenchPlan,
        cells: HashMap<Key, Cell>,
    ) -> Result<Self, CommandError> {
        let path = dir.join(RESULTS);
        let opened = OpenOptions::new().create(true).append(true).read(true).open(&path);
        let mut results = opened.map_err(|error| failed(&path, "cannot write", &error))?;
        if results.try_lock().is_err() {
            return Err(CommandError::config(format!("another kgen works on {}", dir.display())));
        }
        // A line that was cut off when kgen was killed ends here, and what follows is a line of its own.
        end_line(&mut results).map_err(|error| failed(&path, "cannot write", &error))?;
        Ok(Self { dir, plan, cells, results })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn n_done(&self) -> u64 {
        self.cells.len() as u64
    }

    /// Returns which cases of an op lack a cell, by their places, each with the first implementation that
    /// is missing. A case with times but without all cells begins anew: its times belong together.
    pub(super) fn missing(&self, op: &PlannedOp) -> Vec<(usize, usize)> {
        let mut missing = Vec::new();
        for (place, planned) in op.cases.iter().enumerate() {
            let cell = |name: &String| {
                self.cells.get(&(op.op.clone(), planned.case.id.clone(), name.clone()))
            };
            let cells: Vec<Option<&Cell>> = self.plan.implementations.iter().map(cell).collect();
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
        self.cells.extend(cells.into_iter().map(|cell| (key(&cell), cell)));
        Ok(())
    }

    /// Returns all cells; those that are missing were not run, for this reason.
    pub(super) fn bench(&self, why_missing: &str) -> Bench {
        bench(&self.plan, &self.cells, why_missing)
    }
}

/// Reads a bench without writing to it.
pub(crate) fn read_bench(root: &Path, id: &str) -> Result<Bench, CommandError> {
    let (plan, cells) = read(&bench_dir(root, id))?;
    Ok(bench(&plan, &cells, "the bench was interrupted"))
}

/// Returns whether there is a bench of this ID or path.
pub(crate) fn exists(root: &Path, id: &str) -> bool {
    bench_dir(root, id).join(PLAN).is_file()
}

/// Returns the IDs of the benches in a folder, the oldest first.
pub(crate) fn all(root: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
    let made = |entry: &fs::DirEntry| fs::metadata(entry.path().join(PLAN)).ok()?.modified().ok();
    let dated = entries.filter_map(Result::ok);
    let mut dated: Vec<_> =
        dated.filter_map(|entry| Some((made(&entry)?, entry.file_name()))).collect();
    dated.sort();
    dated.into_iter().filter_map(|(_, name)| name.into_string().ok()).collect()
}

/// Returns the implementations of a bench, by op and name.
pub(crate) fn kernels(
    root: &Path,
    id: &str,
) -> Result<HashMap<(String, String), Implementation>, CommandError> {
    let (plan, _) = read(&bench_dir(root, id))?;
    let mut kernels = HashMap::new();
    for op in &plan.ops {
        for (name, kernel) in plan.implementations.iter().zip(&op.kernels) {
            if let Some(kernel) = kernel {
                kernels.insert((op.op.clone(), name.clone()), kernel.clone());
            }
        }
    }
    Ok(kernels)
}

/// Returns requests for single cases of a bench, by op, type and arguments; they have no candidate.
pub(crate) fn requests(root: &Path, id: &str) -> Result<HashMap<Key, EvalRequest>, CommandError> {
    let (plan, _) = read(&bench_dir(root, id))?;
    let mut requests = HashMap::new();
    for op in &plan.ops {
        for PlannedCase { case, .. } in &op.cases {
            let request = EvalRequest {
                op: op.op.clone(),
                definition: op.definition.clone(),
                cases: vec![case.clone()],
                ..plan.request.clone()
            };
            let key = (op.op.clone(), case.dtype.to_string(), describe_args(case));
            requests.insert(key, request);
        }
    }
    Ok(requests)
}

fn read(dir: &Path) -> Result<(BenchPlan, HashMap<Key, Cell>), CommandError> {
    let path = dir.join(PLAN);
    let text = fs::read_to_string(&path).map_err(|error| {
        failed(&path, "cannot read", &error).hint("benches are folders with a bench.json")
    })?;
    let wrong = |error: serde_json::Error| {
        CommandError::config(format!("{} is no bench of this kgen: {error}", path.display()))
    };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
    if let Some(format) = value["format"].as_u64().filter(|format| *format > FORMAT.into()) {
        let message =
            format!("{} has the format {format}; this kgen reads {FORMAT}", path.display());
        return Err(CommandError::config(message).hint("a newer kgen made it"));
    }
    let plan: BenchPlan = serde_json::from_value(value).map_err(wrong)?;
    let path = dir.join(RESULTS);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| failed(&path, "cannot read", &error))?,
    };
    // A line that was cut off is measured again.
    let cells = text.lines().filter_map(|line| serde_json::from_str::<Cell>(line).ok());
    Ok((plan, cells.map(|cell| (key(&cell), cell)).collect()))
}

fn bench(plan: &BenchPlan, cells: &HashMap<Key, Cell>, why_missing: &str) -> Bench {
    let mut ordered = Vec::new();
    for op in &plan.ops {
        for planned in &op.cases {
            for implementation in &plan.implementations {
                let case = &planned.case;
                let found = cells.get(&(op.op.clone(), case.id.clone(), implementation.clone()));
                ordered.push(found.cloned().unwrap_or_else(|| {
                    let reason = why_missing.to_owned();
                    super::cells::cell(op, planned, implementation, Outcome::NotRun { reason })
                }));
            }
        }
    }
    Bench {
        format: plan.format,
        id: plan.id.clone(),
        created: plan.created.clone(),
        fingerprint: plan.fingerprint.clone(),
        device: plan.device.clone(),
        axes: plan.axes.clone(),
        implementations: plan.implementations.clone(),
        cells: ordered,
    }
}

fn key(cell: &Cell) -> Key {
    (cell.op.clone(), cell.case.clone(), cell.implementation.clone())
}

fn end_line(results: &mut File) -> io::Result<()> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    if results.metadata()?.len() == 0 {
        return Ok(());
    }
    results.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    results.read_exact(&mut last)?;
    if last[0] == b'\n' { Ok(()) } else { results.write_all(b"\n") }
}

fn failed(path: &Path, what: &str, error: &io::Error) -> CommandError {
    CommandError::config(format!("{what} {}: {error}", path.display()))
}
