//! Runs a full-size case on a device and judges its outputs.

use std::{
    ops::Range,
    sync::{MutexGuard, PoisonError},
    time::Instant,
};

use kgen_baseline::BUILTIN;
use kgen_device::{BufferId, Device, LaunchError};
use kgen_record::{
    Case, CaseOutcome, CaseResult, DType, Finding, FullSize, StepTime, TensorSpec, Verdict,
};

use super::{
    DataSet, Digest, Prepared,
    device_kernels::{DifferingElements, NearBound, OutputPair},
    load::{Trusted, TrustedBy},
    module::{Look, ModuleResults},
    sampled_elements::{ElementQuery, SampledElements},
    source::Generated,
};
use crate::{
    CaseProgram, Error,
    bound::factors,
    compare::{Comparison, RoundingStats},
    error::EvalError,
    execute::{CaseData, Ran, conclude, from_error, wrong_when_timed},
    memory,
    session::{InputSource, Modules, Session},
    side::OutOfProcess,
};

/// Bytes that outputs and scratch hold before a run, in turn over the data sets: NaN in every
/// floating-point type, then a finite number.
const POISONS: [u8; 2] = [0xff, 0x5b];

/// Share of the smallest bound that two outputs may differ by without being looked at.
const NEAR_SHARE: f64 = 0.25;

/// Elements that differ from a module's results and are looked at.
const MAX_BY_MODULE: usize = 1 << 14;

/// Ulps that two outputs may differ by without being looked at: results in f32 differ by honest
/// roundings, and of two neighbours in 16 bits one is rounded wrongly.
const fn near_ulps(dtype: DType) -> f64 {
    if matches!(dtype, DType::F64 | DType::F32) { 2.0 } else { 0.5 }
}

impl Prepared<'_> {
    /// Returns the bytes that judging takes at least.
    pub(crate) fn need(&self, program: &CaseProgram, trusted: Option<&CaseProgram>) -> u64 {
        let outputs: u64 = self.outputs.iter().map(|(_, spec)| spec.storage_bytes() as u64).sum();
        let inputs = self.case.tensors().map(|(_, tensor)| tensor.spec.storage_bytes() as u64);
        let inputs: u64 = inputs.sum();
        let arm = self.arm_need(program);
        match trusted {
            Some(trusted) => arm + outputs + memory::scratch(trusted),
            // The module's results; in its process, in f64, the inputs, the results and a tensor in between.
            None => arm + 2 * inputs + 5 * outputs,
        }
    }

    /// Returns the bytes of inputs, outputs and scratch of a program.
    pub(crate) fn arm_need(&self, program: &CaseProgram) -> u64 {
        memory::arm(self.case, &self.outputs, program)
    }

    /// Returns one data set of the case, for timing.
    pub(crate) fn view<'p>(&'p self, trusted: Trusted<'p>, set: usize) -> View<'p> {
        let set = set % self.sets.len();
        let source = Generated { values: &self.sets[set].values, kit: trusted.kit };
        View { prepared: self, trusted, set, source }
    }

    /// Returns the inputs of the baseline.
    pub(crate) fn baseline(&self, trusted: Trusted<'_>) -> Generated<'_> {
        Generated { values: &self.baseline, kit: trusted.kit }
    }
}

/// Judges a program on all data sets.
pub(crate) fn judge(
    device: &mut dyn Device,
    prepared: &Prepared<'_>,
    trusted: Trusted<'_>,
    program: &CaseProgram,
    modules: Modules,
) -> Result<Ran, Error> {
    run_sets(device, prepared, trusted, program, modules, 0..prepared.sets.len())
}

fn run_sets(
    device: &mut dyn Device,
    prepared: &Prepared<'_>,
    trusted: Trusted<'_>,
    program: &CaseProgram,
    modules: Modules,
    sets: Range<usize>,
) -> Result<Ran, Error> {
    let level = device.level();
    let mut run = Run { prepared, trusted, log: Log::default() };
    match run.sets(device, program, modules, sets) {
        Ok(compared) => {
            let (mut result, rounding) = conclude(prepared.case, level, vec![compared]);
            run.log.explain(&mut result);
            result.full_size = Some(run.log.record);
            Ok(Ran::of(result, rounding))
        }
        Err(EvalError::Stopped(error)) => {
            let mut ran = from_error(prepared.case, level, error)?;
            ran.result.full_size = Some(run.log.record);
            Ok(ran)
        }
        Err(EvalError::Machine(error)) => Err(error),
    }
}

