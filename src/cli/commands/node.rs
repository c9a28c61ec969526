//! `kgen node`: the far end of `--launch`; not for people.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

/// Run a worker for the kgen that launched this
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// kgen's folder for caches
    #[arg(value_name = "DIR")]
    cache: PathBuf,
}

pub(crate) fn run(args: &NodeArgs) -> ExitCode {
    kgen_worker::node_main(&args.cache)
}
