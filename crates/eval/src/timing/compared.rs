//! The candidate against each baseline in turn.

use kgen_device::{Device, LaunchError, TimedCall};
use kgen_measure::{
    Alone, Flush, Measured, Params, alone, compare, roofline::is_overhead_dominated,
};
use kgen_record::{BaselineRequest, BaselineTiming, Finding, Flag, Mode, Timing, Verdict};

use super::{
    EvalError, Loader, Sets, TimingJob,
    arm::Recipe,
    bench::{BenchError, Calls, Graphs, Samples},
    recipe,
};
use crate::{Program, session::Modules};

/// How a case is timed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) mode: Mode,
    pub(super) flush: Flush,
    /// Time of an empty kernel in that mode, in microseconds.
    pub(super) floor_us: f64,
    /// Calls in a graph.
    pub(super) n_calls: usize,
}

/// The candidate and its baselines.
pub(super) struct Compared {
    pub(super) candidate: Timing,
    pub(super) baselines: Vec<BaselineTiming>,
    pub(super) flags: Vec<Flag>,
}

impl Compared {
    /// Times the candidate against each baseline in turn, or alone where none can be timed.
    pub(super) fn measure(
        job: &TimingJob<'_, '_>,
        loader: &Loader<'_>,
        device: &mut dyn Device,
        candidate: &Sets<'_>,
        setting: Setting,
    ) -> Result<Self, EvalError> {
        let mut baselines = Vec::new();
        let mut first: Option<(Timing, Vec<Flag>)> = None;
        for request in &job.timing.baselines {
            let timed = against(job, loader, device, candidate, request, setting);
            let mut timed = match timed {
                Ok(timed) => timed,
                Err(BenchError::Eval(error)) => return Err(error),
                Err(BenchError::Baseline(note)) => {
                    baselines.push(BaselineTiming::not_measured(&request.name, note));
                    continue;
                }
            };
            timed.mark_floor(setting.floor_us);
            baselines.push(BaselineTiming {
                name: request.name.clone(),
                overhead_dominated: is_overhead_dominated(
                    timed.baseline.median_us,
                    setting.floor_us,
                ),
                timing: Some(timed.baseline),
                candidate: first.is_some().then(|| timed.candidate.clone()),
                comparison: Some(timed.comparison),
                note: None,
            });
            let (_, flags) = first.get_or_insert((timed.candidate, Vec::new()));
            flags.extend(timed.flags);
        }
        let (candidate, mut flags) = match first {
            Some(first) => first,
            None => by_itself(job, device, candidate, setting)?,
        };
        flags.sort_unstable();
        flags.dedup();
        Ok(Self { candidate, baselines, flags })
    }
}

fn params(job: &TimingJob<'_, '_>, width: u32) -> Params {
    let params = job.timing.profile.params();
    Params { max_s: job.timing.max_s.unwrap_or(params.max_s), width, ..params }
}

fn by_itself(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    candidate: &Sets<'_>,
    setting: Setting,
) -> Result<(Timing, Vec<Flag>), EvalError> {
    let samples = candidate.samples();
    let params = params(job, samples.width());
    let measured = if setting.mode == Mode::Graph {
        with_graphs(device, &[&candidate.calls()], setting, |bench| alone(bench, &params))
    } else {
        let none = Samples::Here(Vec::new());
        alone(&mut Calls::new(device, samples, none, setting.flush), &params)
    };
    match measured {
        Ok(Some(Alone { candidate, flags, .. })) => Ok((candidate, flags)),
        Ok(None) => Err(no_times().into()),
        Err(BenchError::Eval(error)) => Err(error),
        Err(BenchError::Baseline(note)) => unreachable!("there is no baseline: {note}"),
    }
}

/// The device's clock cannot measure the candidate.
fn no_times() -> LaunchError {
    LaunchError::verdict(
        Verdict::Suspicious,
        Finding::new("its calls take no time that could be measured"),
    )
}

/// Takes samples of the candidate and one baseline in turn.
///
/// # Errors
///
/// [`BenchError::Baseline`] where this baseline cannot be timed here.
fn against(
    job: &TimingJob<'_, '_>,
    loader: &Loader<'_>,
    device: &mut dyn Device,
    candidate: &Sets<'_>,
    request: &BaselineRequest,
    setting: Setting,
) -> Result<Measured, BenchError> {
    let external = job.externals.iter().find(|(name, _)| *name == request.name);
    let uncompiled = Program::without_code(job.default.case + 1);
    let program = match (external, loader.program.baseline(&request.name)) {
        (Some(_), _) => &uncompiled,
        (None, Some(program)) => program,
        (None, None) => {
            return Err(BenchError::Baseline("this kgen cannot time it".to_owned()));
        }
    };
    let Some(case) = program.case(job.default.case) else {
        return Err(BenchError::Baseline(program.refusal(job.default.case).to_owned()));
    };
    let mut own = match external {
        Some((_, external)) => Loader::of_external(program, *external),
        None => Loader::new(program),
    };
    let measured = modules(&mut own, device, case.variant).and_then(|modules| {
        let recipe = recipe(job, case, modules);
        against_loaded(job, device, candidate, recipe, program.calls_library(), setting)
    });
    own.unload(device);
    measured
}

