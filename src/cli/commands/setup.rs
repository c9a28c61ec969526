//! `kgen setup`: installs NVRTC into kgen's cache.

use clap::Args;
use kgen_settings::Overrides;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{
    CommandError, Context,
    args::{FormatArgs, NvrtcArgs},
    exit_codes::Exit,
    machine,
};

/// Install NVRTC and CUDA's headers into kgen's cache, with pip
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    #[command(flatten)]
    nvrtc: NvrtcArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// The NVRTC that kgen uses.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Installed {
    /// Version, for example `13.0`.
    version: String,
    /// The library.
    path: String,
    /// Where it was found.
    found_by: String,
}

pub(crate) fn run(context: &Context, args: &SetupArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.nvrtc.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let toolchain = machine::toolchain(&context.ui, &settings.nvrtc)?;
    let installed = Installed {
        version: format!("{}.{}", toolchain.version.0, toolchain.version.1),
        path: toolchain.nvrtc.display().to_string(),
        found_by: toolchain.found_by.to_string(),
    };
    context.ui.result(&installed, || {
        let Installed { version, path, found_by } = &installed;
        format!("NVRTC {version} at {path} (found by {found_by})")
    })?;
    Ok(Exit::Ok)
}
