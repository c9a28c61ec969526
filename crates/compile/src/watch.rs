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

/// Most bytes that a process may grow by while it compiles: the largest sorts of CUB take 300 MiB, and
/// two run at a time.
pub const COMPILE_MEMORY_BYTES: u64 = 1 << 30;

/// Time between two looks: memory grows by some 100 MiB in it.
const PERIOD: Duration = Duration::from_millis(20);

/// Compilations under way, and the memory of the process when the first of them began.
struct Running {
    count: u32,
    before: u64,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { count: 0, before: 0 });
static STARTED: Condvar = Condvar::new();

/// A compilation under way.
pub(super) struct Compiling(());

impl Compiling {
    pub(super) fn begin() -> Self {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if running.count == 0 {
            running.before = resident_bytes();
        }
        running.count += 1;
        STARTED.notify_all();
        Self(())
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).count -= 1;
    }
}

/// Makes this process end with [`MEMORY_EXIT`] when compilations take more than
/// [`COMPILE_MEMORY_BYTES`].
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
        let before = running.unwrap_or_else(PoisonError::into_inner).before;
        if resident_bytes().saturating_sub(before) > COMPILE_MEMORY_BYTES {
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
