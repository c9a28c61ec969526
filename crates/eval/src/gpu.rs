//! The half of an evaluation that runs on a GPU.

use std::{
    collections::VecDeque,
    num::NonZero,
    panic::resume_unwind,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use kgen_baseline::side::Sides;
use kgen_device::Device;
use kgen_record::{
    BaselineRequest, Case, CaseClass, CaseOutcome, EvalRequest, Evaluation, HostTensor, Level,
    Stage, Verdict, speedups,
};

use super::{
    CaseProgram, Error, Job, Program, Progress,
    builder::{EvaluationBuilder, blank, failed},
    execute::{CaseData, Ran, run_case},
    external::External,
    full,
    loader::Loader,
    memory,
    prepared_case::PreparedCase,
    reference_kernel,
    rounding::RoundingPools,
    session::{InputSource, Modules, Session},
    side::{OutOfProcess, Processes},
    timing,
};

/// Time between two looks at the memory that others hold.
const MEMORY_WAIT: Duration = Duration::from_millis(200);

/// Waits for memory that an evaluation has.
const MAX_MEMORY_WAITS: u32 = 100;

/// Outcome of a case that the implementation cannot run.
const UNSUPPORTED: CaseOutcome = CaseOutcome::Judged(Verdict::Unsupported);

/// Runs every case on a device and times those that are timed.
///
/// `partial`: the evaluation of the CPU half. Cases that passed on the emulator and pass here carry
/// both levels. `sides`: the processes beside the GPU's worker, for implementations that run there. Realistic
/// cases come last, and only if no other failed; each is timed right after it was found right,
/// while its inputs and reference are at hand.
///
/// # Errors
///
/// When kgen or its machine failed; faults of the candidate are in the evaluation.
pub fn gpu_half(
    request: &EvalRequest,
    program: &Program,
    partial: Evaluation,
    device: &mut dyn Device,
    sides: &Sides,
    progress: &mut dyn FnMut(Progress),
) -> Result<Evaluation, Error> {
    let processes = Processes::new(sides);
    let job = &Job::resolve(request)?.with_process(processes.python());
    let mut builder = EvaluationBuilder::resume(job, partial, progress);
    builder.evaluation().target = device.target().clone();
    if let Some(reference) = &program.reference {
        reference_kernel::enable(job, &job.cases, &Arc::new((**reference).clone()));
    }
    builder.enter(Stage::Execute);
    device.limit_kernels(Duration::from_secs_f64(job.limits.case_s));
    let (run_s, precision) = (job.limits.case_s, job.precision);
    let external = OutOfProcess::new(&processes, &job.op, &job.candidate, precision, run_s);
    let loader = match &external {
        Some(external) => Loader::of_external(program, external),
        None => Loader::new(program),
    };
    let pools = RoundingPools::default();
    let trusted = full::Loaded::new(program.full_size.as_deref());
    let module = full::module_reference(&job.op);
    let module = module.as_ref().and_then(|reference| {
        OutOfProcess::new(&processes, &job.op, reference, precision, MODULE_S)
    });
    let baselines = out_of_process_baselines(job, &processes);
    let mut judge = GpuEvaluation {
        job,
        loader,
        trusted,
        module: module.as_ref(),
        external: external.as_ref(),
        baselines: &baselines,
        device,
        builder,
        pools,
        lost: false,
        memory_waits: 0,
    };
    let mut known = Vec::with_capacity(program.cases.len());
    for case_program in &program.cases {
        let case = &job.cases[case_program.case];
        let reason = reference_kernel::too_big(job, case);
        match reason.or_else(|| too_big_for_host(program, case, case_program.case)) {
            Some(reason) => judge.skip(case_program, &reason),
            None => known.push(case_program),
        }
    }
    let (realistic, small): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|case| job.cases[case.case].class.is_large());
    judge.run_small(&small)?;
    judge.run_realistic(&realistic)?;
    processes.note_facts(judge.builder.evaluation());
    Ok(judge.conclude())
}

/// Returns why a case of more than 2^31 elements cannot be judged: only on the device, beside a
/// trusted kernel, is it done in seconds.
fn too_big_for_host(program: &Program, case: &Case, index: usize) -> Option<String> {
    let code = program.full_size.as_deref();
    let trusted = code.and_then(|code| code.trusted.as_ref());
    let on_device = trusted.is_some_and(|trusted| trusted.case(index).is_some());
    (case.class == CaseClass::Huge && !on_device)
        .then(|| "too large without a kernel of kgen's own to compare with".to_owned())
}

