//! `kgen run`: judges the kernels of a backend; writes a run of its own.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use kgen_baseline::backend_bench;
use kgen_ops::op::OpDef;
use kgen_record::{Implementation, OpKey, PythonKind};
use kgen_settings::{DeviceChoice, Overrides, Settings};
use kgen_store::{find_run, list_runs};

use super::generate::{self, GenerateArgs};
use crate::cli::{
    CommandError, Context,
    backends::Backend,
    bundled,
    exit_codes::Exit,
    idle::warn_of_idle_flags,
    machine, providers,
    selection::{self, Selection},
    session::{self, Job, RunTarget, plural},
};

/// Judge the kernels of a backend, and save that as a run of its own
#[derive(Debug, Args)]
pub(crate) struct RunCommandArgs {
    /// Backend, for example builtin, pregenerated or aten (`kgen list backends` shows all)
    #[arg(long, value_name = "BACKEND", help_heading = "Selection")]
    backend: String,
    /// Folder of the backends pregenerated and triton, or a run: its ID, or `latest`
    #[arg(long, value_name = "DIR", help_heading = "Selection")]
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
    let run_id = args.generate.run_id();
    if backend == Backend::Llm {
        return generate::start(context, &flags, run_id);
    }
    let mut settings = context.settings(&flags)?;
    let run_id = generate::parse_run_id(run_id)?;
    warn_of_idle_flags(&context.ui, &settings, &flags, Some(backend))?;
    let mut selection = selection::select(&context.ui, &settings.suite)?;
    let kernels = given_kernels(context, backend, &mut settings, &mut selection)?;
    let target = RunTarget::New(run_id);
    session::run(context, Job { settings, selection, backend, kernels, target })
}

/// Collects the kernels of a backend that has files; ops that were not asked for by name and have
/// no kernel are left out of the selection.
pub(super) fn given_kernels(
    context: &Context,
    backend: Backend,
    settings: &mut Settings,
    selection: &mut Selection,
) -> Result<BTreeMap<OpKey, Implementation>, CommandError> {
    let source = match backend {
        Backend::Llm => return Ok(BTreeMap::new()),
        Backend::Builtin => KernelSource::Builtin,
        Backend::Cublas => KernelSource::Cublas,
        Backend::Python(PythonKind::Triton) => match &settings.run.kernels_dir {
            Some(path) => KernelSource::Python { path: path.clone() },
            None => {
                return Err(CommandError::usage("the backend `triton` needs --kernels-dir DIR")
                    .hint("a folder as BackendBench makes it: relu__default/relu__default_...py"));
            }
        },
        Backend::Python(kind) => KernelSource::Library(kind),
        Backend::Pregenerated => {
            let source = kernel_source(settings)?;
            context.ui.note(&format!("kernels of {source}"));
            settings.run.kernels_dir = Some(source.as_setting());
            source
        }
    };
    let mut given = Given::default();
    for op in &selection.ops {
        given.add(op, source.implementation(op)?);
    }
    let Given { kernels, missing, modules } = given;
    let by_name = !settings.suite.ops.is_empty();
    if kernels.is_empty() || (by_name && !missing.is_empty()) {
        let message = format!("{source} has no kernel for {}", missing.join(", "));
        return Err(CommandError::config(message).hint(source.layout()));
    }
    if kernels.values().any(Implementation::needs_python) {
        check_python(settings, &source)?;
    } else if backend == Backend::Cublas && machine::device_choice(settings)? == DeviceChoice::Emu {
        return Err(CommandError::new(Exit::Device, "the backend `cublas` needs a GPU")
            .hint("kernel files run on the emulator too: `kgen run --backend builtin`"));
    }
    if !modules.is_empty() {
        context.ui.announce(&format!("{HOST_CODE}\n  {}", modules.join("\n  ")));
    }
    if !missing.is_empty() {
        let n_missing = plural(missing.len(), "op");
        context.ui.note(&format!("{n_missing} without a kernel: {}", missing.join(", ")));
        selection.n_without_kernel = missing.len();
        selection.ops.retain(|op| kernels.contains_key(&OpKey::from(&**op)));
    }
    Ok(kernels)
}

/// The warning before Python modules are judged.
pub(super) const HOST_CODE: &str = "\
Kernels in Python are programs with your rights, not device code: they can read
files, keep results between calls and change PyTorch. They run in a process of
their own; kgen finds honest mistakes in them and cannot promise more
(docs/decisions/015). These are:";

