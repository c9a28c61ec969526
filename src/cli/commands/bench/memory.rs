//! `kgen bench memory`: bandwidth and latency of a GPU's memory.

mod text;

use clap::Args;
use kgen_compile::{Compiler, find_tool};
use kgen_device::{CudaDevice, Device as _};
use kgen_membench::{
    GpuLab, LeftOut, Measured, Plan, Report, TORCH, Test, doubled, nvbandwidth, page,
    torch_allocations,
};
use kgen_settings::{DeviceChoice, Overrides, Settings, keys};

use super::BenchFormat;
use crate::{
    cli::{
        CommandError, Context,
        args::{NvrtcArgs, PythonArgs},
        exit_codes::Exit,
        machine,
        output::FileArgs,
        ui::json_text,
    },
    report::Screen,
};

/// Measure copies, kernels of one access pattern each, and allocation, over sizes
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Smallest size of a buffer
    #[arg(long, value_name = "BYTES", default_value = "4KiB", value_parser = bytes)]
    min: u64,
    /// Sizes are doubled from the smallest up to this
    #[arg(long, value_name = "BYTES", default_value = "8GiB", value_parser = bytes)]
    max: u64,
    #[arg(
        long,
        value_name = "TESTS",
        value_delimiter = ',',
        value_parser = test,
        help = format!("Tests to run: {}", names())
    )]
    only: Vec<Test>,
    /// Device: auto or cuda:N
    #[arg(long, value_name = "DEVICE", help_heading = "Device")]
    device: Option<String>,
    #[command(flatten)]
    python: PythonArgs,
    #[command(flatten)]
    nvrtc: NvrtcArgs,
    /// Print a table for people, CSV, JSON or a page for a browser
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: BenchFormat,
    #[command(flatten)]
    file: FileArgs,
}

pub(super) fn run(context: &Context, args: &MemoryArgs) -> Result<Exit, CommandError> {
    let format = args.file.format(args.format, BenchFormat::Html)?;
    let plan = args.plan()?;
    args.file.check()?;
    let mut flags = Overrides::default();
    args.nvrtc.add_to(&mut flags);
    args.python.add_to(&mut flags);
    flags.set("device.device", args.device.clone());
    let settings = context.settings(&flags)?;
    let choice = machine::device_choice(&settings)?;
    if choice == DeviceChoice::Emu {
        return Err(no_gpu());
    }
    let report = measure(context, &settings, choice.first_gpu(), &plan)?;
    let to_file = args.file.output.is_some();
    let screen = if to_file { Screen::FILE } else { context.ui.screen() };
    args.file.put(context, &report, "kgen-memory.html", || match format {
        BenchFormat::Table => text::tables(&report, screen),
        BenchFormat::Csv => report.csv(),
        BenchFormat::Json => json_text(&report),
        BenchFormat::Html => page(&report),
    })?;
    Ok(Exit::Ok)
}

impl MemoryArgs {
    fn plan(&self) -> Result<Plan, CommandError> {
        let sizes = doubled(self.min, self.max).map_err(CommandError::usage)?;
        let tests = if self.only.is_empty() { Test::ALL.to_vec() } else { self.only.clone() };
        Ok(Plan { tests, sizes })
    }
}

/// Runs all tests of a plan on one GPU.
fn measure(
    context: &Context,
    settings: &Settings,
    ordinal: u32,
    plan: &Plan,
) -> Result<Report, CommandError> {
    let ui = &context.ui;
    let toolchain = machine::toolchain(ui, &settings.nvrtc)?;
    let cache = settings.nvrtc.cache().map(|cache| cache.join("compiled"));
    let compiler = Compiler::open(&toolchain, cache)?;
    let n_gpus = u32::try_from(kgen_device::gpus()?.len()).unwrap_or(u32::MAX);
    let other = (0..n_gpus).find(|index| *index != ordinal);
    let mut device = CudaDevice::open(ordinal)?;
    let target = device.target().clone();
    let lock = machine::alone(&context.ui, &target);
    let bar = ui.spinner("memory");
    let mut progress = |text: &str| bar.set_message(text.to_owned());
    let (launch_us, mut measured) = {
        let mut lab = GpuLab::new(&compiler, &mut device, ordinal, other)?;
        (lab.launch_us()?, kgen_membench::run(&mut lab, plan, &mut progress)?)
    };
    // Other programs have the GPU's memory to themselves.
    drop(device);
    if plan.has_allocations() {
        progress("PyTorch's allocator");
        add(&mut measured, "alloc", Some(TORCH), torch(settings, ordinal, plan));
    }
    if plan.tests.contains(&Test::Nvbandwidth) {
        progress("nvbandwidth");
        let program = find_tool("nvbandwidth").ok_or_else(|| "it is not on the PATH".to_owned());
        let found = program.and_then(|program| nvbandwidth(&program));
        add(&mut measured, Test::Nvbandwidth.name(), None, found);
    }
    bar.finish_and_clear();
    drop(lock);
    Ok(Report::new(&target, launch_us, measured))
}

