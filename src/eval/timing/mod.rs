//! Times one case: candidate and baseline interleaved, cold L2, outputs checked afterwards.
//!
//! Every sample poisons outputs and scratch and flushes the L2 cache before its first event, so
//! that a candidate that does nothing leaves poison behind and one that rests on a warm cache
//! gains nothing. When to sample and when to stop is the protocol's business ([`kgen_measure`]).

mod bench;

use kgen_measure::{Alone, Params, alone, compare, roofline::is_overhead_dominated};

use crate::{
    device::{Device, Stop},
    record::{
        BaselineRequest, BaselineTiming, CaseResult, CaseTiming, EvalRequest, Finding, Flag,
        Implementation, Mode, Target, Timing, TimingRequest, Verdict,
    },
};

use self::bench::{ArmCall, OneByOne};
use super::{
    CaseProgram, Error,
    draft::{describe_args, failed},
    gpu::Loader,
    judged::{Judged, Source},
    session::{Modules, Session},
    subject::op_of,
};

/// Samples that decide between parameter choices.
const N_TUNING: usize = 9;

/// How much faster than the data sheet's bandwidth a transfer may seem before it is suspicious.
const BANDWIDTH_MARGIN: f64 = 1.05;

/// Turns a request's seed into that of the baseline's inputs: equal shapes, other values.
pub(super) const BASELINE_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is timed.
pub(super) struct Job<'s, 'a> {
    pub(super) request: &'s EvalRequest,
    pub(super) timing: &'s TimingRequest,
    pub(super) subject: &'s dyn Judged,
    /// Inputs of the baseline.
    pub(super) baseline_inputs: &'s dyn Source,
    /// The program with the default parameters.
    pub(super) default: &'a CaseProgram,
}

/// What timing one case came to.
pub(super) enum Outcome {
    /// The times.
    Timed(Box<CaseTiming>),
    /// The device cannot time.
    NotMeasured,
    /// The candidate failed while it was timed.
    Failed(Box<CaseResult>),
}

/// Times one case that was found right.
pub(super) fn time_case<'a>(
    job: &Job<'_, 'a>,
    loader: &mut Loader<'a>,
    device: &mut dyn Device,
) -> Result<Outcome, Error> {
    match attempt(job, loader, device) {
        Ok(outcome) => Ok(outcome),
        Err(Trouble::Stop(Stop::Verdict { verdict, finding, .. })) => {
            let result = failed(job.subject.case(), verdict, device.level(), *finding);
            Ok(Outcome::Failed(Box::new(result)))
        }
        Err(Trouble::Stop(Stop::Budget { reason })) => {
            let finding = Finding::new(reason);
            let result = failed(job.subject.case(), Verdict::TimedOut, device.level(), finding);
            Ok(Outcome::Failed(Box::new(result)))
        }
        Err(Trouble::Stop(Stop::Machine(error))) => Err(error.into()),
        Err(Trouble::Error(error)) => Err(error),
    }
}

/// A stop of the candidate or a failure of kgen.
enum Trouble {
    Stop(Stop),
    Error(Error),
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

fn attempt<'a>(
    job: &Job<'_, 'a>,
    loader: &mut Loader<'a>,
    device: &mut dyn Device,
) -> Result<Outcome, Trouble> {
    let Some(floor_us) = floor(device)? else { return Ok(Outcome::NotMeasured) };
    let chosen = tune(job, loader, device)?;
    let modules = load(loader, device, chosen.variant)?;
    let candidate = open(device, job, chosen, modules, job.subject.source())?;
    let measured = match with_baselines(job, loader, device, &candidate, floor_us) {
        Ok(measured) => measured,
        Err(trouble) => {
            candidate.close(device);
            return Err(trouble);
        }
    };
    let peak_bytes = candidate.bytes(device);
    let recheck = job.subject.recheck(device, &candidate);
    candidate.close(device);
    if let Some(result) = recheck? {
        return Ok(Outcome::Failed(Box::new(result)));
    }
    let Some(timing) = measured.candidate else { return Ok(Outcome::NotMeasured) };
    let op = op_of(job.request)?;
    let work = op.work(job.subject.case());
    if let Some(finding) = implausible(&timing, work.bytes, device.target()) {
        let result = failed(job.subject.case(), Verdict::Suspicious, device.level(), finding);
        return Ok(Outcome::Failed(Box::new(result)));
    }
    Ok(Outcome::Timed(Box::new(CaseTiming {
        case: job.subject.case().id.clone(),
        args: describe_args(job.subject.case()),
        candidate: timing,
        mode: Mode::Cold,
        baselines: measured.baselines,
        bytes: work.bytes,
        flops: work.flops,
        peak_bytes,
        floor_us,
        roofline: None,
        flags: measured.flags,
        params: chosen.plan.params.iter().map(|axis| (axis.name.clone(), axis.chosen)).collect(),
    })))
}