/// Makes sure that there is a GPU and a Python with PyTorch before workers start.
fn check_python(settings: &Settings, source: &KernelSource) -> Result<(), CommandError> {
    if machine::device_choice(settings)? == DeviceChoice::Emu {
        let message = match source {
            KernelSource::Folder { path, .. } | KernelSource::Python { path } => {
                format!("kernels in Python ({}) need a GPU", path.display())
            }
            KernelSource::Builtin
            | KernelSource::Cublas
            | KernelSource::Bundled
            | KernelSource::Library(_) => format!("{source} needs a GPU"),
        };
        return Err(CommandError::new(Exit::Device, message)
            .hint("kernel files run on the emulator too: `kgen run --backend builtin`"));
    }
    kgen_baseline::python::find(settings.python.path.as_deref())?;
    Ok(())
}

/// The implementations of a backend for the ops.
#[derive(Default)]
struct Given<'a> {
    kernels: BTreeMap<OpKey, Implementation>,
    missing: Vec<&'a str>,
    /// One line per Python module.
    modules: Vec<String>,
}

impl<'a> Given<'a> {
    fn add(&mut self, op: &'a OpDef, found: Option<(Implementation, Option<String>)>) {
        let Some((implementation, module)) = found else {
            self.missing.push(&op.name);
            return;
        };
        self.modules.extend(module.map(|module| format!("{}: {module}", op.name)));
        self.kernels.insert(OpKey::from(op), implementation);
    }
}

/// Where implementations are.
enum KernelSource {
    Builtin,
    Cublas,
    Bundled,
    /// Kernel files and Python modules.
    Folder {
        path: PathBuf,
        why: &'static str,
    },
    /// Python modules.
    Python {
        path: PathBuf,
    },
    /// A library in Python.
    Library(PythonKind),
}

impl KernelSource {
    /// Returns the implementation of an op, and its file where it is a Python module.
    fn implementation(
        &self,
        op: &OpDef,
    ) -> Result<Option<(Implementation, Option<String>)>, CommandError> {
        let key = OpKey::from(op);
        let kernel = match self {
            Self::Builtin => kgen_baseline::builtin(&op.name).map(str::to_owned),
            Self::Bundled => bundled::kernel(&key).map(str::to_owned),
            Self::Folder { path, .. } => bundled::kernel_in(path, &key)?,
            Self::Python { .. } => None,
            Self::Cublas => {
                return Ok(kgen_baseline::cublas(&op.name).map(|library| (library, None)));
            }
            Self::Library(kind) => {
                let known = kgen_baseline::side::is_computed_by(op, *kind);
                return Ok(known.then(|| (Implementation::python(*kind), None)));
            }
        };
        if let Some(source) = kernel {
            return Ok(Some((Implementation::Kernel { source }, None)));
        }
        let (Self::Folder { path, .. } | Self::Python { path }) = self else { return Ok(None) };
        let found = backend_bench::find(path, op).map_err(kgen_baseline::Error::from)?;
        Ok(found.map(|found| {
            let file = found.path.strip_prefix(path).unwrap_or(&found.path);
            let module = format!("{} ({})", file.display(), found.why.text());
            (found.implementation, Some(module))
        }))
    }

    /// Returns the folder for the run's settings, so that it is resumed with the same kernels.
    fn as_setting(&self) -> PathBuf {
        match self {
            Self::Builtin | Self::Cublas | Self::Bundled | Self::Library(_) => {
                PathBuf::from(bundled::EVALUATION_ONLY)
            }
            Self::Folder { path, .. } | Self::Python { path } => path.clone(),
        }
    }

    /// Returns how kernels are found there.
    const fn layout(&self) -> &'static str {
        match self {
            Self::Builtin | Self::Bundled | Self::Folder { .. } => {
                "a folder of kernels holds <op>/<op>.cu, or what BackendBench writes; a run's folder is \
                 one, --kernels-dir names it"
            }
            Self::Python { .. } => {
                "BackendBench's layout is relu__default/relu__default_implementation_v1.py"
            }
            Self::Cublas => {
                "cuBLASLt computes matrix products: mm, bmm, addmm, baddbmm, linear, mv"
            }
            Self::Library(_) => "`kgen list ops` names each op's overload in PyTorch",
        }
    }
}

impl std::fmt::Display for KernelSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Builtin => f.write_str("the backend `builtin`"),
            Self::Cublas => f.write_str("the backend `cublas`"),
            Self::Bundled => f.write_str("kgen's own `evaluation_only`"),
            Self::Folder { path, why } => write!(f, "{}{why}", path.display()),
            Self::Python { path } => write!(f, "{}", path.display()),
            Self::Library(kind) => write!(f, "the backend `{kind}`"),
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
