//! Executes a run: sets up machine, provider and run directory, lets the agent work, reports.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use kgen_agent::{
    CandidateSource, Deps, Policy, RunEnd, RunInputs as _, RunOp, RunOutcome, RunSpec, Search,
    ShutdownHandle,
};
use kgen_llm::{Budget, Client, Turn};
use kgen_ops::{op::OpDef, suite};
use kgen_prompt::Situation;
use kgen_record::{Cap, Implementation, OpKey, Profile, RunId, Split, Target};
use kgen_settings::{DeviceChoice, Settings};
use kgen_store::{DeviceInfo, RecordedRun, Run, RunInfo, RunStore, Spent};
use tokio::sync::mpsc;

use super::{
    CommandError, Context,
    backends::Backend,
    budget,
    errors::one_line,
    exit_codes::Exit,
    machine::{self, Machine},
    progress::Progress,
    providers::{self, Provider},
    run_inputs::{inputs, resolve_baselines, wants_python},
    search,
    selection::Selection,
    signals::SignalListener,
    ui,
};
use crate::report;

/// Fresh seeds that a winner is judged with again before it is reported.
const CONFIRM_SEEDS: u32 = 3;

/// A run that is to be made or gone on with.
pub(crate) struct Job {
    /// The settings, with `auto` resolved.
    pub(crate) settings: Settings,
    pub(crate) selection: Selection,
    /// Where kernels come from.
    pub(crate) backend: Backend,
    pub(crate) kernels: BTreeMap<OpKey, Implementation>,
    pub(crate) target: RunTarget,
}

/// The run directory of a [`Job`].
pub(crate) enum RunTarget {
    /// A new one, with this ID or one made of the time.
    New(Option<RunId>),
    /// One that is there.
    Existing(PathBuf),
}

/// Runs a job and prints its table.
pub(crate) fn run(context: &Context, job: Job) -> Result<Exit, CommandError> {
    let runtime = runtime()?;
    runtime.block_on(Box::pin(work(context, job)))
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(Exit::Device, error))
}

async fn work(context: &Context, job: Job) -> Result<Exit, CommandError> {
    let ready = Ready::new(context, job)?;
    let machine = machine::start(&context.ui, &ready.job.settings).await?;
    let stop = ShutdownHandle::default();
    let signals = SignalListener::new(context.ui.clone(), stop.clone(), ready.calls_wait());
    let done = Box::pin(ready.work(context, &machine, &stop)).await;
    machine.pool.shutdown().await;
    finish(context, done?, &signals)
}

/// A job with all that can be found out about it before workers start.
pub(crate) struct Ready {
    job: Job,
    provider: Option<Provider>,
    budget: Budget,
    /// The run directory, where it is there.
    store: Option<RunStore>,
}

/// A job that was worked on.
pub(crate) struct Done {
    job: Job,
    budget: Budget,
    pub(crate) store: Arc<RunStore>,
    pub(crate) outcome: RunOutcome,
    split: Split,
}

impl Ready {
    /// Opens provider, budget and run directory.
    pub(crate) fn new(context: &Context, mut job: Job) -> Result<Self, CommandError> {
        job.settings.suite.suite = job.selection.suite_setting(&job.settings.suite);
        make_absolute(&mut job.settings);
        wants_python(&job.settings)?;
        let provider = match job.backend {
            Backend::Llm => Some(providers::open(&job.settings)?),
            Backend::Pregenerated | Backend::Builtin | Backend::Cublas | Backend::Python(_) => None,
        };
        if let Some(provider) = &provider {
            // A URL that is none is found out before there is a run.
            drop(Client::new(provider.config.clone(), Budget::default())?);
            search::warn_cut(&context.ui, &job.settings);
        }
        let budget = match &provider {
            Some(provider) => budget::open(&context.ui, &job.settings, provider)?,
            None => Budget::default(),
        };
        if let Some((name, recording)) = provider.as_ref().and_then(|p| p.recording.as_ref()) {
            warn_unrecorded(&context.ui, &job.selection, name, recording)?;
            search::warn_differing(&context.ui, &job.settings, name, recording);
        }
        let store = match &job.target {
            RunTarget::New(_) => {
                check_output_dir(&job.settings.run.output_dir)?;
                None
            }
            RunTarget::Existing(dir) => Some(RunStore::open(dir)?),
        };
        Ok(Self { job, provider, budget, store })
    }

