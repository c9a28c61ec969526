//! `kgen mcp`: the judge as tools of the Model Context Protocol.

mod tools;

use std::{sync::Arc, time::Duration};

use axum::Router;
use clap::Args;
use kgen_serve::{Config, Service};
use kgen_settings::Overrides;
use rmcp::{
    ServiceExt as _,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, stdio,
        streamable_http_server::session::local::LocalSessionManager,
    },
};

use crate::cli::{
    CommandError, Context,
    args::{DeviceArgs, SuiteArgs},
    commands::serve::{self, JudgeOptions, Started},
    exit_codes::Exit,
    session,
    signals::Signals,
};
use tools::Tools;

/// Serve kgen's tools to an agent over standard input and output (MCP)
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Jobs that wait at most.
const MAX_QUEUE: usize = 64;

pub(crate) fn run(context: &Context, args: &McpArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.suite.add_to(&mut flags);
    args.device.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    serve::check_suite(&settings.suite)?;
    // An agent's jobs end with it.
    let state = tempfile::tempdir().map_err(|error| CommandError::new(Exit::Config, error))?;
    let config = Config {
        state: state.path().to_owned(),
        max_queue: MAX_QUEUE,
        keep: usize::from(u16::MAX),
        drain: Duration::ZERO,
        token: None,
    };
    session::runtime()?.block_on(async {
        let options = JudgeOptions::default();
        let Started { service, pool, .. } =
            serve::start(context, settings, options, config).await?;
        let tools = Tools::new(Arc::clone(&service), context.config.clone());
        let exit = tokio::select! {
            () = service.run() => Exit::Ok,
            ended = answer(tools) => ended?,
            exit = signal() => exit,
        };
        pool.shutdown().await;
        Ok(exit)
    })
}

/// Answers until standard input is closed.
async fn answer(tools: Tools) -> Result<Exit, CommandError> {
    let failed = |error: String| CommandError::new(Exit::Usage, error);
    let running = tools.serve(stdio()).await.map_err(|error| failed(error.to_string()))?;
    running.waiting().await.map_err(|error| failed(error.to_string()))?;
    Ok(Exit::Ok)
}

async fn signal() -> Exit {
    match Signals::new() {
        Ok(mut signals) => signals.next().await,
        Err(_) => std::future::pending().await,
    }
}

/// Returns the route `/mcp` of a service, which answers the same over HTTP.
pub(super) fn routes(context: &Context, service: &Arc<Service>) -> Router {
    let tools = Tools::new(Arc::clone(service), context.config.clone());
    // The service itself looks at tokens and hosts.
    let config = StreamableHttpServerConfig::default().disable_allowed_hosts();
    let sessions = Arc::new(LocalSessionManager::default());
    let mcp = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    Router::new().route_service("/mcp", mcp)
}
