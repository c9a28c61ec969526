//! Times one case: candidate and baseline interleaved, cold L2, outputs checked afterwards.
//!
//! Before every sample outputs and scratch are poisoned and the L2 cache is flushed, so that a
//! candidate that does nothing leaves poison behind and one that rests on a warm cache gains
//! nothing. Samples take argument sets in turn, so that neither addresses nor data repeat. When to
//! sample and when to stop is the protocol's business ([`kgen_measure`]).

mod arm;
mod bench;
mod compared;
mod do_bench;
mod roofline;
#[cfg(test)]
mod tests;
mod tune;
mod usage;

use kgen_device::{Device, LaunchError, TimedCall};
use kgen_measure::{Flush, L2, roofline::is_overhead_dominated};
use kgen_record::{
    CaseResult, CaseTiming, Finding, Flag, Mode, Roofline, Timing, TimingRequest, Usage, Verdict,
};
use rand::{TryRngCore, rngs::OsRng};

use self::{
    arm::{Recipe, Sets},
    bench::Samples,
    compared::{Compared, Setting},
};
use super::{
    CaseProgram, Error, Job,
    builder::{describe_args, failed},
    error::EvalError,
    execute::CaseData,
    external::External,
    loader::Loader,
    session::{InputSource, Modules, Session},
};

/// Samples of a quick look.
const N_QUICK: usize = 15;

/// Turns a request's seed into that of the baseline's inputs: equal shapes, other values.
pub(super) const BASELINE_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A case to be timed.
pub(super) struct TimingJob<'s, 'a> {
    pub(super) job: &'s Job<'s>,
    pub(super) timing: &'s TimingRequest,
    pub(super) data: &'s dyn CaseData,
    pub(super) baseline_inputs: &'s dyn InputSource,
    /// The case on other data, for a second argument set; `None` where the case is so large that
    /// nothing of it outlives the next sample.
    pub(super) other: Option<Other<'s>>,
    /// The program with the default parameters.
    pub(super) default: &'a CaseProgram,
    /// Baselines that are called and not compiled, by their names.
    pub(super) externals: &'s [(&'s str, &'s dyn External)],
}

/// The function that [`CaseData::recheck`] returns.
pub(super) type Recheck<'s> =
    dyn Fn(&mut dyn Device, &Session<'_>) -> Result<Option<CaseResult>, Error> + 's;

/// A case on other data.
#[derive(Clone, Copy)]
pub(super) struct Other<'s> {
    pub(super) inputs: &'s dyn InputSource,
    /// Judges outputs against its reference, which is evaluated then and seldom needed.
    pub(super) recheck: &'s Recheck<'s>,
}

/// The result of timing one case.
pub(super) enum TimingOutcome {
    Timed(Box<CaseTiming>),
    /// The device cannot time.
    NotMeasured,
    /// The candidate failed while it was timed.
    Failed(Box<CaseResult>),
}

/// Times one case that was found right.
pub(super) fn time_case<'a>(
    job: &TimingJob<'_, 'a>,
    loader: &mut Loader<'a>,
    device: &mut dyn Device,
) -> Result<TimingOutcome, Error> {
    let fail = |verdict, finding, level| {
        Ok(TimingOutcome::Failed(Box::new(failed(job.data.case(), verdict, level, finding))))
    };
    match attempt(job, loader, device) {
        Ok(outcome) => Ok(outcome),
        Err(EvalError::Stopped(LaunchError::Kernel { verdict, finding, .. })) => {
            fail(verdict, *finding, device.level())
        }
        Err(EvalError::Stopped(LaunchError::Budget { reason, .. })) => {
            fail(Verdict::TimedOut, Finding::new(reason), device.level())
        }
        Err(EvalError::Stopped(LaunchError::Machine(error))) => Err(error.into()),
        Err(EvalError::Machine(error)) => Err(error),
    }
}

fn attempt<'a>(
    job: &TimingJob<'_, 'a>,
    loader: &mut Loader<'a>,
    device: &mut dyn Device,
) -> Result<TimingOutcome, EvalError> {
    let flush = match job.timing.l2 {
        L2::Cold => Flush::Memset,
        L2::Hot => Flush::None,
    };
    let Some(floor_us) = quick(device, &[TimedCall::EMPTY], flush)? else {
        return Ok(TimingOutcome::NotMeasured);
    };
    let chosen = tune::choose(job, loader, device, flush)?;
    let recipe = recipe(job, chosen, loader.modules(device, chosen.variant)?);
    let (sets, other) = open(job, device, recipe)?;
    let (timed, shared) = watched(device, |device| {
        timed(job, loader, device, &sets, other.as_deref(), (flush, floor_us))
    });
    sets.close(device);
    Ok(match timed? {
        TimingOutcome::Timed(mut timing) => {
            timing.flags.extend(shared.then_some(Flag::Shared));
            let degenerate = job.job.op.module.as_ref().is_some_and(|module| module.degenerate);
            timing.flags.extend(degenerate.then_some(Flag::Degenerate));
            timing.params =
                chosen.plan.params.iter().map(|axis| (axis.name.clone(), axis.chosen)).collect();
            TimingOutcome::Timed(timing)
        }
        other => other,
    })
}

