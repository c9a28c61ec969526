//! `kgen selftest`: the judge and the clock prove themselves.

mod judge;
mod timing;

use std::path::{Path, PathBuf};

use clap::Args;
use kgen_compile::{Compiler, Toolchain};
use kgen_selftest::judge::{Count, Report};
use kgen_settings::{DeviceChoice, Overrides, Settings};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{
    CommandError, Context,
    args::{FormatArgs, NvrtcArgs},
    exit_codes::Exit,
    machine,
};

/// Prove on this machine that the judge and the clock are right, with kernels whose results or times
/// are known
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct SelftestArgs {
    /// Judge kernels that must fail and kernels that must pass
    #[arg(long, group = "what")]
    judge: bool,
    /// Judge only those whose name holds one of these texts, for example softmax/
    #[arg(long, value_name = "TEXT", value_delimiter = ',', requires = "judge")]
    only: Vec<String>,
    /// Folder of controls and variants to judge instead of kgen's own
    #[arg(long, value_name = "DIR", requires = "judge")]
    controls: Option<PathBuf>,
    /// Suites, by name or path, that the cases come from: of each op those of the first that has it
    #[arg(long, value_name = "SUITE", value_delimiter = ',', requires = "judge")]
    suites: Vec<String>,
    /// Seed of the inputs and the drawn shapes
    #[arg(long, value_name = "N", requires = "judge")]
    seed: Option<u64>,
    /// Prove the clock on kernels whose times are known, on equal kernels and on kernels that do
    /// less once they are timed
    #[arg(long, group = "what")]
    timing: bool,
    /// Launch each kernel that other clocks time too, for a profiler that watches
    #[arg(long, group = "what", hide = true)]
    ladder: bool,
    /// Folder for judge.json and timing.json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Device: auto, emu or cuda:N
    #[arg(long, value_name = "DEVICE", help_heading = "Device")]
    device: Option<String>,
    /// Workers that compile and emulate; 0 is one per core
    #[arg(long, value_name = "N", help_heading = "Device")]
    jobs: Option<i64>,
    #[command(flatten)]
    nvrtc: NvrtcArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// Verdicts on known kernels, and times of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Proofs {
    judge: Option<JudgeProof>,
    /// `null` where it was not asked for, there is no GPU, or the judge failed.
    timing: Option<timing::Page>,
}

/// Verdicts on kernels that are known to be wrong or right.
#[derive(Debug, Serialize, JsonSchema)]
struct JudgeProof {
    total: Count,
    #[serde(flatten)]
    report: Report,
}

pub(crate) fn run(context: &Context, args: &SelftestArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.nvrtc.add_to(&mut flags);
    flags.set("device.device", args.device.clone());
    flags.set("device.jobs", args.jobs);
    let settings = context.settings(&flags)?;
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
    }
    let clock_alone = args.timing || args.ladder;
    let on_gpu = machine::device_choice(&settings)? != DeviceChoice::Emu;
    if clock_alone && !on_gpu {
        return Err(no_gpu());
    }
    let mut proofs = Proofs { judge: None, timing: None };
    if !clock_alone {
        let report = judge::run(context, args, &settings)?;
        let is_clean = report.is_clean();
        proofs.judge = Some(JudgeProof { total: report.total(), report });
        judge::print(context, &proofs)?;
        if args.judge || !on_gpu || !is_clean {
            return Ok(if is_clean { Exit::Ok } else { Exit::NotSolved });
        }
    }
    let toolchain = machine::toolchain(&context.ui, &settings.nvrtc)?;
    if args.ladder {
        return timing::ladder(&settings, &toolchain);
    }
    timing::run(context, args, &settings, &toolchain, proofs)
}

fn no_gpu() -> CommandError {
    CommandError::new(Exit::Device, "this part of the selftest needs a GPU, and none is used").hint(
        "`kgen selftest --judge` proves the judge on the emulator; `kgen doctor` says why no GPU is \
         used",
    )
}

fn compiler(settings: &Settings, toolchain: &Toolchain) -> Result<Compiler, CommandError> {
    let cache = settings.nvrtc.cache().map(|cache| cache.join("compiled"));
    Ok(Compiler::open(toolchain, cache)?)
}

/// Writes a result, where a folder is given for it.
fn write(out: Option<&Path>, name: &str, value: &impl Serialize) -> Result<(), CommandError> {
    let Some(out) = out else { return Ok(()) };
    let path = out.join(name);
    let text = serde_json::to_string_pretty(value).expect("kgen's own data turns into JSON");
    std::fs::write(&path, text + "\n").map_err(|error| unwritable(&path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::config(format!("cannot write {}: {error}", path.display()))
}

impl From<kgen_selftest::Error> for CommandError {
    fn from(error: kgen_selftest::Error) -> Self {
        Self::new(Exit::Device, error).hint("`kgen doctor` says what works on this machine")
    }
}
