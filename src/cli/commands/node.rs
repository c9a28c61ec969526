//! `kgen node`: the far end of `--launch`; not for people.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

/// Run a worker for the kgen that launched this
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// kgen's folder for caches
    #[arg(value_name = "DIR")]
    cache: PathBuf,
    /// Folder of kgen and its compiler
    #[arg(value_name = "FILES")]
    files: PathBuf,
    /// The folder that they are to be in
    #[arg(value_name = "PLACE")]
    place: PathBuf,
}

pub(crate) fn run(args: &NodeArgs) -> ExitCode {
    kgen_worker::node_main(&args.cache, &args.files, &args.place)
}
