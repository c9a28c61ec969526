//! `kgen compare`: runs beside each other.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use kgen_compare::{Arm, Comparison};
use kgen_settings::Overrides;
use kgen_store::{Run, experiment_runs, find_run};

use crate::{
    cli::{
        CommandError, Context, args::OutputArgs, commands::check::warn_of_damage, exit_codes::Exit,
        output::FileArgs, ui::Ui,
    },
    report::{
        Screen,
        compare::{self, Detail, Grouping},
    },
};

/// Put runs beside each other: ops solved, speed, cost, and how much of it is luck
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run IDs, `latest`, or paths of runs' folders; an experiment's folder stands for its runs
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// Make every run an arm of its own; else runs with equal settings are samples of one
    #[arg(long)]
    each_run: bool,
    /// Print tables for people, CSV with a number per line, JSON, or one page for a browser
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: CompareFormat,
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    folder: OutputArgs,
}

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum CompareFormat {
    // No doc comments: they would spread the help text over many lines.
    #[default]
    Table,
    Csv,
    Json,
    Html,
}

pub(crate) fn run(context: &Context, args: &CompareArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.folder.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let runs = open(&context.ui, &settings.run.output_dir, &args.runs)?;
    let grouping = if args.each_run { Grouping::Runs } else { Grouping::Settings };
    let format = args.file.format(args.format, CompareFormat::Html)?;
    let detail = if format == CompareFormat::Html { Detail::Texts } else { Detail::Numbers };
    let to_file = args.file.output.is_some();
    let screen = if to_file { Screen::FILE } else { context.ui.screen() };
    let compared = Compared::of(&runs, grouping, detail)?;
    let text = || compared.text(format, screen);
    args.file.put(context, compared.comparison(), "kgen-compare.html", text)?;
    Ok(Exit::Ok)
}

/// Opens runs, each once.
fn open(ui: &Ui, root: &Path, names: &[String]) -> Result<Vec<Run>, CommandError> {
    let mut runs: Vec<Run> = Vec::new();
    let mut seen = HashSet::new();
    for name in names {
        for dir in folders(root, name)? {
            let run = Run::open(&dir)?;
            warn_of_damage(ui, &dir);
            // A folder that is there has such a path; where that fails, its own must do.
            if !seen.insert(dir.canonicalize().unwrap_or(dir)) {
                let id = &run.info().run_id;
                return Err(CommandError::usage(format!("run `{id}` is named twice")));
            }
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Finds the folder of a run, or those of an experiment's runs that were begun.
fn folders(root: &Path, name: &str) -> Result<Vec<PathBuf>, CommandError> {
    for dir in [root.join(name), PathBuf::from(name)] {
        match experiment_runs(&dir)? {
            None => {}
            Some(runs) if runs.is_empty() => {
                return Err(CommandError::config(format!("experiment `{name}` has no run yet")));
            }
            Some(runs) => return Ok(runs),
        }
    }
    Ok(vec![find_run(root, name)?])
}

/// Runs, read and compared.
pub(super) struct Compared {
    arms: Vec<Arm>,
    comparison: Comparison,
}

impl Compared {
    /// Reads runs and compares them; sources and feedback only where they are to be shown.
    pub(super) fn of(
        runs: &[Run],
        grouping: Grouping,
        detail: Detail,
    ) -> Result<Self, CommandError> {
        let arms = compare::arms(runs, grouping, detail)?;
        let comparison = kgen_compare::compare(&arms);
        Ok(Self { arms, comparison })
    }

    pub(super) const fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// Formats the comparison.
    pub(super) fn text(&self, format: CompareFormat, screen: Screen) -> String {
        match format {
            CompareFormat::Table => compare::text(&self.comparison, screen),
            CompareFormat::Csv => compare::csv(&self.comparison),
            CompareFormat::Json => crate::cli::ui::json_text(&self.comparison),
            CompareFormat::Html => kgen_compare::html::page(&self.arms, &self.comparison),
        }
    }
}
