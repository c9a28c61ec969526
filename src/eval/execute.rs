//! Runs one case on a device and judges its outputs.

use std::{borrow::Cow, cell::RefCell};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    device::{Device, Observed, Stop},
    op::{self, Array, OpDef},
    record::{
        Case, CaseResult, DType, EvalRequest, Family, Finding, HostTensor, Level, Outcome,
        Precision, TensorSpec, Verdict,
        number::Number,
        tensor::{decode, encode},
    },
    reference::{self, Reference},
};

use super::{
    CaseProgram, Error,
    bound::{BoundParams, Bounds},
    compare::{Comparison, Expected, RoundingStats, compare},
    draft::{blank, failed},
    session::{Modules, Session},
};

/// Bytes that outputs and scratch hold before the first and the second run on a GPU: NaN in every
/// floating-point type, then a finite number.
const POISONS: [u8; 2] = [0xff, 0x5b];

/// A case with everything that is known before a device sees it.
pub(super) struct Subject<'a> {
    pub(super) case: &'a Case,
    op: &'static OpDef,
    precision: Precision,
    pub(super) inputs: Vec<HostTensor>,
    pub(super) outputs: Vec<(String, TensorSpec)>,
    /// Flat indices of the elements that have a reference; `None` where all have.
    samples: Option<Vec<usize>>,
    references: Vec<Vec<f64>>,
    bounds: Vec<reference::Bound>,
    right: RefCell<Option<Right>>,
}

/// Outputs that were found right, with their comparison: the same bytes need no second one.
struct Right {
    outputs: Vec<Vec<u8>>,
    comparisons: Vec<Comparison>,
}

impl<'a> Subject<'a> {
    /// Makes a case's inputs from the seed.
    pub(super) fn inputs(case: &Case, seed: u64) -> Vec<HostTensor> {
        let tensors = case.tensors();
        tensors.map(|(name, tensor)| op::generate(tensor, seed, &case.id, &name)).collect()
    }

    /// Makes a case's inputs and evaluates its reference.
    pub(super) fn new(request: &EvalRequest, case: &'a Case) -> Result<Self, Error> {
        let op = op_of(request)?;
        let inputs = Self::inputs(case, request.seed);
        let specs = op.infer(case)?;
        let names = op.output_names(specs.len());
        let outputs: Vec<(String, TensorSpec)> = names.into_iter().zip(specs).collect();
        let one_output = outputs.len() == 1;
        let samples = (one_output && reference::sampled(op, case))
            .then(|| sample(&outputs[0].1, request.seed));
        let reference = Reference::new(op, case, &inputs)?;
        let (references, bounds) = match &samples {
            Some(indices) => {
                let references = vec![reference.evaluate_at(0, indices)?];
                (references, vec![reference.bound_at(0, indices)?])
            }
            None => {
                let references = reference.evaluate()?;
                let bounds = reference.bounds(&references)?;
                (references.into_iter().map(|all| all.into_iter().collect()).collect(), bounds)
            }
        };
        Ok(Self {
            case,
            op,
            precision: request.precision,
            inputs,
            outputs,
            samples,
            references,
            bounds,
            right: RefCell::new(None),
        })
    }

    /// Returns the comparison of outputs that are, byte by byte, outputs found right before.
    pub(super) fn known_right(&self, outputs: &[Vec<u8>]) -> Option<Vec<Comparison>> {
        let right = self.right.borrow();
        right
            .as_ref()
            .filter(|right| right.outputs == outputs)
            .map(|right| right.comparisons.clone())
    }

