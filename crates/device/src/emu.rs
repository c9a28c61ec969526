//! The emulator as a device.

use std::collections::{BTreeMap, HashMap};

use kgen_measure::Flush;
use kgen_record::{
    Convolution, Emulation, Fault, Finding, Gemm, LaunchCounters, Level, RelatedAccess, Sanitize,
    SourceSpan, Target, Verdict, tensor_map::TensorMap,
};
use ptx_emu::{Blocks, Checks, Config, Coverage, Edges, Emulator, FindingKind, Module, Options};

mod library;

use super::{
    BufferId, Device, Image, KernelArg, Launch, LaunchError, ModuleId, Observed, TimedCall,
    limits::check_limits,
};

/// The PTX emulator.
///
/// Bounds are exact and every byte knows whether it was written, so guard zones are not needed.
/// It does not time.
#[derive(Debug)]
pub struct EmuDevice {
    target: Target,
    emulator: Emulator,
    options: Options,
    buffers: HashMap<BufferId, Buffer>,
    modules: HashMap<ModuleId, Module>,
    /// Coverage of each module by launches whose outputs were judged.
    coverage: HashMap<ModuleId, Coverage>,
    /// Coverage by the launches since then.
    unjudged: Vec<(ModuleId, Coverage)>,
    next_id: u32,
    observed: Observed,
    /// Lane instructions that launches may still spend.
    budget: u64,
}

/// A buffer of the emulator and its size, in bytes.
#[derive(Debug, Clone, Copy)]
struct Buffer {
    raw: ptx_emu::BufferId,
    bytes: usize,
}

impl EmuDevice {
    /// Returns an emulator that reports the facts of `target`.
    #[must_use]
    pub fn new(target: &Target) -> Self {
        Self {
            target: target.clone(),
            emulator: Emulator::new(Config { n_sm: target.sm_count, ..Config::default() }),
            // Several workers run at once, so each keeps to one core.
            options: Options { threads: 1, coverage: true, ..Options::default() },
            buffers: HashMap::new(),
            modules: HashMap::new(),
            coverage: HashMap::new(),
            unjudged: Vec::new(),
            next_id: 0,
            observed: Observed::default(),
            budget: u64::MAX,
        }
    }

    /// Sets the checks and counters of launches from here on.
    pub fn set_emulation(&mut self, emulation: Emulation) {
        self.options.checks = match emulation.sanitize {
            Sanitize::Full => Checks::FULL,
            Sanitize::Memory => Checks::MEMORY,
            Sanitize::Bounds => Checks::BOUNDS,
        };
        self.options.counters = emulation.counters;
    }

    /// Lets launches from here on run so many of their blocks alone, drawn from a seed, or all.
    pub fn sample_blocks(&mut self, count_and_seed: Option<(usize, u64)>) {
        self.options.blocks = match count_and_seed {
            Some((count, seed)) => Blocks::Sample { count, seed },
            None => Blocks::All,
        };
    }

    /// Keeps the coverage by launches since the last call, or drops it where nobody has judged their
    /// outputs.
    pub fn commit_coverage(&mut self, judged: bool) {
        for (module, coverage) in self.unjudged.drain(..).filter(|_| judged) {
            self.coverage.entry(module).or_default().merge(&coverage);
        }
    }

    /// Returns the lines of the kernel file that a module has code of, each with whether a thread
    /// executed any of it.
    #[must_use]
    pub fn lines(&self, module: ModuleId) -> BTreeMap<u32, bool> {
        self.modules[&module].lines(self.coverage.get(&module).unwrap_or(&Coverage::default()))
    }

    /// Returns the lines of a module's loops that ran, each with whether the body of one ran twice.
    #[must_use]
    pub fn loops(&self, module: ModuleId) -> BTreeMap<u32, bool> {
        self.modules[&module].loops(self.coverage.get(&module).unwrap_or(&Coverage::default()))
    }

    /// Returns the lines of a module's branches that ran, each with the ways that they went.
    #[must_use]
    pub fn branches(&self, module: ModuleId) -> BTreeMap<u32, Edges> {
        self.modules[&module].branches(self.coverage.get(&module).unwrap_or(&Coverage::default()))
    }

