//! `kgen run`: judges the kernels of a backend; writes a run of its own.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;

use super::generate::{self, GenerateArgs};
use crate::{
    baseline,
    cli::{
        CommandError, Context,
        backends::Backend,
        bundled,
        exit_codes::Exit,
        providers,
        selection::{self, Selection},
        session::{self, Job, RunTarget, plural},
    },
    op::OpDef,
    record::OpKey,
    settings::{Overrides, Settings},
    store::{find_run, list_runs},
};

/// Judge the kernels of a backend, and save that as a run of its own
#[derive(Debug, Args)]
pub(crate) struct RunCommandArgs {
    /// Backend: builtin, pregenerated or llm
    #[arg(long, value_name = "BACKEND", help_heading = "What to work on")]
    backend: String,
    /// Folder of the backend pregenerated, or the ID of a run
    #[arg(long, value_name = "DIR", help_heading = "What to work on")]
    kernels_dir: Option<String>,
    #[command(flatten)]
    generate: GenerateArgs,
}

impl RunCommandArgs {
    fn overrides(&self) -> Overrides {
        let mut flags = self.generate.overrides();
        flags.set("run.kernels_dir", self.kernels_dir.clone());
        flags
    }
}

pub(crate) fn run(context: &Context, args: &RunCommandArgs) -> Result<Exit, CommandError> {
    let backend = Backend::find(&args.backend)?;
    let flags = args.overrides();
    let (run_id, format) = (args.generate.run_id(), args.generate.format());
    if backend == Backend::Llm {
        return generate::start(context, &flags, run_id, format);
    }
    let mut settings = context.settings(&flags)?;
    let run_id = generate::parse_run_id(run_id)?;
    let mut selection = selection::select(&context.ui, &settings.suite)?;
    let kernels = given_kernels(context, backend, &mut settings, &mut selection)?;
    let target = RunTarget::New(run_id);
    session::carry_out(context, Job { settings, selection, backend, kernels, target, format })
}

/// Collects the kernels of a backend that has files; ops that were not asked for by name and have
/// no kernel are left out of the selection.
pub(super) fn given_kernels(
    context: &Context,
    backend: Backend,
    settings: &mut Settings,
    selection: &mut Selection,
) -> Result<BTreeMap<OpKey, String>, CommandError> {
    let source = match backend {
        Backend::Llm => return Ok(BTreeMap::new()),
        Backend::Builtin => KernelSource::Builtin,
        Backend::Pregenerated => {
            let source = kernel_source(settings)?;
            context.ui.note(&format!("kernels of {source}"));
            settings.run.kernels_dir = Some(source.as_setting());
            source
        }
    };
    let mut kernels = BTreeMap::new();
    let mut missing = Vec::new();
    for op in &selection.ops {
        match source.kernel(op)? {
            Some(kernel) => {
                kernels.insert(OpKey::from(*op), kernel);
            }
            None => missing.push(op.name.as_str()),
        }
    }
    let by_name = !settings.suite.ops.is_empty();
    if kernels.is_empty() || (by_name && !missing.is_empty()) {
        let message = format!("{source} has no kernel for {}", missing.join(", "));
        return Err(CommandError::config(message).hint(
            "a folder of kernels holds <op>/<op>.cu; a run's folder is one, --kernels-dir names it",
        ));
    }
    if !missing.is_empty() {
        let n_missing = plural(missing.len(), "op");
        context.ui.note(&format!("{n_missing} without a kernel: {}", missing.join(", ")));
        selection.ops.retain(|op| kernels.contains_key(&OpKey::from(*op)));
    }
    Ok(kernels)
}

/// Where kernel files are.
enum KernelSource {
    Builtin,
    Bundled,
    Folder { path: PathBuf, why: &'static str },
}

impl KernelSource {
    fn kernel(&self, op: &OpDef) -> Result<Option<String>, CommandError> {
        match self {
            Self::Builtin => Ok(baseline::builtin(&op.name).map(str::to_owned)),
            Self::Bundled => Ok(bundled::kernel(&OpKey::from(op)).map(str::to_owned)),
            Self::Folder { path, .. } => bundled::kernel_in(path, &OpKey::from(op)),
        }
    }

    /// Returns what the run remembers, to be resumed with the same kernels.
    fn as_setting(&self) -> PathBuf {
        match self {
            Self::Builtin | Self::Bundled => PathBuf::from(bundled::EVALUATION_ONLY),
            Self::Folder { path, .. } => path.clone(),
        }
    }
}

impl std::fmt::Display for KernelSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Builtin => f.write_str("the backend `builtin`"),
            Self::Bundled => f.write_str("kgen's own `evaluation_only`"),
            Self::Folder { path, why } => write!(f, "{}{why}", path.display()),
        }
    }
}

fn kernel_source(settings: &Settings) -> Result<KernelSource, CommandError> {
    let root = &settings.run.output_dir;
    if let Some(dir) = &settings.run.kernels_dir {
        return asked_for(root, dir);
    }
    let latest = list_runs(root)?
        .into_iter()
        .rev()
        .find(|entry| entry.info.is_ok() && !providers::is_demo(&entry.dir));
    if let Some(entry) = latest {
        return Ok(KernelSource::Folder { path: entry.dir, why: " (the latest run)" });
    }
    let beside = root.join(bundled::EVALUATION_ONLY);
    if beside.is_dir() {
        return Ok(KernelSource::Folder { path: beside, why: " (there is no run yet)" });
    }
    Ok(KernelSource::Bundled)
}

fn asked_for(root: &Path, dir: &Path) -> Result<KernelSource, CommandError> {
    if dir.is_dir() {
        std::fs::read_dir(dir).map_err(|error| {
            CommandError::config(format!("cannot read kernels folder {}: {error}", dir.display()))
                .hint("--kernels-dir names another folder")
        })?;
        return Ok(KernelSource::Folder { path: dir.to_owned(), why: "" });
    }
    if dir == Path::new(bundled::EVALUATION_ONLY) {
        return Ok(KernelSource::Bundled);
    }
    let found = dir.to_str().and_then(|name| find_run(root, name).ok());
    match found {
        Some(path) => Ok(KernelSource::Folder { path, why: "" }),
        None => Err(CommandError::config(format!(
            "there is no kernels folder {}, and no run of that name",
            dir.display()
        ))
        .hint("`kgen list runs` shows the runs")),
    }
}
