//! Bounds the memory of compilations.
//!
//! NVRTC cannot be stopped from outside while its front end runs, and a line of source can cost it
//! gigabytes. So a process that compiles untrusted source ends itself when it grows too much, with
//! an exit code that says why.

use std::{
    fs,
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// Exit code of a process whose compilations took too much memory.
pub const MEMORY_EXIT: i32 = 86;

/// Bytes that a process may grow by while it compiles, whatever it compiles.
pub const COMPILE_MEMORY_BYTES: u64 = 1 << 30;

/// Bytes for each of several compilations at once: the largest sorts of CUB take 300 MiB.
pub(super) const EACH_BYTES: u64 = 1 << 29;

/// The same with headers of CuTe: two products of `cute::gemm` took more than 1 GiB.
pub(super) const EACH_CUTLASS_BYTES: u64 = 3 << 29;

/// Time between two looks: memory grows by some 100 MiB in it.
const PERIOD: Duration = Duration::from_millis(20);

/// Compilations under way, the memory of the process when the first of them began, and the most
/// that it may have grown by since.
struct Running {
    count: u64,
    before: u64,
    allowed: u64,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { count: 0, before: 0, allowed: 0 });
static STARTED: Condvar = Condvar::new();

/// A compilation under way.
pub(super) struct Compiling(());

impl Compiling {
    /// Begins one that may take so many bytes.
    pub(super) fn begin(bytes: u64) -> Self {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if running.count == 0 {
            running.before = resident_bytes();
            running.allowed = COMPILE_MEMORY_BYTES;
        }
        running.count += 1;
        // Memory comes back late, so that the allowance stays until all have ended.
        running.allowed = running.allowed.max(running.count * bytes);
        STARTED.notify_all();
        Self(())
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).count -= 1;
    }
}

/// Makes this process end with [`MEMORY_EXIT`] when compilations take more than they may:
/// [`COMPILE_MEMORY_BYTES`] at least.
///
/// # Errors
///
/// When there is no thread to watch them.
pub fn end_with_memory() -> std::io::Result<()> {
    thread::Builder::new().name("compile memory".to_owned()).spawn(watch).map(drop)
}

fn watch() {
    loop {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let running = STARTED.wait_while(running, |running| running.count == 0);
        let (before, allowed) = {
            let running = running.unwrap_or_else(PoisonError::into_inner);
            (running.before, running.allowed)
        };
        if resident_bytes().saturating_sub(before) > allowed {
            // SAFETY: it takes no pointer and runs no code of this process; handlers of an ordinary
            // exit would wait for the compiler.
            unsafe { nix::libc::_exit(MEMORY_EXIT) };
        }
        thread::sleep(PERIOD);
    }
}

/// Returns the resident memory of the process; 0 where the system does not say.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_holds_grows_with_what_it_writes() {
        let before = resident_bytes();
        let held = vec![1_u8; 64 << 20];
        assert!(resident_bytes() >= before + (48 << 20), "{before}");
        drop(held);
    }
}