    /// Returns whether a call may wait for its reply beyond the end of this process.
    fn calls_wait(&self) -> bool {
        self.provider.as_ref().is_some_and(|provider| provider.calls_wait)
    }

    /// Charges the cost of another run of the same budget.
    pub(crate) fn charge_other(&self, run: &RunId, spent: &Spent) {
        budget::charge_other(&self.budget, run, spent);
    }

    /// Lets the agent work.
    pub(crate) async fn work(
        self,
        context: &Context,
        machine: &Machine,
        stop: &ShutdownHandle,
    ) -> Result<Done, CommandError> {
        let Self { mut job, provider, budget, store } = self;
        let (ui, pool) = (&context.ui, &machine.pool);
        job.settings.device.device = machine.device;
        resolve_baselines(ui, &mut job.settings, pool.has_gpu())?;
        if let Backend::Python(kind) = job.backend {
            // It would be compared with itself.
            job.settings.timing.baselines.retain(|name| name != kind.name());
        }
        let store = match store {
            Some(store) => {
                warn_about_changes(context, &store, machine);
                store
            }
            None => {
                check_prompts(&job, provider.as_ref(), pool)?;
                create(&job, provider.as_ref(), machine)?
            }
        };
        let store = Arc::new(store);
        ui.note(&format!(
            "run {} on {} ({}), {} of suite {}",
            store.run().dir().display(),
            machine.device,
            pool.target().name,
            plural(job.selection.ops.len(), "op"),
            job.selection.suite.name
        ));
        let (began, cpu_s) = (Instant::now(), kgen_process::cpu_seconds());
        let outcome = drive(context, &job, provider, &budget, pool, &store, stop).await?;
        let split = Split {
            wall_s: began.elapsed().as_secs_f64(),
            parent_s: kgen_process::cpu_seconds() - cpu_s,
            ..pool.split()
        };
        Ok(Done { job, budget, store, outcome, split })
    }
}

impl Done {
    /// Returns why the run cannot go on, if that is how it ended.
    pub(crate) fn into_failure(self) -> Option<CommandError> {
        match self.outcome.end {
            RunEnd::Failed(error) => Some(error.into()),
            _ => None,
        }
    }

    /// Says which cap is reached, the charge, and how to go on with a higher one.
    pub(crate) fn budget_lines(&self, cap: &Cap, command: &str) -> Vec<String> {
        budget::reached(cap, &self.budget, &self.outcome, command)
    }
}

/// Says which ops a recording has no reply for.
fn warn_unrecorded(
    ui: &ui::Ui,
    selection: &Selection,
    name: &str,
    recording: &Run,
) -> Result<(), CommandError> {
    let recorded = recording.ops()?;
    let lacks = |op: &&Arc<OpDef>| !recorded.contains(&OpKey::from(&***op));
    let missing: Vec<&str> =
        selection.ops.iter().filter(lacks).map(|op| op.name.as_str()).collect();
    if !missing.is_empty() {
        let recorded: Vec<String> = recorded.into_iter().map(|op| op.0).collect();
        ui.warn(&format!(
            "the recording `{name}` has no reply for {}; its ops are {}",
            missing.join(", "),
            recorded.join(", ")
        ));
    }
    Ok(())
}

