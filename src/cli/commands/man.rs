//! `kgen man`: the manual, a page per command.

use std::{fs, io, path::PathBuf};

use clap::Args;

use crate::cli::{CommandError, Context, command_line, exit_codes::Exit, session::plural};

/// Write the manual as man pages, one per command, into a folder
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder of the pages; made where it does not exist
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run(context: &Context, args: &ManArgs) -> Result<Exit, CommandError> {
    let dir = &args.dir;
    let failed = |error: io::Error| {
        CommandError::config(format!("cannot write man pages into {}: {error}", dir.display()))
    };
    fs::create_dir_all(dir).map_err(failed)?;
    // `kgen help X` prints the help of X, and needs no page.
    let command = command_line().disable_help_subcommand(true);
    let n_pages = pages(&command);
    clap_mangen::generate_to(command, dir).map_err(failed)?;
    context.ui.note(&format!("{} written into {}", plural(n_pages, "page"), dir.display()));
    Ok(Exit::Ok)
}

/// Counts a command with its subcommands.
fn pages(command: &clap::Command) -> usize {
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    1 + commands.map(pages).sum::<usize>()
}
