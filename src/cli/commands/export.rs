//! `kgen export`: a run's best kernel of an op as a module for PyTorch, or as a project for the Hub.

mod hub;
mod winner;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use kgen_ops::op::{self, OpDef};
use kgen_record::{AttemptId, Level, RunId};
use kgen_settings::Overrides;
use kgen_store::{Run, find_run};
use schemars::JsonSchema;
use serde::Serialize;
use winner::Winner;

use crate::{
    cli::{
        CommandError, Context,
        args::{FormatArgs, OutputArgs},
        exit_codes::Exit,
        selection,
        session::plural,
    },
    export::{self, FIRST_LINE, backward_of, module_name, shadows},
};

/// Write a run's best kernel of an op as one self-contained Python module, or as a project for Hugging Face's kernels
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Run ID, `latest`, or the path of a run's folder
    #[arg(value_name = "RUN")]
    run: String,
    /// Op, for example relu or aten.relu.default
    #[arg(long, value_name = "OP")]
    op: String,
    /// Framework of the module
    #[arg(long, value_enum, value_name = "FRAMEWORK")]
    to: Framework,
    /// File to write, - for standard output; <op>.py without it (kgen_<op>.py where Python has a module <op>).
    /// For hf-kernel a folder
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Attempt to export; the best one without it
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Write the run's best kernel of the op's gradient beside it, and register both as an autograd pair
    #[arg(long)]
    backward: bool,
    #[command(flatten)]
    runs: OutputArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// The modules that were written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Exported {
    /// The run that the kernels come from.
    run: RunId,
    /// The op's module; before it that of its gradient, where that was asked for.
    modules: Vec<ExportedModule>,
    /// The project's folder; `null` where the module alone was written.
    folder: Option<String>,
}

/// A Python module with a kernel.
#[derive(Debug, Serialize, JsonSchema)]
struct ExportedModule {
    file: String,
    op: String,
    /// Number of the attempt that the kernel comes from.
    attempt: u32,
    /// Where the kernel passed; `null` where its evaluation is gone.
    level: Option<Level>,
    /// Cases on which the module, as a program, compares itself with PyTorch.
    n_cases: usize,
}

/// Frameworks that have modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Framework {
    /// PyTorch: one file
    Torch,
    /// Hugging Face's kernels and kernel-builder: a folder with module, build, tests, benchmark and card
    HfKernel,
}

pub(crate) fn run(context: &Context, args: &ExportArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.runs.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let dir = find_run(&settings.run.output_dir, &args.run)?;
    let run = Run::open(&dir)?;
    let op = &*op_of(context, &run, &args.op)?;
    if args.to == Framework::HfKernel {
        return hub::write(context, args, &run, op);
    }
    let backward = args.backward.then(|| backward_of(op)).transpose();
    let backward = backward.map_err(|error| CommandError::new(Exit::Config, error))?;
    let module = Module::make(context, &run, op, args.attempt, backward)?;
    let path =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.py", module_name(op))));
    if path == Path::new("-") {
        if context.ui.document().is_some() {
            let message = "standard output has the JSON document, and cannot have the module too";
            return Err(CommandError::usage(message).hint("-o names a file for the module"));
        }
        if args.backward {
            let message = "--backward writes two files, and standard output is one";
            return Err(CommandError::usage(message).hint("-o names the file of the forward op"));
        }
        context.ui.data(module.text.trim_end())?;
        return Ok(Exit::Ok);
    }
    let mut exported =
        Exported { run: run.info().run_id.clone(), modules: Vec::new(), folder: None };
    if let Some(backward) = backward {
        let beside = path.with_file_name(format!("{}.py", module_name(backward)));
        Module::make(context, &run, backward, None, None)?.write(
            context,
            &beside,
            &mut exported,
        )?;
    }
    module.write(context, &path, &mut exported)?;
    if args.output.is_none() && shadows(&op.folder()) {
        context
            .ui
            .note(&format!("not {0}.py: it would hide Python's own module `{0}`", op.folder()));
    } else if path.file_stem().and_then(|stem| stem.to_str()).is_some_and(shadows) {
        context.ui.warn(&format!(
            "{} hides Python's own module of that name from what is beside it",
            path.display()
        ));
    }
    Ok(Exit::Ok)
}

/// A kernel's module, and facts about it for the user.
struct Module {
    text: String,
    id: AttemptId,
    level: Option<Level>,
    n_checked: usize,
    /// Whether it stands for a module and not for an op.
    of_module: bool,
    /// The attempt and how it was judged.
    kernel: String,
}

impl Module {
    fn make(
        context: &Context,
        run: &Run,
        op: &OpDef,
        attempt: Option<u32>,
        backward: Option<&OpDef>,
    ) -> Result<Self, CommandError> {
        let winner = Winner::find(run, op, attempt)?;
        let export = winner.export(run, op, &Winner::cases(context, run, op), backward);
        let text = export::to_torch(&export);
        let text = text.map_err(|error| CommandError::new(Exit::Config, error))?;
        let kernel = format!("attempt {} of {}, {}", winner.id.number, op.name, winner.judged());
        Ok(Self {
            text,
            n_checked: export.checked().len(),
            of_module: op.module.is_some(),
            kernel,
            level: winner.level(),
            id: winner.id,
        })
    }

    /// Writes the module, never over a file that is something else, and says so.
    fn write(
        self,
        context: &Context,
        path: &Path,
        exported: &mut Exported,
    ) -> Result<(), CommandError> {
        let file = path.display();
        match fs::read(path) {
            Ok(there) if !there.starts_with(FIRST_LINE.as_bytes()) => {
                let message = format!("{file} exists and is no exported module");
                return Err(CommandError::usage(message).hint("-o names another file"));
            }
            Ok(_) | Err(_) => {}
        }
        fs::write(path, &self.text)
            .map_err(|error| CommandError::config(format!("cannot write {file}: {error}")))?;
        exported.modules.push(ExportedModule {
            file: file.to_string(),
            op: self.id.op.0,
            attempt: self.id.number,
            level: self.level,
            n_cases: self.n_checked,
        });
        context.ui.result(exported, || file.to_string())?;
        let check = match self.n_checked {
            _ if self.of_module => {
                format!("`python {file}` compares it with the original module on a GPU")
            }
            0 => "it has no cases to be compared with eager PyTorch on".to_owned(),
            n => format!(
                "`python {file}` compares it with eager PyTorch on a GPU, on {}",
                plural(n, "case")
            ),
        };
        context.ui.note(&format!("{}; {check}", self.kernel));
        Ok(())
    }
}

/// Finds an op by any of its names: the run's own op, one of the catalogue, or one that the run's suite
/// defines.
fn op_of(context: &Context, run: &Run, name: &str) -> Result<Arc<OpDef>, CommandError> {
    if let Some(text) = &run.info().definition {
        let own = op::custom(text).map_err(|error| {
            CommandError::config(format!("the run's op file is damaged: {error}"))
        })?;
        if own.name == name {
            return Ok(own);
        }
    }
    if let Ok(known) = op::find(name) {
        return Ok(Arc::clone(known));
    }
    if run.info().ops.iter().any(|op| op == name) {
        let suite = selection::suite_of_run(&context.ui, run.info())?;
        return Ok(Arc::clone(suite.op(name)?));
    }
    op::find(name).cloned().map_err(|error| {
        CommandError::new(Exit::Usage, error).hint("`kgen list ops` shows all names")
    })
}
