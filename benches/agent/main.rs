//! Costs of the parent process: `cargo bench --bench agent -- [--name value]..`
//!
//! **live**: a run of many ops against a local model server (a process of its own), with real
//! prompts, cases, run directory and HTTP; the device is a double that does the parent's part of
//! the worker protocol. Prints the wall time beside the ideal (calls x latency / concurrency), the
//! parent's peak memory, and its CPU time per attempt with its shares.
//!
//! **stored**: a run directory of many attempts, made by the store. Prints how long a resume takes
//! until its first call, and how long summaries and exports take.
//!
//! Asserts nothing; the defaults are the figures that kgen is to keep.
#![expect(clippy::print_stdout, reason = "a benchmark prints and has no users")]

mod device;
mod live;
mod meter;
mod server;
mod stored;

use std::{path::PathBuf, time::Duration};

/// Sizes, from the command line.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    pub(crate) ops: usize,
    pub(crate) attempts: u32,
    /// Calls in flight at most.
    pub(crate) calls: usize,
    /// Ops in flight at most.
    pub(crate) ops_at_once: usize,
    pub(crate) latency: Duration,
    /// Events of a streamed reply.
    pub(crate) chunks: usize,
    pub(crate) device: Duration,
    /// Fresh seeds that a winner is judged with again.
    pub(crate) confirm: u32,
    /// Attempts per op of the stored run.
    pub(crate) stored_attempts: u32,
    /// Ops of the stored run; 0 leaves that part out.
    pub(crate) stored_ops: usize,
    /// Where the stored run is kept, and taken from if it is there.
    pub(crate) keep: Option<PathBuf>,
}

fn main() {
    server::serve_if_asked();
    let sizes = sizes();
    // As many threads as kgen itself has.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    if sizes.ops > 0 {
        runtime.block_on(Box::pin(live::measure(&sizes)));
    }
    if sizes.stored_ops > 0 {
        runtime.block_on(Box::pin(stored::measure(&sizes)));
    }
}

fn sizes() -> Sizes {
    let mut sizes = Sizes {
        ops: 1000,
        attempts: 3,
        calls: 200,
        ops_at_once: 400,
        latency: Duration::from_millis(200),
        chunks: 20,
        device: Duration::ZERO,
        confirm: 3,
        stored_attempts: 10,
        stored_ops: 1000,
        keep: None,
    };
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{name} has no value"));
        let number = || value.parse::<u32>().unwrap_or_else(|_| panic!("{name} is a number"));
        let size = || usize::try_from(number()).expect("32 bits fit");
        let millis = || Duration::from_millis(number().into());
        match name.as_str() {
            "--ops" => sizes.ops = size(),
            "--attempts" => sizes.attempts = number(),
            "--calls" => sizes.calls = size(),
            "--ops-at-once" => sizes.ops_at_once = size(),
            "--latency-ms" => sizes.latency = millis(),
            "--chunks" => sizes.chunks = size(),
            "--device-ms" => sizes.device = millis(),
            "--confirm" => sizes.confirm = number(),
            "--stored-attempts" => sizes.stored_attempts = number(),
            "--stored-ops" => sizes.stored_ops = size(),
            "--keep" => sizes.keep = Some(PathBuf::from(&value)),
            _ => panic!("{name} is not known"),
        }
    }
    sizes
}
