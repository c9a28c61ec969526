//! The project for the Hub: its folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use kgen_ops::op::OpDef;
use kgen_store::Run;

use super::{ExportArgs, Exported, ExportedModule, Winner};
use crate::{
    cli::{CommandError, Context, exit_codes::Exit, session::plural},
    export::{self, Project, hub_name},
};

/// Writes the project, never into a folder that is something else, and says so.
pub(super) fn write(
    context: &Context,
    args: &ExportArgs,
    run: &Run,
    op: &OpDef,
) -> Result<Exit, CommandError> {
    if args.backward {
        let message = "--backward writes a pair of modules, and a kernel on the Hub is one";
        return Err(CommandError::usage(message).hint("export the gradient's op by its own name"));
    }
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(hub_name(op)));
    if folder == Path::new("-") {
        let message = "a project is a folder, and standard output is one file";
        return Err(CommandError::usage(message).hint("-o names the folder"));
    }
    let winner = Winner::find(run, op, args.attempt)?;
    let all = Winner::cases(context, run, op);
    let export = winner.export(run, op, &all, None);
    let project = export::to_hub(&export, &winner.evidence(run), &all);
    let project = project.map_err(|error| CommandError::new(Exit::Config, error))?;
    check_folder(&folder, &project)?;
    for (file, text) in &project.files {
        put(&folder.join(file), text)?;
    }
    let n_cases = export.checked().len();
    let shown = folder.display().to_string();
    let exported = Exported {
        run: run.info().run_id.clone(),
        modules: vec![ExportedModule {
            file: folder.join(&project.module).display().to_string(),
            op: op.name.clone(),
            attempt: winner.id.number,
            level: winner.level(),
            n_cases,
        }],
        folder: Some(shown.clone()),
    };
    context.ui.result(&exported, || shown.clone())?;
    context.ui.note(&format!(
        "attempt {} of {}, {}; `pytest {shown}/tests` compares it with eager PyTorch on a GPU, on {}",
        winner.id.number,
        op.name,
        winner.judged(),
        plural(n_cases, "case")
    ));
    Ok(Exit::Ok)
}

/// Refuses a place that has something else than a project of the same kernel.
fn check_folder(folder: &Path, project: &Project) -> Result<(), CommandError> {
    let refuse = |what: &str| {
        let message = format!("{} exists and is {what}", folder.display());
        Err(CommandError::usage(message).hint("-o names another folder"))
    };
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let build = fs::read_to_string(folder.join("build.toml")).unwrap_or_default();
            if build.lines().next() == Some(project.first_line()) {
                return Ok(());
            }
            refuse("no project of this kernel")
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) if folder.is_file() => refuse("a file"),
        Err(error) => {
            Err(CommandError::config(format!("cannot write {}: {error}", folder.display())))
        }
    }
}

fn put(path: &Path, text: &str) -> Result<(), CommandError> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text))
        .map_err(|error| CommandError::config(format!("cannot write {}: {error}", path.display())))
}