    fn buffer(&self, id: BufferId) -> Buffer {
        *self.buffers.get(&id).expect("the buffer was allocated and is not freed")
    }

    fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Returns the bytes of an argument.
    fn argument(&self, arg: &KernelArg) -> Vec<u8> {
        match arg {
            KernelArg::Pointer { buffer, byte_offset } => {
                let address = self.emulator.address(self.buffer(*buffer).raw);
                address.wrapping_add_signed(*byte_offset).to_le_bytes().to_vec()
            }
            KernelArg::TensorMap { buffer, byte_offset, map } => {
                let address = self.emulator.address(self.buffer(*buffer).raw);
                let address = address.wrapping_add_signed(*byte_offset);
                TensorMap { address, ..(**map).clone() }.encode().to_vec()
            }
            KernelArg::Null => vec![0; 8],
            KernelArg::Bytes(bytes) => bytes.clone(),
        }
    }
}

impl Device for EmuDevice {
    fn target(&self) -> &Target {
        &self.target
    }

    fn level(&self) -> Level {
        Level::Emu
    }

    fn set_budget(&mut self, lane_instructions: u64) {
        self.budget = lane_instructions;
    }

    fn load(&mut self, image: &Image<'_>) -> Result<ModuleId, LaunchError> {
        // NVRTC made the text: syntax that the parser does not know is its own limit.
        let module = Module::parse(image.ptx).map_err(|error| {
            LaunchError::verdict(
                Verdict::Unsupported,
                Finding::new(format!("unsupported: {error}")),
            )
        })?;
        let id = ModuleId(self.next_id());
        self.modules.insert(id, module);
        Ok(id)
    }

    fn unload(&mut self, module: ModuleId) {
        self.modules.remove(&module);
        self.coverage.remove(&module);
    }

    fn alloc(
        &mut self,
        label: &str,
        bytes: usize,
        element_bytes: usize,
    ) -> Result<BufferId, LaunchError> {
        let raw = self.emulator.alloc(label, bytes, element_bytes);
        let id = BufferId(self.next_id());
        self.buffers.insert(id, Buffer { raw, bytes });
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        if let Some(buffer) = self.buffers.remove(&buffer) {
            self.emulator.free(buffer.raw);
        }
    }

    fn size(&self, buffer: BufferId) -> usize {
        self.buffer(buffer).bytes
    }

    fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), LaunchError> {
        let buffer = self.buffer(buffer);
        self.emulator.write(buffer.raw, &bytes[..bytes.len().min(buffer.bytes)]);
        Ok(())
    }

    fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, LaunchError> {
        Ok(self.emulator.bytes(self.buffer(buffer).raw).to_vec())
    }

    fn read_part(
        &mut self,
        buffer: BufferId,
        from: usize,
        len: usize,
    ) -> Result<Vec<u8>, LaunchError> {
        Ok(self.emulator.bytes(self.buffer(buffer).raw)[from..][..len].to_vec())
    }

    fn fill(&mut self, buffer: BufferId, pattern: &[u8]) -> Result<(), LaunchError> {
        self.emulator.poison(self.buffer(buffer).raw, pattern);
        Ok(())
    }

    fn clear(&mut self, buffer: BufferId, byte: u8) -> Result<(), LaunchError> {
        let buffer = self.buffer(buffer);
        self.emulator.write(buffer.raw, &vec![byte; buffer.bytes]);
        Ok(())
    }

    fn check_guards(&mut self, _buffer: BufferId) -> Result<(), LaunchError> {
        Ok(())
    }

    fn unwritten(&mut self, buffer: BufferId) -> Option<Vec<bool>> {
        let written = self.emulator.written(self.buffer(buffer).raw);
        Some(written.into_iter().map(|written| !written).collect())
    }

    fn launch(&mut self, module: ModuleId, launch: &Launch) -> Result<(), LaunchError> {
        check_limits(launch, &self.target)?;
        let args = launch.args.iter().map(|arg| self.argument(arg)).collect();
        let id = module;
        let module = self.modules.get(&id).expect("the module is loaded");
        let emulated = ptx_emu::Launch {
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            dynamic_smem: launch.smem,
            cluster: launch.attributes.cluster,
            args,
        };
        self.options.limits.lane_instructions = self.budget;
        self.options.cooperative = Some(launch.attributes.cooperative);
        self.options.dependent = launch.attributes.pdl;
        let mut report = self.emulator.launch(module, &emulated, &self.options);
        self.budget = self.budget.saturating_sub(report.lane_instructions);
        self.observed.lane_instructions += report.lane_instructions;
        self.observed.findings.extend(report.findings.iter().cloned().map(finding));
        self.unjudged.extend(report.coverage.take().map(|coverage| (id, coverage)));
        if let Some(counters) = report.counters.take() {
            let kernel = launch.kernel.clone();
            self.observed.counters.push(LaunchCounters { kernel, counters });
        }
        report.into_result().map(|_| ()).map_err(converted)
    }

    fn gemm(&mut self, call: &Gemm<BufferId>) -> Result<(), LaunchError> {
        self.matrix_product(call)
    }

    fn convolution(&mut self, call: &Convolution<BufferId>) -> Result<(), LaunchError> {
        self.convolve(call)
    }

    fn observed(&mut self) -> Observed {
        std::mem::take(&mut self.observed)
    }

    fn sync(&mut self) -> Result<(), LaunchError> {
        Ok(())
    }

    fn time(
        &mut self,
        _calls: &[TimedCall],
        _order: &[usize],
        _flush: Flush,
    ) -> Result<Option<Vec<f64>>, LaunchError> {
        Ok(None)
    }
}

