//! `kgen serve`: evaluations over HTTP.

mod judge;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use kgen_ops::suite;
use kgen_serve::{Config, Limits, Service, StoreError};
use kgen_settings::{DeviceChoice, Overrides, Settings, SuiteSettings, env};
use kgen_worker::Pool;

use crate::cli::{
    CommandError, Context,
    args::{DeviceArgs, SuiteArgs},
    commands::mcp,
    exit_codes::Exit,
    idle::warn_of_idle_flags,
    machine::{self, Machine},
    run_inputs::{resolve_baselines, wants_python},
    session,
    signals::Signals,
};
use judge::PoolJudge;

/// Answer evaluations over HTTP, with a queue that survives a crash
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:8311",
        help_heading = "Service"
    )]
    listen: SocketAddr,
    /// Folder of the jobs and their results
    #[arg(long, value_name = "DIR", default_value = "kgen-serve", help_heading = "Service")]
    state: PathBuf,
    /// File whose first line is the bearer token that callers need; a variable may have it instead
    #[arg(long, value_name = "FILE", help_heading = "Service")]
    token_file: Option<PathBuf>,
    /// Jobs that wait at most
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Service")]
    max_queue: usize,
    /// Bytes of a request at most
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20, help_heading = "Service")]
    max_body: usize,
    /// Ended jobs that are kept
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = "Service")]
    keep: usize,
    /// Seconds that running evaluations have to end after a signal
    #[arg(long, value_name = "S", default_value_t = 60, help_heading = "Service")]
    drain: u64,
    /// Take problems whose reference is Python, which runs as host code
    #[arg(long, help_heading = "Service")]
    allow_python: bool,
    /// Folder of op files (*.toml) that requests may name
    #[arg(long, value_name = "DIR", help_heading = "Service")]
    problems: Option<PathBuf>,
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(context: &Context, args: &ServeArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.suite.add_to(&mut flags);
    args.device.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    warn_of_idle_flags(&context.ui, &settings, &flags, None)?;
    let token = token(args)?;
    if token.is_none() && !args.listen.ip().is_loopback() {
        let message = format!("{} is no loopback address, and there is no token", args.listen);
        return Err(CommandError::usage(message).hint("--token-file or KGEN_SERVE_TOKEN sets one"));
    }
    check_suite(&settings.suite)?;
    let problems = judge::read_problems(args.problems.as_deref())?;
    wants_python(&settings)?;
    session::runtime()?.block_on(async {
        let listener = kgen_serve::bind(args.listen).await.map_err(|error| {
            CommandError::config(format!("{} cannot be listened on: {error}", args.listen))
        })?;
        let address = listener.local_addr().map_err(|error| CommandError::new(Exit::Config, error))?;
        let config = Config {
            state: args.state.clone(),
            max_queue: args.max_queue,
            keep: args.keep,
            drain: Duration::from_secs(args.drain),
            token,
        };
        let judge = JudgeOptions { problems, allow_python: args.allow_python };
        let Started { service, pool, device } = start(context, settings, judge, config).await?;
        let workers = service.facts().workers;
        context.ui.data(&format!(
            "kgen serve listens on http://{address} ({device}, {workers} workers); jobs are kept in {}",
            args.state.display()
        ))?;
        let limits = Limits { max_body: args.max_body, ..Limits::default() };
        let tools = mcp::routes(context, &service);
        let exit = tokio::select! {
            () = kgen_serve::serve(listener, Arc::clone(&service), limits, tools) => Exit::Ok,
            exit = second_signal(context, &service) => exit,
        };
        pool.shutdown().await;
        Ok(exit)
    })
}

/// Problems of a service, and whether they may have references in Python.
#[derive(Default)]
pub(super) struct JudgeOptions {
    problems: judge::Problems,
    allow_python: bool,
}

/// A service and the workers behind it.
pub(super) struct Started {
    pub(super) service: Arc<Service>,
    pub(super) pool: Arc<Pool>,
    /// As named on the command line.
    device: DeviceChoice,
}

/// Starts the workers and opens the jobs.
pub(super) async fn start(
    context: &Context,
    mut settings: Settings,
    options: JudgeOptions,
    config: Config,
) -> Result<Started, CommandError> {
    let Machine { pool, device } = Box::pin(machine::start(&context.ui, &settings)).await?;
    resolve_baselines(&context.ui, &mut settings, pool.has_gpu())?;
    let JudgeOptions { problems, allow_python } = options;
    let judge = PoolJudge::new(settings, Arc::clone(&pool), problems, allow_python);
    let service = Service::new(Arc::new(judge), config)?;
    Ok(Started { service, pool, device })
}

/// Drains the service on the first signal, and waits for the second.
async fn second_signal(context: &Context, service: &Service) -> Exit {
    let Ok(mut signals) = Signals::new() else {
        context.ui.warn("signals cannot be caught: Ctrl-C ends kgen at once");
        return std::future::pending().await;
    };
    signals.next().await;
    context.ui.note("draining: running evaluations end; once more stops at once");
    service.drain();
    signals.next().await
}

/// Refuses what no request could be judged with.
pub(super) fn check_suite(suite: &SuiteSettings) -> Result<(), CommandError> {
    if suite.op_file.is_some() {
        let message = "--op-file has no place in a service, whose requests name their ops";
        return Err(CommandError::usage(message).hint("--problems names a folder of op files"));
    }
    let names = suite::builtin_names();
    if names.contains(&suite.suite.as_str()) {
        return Ok(());
    }
    let message = format!("a service judges with a builtin suite, and `{}` is none", suite.suite);
    Err(CommandError::usage(message).hint(format!("they are {}", names.join(", "))))
}

fn token(args: &ServeArgs) -> Result<Option<String>, CommandError> {
    let Some(path) = &args.token_file else { return Ok(env::KGEN_SERVE_TOKEN.text()) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        CommandError::config(format!("failed to read the token in {}: {error}", path.display()))
    })?;
    let token = text.lines().next().unwrap_or_default().trim();
    if token.is_empty() {
        let message = format!("the first line of {} is empty: there is no token", path.display());
        return Err(CommandError::config(message));
    }
    Ok(Some(token.to_owned()))
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::new(Exit::Config, error).hint("--state names another folder")
    }
}