async fn drive(
    context: &Context,
    job: &Job,
    provider: Option<Provider>,
    budget: &Budget,
    pool: &Arc<kgen_worker::Pool>,
    store: &Arc<RunStore>,
    stop: &ShutdownHandle,
) -> Result<RunOutcome, CommandError> {
    let (plan, client) = plan(job, provider.as_ref(), budget, pool, store, stop)?;
    let (target, is_gpu) = judging_device(&job.settings, provider.as_ref(), pool);
    let asked = provider.as_ref().map(|provider| &provider.config);
    let deps = Deps {
        llm: client,
        judge: Arc::clone(pool),
        inputs: inputs(&job.settings, &job.selection, target, is_gpu, asked)?,
        store: Arc::clone(store),
        stop: stop.clone(),
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    let progress = tokio::spawn(Progress::new(&context.ui, plan.ops.len()).follow(receiver));
    let outcome = Box::pin(kgen_agent::run(plan, deps, sender)).await;
    let n_differing = progress.await.unwrap_or(0);
    if n_differing > 0 {
        context.ui.detail(&format!(
            "{} answered another prompt than today's",
            plural(n_differing, "recorded reply")
        ));
    }
    Ok(outcome?)
}

/// Returns the device that evaluations are of, and whether it is a GPU: where those of a recording are
/// taken, its device decides prompts and when an op is over.
fn judging_device<'a>(
    settings: &Settings,
    provider: Option<&'a Provider>,
    pool: &'a kgen_worker::Pool,
) -> (&'a Target, bool) {
    let recording = provider.and_then(|provider| provider.recording.as_ref());
    match recording.filter(|_| settings.run.reuse_evals) {
        Some((_, run)) => {
            let device = &run.info().device;
            (&device.target, device.name != DeviceChoice::Emu.to_string())
        }
        None => (pool.target(), pool.has_gpu()),
    }
}

fn plan(
    job: &Job,
    provider: Option<&Provider>,
    budget: &Budget,
    pool: &kgen_worker::Pool,
    store: &RunStore,
    stop: &ShutdownHandle,
) -> Result<(RunSpec, Option<Client>), CommandError> {
    let settings = &job.settings;
    let (source, client) = match provider {
        Some(provider) => {
            let (run, state) = (store.run(), store.state());
            budget::charge_earlier(budget, run, &state, provider.calls_wait)?;
            let client = Client::new(provider.config.clone(), budget.clone())?;
            let client = client.stopped_by(stop.stopping());
            let recording = provider.recording.as_ref().map(|(_, run)| run.clone());
            let source = CandidateSource::Llm {
                max_tokens: settings.llm.max_tokens,
                temperature: settings.llm.temperature,
                calls_wait: provider.calls_wait,
                reuse_evaluations: recording
                    .filter(|_| settings.run.reuse_evals)
                    .map(|run| Box::new(RecordedRun::new(run))),
            };
            (source, Some(client))
        }
        None => (CandidateSource::Given(job.kernels.clone()), None),
    };
    let ops = job.selection.ops.iter();
    let plan = RunSpec {
        ops: ops.map(|op| RunOp::from(&**op)).collect(),
        source,
        search: Search {
            strategy: settings.search.strategy,
            samples: settings.search.samples,
            width: settings.search.width,
            depth: settings.search.depth,
            planner: settings.search.planner,
        },
        policy: Policy {
            max_attempts: settings.run.max_attempts,
            target_speedup: settings.run.target_speedup,
            can_time: judging_device(settings, provider, pool).1 && settings.timing.enabled,
            // A kernel that was given was not chosen for its luck: there is no winner to confirm,
            // unless it is to be measured as one.
            confirm_seeds: if client.is_some() || is_claim(settings, &job.kernels) {
                CONFIRM_SEEDS
            } else {
                0
            },
        },
        seed: settings.run.seed,
        max_concurrent_ops: settings.run.max_concurrent_ops,
        target: pool.target().clone(),
        on_gpu: pool.has_gpu(),
        screen: settings.device.screen,
        precision: settings.suite.precision,
        libraries: settings.suite.libraries,
        cutlass: settings.suite.cutlass,
        emulation: settings.device.emulation(),
        profile: settings.device.profile,
        feedback: settings.feedback.kinds,
        limits: settings.limits.into(),
    };
    Ok((plan, client))
}

