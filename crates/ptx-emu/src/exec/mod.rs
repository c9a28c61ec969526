//! Launches: blocks as resumable machines, and their shared state.

mod access;
mod barrier;
mod bulk;
mod call;
mod choice;
mod cluster;
mod copy;
mod count;
mod fast;
mod fault;
mod findings;
mod matrix;
mod mbarrier;
mod parallel;
pub(crate) mod sanitize;
mod schedule;
mod simple;
pub(crate) mod special;
mod spin;
mod sync;
mod transfer;
mod waiting;
mod warp;
mod wgmma;

use std::{collections::HashMap, ops::Range};

pub(crate) use self::{parallel::Source, sanitize::dependence::Before};

use self::{
    access::Refusal,
    call::prepare,
    cluster::{Cluster, MAX_CLUSTER},
    count::Count,
    findings::Findings,
    mbarrier::Mbarriers,
    sanitize::{
        numbers::{Formats, Numbers},
        order::Order,
        races::Races,
        shadow::Shadow,
        taint::{Mark, Origins},
        unused::{Places, Unused},
    },
    schedule::Turn,
    warp::{Frame, MAX_LOCAL, Warp},
};
use crate::{
    alu::simd::Width,
    ast::Space,
    coverage::{Coverage, ENTERED},
    lower::Program,
    memory::{BufferId, INITIALISED, Memory, SHARED_SLOTS, shared_address},
    options::{Blocks, Checks, Limits, Options},
    report::{LaunchError, Report},
};

/// A kernel launch.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// Kernel's name as PTX spells it.
    pub kernel: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_smem: u32,
    /// Blocks of a cluster along x, y, z. If absent, as the kernel demands, else one block.
    pub cluster: Option<[u32; 3]>,
    /// Little-endian bytes of each argument.
    pub args: Vec<Vec<u8>>,
}

/// Shared memory of a block.
#[derive(Debug, Default)]
struct Shared {
    data: Vec<u8>,
    flags: Vec<u8>,
    /// Where the undefined values stored in it come from, by offset.
    origins: HashMap<u64, u32>,
    /// Last accesses, for the race detector.
    shadow: Shadow,
    mbarriers: Mbarriers,
    /// Products of warpgroups under way.
    warpgroups: wgmma::Warpgroups,
}

/// The state of the launch that runs.
struct Machine<'m> {
    program: &'m Program,
    memory: &'m mut Memory,
    context: LaunchContext<'m>,
    selection: Selection,
    layout: SharedLayout,
    cluster: Cluster,
    block: RunningBlock,
    progress: Progress,
    observers: Observers<'m>,
    sanitizer: Sanitizer,
    lane_instructions: u64,
    stdout: String,
    /// The access under way.
    pc: u32,
    /// The asynchronous copy that was issued last.
    last_copy: Option<u32>,
    matrix_scratch: matrix::Scratch,
    wgmma: wgmma::Scratch,
    width: Width,
}

/// The parts of a launch that do not change while it runs.
struct LaunchContext<'m> {
    launch: &'m Launch,
    kernel: usize,
    n_sm: u32,
    limits: Limits,
    params: Vec<u8>,
    /// Address of each module variable in its state space.
    variable_addresses: Vec<u64>,
    /// The buffer in which `grid.sync()` counts arrivals.
    workspace: Option<BufferId>,
    /// Launches that this one may overlap.
    before: &'m [Before],
}

/// Checks and their findings.
struct Sanitizer {
    checks: Checks,
    races: Option<Box<Races>>,
    /// Those of parts of the launch that ran apart.
    parts: Vec<Races>,
    /// Some block waited for the launch before ahead of letting the next one begin.
    orderly: bool,
    undefined: Undefined,
    findings: Findings,
    /// Accesses refused since they were last recorded.
    refusals: Vec<Refusal>,
    /// Findings about reads whose values do not matter so far.
    unused: Vec<Unused>,
    /// Constants that were reported as unset, and the marks of their bytes.
    unset: Vec<(usize, Vec<u8>)>,
}

/// The blocks to run.
struct Selection {
    blocks: Blocks,
    /// Numbers of the clusters to run, if not all.
    part: Option<Range<u64>>,
    /// Blocks that came to their ends.
    done: u64,
}

/// Places of the shared variables, by slot.
#[derive(Default)]
struct SharedLayout {
    /// Offset and size of each.
    slots: Vec<Option<(usize, usize)>>,
    variables: Vec<Option<u32>>,
    /// Bytes of all of them.
    bytes: usize,
}