/// The candidate and what it was timed against.
struct Measured {
    candidate: Option<Timing>,
    baselines: Vec<BaselineTiming>,
    flags: Vec<Flag>,
}

impl Measured {
    /// Adds a baseline; the first that was measured brings the candidate's own times.
    fn add(
        &mut self,
        request: &BaselineRequest,
        timed: Result<kgen_measure::Measured, String>,
        floor_us: f64,
    ) {
        let mut timed = match timed {
            Ok(timed) => timed,
            Err(note) => {
                self.baselines.push(BaselineTiming::not_measured(&request.name, note));
                return;
            }
        };
        timed.mark_floor(floor_us);
        let again = self.candidate.is_some().then(|| timed.candidate.clone());
        self.baselines.push(BaselineTiming {
            name: request.name.clone(),
            overhead_dominated: is_overhead_dominated(timed.baseline.median_us, floor_us),
            timing: Some(timed.baseline),
            candidate: again,
            comparison: Some(timed.comparison),
            note: None,
        });
        self.candidate.get_or_insert(timed.candidate);
        self.flags.extend(timed.flags);
        self.flags.sort_unstable();
        self.flags.dedup();
    }
}

/// Times the candidate against each baseline in turn, or alone where there is none.
fn with_baselines(
    job: &Job<'_, '_>,
    loader: &Loader<'_>,
    device: &mut dyn Device,
    candidate: &Session<'_>,
    floor_us: f64,
) -> Result<Measured, Trouble> {
    let mut measured = Measured { candidate: None, baselines: Vec::new(), flags: Vec::new() };
    for baseline in &job.timing.baselines {
        let timed = against(job, loader, device, candidate, baseline)?;
        measured.add(baseline, timed, floor_us);
    }
    if measured.candidate.is_none() {
        let candidate = ArmCall::new(candidate);
        let mut bench = OneByOne { device, candidate, baseline: None };
        if let Some(Alone { candidate, flags, .. }) = alone(&mut bench, &params(job))? {
            measured.candidate = Some(candidate);
            measured.flags = flags;
        }
    }
    Ok(measured)
}

/// Opens the baseline's session beside the candidate's and takes samples of both in turn; an error
/// in words where this baseline cannot be timed here.
fn against(
    job: &Job<'_, '_>,
    loader: &Loader<'_>,
    device: &mut dyn Device,
    candidate: &Session<'_>,
    baseline: &BaselineRequest,
) -> Result<Result<kgen_measure::Measured, String>, Trouble> {
    let Implementation::Kernel { .. } = &baseline.implementation else {
        return Ok(Err("it is no kernel file".to_owned()));
    };
    let program = loader.program.baseline(&baseline.name);
    let case = program.and_then(|program| Some((program, program.case(job.default.case)?)));
    let Some((program, case)) = case else {
        return Ok(Err("its plan declines the case".to_owned()));
    };
    let mut loader = Loader::new(program);
    let modules = load(&mut loader, device, case.variant)?;
    let session = open(device, job, case, modules, job.baseline_inputs)?;
    let arm = ArmCall::new(&session);
    let mut bench = OneByOne { device, candidate: ArmCall::new(candidate), baseline: Some(arm) };
    let measured = compare(&mut bench, &params(job), job.request.seed);
    session.close(device);
    Ok(measured?.ok_or_else(|| "the device gave samples that are no times".to_owned()))
}

