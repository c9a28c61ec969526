//! Profilers: a right kernel is run again under Nsight Compute and compute-sanitizer.
//!
//! Both watch a child of kgen's own ([`rehearse`]) that loads the compiled kernels and runs cases
//! once, with bare buffers and nothing else on the GPU. `kgen-profile` parses their output. A
//! profiler that is missing or not permitted costs one line of the summary, never an evaluation.

mod ncu;
mod rehearse;
mod sanitizer;
mod tools;

#[cfg(test)]
mod tests;

use std::path::Path;

use kgen_compile::PROGRAM;
use kgen_eval::{CaseProgram, Program};
use kgen_profile::{sass::SassMix, summary};
use kgen_record::{CaseTiming, EvalRequest, Evaluation, KernelProfile, ProfileRequest, RawOutput};
use tempfile::TempDir;

pub use rehearse::{Rehearsal, rehearse};
pub use tools::Profilers;

/// Bytes of one raw output that are kept.
const MAX_RAW: usize = 2 << 20;

/// A right kernel to be profiled.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The request that was judged.
    pub request: &'a EvalRequest,
    /// The cases and tools of the profile.
    pub wanted: &'a ProfileRequest,
    /// How it was judged.
    pub evaluation: &'a Evaluation,
    /// The compiled program.
    pub program: &'a Program,
    /// Index of the GPU among the visible ones.
    pub device: u32,
}

impl Job<'_> {
    /// Returns the program of a case with the parameters that were found fastest.
    fn steps(&self, index: usize) -> Option<&CaseProgram> {
        let default = self.program.case(index)?;
        let id = &self.request.cases[index].id;
        let timing = self.evaluation.timings.iter().find(|timing| timing.case == *id);
        let Some(timing) = timing else { return Some(default) };
        let tunings = self.program.tunings.iter().filter(|tuning| tuning.case == index);
        let fastest = tunings.chain([default]).find(|program| {
            let chosen = program.plan.params.iter().map(|axis| (&axis.name, axis.chosen));
            chosen.eq(timing.params.iter().map(|(name, value)| (name, *value)))
        });
        Some(fastest.unwrap_or(default))
    }
}

/// Runs the profilers that there are.
///
/// Never fails: the summary names failures.
#[must_use]
pub fn profile(job: &Job<'_>, profilers: &Profilers) -> KernelProfile {
    let case = &job.request.cases[job.wanted.case];
    let args = kgen_eval::describe_args(case);
    let mut notes = Vec::new();
    let mut raw = Vec::new();
    let (mut sanitized, mut counted) = (Vec::new(), ncu::Counted::default());
    match Stage::set(job) {
        Ok(stage) => {
            sanitized = sanitizer::run(&stage, job, profilers, &mut raw);
            match ncu::run(&stage, job, profilers, &mut raw) {
                Ok(done) => counted = done,
                Err(reason) => notes.push(format!("ncu did not run: {reason}")),
            }
        }
        Err(reason) => notes.push(format!("nothing was profiled: {reason}")),
    }
    let timing = job.evaluation.timings.iter().find(|timing| timing.case == case.id);
    let sass: Vec<SassMix> =
        job.evaluation.resources.iter().filter_map(|kernel| kernel.sass.clone()).collect();
    let summary = summary::lines(&summary::Facts {
        subject: &format!("{}({args})", job.request.op),
        profiler: &counted.profiler,
        median_us: timing.map(|timing| timing.candidate.median_us),
        baseline: timing
            .and_then(CaseTiming::primary)
            .and_then(|primary| Some((primary.name.as_str(), primary.timing.as_ref()?.median_us))),
        floor_us: timing.and_then(|timing| Some(timing.roofline.as_ref()?.floor_us)),
        bytes: timing.map(|timing| timing.bytes),
        launches: &counted.launches,
        advice: &counted.advice,
        hot: &counted.hot,
        file: PROGRAM,
        source: job.request.source(),
        sass: &sass,
        sanitizer: &sanitized,
        notes: &notes,
    });
    let found =
        |(_, found): &(_, Result<Vec<_>, String>)| found.as_ref().is_ok_and(|f| !f.is_empty());
    KernelProfile { args, summary, suspicious: sanitized.iter().any(found), raw }
}

/// The files of a profiler's child.
struct Stage {
    scratch: TempDir,
    /// This very program: `/proc/self/exe` would be the profiler there.
    exe: std::path::PathBuf,
}

impl Stage {
    /// Writes the program, and the kernel file where line information looks for it.
    fn set(job: &Job<'_>) -> Result<Self, String> {
        let scratch = tempfile::Builder::new().prefix("kgen-profile-").tempdir();
        let scratch = scratch.map_err(|error| error.to_string())?;
        let exe = std::env::current_exe().map_err(|error| error.to_string())?;
        let write = |name: &str, text: &[u8]| {
            std::fs::write(scratch.path().join(name), text)
                .map_err(|error| format!("{name}: {error}"))
        };
        for (name, cases) in [
            (COUNTED, std::slice::from_ref(&job.wanted.case)),
            (SANITIZED, job.wanted.sanitized.as_slice()),
        ] {
            write(name, &Rehearsal::text(job, cases)?)?;
        }
        write(PROGRAM, job.request.source().as_bytes())?;
        Ok(Self { scratch, exe })
    }

    fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns the command line that runs one of the two rehearsals.
    fn command(&self, rehearsal: &str) -> [std::ffi::OsString; 3] {
        [self.exe.clone().into(), "rehearse".into(), self.dir().join(rehearsal).into()]
    }
}

/// The rehearsal of the case whose counters are read.
const COUNTED: &str = "counted.json";

/// The rehearsal of the cases under compute-sanitizer.
const SANITIZED: &str = "sanitized.json";

/// Keeps the output of a tool.
fn keep(raw: &mut Vec<RawOutput>, name: impl Into<String>, text: &str) {
    let mut end = text.len().min(MAX_RAW);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if !text.trim().is_empty() {
        raw.push(RawOutput { name: name.into(), text: text[..end].to_owned() });
    }
}