/// An error of the trusted kernel says nothing about the candidate.
fn distrust(error: LaunchError) -> EvalError {
    EvalError::Machine(match error {
        LaunchError::Machine(error) => error.into(),
        error => Error::Baseline { name: BUILTIN.to_owned(), reason: error.to_string() },
    })
}

/// A module that gives no results says nothing about the candidate.
fn not_by_module(error: LaunchError) -> EvalError {
    let reason = match error {
        LaunchError::Machine(error) => return EvalError::Machine(error.into()),
        LaunchError::Kernel { finding, .. } => finding.message,
        LaunchError::Budget { reason, .. } => reason,
    };
    EvalError::Machine(Error::Module { reason })
}

/// Returns how far two results may differ without being looked at.
fn near(
    question: &ElementQuery<'_>,
    points: &SampledElements,
    output: usize,
    spec: &TensorSpec,
) -> NearBound {
    let bound = question.least_bound(points, output);
    NearBound {
        exact: question.exact(spec),
        signed_zero: question.op.signed_zero,
        ulps: near_ulps(spec.dtype),
        absolute: if bound.is_finite() { NEAR_SHARE * bound } else { 0.0 },
    }
}

/// Judging one program.
struct Run<'p> {
    prepared: &'p Prepared<'p>,
    trusted: Trusted<'p>,
    log: Log,
}