fn params(job: &Job<'_, '_>) -> Params {
    let params = job.timing.profile.params();
    Params { max_s: job.timing.max_s.unwrap_or(params.max_s), ..params }
}

/// Returns the time of nothing between two events; `None` where the device cannot time.
fn floor(device: &mut dyn Device) -> Result<Option<f64>, Stop> {
    let mut samples = Vec::new();
    for _ in 0..N_TUNING {
        match device.time(&[], &[])? {
            Some(sample) => samples.push(sample),
            None => return Ok(None),
        }
    }
    Ok(Timing::of(samples).map(|timing| timing.median_us))
}

/// Chooses among the plan's parameter values; a choice other than the default is judged again.
fn tune<'a>(
    job: &Job<'_, 'a>,
    loader: &mut Loader<'a>,
    device: &mut dyn Device,
) -> Result<&'a CaseProgram, Trouble> {
    let program = loader.program;
    let mut candidates: Vec<&CaseProgram> =
        program.tunings.iter().filter(|tuning| tuning.case == job.default.case).collect();
    if candidates.is_empty() {
        return Ok(job.default);
    }
    candidates.insert(0, job.default);
    let mut ranked = Vec::new();
    for candidate in candidates {
        let modules = load(loader, device, candidate.variant)?;
        let session = open(device, job, candidate, modules, job.subject.source())?;
        let arm = ArmCall::new(&session);
        let samples: Result<Vec<f64>, Stop> = (0..N_TUNING).map(|_| arm.sample(device)).collect();
        session.close(device);
        // A choice that cannot be launched (too much shared memory, say) is no candidate.
        let Ok(samples) = samples else { continue };
        if let Some(timing) = Timing::of(samples) {
            ranked.push((timing.median_us, candidate));
        }
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (_, candidate) in ranked {
        if std::ptr::eq(candidate, job.default) {
            break;
        }
        let modules = load(loader, device, candidate.variant)?;
        let ran = job.subject.run(device, candidate, modules)?;
        if ran.result.outcome == crate::record::Outcome::Judged(Verdict::Passed) {
            return Ok(candidate);
        }
    }
    Ok(job.default)
}

fn load<'a>(
    loader: &mut Loader<'a>,
    device: &mut dyn Device,
    variant: usize,
) -> Result<Modules<'a>, Trouble> {
    let loaded = loader.modules(device, variant)?;
    Ok(loaded.map_err(|(verdict, finding)| Stop::verdict(verdict, finding))?)
}

fn open<'a>(
    device: &mut dyn Device,
    job: &Job<'a, '_>,
    program: &'a CaseProgram,
    modules: Modules<'a>,
    inputs: &dyn Source,
) -> Result<Session<'a>, Stop> {
    Session::open(device, job.subject.case(), program, modules, inputs, job.subject.outputs())
}

/// Complains about a time in which the device cannot have moved the op's bytes.
fn implausible(timing: &Timing, bytes: f64, target: &Target) -> Option<Finding> {
    let peak = target.peak_bandwidth?;
    #[expect(clippy::cast_precision_loss, reason = "a cache size")]
    let cold = bytes - target.l2_bytes as f64;
    let needed_us = cold / (peak * BANDWIDTH_MARGIN) * 1e6;
    (timing.median_us < needed_us).then(|| {
        Finding::new(format!(
            "{:.1} µs, but moving the {:.1} MB that the op must move takes at least {needed_us:.1} µs \
             on this device",
            timing.median_us,
            bytes / 1e6
        ))
    })
}
