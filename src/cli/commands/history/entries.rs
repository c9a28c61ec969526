//! Entries of a history out of benches and runs.

use std::path::Path;

use jiff::Timestamp;
use kgen_history::{Kind, NewEntry, NewResult, PASSED, Series};
use kgen_record::{CaseTiming, hex};
use kgen_store::{Error, Run, find_run};
use sha2::{Digest as _, Sha256};

use crate::{
    cli::{CommandError, commands::bench},
    report,
};

/// The name of a run's own kernels among implementations, in benches too: the next run has others.
const OF_RUN: &str = "run";

/// Names the bench or run that was made last.
const LATEST: &str = "latest";

/// Reads the entry of a bench or a run, by ID or path; `latest` is the one that was made last.
pub(crate) fn new_entry(root: &Path, id: &str) -> Result<NewEntry, CommandError> {
    let is_bench = bench::exists(root, id);
    if is_bench && id != LATEST {
        return of_bench(root, id);
    }
    let run = match find_run(root, id) {
        Ok(dir) => Some(of_run(&Run::open(&dir)?)?),
        Err(Error::UnknownRun { suggestions, .. }) => {
            return Err(neither(root, id, &suggestions));
        }
        Err(Error::NoRun { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    if !is_bench {
        return run.ok_or_else(|| neither(root, id, &[]));
    }
    let bench = of_bench(root, id)?;
    let time = |entry: &NewEntry| entry.created.parse::<Timestamp>().ok();
    Ok(run.filter(|run| time(&bench) < time(run)).unwrap_or(bench))
}

/// `runs`: those with a similar name.
fn neither(root: &Path, id: &str, runs: &[String]) -> CommandError {
    let names: Vec<String> = runs.iter().map(|name| format!("`{name}`")).collect();
    let near = (!runs.is_empty()).then(|| format!("did you mean the run {}?", names.join(" or ")));
    let message = format!("neither a bench nor a run `{id}` in {}", root.display());
    CommandError::config(message).hint(bench::near(root, id)).maybe_hint(near).hint(
        "`kgen list runs` shows the runs; a path works too, and --output-dir names the folder",
    )
}

fn of_bench(root: &Path, id: &str) -> Result<NewEntry, CommandError> {
    let stored = bench::StoredBench::read(root, id)?;
    let kernels = stored.kernels();
    let mut entry = NewEntry::from(&stored.bench(bench::INTERRUPTED));
    for result in &mut entry.results {
        let Series { op, implementation, .. } = &mut result.series;
        let kernel = kernels.get(&(&**op, &**implementation));
        result.source_hash = kernel.and_then(|kernel| kernel.source()).map(hash);
        *implementation = unnumbered(implementation);
    }
    Ok(entry)
}

/// Returns the name by which an implementation is known in other entries too.
pub(crate) fn unnumbered(implementation: &str) -> String {
    if implementation.starts_with("run:") { OF_RUN.to_owned() } else { implementation.to_owned() }
}

fn hash(source: &str) -> String {
    hex(&Sha256::digest(source))
}

fn of_run(run: &Run) -> Result<NewEntry, CommandError> {
    let info = run.info();
    let mut results = Vec::new();
    for solved in report::best_timings(run)? {
        for timing in &solved.timings {
            results.extend(of_case(&solved.op, timing, solved.kernel.as_deref()));
        }
    }
    let session = info.device.sessions.first();
    Ok(NewEntry {
        source: info.run_id.to_string(),
        kind: Kind::Run,
        created: info.created_at.clone(),
        device: info.device.target.name.clone(),
        fingerprint: session.map(|session| session.fingerprint.clone()),
        results,
    })
}

/// Returns the results of a timed case: the run's kernel, then the baselines.
fn of_case(op: &str, timing: &CaseTiming, kernel: Option<&str>) -> Vec<NewResult> {
    let dtype = timing.case.split('[').next().unwrap_or_default();
    let result = |implementation: &str, timed, note: Option<&String>| NewResult {
        series: Series {
            op: op.to_owned(),
            dtype: dtype.to_owned(),
            args: timing.args.clone(),
            implementation: implementation.to_owned(),
        },
        case: timing.case.clone(),
        outcome: PASSED.to_owned(),
        reason: note.cloned(),
        timing: timed,
        source_hash: None,
    };
    let own = NewResult {
        source_hash: kernel.map(hash),
        ..result(OF_RUN, Some((timing.mode, timing.candidate.clone())), None)
    };
    let baselines = timing.baselines.iter().map(|of| {
        result(&of.name, of.timing.clone().map(|time| (timing.mode, time)), of.note.as_ref())
    });
    std::iter::once(own).chain(baselines).collect()
}
