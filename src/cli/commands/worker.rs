//! `kgen worker`: the child side of the workers; not for people.

use std::process::ExitCode;

use clap::Args;
use kgen_worker::{child, protocol::Role};

/// Judge kernels for the kgen that started this
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Role: cpu or gpu
    #[arg(long, value_name = "ROLE")]
    role: Role,
}

pub(crate) fn run(args: &WorkerArgs) -> ExitCode {
    child::main(args.role)
}
