//! `kgen import`: modules and functions of PyTorch as op files with a suite.

mod flashinfer;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

use clap::{Args, Subcommand};
use kgen_baseline::python;
use kgen_import::{
    CheckError, Role, Trace, Variant, spelled,
    tracer::{self, Function, Request, Source},
};
use kgen_settings::Overrides;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{
    CommandError, Context,
    args::{FormatArgs, PythonArgs},
    exit_codes::Exit,
    session::plural,
};

/// Make op files of PyTorch modules and functions, with a suite of them
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    kind: ImportKind,
}

#[derive(Debug, Subcommand)]
enum ImportKind {
    /// The problems of a copy of KernelBench
    Kernelbench {
        /// Folder with level1, level2, level3
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Levels to take
        #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_value = "1,2,3")]
        level: Vec<u32>,
        #[command(flatten)]
        common: Common,
    },
    /// A file with a module, `get_inputs` and `get_init_inputs`
    Module {
        /// The file, and the class where it is not Model: FILE.py:Class
        #[arg(value_name = "FILE[:CLASS]")]
        module: String,
        #[command(flatten)]
        common: Common,
    },
    /// A function with example tensors
    Function {
        /// The file and the function: FILE.py:function
        #[arg(value_name = "FILE:FUNCTION")]
        function: String,
        /// Python expression of its arguments, for example "torch.rand(8, 64), 0.5"
        #[arg(long, value_name = "EXPR")]
        inputs: String,
        #[command(flatten)]
        common: Common,
    },
    /// Definitions and workloads of FlashInfer-Bench
    FlashinferBench {
        /// Folder with definitions and workloads
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Args)]
struct Output {
    /// Folder for the op files and the suite
    #[arg(short, long, value_name = "DIR", default_value = "problems")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
}

/// A suite of imported problems.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Imported {
    name: String,
    /// Its file; `null` where no problem could be imported.
    file: Option<String>,
    problems: Vec<Problem>,
    /// Problems that could not be imported, with the reason.
    failed: Vec<String>,
}

/// A problem as an op file.
#[derive(Debug, Serialize, JsonSchema)]
struct Problem {
    op: String,
    file: String,
    /// How it was checked, and which sizes of it are drawn; empty where that is not known.
    notes: String,
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    output: Output,
    /// Put modules into evaluation mode first: no dropout, running statistics
    #[arg(long)]
    eval: bool,
    /// Where a module has no graph, take it as its own reference: judging needs PyTorch then
    #[arg(long)]
    python_reference: bool,
    #[command(flatten)]
    python: PythonArgs,
}

impl Common {
    /// Returns a request of no module.
    fn request(&self) -> Request {
        Request { eval: self.eval, python_reference: self.python_reference, ..Request::default() }
    }
}

/// A suite and the modules in it.
struct Job {
    suite: String,
    description: String,
    request: Request,
}

pub(crate) fn run(context: &Context, args: &ImportArgs) -> Result<Exit, CommandError> {
    let (jobs, common) = match &args.kind {
        ImportKind::Kernelbench { dir, level, common } => {
            (kernelbench(dir, level, common)?, common)
        }
        ImportKind::Module { module, common } => (vec![module_job(module, common)?], common),
        ImportKind::Function { function, inputs, common } => {
            (vec![function_job(function, inputs, common)?], common)
        }
        ImportKind::FlashinferBench { dir, output } => {
            let suites = vec![flashinfer::run(context, dir, &output.output)?];
            print(context, &suites)?;
            return Ok(exit(&suites));
        }
    };
    let mut flags = Overrides::default();
    common.python.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let python = python::find(settings.python.path.as_deref())?;
    let folder = &common.output.output;
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let mut suites = Vec::new();
    for job in &jobs {
        suites.push(import(context, job, &python.path, folder)?);
        print(context, &suites)?;
    }
    Ok(exit(&suites))
}

/// Prints the last of the suites, and says how many problems of it were imported.
fn print(context: &Context, suites: &Vec<Imported>) -> Result<(), CommandError> {
    let Some(Imported { file, problems, failed, .. }) = suites.last() else { return Ok(()) };
    context.ui.result(suites, || file.clone().unwrap_or_default())?;
    let failed = if failed.is_empty() { String::new() } else { format!(", {} not", failed.len()) };
    context.ui.announce(&format!("{} imported{failed}", plural(problems.len(), "problem")));
    if let [Problem { file, .. }] = problems.as_slice() {
        context.ui.note(&format!(
            "`kgen show --op-file {file} --prompt` prints the task, `kgen eval FILE.cu --op-file {file}` \
             evaluates a kernel"
        ));
    }
    Ok(())
}