#[derive(Default)]
struct RunningBlock {
    /// Position in the grid.
    at: [u32; 3],
    /// Linear index in the grid.
    index: u64,
    shared: Shared,
    /// Threads that arrived without waiting, by barrier.
    arrivals: HashMap<u32, u32>,
    /// Lanes that can no longer come to a barrier, by warp and the barrier's program counter.
    passed: HashMap<(u32, u32), u32>,
    /// Places of the lanes of each warp that does not run.
    places: Places,
    /// The order that its barriers and atomics have made.
    order: Order,
}

/// Whether the launch gets on.
#[derive(Default)]
struct Progress {
    /// A volatile load or an atomic ran since this was cleared.
    waited: bool,
    /// Any access to memory ran since this was cleared.
    touched: bool,
    /// Stores and atomics that changed something.
    changes: u64,
    /// The running block is to let others go first.
    preempt: bool,
}

/// Notes on operations beside their results.
struct Observers<'m> {
    /// Whether [`Machine::observe`] has anything to do.
    active: bool,
    count: Option<Box<Count>>,
    /// The places reached; without marks if nobody asks.
    coverage: Coverage,
    covers: bool,
    numbers: Numbers,
    /// Formats of the numbers that each operation makes; empty if nobody asks.
    formats: &'m [Option<Formats>],
}

impl<'m> Observers<'m> {
    fn new(program: &'m Program, options: &Options) -> Self {
        let (n, numerics) = (program.ops.len(), options.checks.numerics);
        Self {
            active: options.counters || numerics,
            count: options.counters.then(|| Box::new(Count::new(n))),
            coverage: if options.coverage { Coverage::new(n) } else { Coverage::default() },
            covers: options.coverage,
            numbers: Numbers { nan: numerics, infinity: numerics },
            formats: if numerics { program.formats() } else { &[] },
        }
    }
}

/// Undefined values on their way.
#[derive(Default)]
struct Undefined {
    /// First reads of uninitialised bytes.
    origins: Origins,
    /// Lanes whose last loads brought in undefined values, since this was cleared.
    loaded: u32,
    /// The last origin of values that should not have been read, since this was cleared.
    ahead: Option<u32>,
    /// Marks of values that a store under way takes from elsewhere than its registers.
    stored: Mark,
}

/// More than `grid.sync()` and its kin use.
const WORKSPACE_BYTES: usize = 256;

/// Most alignment that a shared variable gets, in bytes.
const MAX_ALIGN: usize = 1024;

/// Most shared memory of a block, static and dynamic, in bytes.
const MAX_SHARED: usize = 227 << 10;

/// Most bytes of a kernel's parameters.
const MAX_PARAMETERS: usize = 32764;

/// Most bytes of the registers of a block. Virtual registers are many more than a GPU has, and each
/// has a place of its own here.
const MAX_REGISTER_BYTES: usize = 2 << 30;

fn refuse<T>(message: impl Into<String>) -> Result<T, LaunchError> {
    Err(LaunchError::Launch { message: message.into() })
}

/// Runs a launch to its end; gives what a launch that overlaps it must know, if that is known.
pub(crate) fn launch(memory: &mut Memory, source: Source<'_>) -> (Report, Option<Before>) {
    match prepare_launch(memory, source) {
        Ok(mut machine) => {
            let end = parallel::run(&mut machine, source);
            let before = machine.left_behind(source);
            (machine.report(end), before)
        }
        Err(error) => (Report::refused(error), None),
    }
}

