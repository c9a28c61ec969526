//! Executes the runs of an experiment, one after the other on the same workers, and compares them.
//!
//! One after the other, because within a run as many ops are worked on at once as the provider and the
//! workers can take: runs side by side would only share the same limits.

use std::path::PathBuf;

use kgen_agent::{RunEnd, Shutdown, ShutdownHandle};
use kgen_record::{CapScope, RunId};
use kgen_settings::experiment::Cell;
use kgen_store::{ComparisonFile, ExperimentInfo, ExperimentStore, Run, Spent, experiment_runs};

use super::expand::ExpandedExperiment;
use crate::{
    cli::{
        CommandError, Context,
        backends::Backend,
        commands::compare::{CompareFormat, Compared},
        errors::one_line,
        exit_codes::Exit,
        machine::{self, Machine},
        selection,
        session::{self, Job, RunTarget, plural},
        signals::SignalListener,
    },
    report::{
        self, Screen,
        compare::{Detail, Grouping},
    },
};

/// Version of the manifest.
const FORMAT: u32 = 1;

/// How the runs went so far.
#[derive(Default)]
struct Course {
    /// Spending of the runs that were begun, which counts against the budget of the next.
    spent: Vec<(RunId, Spent)>,
    n_finished: usize,
    all_solved: bool,
    awaiting: bool,
    /// Messages about a cap that ended ops, and no run.
    op_caps: Vec<String>,
    /// Why no further run is begun.
    end: Option<End>,
    /// The exit code of an interruption.
    interrupted: Option<Exit>,
}

enum End {
    Budget(Vec<String>),
    Interrupted,
    Failed(CommandError),
}

/// Executes an experiment, or goes on with it.
pub(super) fn run(
    context: &Context,
    plan: ExpandedExperiment,
    format: CompareFormat,
) -> Result<Exit, CommandError> {
    session::runtime()?.block_on(Box::pin(work(context, plan, Scope::All(format))))
}

/// Executes one of the runs, beside which others may be executed elsewhere.
pub(super) fn task(
    context: &Context,
    plan: ExpandedExperiment,
    index: usize,
) -> Result<Exit, CommandError> {
    let n = plan.cells.len();
    if n <= index {
        let message = format!("there is no run {index}: the experiment has {}", plural(n, "run"));
        return Err(CommandError::usage(message).hint("--dry-run lists them; the first is 0"));
    }
    session::runtime()?.block_on(Box::pin(work(context, plan, Scope::One(index))))
}

/// The runs that are executed.
#[derive(Clone, Copy)]
enum Scope {
    /// All of them; then they are compared.
    All(CompareFormat),
    One(usize),
}

impl Scope {
    const fn has(self, index: usize) -> bool {
        match self {
            Self::All(_) => true,
            Self::One(one) => one == index,
        }
    }
}

async fn work(
    context: &Context,
    plan: ExpandedExperiment,
    scope: Scope,
) -> Result<Exit, CommandError> {
    session::check_output_dir(&plan.dir)?;
    let store = match scope {
        Scope::All(_) => ExperimentStore::hold(&plan.dir)?,
        Scope::One(_) => ExperimentStore::join(&plan.dir)?,
    };
    let mut course = Course { all_solved: true, ..Course::default() };
    let cells: Vec<&Cell> = in_scope(&plan, scope).map(|(_, cell)| cell).collect();
    let n = cells.len();
    for cell in cells {
        if let Some(run) = plan.finished(cell)? {
            course.n_finished += 1;
            course.all_solved &= solved(&run);
        }
    }
    let todo = n - course.n_finished;
    context.ui.note(&format!(
        "experiment {}: {}, {} to be carried out",
        plan.dir.display(),
        plural(n, "run"),
        todo
    ));
    if todo > 0 {
        let machine = machine::start(&context.ui, &plan.settings).await?;
        if !plan.is_begun {
            store.write_info(&info(&plan))?;
        }
        let stop = ShutdownHandle::default();
        let signals = SignalListener::new(context.ui.clone(), stop.clone(), plan.calls_wait());
        Box::pin(all(context, &plan, scope, &machine, &stop, &mut course)).await;
        course.interrupted = Some(signals.exit());
        machine.pool.shutdown().await;
    }
    let compared = match scope {
        Scope::All(format) => compare(context, &store, format),
        Scope::One(_) => Ok(()),
    };
    finish(context, &plan, n, course, compared)
}

fn in_scope(plan: &ExpandedExperiment, scope: Scope) -> impl Iterator<Item = (usize, &Cell)> {
    plan.cells.iter().enumerate().filter(move |(index, _)| scope.has(*index))
}

fn info(plan: &ExpandedExperiment) -> ExperimentInfo<Cell> {
    ExperimentInfo {
        format: FORMAT,
        name: plan.name.clone(),
        kgen_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        file: plan.text.clone(),
        settings: serde_json::to_value(&plan.settings).expect("settings are plain data"),
        runs: plan.cells.clone(),
    }
}