/// Times something, and returns whether somebody else computed on the device before or after.
/// Asking takes a while, so nobody asks between two samples.
fn watched<T>(device: &mut dyn Device, time: impl FnOnce(&mut dyn Device) -> T) -> (T, bool) {
    let is_shared = |device: &mut dyn Device| device.n_foreign().is_some_and(|n| 0 < n);
    let before = is_shared(device);
    let timed = time(device);
    (timed, before || is_shared(device))
}

fn recipe<'x, 's: 'x>(
    job: &TimingJob<'s, '_>,
    program: &'x CaseProgram,
    modules: Modules<'x>,
) -> Recipe<'x, 'x> {
    let outputs = job.data.outputs();
    Recipe { case: job.data.case(), program, modules, outputs }
}

/// Outputs of a set as bytes.
type Outputs = Vec<Vec<u8>>;

/// Opens the candidate's argument sets: one on the data that it was judged on, and one on other data
/// with the outputs of a launch that nobody timed, where there is room for it.
fn open<'x>(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    recipe: Recipe<'x, 'x>,
) -> Result<(Sets<'x>, Option<Outputs>), LaunchError> {
    // An external implementation takes no second set: its call is bound to its buffers.
    if let Some(other) = job.other.filter(|_| !recipe.modules.is_external()) {
        let sources = [job.data.source(), other.inputs];
        if let Ok(sets) = Sets::open(device, recipe, &sources) {
            let untimed = untimed(device, &sets.sessions()[1]);
            match untimed {
                Ok(outputs) => return Ok((sets, Some(outputs))),
                Err(error) => {
                    sets.close(device);
                    return Err(error);
                }
            }
        }
    }
    Ok((Sets::open(device, recipe, &[job.data.source()])?, None))
}

/// Runs a set once and returns its outputs.
fn untimed(device: &mut dyn Device, session: &Session<'_>) -> Result<Outputs, LaunchError> {
    session.poison(device, 0xff)?;
    session.run(device)?;
    session.outputs(device)
}

/// Takes the samples and checks the outputs behind them.
fn timed(
    job: &TimingJob<'_, '_>,
    loader: &Loader<'_>,
    device: &mut dyn Device,
    sets: &Sets<'_>,
    other: Option<&[Vec<u8>]>,
    (flush, floor_us): (Flush, f64),
) -> Result<TimingOutcome, EvalError> {
    let setting = setting(job, device, sets, flush, floor_us)?;
    let op = &job.job.op;
    let case = job.data.case();
    let roofline = roofline::of(op, case, job.job.precision, setting.floor_us, device)?;
    let compared = Compared::measure(job, loader, device, sets, setting, roofline.as_ref())?;
    if let Some(result) = check_samples(job, device, sets, other, flush)? {
        return Ok(TimingOutcome::Failed(Box::new(result)));
    }
    let fail = |finding, device: &dyn Device| {
        let result = failed(job.data.case(), Verdict::Suspicious, device.level(), finding);
        Ok(TimingOutcome::Failed(Box::new(result)))
    };
    let candidate = &compared.candidate;
    if setting.mode == Mode::Graph
        && let Some(finding) = idle_in_graphs(device, sets, candidate)?
    {
        return fail(finding, device);
    }
    if let Some(finding) = roofline.as_ref().and_then(|bounds| impossible(candidate, bounds)) {
        return fail(finding, device);
    }
    let do_bench = match sets.samples() {
        Samples::Here(calls) if job.timing.do_bench => do_bench::measure(device, &calls[..1])?,
        Samples::Here(_) | Samples::Elsewhere(_) => None,
    };
    let usage = match job.timing.side_by_side {
        Some(wanted) => usage::of(device, sets, wanted, compared.sm_mhz)?,
        None => Usage::default(),
    };
    let work = op.work(case);
    Ok(TimingOutcome::Timed(Box::new(CaseTiming {
        case: case.id.clone(),
        args: describe_args(case),
        count: case.count,
        mode: setting.mode,
        candidate: compared.candidate,
        baselines: compared.baselines,
        bytes: work.bytes,
        flops: work.flops,
        peak_bytes: sets.sessions()[0].bytes(device),
        floor_us: setting.floor_us,
        roofline,
        flags: compared.flags,
        do_bench,
        params: Vec::new(),
        usage,
    })))
}

/// Microseconds that the calls of a graph take together, at least: enough that the clock's step and
/// the graph's own launch do not count.
const GRAPH_US: f64 = 500.0;

/// Calls in a graph, at least and at most.
const GRAPH_CALLS: [usize; 2] = [20, 400];