/// Makes a first prompt, so that settings under which there is none are found out before there is a run.
fn check_prompts(
    job: &Job,
    provider: Option<&Provider>,
    pool: &kgen_worker::Pool,
) -> Result<(), CommandError> {
    let Some(asked) = provider else { return Ok(()) };
    let (target, is_gpu) = judging_device(&job.settings, provider, pool);
    let inputs = inputs(&job.settings, &job.selection, target, is_gpu, Some(&asked.config))?;
    let mut first = None;
    for op in &job.selection.ops {
        match inputs.prompt(&op.name, &Situation::first(Turn::Code)) {
            // A prompt that is too long for one op is that op's trouble.
            Ok(_) => return Ok(()),
            Err(error) => _ = first.get_or_insert(error),
        }
    }
    match first.map(|error| error.downcast::<kgen_prompt::Error>()) {
        None => Ok(()),
        Some(Ok(error)) => Err((*error).into()),
        Some(Err(error)) => Err(CommandError::new(Exit::Config, error)),
    }
}

fn create(
    job: &Job,
    provider: Option<&Provider>,
    machine: &Machine,
) -> Result<RunStore, CommandError> {
    let RunTarget::New(id) = &job.target else {
        unreachable!("an existing run was opened before");
    };
    let settings = &job.settings;
    let info = |run_id| RunInfo {
        command: std::env::args().collect(),
        definition: settings
            .suite
            .op_file
            .as_ref()
            .and_then(|_| job.selection.ops.first().and_then(|op| op.definition.clone())),
        backend: job.backend.name().to_owned(),
        provider: provider.map(|provider| provider.config.name.clone()),
        model: provider.map(|provider| provider.config.model.clone()),
        replay_of: provider.and_then(|p| p.recording.as_ref()).map(|(name, _)| name.clone()),
        seed: settings.run.seed,
        settings: serde_json::to_value(settings).expect("settings are plain data"),
        ..RunInfo::new(
            run_id,
            &settings.suite.suite,
            job.selection.ops.iter().map(|op| op.name.to_owned()).collect(),
            DeviceInfo {
                nvrtc: machine.pool.nvrtc().map(str::to_owned),
                sessions: machine
                    .pool
                    .gpus()
                    .iter()
                    .filter_map(|gpu| gpu.session.as_deref().cloned())
                    .collect(),
                ..DeviceInfo::new(&machine.device.to_string(), machine.pool.target().clone())
            },
        )
    };
    Ok(RunStore::create(&settings.run.output_dir, id.clone(), info)?)
}

/// Returns whether given kernels are to be measured several times, each in a fresh process.
fn is_claim(settings: &Settings, kernels: &BTreeMap<OpKey, Implementation>) -> bool {
    let is_kernel = |given: &Implementation| matches!(given, Implementation::Kernel { .. });
    settings.timing.profile == Profile::Final && kernels.values().all(is_kernel)
}

/// Makes the paths that a run remembers independent of the current folder: it may be resumed from
/// another one.
fn make_absolute(settings: &mut Settings) {
    let absolute = |path: &Path| path.canonicalize().ok();
    let suite = &mut settings.suite.suite;
    let builtin = suite::builtin_names().contains(&suite.as_str());
    if let (false, Some(path)) = (builtin, absolute(Path::new(suite))) {
        *suite = path.display().to_string();
    }
    for baseline in &mut settings.timing.baselines {
        let folder = baseline.split_once('=').and_then(|(_, folder)| absolute(Path::new(folder)));
        if let (Some(folder), Some((name, _))) = (folder, baseline.split_once('=')) {
            *baseline = format!("{name}={}", folder.display());
        }
    }
    let paths =
        [&mut settings.run.kernels_dir, &mut settings.prompts.dir, &mut settings.suite.op_file];
    for path in paths.into_iter().flatten() {
        if let Some(absolute) = absolute(path) {
            *path = absolute;
        }
    }
    // It may not be there yet.
    if let Some(folder) = &mut settings.llm.cache_dir
        && let Ok(absolute) = std::path::absolute(&folder)
    {
        *folder = absolute;
    }
}

/// Makes sure that runs can be written, before workers start.
pub(crate) fn check_output_dir(folder: &Path) -> Result<(), CommandError> {
    machine::probe_writable(folder).map_err(|source| {
        CommandError::config(format!("cannot write runs to {}: {source}", folder.display()))
            .hint("--output-dir names another folder")
    })
}