impl<'p> Run<'p> {
    fn source(&self, set: usize) -> Generated<'p> {
        Generated { values: &self.prepared.sets[set].values, kit: self.trusted.kit }
    }

    /// Runs data set after data set until one is wrong.
    fn sets(
        &mut self,
        device: &mut dyn Device,
        program: &CaseProgram,
        modules: Modules,
        sets: Range<usize>,
    ) -> Result<Vec<Comparison>, EvalError> {
        let (prepared, first) = (self.prepared, self.source(sets.start));
        let session = self.log.step(device, "inputs", |device| {
            Session::open(device, prepared.case, program, modules, &first, &prepared.outputs)
        })?;
        let mut beside = None;
        let judged = self.each(device, &session, &mut beside, sets);
        if let Some(beside) = beside {
            beside.close(device);
        }
        session.close(device);
        judged
    }

    /// Does [`Self::sets`] with the buffers of the candidate; those of the trusted kernel are made
    /// when the candidate has run for the first time.
    fn each(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        beside: &mut Option<Session<'p>>,
        sets: Range<usize>,
    ) -> Result<Vec<Comparison>, EvalError> {
        let mut all = Vec::new();
        let first = sets.start;
        for set in sets {
            let source = self.source(set);
            let poison = POISONS[set % POISONS.len()];
            if set != first {
                self.log.step(device, "inputs", |device| session.rewrite(device, &source))?;
            }
            self.log.step(device, "poison", |device| session.poison(device, poison))?;
            self.log.step(device, "candidate", |device| session.run(device))?;
            self.log.step(device, "inputs unchanged", |device| session.check(device, &source))?;
            let digest = self.digest(device, session)?;
            let compared = self.compare(device, session, beside, set, poison)?;
            let wrong = compared.iter().any(|output| output.mismatch.is_some());
            if !wrong {
                self.right()[set] = Some(digest);
            }
            all.extend(compared);
            if wrong {
                break;
            }
        }
        Ok(all)
    }

    fn digest(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
    ) -> Result<Digest, LaunchError> {
        let (kit, salt) = (self.trusted.kit, self.prepared.chosen);
        let outputs = 0..self.prepared.outputs.len();
        self.log.step(device, "digest", |device| {
            outputs.map(|at| kit.digest(device, session.output_buffer(at), salt)).collect()
        })
    }

    fn right(&self) -> MutexGuard<'_, Vec<Option<Digest>>> {
        self.prepared.right.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the trusted kernel on the data of a session and compares the outputs of both.
    fn compare(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        beside: &mut Option<Session<'p>>,
        set: usize,
        poison: u8,
    ) -> Result<Vec<Comparison>, EvalError> {
        let Prepared { case, outputs, .. } = self.prepared;
        let (program, modules) = match self.trusted.by {
            TrustedBy::Kernel { program, modules } => (program, modules),
            TrustedBy::Module(python) => {
                return self.compare_with_module(device, session, python, set, poison);
            }
        };
        let ran = self.log.step(device, "trusted kernel", |device| {
            let other = match beside.take() {
                Some(other) => other,
                None => Session::beside(device, session, case, program, modules, outputs)?,
            };
            other.run(device).map(|()| other)
        });
        let other = beside.insert(ran.map_err(distrust)?);
        let (points, capacity) =
            (&self.prepared.sets[set].points, self.prepared.question().capacity());
        let trusted = |output: usize| other.output_buffer(output);
        let found = self.differing(device, session, points, poison, &trusted, capacity)?;
        self.log.compared(outputs, &found, self.prepared.alone);
        self.follow_up(device, session, set, poison, &found)
    }

    /// Runs the module on the inputs of a session and holds the outputs against its results.
    fn compare_with_module(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        python: &OutOfProcess<'_>,
        set: usize,
        poison: u8,
    ) -> Result<Vec<Comparison>, EvalError> {
        let Prepared { case, outputs, .. } = self.prepared;
        let results = self
            .log
            .step(device, "module in f64", |device| {
                ModuleResults::compute(device, python, case, session.inputs(), outputs)
            })
            .map_err(not_by_module)?;
        let compared = self.hold_against(device, session, &results, set, poison);
        results.free(device);
        compared
    }

    fn hold_against(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        results: &ModuleResults<'_>,
        set: usize,
        poison: u8,
    ) -> Result<Vec<Comparison>, EvalError> {
        let prepared = self.prepared;
        let chosen = prepared.chosen(set);
        let points = self.module_points(device, session, results, chosen.clone(), Look::First)?;
        let trusted = |output: usize| results.of(output);
        let found = self.differing(device, session, &points, poison, &trusted, MAX_BY_MODULE)?;
        self.log.record.by_module = true;
        self.log.compared(&prepared.outputs, &found, false);
        let is_listed = found.iter().any(|found| !found.listed.is_empty());
        let listed: Vec<Vec<usize>> = found.into_iter().map(|found| found.listed).collect();
        let listed = is_listed.then_some(&listed[..]);
        let compared = self.look(device, session, results, &points, listed, poison, Look::First)?;
        if compared.iter().all(|output| output.mismatch.is_none()) {
            return Ok(compared);
        }
        let factor = factors(&prepared.op, prepared.precision, DType::F32);
        let look = Look::Second { factor };
        let second = self
            .module_points(device, session, results, chosen, look)
            .and_then(|points| self.look(device, session, results, &points, listed, poison, look));
        // Without a second look the first one stands.
        Ok(second.unwrap_or(compared))
    }

    /// Compares chosen elements, and those that differ, with their references.
    #[expect(clippy::too_many_arguments, reason = "the state of one comparison")]
    fn look(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        results: &ModuleResults<'_>,
        points: &SampledElements,
        listed: Option<&[Vec<usize>]>,
        poison: u8,
        look: Look,
    ) -> Result<Vec<Comparison>, EvalError> {
        let got = self.read(device, session, points)?;
        let mut compared = self.prepared.question().compare(points, points, got, poison);
        self.log.record.judged += points.count();
        if let Some(listed) = listed {
            let further = self.module_points(device, session, results, listed.to_vec(), look)?;
            let beyond = self.beyond(device, session, &further, points, poison)?;
            compared.splice(0..0, beyond);
        }
        Ok(compared)
    }

    fn module_points(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        results: &ModuleResults<'_>,
        indices: Vec<Vec<usize>>,
        look: Look,
    ) -> Result<SampledElements, EvalError> {
        let (case, inputs) = (self.prepared.case, session.inputs());
        let points = self.log.step(device, "references of elements", |device| {
            results.points(device, case, inputs, indices, look)
        });
        points.map_err(not_by_module)
    }

    /// Compares every element with trusted results, on the device.
    fn differing(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        points: &SampledElements,
        poison: u8,
        trusted: &dyn Fn(usize) -> BufferId,
        capacity: usize,
    ) -> Result<Vec<DifferingElements>, EvalError> {
        let (prepared, kit) = (self.prepared, self.trusted.kit);
        let question = prepared.question();
        let mut found = Vec::new();
        for (output, (_, spec)) in prepared.outputs.iter().enumerate() {
            let near = near(&question, points, output, spec);
            let pair = OutputPair {
                candidate: session.output_buffer(output),
                trusted: trusted(output),
                dtype: spec.dtype,
                numel: spec.numel(),
            };
            found.push(self.log.step(device, "comparison", |device| {
                kit.differ(device, pair, poison, near, capacity)
            })?);
        }
        Ok(found)
    }

    /// Holds elements against f64 that differ.
    fn beyond(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        further: &SampledElements,
        points: &SampledElements,
        poison: u8,
    ) -> Result<Vec<Comparison>, EvalError> {
        let got = self.read(device, session, further)?;
        let began = Instant::now();
        let mut beyond = self.prepared.question().compare(further, points, got, poison);
        for comparison in &mut beyond {
            // Looked at because they differ: they say nothing of how often results are misrounded.
            comparison.rounding = RoundingStats::default();
        }
        self.log.took("f64 references", began);
        self.log.record.judged += further.count();
        Ok(beyond)
    }

    /// Holds the chosen elements, and those that differ, against f64.
    fn follow_up(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        set: usize,
        poison: u8,
        found: &[DifferingElements],
    ) -> Result<Vec<Comparison>, EvalError> {
        let question = self.prepared.question();
        let DataSet { values, hosts, points } = &self.prepared.sets[set];
        let got = self.read(device, session, points)?;
        let began = Instant::now();
        let mut compared = question.compare(points, points, got, poison);
        let mut differing: Vec<usize> = found
            .iter()
            .enumerate()
            .flat_map(|(output, found)| found.listed.iter().map(move |&index| (output, index)))
            .map(|(output, index)| question.in_first(output, index))
            .collect();
        differing.sort_unstable();
        differing.dedup();
        let further = match differing.is_empty() {
            true => None,
            false => Some(question.points(values, hosts.as_deref(), &differing)?),
        };
        self.log.took("f64 references", began);
        self.log.record.judged += points.count();
        if let Some(further) = further {
            // Differing elements show more than chosen ones.
            let beyond = self.beyond(device, session, &further, points, poison)?;
            compared.splice(0..0, beyond);
        }
        Ok(compared)
    }

    /// Reads the candidate's values at some points of every output.
    fn read(
        &mut self,
        device: &mut dyn Device,
        session: &Session<'_>,
        points: &SampledElements,
    ) -> Result<Vec<Vec<u8>>, EvalError> {
        let kit = self.trusted.kit;
        let outputs = self.prepared.outputs.iter().zip(&points.runs).enumerate();
        let all = outputs.map(|(output, ((_, spec), runs))| {
            let (buffer, size) = (session.output_buffer(output), spec.dtype.size());
            self.log.step(device, "reading", |device| {
                if runs.len == 1 {
                    return kit.gather(device, buffer, size, &runs.starts);
                }
                let mut bytes = Vec::with_capacity(runs.numel() * size);
                for start in &runs.starts {
                    bytes.extend(device.read_part(buffer, start * size, runs.len * size)?);
                }
                Ok(bytes)
            })
        });
        Ok(all.collect::<Result<_, _>>()?)
    }
}

