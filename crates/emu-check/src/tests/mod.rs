//! The mutation score: kernels made wrong on purpose, and the emulator's findings in them.
//!
//! `docs/mutation.md` is made here: `KGEN_UPDATE_DOCS=1 cargo test -p kgen-emu-check -- --ignored`.

mod table;

use std::{
    collections::BTreeMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use emu_corpus::{Kernel, Mutant, kernels, mutants};
use kgen_compile::Compiler;
use ptx_emu::{Checks, LaunchError, Limits, Module, Options, Report};
use serde::Deserialize;

use super::{
    compiler,
    emulated::{Emulated, emulate},
    source::build,
    toolchain,
};

/// Seeds of the inputs.
const SEEDS: [u64; 2] = [1, 2];

/// Where mutants are run: kernels that do not depend on the architecture need not run twice.
const ARCH: &str = "sm_90a";

/// The nature of a mutant, by outputs on a GPU and by compute-sanitizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Nature {
    /// Its outputs are wrong for some inputs, or it faults, hangs or writes elsewhere.
    Changed,
    /// Its behaviour is undefined in CUDA; its outputs happened to be right.
    Undefined,
    /// Its behaviour is that of the kernel.
    Equivalent,
}

/// The committed classification: id of a mutant, its nature and the evidence.
#[derive(Debug, Default, Deserialize)]
struct Classified {
    mutants: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    nature: Nature,
}

/// A launch on the emulator.
struct Ran {
    report: Report,
    /// The first wrong element of a launch without findings.
    wrong_output: Option<String>,
}

/// The emulator's result for a mutant.
#[derive(Debug)]
struct MutantReport {
    mutant: Mutant,
    nature: Option<Nature>,
    /// Kind and line of each finding that makes the kernel wrong, or of the error that stopped it.
    found: Vec<(String, Vec<u32>)>,
    /// Whether an output is wrong.
    wrong_output: bool,
}

impl MutantReport {
    /// Whether the mutant should be detected.
    fn counts(&self) -> bool {
        matches!(self.nature, Some(Nature::Changed | Nature::Undefined))
    }

    fn is_detected(&self) -> bool {
        self.wrong_output || !self.found.is_empty()
    }

