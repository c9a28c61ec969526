//! `kgen resume`: goes on with a run where it stopped.

use clap::Args;
use kgen_settings::{Overrides, Settings};
use kgen_store::{Run, RunState, find_run};

use super::run::given_kernels;
use crate::cli::{
    CommandError, Context,
    args::{FormatArgs, LaunchArgs, LlmArgs, LoopArgs, NvrtcArgs, OutputArgs, PythonArgs},
    backends::Backend,
    exit_codes::Exit,
    idle::warn_of_idle_flags,
    search::search_changes,
    selection,
    session::{self, Job, RunTarget},
};

/// Go on with a run where it stopped; no stored reply is asked for again
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Run ID, `latest`, or the path of a run's folder
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    limits: LoopArgs,
    #[command(flatten)]
    llm: LlmArgs,
    /// Workers that compile and emulate; 0 is one per core
    #[arg(long, value_name = "N", help_heading = "Device")]
    jobs: Option<i64>,
    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    nvrtc: NvrtcArgs,
    #[command(flatten)]
    python: PythonArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, CommandError> {
    // Settings of the machine are as they are now; the rest is as the run began.
    let mut here = Overrides::default();
    args.output.add_to(&mut here);
    here.set("device.jobs", args.jobs);
    args.launch.add_to(&mut here);
    args.nvrtc.add_to(&mut here);
    args.python.add_to(&mut here);
    let here = context.settings(&here)?;
    let dir = find_run(&here.run.output_dir, &args.run)?;
    let run = Run::open(&dir)?;
    let mut flags = Overrides::default();
    args.limits.add_to(&mut flags);
    args.llm.add_to(&mut flags);
    let stored = stored_settings(&run)?;
    let mut settings = stored.with(&flags)?;
    check_search(&run, &stored, &settings)?;
    settings.nvrtc = here.nvrtc;
    settings.python = here.python;
    settings.device = settings.device.with_workers_of(&here.device);
    settings.run.output_dir = here.run.output_dir;
    settings.providers = here.providers;
    settings.models = here.models;
    let backend = Backend::find(&run.info().backend)?;
    warn_of_idle_flags(&context.ui, &settings, &flags, Some(backend))?;
    settings.suite.ops.clone_from(&run.info().ops);
    let definition = run.info().definition.as_deref();
    let mut selection = selection::select_again(&context.ui, &settings.suite, definition)?;
    let kernels = given_kernels(context, backend, &mut settings, &mut selection)?;
    let target = RunTarget::Existing(dir);
    session::run(context, Job { settings, selection, backend, kernels, target })
}

/// Refuses another search where there are attempts of the one before.
fn check_search(run: &Run, stored: &Settings, settings: &Settings) -> Result<(), CommandError> {
    let changes = search_changes(stored, settings);
    let is_begun = || -> Result<bool, CommandError> {
        Ok(RunState::scan(run)?.ops.values().any(|op| !op.attempts.is_empty()))
    };
    if changes.is_empty() || !is_begun()? {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "the search of a run that has attempts cannot be changed: {}",
        changes.join(", ")
    ))
    .hint(
        "numbers of attempts stand for places in their search; caps and --max-attempts can be \
         changed, and `kgen generate` begins a run with another search",
    ))
}

fn stored_settings(run: &Run) -> Result<Settings, CommandError> {
    serde_json::from_value::<Settings>(run.info().settings.clone()).map_err(|error| {
        CommandError::new(Exit::Config, error).hint(format!(
            "the settings in {}/run.json are not those of this kgen; use the one that made it ({})",
            run.dir().display(),
            run.info().kgen_version
        ))
    })
}
