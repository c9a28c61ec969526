//! The ladder under Nsight Compute: a child of kgen's own launches it, the profiler watches.

use std::{ffi::OsString, path::Path, time::Duration};

use kgen_compile::find_tool;
use kgen_measure::stats::median;
use kgen_process::{DEVICE_ENV, Spec};
use kgen_profile::ncu::{failure, launches};

use super::{LADDER, TimingCheck, Work, profiler};

/// Launches of each work, of which the median counts.
pub const N_LAUNCHES: usize = 3;

/// Time that the profiler has.
const LIMIT: Duration = Duration::from_secs(120);

/// The duration of a kernel, in nanoseconds.
const METRIC: &str = "gpu__time_duration.sum";

/// Compares kgen's times of the ladder with the profiler's, at the clocks that the GPU chooses.
///
/// `args`: the command line with which this program launches the ladder. A measurement that the profiler lacks
/// is a row.
#[must_use]
pub fn nsight(ours: &[f64], args: Vec<OsString>) -> Vec<TimingCheck> {
    match durations(args) {
        Ok(theirs) => profiler(ours, &theirs),
        Err(reason) => vec![TimingCheck::not_measured(super::NSIGHT, "all of the ladder", reason)],
    }
}

/// Returns the duration of each work in microseconds; the error says in one line why there is none.
fn durations(args: Vec<OsString>) -> Result<Vec<f64>, String> {
    let ncu = find_tool("ncu").ok_or("`ncu` is not installed")?;
    let scratch = tempfile::Builder::new().prefix("kgen-ncu-").tempdir();
    let scratch = scratch.map_err(|error| error.to_string())?;
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let spec = spec(&ncu, scratch.path(), exe.into(), args);
    let output = kgen_process::run(&spec).map_err(|error| error.to_string())?;
    let log = String::from_utf8_lossy(&output.stdout).into_owned() + "\n" + &output.stderr_text();
    let found = read(&log);
    match (found.len() == LADDER.len() * N_LAUNCHES, failure(&log)) {
        (true, _) => Ok(found.chunks(N_LAUNCHES).filter_map(median).collect()),
        (false, Some(failure)) => Err(format!("ncu: {failure:?}")),
        (false, None) => Err(format!("ncu saw {} launches", found.len())),
    }
}

fn spec(ncu: &Path, dir: &Path, exe: OsString, args: Vec<OsString>) -> Spec {
    let mut names: Vec<&str> = LADDER.iter().map(|work| Work::kernel(*work)).collect();
    names.sort_unstable();
    names.dedup();
    let kernels = format!("regex:^({})$", names.join("|"));
    let options = [
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--metrics",
        METRIC,
        "--replay-mode",
        "kernel",
        "--cache-control",
        "all",
        "--clock-control",
        "none",
        "-k",
        &kernels,
    ];
    let options = options.map(OsString::from).into_iter();
    let mut spec = Spec::new(ncu, dir)
        .args(options.chain([exe]).chain(args))
        .inherit(DEVICE_ENV)
        .env("LC_ALL", "C")
        // The lock of Nsight Compute is not shared with other users.
        .env("TMPDIR", dir)
        .deadline(LIMIT);
    spec.stdout_cap = 4 << 20;
    spec
}

/// Reads the durations in microseconds, in the order of the launches.
fn read(log: &str) -> Vec<f64> {
    let table: Vec<&str> = log.lines().filter(|line| line.starts_with('"')).collect();
    let all = launches(&table.join("\n"));
    all.iter().filter_map(|launch| launch.metric(METRIC)).map(|ns| ns / 1e3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_between_the_lines_of_the_profiler() {
        let log = "==PROF== Connected to process 7\n==PROF== Profiling \"spin\": 0%....100% - 1 pass\n\
                   \"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpu__time_duration.sum\"\n\
                   \"\",\"\",\"\",\"\",\"nsecond\"\n\
                   \"0\",\"spin\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"1568.000000\"\n\
                   \"1\",\"relu\",\"(256, 1, 1)\",\"(4, 1, 1)\",\"36,224\"\n\
                   ==PROF== Disconnected from process 7\n";
        assert_eq!(read(log), [1.568, 36.224]);
        assert!(read("==ERROR== ERR_NVGPUCTRPERM").is_empty());
    }
}
