//! The command line: arguments to a launch, its report to text or JSON and an exit code.

mod args;
mod array;
mod compare;
mod counters;
mod element;
mod json;
mod list;
mod names;
mod npy;
mod output;
mod run;
mod source;
mod spec;
mod text;

use std::{ffi::OsString, fmt, process::ExitCode};

use clap::{Parser as _, error::ErrorKind};

use self::args::{Command, CommandLine};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// The kernel did nothing wrong.
    Clean = 0,
    /// It did, or its output is not the expected one.
    Findings = 1,
    /// The command line, or a launch that no GPU takes.
    Usage = 2,
    /// A file that cannot be read, written or understood.
    Files = 3,
    /// An instruction the emulator does not know.
    Unsupported = 4,
    /// No thread can move, or the budget is spent.
    Stuck = 5,
}

/// Why nothing was run.
#[derive(Debug)]
struct Error {
    exit: Exit,
    message: String,
}

impl Error {
    fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    fn file(path: impl fmt::Display, message: impl fmt::Display) -> Self {
        Self { exit: Exit::Files, message: format!("{path}: {message}") }
    }
}

type Result<T> = std::result::Result<T, Error>;

impl From<clap::Error> for Error {
    fn from(error: clap::Error) -> Self {
        Self::usage(error.to_string().trim_start_matches("error: ").trim_end())
    }
}

/// Runs the command in `args` and prints its output.
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    let done = match CommandLine::try_parse_from(args).map(|line| line.command) {
        Ok(Command::List { ptx }) => list::list(&ptx).map(|text| (text, Exit::Clean)),
        Ok(Command::Run(args)) => run::run(&args),
        Err(error) => match error.kind() {
            DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand => {
                Ok((error.to_string(), Exit::Clean))
            }
            _ => Err(error.into()),
        },
    };
    let exit = match done {
        Ok((text, exit)) => match output::print(&text) {
            Ok(()) => exit,
            Err(_) => Exit::Files,
        },
        Err(error) => {
            output::complain(&format!("ptx-emu: {}", error.message));
            error.exit
        }
    };
    ExitCode::from(exit as u8)
}