/// Executes the unfinished runs, until something ends it.
async fn all(
    context: &Context,
    plan: &ExpandedExperiment,
    scope: Scope,
    machine: &Machine,
    stop: &ShutdownHandle,
    course: &mut Course,
) {
    // The cost of every run counts, whichever comes first.
    for cell in &plan.cells {
        match plan.spent(cell) {
            Ok(spent) => course.spent.extend(spent.map(|spent| (cell.run.clone(), spent))),
            Err(error) => return course.end = Some(End::Failed(error)),
        }
    }
    for (at, cell) in in_scope(plan, scope) {
        if stop.level() != Shutdown::Running {
            return course.end = Some(End::Interrupted);
        }
        match plan.finished(cell) {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(error) => return course.end = Some(End::Failed(error)),
        }
        context.ui.note(&format!("run {} of {}: {}", at + 1, plan.cells.len(), cell.run));
        match Box::pin(one(context, plan, cell, machine, stop, course)).await {
            Ok(None) => {}
            Ok(end) => return course.end = end,
            Err(error) => return course.end = Some(End::Failed(error)),
        }
    }
}

/// Executes one run; returns why no other is to follow, if that is so.
async fn one(
    context: &Context,
    plan: &ExpandedExperiment,
    cell: &Cell,
    machine: &Machine,
    stop: &ShutdownHandle,
    course: &mut Course,
) -> Result<Option<End>, CommandError> {
    let target = match plan.begun(cell)? {
        Some(run) => RunTarget::Existing(run.dir().to_owned()),
        None => RunTarget::New(Some(cell.run.clone())),
    };
    let settings = plan.settings_of(cell)?;
    let selection = selection::select(&context.ui, &settings.suite)?;
    let job =
        Job { settings, selection, backend: Backend::Llm, kernels: Default::default(), target };
    let ready = session::Ready::new(context, job)?;
    for (run, spent) in course.spent.iter().filter(|(run, _)| *run != cell.run) {
        ready.charge_other(run, spent);
    }
    let done = Box::pin(ready.work(context, machine, stop)).await?;
    let summary = report::write(&done.store)?;
    context.ui.note(&report::totals_line(&summary));
    course.spent.retain(|(run, _)| *run != cell.run);
    course.spent.extend(plan.spent(cell)?.map(|spent| (cell.run.clone(), spent)));
    course.all_solved &= done.outcome.all_passed();
    let command = format!("kgen experiment {}", plan.file.display());
    Ok(match &done.outcome.end {
        RunEnd::Finished => {
            course.n_finished += 1;
            None
        }
        RunEnd::AwaitingReplies => {
            session::report_awaited(&context.ui, &done.outcome);
            course.awaiting = true;
            None
        }
        RunEnd::BudgetReached { cap } => {
            let lines = done.budget_lines(cap, &command);
            // A cap of an op ends that op, and the other runs have the same.
            match cap.scope {
                CapScope::Run => Some(End::Budget(lines)),
                CapScope::Op => {
                    course.op_caps = lines;
                    None
                }
            }
        }
        RunEnd::Interrupted => Some(End::Interrupted),
        RunEnd::Incomplete(error) => {
            context.ui.warn(&one_line(error));
            None
        }
        RunEnd::Failed(_) => done.into_failure().map(End::Failed),
    })
}

fn solved(run: &Run) -> bool {
    run.info().totals.is_some_and(|totals| totals.solved == totals.ops)
}

/// Compares all runs that were begun, prints that and writes it beside them.
fn compare(
    context: &Context,
    store: &ExperimentStore,
    format: CompareFormat,
) -> Result<(), CommandError> {
    let dirs: Vec<PathBuf> = experiment_runs(store.dir())?.unwrap_or_default();
    let runs = dirs.iter().map(|dir| Run::open(dir)).collect::<Result<Vec<Run>, _>>()?;
    if runs.is_empty() {
        return Ok(());
    }
    let compared = Compared::of(&runs, Grouping::Settings, Detail::Texts)?;
    for (written, file) in [
        (CompareFormat::Table, ComparisonFile::Text),
        (CompareFormat::Csv, ComparisonFile::Csv),
        (CompareFormat::Json, ComparisonFile::Json),
        (CompareFormat::Html, ComparisonFile::Html),
    ] {
        store.write_comparison(file, &compared.text(written, Screen::FILE))?;
        if written == format {
            let text = || compared.text(written, context.ui.screen());
            context.ui.result(compared.comparison(), text)?;
        }
    }
    Ok(())
}

/// Says how it ended and how to go on.
fn finish(
    context: &Context,
    plan: &ExpandedExperiment,
    n_runs: usize,
    course: Course,
    compared: Result<(), CommandError>,
) -> Result<Exit, CommandError> {
    let ui = &context.ui;
    let again = format!("`kgen experiment {}`", plan.file.display());
    ui.note(&format!(
        "{} of {} finished; saved in {}",
        course.n_finished,
        plural(n_runs, "run"),
        plan.dir.display()
    ));
    let exit = match course.end {
        Some(End::Failed(error)) => return Err(error.hint(format!("go on with {again}"))),
        Some(End::Interrupted) => {
            ui.note(&format!("interrupted; go on with {again}"));
            course.interrupted.unwrap_or(Exit::Interrupted)
        }
        Some(End::Budget(lines)) => {
            lines.iter().for_each(|line| ui.note(line));
            Exit::Budget
        }
        None if !course.op_caps.is_empty() => {
            course.op_caps.iter().for_each(|line| ui.note(line));
            Exit::Budget
        }
        None if course.awaiting => {
            ui.note(&format!("prompts await replies; go on with {again}"));
            Exit::AwaitingReplies
        }
        None if course.all_solved => Exit::Ok,
        None => Exit::NotSolved,
    };
    compared?;
    Ok(exit)
}
