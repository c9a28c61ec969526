//! `kgen bench`: implementations of ops side by side over a grid of sizes.

mod cells;
mod execute;
mod folder;
mod grid;
mod implementations;
mod memory;
mod output;
mod plan;
mod progress;
mod stored;
mod values;

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use kgen_record::RunId;
use kgen_settings::{Overrides, Settings};

use crate::cli::{
    CommandError, Context,
    args::{ClockArgs, MachineArgs, OutputArgs, SuiteArgs},
    commands::history,
    exit_codes::Exit,
    machine,
    output::FileArgs,
    session,
    signals::Signals,
};

use self::{execute::Executor, folder::Folder, plan::Draft};

pub(crate) use self::{
    output::BenchEstimate,
    stored::{INTERRUPTED, StoredBench, all, exists, near},
};

/// Time implementations of ops side by side over a grid of sizes, each judged first
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    grid: GridArgs,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Measure copies, kernels that read and write, allocation and access patterns on a GPU
    Memory(memory::MemoryArgs),
}

#[derive(Debug, Args)]
struct GridArgs {
    #[arg(
        long,
        help = "Ops, by any of their names, for example layer_norm,gelu",
        visible_alias = "op",
        value_name = "OPS",
        value_delimiter = ',',
        help_heading = "Grid"
    )]
    ops: Option<Vec<String>>,
    /// Values of the axis b, for example 16,32 or 1..64 (doubled) or 64..256+64 [default: 16]
    #[arg(long, value_name = "VALUES", help_heading = "Grid")]
    batch: Option<String>,
    /// Values of the axis s [default: 1024]
    #[arg(long, value_name = "VALUES", help_heading = "Grid")]
    seq: Option<String>,
    /// Values of the axis d [default: 1024]
    #[arg(long, value_name = "VALUES", help_heading = "Grid")]
    dim: Option<String>,
    /// Values of any axis, for example h=8,16; may be repeated
    #[arg(long, value_name = "NAME=VALUES", help_heading = "Grid")]
    axis: Vec<String>,
    /// Arguments of the op as a suite writes them, with axes as extents: 'self = "[m, k]", mat2 = "[k, m]"'
    #[arg(long, value_name = "TABLE", help_heading = "Grid")]
    args: Option<String>,
    /// The gradient of each op in its place
    #[arg(long, help_heading = "Grid")]
    backward: bool,
    #[arg(
        long = "impl",
        help = "Implementations, for example aten,torch_compile,builtin,triton=DIR,run:RUN_ID,kernel.cu; \
                the others are compared with the first [default: aten,builtin; without PyTorch or a GPU builtin]",
        value_name = "IMPLS",
        value_delimiter = ',',
        help_heading = "Grid"
    )]
    implementations: Option<Vec<String>>,
    #[command(flatten)]
    suite: SuiteArgs,
    /// Seed of the inputs
    #[arg(long, value_name = "N", help_heading = "Selection")]
    seed: Option<i64>,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    clock: ClockArgs,
    /// Run each cell for so many seconds once more, for its energy
    #[arg(long, value_name = "SECONDS", help_heading = "Timing")]
    energy: Option<f64>,
    /// Begin no further op after this time, for example 6m
    #[arg(long, value_name = "TIME", help_heading = "Bench")]
    max_time: Option<String>,
    /// Name of the folder of results; the date and time without it
    #[arg(long, value_name = "ID", help_heading = "Bench")]
    bench_id: Option<String>,
    /// Go on with a bench that was interrupted, by its ID, `latest` or path; takes no flags of the grid
    #[arg(long, value_name = "ID", help_heading = "Bench")]
    resume: Option<String>,
    /// Add the results to a history: history.sqlite in the folder of the runs, or FILE
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        help_heading = "Bench"
    )]
    history: Option<Option<PathBuf>>,
    /// Name of the entry in the history
    #[arg(long, value_name = "NAME", requires = "history", help_heading = "Bench")]
    tag: Option<String>,
    /// Go on though there are more than 100,000 cells
    #[arg(long, help_heading = "Bench")]
    yes: bool,
    /// Print the number of cells and an estimate of the time, and start nothing
    #[arg(long, help_heading = "Bench")]
    dry_run: bool,
    /// Print a table for people, CSV, JSON or a page for a browser
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: BenchFormat,
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    folder: OutputArgs,
}