/// A machine at the launch's start.
fn prepare_launch<'m>(
    memory: &'m mut Memory,
    source: Source<'m>,
) -> Result<Machine<'m>, LaunchError> {
    let Source { module, variable_addresses, launch, options, n_sm, before } = source;
    let program = module.program();
    let kernel = check(program, launch)?;
    let mut machine = Machine {
        program,
        memory,
        context: LaunchContext {
            launch,
            kernel,
            n_sm,
            limits: options.limits,
            params: parameters(program, kernel, launch)?,
            variable_addresses: variable_addresses.to_vec(),
            workspace: None,
            before,
        },
        selection: Selection { blocks: options.blocks.clone(), part: None, done: 0 },
        layout: SharedLayout::default(),
        cluster: cluster(program, kernel, launch)?,
        block: RunningBlock::default(),
        progress: Progress::default(),
        observers: Observers::new(program, options),
        sanitizer: Sanitizer {
            checks: options.checks,
            races: options.checks.races.then(|| Box::new(Races::new(program.ops.len()))),
            parts: Vec::new(),
            orderly: before.is_empty(),
            undefined: Undefined::default(),
            findings: Findings::new(options.limits.findings),
            refusals: Vec::new(),
            unused: Vec::new(),
            unset: Vec::new(),
        },
        lane_instructions: 0,
        stdout: String::new(),
        pc: 0,
        last_copy: None,
        matrix_scratch: matrix::Scratch::default(),
        wgmma: wgmma::Scratch::default(),
        width: Width::of_host(),
    };
    machine.observers.coverage.mark(program.code[kernel].entry, ENTERED);
    machine.observers.coverage.largest_grid = launch.grid;
    machine.place_shared()?;
    if options.cooperative != Some(false) {
        machine.make_workspace()?;
    }
    Ok(machine)
}

/// Checks the launch's shape; gives the kernel's index.
fn check(program: &Program, launch: &Launch) -> Result<usize, LaunchError> {
    let name = &launch.kernel;
    let found = program.signatures.iter().position(|s| s.is_entry && s.name == *name);
    let Some(kernel) = found else {
        return refuse(format!("kernel `{name}` is not in the module"));
    };
    let [x, y, z] = launch.block;
    let threads = [x, y, z].into_iter().map(u64::from).fold(1, u64::saturating_mul);
    if threads == 0 || threads > 1024 || x > 1024 || y > 1024 || z > 64 {
        return refuse(format!("block ({x},{y},{z}) of `{name}` must have 1 to 1024 threads"));
    }
    let [x, y, z] = launch.grid;
    if x == 0 || y == 0 || z == 0 || x > i32::MAX as u32 || y > 65535 || z > 65535 {
        return refuse(format!("grid ({x},{y},{z}) of `{name}` is out of range"));
    }
    let frame = program.code[kernel].frame_bytes as usize;
    if frame > MAX_LOCAL {
        return refuse(format!(
            "kernel `{name}` needs {frame} bytes of local memory per thread, more than {MAX_LOCAL}"
        ));
    }
    let warps = (threads as usize).div_ceil(32);
    if warp::register_bytes(program.code[kernel].registers) * warps > MAX_REGISTER_BYTES {
        return refuse(format!("kernel `{name}` has too many registers for {threads} threads"));
    }
    Ok(kernel)
}

/// The clusters the grid is launched in.
fn cluster(program: &Program, kernel: usize, launch: &Launch) -> Result<Cluster, LaunchError> {
    let rules = program.signatures[kernel].cluster;
    let name = &launch.kernel;
    let (extents, explicit) = match (rules.required, launch.cluster) {
        (Some(required), Some(asked)) if required != asked => {
            return refuse(format!(
                "kernel `{name}` demands clusters of {required:?} blocks, not {asked:?}"
            ));
        }
        (Some(extents), _) | (None, Some(extents)) => (extents, true),
        (None, None) if rules.explicit => {
            return refuse(format!("kernel `{name}` must be launched with a cluster size"));
        }
        (None, None) => ([1; 3], false),
    };
    let blocks = extents.iter().fold(1_u32, |n, extent| n.saturating_mul(*extent));
    let most = rules.max_rank.unwrap_or(MAX_CLUSTER).min(MAX_CLUSTER);
    if blocks == 0 || blocks > most {
        return refuse(format!("a cluster of `{name}` must have 1 to {most} blocks, not {blocks}"));
    }
    if launch.grid.iter().zip(extents).any(|(grid, extent)| grid % extent != 0) {
        let grid = launch.grid;
        return refuse(format!("grid {grid:?} is not made of clusters of {extents:?} blocks"));
    }
    Ok(Cluster { extents, explicit, rank: 0, peers: Vec::new() })
}

fn parameters(program: &Program, kernel: usize, launch: &Launch) -> Result<Vec<u8>, LaunchError> {
    let signature = &program.signatures[kernel];
    let (want, got) = (signature.params.len(), launch.args.len());
    if want != got {
        return refuse(format!("kernel `{}` takes {want} arguments, {got} given", launch.kernel));
    }
    let size = signature.params.last().map_or(0, |(at, size)| at + size);
    if size > MAX_PARAMETERS {
        return refuse(format!(
            "kernel `{}` takes {size} bytes of parameters, more than {MAX_PARAMETERS}",
            launch.kernel
        ));
    }
    let mut block = vec![0; size];
    for (n, (&(at, size), arg)) in signature.params.iter().zip(&launch.args).enumerate() {
        if arg.len() != size {
            return refuse(format!(
                "argument {n} of kernel `{}` has {size} bytes, {} given",
                launch.kernel,
                arg.len()
            ));
        }
        block[at..at + size].copy_from_slice(arg);
    }
    Ok(block)
}

