//! `kgen generate`: the loop.

use std::collections::BTreeMap;

use clap::Args;
use kgen_record::RunId;
use kgen_settings::Overrides;

use crate::cli::{
    CommandError, Context,
    args::{DeviceArgs, FormatArgs, LlmArgs, LoopArgs, OpsArgs, RunArgs, SuiteArgs},
    backends::Backend,
    exit_codes::Exit,
    idle::warn_of_idle_flags,
    providers, selection,
    session::{self, Job, RunTarget},
};

/// Ask an LLM for kernels, judge them, return the findings to it, ask again
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    ops: OpsArgs,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    limits: LoopArgs,
    #[command(flatten)]
    llm: LlmArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Run right kernels again under Nsight Compute and compute-sanitizer for feedback
    #[arg(long, help_heading = "Device")]
    profile: bool,
    #[command(flatten)]
    format: FormatArgs,
}

impl GenerateArgs {
    /// Returns the settings that the flags name.
    pub(super) fn overrides(&self) -> Overrides {
        let mut flags = Overrides::default();
        self.ops.add_to(&mut flags);
        self.suite.add_to(&mut flags);
        self.run.add_to(&mut flags);
        self.limits.add_to(&mut flags);
        self.llm.add_to(&mut flags);
        self.device.add_to(&mut flags);
        flags.set("device.profile", self.profile.then_some(true));
        flags
    }

    /// Returns the ID that the new run is to have.
    pub(super) fn run_id(&self) -> Option<&str> {
        self.run.run_id.as_deref()
    }
}

pub(crate) fn run(context: &Context, args: &GenerateArgs) -> Result<Exit, CommandError> {
    let flags = args.overrides();
    start(context, &flags, args.run_id())
}

/// Runs the loop with the settings that the flags ask for.
pub(super) fn start(
    context: &Context,
    flags: &Overrides,
    run_id: Option<&str>,
) -> Result<Exit, CommandError> {
    let mut settings = context.settings(flags)?;
    let run_id = parse_run_id(run_id)?;
    if providers::resolve(&mut settings) {
        context.ui.announce(NO_KEY);
    }
    warn_of_idle_flags(&context.ui, &settings, flags, Some(Backend::Llm))?;
    let selection = match providers::recorded(&settings)? {
        Some(recorded) => {
            selection::take_recorded(&mut settings.suite, &recorded);
            selection::select_again(&context.ui, &settings.suite, None)?
        }
        None => selection::select(&context.ui, &settings.suite)?,
    };
    let job = Job {
        settings,
        selection,
        backend: Backend::Llm,
        kernels: BTreeMap::new(),
        target: RunTarget::New(run_id),
    };
    session::run(context, job)
}

/// Checks the ID of a new run.
pub(super) fn parse_run_id(run_id: Option<&str>) -> Result<Option<RunId>, CommandError> {
    run_id.map(str::parse).transpose().map_err(|error| CommandError::new(Exit::Usage, error))
}

const NO_KEY: &str = "\
REPLAY: no LLM is asked. There is no API key and no --provider, so the replies
come from the bundled session; the kernels in them are compiled and judged here
and now. For kernels of your own set ANTHROPIC_API_KEY or OPENAI_API_KEY, or
name a --provider (`kgen list backends`).";
