//! Child processes: the only code that spawns.
//!
//! Every child leads a process group of its own, has a clean environment, works in a folder that
//! its caller chose, writes no core dumps and dies with kgen. [`run`] and [`run_async`] are for
//! tools that do one job and end (pip, a command that plays an LLM); [`Child`] is for processes
//! that are talked to, such as workers.
//!
//! Each child has a keeper thread, which forks it, waits until its leader is dead but not yet
//! reaped, kills whatever is left of the group, and only then reaps the leader: as long as the
//! leader is a zombie its number cannot belong to anybody else. The keeper lives as long as the
//! child does, which `PR_SET_PDEATHSIG` asks for: that signal fires when the forking *thread* ends.
//! Members of a group whose leader died with kgen are killed by a reaper process, which notices kgen's end by
//! the end of a pipe.

mod capture;
mod child;
mod environment;
mod lock;
mod reaper;
mod run;
pub mod sandbox;
mod scratch;
mod spec;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

use std::{io, path::PathBuf, time::Duration};

use nix::sys::time::TimeValLike as _;

pub use capture::{Head, Tail};
pub use child::{Child, Status, spawn};
pub use environment::{DEVICE_ENV, LAUNCH_ENV, NETWORK_ENV, PYTHON_ENV, SYSTEM_ENV};
pub use lock::{Access, lock};
pub use run::{Output, run, run_async};
pub use scratch::Scratch;
pub use spec::Spec;

/// The running executable, for re-executing it; stays right when the file is replaced meanwhile.
pub const SELF_EXE: &str = "/proc/self/exe";

/// Returns the CPU time that this process has taken, children aside, in seconds.
#[must_use]
pub fn cpu_seconds() -> f64 {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF);
    usage.map_or(0.0, |usage| {
        let seconds = |time: nix::sys::time::TimeVal| {
            Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0))
        };
        (seconds(usage.user_time()) + seconds(usage.system_time())).as_secs_f64()
    })
}

/// Why a child process could not do its work. The meaning of its exit status is the caller's
/// business.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program does not exist, is not executable, or a limit could not be set.
    #[error("failed to start `{}`", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The working folder does not exist.
    #[error("failed to start `{}`: its working folder `{}` does not exist", program.display(), dir.display())]
    Folder {
        /// The program.
        program: PathBuf,
        /// The folder.
        dir: PathBuf,
    },
    /// No thread or no runtime for the child.
    #[error("failed to look after a child process")]
    Keeper(#[source] io::Error),
    /// The kernel did not end a process that got SIGKILL, as happens inside a driver that hangs.
    #[error("process {pid} does not die, not even by SIGKILL")]
    Undead {
        /// The process.
        pid: u32,
    },
}
