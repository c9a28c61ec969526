//! Cases whose results a PyTorch module gives in f64, on the device.
//!
//! The module runs after the candidate, on the same inputs, in the Python process. Every output element of
//! the candidate is compared on the device with the module's, rounded; those that differ, and some
//! thousand chosen ones, are held against its f64 results by the judge's own rule, with the responses to
//! roundings that the process measures.

use kgen_baseline::module;
use kgen_device::{BufferId, Device, LaunchError};
use kgen_ops::{
    op::OpDef,
    reference::{Bound, Runs},
};
use kgen_record::{Case, DType, Implementation, PythonKind, TensorSpec, tensor::decode};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::{
    Prepared,
    device_kernels::DeviceKernels,
    sampled_elements::{SampledElements, random_elements},
    source::Values,
};
use crate::{
    external::{CaseBuffers, External as _},
    side::Python,
};

/// Elements of each output that are chosen.
const N_CHOSEN: usize = 4096;

/// Returns whether a case is judged beside the module of its op: a device can make its inputs, and
/// nothing in the module is drawn.
pub(crate) fn is_of_module(op: &OpDef, case: &Case) -> bool {
    let Ok(outputs) = op.infer(case) else { return false };
    op.module.as_ref().is_some_and(|module| !module.draws)
        && case.class.is_large()
        && outputs.iter().all(|spec| spec.numel() > 0 && spec.dtype == DType::F32)
        && Values::new(case, 0).is_some()
}

/// Returns the implementation that gives the results, where the op has a module.
pub(crate) fn reference(op: &OpDef) -> Option<Implementation> {
    Some(Implementation::Python {
        kind: PythonKind::Triton,
        source: Some(module::source(op.module.as_ref()?)),
        entry: Some(module::REFERENCE.to_owned()),
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

/// The module's results on the device: per output of the op those of [`module::REFERENCE`].
pub(super) struct ModuleResults {
    buffers: Vec<BufferId>,
}

impl ModuleResults {
    /// Runs the module on the inputs of a candidate.
    pub(super) fn compute(
        device: &mut dyn Device,
        python: &Python<'_>,
        case: &Case,
        inputs: &[BufferId],
        outputs: &[(String, TensorSpec)],
    ) -> Result<Self, LaunchError> {
        let parts = |(name, spec): &(String, TensorSpec)| {
            let wide = TensorSpec::contiguous(DType::F64, &spec.shape);
            let own = TensorSpec::contiguous(spec.dtype, &spec.shape);
            let response = TensorSpec::contiguous(DType::F32, &spec.shape);
            [own, wide, response.clone(), response].map(|spec| (name.clone(), spec))
        };
        let specs: Vec<(String, TensorSpec)> = outputs.iter().flat_map(parts).collect();
        let mut results = Self { buffers: Vec::new() };
        let ran = results.run(device, python, case, inputs, &specs);
        match ran {
            Ok(()) => Ok(results),
            Err(error) => {
                results.free(device);
                Err(error)
            }
        }
    }

    fn run(
        &mut self,
        device: &mut dyn Device,
        python: &Python<'_>,
        case: &Case,
        inputs: &[BufferId],
        specs: &[(String, TensorSpec)],
    ) -> Result<(), LaunchError> {
        for (name, spec) in specs {
            self.buffers.push(device.alloc(name, spec.storage_bytes(), spec.dtype.size())?);
        }
        let buffers = CaseBuffers { case, inputs, outputs: &self.buffers, specs };
        python.bind(device, buffers)?.run(device)
    }

    /// Returns the buffer with the results of an output in its own type.
    pub(super) fn rounded(&self, output: usize) -> BufferId {
        self.buffers[output * module::REFERENCE_PARTS]
    }

    /// Reads the references of some elements of each output.
    pub(super) fn points(
        &self,
        device: &mut dyn Device,
        kit: DeviceKernels,
        indices: Vec<Vec<usize>>,
    ) -> Result<SampledElements, LaunchError> {
        let mut read = |output: usize, part: usize, at: &[usize]| {
            let buffer = self.buffers[output * module::REFERENCE_PARTS + part];
            let dtype = if part == 1 { DType::F64 } else { DType::F32 };
            let bytes = kit.gather(device, buffer, dtype.size(), at)?;
            let elements = bytes.chunks_exact(dtype.size());
            Ok::<Vec<f64>, LaunchError>(elements.map(|bytes| decode(dtype, bytes)).collect())
        };
        let (mut runs, mut expected, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        for (output, starts) in indices.into_iter().enumerate() {
            if starts.is_empty() {
                expected.push(Vec::new());
                bounds.push(Bound { s: Vec::new(), magnitude: None, inside: None, jumps: None });
            } else {
                expected.push(read(output, 1, &starts)?);
                let (s, magnitude) = (read(output, 2, &starts)?, Some(read(output, 3, &starts)?));
                bounds.push(Bound { s, magnitude, inside: None, jumps: None });
            }
            runs.push(Runs { starts, len: 1 });
        }
        Ok(SampledElements::of(runs, expected, bounds))
    }

    pub(super) fn free(&mut self, device: &mut dyn Device) {
        for buffer in self.buffers.drain(..) {
            device.free(buffer);
        }
    }
}
