//! Emulator against GPU, kernel by kernel.

use emu_corpus::{
    Agreement, Kernel, difference,
    golden::{Golden, Run},
    kernels,
};
use kgen_compile::Compiler;
use kgen_device::{CudaDevice, Device as _, LaunchError};
use ptx_emu::{Module, Options};
use serde::Serialize;

use super::{
    Error,
    cuda::run_on_gpu,
    emulated::{Emulated, emulate},
    source::{Built, build},
};

/// Seeds of the inputs.
const SEEDS: [u64; 2] = [1, 2];

/// The outputs' contents before: NaN in every floating-point type.
const POISON: u8 = 0xff;

/// How emulator and GPU agree on one kernel, over all seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct KernelAgreement {
    pub(super) kernel: String,
    /// The architecture it was compiled for; empty where this GPU is too old for it.
    pub(super) arch: String,
    /// The error that is allowed; `None` asks for equal bits.
    pub(super) bound: Option<f64>,
    /// Whether they agree, and both with the f64 reference.
    pub(super) agrees: bool,
    /// The mistake, in words.
    pub(super) problems: Vec<String>,
    /// Elements of all outputs, and how many of them differ in a bit.
    pub(super) elements: (usize, usize),
    /// Largest difference of emulator and GPU, relative above 1.
    pub(super) max_error: f64,
    /// Instructions times threads of one launch.
    pub(super) lane_instructions: u64,
    /// Wall time of the emulator for one launch, in milliseconds.
    pub(super) emulator_ms: f64,
}

impl KernelAgreement {
    fn new(kernel: &Kernel, arch: &str) -> Self {
        Self {
            kernel: kernel.name.to_owned(),
            arch: arch.to_owned(),
            bound: match kernel.agreement {
                Agreement::Exact => None,
                Agreement::Within(bound) => Some(bound),
            },
            agrees: true,
            problems: Vec::new(),
            elements: (0, 0),
            max_error: 0.0,
            lane_instructions: 0,
            emulator_ms: 0.0,
        }
    }

    /// The row in one line, and its problems in one each.
    pub(super) fn line(&self) -> String {
        let Self { kernel, elements, max_error, lane_instructions, emulator_ms, .. } = self;
        let wanted = self.bound.map_or("exact".to_owned(), |bound| format!("within {bound:.0e}"));
        let result = if self.agrees { "agrees" } else { "DISAGREES" };
        let mut lines = vec![format!(
            "{kernel} ({}, {wanted}) {result}: {} of {} elements differ by up to {max_error:.1e}; \
             {lane_instructions} lane instructions in {emulator_ms:.2} ms",
            self.arch, elements.1, elements.0
        )];
        lines.extend(self.problems.iter().map(|problem| format!("  {problem}")));
        lines.join("\n")
    }

    fn problem(&mut self, text: String) {
        self.agrees = false;
        self.problems.push(text);
    }
}

/// Runs every kernel of the corpus on the emulator and on the GPU, from one compile and with the
/// same inputs, and records what the GPU made of them. `done` gets each row as it is known, and what
/// is recorded so far: a kernel that hangs the GPU then loses nothing but itself. A kernel that fails
/// is a row.
pub(super) fn agreement(
    compiler: &Compiler,
    device: &mut CudaDevice,
    done: &mut dyn FnMut(KernelAgreement, &Golden),
) -> Result<Golden, Error> {
    let target = device.target().clone();
    let (major, minor) = compiler.version();
    let mut golden = Golden {
        gpu: target.name.clone(),
        driver: target.driver_version,
        nvrtc: format!("{major}.{minor}"),
        arch: target.arch.clone(),
        runs: Vec::new(),
    };
    let capability = target.cc_major * 10 + target.cc_minor;
    for kernel in kernels::all().into_iter().filter(|kernel| kernel.arch <= capability) {
        let mut row = KernelAgreement::new(&kernel, &target.arch);
        match build(compiler, kernel.source, kernel.entry, None, &target.arch) {
            Ok(built) => {
                for seed in SEEDS {
                    let run = compare(device, &built, &kernel, seed, &mut row)?;
                    golden.runs.extend(run);
                }
            }
            Err(Error::Source { reason, .. }) => row.problem(reason),
            Err(error) => return Err(error),
        }
        done(row, &golden);
    }
    Ok(golden)
}

/// Runs one seed on both; the GPU's outputs, if it came to any.
fn compare(
    device: &mut CudaDevice,
    built: &Built,
    kernel: &Kernel,
    seed: u64,
    row: &mut KernelAgreement,
) -> Result<Option<Run>, Error> {
    let case = kernel.case(seed);
    let emulated = on_emulator(built, kernel, seed, row);
    let gpu = match run_on_gpu(device, built, kernel, &case, Some(POISON)) {
        Ok(outputs) => outputs,
        Err(LaunchError::Machine(error)) => return Err(error.into()),
        Err(stop) => {
            row.problem(format!("seed {seed}, GPU: {stop}"));
            if matches!(stop, LaunchError::Kernel { device_lost: true, .. }) {
                return Err(kgen_device::Error::Lost.into());
            }
            return Ok(None);
        }
    };
    if let Err(wrong) = kernel.check(&case, &gpu) {
        row.problem(format!("seed {seed}, GPU against f64: {wrong}"));
    }
    if let Some(emulated) = emulated {
        if let Err(wrong) = kernel.check(&case, &emulated.outputs) {
            row.problem(format!("seed {seed}, emulator against f64: {wrong}"));
        }
        let difference = difference(kernel, &case, &emulated.outputs, &gpu);
        row.elements.0 += difference.n_elements;
        row.elements.1 += difference.n_different;
        row.max_error = row.max_error.max(difference.max_error);
        if !difference.agrees {
            row.problem(format!("seed {seed}: {}", difference.worst.unwrap_or_default()));
        }
    }
    Ok(Some(Run::new(kernel, &case, seed, &gpu)))
}

/// Runs one seed on the emulator; whatever it finds is a problem of the row.
fn on_emulator(
    built: &Built,
    kernel: &Kernel,
    seed: u64,
    row: &mut KernelAgreement,
) -> Option<Emulated> {
    let module = match Module::parse(&built.compiled.ptx) {
        Ok(module) => module,
        Err(error) => {
            row.problem(format!("emulator: {error}"));
            return None;
        }
    };
    let emulated = emulate(&module, &built.entry, kernel, &kernel.case(seed), &Options::default());
    row.lane_instructions = emulated.report.lane_instructions;
    row.emulator_ms = emulated.seconds * 1e3;
    for finding in emulated.report.errors() {
        row.problem(format!("seed {seed}, emulator: {finding}"));
    }
    if let Err(stop) = &emulated.report.end {
        row.problem(format!("seed {seed}, emulator: {stop}"));
        return None;
    }
    Some(emulated)
}
