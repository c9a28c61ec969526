//! `kgen setup`: installs NVRTC into kgen's cache.

use clap::Args;
use kgen_settings::Overrides;

use crate::cli::{CommandError, Context, args::NvrtcArgs, exit_codes::Exit, machine};

/// Install NVRTC and CUDA's headers into kgen's cache, with pip
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    #[command(flatten)]
    nvrtc: NvrtcArgs,
}

pub(crate) fn run(context: &Context, args: &SetupArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.nvrtc.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let toolchain = machine::toolchain(&context.ui, &settings.nvrtc)?;
    context.ui.data(&format!(
        "NVRTC {}.{} at {} (found by {})",
        toolchain.version.0,
        toolchain.version.1,
        toolchain.nvrtc.display(),
        toolchain.found_by
    ))?;
    Ok(Exit::Ok)
}
