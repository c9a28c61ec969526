//! Runs one kernel of a PTX file on arrays given in files, and reports its errors.
#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os().skip(1))
}
