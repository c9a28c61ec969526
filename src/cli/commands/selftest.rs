//! `kgen selftest`: the judge and the emulator prove themselves.

mod judge;
mod timing;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::Args;
use emu_corpus::{golden::Golden, mutants};
use kgen_compile::{Compiler, Toolchain};
use kgen_device::CudaDevice;
use kgen_selftest::{Child, KernelAgreement, Line, MutantEffect, SEEDS};
use kgen_settings::{DeviceChoice, Overrides, Settings};
use serde::Serialize;
use serde_json::json;

use crate::{
    cli::{CommandError, Context, args::NvrtcArgs, exit_codes::Exit, machine},
    report::TextTable,
};

/// Prove on this machine that the judge and the emulator are right, with kernels whose results are
/// known
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
    /// Run all known kernels on the emulator and on the GPU, and compare what they yield
    #[arg(long, group = "what")]
    emu_vs_cuda: bool,
    /// Prove the clock on kernels whose times are known, on equal kernels and on kernels that do
    /// less once they are timed
    #[arg(long, group = "what")]
    timing: bool,
    /// Launch each kernel that other clocks time too, for a profiler that watches
    #[arg(long, group = "what", hide = true)]
    ladder: bool,
    /// Find out which of the mutants, kernels made wrong on purpose, yield something else on the GPU
    #[arg(long, group = "what")]
    classify_mutants: bool,
    /// Run these mutants in this process
    #[arg(long, group = "what", value_delimiter = ',', hide = true)]
    run_mutant: Vec<String>,
    /// The only seed of the mutants
    #[arg(long, requires = "run_mutant", hide = true)]
    mutant_seed: Option<u64>,
    /// Without guard zones and poison, for compute-sanitizer
    #[arg(long, requires = "run_mutant", hide = true)]
    bare: bool,
    /// List the mutants
    #[arg(long, group = "what", hide = true)]
    list_mutants: bool,
    /// Folder for judge.json, agreement.json, timing.json and mutants.json
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
}

pub(crate) fn run(context: &Context, args: &SelftestArgs) -> Result<Exit, CommandError> {
    if args.list_mutants {
        let ids: Vec<_> = mutants().into_iter().map(|mutant| mutant.id).collect();
        context.ui.data(&ids.join("\n"))?;
        return Ok(Exit::Ok);
    }
    let mut flags = Overrides::default();
    args.nvrtc.add_to(&mut flags);
    flags.set("device.device", args.device.clone());
    flags.set("device.jobs", args.jobs);
    let settings = context.settings(&flags)?;
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
    }
    let asked_for = args.emu_vs_cuda
        || args.classify_mutants
        || args.timing
        || args.ladder
        || !args.run_mutant.is_empty();
    let needs_gpu = asked_for && !args.classify_mutants;
    if needs_gpu && machine::device_choice(&settings)? == DeviceChoice::Emu {
        return Err(no_gpu());
    }
    let mut judged = None;
    if args.judge || !asked_for {
        let (exit, row) = judge::run(context, args, &settings)?;
        let on_gpu = machine::device_choice(&settings)? != DeviceChoice::Emu;
        if args.judge || !on_gpu || exit != Exit::Ok {
            return Ok(exit);
        }
        judged = Some(row);
    }
    let toolchain = machine::toolchain(&context.ui, &settings.nvrtc)?;
    if args.classify_mutants {
        return classify(context, args, &toolchain);
    }
    if args.timing {
        return timing::run(context, args, &settings, &toolchain, None);
    }
    if args.ladder {
        return timing::ladder(&settings, &toolchain);
    }
    let compiler = compiler(&settings, &toolchain)?;
    let device = CudaDevice::open(settings.device.device.first_gpu())?;
    if !args.run_mutant.is_empty() {
        return run_mutants(context, args, &compiler, device);
    }
    let agreed = agreement(context, args.out.as_deref(), &compiler, device)?;
    if args.emu_vs_cuda {
        return Ok(agreed);
    }
    let timed = timing::run(context, args, &settings, &toolchain, judged)?;
    Ok(if agreed == Exit::Ok { timed } else { agreed })
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