/// Loads the code of a baseline.
pub(super) fn modules<'a>(
    own: &mut Loader<'a>,
    device: &mut dyn Device,
    variant: usize,
) -> Result<Modules<'a>, BenchError> {
    own.modules(device, variant).map_err(|error| match error.into_refusal() {
        Ok((_, finding)) => BenchError::Baseline(finding.message),
        Err(error) => EvalError::from(error).into(),
    })
}

/// Goes on with [`against`] where the baseline's code is loaded.
fn against_loaded(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    candidate: &Sets<'_>,
    recipe: Recipe<'_, '_>,
    calls_library: bool,
    setting: Setting,
) -> Result<Measured, BenchError> {
    let is_external = recipe.modules.is_external();
    // Another process has its own data; here the baseline gets as many argument sets as the candidate.
    let n_sets = if is_external { 1 } else { candidate.sessions().len() };
    let sources = [job.baseline_inputs; 2];
    let baseline = match Sets::open(device, recipe, &sources[..n_sets]) {
        Ok(baseline) => baseline,
        Err(error) => return Err(baseline_note(is_external, error)),
    };
    // Whether a library is there, and takes the call, shows when it is made.
    if calls_library && let Err(error) = baseline.sessions()[0].run(device) {
        baseline.close(device);
        return Err(baseline_note(false, error));
    }
    let measured = in_turn(job, device, candidate, &baseline, setting);
    baseline.close(device);
    let no_times = || BenchError::Baseline("the device gave samples that are no times".to_owned());
    measured?.ok_or_else(no_times)
}

/// Turns an error of a baseline into a note: it is not the candidate's fault.
pub(super) fn baseline_note(is_external: bool, error: LaunchError) -> BenchError {
    match error {
        LaunchError::Kernel { finding, device_lost, .. } if is_external || !device_lost => {
            BenchError::Baseline(finding.message)
        }
        error => error.into(),
    }
}

fn in_turn(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    candidate: &Sets<'_>,
    baseline: &Sets<'_>,
    setting: Setting,
) -> Result<Option<Measured>, BenchError> {
    let seed = job.job.seed;
    let (ours, theirs) = (candidate.samples(), baseline.samples());
    let params = params(job, ours.width().max(theirs.width()));
    if setting.mode != Mode::Graph {
        return compare(&mut Calls::new(device, ours, theirs, setting.flush), &params, seed);
    }
    match (ours, theirs) {
        (Samples::Here(ours), Samples::Here(theirs)) => {
            with_graphs(device, &[&ours, &theirs], setting, |bench| compare(bench, &params, seed))
        }
        _ => Err(BenchError::Baseline("not timed inside a graph".to_owned())),
    }
}

/// Calls a function with graphs of so many calls of each arm.
fn with_graphs<T>(
    device: &mut dyn Device,
    arms: &[&[TimedCall]],
    setting: Setting,
    measure: impl FnOnce(&mut Graphs<'_>) -> Result<T, BenchError>,
) -> Result<T, BenchError> {
    let graphs = Graphs::record(device, arms, setting.n_calls)?;
    let mut graphs = graphs.expect("an empty kernel was recorded, so the device has graphs");
    let measured = measure(&mut graphs);
    graphs.close();
    measured
}

/// Returns the time of an empty kernel inside a graph, in microseconds; `None` where the device has
/// no graphs.
pub(super) fn empty_in_graphs(device: &mut dyn Device, n: usize) -> Result<Option<f64>, EvalError> {
    use kgen_measure::{Arm, Bench as _};
    let Some(mut graphs) = Graphs::record(device, &[&[TimedCall::EMPTY]], n)? else {
        return Ok(None);
    };
    let chunk = graphs.chunk(&[Arm::Candidate; super::N_QUICK]);
    graphs.close();
    match chunk {
        Ok(chunk) => Ok(Timing::of(chunk.samples_us).map(|timing| timing.median_us)),
        Err(BenchError::Eval(error)) => Err(error),
        Err(BenchError::Baseline(_)) => Ok(None),
    }
}