fn exit(suites: &[Imported]) -> Exit {
    let is_whole = suites.iter().all(|suite| suite.failed.is_empty());
    if is_whole { Exit::Ok } else { Exit::NotSolved }
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::config(format!("cannot write {}: {error}", path.display()))
}

/// Returns a name of an op.
fn op_name(text: &str) -> String {
    let name = spelled(text);
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("p{name}") } else { name }
}

/// Returns the name of a problem that may be called as an op of the catalogue is.
fn problem_name(name: &str) -> String {
    let name = op_name(name);
    if kgen_ops::op::find(&name).is_ok() { format!("{name}_problem") } else { name }
}

fn stem(path: &Path) -> String {
    let name = spelled(&path.file_stem().unwrap_or_default().to_string_lossy());
    // KernelBench has files such as 1_Square_matrix_multiplication_.py.
    name.trim_end_matches('_').to_owned()
}

fn kernelbench(dir: &Path, levels: &[u32], common: &Common) -> Result<Vec<Job>, CommandError> {
    let level_job = |&level: &u32| {
        let folder = dir.join(format!("level{level}"));
        // The importer runs in a folder of its own.
        let folder = fs::canonicalize(&folder).unwrap_or(folder);
        let entries = fs::read_dir(&folder).map_err(|error| {
            let message = format!("cannot read {}: {error}", folder.display());
            CommandError::config(message)
                .hint("DIR is the folder KernelBench of a copy of that repository")
        })?;
        let mut files: Vec<(u32, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let number = path.file_name()?.to_str()?.split_once('_')?.0.parse().ok()?;
                (path.extension()? == "py").then_some((number, path))
            })
            .collect();
        files.sort();
        if files.is_empty() {
            let message = format!("{} has no problem such as 1_Name.py", folder.display());
            return Err(CommandError::config(message));
        }
        let files = files.into_iter().map(|(_, path)| Source {
            name: format!("l{level}_{}", stem(&path)),
            class: "Model".to_owned(),
            path,
        });
        let request = Request { files: files.collect(), ..common.request() };
        let description = format!("KernelBench, level {level}");
        Ok(Job { suite: format!("kernelbench-l{level}"), description, request })
    };
    levels.iter().map(level_job).collect()
}

fn module_job(module: &str, common: &Common) -> Result<Job, CommandError> {
    let (path, class) = match module.rsplit_once(':') {
        Some((path, class)) => (path, class),
        None => (module, "Model"),
    };
    let path = existing(path)?;
    let name = op_name(&stem(&path));
    let file = Source { path, class: class.to_owned(), name: name.clone() };
    let request = Request { files: vec![file], ..common.request() };
    Ok(Job { suite: name, description: format!("{module}, imported"), request })
}

fn function_job(function: &str, inputs: &str, common: &Common) -> Result<Job, CommandError> {
    let (path, name) = function
        .rsplit_once(':')
        .ok_or_else(|| CommandError::usage("a function is named FILE.py:function"))?;
    let function_of =
        Function { path: existing(path)?, name: name.to_owned(), inputs: inputs.to_owned() };
    let request = Request { function: Some(function_of), ..common.request() };
    Ok(Job { suite: op_name(name), description: format!("{function}, imported"), request })
}

fn existing(path: &str) -> Result<PathBuf, CommandError> {
    fs::canonicalize(path)
        .map_err(|error| CommandError::config(format!("cannot read {path}: {error}")))
}

