//! `emu-check`: a development tool that holds the emulator against a GPU.
//!
//! The kernels and their mutants are those of the crate `emu-corpus`; they are compiled as a
//! candidate's are, but without a plan. Nothing of it is in `kgen`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its results are for a terminal")]

mod agreement;
mod classify;
mod cuda;
mod emulated;
mod mutant;
mod source;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use emu_corpus::{Mutant, mutants};
use kgen_compile::{Compiler, LocateOptions, ProvisionOptions, Toolchain};
use kgen_device::CudaDevice;
use kgen_settings::{NvrtcSettings, env};
use serde::Serialize;
use serde_json::json;

use agreement::KernelAgreement;
use classify::Line;
use mutant::{MutantEffect, SEEDS, run_mutant};

/// Hold the emulator against a GPU, on kernels whose results are known
#[derive(Parser)]
struct Cli {
    /// NVRTC library, or the folder it is in
    #[arg(long, global = true, value_name = "PATH")]
    nvrtc: Option<PathBuf>,
    /// The GPU, as the driver counts
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    gpu: u32,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all kernels on the emulator and on the GPU, and compare what they yield
    Agreement {
        /// Folder for agreement.json
        out: PathBuf,
    },
    /// Find out which mutants, kernels made wrong on purpose, yield something else on the GPU
    Mutants {
        /// Folder for mutants.json
        out: PathBuf,
        /// Mutants of these kernels alone
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        kernels: Vec<String>,
    },
    /// Run these mutants in this process
    Run {
        #[arg(value_delimiter = ',', required = true)]
        ids: Vec<String>,
        /// The only seed
        #[arg(long)]
        seed: Option<u64>,
        /// Without guard zones and poison, for compute-sanitizer
        #[arg(long)]
        bare: bool,
    },
}

/// A failure of the tool or its machine, never of a kernel.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("failed to use NVRTC: {0}")]
    Compile(#[from] kgen_compile::Error),
    /// A kernel that should compile does not.
    #[error("`{kernel}` does not compile: {reason}")]
    Source { kernel: String, reason: String },
    #[error("failed to use the GPU: {0}")]
    Device(#[from] kgen_device::Error),
    #[error("failed to run a child process: {0}")]
    Process(#[from] kgen_process::Error),
    /// A child process ended before it had done anything.
    #[error("a child process did nothing: {0}")]
    Idle(String),
    #[error("no mutant `{0}`")]
    UnknownMutant(String),
    #[error("failed to write the results: {0}")]
    Write(#[from] std::io::Error),
}

fn main() -> ExitCode {
    match execute(Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all is as it should be.
fn execute(Cli { nvrtc, gpu, command }: Cli) -> Result<bool, Error> {
    Ok(match command {
        Command::Agreement { out } => agree(&toolchain(nvrtc)?, gpu, &out)?,
        Command::Mutants { out, kernels } => classify_all(&toolchain(nvrtc)?, gpu, &out, &kernels)?,
        Command::Run { ids, seed, bare } => {
            let seeds = seed.as_ref().map_or(&SEEDS[..], std::slice::from_ref);
            run(&toolchain(nvrtc)?, gpu, &ids, seeds, bare)?;
            true
        }
    })
}

/// Finds NVRTC, or installs it.
fn toolchain(path: Option<PathBuf>) -> Result<Toolchain, kgen_compile::Error> {
    let path = path.or_else(|| env::KGEN_NVRTC.path());
    let settings = NvrtcSettings { path, offline: false, cache_dir: None };
    let driver = kgen_device::driver_version();
    match kgen_compile::locate(&LocateOptions::new(&settings, driver)) {
        Ok(found) if found.complete || settings.path.is_some() => Ok(found),
        Ok(_) | Err(_) => {
            kgen_compile::provision(&ProvisionOptions::new(&settings, driver), &mut |_| {})
        }
    }
}

fn compiler(toolchain: &Toolchain) -> Result<Compiler, kgen_compile::Error> {
    Compiler::open(toolchain, env::cache_home().map(|cache| cache.join("compiled")))
}

/// Returns whether all kernels agree.
fn agree(toolchain: &Toolchain, gpu: u32, out: &Path) -> Result<bool, Error> {
    let mut device = CudaDevice::open(gpu)?;
    let mut written = Ok(());
    let mut rows: Vec<KernelAgreement> = Vec::new();
    let golden = agreement::agreement(&compiler(toolchain)?, &mut device, &mut |row, golden| {
        println!("{}", row.line());
        rows.push(row);
        written = write(out, "agreement.json", &json!({ "rows": rows, "golden": golden }));
    })?;
    written?;
    let n_agree = rows.iter().filter(|row| row.agrees).count();
    println!("\n{n_agree} of {} kernels agree on {}", rows.len(), golden.gpu);
    Ok(n_agree == rows.len())
}

/// Runs the mutants of some kernels, or of all; returns whether all compile.
fn classify_all(
    toolchain: &Toolchain,
    gpu: u32,
    out: &Path,
    kernels: &[String],
) -> Result<bool, Error> {
    let chosen = |mutant: &Mutant| {
        kernels.is_empty() || kernels.iter().any(|name| name == mutant.kernel.name)
    };
    let ids: Vec<_> = mutants().into_iter().filter(chosen).map(|mutant| mutant.id).collect();
    let nvrtc = toolchain.nvrtc.clone().into_os_string();
    let args: [OsString; 5] =
        ["--nvrtc".into(), nvrtc, "--gpu".into(), gpu.to_string().into(), "run".into()];
    let runs = classify::classify(&ids, &args, &|run| {
        println!("{} {:?} {}", run.id, run.outcome, run.detail);
    })?;
    write(out, "mutants.json", &runs)?;
    let count = |outcome| runs.iter().filter(|run| run.outcome == outcome).count();
    let (n_changed, n_refused) = (count(MutantEffect::Changed), count(MutantEffect::Refused));
    println!("\n{n_changed} of {} mutants changed, {n_refused} refused", runs.len());
    Ok(n_refused == 0)
}

/// Runs mutants until one takes the device with it.
fn run(
    toolchain: &Toolchain,
    gpu: u32,
    ids: &[String],
    seeds: &[u64],
    bare: bool,
) -> Result<(), Error> {
    let all = mutants();
    let (compiler, mut device) = (compiler(toolchain)?, CudaDevice::open(gpu)?);
    for id in ids {
        let mutant = all.iter().find(|mutant| mutant.id == *id);
        let mutant = mutant.ok_or_else(|| Error::UnknownMutant(id.clone()))?;
        println!("{}", Line::Begin(id.clone()).text());
        let run = run_mutant(&compiler, &mut device, mutant, seeds, bare)?;
        println!("{}", Line::End(run).text());
        if device.is_lost() {
            break;
        }
    }
    Ok(())
}

fn write(out: &Path, name: &str, value: &impl Serialize) -> Result<(), std::io::Error> {
    fs::create_dir_all(out)?;
    let text = serde_json::to_string_pretty(value).expect("plain data is JSON");
    fs::write(out.join(name), text + "\n")
}