impl Machine<'_> {
    /// The report, given how the launch ended.
    fn report(mut self, end: Result<(), LaunchError>) -> Report {
        if let Some(id) = self.context.workspace {
            self.memory.free(id);
        }
        for (index, flags) in std::mem::take(&mut self.sanitizer.unset) {
            self.memory.buffers[index].flags = Some(flags);
        }
        if let Err(LaunchError::Fault(finding)) = &end {
            let key = (finding.kind, u32::MAX, u32::MAX);
            self.sanitizer.findings.add(key, (**finding).clone());
        }
        self.report_unused();
        self.sanitizer.findings.causes_first();
        Report {
            end,
            blocks: self.selection.done,
            counters: self.observers.count.map(|c| c.finish(self.program)),
            coverage: Some(self.observers.coverage).filter(|_| self.observers.covers),
            findings: self.sanitizer.findings.into_list(),
            lane_instructions: self.lane_instructions,
            stdout: self.stdout,
        }
    }

    /// Gives a module that asks for it the workspace of a cooperative launch: zeroed memory in
    /// which the blocks of the grid count arrivals.
    fn make_workspace(&mut self) -> Result<(), LaunchError> {
        if !self.program.cooperative {
            return Ok(());
        }
        let made = self.memory.alloc("workspace of the grid", WORKSPACE_BYTES, 4);
        let id = made.or_else(|error| refuse(error.to_string()))?;
        self.memory.buffers[id.0 as usize].flags = None;
        self.context.workspace = Some(id);
        Ok(())
    }

    fn workspace_address(&self) -> u64 {
        self.context.workspace.map_or(0, Memory::address)
    }

    /// Gives every shared variable the kernel can reach its place.
    fn place_shared(&mut self) -> Result<(), LaunchError> {
        let mut used = vec![false; self.program.variables.len()];
        for function in self.program.reachable(self.context.kernel) {
            for &v in &self.program.code[function].shared {
                used[v as usize] = true;
            }
        }
        // Slot 0 stays empty, so that no variable's address is near zero; slot 1 is dynamic memory.
        self.layout.slots = vec![None, None];
        self.layout.variables = vec![None, None];
        let mut end = 0_usize;
        let mut dynamic = None;
        let mut dynamic_align = 128;
        for (index, variable) in self.program.variables.iter().enumerate() {
            if variable.space != Space::Shared {
                continue;
            }
            if variable.is_extern || variable.bytes == 0 {
                if used[index] {
                    dynamic = dynamic.or(Some(index as u32));
                    dynamic_align = dynamic_align.max((variable.align as usize).min(MAX_ALIGN));
                }
                continue;
            }
            if !used[index] {
                continue;
            }
            let at = end.next_multiple_of((variable.align as usize).clamp(16, MAX_ALIGN));
            end = at.saturating_add(variable.bytes);
            if end > MAX_SHARED {
                return refuse(format!(
                    "kernel `{}` needs more than {MAX_SHARED} bytes of static shared memory",
                    self.context.launch.kernel
                ));
            }
            self.context.variable_addresses[index] = shared_address(self.layout.slots.len(), at);
            self.layout.slots.push(Some((at, variable.bytes)));
            self.layout.variables.push(Some(index as u32));
        }
        if self.layout.slots.len() > SHARED_SLOTS {
            let most = SHARED_SLOTS - 2;
            return refuse(format!("more than {most} shared variables are not known"));
        }
        let at = end.next_multiple_of(dynamic_align);
        for (index, variable) in self.program.variables.iter().enumerate() {
            if variable.space == Space::Shared && (variable.is_extern || variable.bytes == 0) {
                self.context.variable_addresses[index] = shared_address(1, at);
            }
        }
        let dynamic_bytes = self.context.launch.dynamic_smem as usize;
        self.layout.slots[1] = Some((at, dynamic_bytes));
        self.layout.variables[1] = dynamic;
        self.layout.bytes = at + dynamic_bytes;
        if end + dynamic_bytes > MAX_SHARED {
            return refuse(format!(
                "kernel `{}` needs {end} bytes of static and {dynamic_bytes} of dynamic shared \
                 memory, more than {MAX_SHARED}",
                self.context.launch.kernel
            ));
        }
        Ok(())
    }

    /// Address of the byte at an offset of the block's shared memory.
    fn shared_address_of(&self, offset: u64) -> u64 {
        let holds = |(at, size): (usize, usize)| offset >= at as u64 && offset < (at + size) as u64;
        let slot = self.layout.slots.iter().position(|s| s.is_some_and(holds)).unwrap_or(0);
        // A lane that does not take part may stand anywhere.
        shared_address(slot, offset as usize & 0x7_ffff)
    }

    fn new_warp(&self, index: u32) -> Warp {
        let mut warp = Warp { index, ..Warp::default() };
        let [x, y, _] = self.context.launch.block;
        for lane in 0..32 {
            let thread = index * 32 + lane;
            let at = [thread % x, thread / x % y, thread / (x * y)];
            for (axis, at) in warp.tid.iter_mut().zip(at) {
                axis[lane as usize] = at;
            }
        }
        let code = &self.program.code[self.context.kernel];
        warp.local.reserve(code.frame_bytes as usize);
        let frame = Frame { function: self.context.kernel as u32, ..Frame::default() };
        prepare(&mut warp, code, frame, |c| self.resolve(c));
        warp
    }

    /// Lets the block's warps run in turns until all have ended or they only spin.
    fn run_block(&mut self, warps: &mut [Warp]) -> Result<Turn, LaunchError> {
        if self.sanitizer.races.is_some() {
            warps.iter().for_each(|warp| self.block.places.note(warp));
        }
        loop {
            self.progress.waited = false;
            let changes = self.progress.changes;
            for warp in &mut *warps {
                if !warp.groups.is_empty() {
                    self.run_warp(warp)?;
                    if self.sanitizer.races.is_some() {
                        self.block.places.note(warp);
                    }
                }
                if self.progress.preempt {
                    break;
                }
            }
            if warps.iter().all(|w| w.groups.is_empty()) {
                self.end_async(warps);
                self.check_leaving(warps);
                return Ok(Turn::Done);
            }
            if std::mem::take(&mut self.progress.preempt) {
                return Ok(Turn::Preempted);
            }
            let released = self.release(warps);
            if released {
                continue;
            }
            if !warps.iter().any(|warp| warp.can_run(self.progress.changes)) {
                if warps.iter().any(Warp::waits_for_others) {
                    return Ok(Turn::Waiting);
                }
                return Err(self.stuck(warps));
            }
            if self.progress.waited && self.progress.changes == changes {
                return Ok(Turn::Spinning);
            }
        }
    }

    fn clock(&self) -> u64 {
        self.lane_instructions
    }
}

