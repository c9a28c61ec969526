//! Times one case: candidate and baseline interleaved, cold L2, outputs checked afterwards.
//!
//! Every sample poisons outputs and scratch and flushes the L2 cache before its first event, so
//! that a candidate that does nothing leaves poison behind and one that rests on a warm cache
//! gains nothing. Samples are taken in A-B-B-A blocks because clocks drift.

use std::time::{Duration, Instant};

use crate::{
    baseline::BUILTIN,
    device::{Device, Stop, TimedOp},
    record::{
        CaseResult, CaseTiming, EvalRequest, Finding, Target, Timing, TimingRequest, Verdict,
    },
};

use super::{
    CaseProgram, Error,
    draft::{describe_args, failed},
    gpu::Loader,
    judged::{Judged, Source},
    session::{Modules, Session},
    stats::{paired_speedup, summarise},
    subject::op_of,
};

/// Samples that are thrown away before the first block.
const N_WARM_UP: usize = 4;

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
    let measured = match with_baseline(job, loader, device, &candidate) {
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
    let Some(timing) = summarise(measured.candidate) else { return Ok(Outcome::NotMeasured) };
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
        baseline: summarise(measured.baseline).map(|timing| (BUILTIN.to_owned(), timing)),
        speedup: paired_speedup(&measured.blocks),
        bytes: work.bytes,
        flops: work.flops,
        peak_bytes,
        floor_us,
        params: chosen.plan.params.iter().map(|axis| (axis.name.clone(), axis.chosen)).collect(),
    })))
}

/// Raw samples of both arms.
#[derive(Default)]
struct Measured {
    candidate: Vec<f64>,
    baseline: Vec<f64>,
    blocks: Vec<[f64; 4]>,
}

/// One arm: what is poisoned and what is timed.
struct Arm {
    prologue: Vec<(crate::device::BufferId, u8)>,
    ops: Vec<TimedOp>,
}

impl Arm {
    fn new(session: &Session<'_>) -> Self {
        let poisoned = session.poisoned().into_iter();
        Self { prologue: poisoned.map(|buffer| (buffer, 0xff)).collect(), ops: session.ops() }
    }

    fn sample(&self, device: &mut dyn Device) -> Result<f64, Stop> {
        let time = device.time(&self.prologue, &self.ops)?;
        Ok(time.expect("the device has timed its floor, so it can time"))
    }
}

/// Opens the baseline's session beside the candidate's, if there is a baseline, and samples.
fn with_baseline(
    job: &Job<'_, '_>,
    loader: &Loader<'_>,
    device: &mut dyn Device,
    candidate: &Session<'_>,
) -> Result<Measured, Trouble> {
    let arm = Arm::new(candidate);
    let baseline = loader.program.baseline.as_deref();
    let found = baseline.and_then(|program| {
        let case = program.case(job.default.case)?;
        Some((program, case))
    });
    let Some((program, case_program)) = found else {
        return Ok(sample(device, job.timing, &arm, None)?);
    };
    let mut loader = Loader::new(program);
    let modules = load(&mut loader, device, case_program.variant)?;
    let session = open(device, job, case_program, modules, job.baseline_inputs)?;
    let measured = sample(device, job.timing, &arm, Some(&Arm::new(&session)));
    session.close(device);
    Ok(measured?)
}

/// Takes samples in A-B-B-A blocks (A is the baseline) until there are enough or time is up.
fn sample(
    device: &mut dyn Device,
    timing: &TimingRequest,
    candidate: &Arm,
    baseline: Option<&Arm>,
) -> Result<Measured, Stop> {
    for _ in 0..N_WARM_UP {
        candidate.sample(device)?;
        if let Some(baseline) = baseline {
            baseline.sample(device)?;
        }
    }
    let mut measured = Measured::default();
    let deadline = Instant::now() + Duration::from_secs_f64(timing.max_s);
    while measured.candidate.len() < timing.min_samples as usize && Instant::now() < deadline {
        match baseline {
            Some(baseline) => {
                let a1 = baseline.sample(device)?;
                let b1 = candidate.sample(device)?;
                let b2 = candidate.sample(device)?;
                let a2 = baseline.sample(device)?;
                measured.baseline.extend([a1, a2]);
                measured.candidate.extend([b1, b2]);
                measured.blocks.push([a1, b1, b2, a2]);
            }
            None => measured.candidate.push(candidate.sample(device)?),
        }
    }
    Ok(measured)
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
    Ok(summarise(samples).map(|timing| timing.median_us))
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
        let arm = Arm::new(&session);
        let samples: Result<Vec<f64>, Stop> = (0..N_TUNING).map(|_| arm.sample(device)).collect();
        session.close(device);
        // A choice that cannot be launched (too much shared memory, say) is no candidate.
        let Ok(samples) = samples else { continue };
        if let Some(timing) = summarise(samples) {
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

fn load(
    loader: &mut Loader<'_>,
    device: &mut dyn Device,
    variant: usize,
) -> Result<Modules, Trouble> {
    let loaded = loader.modules(device, variant)?;
    Ok(loaded.map_err(|(verdict, finding)| Stop::verdict(verdict, finding))?)
}

fn open<'a>(
    device: &mut dyn Device,
    job: &Job<'a, '_>,
    program: &'a CaseProgram,
    modules: Modules,
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
