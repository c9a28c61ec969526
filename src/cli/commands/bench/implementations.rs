//! The implementations of a bench, by their names on the command line.

use std::path::{Path, PathBuf};

use kgen_baseline::BUILTIN;
use kgen_ops::op::OpDef;
use kgen_record::{Implementation, OpKey, PythonKind};
use kgen_settings::{DeviceChoice, Settings};
use kgen_store::find_run;

use crate::cli::{
    CommandError, Context, bundled, commands::run::HOST_CODE, machine, run_inputs::wants_python,
};

/// The beginning of a run's name among implementations.
const RUN: &str = "run:";

/// An implementation of all ops that it has something for.
pub(super) struct Named {
    /// As on the command line.
    pub(super) name: String,
    source: Source,
}

enum Source {
    Baseline,
    /// The folder of a run.
    Run(PathBuf),
    /// The text of a kernel file.
    File(String),
}

/// Finds the implementations; nothing of them runs yet.
pub(super) fn resolve(
    context: &Context,
    settings: &Settings,
    asked: Option<&[String]>,
    n_ops: usize,
) -> Result<Vec<Named>, CommandError> {
    let names = match asked {
        Some(names) => names.to_vec(),
        None => default_names(settings)?,
    };
    let mut found: Vec<Named> = Vec::new();
    for name in &names {
        if found.iter().any(|known| known.name == *name) {
            return Err(CommandError::usage(format!("--impl has `{name}` twice")));
        }
        found.push(Named { name: name.clone(), source: source(settings, name, n_ops)? });
    }
    if found.is_empty() {
        return Err(CommandError::usage("--impl names no implementation"));
    }
    if found.iter().any(|named| named.name.starts_with("triton=")) {
        context.ui.announce(HOST_CODE);
    }
    Ok(found)
}

fn default_names(settings: &Settings) -> Result<Vec<String>, CommandError> {
    let on_gpu = machine::device_choice(settings)? != DeviceChoice::Emu;
    let has_torch = on_gpu && kgen_baseline::python::find(settings.python.path.as_deref()).is_ok();
    let names = if has_torch { vec![PythonKind::Aten.name(), BUILTIN] } else { vec![BUILTIN] };
    Ok(names.into_iter().map(str::to_owned).collect())
}

fn source(settings: &Settings, name: &str, n_ops: usize) -> Result<Source, CommandError> {
    if let Some(run) = name.strip_prefix(RUN) {
        return Ok(Source::Run(find_run(&settings.run.output_dir, run)?));
    }
    if Path::new(name).extension().is_some_and(|extension| extension == "cu") {
        if n_ops != 1 {
            return Err(CommandError::usage(format!(
                "{name} is the kernel of one op, and the bench has {n_ops}"
            ))
            .hint("run:RUN_ID takes the kernels of a run, one for each op"));
        }
        return Ok(Source::File(super::super::eval::read_kernel(Path::new(name))?));
    }
    let mut alone = settings.clone();
    alone.timing.baselines = vec![name.to_owned()];
    wants_python(&alone).map_err(|error| {
        error.hint("besides baselines --impl takes run:RUN_ID and FILE.cu; `kgen list backends` has the others")
    })?;
    Ok(Source::Baseline)
}

impl Named {
    /// Returns the implementation of an op; `None` where it has nothing for it.
    pub(super) fn of(&self, op: &OpDef) -> Result<Option<Implementation>, CommandError> {
        match &self.source {
            Source::Baseline => {
                let found = kgen_baseline::requests(std::slice::from_ref(&self.name), op)?;
                Ok(found.into_iter().next().map(|request| request.implementation))
            }
            Source::Run(dir) => {
                Ok(bundled::kernel_in(dir, &OpKey::from(op))?.map(Implementation::kernel))
            }
            Source::File(source) => Ok(Some(Implementation::kernel(source.clone()))),
        }
    }
}
