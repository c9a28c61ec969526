//! Nsight Compute: the counters of each launch of one case.

use std::{collections::BTreeSet, ffi::OsString, time::Duration};

use kgen_profile::ncu::{
    Advice, HotLine, Launch, NcuError, SECTIONS, advice, failure, hot_lines, launches, metrics,
};
use kgen_record::RawOutput;

use super::{
    COUNTED, Job, Profilers, Stage, keep,
    tools::{self, Profiler},
};

/// Time that profiling may take; each launch is run some twenty times.
const LIMIT: Duration = Duration::from_secs(120);

/// Time that one page may take to be printed.
const PAGE_LIMIT: Duration = Duration::from_secs(60);

/// Launches that are profiled.
const MAX_LAUNCHES: usize = 4;

/// Metrics that may turn out not to exist.
const MAX_RETRIES: usize = 8;

/// Lines of source that are kept.
const MAX_HOT: usize = 12;

/// The counted metrics.
#[derive(Default)]
pub(super) struct Counted {
    /// The profiler with its version.
    pub(super) profiler: String,
    pub(super) launches: Vec<Launch>,
    pub(super) advice: Vec<Advice>,
    pub(super) hot: Vec<HotLine>,
}

/// Profiles the case; the error says in one line why there is nothing.
pub(super) fn run(
    stage: &Stage,
    job: &Job<'_>,
    profilers: &Profilers,
    raw: &mut Vec<RawOutput>,
) -> Result<Counted, String> {
    let mut profiler = profilers.get("ncu", job.wanted.retry)?;
    let entries = entries(job);
    if entries.is_empty() {
        return Err("the case launches no kernel".to_owned());
    }
    let mut log = String::new();
    for _ in 0..=MAX_RETRIES {
        log = attempt(stage, &profiler, &entries)?;
        match failure(&log) {
            None => break,
            Some(NcuError::Metric(name)) if !profiler.known.unknown_metrics.contains(&name) => {
                profiler.known.unknown_metrics.push(name);
                profilers.remember("ncu", &profiler.known);
            }
            Some(failure) => {
                keep(raw, "ncu.log", &log);
                let reason = reason(&failure);
                if failure == NcuError::NotPermitted {
                    profiler.known.refused = Some(reason.clone());
                    profilers.remember("ncu", &profiler.known);
                }
                return Err(reason);
            }
        }
    }
    if profiler.known.refused.take().is_some() {
        profilers.remember("ncu", &profiler.known);
    }
    keep(raw, "ncu.log", &log);
    let mut page = |name: &str, more: &[&str]| {
        let text = page(stage, &profiler, name, more)?;
        keep(raw, format!("ncu-{name}.csv"), &text);
        Ok::<_, String>(text)
    };
    let launches = launches(&page("raw", &[])?);
    if launches.is_empty() {
        return Err("its report has no launch".to_owned());
    }
    // The counters alone are worth having.
    let advice = advice(&page("details", &[]).unwrap_or_default());
    let source = page("source", &["--print-source", "cuda,sass"]).unwrap_or_default();
    let hot = hot_lines(&source, MAX_HOT);
    Ok(Counted { profiler: profiler.known.version, launches, advice, hot })
}

/// Returns the names in the module of the launches of the case, in order.
fn entries(job: &Job<'_>) -> Vec<String> {
    let case = job.steps(job.wanted.case);
    let bound = case.into_iter().flat_map(|case| case.bound.iter().flatten());
    bound.map(|launch| launch.entry.clone()).collect()
}

fn attempt(stage: &Stage, profiler: &Profiler, entries: &[String]) -> Result<String, String> {
    let unknown = &profiler.known.unknown_metrics;
    let metrics: Vec<String> =
        metrics().into_iter().filter(|metric| !unknown.contains(metric)).collect();
    let names: BTreeSet<&str> = entries.iter().map(String::as_str).collect();
    let names = names.into_iter().collect::<Vec<_>>().join("|");
    let n_launches = entries.len().min(MAX_LAUNCHES).to_string();
    let mut args: Vec<OsString> = [
        "-f",
        "-o",
        REPORT,
        "--target-processes",
        "all",
        "--kernel-name-base",
        "mangled",
        "-k",
        &format!("regex:^({names})$"),
        "--launch-count",
        &n_launches,
        "--replay-mode",
        "kernel",
        "--cache-control",
        "all",
        "--clock-control",
        "none",
        "--import-source",
        "on",
        "--source-folders",
        ".",
        "--metrics",
        &metrics.join(","),
    ]
    .map(Into::into)
    .into();
    args.extend(SECTIONS.iter().flat_map(|section| ["--section".into(), (*section).into()]));
    args.extend(stage.command(COUNTED));
    let output = tools::run(&profiler.path, stage.dir(), args, LIMIT)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + "\n" + &output.stderr_text())
}

/// File of the report in the scratch folder.
const REPORT: &str = "report";

fn page(stage: &Stage, profiler: &Profiler, name: &str, more: &[&str]) -> Result<String, String> {
    let report = format!("{REPORT}.ncu-rep");
    let args = ["--import", &report, "--page", name, "--csv", "--print-units", "base"];
    let args = args.iter().chain(more).map(OsString::from);
    let output = tools::run(&profiler.path, stage.dir(), args, PAGE_LIMIT)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.is_success() {
        Ok(text)
    } else {
        Err(first_line(&text, &output.stderr_text()))
    }
}

fn first_line(text: &str, or: &str) -> String {
    let lines = text.lines().chain(or.lines()).map(str::trim);
    lines.into_iter().find(|line| !line.is_empty()).unwrap_or("it says nothing").to_owned()
}

/// Says in one line why there is no profile, and the remedy.
fn reason(failure: &NcuError) -> String {
    match failure {
        NcuError::NotPermitted => "the driver lets only administrators read the counters: run as \
                                  root, in a container with --cap-add=SYS_ADMIN, or load the \
                                  driver with NVreg_RestrictProfilingToAdminUsers=0"
            .to_owned(),
        NcuError::Metric(name) => format!("it does not know the metric {name}"),
        NcuError::NoLaunch => "it saw no launch of the kernel".to_owned(),
        NcuError::Fault => {
            "the kernel faults when no guard zones are around its buffers".to_owned()
        }
        NcuError::Busy => "another tool uses the counters".to_owned(),
        NcuError::Other(line) => line.clone(),
    }
}
