//! An implementation that runs in a process beside the worker, bound to the buffers of a case.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};

use kgen_baseline::side::{
    Callee, Client, Flush, Kind, Location, Prepare, Prepared, RefusalKind, Sampling, call,
};
use kgen_device::{BufferId, Device, LaunchError};
use kgen_ops::op::OpDef;
use kgen_record::{Finding, Implementation, Precision, PythonKind, Target, TensorSpec, Verdict};

use super::{
    files::Files,
    process::{Failure, Process, Processes},
};
use crate::external::{BoundCall, CaseBuffers, External};

/// Returns the time that a call has to come into being: PyTorch loads libraries, Triton and Inductor
/// compile. A first call that hangs is noticed after that.
const fn prepare_limit(kind: Kind) -> Duration {
    let kind = match kind {
        Kind::Python(kind) => kind,
        // Burn compiles and times candidates at the first call.
        Kind::Adapter(_) => return Duration::from_secs(120),
    };
    Duration::from_secs(match kind {
        PythonKind::Aten => 30,
        PythonKind::FlagGems | PythonKind::Triton => 60,
        // JAX and ONNX Runtime set up the GPU for themselves at the first call.
        PythonKind::TorchCompile | PythonKind::Jax | PythonKind::CuPy | PythonKind::OnnxRuntime => {
            120
        }
        // Inductor compiles and times candidates for every product.
        PythonKind::TorchMaxAutotune => 600,
    })
}

/// Calls that are thrown away after the process got the GPU.
const WARM_UP: u32 = 1;

/// An implementation for an op that a process beside the worker runs.
pub(crate) struct OutOfProcess<'p> {
    process: &'p Process<'p>,
    op: Arc<OpDef>,
    callee: Callee<'p>,
    precision: Precision,
    run_limit: Duration,
}

impl<'p> OutOfProcess<'p> {
    /// Returns an implementation in its process; `None` where none runs it.
    ///
    /// `run_s`: seconds that one call may take.
    pub(crate) fn new(
        processes: &'p Processes<'p>,
        op: &Arc<OpDef>,
        implementation: &'p Implementation,
        precision: Precision,
        run_s: f64,
    ) -> Option<Self> {
        let process = processes.of(implementation)?;
        let (kind, source, entry) = match implementation {
            Implementation::Python { kind, source, entry } => {
                (Kind::Python(*kind), source.as_deref(), entry.as_deref())
            }
            Implementation::Adapter { library } => (Kind::Adapter(*library), None, None),
            Implementation::Kernel { .. } | Implementation::Library { .. } => return None,
        };
        let callee = Callee { kind, source, entry, lists: &[] };
        let run_limit = Duration::try_from_secs_f64(run_s).unwrap_or(prepare_limit(kind));
        Some(Self { process, op: Arc::clone(op), callee, precision, run_limit })
    }

    /// Returns another function of the same module, which is given lists behind the op's arguments.
    pub(crate) fn function<'q>(
        &'q self,
        entry: &'q str,
        lists: &'q [Vec<i64>],
    ) -> OutOfProcess<'q> {
        let callee = Callee { entry: Some(entry), lists, ..self.callee };
        OutOfProcess { op: Arc::clone(&self.op), callee, ..*self }
    }

    /// Returns the longest time that judging one case may wait for the process.
    pub(crate) fn limit(&self) -> Duration {
        // A case runs at most three times: on two poisons, and on other data.
        prepare_limit(self.callee.kind) + 3 * self.run_limit
    }

    /// Binds the call and makes it once.
    fn prepare(
        &self,
        device: &mut dyn Device,
        buffers: CaseBuffers<'_>,
    ) -> Result<Call<'_>, CallError> {
        device.sync()?;
        let target = device.target().clone();
        if let Some((inputs, outputs)) = on_gpu(device, buffers) {
            let call = self.worded(buffers, &inputs, outputs)?;
            match self.ask(&target, &call) {
                Ok(prepared) => return Ok(self.call(target, prepared, buffers, None, call.keep)),
                // Some systems give handles and refuse to open them: separate containers, MIG.
                Err(Failure::Refused(refusal))
                    if refusal.kind == RefusalKind::Raised
                        && refusal.message.contains("cuIpcOpenMemHandle") => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        let mut shared = Shared {
            inputs: Files::new(device, buffers.inputs)?,
            outputs: Files::new(device, buffers.outputs)?,
        };
        shared.inputs.fill(device, buffers.inputs)?;
        let places = |files: &Files, ids: &[BufferId]| {
            let sizes = ids.iter().map(|&id| device.size(id) as u64);
            files.paths().zip(sizes).map(|(path, bytes)| Location::in_file(path, bytes)).collect()
        };
        let inputs: Vec<Location> = places(&shared.inputs, buffers.inputs);
        let outputs: Vec<Location> = places(&shared.outputs, buffers.outputs);
        let call = self.worded(buffers, &inputs, outputs)?;
        let prepared = self.ask(&target, &call)?;
        Ok(self.call(target, prepared, buffers, Some(shared), call.keep))
    }

    fn worded(
        &self,
        buffers: CaseBuffers<'_>,
        inputs: &[Location],
        outputs: Vec<Location>,
    ) -> Result<Prepare, CallError> {
        let specs = buffers.specs.iter().map(|(_, spec)| spec.clone());
        let outputs: Vec<(TensorSpec, Location)> = specs.zip(outputs).collect();
        call(&self.op, buffers.case, self.callee, inputs, &outputs, self.precision).map_err(
            |error| {
                LaunchError::verdict(Verdict::Unsupported, Finding::new(error.to_string())).into()
            },
        )
    }

    fn ask(&self, target: &Target, call: &Prepare) -> Result<Prepared, Failure> {
        let run = if call.keep { self.run_limit } else { Duration::ZERO };
        let limit = prepare_limit(self.callee.kind) + run;
        self.process.ask(target, |client| client.prepare(call, limit))
    }

    fn call(
        &self,
        target: Target,
        prepared: Prepared,
        buffers: CaseBuffers<'_>,
        shared: Option<Shared>,
        computed: bool,
    ) -> Call<'_> {
        self.process.note_settings(prepared.settings);
        Call {
            process: self.process,
            target,
            kind: self.callee.kind,
            handle: prepared.handle,
            inputs: buffers.inputs.to_vec(),
            outputs: buffers.outputs.to_vec(),
            shared: shared.map(RefCell::new),
            computed: Cell::new(computed),
            limit: self.run_limit,
        }
    }
}

