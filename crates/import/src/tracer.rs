//! Runs `python/importer`, which traces modules by PyTorch.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use include_dir::{Dir, include_dir};
use kgen_process::Spec;
use serde::{Deserialize, Serialize};

use crate::Trace;

static SCRIPTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../python/importer");

/// Time that a process has beside that of its files: Python and PyTorch start.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Time that a file has.
const FILE_LIMIT: Duration = Duration::from_secs(120);

/// A file with a module.
#[derive(Debug, Clone, Serialize)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// The class.
    pub class: String,
    /// The name of the op.
    pub name: String,
}

/// A function with example tensors.
#[derive(Debug, Clone, Serialize)]
pub struct Function {
    /// The file.
    pub path: PathBuf,
    /// The function, and the name of the op.
    pub name: String,
    /// A Python expression that gives the arguments.
    pub inputs: String,
}

/// Modules or a function.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Request {
    /// Files with modules.
    pub files: Vec<Source>,
    /// Whether they are in evaluation mode.
    pub eval: bool,
    /// The function.
    pub function: Option<Function>,
    /// Whether a module without a graph is taken as its own reference.
    pub python_reference: bool,
}

/// Why a module has no trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TraceError {
    /// The line of the file, where it is known.
    pub line: Option<u32>,
    /// Why.
    pub reason: String,
}

/// A failure of the machine.
#[derive(Debug, thiserror::Error)]
pub enum TracerError {
    /// A file or folder of its own.
    #[error("the importer's files")]
    Files(#[from] io::Error),
    /// The process.
    #[error("the importer's Python process")]
    Process(#[from] kgen_process::Error),
    /// It ended before its last file.
    #[error("the importer's Python process ended early ({status}): {said}")]
    Ended {
        /// Its exit status.
        status: String,
        /// The last line of its standard error.
        said: String,
    },
}

/// A line that the tracer prints of a file.
#[derive(Deserialize)]
struct Line {
    name: String,
    ok: bool,
    error: Option<String>,
    line: Option<u32>,
}

/// Traces by name, and the reasons of those that have none.
pub type Traces = BTreeMap<String, Result<Trace, TraceError>>;

/// Traces modules in several processes; `done` is called after each with how many have ended.
///
/// `env`: lists of variables that Python gets, see [`kgen_process::SYSTEM_ENV`].
///
/// # Errors
///
/// [`TracerError`] where a process does not work; what is wrong with a file is part of the result.
pub fn trace(
    python: &Path,
    env: &'static [&'static str],
    request: &Request,
    n_processes: usize,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Traces, TracerError> {
    let scratch = kgen_process::Scratch::new("import", None)?;
    SCRIPTS.extract(scratch.path())?;
    let n = n_processes.clamp(1, request.files.len().max(1));
    let parts = (0..n).map(|part| Request {
        files: request.files.iter().skip(part).step_by(n).cloned().collect(),
        ..request.clone()
    });
    let parts: Vec<Request> = parts.collect();
    let running = AtomicUsize::new(n);
    thread::scope(|scope| {
        let jobs: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(part, request)| {
                let (scratch, running) = (scratch.path(), &running);
                scope.spawn(move || {
                    let result = run_part(python, env, scratch, part, request);
                    running.fetch_sub(1, Ordering::Relaxed);
                    result
                })
            })
            .collect();
        while running.load(Ordering::Relaxed) > 0 {
            thread::sleep(Duration::from_millis(100));
            done(n_traced(scratch.path(), n));
        }
        let mut all = Traces::new();
        for job in jobs {
            match job.join() {
                Ok(result) => all.extend(result?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

fn folder(scratch: &Path, part: usize) -> PathBuf {
    scratch.join(format!("traces_{part}"))
}

fn n_traced(scratch: &Path, n: usize) -> usize {
    let count = |part| fs::read_dir(folder(scratch, part)).map_or(0, Iterator::count);
    (0..n).map(count).sum()
}

fn run_part(
    python: &Path,
    env: &'static [&'static str],
    scratch: &Path,
    part: usize,
    request: &Request,
) -> Result<Traces, TracerError> {
    let out = folder(scratch, part);
    fs::create_dir_all(&out)?;
    let spec = scratch.join(format!("request_{part}.json"));
    fs::write(&spec, serde_json::to_vec(request).map_err(io::Error::other)?)?;
    let n_files = request.files.len().max(1);
    let limit = START_LIMIT + FILE_LIMIT * u32::try_from(n_files).unwrap_or(u32::MAX);
    let script = scratch.join("trace.py");
    let process = Spec::new(python, scratch)
        .args([script.as_path(), out.as_path(), spec.as_path()])
        .inherit(env)
        // Small tensors: threads would wait for each other.
        .env("OMP_NUM_THREADS", "1")
        .deadline(limit);
    let output = kgen_process::run(&process)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Line> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if lines.len() < n_files {
        let said = output.stderr_text();
        let said = said.lines().next_back().unwrap_or("no message").to_owned();
        return Err(TracerError::Ended { status: output.status.to_string(), said });
    }
    let read = |name: &str| -> Result<Trace, TraceError> {
        let unreadable = |reason: String| TraceError { line: None, reason };
        let text = fs::read(out.join(format!("{name}.json")));
        let text = text.map_err(|error| unreadable(format!("its trace is missing: {error}")))?;
        let trace: Trace = serde_json::from_slice(&text)
            .map_err(|error| unreadable(format!("its trace cannot be read: {error}")))?;
        let inputs = request.function.as_ref().map(|function| function.inputs.clone());
        Ok(Trace { inputs, ..trace })
    };
    let one = |Line { name, ok, error, line }| {
        let result = if ok {
            read(&name)
        } else {
            Err(TraceError { line, reason: error.unwrap_or_else(|| "unknown reason".to_owned()) })
        };
        (name, result)
    };
    Ok(lines.into_iter().map(one).collect())
}