    /// Rewrites what the op leaves open (which of several equal elements an index names) to the
    /// reference's choice.
    fn canonical<'r>(&self, run: &'r [Vec<u8>]) -> Cow<'r, [Vec<u8>]> {
        if !self.op.engine.leaves_choices() || self.samples.is_some() {
            return Cow::Borrowed(run);
        }
        let array = |spec: &TensorSpec, values: Vec<f64>| {
            let shaped = Array::from_shape_vec(spec.shape.clone(), values);
            shaped.expect("an output has as many elements as its shape says")
        };
        let specs = self.outputs.iter().map(|(_, spec)| spec);
        let decoded = specs.clone().zip(run).map(|(spec, bytes)| {
            let elements = bytes.chunks_exact(spec.dtype.size());
            array(spec, elements.map(|bytes| decode(spec.dtype, bytes)).collect())
        });
        let mut got: Vec<Array> = decoded.collect();
        let expected: Vec<Array> = specs
            .clone()
            .zip(&self.references)
            .map(|(spec, all)| array(spec, all.clone()))
            .collect();
        let reference = Reference::new(self.op, self.case, &self.inputs);
        let reference = reference.expect("the case was evaluated on these inputs");
        self.op.canonicalise(self.case, reference.inputs(), &mut got, &expected);
        let encoded = specs.zip(got).map(|(spec, values)| {
            let mut bytes = vec![0; spec.storage_bytes()];
            for (value, bytes) in values.iter().zip(bytes.chunks_exact_mut(spec.dtype.size())) {
                encode(spec.dtype, *value, bytes);
            }
            bytes
        });
        Cow::Owned(encoded.collect())
    }

    /// Tells whether an output must be the correctly rounded reference bit for bit: exact ops, and
    /// sums of exact integers, whose order does not matter.
    fn asks_for_equal_bits(&self, dtype: DType) -> bool {
        let sums = self.op.engine.sums_products();
        let exact_sums = match self.precision {
            Precision::Strict => true,
            Precision::Tf32Ok => !(sums && dtype == DType::F32),
            Precision::FastMathOk => !sums,
        };
        self.op.is_exact(dtype) || (self.case.family == Family::Exact && exact_sums)
    }

    /// Compares the bytes of one output with its reference.
    pub(super) fn compare(
        &self,
        index: usize,
        bytes: &[u8],
        unwritten: &dyn Fn(usize) -> bool,
    ) -> Comparison {
        let (name, spec) = &self.outputs[index];
        let bounds = (!self.asks_for_equal_bits(spec.dtype)).then(|| {
            let bound = &self.bounds[index];
            Bounds::new(BoundParams {
                dtype: spec.dtype,
                accumulation_len: self.op.accumulation_len(self.case),
                sums_products: self.op.engine.sums_products(),
                slack: self.op.slack(spec.dtype),
                precision: self.precision,
                sensitivity: &bound.s,
                hint: bound.hint.as_deref(),
                inside: bound.inside.as_deref(),
            })
        });
        let expected = Expected {
            name,
            dtype: spec.dtype,
            shape: &spec.shape,
            values: &self.references[index],
            indices: self.samples.as_deref(),
            bounds,
        };
        compare(&expected, bytes, unwritten)
    }
}

/// Returns the op that a request is about.
pub(super) fn op_of(request: &EvalRequest) -> Result<&'static OpDef, Error> {
    Ok(op::find(&request.op)?)
}

/// Random elements that a sampled case is judged at.
const N_SAMPLES: usize = 4096;