impl External for OutOfProcess<'_> {
    fn bind<'s>(
        &'s self,
        device: &mut dyn Device,
        buffers: CaseBuffers<'_>,
    ) -> Result<Box<dyn BoundCall + 's>, LaunchError> {
        match self.prepare(device, buffers) {
            Ok(call) => Ok(Box::new(call)),
            Err(CallError::Process(failure)) => Err(failure.into_launch_error(self.callee.kind)),
            Err(CallError::Device(error)) => Err(error),
        }
    }
}

enum CallError {
    Process(Failure),
    Device(LaunchError),
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Process(failure)
    }
}

impl From<LaunchError> for CallError {
    fn from(error: LaunchError) -> Self {
        Self::Device(error)
    }
}

/// Returns where the buffers lie on the GPU; `None` where one of them cannot be shared.
fn on_gpu(
    device: &mut dyn Device,
    buffers: CaseBuffers<'_>,
) -> Option<(Vec<Location>, Vec<Location>)> {
    let mut places = |ids: &[BufferId]| -> Option<Vec<Location>> {
        let place = |&id: &BufferId| {
            let shared = device.share(id)?;
            Some(Location::on_gpu(&shared.handle, shared.byte_offset, device.size(id) as u64))
        };
        ids.iter().map(place).collect()
    };
    Some((places(buffers.inputs)?, places(buffers.outputs)?))
}

/// Files that stand for the buffers.
struct Shared {
    inputs: Files,
    outputs: Files,
}

/// A bound call.
struct Call<'p> {
    process: &'p Process<'p>,
    target: Target,
    kind: Kind,
    handle: u64,
    inputs: Vec<BufferId>,
    outputs: Vec<BufferId>,
    /// `None` where the process sees the buffers themselves.
    shared: Option<RefCell<Shared>>,
    /// Whether the outputs are there from the first call.
    computed: Cell<bool>,
    limit: Duration,
}

impl BoundCall for Call<'_> {
    fn run(&self, device: &mut dyn Device) -> Result<(), LaunchError> {
        device.sync()?;
        if !self.computed.take() {
            if let Some(shared) = &self.shared {
                shared.borrow_mut().inputs.fill(device, &self.inputs)?;
            }
            let ran = self.process.ask(&self.target, |client| client.run(self.handle, self.limit));
            ran.map_err(|failure| failure.into_launch_error(self.kind))?;
        }
        match &self.shared {
            Some(shared) => shared.borrow_mut().outputs.empty(device, &self.outputs),
            None => Ok(()),
        }
    }

    fn sample(
        &self,
        device: &mut dyn Device,
        n: usize,
        flush: kgen_measure::Flush,
    ) -> Result<Vec<f64>, LaunchError> {
        device.sync()?;
        let bytes = device.flush_bytes();
        let flush = match flush {
            kgen_measure::Flush::Memset => Flush::Memset { bytes },
            kgen_measure::Flush::Read => Flush::Read { bytes },
            kgen_measure::Flush::None => Flush::None,
        };
        let samples = u32::try_from(n).unwrap_or(u32::MAX);
        let sampling = Sampling { samples, warm_up: WARM_UP, flush };
        let time = |client: &mut Client| client.time(self.handle, sampling, self.limit);
        self.process.ask(&self.target, time).map_err(|failure| failure.into_launch_error(self.kind))
    }

    fn memory(&self) -> Result<Option<(u64, u64)>, LaunchError> {
        let memory = |client: &mut Client| client.memory(self.handle, self.limit);
        let counted = self.process.ask(&self.target, memory);
        let counted = counted.map_err(|failure| failure.into_launch_error(self.kind))?;
        Ok(counted.peak_bytes.zip(counted.workspace_bytes))
    }

    fn repeat(&self, device: &mut dyn Device, seconds: f64) -> Result<u64, LaunchError> {
        device.sync()?;
        let repeat = |client: &mut Client| client.repeat(self.handle, seconds, self.limit);
        let repeated = self.process.ask(&self.target, repeat);
        Ok(repeated.map_err(|failure| failure.into_launch_error(self.kind))?.calls)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // The process must close its mappings before kgen frees the memory behind them.
        self.process.drop_handle(self.handle);
    }
}
