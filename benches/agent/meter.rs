//! Where CPU time and memory go.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use nix::{
    sys::{
        resource::{Usage, UsageWho, getrusage},
        time::TimeVal,
    },
    time::{ClockId, clock_gettime},
};

/// CPU time of some of the work, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Meter(AtomicU64);

impl Meter {
    /// Does work that does not wait for other tasks, and counts the CPU time of its thread.
    pub(crate) fn count<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = thread_cpu();
        let result = work();
        let took = thread_cpu().saturating_sub(before);
        let nanos = u64::try_from(took.as_nanos()).expect("it takes less than a century");
        self.0.fetch_add(nanos, Ordering::Relaxed);
        result
    }

    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// CPU time of this process so far, its children's not among it.
pub(crate) fn process_cpu() -> Duration {
    let usage = usage();
    duration(usage.user_time()) + duration(usage.system_time())
}

/// The part of it that the kernel spent.
pub(crate) fn process_system() -> Duration {
    duration(usage().system_time())
}

/// CPU time of this thread; unlike that of `getrusage` it is exact at any moment.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has this clock");
    Duration::from(time)
}

fn usage() -> Usage {
    getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its own usage")
}

fn duration(time: TimeVal) -> Duration {
    let seconds = Duration::from_secs(time.tv_sec().unsigned_abs());
    seconds + Duration::from_micros(time.tv_usec().unsigned_abs())
}

/// The most memory that this process ever had resident, in MiB.
pub(crate) fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.expect("Linux tells the peak");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number of KiB");
    kib / 1024.0
}
