//! `kgen completions`: scripts that complete kgen's command line in a shell.

use clap::{Args, ValueEnum};
use clap_complete::{Shell, generate};

use crate::cli::{CommandError, Context, exit_codes::Exit, public_command_line};

/// Print a script that completes commands, flags and their values in a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: ShellName,
}

/// Shells whose scripts are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Result<Exit, CommandError> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut public_command_line(), "kgen", &mut script);
    context.ui.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