/// Returns the baselines of a request that run in processes beside the worker.
fn out_of_process_baselines<'a>(
    job: &'a Job<'a>,
    processes: &'a Processes<'a>,
) -> Vec<(&'a str, OutOfProcess<'a>)> {
    let (op, run_s) = (&job.op, job.limits.case_s);
    let baselines = job.timing.iter().flat_map(|timing| &timing.baselines);
    let external = |baseline: &'a BaselineRequest| {
        let implementation = &baseline.implementation;
        let external = OutOfProcess::new(processes, op, implementation, job.precision, run_s)?;
        Some((baseline.name.as_str(), external))
    };
    baselines.filter_map(external).collect()
}

/// The state of a GPU half.
struct GpuEvaluation<'a, 'd> {
    job: &'a Job<'a>,
    loader: Loader<'a>,
    /// Where the candidate runs in a process beside the worker.
    external: Option<&'a OutOfProcess<'a>>,
    /// The baselines that run there.
    baselines: &'a [(&'a str, OutOfProcess<'a>)],
    trusted: full::Loaded<'a>,
    /// The module that gives the references of its realistic cases.
    module: Option<&'a OutOfProcess<'a>>,
    device: &'d mut dyn Device,
    builder: EvaluationBuilder<'d>,
    pools: RoundingPools,
    lost: bool,
    /// Waits for memory so far.
    memory_waits: u32,
}

