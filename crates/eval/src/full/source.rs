//! Inputs that a device makes by itself.

use kgen_device::{BufferId, Device, LaunchError};
use kgen_ops::{op::Counter, reference::Runs};
use kgen_record::{Case, HostTensor, TensorArg, TensorSpec, tensor::decode};

use super::device_kernels::DeviceKernels;
use crate::session::InputSource;

/// The values of a case's tensors on one data set.
#[derive(Debug, Clone)]
pub(super) struct Values {
    tensors: Vec<(Counter, TensorSpec)>,
}

impl Values {
    /// Returns the values that belong to a seed; `None` where a device cannot make them.
    pub(super) fn new(case: &Case, seed: u64) -> Option<Self> {
        let of = case.tensors().map(|(name, tensor)| {
            let counter = Counter::new(tensor, seed, &case.id, &name)?;
            Some((counter, tensor.spec.clone()))
        });
        Some(Self { tensors: of.collect::<Option<_>>()? })
    }

    /// Computes elements of one tensor on the host.
    pub(super) fn host(&self, tensor: usize, runs: &Runs, spec: &TensorSpec) -> HostTensor {
        let mut host = HostTensor::zeroed(spec.clone());
        let (counter, whole) = &self.tensors[tensor];
        if whole.is_contiguous() {
            counter.fill(&mut host.storage, |place| runs.element(place));
        } else {
            counter.fill(&mut host.storage, |place| whole.storage_index(runs.element(place)));
        }
        host
    }

    /// Computes one element (row-major) of a tensor on the host.
    pub(super) fn element(&self, tensor: usize, index: usize) -> f64 {
        let (counter, spec) = &self.tensors[tensor];
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..counter.dtype.size()];
        counter.write(spec.storage_index(index), bytes);
        decode(counter.dtype, bytes)
    }

    /// Computes all tensors of a case on the host.
    pub(super) fn all(&self, case: &Case) -> Vec<HostTensor> {
        let whole = |((_, tensor), (counter, _)): ((_, &TensorArg), &(Counter, _))| {
            let mut host = HostTensor::zeroed(tensor.spec.clone());
            counter.fill(&mut host.storage, |place| place);
            host
        };
        case.tensors().zip(&self.tensors).map(whole).collect()
    }
}

/// Values with the kernels that make them.
pub(crate) struct Generated<'a> {
    pub(super) values: &'a Values,
    pub(super) kit: DeviceKernels,
}

impl InputSource for Generated<'_> {
    fn write(&self, device: &mut dyn Device, inputs: &[BufferId]) -> Result<(), LaunchError> {
        for (&buffer, (counter, spec)) in inputs.iter().zip(&self.values.tensors) {
            self.kit.fill(device, buffer, spec.numel(), counter)?;
        }
        Ok(())
    }

    fn changed(
        &self,
        device: &mut dyn Device,
        inputs: &[BufferId],
    ) -> Result<Option<(usize, usize)>, LaunchError> {
        for (input, (&buffer, (counter, spec))) in
            inputs.iter().zip(&self.values.tensors).enumerate()
        {
            if let Some(element) = self.kit.changed(device, buffer, spec.numel(), counter)? {
                return Ok(Some((input, element)));
            }
        }
        Ok(None)
    }
}
