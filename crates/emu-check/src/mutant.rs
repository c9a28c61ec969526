//! One mutant on a GPU, judged by what came out alone.

use emu_corpus::{Class, Mutant};
use kgen_compile::Compiler;
use kgen_device::{CudaDevice, Device as _, Image, KernelArg, Launch, LaunchError};
use serde::{Deserialize, Serialize};

use super::{
    Error,
    cuda::run_on_gpu,
    source::{Built, build},
};

/// Seeds that a mutant is tried with.
pub(super) const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];

/// Contents of outputs before a launch, in turn: NaN, and a number that a kernel may add to.
const POISONS: [u8; 2] = [0xff, 0x3c];

/// Fills the shared memory of every multiprocessor with NaN, so that what a kernel leaves
/// uninitialised shows.
const POISON_SHARED: &str = r#"
extern "C" __global__ void poison_shared(int n) {
    extern __shared__ volatile unsigned words[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = 0xffffffffu;
}
"#;

/// The nature of a mutant, as a GPU shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MutantEffect {
    /// Its outputs are right for all seeds.
    Same,
    /// For a seed an output is wrong, it faults, hangs or writes outside of a buffer.
    Changed,
    /// It does not compile.
    Refused,
}

/// The result of a mutant on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MutantRun {
    /// The mutant.
    pub(super) id: String,
    /// The effect that was seen.
    pub(super) outcome: MutantEffect,
    /// The first disagreement, in one line.
    pub(super) detail: String,
}

impl MutantRun {
    pub(super) fn new(id: &str, outcome: MutantEffect, detail: &str) -> Self {
        // The detail is to fit a line of the protocol.
        let detail = detail.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { id: id.to_owned(), outcome, detail }
    }
}

/// Runs a mutant with each seed until it shows something wrong.
///
/// Its kernel is named after it, as tools that watch the GPU report. On a bare device
/// ([`CudaDevice::set_bare`]) outputs are not looked at. After a fault the device is lost.
pub(super) fn run_mutant(
    compiler: &Compiler,
    device: &mut CudaDevice,
    mutant: &Mutant,
    seeds: &[u64],
    bare: bool,
) -> Result<MutantRun, Error> {
    let run = |outcome, detail: &str| Ok(MutantRun::new(&mutant.id, outcome, detail));
    let arch = device.target().arch.clone();
    let alias = mutant.id.replace('.', "__");
    let kernel = &mutant.kernel;
    let built = match build(compiler, &mutant.source, kernel.entry, Some(&alias), &arch) {
        Ok(built) => built,
        Err(Error::Source { reason, .. }) => return run(MutantEffect::Refused, &reason),
        Err(error) => return Err(error),
    };
    // Leftovers of this kernel may be what one without its initialisation needs.
    let poison = if bare || mutant.class != Class::DroppedInitialisation {
        None
    } else {
        Some(build(compiler, POISON_SHARED, "poison_shared", None, &arch)?)
    };
    device.set_bare(bare);
    for (seed, byte) in seeds.iter().zip(POISONS.iter().cycle()) {
        let case = kernel.case(*seed);
        if let Some(poison) = &poison {
            poison_shared(device, poison).map_err(machine)?;
        }
        let outputs = match run_on_gpu(device, &built, kernel, &case, (!bare).then_some(*byte)) {
            Ok(outputs) => outputs,
            Err(LaunchError::Machine(error)) => return Err(error.into()),
            Err(stop) => return run(MutantEffect::Changed, &format!("seed {seed}: {stop}")),
        };
        if bare {
            continue;
        }
        if let Err(wrong) = kernel.check(&case, &outputs) {
            return run(MutantEffect::Changed, &format!("seed {seed}: {wrong}"));
        }
    }
    run(MutantEffect::Same, if bare { "its outputs were not looked at" } else { "" })
}

fn poison_shared(device: &mut CudaDevice, built: &Built) -> Result<(), LaunchError> {
    let image = Image { ptx: &built.compiled.ptx, cubin: &built.compiled.cubin };
    let module = device.load(&image)?;
    let bytes = device.target().smem_max;
    let words = i32::try_from(bytes / 4).unwrap_or(i32::MAX);
    let launch = Launch {
        kernel: built.entry.clone(),
        grid: [device.target().sm_count, 1, 1],
        block: [1024, 1, 1],
        smem: bytes,
        args: vec![KernelArg::Bytes(words.to_le_bytes().to_vec())],
        ..Launch::default()
    };
    let done = device.launch(module, &launch).and_then(|()| device.sync());
    device.unload(module);
    done
}

/// kgen's own kernel can only fail with the machine.
fn machine(stop: LaunchError) -> Error {
    match stop {
        LaunchError::Machine(error) => error.into(),
        LaunchError::Kernel { .. } | LaunchError::Budget { .. } => {
            Error::Source { kernel: "poison_shared".to_owned(), reason: stop.to_string() }
        }
    }
}
