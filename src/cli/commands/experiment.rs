//! `kgen experiment`: a matrix of settings becomes runs, which are executed and compared.

mod execute;
mod expand;
mod slurm;

use std::path::PathBuf;

use clap::Args;
use kgen_record::{RunId, Strategy};
use kgen_settings::{Overrides, experiment::Cell};
use kgen_store::{Run, RunStatus};
use schemars::JsonSchema;
use serde::Serialize;

use super::compare::CompareFormat;
use crate::{
    cli::{
        CommandError, Context,
        args::{BudgetArgs, LaunchArgs, NvrtcArgs, OutputArgs, PythonArgs},
        exit_codes::Exit,
        session::plural,
    },
    report::TextTable,
};

/// Runs that an experiment makes without being asked twice.
const MAX_RUNS: usize = 1000;

/// Run a matrix of models, strategies, feedback and seeds, and compare the runs
#[derive(Debug, Args)]
pub(crate) struct ExperimentArgs {
    /// The experiment: its name, settings as in config.toml, and the lists of [matrix]
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Say which runs there would be and how each stands, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Write a job array for Slurm, each task a run, into FILE (FILE.sbatch without it, - for standard output), and
    /// do nothing else
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = ["dry_run", "task"])]
    slurm: Option<Option<PathBuf>>,
    /// Do the N-th run alone, counted from 0, and compare nothing: a task of a job array
    #[arg(long, value_name = "N", conflicts_with = "dry_run")]
    task: Option<usize>,
    /// Allow more than 1,000 runs
    #[arg(long)]
    yes: bool,
    /// Print the comparison as compare does; all of these are written into the folder too
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: CompareFormat,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Workers that compile and emulate; 0 is one per core
    #[arg(long, value_name = "N", help_heading = "Device")]
    jobs: Option<i64>,
    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    nvrtc: NvrtcArgs,
    #[command(flatten)]
    python: PythonArgs,
}

impl ExperimentArgs {
    /// Returns the settings of this machine that the flags name.
    fn here(&self) -> Overrides {
        let mut flags = Overrides::default();
        self.output.add_to(&mut flags);
        flags.set("device.jobs", self.jobs);
        self.launch.add_to(&mut flags);
        self.nvrtc.add_to(&mut flags);
        self.python.add_to(&mut flags);
        flags
    }

    /// Returns the caps that the flags name.
    fn caps(&self) -> Overrides {
        let mut flags = Overrides::default();
        self.budget.add_to(&mut flags);
        flags
    }
}

pub(crate) fn run(context: &Context, args: &ExperimentArgs) -> Result<Exit, CommandError> {
    let file = expand::read(&args.file)?;
    let n_runs = file.parsed.n_runs();
    if n_runs.is_none_or(|n| MAX_RUNS < n) && !args.yes {
        let n = n_runs.map_or_else(|| "countless".to_owned(), |n| n.to_string());
        return Err(CommandError::usage(format!("the matrix makes {n} runs"))
            .hint("--yes carries out more than 1,000 of them; shorter lists make fewer"));
    }
    let plan = expand::plan(context, args, file)?;
    if args.dry_run {
        if matches!(args.format, CompareFormat::Csv | CompareFormat::Html) {
            let message = "--dry-run lists the runs as a table or as JSON";
            return Err(CommandError::usage(message));
        }
        let (table, runs) = listing(&plan)?;
        context.ui.result(&runs, || table.fit(context.ui.screen()))?;
        let n = plural(plan.cells.len(), "run");
        context.ui.note(&format!("{n} below {}; nothing was done", plan.dir.display()));
        return Ok(Exit::Ok);
    }
    if let Some(path) = &args.slurm {
        return slurm::write(context, &plan, path.as_deref());
    }
    match args.task {
        Some(index) => execute::task(context, plan, index),
        None => execute::run(context, plan, args.format),
    }
}

/// A run of an experiment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedRun {
    /// Its ID, below the experiment's folder.
    run: RunId,
    /// The model; `null` where the settings name none.
    model: Option<String>,
    strategy: Option<Strategy>,
    /// Feedback for the model, as `--feedback` takes it.
    feedback: Option<String>,
    seed: Option<u64>,
    state: PlannedState,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PlannedState {
    ToDo,
    /// It has attempts and can go on.
    Begun,
    AwaitingReplies,
    Finished,
}

impl PlannedState {
    fn of(run: Option<&Run>) -> Self {
        match run.map(|run| run.info().status) {
            None => Self::ToDo,
            Some(RunStatus::Finished) => Self::Finished,
            Some(RunStatus::AwaitingReplies) => Self::AwaitingReplies,
            Some(RunStatus::Running | RunStatus::Stopped) => Self::Begun,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::ToDo => "to do",
            Self::Begun => "begun",
            Self::AwaitingReplies => "prompts await replies",
            Self::Finished => "finished",
        }
    }
}

/// Lists the runs and how they stand, as a table and as data.
fn listing(
    plan: &expand::ExpandedExperiment,
) -> Result<(TextTable, Vec<PlannedRun>), CommandError> {
    let mut runs = Vec::new();
    let mut table = TextTable::new(&["run", "model", "strategy", "feedback", ">seed", "state"]);
    for cell in &plan.cells {
        let Cell { run, model, strategy, feedback, seed } = cell;
        let dash = || "-".to_owned();
        let state = PlannedState::of(plan.begun(cell)?.as_ref());
        runs.push(PlannedRun {
            run: run.clone(),
            model: model.clone(),
            strategy: *strategy,
            feedback: feedback.map(|set| set.to_string()),
            seed: *seed,
            state,
        });
        table.row(vec![
            run.to_string(),
            model.clone().unwrap_or_else(dash),
            strategy.map_or_else(dash, |strategy| strategy.name().to_owned()),
            feedback.map_or_else(dash, |set| set.to_string()),
            seed.map_or_else(dash, |seed| seed.to_string()),
            state.text().to_owned(),
        ]);
    }
    Ok((table, runs))
}
