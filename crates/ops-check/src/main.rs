//! `kgen-ops`: holds the references, names and refusals of the catalogue against calls that PyTorch
//! answered.
//!
//! A development tool: the calls come from a script that runs where PyTorch is.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its results are for a terminal")]

mod calls;
mod compare;
#[cfg(test)]
mod golden;
mod policy;
#[cfg(test)]
mod schemas;
mod score;

use std::{
    fs::File,
    io::{self, BufReader},
    path::PathBuf,
    process::ExitCode,
};

use clap::Parser;

/// Compare calls that PyTorch answered with what kgen's catalogue makes of them.
#[derive(Debug, Parser)]
#[command(name = "kgen-ops")]
struct Args {
    /// Files of calls, one JSON object a line; standard input where none is named.
    files: Vec<PathBuf>,
    /// Print so many disagreements of each op.
    #[arg(long, default_value_t = 2)]
    show: usize,
    /// Fail below this percentage of calls of known ops that agree.
    #[arg(long, default_value_t = 0.0)]
    least: f64,
    /// Only ops whose name contains this.
    #[arg(long)]
    op: Option<String>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> io::Result<bool> {
    let mut score = score::Score::default();
    let only = args.op.as_deref();
    if args.files.is_empty() {
        score.read(io::stdin().lock(), "stdin", only)?;
    }
    for file in &args.files {
        let open = File::open(file);
        let open = open.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", file.display()))
        })?;
        score.read(BufReader::new(open), &file.display().to_string(), only)?;
    }
    print!("{}", score.table(args.show));
    Ok(score.percentage() >= args.least)
}