impl GridArgs {
    /// Returns the history that the results are added to; `None` where they are added to none.
    fn destination(&self, settings: &Settings) -> Option<history::Destination<'_>> {
        let file = self.history.as_ref()?.clone();
        let file = file.unwrap_or_else(|| settings.run.output_dir.join(history::FILE));
        Some(history::Destination { file, tag: self.tag.as_deref() })
    }
}

/// How a bench is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum BenchFormat {
    // No doc comments: they would spread the help text over many lines.
    #[default]
    Table,
    Csv,
    Json,
    Html,
}

pub(crate) fn run(context: &Context, args: &BenchArgs) -> Result<Exit, CommandError> {
    match &args.command {
        Some(BenchCommand::Memory(args)) => memory::run(context, args),
        None => run_grid(context, &args.grid),
    }
}

fn run_grid(context: &Context, args: &GridArgs) -> Result<Exit, CommandError> {
    args.file.format(args.format, BenchFormat::Html)?;
    let settings = settings(context, args)?;
    let max_time = args.max_time.as_deref().map(values::duration).transpose()?;
    let destination = args.destination(&settings);
    let check = |id: &str| {
        args.file.check()?;
        destination.as_ref().map_or(Ok(()), |history| history.check(id))
    };
    let work = match &args.resume {
        Some(id) => {
            refuse_grid_flags(args)?;
            let folder = Folder::open(&settings.run.output_dir, id)?;
            check(&folder.plan().id)?;
            if folder.n_done() == folder.plan().n_cells() {
                // Nothing is left to judge: the outputs are made anew.
                return finish(context, args, &settings, &folder, End::Done);
            }
            Work::Resumed(Box::new(folder))
        }
        None => {
            let draft = Draft::new(context, &settings, args)?;
            if args.dry_run {
                return output::dry_run(context, &draft);
            }
            draft.refuse_many(args.yes)?;
            check(&draft.id)?;
            Work::New(draft)
        }
    };
    let runtime = session::runtime()?;
    let (folder, end) = runtime.block_on(Box::pin(work.run(context, &settings, args, max_time)))?;
    finish(context, args, &settings, &folder, end)
}

/// Writes the outputs, prints the results, and adds them to a history where that is asked for.
fn finish(
    context: &Context,
    args: &GridArgs,
    settings: &Settings,
    folder: &Folder,
    end: End,
) -> Result<Exit, CommandError> {
    let bench = folder.bench(end.reason());
    let format = args.file.format(args.format, BenchFormat::Html)?;
    output::put(context, folder.dir(), &bench, &args.file, format)?;
    if let Some(history) = args.destination(settings) {
        history.add(context, folder.dir())?;
    }
    Ok(end.exit().unwrap_or_else(|| output::exit(&bench)))
}

/// How the work on a bench ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// `--max-time` was reached.
    TimeIsUp,
    /// A signal ended it.
    Signal(Exit),
}

impl End {
    /// Returns why cells are missing.
    const fn reason(self) -> &'static str {
        match self {
            Self::Done => "it was not reached",
            Self::TimeIsUp => "--max-time was reached",
            Self::Signal(_) => INTERRUPTED,
        }
    }

    /// Returns the exit code, where it is not that of the results.
    const fn exit(self) -> Option<Exit> {
        match self {
            Self::Done => None,
            Self::TimeIsUp => Some(Exit::Budget),
            Self::Signal(exit) => Some(exit),
        }
    }
}

/// A bench to begin, or to go on with.
enum Work {
    New(Draft),
    Resumed(Box<Folder>),
}

