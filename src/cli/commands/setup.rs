//! `kgen setup`: installs NVRTC, and the headers of CUTLASS, into kgen's cache.

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
    /// Install the device headers of CUTLASS and CuTe, too
    #[arg(long)]
    cutlass: bool,
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
    /// Folder of the headers of CUTLASS, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cutlass: Option<String>,
}

pub(crate) fn run(context: &Context, args: &SetupArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.nvrtc.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let toolchain = machine::toolchain(&context.ui, &settings.nvrtc)?;
    let cutlass = match args.cutlass {
        true => Some(machine::cutlass(&context.ui, &settings.nvrtc, &toolchain)?),
        false => None,
    };
    let installed = Installed {
        version: format!("{}.{}", toolchain.version.0, toolchain.version.1),
        path: toolchain.nvrtc.display().to_string(),
        found_by: toolchain.found_by.to_string(),
        cutlass: cutlass.map(|folder| folder.display().to_string()),
    };
    context.ui.result(&installed, || {
        let Installed { version, path, found_by, cutlass } = &installed;
        let headers = cutlass.iter().map(|folder| format!("\nheaders of CUTLASS at {folder}"));
        let headers: String = headers.collect();
        format!("NVRTC {version} at {path} (found by {found_by}){headers}")
    })?;
    Ok(Exit::Ok)
}