impl<'a> GpuEvaluation<'a, '_> {
    /// Returns why no further case can run, if so.
    fn given_up(&self) -> Option<&'static str> {
        let reason = match self.external {
            Some(_) => "the process that runs it was lost in an earlier case",
            None => "the device was lost in an earlier case",
        };
        self.lost.then_some(reason)
    }

    /// Runs the small cases; the next ones' references are computed while one runs, on several
    /// cores by turns.
    fn run_small(&mut self, programs: &[&'a CaseProgram]) -> Result<(), Error> {
        let job = self.job;
        let n_ahead = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_AHEAD);
        thread::scope(|scope| {
            let begin = |turn: usize| {
                let (sender, ahead) = mpsc::sync_channel(1);
                scope.spawn(move || {
                    for program in programs.iter().skip(turn).step_by(n_ahead) {
                        let case = &job.cases[program.case];
                        let prepared = PreparedCase::new(job, case);
                        let both =
                            prepared.and_then(|one| Ok((one, PreparedCase::other(job, case)?)));
                        // Nobody listens where the device was lost.
                        if sender.send(both).is_err() {
                            return;
                        }
                    }
                });
                ahead
            };
            let ahead: Vec<_> = (0..n_ahead).map(begin).collect();
            for (place, program) in programs.iter().enumerate() {
                if let Some(reason) = self.given_up() {
                    self.skip(program, reason);
                    continue;
                }
                let received = self.builder.reference(|| ahead[place % n_ahead].recv());
                let (prepared, other) = received.expect("one comes for each program")?;
                self.run(program, &prepared, Some(&other))?;
            }
            Ok(())
        })
    }

    /// Runs the realistic cases; their inputs and references are computed ahead on other cores.
    fn run_realistic(&mut self, programs: &[&'a CaseProgram]) -> Result<(), Error> {
        let (job, full_size) = (self.job, self.loader.program.full_size.as_deref());
        thread::scope(|scope| {
            let prepare = |program: &CaseProgram| {
                let case = &job.cases[program.case];
                let full_size = full_size.is_some_and(|code| match &code.trusted {
                    Some(trusted) => trusted.case(program.case).is_some(),
                    None => full::is_of_module(&job.op, case),
                });
                scope.spawn(move || Prepared::new(job, case, full_size))
            };
            let n_ahead = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_AHEAD);
            // The process that a reference in Python runs in has the GPU, which times are taken on.
            let n_ahead = if job.op.python_reference.is_some() { 1 } else { n_ahead };
            let mut waiting = programs.iter();
            let mut ahead = VecDeque::new();
            for program in programs {
                let failed_before = self.builder.evaluation().failed().next().is_some();
                let earlier = failed_before.then_some("an earlier case failed");
                if let Some(reason) = self.given_up().or(earlier) {
                    self.skip(program, reason);
                    continue;
                }
                while ahead.len() < n_ahead
                    && let Some(next) = waiting.next()
                {
                    ahead.push_back(prepare(next));
                }
                let handle = ahead.pop_front().expect("each program was prepared in its turn");
                let joined = self.builder.reference(|| handle.join());
                match joined.unwrap_or_else(|panic| resume_unwind(panic))? {
                    Prepared::Host(host) => {
                        let arm = memory::arm(host.prepared.case, &host.prepared.outputs, program);
                        let n_arms = if host.baseline_inputs.is_empty() { 1 } else { 2 };
                        if !self.fits(program, n_arms * arm) {
                            continue;
                        }
                        self.run(program, &host.prepared, None)?;
                        let recheck = |device: &mut dyn Device, session: &Session<'_>| {
                            let other = PreparedCase::other(job, host.prepared.case)?;
                            other.recheck(device, session)
                        };
                        let other = host.other_inputs.as_ref();
                        let other = other.map(|inputs| timing::Other { inputs, recheck: &recheck });
                        self.time(program, &host.prepared, &host.baseline_inputs, other)?;
                    }
                    Prepared::FullSize(case) => self.full_size(program, &case)?,
                }
            }
            Ok(())
        })
    }

    /// Judges one case; `other` is the same on other data.
    fn run(
        &mut self,
        program: &'a CaseProgram,
        prepared: &PreparedCase<'_>,
        other: Option<&PreparedCase<'_>>,
    ) -> Result<(), Error> {
        let Some(modules) = self.begin(program)? else { return Ok(()) };
        let ran = run_case(self.device, prepared, other, program, modules)?;
        self.done(program.case, ran);
        Ok(())
    }

    /// Begins a case; `None` where the device refuses its code, which is then its result.
    fn begin(&mut self, program: &CaseProgram) -> Result<Option<Modules<'a>>, Error> {
        let index = program.case;
        match self.loader.modules(self.device, program.variant) {
            Ok(modules) => {
                // From here on the kernel may hang: the parent's deadline for a case begins.
                self.builder.case_started(index);
                if let Some(external) = self.external {
                    self.builder.waiting(external.limit());
                }
                Ok(Some(modules))
            }
            Err(error) => {
                let (verdict, finding) = error.into_refusal()?;
                let case = &self.job.cases[index];
                let result = failed(case, verdict, self.device.level(), finding);
                self.builder.case_done(index, result);
                Ok(None)
            }
        }
    }

    /// Stores the result of a case.
    fn done(&mut self, index: usize, ran: Ran) {
        let Ran { mut result, rounding, device_lost, .. } = ran;
        // A library need not take every call; a candidate's own code must.
        if self.external.is_some() && result.outcome == UNSUPPORTED && !device_lost {
            let reason = result.findings.first().map(|finding| finding.message.clone());
            result.outcome = CaseOutcome::Skipped { reason: reason.unwrap_or_default() };
        }
        self.pools.add(index, &result, rounding);
        let passed = CaseOutcome::Judged(Verdict::Passed);
        if result.outcome == passed && self.builder.evaluation().cases[index].outcome == passed {
            result.level = Level::EmuCuda;
        }
        self.builder.case_done(index, result);
        self.lost |= device_lost;
    }

    /// Skips a case that needs more memory than is free, or than other evaluations give back.
    fn fits(&mut self, program: &CaseProgram, need: u64) -> bool {
        let mut lacking = memory::lacking(self.device, need);
        while lacking.is_some()
            && need < self.device.target().memory_bytes
            && self.memory_waits < MAX_MEMORY_WAITS
        {
            thread::sleep(MEMORY_WAIT);
            self.memory_waits += 1;
            lacking = memory::lacking(self.device, need);
        }
        if let Some(reason) = &lacking {
            self.skip(program, reason);
        }
        lacking.is_none()
    }

    /// Judges and times a case whose inputs are made on the device.
    fn full_size(
        &mut self,
        program: &'a CaseProgram,
        prepared: &full::Prepared<'_>,
    ) -> Result<(), Error> {
        let index = program.case;
        let module = self.module.filter(|_| full::is_of_module(&self.job.op, prepared.case));
        let trusted = self.trusted.load(self.device, index, module)?;
        let timed = self.loader.program.baselines.iter();
        let timed = timed.filter_map(|baseline| baseline.program.case(index));
        // The scratch of Python implementations is not known.
        let arms = timed.chain((!self.baselines.is_empty()).then_some(program));
        let both = arms.map(|other| prepared.arm_need(program) + prepared.arm_need(other));
        let need = both.fold(prepared.need(program, trusted.program()), u64::max);
        if !self.fits(program, need) {
            return Ok(());
        }
        let Some(modules) = self.begin(program)? else { return Ok(()) };
        let ran = match full::judge(self.device, prepared, trusted, program, modules) {
            // Neither right nor wrong: a machine that has no PyTorch, or too little memory for it.
            Err(Error::Module { reason }) => {
                self.skip(program, &reason);
                return Ok(());
            }
            ran => ran?,
        };
        self.done(index, ran);
        let other = prepared.view(trusted, 1);
        let recheck =
            |device: &mut dyn Device, session: &Session<'_>| other.recheck(device, session);
        // One data set alone has no other data.
        let has_other = 1 < self.job.limits.data_sets;
        let other = (has_other && leaves_traces(self.job, prepared.case))
            .then(|| timing::Other { inputs: other.source(), recheck: &recheck });
        self.time(program, &prepared.view(trusted, 0), &prepared.baseline(trusted), other)
    }

    /// Times a case that was found right.
    fn time(
        &mut self,
        program: &'a CaseProgram,
        data: &dyn CaseData,
        baseline_inputs: &dyn InputSource,
        other: Option<timing::Other<'_>>,
    ) -> Result<(), Error> {
        let Some(timing) = &self.job.timing else { return Ok(()) };
        if data.case().class != CaseClass::Realistic {
            return Ok(());
        }
        if self.builder.evaluation().failed().next().is_some() {
            return Ok(());
        }
        self.builder.enter(Stage::Time);
        // Nothing that the modules held while outputs were judged lives on into the timing.
        self.loader.unload(self.device);
        self.builder.case_started(program.case);
        let externals: Vec<(&str, &dyn External)> = self
            .baselines
            .iter()
            .map(|(name, external)| (*name, external as &dyn External))
            .collect();
        let limit = self.baselines.iter().map(|(_, external)| external.limit()).sum();
        if Duration::ZERO < limit {
            self.builder.waiting(limit);
        }
        let job = timing::TimingJob {
            job: self.job,
            timing,
            data,
            baseline_inputs,
            other,
            default: program,
            externals: &externals,
        };
        match timing::time_case(&job, &mut self.loader, self.device)? {
            timing::TimingOutcome::Timed(timed) => self.builder.evaluation().timings.push(*timed),
            timing::TimingOutcome::NotMeasured => {}
            timing::TimingOutcome::Failed(result) => self.builder.case_done(program.case, *result),
        }
        self.builder.enter(Stage::Execute);
        Ok(())
    }

    fn skip(&mut self, program: &CaseProgram, reason: &str) {
        let outcome = CaseOutcome::Skipped { reason: reason.to_owned() };
        let case = &self.job.cases[program.case];
        self.builder.case_done(program.case, blank(case, outcome, Level::Static));
    }

    /// Derives speedup and verdict.
    fn conclude(mut self) -> Evaluation {
        if !self.lost {
            self.pools.judge(&mut self.builder, self.device.level());
        }
        // A wrong kernel has no speed.
        if self.builder.evaluation().failed().next().is_none() {
            let speedups = speedups(&self.builder.evaluation().timings);
            self.builder.evaluation().speedups = speedups;
            self.builder.enter(Stage::Done);
        }
        self.builder.build()
    }
}