/// Turns an error of the emulator into one of kgen.
fn converted(error: ptx_emu::LaunchError) -> LaunchError {
    match error {
        ptx_emu::LaunchError::Fault(fault) => {
            LaunchError::verdict(verdict_of(fault.kind), finding(*fault))
        }
        ptx_emu::LaunchError::Unsupported { message, line, .. } => {
            at_line(Verdict::Unsupported, message, line)
        }
        ptx_emu::LaunchError::Deadlock { message, line, .. } => {
            at_line(Verdict::Deadlock, message, line)
        }
        ptx_emu::LaunchError::Launch { message } => at_line(Verdict::LaunchError, message, None),
        ptx_emu::LaunchError::Budget { message, .. } => {
            LaunchError::Budget { reason: message, endless: false }
        }
    }
}

fn at_line(verdict: Verdict, message: String, line: Option<u32>) -> LaunchError {
    LaunchError::verdict(verdict, Finding { span: span(line), ..Finding::new(message) })
}

/// Returns a span without text: the device does not know the kernel file.
fn span(line: Option<u32>) -> Option<SourceSpan> {
    line.map(|line| SourceSpan { line, column: 0, text: String::new() })
}

const fn verdict_of(kind: FindingKind) -> Verdict {
    match kind {
        FindingKind::UninitialisedRead
        | FindingKind::UninitialisedRegister
        | FindingKind::AsyncRead => Verdict::Uninitialised,
        FindingKind::SharedRace | FindingKind::GlobalRace => Verdict::Race,
        FindingKind::BarrierDivergence => Verdict::Deadlock,
        // The enum may grow; whatever stops a thread is a fault.
        _ => Verdict::Fault,
    }
}

/// Turns the emulator's finding into kgen's.
fn finding(mut fault: ptx_emu::Finding) -> Finding {
    let message = fault.message.clone();
    let hint = fault.hint.take();
    Finding { message, span: span(fault.line), hint, fault: Some(record(fault)) }
}

fn record(fault: ptx_emu::Finding) -> Fault {
    let other = fault.other.map(|other| RelatedAccess {
        what: other.what,
        line: other.line,
        instruction: other.instruction,
        by: other.block.zip(other.thread),
    });
    Fault {
        kind: fault.kind.name().to_owned(),
        kernel: fault.kernel,
        line: fault.line,
        instruction: Some(fault.instruction),
        block: Some(fault.block),
        thread: Some(fault.thread),
        buffer: fault.buffer,
        element: fault.element,
        buffer_elements: fault.buffer_elements,
        n_threads: u32::try_from(fault.n_threads).unwrap_or(u32::MAX),
        elements: fault.elements,
        other,
        message: fault.message,
    }
}

#[cfg(test)]
mod tests;