/// The steps, with their times.
#[derive(Default)]
struct Log {
    record: FullSize,
    n_poisoned: u64,
}

impl Log {
    /// Calls a function, waits for the device and notes the time.
    fn step<T>(
        &mut self,
        device: &mut dyn Device,
        step: &str,
        run: impl FnOnce(&mut dyn Device) -> Result<T, LaunchError>,
    ) -> Result<T, LaunchError> {
        let began = Instant::now();
        let done = run(device)?;
        device.sync()?;
        self.took(step, began);
        Ok(done)
    }

    fn took(&mut self, step: &str, began: Instant) {
        let seconds = began.elapsed().as_secs_f64();
        match self.record.steps.iter_mut().find(|time| time.step == step) {
            Some(time) => time.seconds += seconds,
            None => self.record.steps.push(StepTime { step: step.to_owned(), seconds }),
        }
    }

    fn compared(
        &mut self,
        outputs: &[(String, TensorSpec)],
        found: &[DifferingElements],
        alone: bool,
    ) {
        let record = &mut self.record;
        record.data_sets += 1;
        record.against_itself = alone;
        record.compared += outputs.iter().map(|(_, spec)| spec.numel() as u64).sum::<u64>();
        record.differing += found.iter().map(DifferingElements::count).sum::<u64>();
        self.n_poisoned += found.iter().map(|found| found.n_poisoned).sum::<u64>();
    }

