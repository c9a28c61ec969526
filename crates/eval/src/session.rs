//! The buffers of one case on a device, and its steps.

use kgen_device::{BufferId, Device, KernelArg, Launch, LaunchError, ModuleId, TimedOp};
use kgen_kernel::BoundArg;
use kgen_record::{BufferRef, Case, Finding, HostTensor, Step, TensorSpec, Verdict, View};

use super::{
    BoundLaunch, CaseProgram,
    copy::copy_launch,
    external::{BoundCall, CaseBuffers, External},
};

/// Operations that are queued before they are waited for: a queue that is full makes the launch wait,
/// for which there is no limit.
const MAX_QUEUED: usize = 256;

/// Where the values of a case's inputs come from.
pub(super) trait InputSource {
    /// Writes the values of all inputs into their buffers.
    fn write(&self, device: &mut dyn Device, inputs: &[BufferId]) -> Result<(), LaunchError>;

    /// Returns an input that no longer holds its values, by its position, and the first storage
    /// element that differs.
    fn changed(
        &self,
        device: &mut dyn Device,
        inputs: &[BufferId],
    ) -> Result<Option<(usize, usize)>, LaunchError>;
}

impl InputSource for Vec<HostTensor> {
    fn write(&self, device: &mut dyn Device, inputs: &[BufferId]) -> Result<(), LaunchError> {
        for (&buffer, tensor) in inputs.iter().zip(self) {
            device.write(buffer, &tensor.storage)?;
        }
        Ok(())
    }

    fn changed(
        &self,
        device: &mut dyn Device,
        inputs: &[BufferId],
    ) -> Result<Option<(usize, usize)>, LaunchError> {
        for (input, (&buffer, tensor)) in inputs.iter().zip(self).enumerate() {
            let now = device.read(buffer)?;
            if now == tensor.storage {
                continue;
            }
            let byte = now.iter().zip(&tensor.storage).position(|(a, b)| a != b);
            return Ok(byte.map(|byte| (input, byte / tensor.spec.dtype.size())));
        }
        Ok(None)
    }
}

/// One case's buffers on a device; they live until [`Session::close`].
pub(super) struct Session<'a> {
    case: &'a Case,
    program: &'a CaseProgram,
    module: Option<ModuleId>,
    copy: Option<ModuleId>,
    /// The call that computes the outputs where no plan does.
    call: Option<Box<dyn BoundCall + 'a>>,
    inputs: Vec<BufferId>,
    outputs: Vec<BufferId>,
    scratch: Vec<BufferId>,
    /// Whether the inputs are another session's.
    borrows: bool,
}

/// Where a case's code is.
#[derive(Clone, Copy)]
pub(super) struct Modules<'a> {
    /// The candidate's variant, where kgen compiled it.
    candidate: Option<ModuleId>,
    /// kgen's copy kernel.
    copy: Option<ModuleId>,
    /// The implementation that is called instead.
    external: Option<&'a dyn External>,
}

impl<'a> Modules<'a> {
    /// Returns a variant of a kernel file, where there is one, and kgen's copy kernel, where the
    /// plan needs that.
    pub(super) const fn loaded(candidate: Option<ModuleId>, copy: Option<ModuleId>) -> Self {
        Self { candidate, copy, external: None }
    }

    /// Returns whether the code is called and not compiled.
    pub(super) const fn is_external(&self) -> bool {
        self.external.is_some()
    }

    /// Returns code that is called and not compiled; its program launches nothing.
    pub(super) const fn external(external: &'a dyn External) -> Self {
        Self { candidate: None, copy: None, external: Some(external) }
    }
}

impl<'a> Session<'a> {
    fn without_buffers(case: &'a Case, program: &'a CaseProgram, modules: &Modules<'a>) -> Self {
        Self {
            case,
            program,
            module: modules.candidate,
            copy: modules.copy,
            call: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            scratch: Vec::new(),
            borrows: false,
        }
    }