/// Decides how the case is timed.
fn setting(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    sets: &Sets<'_>,
    flush: Flush,
    floor_us: f64,
) -> Result<Setting, EvalError> {
    let mode = if flush == Flush::None { Mode::Hot } else { Mode::Cold };
    let single = Setting { mode, flush, floor_us, n_calls: 1 };
    let Samples::Here(calls) = sets.samples() else { return Ok(single) };
    if !job.timing.graph {
        return Ok(single);
    }
    let alone_us = quick(device, &calls, flush)?.unwrap_or(f64::INFINITY);
    if !is_overhead_dominated(alone_us, floor_us) {
        return Ok(single);
    }
    let [least, most] = GRAPH_CALLS;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a small positive number"
    )]
    let n_calls = ((GRAPH_US / (alone_us - floor_us).max(1.0)).ceil() as usize).clamp(least, most);
    let empty = compared::empty_in_graphs(device, most)?;
    Ok(empty.map_or(single, |floor_us| Setting {
        mode: Mode::Graph,
        flush: Flush::None,
        floor_us,
        n_calls,
    }))
}

/// Returns the median of a few samples of each call in turn; `None` where the device cannot time.
fn quick(
    device: &mut dyn Device,
    calls: &[TimedCall],
    flush: Flush,
) -> Result<Option<f64>, LaunchError> {
    let order: Vec<usize> = (0..N_QUICK).map(|sample| sample % calls.len()).collect();
    let samples = device.time(calls, &order, flush)?;
    Ok(samples.and_then(Timing::of).map(|timing| timing.median_us))
}

/// Samples at most between two that are judged.
const MAX_BETWEEN: u32 = 16;

/// Samples that are judged per argument set.
const N_CHECKED: usize = 3;

/// Judges the outputs of the last sample of every argument set, and of some that follow at random
/// distances: a launch cannot know whether it is one of them.
fn check_samples(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    sets: &Sets<'_>,
    other: Option<&[Vec<u8>]>,
    flush: Flush,
) -> Result<Option<CaseResult>, EvalError> {
    let mut wrong = recheck(job, device, sets, other)?;
    let Samples::Here(calls) = sets.samples() else { return Ok(wrong) };
    for _ in 1..N_CHECKED {
        if wrong.is_some() {
            break;
        }
        let more = OsRng.try_next_u32().unwrap_or_default() % MAX_BETWEEN;
        let n = calls.len() + more as usize;
        let order: Vec<usize> = (0..n).map(|sample| sample % calls.len()).collect();
        device.time(&calls, &order, flush)?;
        wrong = recheck(job, device, sets, other)?;
    }
    Ok(wrong)
}

/// Judges the outputs that the last sample of every argument set left behind.
fn recheck(
    job: &TimingJob<'_, '_>,
    device: &mut dyn Device,
    sets: &Sets<'_>,
    other: Option<&[Vec<u8>]>,
) -> Result<Option<CaseResult>, EvalError> {
    if let Samples::Elsewhere(call) = sets.samples() {
        // An external implementation leaves its outputs there.
        call.run(device)?;
    }
    for (index, session) in sets.sessions().iter().enumerate() {
        let wrong = match (index, other, job.other) {
            (1, Some(before), Some(other)) => {
                session.check(device, other.inputs)?;
                // Outputs of the launch that nobody timed were right: only other bytes need a
                // reference.
                if session.outputs(device)? == before {
                    None
                } else {
                    (other.recheck)(device, session)?
                }
            }
            _ => job.data.recheck(device, session)?,
        };
        if wrong.is_some() {
            return Ok(wrong);
        }
    }
    Ok(None)
}

/// Share of its time alone that a call inside a graph must take at least, and microseconds by which
/// it may fall short of that.
const GRAPH_LEAST: (f64, f64) = (0.7, 0.5);

/// Complains about a kernel that takes less time inside a graph than its work takes alone: inside a
/// graph its outputs hold the results of the call before, which it may have looked at.
fn idle_in_graphs(
    device: &mut dyn Device,
    sets: &Sets<'_>,
    candidate: &Timing,
) -> Result<Option<Finding>, LaunchError> {
    let alone = quick(device, &sets.calls(), Flush::None)?;
    let empty = quick(device, &[TimedCall::EMPTY], Flush::None)?;
    let Some((alone_us, empty_us)) = alone.zip(empty) else { return Ok(None) };
    let work_us = alone_us - empty_us;
    let (share, slack_us) = GRAPH_LEAST;
    let us = candidate.median_us;
    Ok((us < share * work_us - slack_us).then(|| {
        Finding::new(format!(
            "{us:.2} µs per call inside a graph, but {work_us:.2} µs more than an empty kernel when \
             its outputs are cleared before the call: it does not do its work every time"
        ))
    }))
}

/// Complains about a time in which the hardware cannot have done the op's work.
fn impossible(timing: &Timing, roofline: &Roofline) -> Option<Finding> {
    let us = timing.median_us;
    let least_us = roofline.impossible_us.filter(|_| roofline.is_impossible(us))?;
    Some(Finding::new(format!(
        "{us:.2} µs, but by the data sheet of this device the op's bytes or operations take at least \
         {least_us:.2} µs"
    )))
}
