//! `kgen check`: damaged and lost files of a run.

use std::path::Path;

use clap::Args;
use kgen_settings::Overrides;
use kgen_store::{FileProblem, check_run, find_run, repair_run};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cli::{
        CommandError, Context,
        args::{FormatArgs, OutputArgs},
        exit_codes::Exit,
        session::plural,
        ui::Ui,
    },
    report,
};

/// Look for damaged and lost files of a run, and repair it
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Run ID, or the path of a run's folder
    #[arg(value_name = "RUN")]
    run: String,
    /// Rebuild files from others, and set aside as *.damaged those that cannot be
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(context: &Context, args: &CheckArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.output.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let dir = find_run(&settings.run.output_dir, &args.run)?;
    let found = check_run(&dir)?;
    if args.repair {
        report::write(&repair_run(&dir)?)?;
    }
    let reports: Vec<FileReport> = found.iter().map(FileReport::of).collect();
    let lines = || {
        let lines: Vec<&str> = reports.iter().map(|report| report.description.as_str()).collect();
        lines.join("\n")
    };
    context.ui.result(&reports, lines)?;
    let n_lasting = found.iter().filter(|problem| !problem.can_be_mended()).count();
    let n = plural(found.len(), "file");
    let dir = dir.display();
    if found.is_empty() {
        context.ui.note(&format!("{dir}: every file is whole"));
        return Ok(Exit::Ok);
    }
    if !args.repair {
        context.ui.note(&format!(
            "{dir}: {n} damaged or lost; `kgen check {dir} --repair` rebuilds them or sets them aside"
        ));
        return Ok(Exit::NotSolved);
    }
    context.ui.note(&format!("{dir}: {n} damaged or lost, {} mended", found.len() - n_lasting));
    Ok(Exit::Ok)
}

/// Names the damaged and lost files of a run that is read.
pub(super) fn warn_of_damage(ui: &Ui, dir: &Path) {
    let Ok(found) = check_run(dir) else { return };
    for problem in &found {
        ui.warn(&problem.describe());
    }
    if !found.is_empty() {
        ui.warn(&format!("`kgen check {} --repair` repairs the run", dir.display()));
    }
}

/// A damaged or lost file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileReport {
    path: String,
    problem: String,
    /// File, problem and remedy in words.
    description: String,
    /// Whether a repair rebuilds it or sets it aside; if not, nothing can be done.
    can_be_mended: bool,
}

impl FileReport {
    fn of(problem: &FileProblem) -> Self {
        Self {
            path: problem.path.display().to_string(),
            problem: problem.problem.clone(),
            description: problem.describe(),
            can_be_mended: problem.can_be_mended(),
        }
    }
}
