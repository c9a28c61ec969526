//! `kgen rehearse`: the child that profilers watch; not for people.

use std::path::PathBuf;

use clap::Args;
use kgen_worker::profile;

use crate::cli::{CommandError, exit_codes::Exit};

/// Run cases of a compiled kernel once, without looking at the outputs
#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    /// Program and cases
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(args: &RehearseArgs) -> Result<Exit, CommandError> {
    profile::rehearse(&args.file).map_err(|reason| CommandError::new(Exit::Device, reason))?;
    Ok(Exit::Ok)
}