    /// Whether a finding names a right line; `None` where only the output says that it is wrong.
    fn line_is_right(&self) -> Option<bool> {
        let right = |(_, lines): &(String, Vec<u32>)| {
            lines.iter().any(|line| self.mutant.report.contains(line))
        };
        (!self.found.is_empty()).then(|| self.found.iter().any(right))
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn classified() -> Option<Classified> {
    let path = root().join("crates/emu-corpus/mutants/classified.json");
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Applies a function to all items, on all cores.
fn in_parallel<T: Sync, R: Send>(items: &[T], job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            let result = job(item);
            done.lock().unwrap().push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Compiles a source and runs it with all checks and one seed after the other, until one shows that
/// the kernel is wrong.
fn run_seeds(
    compiler: &Compiler,
    source: &str,
    kernel: &Kernel,
    arch: &str,
    lane_instructions: u64,
) -> Result<Vec<Ran>, String> {
    let built = build(compiler, source, kernel.entry, None, arch);
    let built = built.map_err(|error| error.to_string())?;
    let module = Module::parse(&built.compiled.ptx).map_err(|error| error.to_string())?;
    let limits = Limits { lane_instructions, ..Limits::default() };
    let options = Options { checks: Checks::FULL, limits, ..Options::default() };
    let mut runs = Vec::new();
    for seed in SEEDS {
        let case = kernel.case(seed);
        let run = AssertUnwindSafe(|| emulate(&module, &built.entry, kernel, &case, &options));
        let Emulated { report, outputs, .. } =
            catch_unwind(run).map_err(|_| format!("the emulator panicked with seed {seed}"))?;
        // Outputs are compared where nothing else shows it.
        let wrong_output =
            if report.is_clean() { kernel.check(&case, &outputs).err() } else { None };
        let is_right = report.is_clean() && wrong_output.is_none();
        runs.push(Ran { report, wrong_output });
        if !is_right {
            break;
        }
    }
    Ok(runs)
}

/// Line of the error that stopped a launch, where it is none of the findings.
fn stopped(end: &Result<(), LaunchError>) -> Option<(String, Vec<u32>)> {
    let (kind, line) = match end.as_ref().err()? {
        LaunchError::Fault(_) => return None,
        LaunchError::Deadlock { line, .. } => ("deadlock", *line),
        LaunchError::Budget { line, .. } => ("hang", *line),
        LaunchError::Unsupported { line, .. } => ("unsupported", *line),
        LaunchError::Launch { .. } => ("launch", None),
    };
    Some((kind.to_owned(), line.into_iter().collect()))
}

fn judge(mutant: Mutant, nature: Option<Nature>, runs: &[Ran]) -> MutantReport {
    let mut found: Vec<(String, Vec<u32>)> = Vec::new();
    for run in runs {
        let findings = run.report.errors().map(|finding| {
            let other = finding.other.as_ref().and_then(|other| other.line);
            (finding.kind.name().to_owned(), finding.line.into_iter().chain(other).collect())
        });
        for said in findings.chain(stopped(&run.report.end)) {
            if !found.contains(&said) {
                found.push(said);
            }
        }
    }
    let wrong_output = runs.iter().any(|run| run.wrong_output.is_some());
    MutantReport { mutant, nature, found, wrong_output }
}

/// Runs the kernels as they should be; returns the cost of a launch of each, and the problems.
fn originals(
    compiler: &Compiler,
    archs: &[&'static str],
) -> (BTreeMap<&'static str, u64>, Vec<String>) {
    let jobs: Vec<_> = kernels::all()
        .into_iter()
        .flat_map(|kernel| archs.iter().map(move |arch| (kernel.clone(), *arch)))
        .filter(|(kernel, arch)| *arch == ARCH || kernel.arch <= 80)
        .collect();
    let runs = in_parallel(&jobs, |(kernel, arch)| {
        run_seeds(compiler, kernel.source, kernel, arch, 20_000_000_000)
    });
    let mut costs = BTreeMap::new();
    let mut problems = Vec::new();
    for ((kernel, arch), runs) in jobs.iter().zip(runs) {
        let mut problem = |text: String| problems.push(format!("{} ({arch}): {text}", kernel.name));
        for run in runs.unwrap_or_else(|error| panic!("{}: {error}", kernel.name)) {
            costs.insert(kernel.name, run.report.lane_instructions);
            run.report.errors().for_each(|finding| problem(finding.to_string()));
            let stopped = run.report.end.err().map(|error| error.to_string());
            stopped.into_iter().chain(run.wrong_output).for_each(&mut problem);
        }
    }
    (costs, problems)
}

/// Judges every `step`th mutant, once all kernels are clean as they should be, compiled for some architectures;
/// returns their reports and the number of kernels.
fn judged(step: usize, archs: &[&'static str]) -> (Vec<MutantReport>, usize) {
    let compiler = compiler(&toolchain(None).unwrap()).unwrap();
    let (costs, problems) = originals(&compiler, archs);
    assert!(problems.is_empty(), "{}", problems.join("\n"));

    let classified = classified();
    let all: Vec<Mutant> = mutants().into_iter().step_by(step).collect();
    let runs = in_parallel(&all, |mutant| {
        // A loop that does not end is to be found soon.
        let budget = 20 * costs[mutant.kernel.name] + 10_000_000;
        run_seeds(&compiler, &mutant.source, &mutant.kernel, ARCH, budget)
    });
    let nature = |mutant: &Mutant| Some(classified.as_ref()?.mutants.get(&mutant.id)?.nature);
    let mut judged = Vec::new();
    let mut broken = Vec::new();
    for (mutant, runs) in all.into_iter().zip(runs) {
        let nature = nature(&mutant);
        match runs {
            Ok(runs) => judged.push(judge(mutant, nature, &runs)),
            Err(error) => broken.push(format!("{}: {error}", mutant.id)),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    (judged, costs.len())
}

/// Nineteen in twenty are detected, and nine in ten findings name a right line.
fn assert_detected(judged: &[MutantReport]) {
    let without: Vec<_> =
        judged.iter().filter(|one| one.nature.is_none()).map(|one| &one.mutant.id).collect();
    assert!(without.is_empty(), "not classified: {without:#?}");
    let counted: Vec<_> = judged.iter().filter(|one| one.counts()).collect();
    let n_detected = counted.iter().filter(|one| one.is_detected()).count();
    assert!(20 * n_detected >= 19 * counted.len(), "{n_detected} of {} detected", counted.len());
    let lines: Vec<_> = counted.iter().filter_map(|one| one.line_is_right()).collect();
    let n_right = lines.iter().filter(|right| **right).count();
    assert!(10 * n_right >= 9 * lines.len(), "{n_right} of {} lines right", lines.len());
}

#[test]
fn originals_are_clean_and_every_tenth_mutant_is_detected() {
    // The emulator's own tests have the kernels' PTX for both.
    let (judged, _) = judged(10, &[ARCH]);
    assert!(judged.len() > 75, "{}", judged.len());
    assert_detected(&judged);
}

/// `cargo test -p kgen-emu-check -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn every_mutant_is_detected_as_the_page_says() {
    let (judged, n_kernels) = judged(1, &["sm_80", ARCH]);
    table::is_current(&table::render(&judged, n_kernels));
    // A first run, with KGEN_UPDATE_DOCS, makes the mutants that are then classified.
    if classified().is_some() {
        assert_detected(&judged);
    }
}
