//! `kgen compare`: runs beside each other.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::{
    cli::{CommandError, Context, args::OutputArgs, exit_codes::Exit},
    report::compare::{self, Detail, Grouping},
    settings::Overrides,
    store::{Run, find_run},
};

/// Put runs beside each other: what is solved, how fast, at what cost, and what of it is luck
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run IDs or paths of runs' folders
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// Make every run an arm of its own; else runs with equal settings are samples of one
    #[arg(long)]
    each_run: bool,
    /// Print tables for people, CSV with a number per line, or JSON
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: CompareFormat,
    /// Write it into this file instead
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
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
}

pub(crate) fn run(context: &Context, args: &CompareArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.folder.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let runs = open(&settings.run.output_dir, &args.runs)?;
    let grouping = if args.each_run { Grouping::Runs } else { Grouping::Settings };
    let text = render(&runs, grouping, args.format)?;
    match &args.output {
        None => context.ui.data(&text)?,
        Some(file) => {
            std::fs::write(file, text).map_err(|error| {
                CommandError::config(format!("cannot write {}: {error}", file.display()))
            })?;
            context.ui.note(&format!("written to {}", file.display()));
        }
    }
    Ok(Exit::Ok)
}

/// Opens runs, each once.
fn open(root: &Path, names: &[String]) -> Result<Vec<Run>, CommandError> {
    let mut runs: Vec<Run> = Vec::new();
    for name in names {
        let dir = find_run(root, name)?;
        let same = |run: &Run| run.dir().canonicalize().ok() == dir.canonicalize().ok();
        if runs.iter().any(same) {
            return Err(CommandError::usage(format!("run `{name}` is named twice")));
        }
        runs.push(Run::open(&dir)?);
    }
    Ok(runs)
}

/// Compares runs and writes what came of it.
pub(super) fn render(
    runs: &[Run],
    grouping: Grouping,
    format: CompareFormat,
) -> Result<String, CommandError> {
    let arms = compare::arms(runs, grouping, Detail::Numbers)?;
    let comparison = kgen_compare::compare(&arms);
    Ok(match format {
        CompareFormat::Table => compare::text(&comparison),
        CompareFormat::Csv => compare::csv(&comparison),
        CompareFormat::Json => {
            serde_json::to_string_pretty(&comparison).expect("kgen's own data turns into JSON")
        }
    })
}