    /// Allocates all buffers of a case and writes its inputs.
    pub(super) fn open(
        device: &mut dyn Device,
        case: &'a Case,
        program: &'a CaseProgram,
        modules: Modules<'a>,
        inputs: &dyn InputSource,
        outputs: &[(String, TensorSpec)],
    ) -> Result<Self, LaunchError> {
        let mut session = Self::without_buffers(case, program, &modules);
        let ready = session.allocate(device, inputs, outputs);
        match ready.and_then(|()| session.bind(device, modules.external, outputs)) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.close(device);
                Err(error)
            }
        }
    }

    fn bind(
        &mut self,
        device: &mut dyn Device,
        external: Option<&'a dyn External>,
        outputs: &[(String, TensorSpec)],
    ) -> Result<(), LaunchError> {
        let Some(external) = external else { return Ok(()) };
        let buffers = CaseBuffers {
            case: self.case,
            inputs: &self.inputs,
            outputs: &self.outputs,
            specs: outputs,
        };
        self.call = Some(external.bind(device, buffers)?);
        Ok(())
    }

    /// Allocates outputs and scratch for another program of a case, which reads the same inputs.
    pub(super) fn beside(
        device: &mut dyn Device,
        of: &Session<'_>,
        case: &'a Case,
        program: &'a CaseProgram,
        modules: Modules<'a>,
        outputs: &[(String, TensorSpec)],
    ) -> Result<Self, LaunchError> {
        let mut session = Self {
            inputs: of.inputs.clone(),
            borrows: true,
            ..Self::without_buffers(case, program, &modules)
        };
        match session.allocate_rest(device, outputs) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.close(device);
                Err(error)
            }
        }
    }

    fn allocate(
        &mut self,
        device: &mut dyn Device,
        inputs: &dyn InputSource,
        outputs: &[(String, TensorSpec)],
    ) -> Result<(), LaunchError> {
        for (name, tensor) in self.case.tensors() {
            let spec = &tensor.spec;
            self.inputs.push(device.alloc(&name, spec.storage_bytes(), spec.dtype.size())?);
        }
        inputs.write(device, &self.inputs)?;
        self.allocate_rest(device, outputs)
    }

    fn allocate_rest(
        &mut self,
        device: &mut dyn Device,
        outputs: &[(String, TensorSpec)],
    ) -> Result<(), LaunchError> {
        for (name, spec) in outputs {
            self.outputs.push(device.alloc(name, spec.storage_bytes(), spec.dtype.size())?);
        }
        for scratch in &self.program.plan.scratch {
            let bytes = usize::try_from(scratch.bytes).map_err(|_| {
                LaunchError::verdict(Verdict::LaunchError, Finding::new("scratch too large"))
            })?;
            self.scratch.push(device.alloc(&scratch.label, bytes, scratch.element_bytes)?);
        }
        Ok(())
    }

    /// Writes other data into the inputs.
    pub(super) fn rewrite(
        &self,
        device: &mut dyn Device,
        inputs: &dyn InputSource,
    ) -> Result<(), LaunchError> {
        inputs.write(device, &self.inputs)
    }

    /// Frees all buffers.
    pub(super) fn close(mut self, device: &mut dyn Device) {
        // Whoever else sees the buffers lets go of them first.
        drop(self.call.take());
        let inputs = if self.borrows { Vec::new() } else { self.inputs };
        for buffer in inputs.into_iter().chain(self.outputs).chain(self.scratch) {
            device.free(buffer);
        }
    }

    /// Fills outputs and scratch with a byte that no honest result consists of.
    pub(super) fn poison(&self, device: &mut dyn Device, byte: u8) -> Result<(), LaunchError> {
        for &buffer in self.outputs.iter().chain(&self.scratch) {
            device.fill(buffer, &[byte])?;
        }
        Ok(())
    }

    /// Returns the buffers to poison before a timed launch.
    pub(super) fn poisoned(&self) -> Vec<BufferId> {
        self.outputs.iter().chain(&self.scratch).copied().collect()
    }

    /// Returns the call that computes the outputs where no plan does.
    pub(super) fn call(&self) -> Option<&dyn BoundCall> {
        self.call.as_deref()
    }

    /// Computes the outputs once and waits for them: by the plan's steps, or by a call.
    pub(super) fn run(&self, device: &mut dyn Device) -> Result<(), LaunchError> {
        if let Some(call) = &self.call {
            return call.run(device);
        }
        for (index, op) in self.ops().into_iter().enumerate() {
            match op {
                TimedOp::Launch { module, launch } => device.launch(module, &launch)?,
                TimedOp::Gemm { call } => device.gemm(&call)?,
                TimedOp::Convolution { call } => device.convolution(&call)?,
                TimedOp::Fill { buffer, byte } => device.clear(buffer, byte)?,
            }
            if (index + 1).is_multiple_of(MAX_QUEUED) {
                self.wait(device)?;
            }
        }
        self.wait(device)
    }

    /// Waits for the kernels; only a candidate's have a limit.
    fn wait(&self, device: &mut dyn Device) -> Result<(), LaunchError> {
        if self.borrows { device.sync() } else { device.sync_kernels() }
    }

    /// Returns everything that the candidate's call consists of, in order.
    pub(super) fn ops(&self) -> Vec<TimedOp> {
        let cleared = self.program.plan.scratch.iter().zip(&self.scratch);
        let clears = cleared
            .filter(|(scratch, _)| scratch.zero)
            .map(|(_, &buffer)| TimedOp::Fill { buffer, byte: 0 });
        let steps = self.program.plan.steps.iter().zip(&self.program.bound);
        clears.chain(steps.filter_map(|(step, bound)| self.op(step, bound.as_ref()))).collect()
    }

    fn op(&self, step: &Step, bound: Option<&BoundLaunch>) -> Option<TimedOp> {
        match step {
            Step::Launch { grid, block, smem, attributes, .. } => {
                let bound = bound.expect("every launch step was bound");
                let args = bound.args.iter().map(|arg| self.kernel_arg(arg)).collect();
                let launch = Launch {
                    kernel: bound.entry.clone(),
                    grid: *grid,
                    block: *block,
                    smem: *smem,
                    args,
                    attributes: *attributes,
                };
                let module = self.module.expect("a program with a launch was loaded");
                Some(TimedOp::Launch { module, launch })
            }
            Step::Fill { target, byte } => {
                Some(TimedOp::Fill { buffer: self.buffer(*target), byte: *byte })
            }
            Step::Copy { source, target } => self.copy_op(source, *target),
            Step::Gemm { call } => {
                Some(TimedOp::Gemm { call: Box::new(call.map(|buffer| self.buffer(buffer))) })
            }
            Step::Convolution { call } => {
                let call = Box::new(call.map(|buffer| self.buffer(buffer)));
                Some(TimedOp::Convolution { call })
            }
        }
    }

    /// Returns the launch of kgen's copy kernel; `None` where there is nothing to copy.
    fn copy_op(&self, source: &View, target: BufferRef) -> Option<TimedOp> {
        let module = self.copy.expect("a program with a copy step carries the copy kernel");
        let copy = copy_launch(&source.spec)?;
        let from = self.buffer(source.buffer);
        let mut args = vec![
            KernelArg::Pointer { buffer: from, byte_offset: copy.byte_offset },
            KernelArg::Pointer { buffer: self.buffer(target), byte_offset: 0 },
        ];
        args.extend(copy.scalars.into_iter().map(KernelArg::Bytes));
        let launch = Launch {
            kernel: copy.kernel.to_owned(),
            grid: [copy.grid, 1, 1],
            block: [copy.block, 1, 1],
            args,
            ..Launch::default()
        };
        Some(TimedOp::Launch { module, launch })
    }

    fn kernel_arg(&self, arg: &BoundArg) -> KernelArg {
        match arg {
            BoundArg::Pointer { buffer, byte_offset } => {
                KernelArg::Pointer { buffer: self.buffer(*buffer), byte_offset: *byte_offset }
            }
            BoundArg::TensorMap { buffer, byte_offset, map } => {
                let (buffer, map) = (self.buffer(*buffer), map.clone());
                KernelArg::TensorMap { buffer, byte_offset: *byte_offset, map }
            }
            BoundArg::Null => KernelArg::Null,
            BoundArg::Bytes(bytes) => KernelArg::Bytes(bytes.clone()),
        }
    }

    fn buffer(&self, buffer: BufferRef) -> BufferId {
        match buffer {
            BufferRef::Input(index) => self.inputs[index],
            BufferRef::Output(index) => self.outputs[index],
            BufferRef::Scratch(index) => self.scratch[index],
        }
    }

    /// Checks guard zones and inputs after a run.
    pub(super) fn check(
        &self,
        device: &mut dyn Device,
        inputs: &dyn InputSource,
    ) -> Result<(), LaunchError> {
        for &buffer in self.inputs.iter().chain(&self.outputs).chain(&self.scratch) {
            device.check_guards(buffer)?;
        }
        let Some((input, element)) = inputs.changed(device, &self.inputs)? else { return Ok(()) };
        let name = self.case.tensors().nth(input).map(|(name, _)| name).unwrap_or_default();
        let finding = Finding::new(format!(
            "input `{name}` was changed, first at storage element {element}: inputs are read-only"
        ));
        Err(LaunchError::verdict(Verdict::InputModified, finding))
    }

    /// Returns the buffers of the inputs.
    pub(super) fn inputs(&self) -> &[BufferId] {
        &self.inputs
    }

    pub(super) fn output_buffer(&self, index: usize) -> BufferId {
        self.outputs[index]
    }

    /// Reads an output back.
    pub(super) fn output(
        &self,
        device: &mut dyn Device,
        index: usize,
    ) -> Result<Vec<u8>, LaunchError> {
        device.read(self.outputs[index])
    }

    /// Reads all outputs back.
    pub(super) fn outputs(&self, device: &mut dyn Device) -> Result<Vec<Vec<u8>>, LaunchError> {
        self.outputs.iter().map(|&output| device.read(output)).collect()
    }

    /// Returns which bytes of an output were never written, where the device knows.
    pub(super) fn unwritten(&self, device: &mut dyn Device, index: usize) -> Option<Vec<bool>> {
        device.unwritten(self.outputs[index])
    }

    pub(super) fn scratch(&self) -> &[BufferId] {
        &self.scratch
    }

    /// Returns the bytes of all buffers together.
    pub(super) fn bytes(&self, device: &dyn Device) -> u64 {
        let all = self.inputs.iter().chain(&self.outputs).chain(&self.scratch);
        all.map(|&buffer| device.size(buffer) as u64).sum()
    }
}
