//! A bench as it is stored: its plan and the cells that are finished.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use kgen_bench::{Bench, Cell, FORMAT, Outcome};
use kgen_eval::describe_args;
use kgen_record::{EvalRequest, Implementation};

use super::{
    cells::cell,
    plan::{BenchPlan, PlannedCase},
};
use crate::cli::CommandError;

/// The plan.
pub(super) const PLAN: &str = "bench.json";
/// One cell per line.
pub(super) const RESULTS: &str = "results.jsonl";

/// Why cells of a bench are missing that nobody works on.
pub(crate) const INTERRUPTED: &str = "the bench was interrupted";

/// Op, case and implementation.
pub(super) type Key = (String, String, String);

/// Names the bench that was made last, where no folder has this name.
const LATEST: &str = "latest";

/// Returns the folder of a bench by its ID or path; `latest` is the one that was made last.
pub(super) fn dir_of(root: &Path, id: &str) -> PathBuf {
    let path = PathBuf::from(id);
    if path.join(PLAN).is_file() {
        return path;
    }
    let newest = if id == LATEST { all(root).pop() } else { None };
    root.join(newest.as_deref().unwrap_or(id))
}

/// Returns the advice on an ID of which there is no bench: near ones, else where benches are.
pub(crate) fn near(root: &Path, id: &str) -> String {
    let known = all(root);
    match &kgen_ops::near(id, known.iter().rev().map(String::as_str), 3)[..] {
        [] => format!("benches are folders with a bench.json in {}", root.display()),
        near => {
            let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
            format!("did you mean the bench {}?", names.join(" or "))
        }
    }
}

/// Returns whether there is a bench of this ID or path.
pub(crate) fn exists(root: &Path, id: &str) -> bool {
    dir_of(root, id).join(PLAN).is_file()
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

/// The plan of a bench, and its finished cells.
pub(crate) struct StoredBench {
    pub(super) plan: Arc<BenchPlan>,
    pub(super) cells: HashMap<Key, Cell>,
}

impl StoredBench {
    /// Reads a bench by its ID or path.
    pub(crate) fn read(root: &Path, id: &str) -> Result<Self, CommandError> {
        let dir = dir_of(root, id);
        let path = dir.join(PLAN);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("no bench `{id}` in {}", root.display());
                CommandError::config(message).hint(near(root, id))
            }
            _ => failed(&path, "cannot read", &error),
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
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|error| failed(&path, "cannot read", &error))?,
        };
        // A line that was cut off, perhaps within a letter, is measured again.
        let lines = text.split(|byte| *byte == b'\n');
        let cells = lines.filter_map(|line| serde_json::from_slice::<Cell>(line).ok());
        Ok(Self { plan: Arc::new(plan), cells: cells.map(|cell| (key(&cell), cell)).collect() })
    }

    /// Returns all cells; those that are missing were not run, for this reason.
    pub(crate) fn bench(&self, why_missing: &str) -> Bench {
        let Self { plan, cells } = self;
        let mut ordered = Vec::new();
        for op in &plan.ops {
            for planned in &op.cases {
                for implementation in &plan.implementations {
                    let case = &planned.case;
                    let found =
                        cells.get(&(op.op.clone(), case.id.clone(), implementation.clone()));
                    ordered.push(found.cloned().unwrap_or_else(|| {
                        let reason = why_missing.to_owned();
                        cell(op, planned, implementation, Outcome::NotRun { reason })
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

    /// Returns its implementations, by op and name.
    pub(crate) fn kernels(&self) -> HashMap<(&str, &str), &Implementation> {
        let mut kernels = HashMap::new();
        for op in &self.plan.ops {
            for (name, kernel) in self.plan.implementations.iter().zip(&op.kernels) {
                kernels.extend(kernel.as_ref().map(|kernel| ((&*op.op, &**name), kernel)));
            }
        }
        kernels
    }

    /// Returns requests for its single cases, by op, type and arguments; they have no candidate.
    pub(crate) fn requests(&self) -> HashMap<Key, EvalRequest> {
        let mut requests = HashMap::new();
        for op in &self.plan.ops {
            for PlannedCase { case, .. } in &op.cases {
                let request = EvalRequest {
                    op: op.op.clone(),
                    definition: op.definition.clone(),
                    cases: vec![case.clone()],
                    ..self.plan.request.clone()
                };
                let key = (op.op.clone(), case.dtype.to_string(), describe_args(case));
                requests.insert(key, request);
            }
        }
        requests
    }
}

pub(super) fn key(cell: &Cell) -> Key {
    (cell.op.clone(), cell.case.clone(), cell.implementation.clone())
}

pub(super) fn failed(path: &Path, what: &str, error: &io::Error) -> CommandError {
    CommandError::config(format!("{what} {}: {error}", path.display()))
}