/// Creates the module's variables in global memory; gives each one's address.
pub(crate) fn instantiate(program: &Program, memory: &mut Memory) -> Result<Vec<u64>, LaunchError> {
    let mut addresses = vec![0; program.variables.len()];
    for (index, variable) in program.variables.iter().enumerate() {
        if variable.is_global() {
            let made = memory.alloc(&variable.label, variable.bytes, variable.element_bytes);
            match made {
                Ok(id) => addresses[index] = Memory::address(id),
                Err(error) => return refuse(format!("variable `{}`: {error}", variable.label)),
            }
        }
    }
    for (index, variable) in program.variables.iter().enumerate() {
        if !variable.is_global() {
            continue;
        }
        let Some((id, _)) = memory.decode(addresses[index]) else { continue };
        let buffer = &mut memory.buffers[id];
        buffer.read_only = variable.space == Space::Const;
        // A constant without an initial value is the host's to set.
        if !buffer.read_only || variable.is_initialised {
            buffer.flags = None;
        }
        let bytes = &mut buffer.data;
        bytes[..variable.init.len()].copy_from_slice(&variable.init);
        for &(at, target, offset) in &variable.relocations {
            let address = addresses[target as usize].wrapping_add(offset);
            if let Some(place) = bytes.get_mut(at..at + 8) {
                place.copy_from_slice(&address.to_le_bytes());
            }
        }
    }
    Ok(addresses)
}

/// Marks of a host write.
pub(crate) const HOST_WRITTEN: u8 = INITIALISED;