fn torch(settings: &Settings, ordinal: u32, plan: &Plan) -> Result<Measured, String> {
    let python = kgen_baseline::python::find(settings.python.path.as_deref());
    let python = python.map_err(|error| error.to_string())?;
    torch_allocations(&python.path, ordinal, plan).map_err(|error| error.to_string())
}

/// Adds what another program measured, or why there is nothing.
fn add(
    measured: &mut Measured,
    test: &str,
    parameter: Option<&str>,
    found: Result<Measured, String>,
) {
    match found {
        Ok(found) => {
            measured.rows.extend(found.rows);
            measured.left_out.extend(found.left_out);
        }
        Err(reason) => measured.left_out.push(LeftOut {
            test: test.to_owned(),
            parameter: parameter.map(str::to_owned),
            bytes: None,
            reason,
        }),
    }
}

fn no_gpu() -> CommandError {
    CommandError::new(Exit::Device, "memory is measured on a GPU, and none is used")
        .hint("`kgen doctor` says why no GPU is used")
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = keys::bytes(text).and_then(|bytes| u64::try_from(bytes).ok());
    bytes.ok_or_else(|| "it must be a number of bytes such as 64MiB".to_owned())
}

fn test(name: &str) -> Result<Test, String> {
    Test::find(name).ok_or_else(|| format!("there is no such test; there are {}", names()))
}

fn names() -> String {
    Test::ALL.map(Test::name).join(", ")
}

impl From<kgen_membench::Error> for CommandError {
    fn from(error: kgen_membench::Error) -> Self {
        Self::new(Exit::Device, error).hint("`kgen doctor` says what works on this machine")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: MemoryArgs,
    }

    fn plan(flags: &[&str]) -> Result<Plan, String> {
        let line = Line::try_parse_from([&["kgen"], flags].concat());
        let line = line.map_err(|error| error.to_string())?;
        line.args.plan().map_err(|error| error.render())
    }

    #[test]
    fn without_flags_all_tests_run_over_22_sizes() {
        let plan = plan(&[]).unwrap();
        assert_eq!(plan.tests, Test::ALL);
        assert_eq!((plan.sizes[0], plan.sizes[21], plan.sizes.len()), (4 << 10, 8 << 30, 22));
    }

    #[test]
    fn sizes_and_tests_are_chosen() {
        let plan = plan(&["--min", "1 MiB", "--max=4m", "--only", "d2d,random"]).unwrap();
        assert_eq!(plan.tests, [Test::D2d, Test::Random]);
        assert_eq!(plan.sizes, [1 << 20, 2 << 20, 4 << 20]);
    }

    #[test]
    fn wrong_flags_are_named_with_a_way_out() {
        let says = |flags: &[&str], text: &str| {
            let error = plan(flags).unwrap_err();
            assert!(error.contains(text), "{error}");
        };
        says(&["--only", "h2d"], "there are h2d_pageable, d2h_pageable, h2d_pinned");
        says(&["--min", "some"], "a number of bytes such as 64MiB");
        says(&["--min", "100"], "a multiple of 128 bytes, not 100");
        says(&["--min", "2GiB", "--max", "1GiB"], "the smallest size, 2GiB, is above");
    }

    #[test]
    fn another_program_that_fails_is_left_out_by_name() {
        let mut measured = Measured::default();
        add(&mut measured, "alloc", Some(TORCH), Err("there is no python3".to_owned()));
        assert_eq!(measured.left_out[0].text(), "alloc pytorch: there is no python3");
    }
}