/// Chooses elements of a large output: its corners, the last row and column, and random ones.
fn sample(spec: &TensorSpec, seed: u64) -> Vec<usize> {
    let numel = spec.numel();
    let columns = spec.shape.last().copied().unwrap_or(1).max(1);
    let rows = numel / columns;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut indices: Vec<usize> = (0..N_SAMPLES).map(|_| rng.random_range(0..numel)).collect();
    indices.extend((0..columns).map(|column| (rows - 1) * columns + column));
    indices.extend((0..rows).map(|row| row * columns + columns - 1));
    indices.push(0);
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// What running one case came to.
pub(super) struct Ran {
    /// The result.
    pub(super) result: CaseResult,
    /// Rounding statistics of its outputs, for the pooled rule.
    pub(super) rounding: RoundingStats,
    /// The device cannot be used any more.
    pub(super) device_lost: bool,
}

/// Runs a case and judges its outputs.
pub(super) fn run_case(
    device: &mut dyn Device,
    subject: &Subject<'_>,
    program: &CaseProgram,
    modules: Modules,
) -> Result<Ran, Error> {
    let level = device.level();
    let opened =
        Session::open(device, subject.case, program, modules, &subject.inputs, &subject.outputs);
    let ran = match opened {
        Ok(session) => {
            let ran = judge(device, subject, &session);
            session.close(device);
            ran
        }
        Err(stop) => Err(stop),
    };
    let mut ran = match ran {
        Ok((result, rounding)) => Ran { result, rounding, device_lost: false },
        Err(stop) => from_stop(subject.case, level, stop)?,
    };
    add_observed(&mut ran.result, device.observed());
    Ok(ran)
}

/// Findings of one case that are kept.
const MAX_FINDINGS: usize = 12;

/// Adds what the device saw beside what decided. What is merely worth knowing, such as the first
/// NaN, is kept where the case failed.
fn add_observed(result: &mut CaseResult, observed: Observed) {
    result.counters = observed.counters;
    if result.outcome == Outcome::Judged(Verdict::Passed) {
        return;
    }
    for finding in observed.findings {
        if result.findings.len() < MAX_FINDINGS && !result.findings.contains(&finding) {
            result.findings.push(finding);
        }
    }
}

/// Turns a stop of the device into a case result.
fn from_stop(case: &Case, level: Level, stop: Stop) -> Result<Ran, Error> {
    let rounding = RoundingStats::default();
    match stop {
        Stop::Verdict { verdict, finding, device_lost } => {
            Ok(Ran { result: failed(case, verdict, level, *finding), rounding, device_lost })
        }
        Stop::Budget { reason } => {
            let mut finding = Finding::new(format!("the kernel does not end: {reason}"));
            finding.hint = Some("look for a loop whose condition never turns false".to_owned());
            let result = failed(case, Verdict::TimedOut, level, finding);
            Ok(Ran { result, rounding, device_lost: false })
        }
        Stop::Machine(error) => Err(error.into()),
    }
}

/// Runs the case as often as the device needs and compares every run.
fn judge(
    device: &mut dyn Device,
    subject: &Subject<'_>,
    session: &Session<'_>,
) -> Result<(CaseResult, RoundingStats), Stop> {
    // The emulator knows which bytes were written; a GPU tells by what survives two poisons.
    let poisons = if device.level() == Level::Emu { &POISONS[..1] } else { &POISONS[..] };
    let mut runs: Vec<Vec<Vec<u8>>> = Vec::new();
    for &poison in poisons {
        session.poison(device, poison)?;
        session.run(device)?;
        session.check(device, &subject.inputs)?;
        let outputs = (0..subject.outputs.len()).map(|index| session.output(device, index));
        runs.push(outputs.collect::<Result<_, _>>()?);
    }
    let unwritten: Vec<Option<Vec<bool>>> =
        (0..subject.outputs.len()).map(|index| session.unwritten(device, index)).collect();
    let mut compared: Vec<(Vec<Comparison>, &Vec<Vec<u8>>)> = Vec::new();
    for run in &runs {
        // Two equal runs are right or wrong together.
        if compared.iter().any(|(_, earlier)| *earlier == run) {
            continue;
        }
        if let Some(comparisons) = subject.known_right(run) {
            compared.push((comparisons, run));
            continue;
        }
        let canonical = subject.canonical(run);
        let comparisons = canonical.iter().enumerate().map(|(index, bytes)| {
            let size = subject.outputs[index].1.dtype.size();
            let unwritten = |element: usize| match &unwritten[index] {
                Some(unwritten) => unwritten[element * size..][..size].iter().all(|&byte| byte),
                None => poisons.iter().zip(&runs).all(|(&poison, run)| {
                    run[index][element * size..][..size].iter().all(|&byte| byte == poison)
                }),
            };
            subject.compare(index, bytes, &unwritten)
        });
        compared.push((comparisons.collect(), run));
    }
    if let [(comparisons, outputs)] = compared.as_slice()
        && comparisons.iter().all(|output| output.mismatch.is_none())
    {
        let right = Right { outputs: (*outputs).clone(), comparisons: comparisons.clone() };
        *subject.right.borrow_mut() = Some(right);
    }
    let comparisons = compared.into_iter().map(|(comparisons, _)| comparisons).collect();
    Ok(conclude(subject, device.level(), comparisons))
}

/// Joins the comparisons of all runs and outputs into one result.
fn conclude(
    subject: &Subject<'_>,
    level: Level,
    runs: Vec<Vec<Comparison>>,
) -> (CaseResult, RoundingStats) {
    let wrong: Vec<bool> =
        runs.iter().map(|run| run.iter().any(|output| output.mismatch.is_some())).collect();
    let some_wrong = wrong.contains(&true);
    let verdict = match (some_wrong, wrong.contains(&false)) {
        (false, _) => Verdict::Passed,
        (true, false) => Verdict::WrongOutput,
        (true, true) => Verdict::Nondeterministic,
    };
    let mut result = blank(subject.case, Outcome::Judged(verdict), level);
    let mut rounding = RoundingStats::default();
    let mut all = runs.into_iter().flatten().collect::<Vec<_>>();
    for output in &all {
        rounding.add(output.rounding);
    }
    let largest = |of: fn(&Comparison) -> f64| all.iter().map(of).reduce(f64::max).map(Number);
    result.max_abs_error = largest(|output| output.max_abs_error);
    result.max_rel_error = largest(|output| output.max_rel_error);
    result.worst_ratio = largest(|output| output.worst_ratio);
    result.other_rules =
        all.iter().map(|output| output.other_rules).reduce(|a, b| crate::record::OtherRules {
            backendbench: a.backendbench && b.backendbench,
            kernelbench: a.kernelbench && b.kernelbench,
        });
    if verdict == Verdict::Nondeterministic {
        result.findings.push(Finding::new(
            "one of two runs on the same inputs was right and one was wrong: the result depends on \
             timing or on what the buffers held before",
        ));
    }
    result.mismatch = all.iter_mut().find_map(|output| output.mismatch.take());
    (result, rounding)
}
