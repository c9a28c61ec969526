//! Limits of a plan for a case: memory, bytes moved, threads.
//!
//! The bounds grow with the tensors of the case, so that no honest plan reaches them, and begin where a
//! plan for tiny tensors costs the emulator a fraction of a second and of a GiB.

use super::{Env, Problem};

/// Most bytes of scratch where the tensors are small, and as a multiple of theirs beyond: partial
/// sums in f32 of a bf16 result, two for each.
const SCRATCH_MAX: Bound = Bound { least: 8 << 30, per_byte: 4 };

/// Scratch that every case may have, and how often its tensors may fit into it: a product that is
/// split 32 ways keeps that many partial sums, in twice the bytes.
const SCRATCH: Bound = Bound { least: 256 << 20, per_byte: 64 };

/// Bytes that fills and copies may write.
const MOVED: Bound = Bound { least: 512 << 20, per_byte: 128 };

/// Threads of all launches: one for every pair of rows or window of a case, and more.
const THREADS: Bound = Bound { least: 1 << 32, per_byte: 4096 };

struct Bound {
    least: u64,
    per_byte: u64,
}

impl Bound {
    fn of(&self, env: &Env) -> u64 {
        self.least.max(env.tensor_bytes.saturating_mul(self.per_byte))
    }
}

/// The amounts that a plan has asked for so far.
#[derive(Debug, Default)]
pub(super) struct Amounts {
    scratch: u64,
    moved: u64,
    threads: u64,
}

impl Amounts {
    pub(super) fn scratch(&mut self, bytes: u64, env: &Env, at: usize) -> Result<(), Problem> {
        let limit = SCRATCH.of(env).min(SCRATCH_MAX.of(env)).min(env.memory_bytes / 2);
        add(&mut self.scratch, bytes, limit, at, "scratch buffers come to", "bytes")
    }

    pub(super) fn moved(&mut self, bytes: u64, env: &Env, at: usize) -> Result<(), Problem> {
        add(&mut self.moved, bytes, MOVED.of(env), at, "fills and copies write", "bytes")
    }

    pub(super) fn threads(&mut self, threads: u64, env: &Env, at: usize) -> Result<(), Problem> {
        add(&mut self.threads, threads, THREADS.of(env), at, "launches come to", "threads")
    }
}

fn add(
    sum: &mut u64,
    amount: u64,
    limit: u64,
    at: usize,
    subject: &str,
    unit: &str,
) -> Result<(), Problem> {
    *sum = sum.saturating_add(amount);
    if *sum <= limit {
        return Ok(());
    }
    let message = format!("{subject} {sum} {unit}, more than the limit of {limit} for this case");
    Err(Problem::new(at, message).hint("sizes follow from the shapes of the case's tensors"))
}