    /// Says beside the elements that were looked at how many there are.
    fn explain(&self, result: &mut CaseResult) {
        if result.outcome == CaseOutcome::Judged(Verdict::Passed) {
            return;
        }
        let FullSize { compared, differing, by_module, .. } = self.record;
        let trusted = if by_module { "PyTorch's module" } else { "kgen's builtin kernel" };
        if differing > 0 {
            result.findings.push(Finding::new(format!(
                "{differing} of {compared} elements differ from those of {trusted} by more than \
                 rounding; the farthest of them were held against f64"
            )));
        }
        if self.n_poisoned > 0 {
            result.findings.push(Finding::new(format!(
                "{} elements hold what was in the buffer before the launch",
                self.n_poisoned
            )));
        }
    }
}

/// A full-size case on one data set.
pub(crate) struct View<'p> {
    prepared: &'p Prepared<'p>,
    trusted: Trusted<'p>,
    set: usize,
    source: Generated<'p>,
}

impl CaseData for View<'_> {
    fn case(&self) -> &Case {
        self.prepared.case
    }

    fn outputs(&self) -> &[(String, TensorSpec)] {
        &self.prepared.outputs
    }

    fn source(&self) -> &dyn InputSource {
        &self.source
    }

    fn run(
        &self,
        device: &mut dyn Device,
        program: &CaseProgram,
        modules: Modules,
    ) -> Result<Ran, Error> {
        let sets = self.set..self.set + 1;
        run_sets(device, self.prepared, self.trusted, program, modules, sets)
    }

    fn recheck(
        &self,
        device: &mut dyn Device,
        session: &Session<'_>,
    ) -> Result<Option<CaseResult>, Error> {
        let (prepared, level) = (self.prepared, device.level());
        let mut run = Run { prepared, trusted: self.trusted, log: Log::default() };
        let mut beside = None;
        let checked = session.check(device, &self.source).map_err(EvalError::from);
        let digest = checked.and_then(|()| Ok(run.digest(device, session)?));
        if digest.as_ref().is_ok_and(|digest| run.right()[self.set].as_ref() == Some(digest)) {
            return Ok(None);
        }
        let compared =
            digest.and_then(|_| run.compare(device, session, &mut beside, self.set, POISONS[0]));
        if let Some(beside) = beside {
            beside.close(device);
        }
        match compared {
            Ok(compared) => {
                let wrong = compared.into_iter().find_map(|output| output.mismatch);
                Ok(wrong.map(|mismatch| wrong_when_timed(prepared.case, level, mismatch)))
            }
            Err(EvalError::Stopped(error)) => {
                Ok(Some(from_error(prepared.case, level, error)?.result))
            }
            Err(EvalError::Machine(error)) => Err(error),
        }
    }
}
