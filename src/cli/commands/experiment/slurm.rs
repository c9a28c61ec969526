//! `--slurm`: an experiment as a job array, each task a run.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use kgen_settings::{BudgetSettings, slurm::SlurmSettings};

use super::expand::ExpandedExperiment;
use crate::cli::{CommandError, Context, exit_codes::Exit, session::plural};

/// Tasks of an array that Slurm takes unless it is configured otherwise (`MaxArraySize`).
const MAX_ARRAY: usize = 1000;

/// Writes the job array and says how it is submitted.
pub(super) fn write(
    context: &Context,
    plan: &ExpandedExperiment,
    path: Option<&Path>,
) -> Result<Exit, CommandError> {
    let script = script(plan)?;
    let ui = &context.ui;
    let path = match path {
        Some(path) if path == Path::new("-") => {
            ui.data(script.trim_end())?;
            return Ok(Exit::Ok);
        }
        Some(path) => path.to_owned(),
        None => plan.file.with_extension("sbatch"),
    };
    let failed = |error| CommandError::config(format!("cannot write {}: {error}", path.display()));
    std::fs::write(&path, script).map_err(failed)?;
    let n = plural(plan.cells.len(), "run");
    ui.note(&format!("{n} below {}; this submits them:", plan.dir.display()));
    ui.data(&format!("sbatch {}", quoted(&path)?))?;
    if MAX_ARRAY < plan.cells.len() {
        ui.warn("Slurm takes arrays of 1,000 tasks unless its MaxArraySize says more");
    }
    if plan.settings.budget != BudgetSettings::default() {
        ui.warn(
            "a task looks at the caps when it begins: tasks at once may spend each what is left",
        );
    }
    Ok(Exit::Ok)
}

fn script(plan: &ExpandedExperiment) -> Result<String, CommandError> {
    let SlurmSettings { options, setup, max_tasks } = &plan.slurm;
    let last = plan.cells.len().saturating_sub(1);
    let at_once = max_tasks.map_or(String::new(), |n| format!("%{n}"));
    let dir = absolute(&plan.dir)?;
    std::fs::create_dir_all(&dir)
        .map_err(|error| CommandError::config(format!("cannot make {}: {error}", dir.display())))?;
    let exe = std::env::current_exe()
        .map_err(|error| CommandError::config(format!("kgen does not find itself: {error}")))?;
    let mut text = String::from("#!/bin/sh\n");
    let mut line = |line: &str| writeln!(text, "{line}").expect("a string takes everything");
    line(&format!("#SBATCH --job-name=kgen-{}", plan.name));
    line(&format!("#SBATCH --array=0-{last}{at_once}"));
    line(&format!("#SBATCH --output={}/slurm-%A_%a.out", dir.display()));
    for option in options {
        line(&format!("#SBATCH {option}"));
    }
    line("");
    setup.iter().for_each(|text| line(text));
    // Relative paths, and a config file that nobody names, are those of this command.
    line(&format!("cd {}", quoted(&absolute(Path::new("."))?)?));
    let mut words = vec![quoted(&exe)?];
    for word in std::env::args_os().skip(1).filter(|word| !is_slurm(word)) {
        words.push(quoted(Path::new(&word))?);
    }
    words.extend(["--task".to_owned(), "\"$SLURM_ARRAY_TASK_ID\"".to_owned()]);
    line(&format!("exec {}", words.join(" ")));
    Ok(text)
}

/// Whether a word of the command line is the flag that asks for the job array.
fn is_slurm(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    text == "--slurm" || text.starts_with("--slurm=")
}

fn absolute(path: &Path) -> Result<PathBuf, CommandError> {
    std::path::absolute(path)
        .map_err(|error| CommandError::config(format!("{}: {error}", path.display())))
}

fn quoted(path: &Path) -> Result<String, CommandError> {
    let text = path.to_str().and_then(|text| shlex::try_quote(text).ok());
    text.map(std::borrow::Cow::into_owned).ok_or_else(|| {
        CommandError::config(format!("{} cannot stand in a shell script", path.display()))
    })
}