fn agreement(
    context: &Context,
    out: Option<&Path>,
    compiler: &Compiler,
    mut device: CudaDevice,
) -> Result<Exit, CommandError> {
    let ui = &context.ui;
    let mut failed = Ok(());
    let mut rows = Vec::new();
    let mut done = |row: &KernelAgreement, golden: &Golden| {
        ui.detail(&row.kernel);
        rows.push(row.clone());
        failed = write(out, "agreement.json", &json!({ "rows": rows, "golden": golden }));
    };
    let ended = kgen_selftest::agreement(compiler, &mut device, &mut done);
    failed?;
    ui.data(&table(&rows))?;
    let (rows, golden) = ended?;
    let n_agree = rows.iter().filter(|row| row.agrees).count();
    ui.data(&format!("\n{n_agree} of {} kernels agree on {}", rows.len(), golden.gpu))?;
    Ok(if n_agree == rows.len() { Exit::Ok } else { Exit::NotSolved })
}

fn table(rows: &[KernelAgreement]) -> String {
    let headers = [
        "kernel",
        "arch",
        "asked",
        "result",
        ">differing",
        ">max error",
        ">lane instr.",
        ">emu ms",
    ];
    let mut table = TextTable::new(&headers);
    for row in rows {
        table.row(vec![
            row.kernel.clone(),
            row.arch.clone(),
            row.bound.map_or("exact".to_owned(), |bound| format!("{bound:.0e}")),
            if row.agrees { "agrees" } else { "DISAGREES" }.to_owned(),
            format!("{} of {}", row.elements.1, row.elements.0),
            format!("{:.1e}", row.max_error),
            row.lane_instructions.to_string(),
            format!("{:.2}", row.emulator_ms),
        ]);
    }
    let problems = rows.iter().flat_map(|row| {
        row.problems.iter().map(move |problem| format!("\n{}: {problem}", row.kernel))
    });
    table.render() + &problems.collect::<String>()
}

fn classify(
    context: &Context,
    args: &SelftestArgs,
    toolchain: &Toolchain,
) -> Result<Exit, CommandError> {
    let ui = &context.ui;
    let ids: Vec<_> = mutants().into_iter().map(|mutant| mutant.id).collect();
    let nvrtc = toolchain.nvrtc.clone().into_os_string();
    let mut child_args: Vec<OsString> =
        ["selftest".into(), "--nvrtc".into(), nvrtc, "--offline".into()].into();
    child_args.extend(args.device.iter().flat_map(|device| ["--device".into(), device.into()]));
    let dir = std::env::current_dir().map_err(|error| CommandError::new(Exit::Config, error))?;
    let child = Child { args: child_args, dir };
    let done = |run: &kgen_selftest::MutantRun| ui.detail(&Line::End(run.clone()).text());
    let runs = kgen_selftest::classify(&ids, &child, &done)?;
    write(args.out.as_deref(), "mutants.json", &runs)?;
    let mut table = TextTable::new(&["mutant", "outcome", "detail"]);
    for run in &runs {
        let outcome = format!("{:?}", run.outcome).to_lowercase();
        table.row(vec![run.id.clone(), outcome, run.detail.clone()]);
    }
    ui.data(&table.render())?;
    let count = |outcome| runs.iter().filter(|run| run.outcome == outcome).count();
    let (n_changed, n_refused) = (count(MutantEffect::Changed), count(MutantEffect::Refused));
    ui.data(&format!("\n{n_changed} of {} mutants changed, {n_refused} refused", runs.len()))?;
    Ok(if n_refused == 0 { Exit::Ok } else { Exit::NotSolved })
}

fn run_mutants(
    context: &Context,
    args: &SelftestArgs,
    compiler: &Compiler,
    mut device: CudaDevice,
) -> Result<Exit, CommandError> {
    let all = mutants();
    let seed = args.mutant_seed;
    let seeds = seed.as_ref().map_or(&SEEDS[..], std::slice::from_ref);
    for id in &args.run_mutant {
        let mutant = all.iter().find(|mutant| mutant.id == *id);
        let mutant = mutant.ok_or_else(|| CommandError::usage(format!("no mutant `{id}`")))?;
        context.ui.data(&Line::Begin(id.clone()).text())?;
        let run = kgen_selftest::run_mutant(compiler, &mut device, mutant, seeds, args.bare)?;
        context.ui.data(&Line::End(run).text())?;
        if device.is_lost() {
            break;
        }
    }
    Ok(Exit::Ok)
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
