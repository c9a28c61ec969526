//! Blocks on several host threads, where that cannot change the result.
//!
//! Each thread runs a contiguous part of the grid on a copy of memory, and the copies are merged.
//! The result is that of one thread if no part touched bytes that another one wrote, which the
//! race detector's shadows show; otherwise, and where anything is found, nothing is merged and the
//! blocks run one after another.

use std::{ops::Range, thread};

use super::{
    Launch, Machine,
    findings::Findings,
    prepare_launch,
    sanitize::{dependence::Before, races::Races},
};
use crate::{
    memory::Memory,
    module::Module,
    op::{BulkOp, Op, StateSpace},
    options::{Blocks, Options},
    report::LaunchError,
};

/// Lane instructions below which a launch is not worth the threads.
const WORTHWHILE: u64 = 30_000_000;

/// Bytes of global memory above which it is not copied.
const MAX_COPY: u64 = 256 << 20;

/// The origin of every part of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub module: &'s Module,
    pub variable_addresses: &'s [u64],
    pub launch: &'s Launch,
    pub options: &'s Options,
    pub n_sm: u32,
    /// Launches that this one may overlap.
    pub before: &'s [Before],
}

/// The results of a thread.
struct Part {
    memory: Memory,
    races: Box<Races>,
    findings: Findings,
    lane_instructions: u64,
    blocks: u64,
    orderly: bool,
}

/// Runs all blocks, on as many threads as the options allow and the kernel permits.
pub(super) fn run(machine: &mut Machine<'_>, source: Source<'_>) -> Result<(), LaunchError> {
    let n: u64 = source.launch.grid.iter().map(|n| u64::from(*n)).product();
    let threads = match source.options.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    if threads < 2 || n < 3 || !separable(machine, source.options) {
        return machine.run();
    }
    // The first block shows the cost of the others.
    machine.selection.part = Some(0..1);
    machine.run()?;
    let rest = 1..n;
    let cost = machine.lane_instructions.saturating_mul(n - 1);
    if cost >= WORTHWHILE
        && machine.memory.used() <= MAX_COPY
        && machine.sanitizer.findings.errors == 0
        && in_parts(machine, source, &rest, threads)
    {
        return Ok(());
    }
    machine.selection.part = Some(rest);
    machine.run()
}

/// Whether blocks of the kernel can only share memory that the race detector watches.
fn separable(machine: &Machine<'_>, options: &Options) -> bool {
    let program = machine.program;
    let alone = |op: &Op| match op {
        Op::Atomic(index) => program.atomics[*index as usize].address.place == StateSpace::Shared,
        Op::Memory(index) => {
            let m = &program.memory[*index as usize];
            !m.volatile || m.address.place == StateSpace::Shared
        }
        Op::Bulk(index) => match &program.bulks[*index as usize] {
            BulkOp::Copy(copy) => copy.reduction.is_none(),
            BulkOp::Tensor(copy) => copy.reduction.is_none(),
            BulkOp::Replace(_) | BulkOp::CopyMap(..) => false,
            _ => true,
        },
        Op::Special(special, _) => !special.is_clock(),
        Op::Builtin(_) => false,
        _ => true,
    };
    machine.sanitizer.races.is_some()
        && options.blocks == Blocks::All
        && !options.counters
        && !options.coverage
        && !program.fences
        && machine.cluster.len() == 1
        && program.ops.iter().all(alone)
}

/// Runs the blocks in parts and merges them; false if they depend on each other or anything was
/// found, and then nothing was changed.
fn in_parts(
    machine: &mut Machine<'_>,
    source: Source<'_>,
    blocks: &Range<u64>,
    threads: usize,
) -> bool {
    let n = blocks.end - blocks.start;
    let at = |i: usize| blocks.start + n * i as u64 / threads as u64;
    let left = machine.context.limits.lane_instructions.saturating_sub(machine.lane_instructions);
    let original = &*machine.memory;
    let parts: Vec<Option<Part>> = thread::scope(|scope| {
        let start = |i| scope.spawn(move || run_part(source, original, at(i)..at(i + 1), left));
        let running: Vec<_> = (0..threads).map(start).collect();
        running.into_iter().map(|part| part.join().ok().flatten()).collect()
    });
    let Some(parts) = parts.into_iter().collect::<Option<Vec<Part>>>() else { return false };
    let total: u64 = parts.iter().map(|p| p.lane_instructions).sum();
    let mut all: Vec<&Races> = parts.iter().map(|p| &*p.races).collect();
    all.extend(machine.sanitizer.races.as_deref());
    if total > left || Races::overlap(&all) {
        return false;
    }
    let original = machine.memory.clone();
    for part in parts {
        machine.memory.take_changes(&original, &part.memory);
        machine.sanitizer.findings.merge(part.findings);
        machine.selection.done += part.blocks;
        machine.sanitizer.orderly |= part.orderly;
        machine.sanitizer.parts.push(*part.races);
    }
    machine.lane_instructions += total;
    true
}

fn run_part(source: Source<'_>, original: &Memory, part: Range<u64>, budget: u64) -> Option<Part> {
    let mut memory = original.clone();
    let mut machine = prepare_launch(&mut memory, source).ok()?;
    machine.selection.part = Some(part);
    machine.context.limits.lane_instructions = budget;
    machine.run().ok()?;
    if machine.sanitizer.findings.errors > 0 || !machine.sanitizer.unused.is_empty() {
        return None;
    }
    let races = machine.sanitizer.races.take()?;
    let findings = std::mem::take(&mut machine.sanitizer.findings);
    let (lane_instructions, blocks) = (machine.lane_instructions, machine.selection.done);
    let orderly = machine.sanitizer.orderly;
    Some(Part { memory, races, findings, lane_instructions, blocks, orderly })
}