impl Work {
    /// Fills the missing cells.
    async fn run(
        self,
        context: &Context,
        settings: &Settings,
        args: &GridArgs,
        max_time: Option<Duration>,
    ) -> Result<(Folder, End), CommandError> {
        let machine = machine::start(&context.ui, settings).await?;
        let mut folder = match self {
            Self::New(draft) => {
                let plan = draft.plan(settings, &machine, args.energy)?;
                Folder::create(&settings.run.output_dir, plan)?
            }
            Self::Resumed(folder) => {
                folder.plan().check_device(machine.pool.target())?;
                *folder
            }
        };
        output::announce(context, folder.dir(), &machine, folder.plan().n_cells());
        let executor = Executor::new(context, &machine, max_time);
        let ended = until_signal(context, executor.run(&mut folder)).await;
        machine.pool.shutdown().await;
        let ended = ended?;
        if ended != End::Done {
            context.ui.note(&format!("`kgen bench --resume {}` goes on", folder.dir().display()));
        }
        Ok((folder, ended))
    }
}

/// Works until it is done or a signal comes: finished cells are on disk either way.
async fn until_signal(
    context: &Context,
    work: impl Future<Output = Result<End, CommandError>>,
) -> Result<End, CommandError> {
    let Ok(mut signals) = Signals::new() else { return work.await };
    if let Some(draft) = context.ui.document() {
        draft.leave_signals();
    }
    tokio::select! {
        ended = work => ended,
        exit = signals.next() => Ok(End::Signal(exit)),
    }
}

/// Resolves the settings that the flags ask for.
fn settings(context: &Context, args: &GridArgs) -> Result<Settings, CommandError> {
    if args.energy.is_some_and(|seconds| !(0.1..=600.0).contains(&seconds)) {
        return Err(CommandError::usage("--energy takes 0.1 to 600 seconds"));
    }
    let mut flags = Overrides::default();
    args.suite.add_to(&mut flags);
    args.machine.add_to(&mut flags);
    args.clock.add_to(&mut flags);
    args.folder.add_to(&mut flags);
    flags.set("run.seed", args.seed);
    flags.set("suite.ops", args.ops.clone());
    context.settings(&flags)
}

/// A bench that goes on has its grid already.
fn refuse_grid_flags(args: &GridArgs) -> Result<(), CommandError> {
    let (suite, clock) = (&args.suite, &args.clock);
    let given = [
        (args.ops.is_some(), "--ops"),
        (args.batch.is_some(), "--batch"),
        (args.seq.is_some(), "--seq"),
        (args.dim.is_some(), "--dim"),
        (!args.axis.is_empty(), "--axis"),
        (args.args.is_some(), "--args"),
        (args.backward, "--backward"),
        (args.implementations.is_some(), "--impl"),
        (suite.suite.is_some(), "--suite"),
        (suite.dtypes.is_some(), "--dtypes"),
        (suite.topn.is_some(), "--topn"),
        (suite.max_bytes.is_some(), "--max-bytes"),
        (suite.op_file.is_some(), "--op-file"),
        (suite.precision.is_some(), "--precision"),
        (args.seed.is_some(), "--seed"),
        (clock.no_timing, "--no-timing"),
        (clock.timing.is_some(), "--timing"),
        (clock.l2.is_some(), "--l2"),
        (clock.graph, "--graph"),
        (args.energy.is_some(), "--energy"),
        (args.bench_id.is_some(), "--bench-id"),
        (args.dry_run, "--dry-run"),
    ];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, flag)) => Err(CommandError::usage(format!("--resume takes no {flag}"))
            .hint("the bench goes on with the grid that it was begun with")),
    }
}

/// Returns the name of a bench's folder: the one asked for, or of the time.
fn bench_id(asked: Option<&str>) -> Result<String, CommandError> {
    let id = match asked {
        Some(id) => id.to_owned(),
        None => jiff::Zoned::now().strftime("bench_%Y%m%d_%H%M%S").to_string(),
    };
    let checked: Result<RunId, _> = id.parse();
    checked.map_err(|error| CommandError::usage(format!("--bench-id `{id}`: {error}")))?;
    // Entries of a history are named by numbers and by these words.
    if id.bytes().all(|byte| byte.is_ascii_digit()) || ["latest", "last"].contains(&&*id) {
        return Err(CommandError::usage(format!("--bench-id `{id}` would name something else")));
    }
    Ok(id)
}