/// Returns whether a launch may find something of the one before in the L2 cache, so that a second
/// argument set is worth its while.
fn leaves_traces(job: &Job<'_>, case: &Case) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "the size of a cache")]
    let cache = job.target.l2_bytes as f64;
    job.op.work(case).bytes < 5.0 * cache
}

/// Cases whose inputs and references are kept at once.
const MAX_AHEAD: usize = 6;

/// Seconds that a module has for its results in f64 and their responses to roundings.
const MODULE_S: f64 = 120.0;

/// A realistic case with everything that is computed on the host.
enum Prepared<'a> {
    /// One whose inputs and references are there in full.
    Host(Box<Host<'a>>),
    /// One whose inputs are made on the device.
    FullSize(Box<full::Prepared<'a>>),
}

/// A case with inputs and references.
struct Host<'a> {
    prepared: PreparedCase<'a>,
    /// Inputs of the baseline: equal shapes, other values.
    baseline_inputs: Vec<HostTensor>,
    /// Inputs of a second argument set.
    other_inputs: Option<Vec<HostTensor>>,
}

impl<'a> Prepared<'a> {
    fn new(job: &Job<'_>, case: &'a Case, full_size: bool) -> Result<Self, Error> {
        if full_size {
            return Ok(Self::FullSize(Box::new(full::Prepared::new(job, case)?)));
        }
        let has_baseline = job.timing.as_ref().is_some_and(|timing| !timing.baselines.is_empty());
        let baseline_inputs = if has_baseline {
            PreparedCase::inputs(case, job.seed ^ timing::BASELINE_SEED)
        } else {
            Vec::new()
        };
        let other_inputs = (job.timing.is_some() && leaves_traces(job, case))
            .then(|| PreparedCase::other_inputs(job, case));
        let prepared = PreparedCase::new(job, case)?;
        Ok(Self::Host(Box::new(Host { prepared, baseline_inputs, other_inputs })))
    }
}
