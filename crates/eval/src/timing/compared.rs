//! The candidate against each baseline in turn.

use kgen_device::{Device, LaunchError, TimedCall};
use kgen_measure::{
    Alone, Flush, Measured, Params, alone, compare, roofline::is_overhead_dominated,
};
use kgen_record::{
    BaselineRequest, BaselineTiming, CaseOutcome, CaseResult, Finding, Flag, Mode, Roofline,
    Timing, Usage, Verdict,
};

use super::{
    EvalError, Loader, Sets, TimingJob,
    arm::{POISON, Recipe},
    bench::{BenchError, Calls, Graphs, Refused, Samples},
    impossible, recipe, untimed, usage,
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
    /// Clock of the multiprocessors while the candidate was timed, in MHz.
    pub(super) sm_mhz: Option<f64>,
}

/// Candidate and baseline, with the baseline's memory, energy and clock.
struct Against {
    measured: Measured,
    usage: Usage,
}

impl Compared {
    /// Times the candidate against each baseline in turn, or alone where none can be timed.
    pub(super) fn measure(
        job: &TimingJob<'_, '_>,
        loader: &Loader<'_>,
        device: &mut dyn Device,
        candidate: &Sets<'_>,
        setting: Setting,
        roofline: Option<&Roofline>,
    ) -> Result<Self, EvalError> {
        let mut baselines = Vec::new();
        let mut first: Option<(Timing, Vec<Flag>, Option<f64>)> = None;
        for request in &job.timing.baselines {
            let Against { mut measured, usage } =
                match against(job, loader, device, candidate, request, setting) {
                    Ok(against) => against,
                    Err(BenchError::Eval(error)) => return Err(error),
                    Err(BenchError::Baseline(Refused { verdict, reason })) => {
                        let refused = BaselineTiming::not_measured(&request.name, reason);
                        baselines.push(BaselineTiming { verdict, ..refused });
                        continue;
                    }
                };
            // Another process may say what it likes; kgen's own clock measures all others.
            let is_external = job.externals.iter().any(|(name, _)| *name == request.name);
            if is_external
                && let Some(finding) = roofline.and_then(|all| impossible(&measured.baseline, all))
            {
                let refused = BaselineTiming::not_measured(&request.name, finding.message);
                baselines.push(BaselineTiming { verdict: Some(Verdict::Suspicious), ..refused });
                continue;
            }
            measured.mark_floor(setting.floor_us);
            baselines.push(BaselineTiming {
                name: request.name.clone(),
                overhead_dominated: is_overhead_dominated(
                    measured.baseline.median_us,
                    setting.floor_us,
                ),
                timing: Some(measured.baseline),
                candidate: first.is_some().then(|| measured.candidate.clone()),
                comparison: Some(measured.comparison),
                note: None,
                flags: measured.flags.clone(),
                verdict: job.timing.side_by_side.map(|_| Verdict::Passed),
                usage,
            });
            let first = first.get_or_insert((measured.candidate, Vec::new(), measured.sm_mhz));
            first.1.extend(measured.flags);
        }
        let (candidate, mut flags, sm_mhz) = match first {
            Some(first) => first,
            None => by_itself(job, device, candidate, setting)?,
        };
        flags.sort_unstable();
        flags.dedup();
        Ok(Self { candidate, baselines, flags, sm_mhz })
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
) -> Result<(Timing, Vec<Flag>, Option<f64>), EvalError> {
    let samples = candidate.samples();
    let params = params(job, samples.width());
    let measured = if setting.mode == Mode::Graph {
        with_graphs(device, &[&candidate.calls()], setting, |bench| alone(bench, &params))
    } else {
        let none = Samples::Here(Vec::new());
        alone(&mut Calls::new(device, samples, none, setting.flush), &params)
    };
    match measured {
        Ok(Some(Alone { candidate, flags, sm_mhz, .. })) => Ok((candidate, flags, sm_mhz)),
        Ok(None) => Err(no_times().into()),
        Err(BenchError::Eval(error)) => Err(error),
        Err(BenchError::Baseline(Refused { reason, .. })) => {
            unreachable!("there is no baseline: {reason}")
        }
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
) -> Result<Against, BenchError> {
    let external = job.externals.iter().find(|(name, _)| *name == request.name);
    let uncompiled = Program::without_code(job.default.case + 1);
    let program = match (external, loader.program.baseline(&request.name)) {
        (Some(_), _) => &uncompiled,
        (None, Some(program)) => program,
        (None, None) => {
            return Err(Refused::judged(Verdict::Unsupported, "this kgen cannot time it"));
        }
    };
    let Some(case) = program.case(job.default.case) else {
        return Err(Refused::judged(Verdict::Unsupported, program.refusal(job.default.case)));
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
        Ok((verdict, finding)) => Refused::judged(verdict, finding.message),
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
) -> Result<Against, BenchError> {
    let is_external = recipe.modules.is_external();
    let is_judged = job.timing.side_by_side.is_some();
    if is_judged && !is_external {
        let sets = Sets::open(device, recipe, &[job.data.source()])
            .map_err(|error| baseline_note(false, error))?;
        let judged = judge(job, device, &sets);
        sets.close(device);
        judged?;
    }
    // Another process has its own data, but where it is judged on the case's: compiling it twice would take
    // longer than all else. Here the baseline gets as many argument sets as the candidate.
    let n_sets = if is_external { 1 } else { candidate.sessions().len() };
    let inputs = if is_judged && is_external { job.data.source() } else { job.baseline_inputs };
    let baseline = Sets::open(device, recipe, &[inputs; 2][..n_sets])
        .map_err(|error| baseline_note(is_external, error))?;
    let against = if is_judged && is_external {
        judge(job, device, &baseline)
    } else if calls_library {
        // Whether a library is there, and takes the call, shows when it is made.
        baseline.sessions()[0].run(device).map_err(|error| baseline_note(false, error))
    } else {
        Ok(())
    };
    let against = against
        .and_then(|()| in_turn(job, device, candidate, &baseline, setting))
        .and_then(|measured| with_usage(job, device, &baseline, measured));
    baseline.close(device);
    against
}

fn with_usage(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    baseline: &Sets<'_>,
    measured: Option<Measured>,
) -> Result<Against, BenchError> {
    let no_times = || Refused::not_timed("the device gave samples that are no times");
    let measured = measured.ok_or_else(no_times)?;
    let usage = match job.timing.side_by_side {
        Some(wanted) => usage::of(device, baseline, wanted, measured.sm_mhz)?,
        None => Usage::default(),
    };
    Ok(Against { measured, usage })
}

/// Judges a baseline on the case's own data. Its outputs, which are the candidate's too, are gone before the
/// candidate runs again: they are poisoned, and calls that are timed in another process do not write them.
fn judge(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    baseline: &Sets<'_>,
) -> Result<(), BenchError> {
    let session = &baseline.sessions()[0];
    let is_external = session.call().is_some();
    untimed(device, session).map_err(|error| baseline_note(is_external, error))?;
    let wrong = job.data.recheck(device, session).map_err(EvalError::Machine)?;
    session.poison(device, POISON)?;
    match wrong {
        None => Ok(()),
        Some(result) => Err(refusal_of(&result)),
    }
}

fn refusal_of(result: &CaseResult) -> BenchError {
    let verdict = match result.outcome {
        CaseOutcome::Judged(verdict) => verdict,
        CaseOutcome::Skipped { .. } => Verdict::Unsupported,
    };
    Refused::judged(verdict, result.reason().unwrap_or_else(|| verdict.to_string()))
}

/// Turns an error of a baseline into a note: it is not the candidate's fault.
pub(super) fn baseline_note(is_external: bool, error: LaunchError) -> BenchError {
    match error {
        LaunchError::Kernel { verdict, finding, device_lost, .. }
            if is_external || !device_lost =>
        {
            Refused::judged(verdict, finding.message)
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
        _ => Err(Refused::not_timed("not timed inside a graph")),
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