/// Imports the modules of a suite.
fn import(
    context: &Context,
    job: &Job,
    python: &Path,
    folder: &Path,
) -> Result<Imported, CommandError> {
    let n_files = job.request.files.len().max(1);
    let n_processes = thread::available_parallelism().map_or(1, usize::from);
    let bar = context.ui.bar(n_files as u64, &format!("tracing {}", job.suite));
    let traces = tracer::trace(python, kgen_process::PYTHON_ENV, &job.request, n_processes, &|n| {
        bar.set_position(n as u64);
    });
    bar.finish_and_clear();
    let mut traces = traces.map_err(|error| CommandError::new(Exit::Device, error))?;
    let (mut problems, mut failed) = (Vec::new(), Vec::new());
    let names: Vec<(String, String)> = match &job.request.function {
        Some(function) => vec![(function.name.clone(), function.path.display().to_string())],
        None => {
            let named = |file: &Source| (file.name.clone(), file.path.display().to_string());
            job.request.files.iter().map(named).collect()
        }
    };
    let traces: Vec<_> = names
        .into_iter()
        .filter_map(|(name, file)| Some((problem_name(&name), file, traces.remove(&name)?)))
        .collect();
    let made = traces.into_par_iter().map(|(name, file, trace)| {
        let trace = trace.map_err(|error| (error.line, error.reason));
        let made = trace.and_then(|trace| one(trace, &name));
        (name, file, made)
    });
    for (name, file, made) in made.collect::<Vec<_>>() {
        match made {
            Ok((imported, said)) => {
                let path = folder.join(format!("{name}.toml"));
                fs::write(&path, &imported.text).map_err(|error| unwritable(&path, &error))?;
                context.ui.note(&format!("{}: {said}", path.display()));
                problems.push(Problem { op: name, file: path.display().to_string(), notes: said });
            }
            Err((line, reason)) => {
                let line = line.map_or(String::new(), |line| format!(", line {line}"));
                let message = format!("{file}{line}: {reason}");
                if n_files == 1 {
                    return Err(CommandError::config(message));
                }
                context.ui.warn(&message);
                failed.push(message);
            }
        }
    }
    write_suite(folder, (&job.suite, &job.description), problems, failed)
}

/// Writes the suite of the problems that were imported.
fn write_suite(
    folder: &Path,
    (suite, description): (&str, &str),
    problems: Vec<Problem>,
    failed: Vec<String>,
) -> Result<Imported, CommandError> {
    let name = op_name(suite);
    let mut file = None;
    if !problems.is_empty() {
        let path = folder.join(format!("{suite}.suite.toml"));
        let ops: Vec<String> = problems.iter().map(|problem| problem.op.clone()).collect();
        let text = kgen_import::suite(&name, description, &ops);
        fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
        file = Some(path.display().to_string());
    }
    Ok(Imported { name, file, problems, failed })
}

/// Makes an op of a trace and compares it with the module's own results.
fn one(
    mut trace: Trace,
    name: &str,
) -> Result<(kgen_import::Imported, String), (Option<u32>, String)> {
    trace.leave_out_others();
    let mut imported = kgen_import::import(&trace, name).map_err(|error| {
        let line = match &error {
            kgen_import::ImportError::Call { line, .. } => *line,
            _ => None,
        };
        (line, error.to_string())
    })?;
    let mut largest = 0f64;
    let (mut n_checked, mut responds) = (0, false);
    for (place, variant) in trace.variants.iter().enumerate() {
        let Some(check) = &variant.check else { continue };
        let wrong = |error: CheckError| {
            (None, format!("its graph does not give the module's values: {error}"))
        };
        largest = largest.max(kgen_import::check(&imported, place, check).map_err(wrong)?);
        responds = responds || kgen_import::responds(&imported, place, check).map_err(wrong)?;
        n_checked += 1;
    }
    let is_reduced = |variant: &&Variant| matches!(variant.role, Role::Small | Role::Middle);
    let small = trace.variants.iter().filter(is_reduced).count();
    let checked = match n_checked {
        _ if trace.is_opaque() => "the module is its own reference".to_owned(),
        0 => "not compared with the module's values".to_owned(),
        n => format!("as the module in f64 in {} ({largest:.0e})", plural(n, "version")),
    };
    let drawn = match imported.drawn.as_slice() {
        [] => "no size can be drawn".to_owned(),
        drawn => format!("drawn sizes: {}", drawn.join(", ")),
    };
    let mut said = format!("{}, {checked}; {drawn}", plural(small, "reduced version"));
    if n_checked > 0 && !responds {
        imported.mark_degenerate();
        said.push_str("; degenerate: its result does not depend on the inputs");
    }
    Ok((imported, said))
}