fn warn_about_changes(context: &Context, store: &RunStore, machine: &Machine) {
    let was = &store.run().info().device;
    let now = machine.pool.target();
    if was.target.name != now.name {
        context.ui.warn(&format!(
            "this run was begun on {}, it goes on on {}: their times cannot be compared",
            was.target.name, now.name
        ));
    }
}

/// Writes the reports, prints the table, names the next step.
fn finish(context: &Context, done: Done, signals: &SignalListener) -> Result<Exit, CommandError> {
    let Done { job, budget, store, outcome, split } = done;
    let ui = &context.ui;
    let dir = store.run().dir().to_owned();
    // The records are read again as they were stored at the end.
    let (mut summary, unwritten) = match report::write(&store) {
        Ok(summary) => (summary, None),
        // A full disk is no reason to hide the results.
        Err(error) => (report::summarise(&Run::open(&dir)?)?, Some(error)),
    };
    summary.split = Some(split);
    ui.result(&summary, || report::tables(&summary, ui.screen()))?;
    for line in report::result_lines(&summary) {
        ui.note(&line);
    }
    if job.selection.n_without_kernel > 0 {
        ui.note(&format!("{} without a kernel", plural(job.selection.n_without_kernel, "op")));
    }
    if let Some(spend) = report::spend_line(&summary) {
        ui.note(&spend);
    }
    if let Some(python) = report::python_text(&summary) {
        ui.detail(&python);
    }
    if split.evaluations > 0 {
        ui.detail(&split.describe());
    }
    let name = dir.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let is_default = job.settings.run.output_dir == Path::new("generated_kernels");
    let resume = if is_default { name } else { dir.display().to_string() };
    let command = format!("kgen resume {resume}");
    let resume = format!("go on with `{command}`");
    ui.note(&format!("saved in {}", dir.display()));
    if let Some(error) = unwritten {
        ui.warn(&format!("the summary files are not written: {}", one_line(&error)));
    }
    match outcome.end {
        RunEnd::Finished if outcome.all_passed() && job.selection.n_without_kernel == 0 => {
            Ok(Exit::Ok)
        }
        RunEnd::Finished => Ok(Exit::NotSolved),
        RunEnd::AwaitingReplies => {
            let n_waiting = report_awaited(ui, &outcome);
            let verb = if n_waiting == 1 { "awaits its reply" } else { "await replies" };
            ui.note(&format!("{} {verb}; {resume}", plural(n_waiting, "prompt")));
            Ok(Exit::AwaitingReplies)
        }
        RunEnd::BudgetReached { cap } => {
            for line in budget::reached(&cap, &budget, &outcome, &command) {
                ui.note(&line);
            }
            Ok(Exit::Budget)
        }
        RunEnd::Interrupted => {
            ui.note(&format!("interrupted; {resume}"));
            Ok(signals.exit())
        }
        RunEnd::Incomplete(error) => {
            ui.warn(&format!("{}; {resume}", one_line(&error)));
            Ok(Exit::NotSolved)
        }
        RunEnd::Failed(error) => Err(CommandError::from(error).hint(resume)),
    }
}

/// Says where prompts are and where their replies go; returns how many there are.
pub(crate) fn report_awaited(ui: &ui::Ui, outcome: &RunOutcome) -> usize {
    let awaited: Vec<_> = outcome
        .ops
        .iter()
        .filter_map(|op| match &op.end {
            kgen_agent::OpEnd::Awaiting { calls } => Some(calls),
            kgen_agent::OpEnd::Rule(_)
            | kgen_agent::OpEnd::EndOfRecording
            | kgen_agent::OpEnd::BudgetReached { .. }
            | kgen_agent::OpEnd::Interrupted
            | kgen_agent::OpEnd::Failed { .. } => None,
        })
        .flatten()
        .map(|(_, path)| path)
        .collect();
    if !awaited.is_empty() {
        ui.note("each prompt is in the .request.md beside its reply; the replies go to:");
    }
    for path in &awaited {
        ui.note(&format!("  {}", path.display()));
    }
    awaited.len()
}

/// Returns a count with its noun, for example `2 ops`.
pub(crate) fn plural(n: usize, noun: &str) -> String {
    match (n, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{n} {stem}ies"),
        (_, None) => format!("{n} {noun}s"),
    }
}
