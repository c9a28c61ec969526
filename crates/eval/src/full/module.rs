//! Cases whose results PyTorch code of the op (a module, a function) gives in f64, on the device.
//!
//! The code runs after the candidate, on the same inputs, in the Python process. Every output element of
//! the candidate is compared on the device with the module's, rounded; those that differ, and some
//! thousand chosen ones, are held against its f64 results by the judge's own rule, with the responses to
//! roundings that the process measures.

use kgen_baseline::torch_code;
use kgen_device::{BufferId, Device, LaunchError};
use kgen_ops::{
    op::OpDef,
    reference::{Bound, Runs},
};
use kgen_record::{Case, DType, Implementation, PythonKind, TensorSpec, tensor::decode};
use rand::{RngCore as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{
    Prepared,
    sampled_elements::{SampledElements, random_elements},
    source::Values,
};
use crate::{
    external::{CaseBuffers, External as _},
    side::OutOfProcess,
};

/// Elements of each output that are chosen.
const N_CHOSEN: usize = 4096;

/// Returns whether a case is judged beside the PyTorch code of its op: a device can make its inputs.
pub(crate) fn is_of_module(op: &OpDef, case: &Case) -> bool {
    let Ok(outputs) = op.infer(case) else { return false };
    torch_code::is_known(op)
        && case.class.is_large()
        && outputs.iter().all(|spec| spec.numel() > 0 && spec.dtype == DType::F32)
        && Values::new(case, 0).is_some()
}

/// Returns the implementation that gives the results, where the op has PyTorch code.
pub(crate) fn reference(op: &OpDef) -> Option<Implementation> {
    Some(Implementation::Python {
        kind: PythonKind::Triton,
        source: Some(torch_code::source(op)?),
        entry: Some(torch_code::REFERENCE.to_owned()),
    })
}

impl Prepared<'_> {
    /// Returns the elements of each output that are looked at in any case.
    pub(super) fn chosen(&self, set: usize) -> Vec<Vec<usize>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.chosen ^ set as u64);
        let numels = self.outputs.iter().map(|(_, spec)| spec.numel());
        numels.map(|numel| random_elements(numel, N_CHOSEN.min(numel), &mut rng)).collect()
    }
}

/// How closely elements are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Look {
    First,
    /// With more runs, and for factors of this unit roundoff over that of f32 (0: of f32).
    Second {
        factor: f64,
    },
}

/// Runs of a second look.
const SECOND_RUNS: i64 = 32;

impl Look {
    fn list(self, number: i64) -> Vec<i64> {
        match self {
            Self::First => vec![number],
            #[expect(clippy::cast_possible_truncation, reason = "a power of two below 2^17")]
            Self::Second { factor } => vec![number, SECOND_RUNS, factor as i64],
        }
    }
}

/// The module's results on the device, rounded to the types of the outputs.
pub(super) struct ModuleResults<'p> {
    python: &'p OutOfProcess<'p>,
    buffers: Vec<BufferId>,
    /// Names the values of the inputs to the process.
    number: i64,
}

impl<'p> ModuleResults<'p> {
    /// Runs the module on the inputs of a candidate.
    pub(super) fn compute(
        device: &mut dyn Device,
        python: &'p OutOfProcess<'p>,
        case: &Case,
        inputs: &[BufferId],
        outputs: &[(String, TensorSpec)],
    ) -> Result<Self, LaunchError> {
        let buffers = run(device, python, case, inputs, outputs)?;
        Ok(Self { python, buffers, number: ChaCha8Rng::from_os_rng().next_u32().into() })
    }

    /// Returns the buffer with the results of an output.
    pub(super) fn of(&self, output: usize) -> BufferId {
        self.buffers[output]
    }

    /// Computes the references of some elements of each output: the module runs again, and nothing is
    /// kept of its other elements, which can be more than the device holds.
    ///
    /// A response that is measured over few runs is too small by half for some of many elements: those that
    /// seem to be wrong are looked at once more.
    pub(super) fn points(
        &self,
        device: &mut dyn Device,
        case: &Case,
        inputs: &[BufferId],
        indices: Vec<Vec<usize>>,
        look: Look,
    ) -> Result<SampledElements, LaunchError> {
        // Every output has an element; where none is asked for, the first is computed and left out.
        let place = |&index: &usize| i64::try_from(index).unwrap_or(i64::MAX);
        let or_first = |list: &Vec<usize>| match list.is_empty() {
            true => vec![0],
            false => list.iter().map(place).collect(),
        };
        let lists = indices.iter().map(or_first);
        let lists: Vec<Vec<i64>> = std::iter::once(look.list(self.number)).chain(lists).collect();
        let parts = |list: &Vec<i64>| {
            let spec = TensorSpec::contiguous(DType::F64, &[list.len()]);
            vec![("elements".to_owned(), spec); torch_code::ELEMENTS_PARTS]
        };
        let specs: Vec<(String, TensorSpec)> = lists[1..].iter().flat_map(parts).collect();
        let python = self.python.function(torch_code::ELEMENTS, &lists);
        let buffers = run(device, &python, case, inputs, &specs)?;
        let read = buffers.iter().map(|&buffer| device.read(buffer)).collect::<Result<Vec<_>, _>>();
        free(device, buffers);
        let values: Vec<Vec<f64>> = read?.iter().map(|bytes| floats(bytes)).collect();
        let mut values = values.chunks_exact(torch_code::ELEMENTS_PARTS);
        let (mut runs, mut expected, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        for starts in indices {
            let parts = values.next().expect("each output has its parts");
            let [of, s, magnitude] = [0, 1, 2].map(|part| match starts.is_empty() {
                true => Vec::new(),
                false => parts[part].clone(),
            });
            expected.push(of);
            let magnitude = (!starts.is_empty()).then_some(magnitude);
            bounds.push(Bound { s, magnitude, inside: None, jumps: None });
            runs.push(Runs { starts, len: 1 });
        }
        Ok(SampledElements::of(runs, expected, bounds))
    }

    pub(super) fn free(self, device: &mut dyn Device) {
        free(device, self.buffers);
    }
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(DType::F64.size()).map(|bytes| decode(DType::F64, bytes)).collect()
}

/// Calls a function of the module's text; returns the buffers with its results.
fn run(
    device: &mut dyn Device,
    python: &OutOfProcess<'_>,
    case: &Case,
    inputs: &[BufferId],
    specs: &[(String, TensorSpec)],
) -> Result<Vec<BufferId>, LaunchError> {
    let mut outputs = Vec::new();
    let ran = fill(device, python, case, inputs, specs, &mut outputs);
    match ran {
        Ok(()) => Ok(outputs),
        Err(error) => {
            free(device, outputs);
            Err(error)
        }
    }
}

fn fill(
    device: &mut dyn Device,
    python: &OutOfProcess<'_>,
    case: &Case,
    inputs: &[BufferId],
    specs: &[(String, TensorSpec)],
    outputs: &mut Vec<BufferId>,
) -> Result<(), LaunchError> {
    for (name, spec) in specs {
        outputs.push(device.alloc(name, spec.storage_bytes(), spec.dtype.size())?);
    }
    python.bind(device, CaseBuffers { case, inputs, outputs, specs })?.run(device)
}

fn free(device: &mut dyn Device, buffers: Vec<BufferId>) {
    for buffer in buffers {
        device.free(buffer);
    }
}
