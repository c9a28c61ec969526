//! Runs one case on a device and judges its outputs.

use kgen_device::{Device, LaunchError, Observed};
use kgen_record::{
    Case, CaseOutcome, CaseResult, Finding, Level, Mismatch, TensorSpec, Verdict, number::Number,
};

use super::{
    CaseProgram, Error,
    builder::{blank, failed},
    compare::{Comparison, RoundingStats},
    prepared_case::PreparedCase,
    session::{InputSource, Modules, Session},
};

/// Bytes that outputs and scratch hold before the first and the second run on a GPU: NaN in every
/// floating-point type, then a finite number.
const POISONS: [u8; 2] = [0xff, 0x5b];

/// A case on one set of data.
pub(super) trait CaseData {
    fn case(&self) -> &Case;

    /// Returns names and layouts of the outputs.
    fn outputs(&self) -> &[(String, TensorSpec)];

    /// Returns the values of the inputs.
    fn source(&self) -> &dyn InputSource;

    /// Runs a program of the case and judges its outputs.
    fn run(
        &self,
        device: &mut dyn Device,
        program: &CaseProgram,
        modules: Modules,
    ) -> Result<Ran, Error>;

    /// Judges outputs that were produced while timing, after poison of 0xff; `None` where they are
    /// right.
    fn recheck(
        &self,
        device: &mut dyn Device,
        session: &Session<'_>,
    ) -> Result<Option<CaseResult>, Error>;
}

/// A case that was run, and its result.
pub(super) struct Ran {
    pub(super) result: CaseResult,
    /// Rounding statistics of its outputs, for the pooled rule.
    pub(super) rounding: RoundingStats,
    /// The device cannot be used any more.
    pub(super) device_lost: bool,
    /// The budget was spent, and nothing else proves that the kernel does not end.
    pub(super) unproven: bool,
    /// Lane instructions that it took, where the device counts them.
    pub(super) lane_instructions: u64,
}

impl Ran {
    /// Returns a result that came of a device that is still usable.
    pub(super) fn of(result: CaseResult, rounding: RoundingStats) -> Self {
        Self { result, rounding, device_lost: false, unproven: false, lane_instructions: 0 }
    }
}

/// Runs a case and judges its outputs.
///
/// `other`: the case on other data, which the kernel then has to compute from the same addresses.
pub(super) fn run_case(
    device: &mut dyn Device,
    prepared: &PreparedCase<'_>,
    other: Option<&PreparedCase<'_>>,
    program: &CaseProgram,
    modules: Modules,
) -> Result<Ran, Error> {
    let level = device.level();
    let opened =
        Session::open(device, prepared.case, program, modules, &prepared.inputs, &prepared.outputs);
    let ran = match opened {
        Ok(session) => {
            let ran = judge(device, prepared, other, &session);
            session.close(device);
            ran
        }
        Err(error) => Err(error),
    };
    let mut ran = match ran {
        Ok((result, rounding)) => Ran::of(result, rounding),
        Err(error) => from_error(prepared.case, level, error)?,
    };
    let observed = device.observed();
    ran.lane_instructions = observed.lane_instructions;
    add_observed(&mut ran.result, observed);
    Ok(ran)
}

impl CaseData for PreparedCase<'_> {
    fn case(&self) -> &Case {
        self.case
    }

    fn outputs(&self) -> &[(String, TensorSpec)] {
        &self.outputs
    }

    fn source(&self) -> &dyn InputSource {
        &self.inputs
    }

    fn run(
        &self,
        device: &mut dyn Device,
        program: &CaseProgram,
        modules: Modules,
    ) -> Result<Ran, Error> {
        run_case(device, self, None, program, modules)
    }

    fn recheck(
        &self,
        device: &mut dyn Device,
        session: &Session<'_>,
    ) -> Result<Option<CaseResult>, Error> {
        let level = device.level();
        match check_again(device, self, session) {
            Ok(None) => Ok(None),
            Ok(Some(mismatch)) => Ok(Some(wrong_when_timed(self.case, level, mismatch))),
            Err(error) => Ok(Some(from_error(self.case, level, error)?.result)),
        }
    }
}

/// Compares outputs that lie in the buffers of a session.
fn check_again(
    device: &mut dyn Device,
    prepared: &PreparedCase<'_>,
    session: &Session<'_>,
) -> Result<Option<Mismatch>, LaunchError> {
    session.check(device, &prepared.inputs)?;
    let outputs = (0..prepared.outputs.len()).map(|index| session.output(device, index));
    let outputs: Vec<Vec<u8>> = outputs.collect::<Result<_, _>>()?;
    if prepared.known_right(&outputs).is_some() {
        return Ok(None);
    }
    let compared = outputs.iter().enumerate();
    let mut compared = compared.map(|(index, bytes)| prepared.compare(index, bytes, &|_| false));
    Ok(compared.find_map(|output| output.mismatch))
}

/// Returns the result of a case whose outputs were right until it was timed.
pub(super) fn wrong_when_timed(case: &Case, level: Level, mismatch: Mismatch) -> CaseResult {
    let finding = Finding::new("right when it was checked, wrong in the outputs of a timed launch");
    let mut result = failed(case, Verdict::WrongOutput, level, finding);
    result.mismatch = Some(mismatch);
    result
}

/// Findings of one case that are kept.
const MAX_FINDINGS: usize = 12;

/// Adds the device's observations to a result. Mere notes, such as the first NaN, are kept where
/// the case failed.
fn add_observed(result: &mut CaseResult, observed: Observed) {
    result.counters = observed.counters;
    if result.outcome == CaseOutcome::Judged(Verdict::Passed) {
        return;
    }
    for finding in observed.findings {
        if result.findings.len() < MAX_FINDINGS && !result.findings.contains(&finding) {
            result.findings.push(finding);
        }
    }
}

/// Turns an error of the device into a case result.
pub(super) fn from_error(case: &Case, level: Level, error: LaunchError) -> Result<Ran, Error> {
    let rounding = RoundingStats::default();
    match error {
        LaunchError::Kernel { verdict, finding, device_lost } => {
            let ran = Ran::of(failed(case, verdict, level, *finding), rounding);
            Ok(Ran { device_lost, ..ran })
        }
        LaunchError::Budget { reason, endless } => {
            let mut finding = Finding::new(format!("the kernel does not end: {reason}"));
            finding.hint = Some("look for a loop whose condition never turns false".to_owned());
            let result = failed(case, Verdict::TimedOut, level, finding);
            Ok(Ran { unproven: !endless, ..Ran::of(result, rounding) })
        }
        LaunchError::Machine(error) => Err(error.into()),
    }
}

/// Runs the case as often as the device needs and compares every run.
fn judge(
    device: &mut dyn Device,
    prepared: &PreparedCase<'_>,
    other: Option<&PreparedCase<'_>>,
    session: &Session<'_>,
) -> Result<(CaseResult, RoundingStats), LaunchError> {
    // The emulator knows which bytes were written; on a GPU, bytes that survive two poisons were
    // not.
    let poisons = if device.level() == Level::Emu { &POISONS[..1] } else { &POISONS[..] };
    let runs = run_all(device, prepared, session, poisons)?;
    let compared = compare_all(device, prepared, session, poisons, &runs);
    if let [(comparisons, outputs)] = compared.as_slice()
        && comparisons.iter().all(|output| output.mismatch.is_none())
    {
        prepared.remember((*outputs).clone(), comparisons.clone());
    }
    let comparisons = compared.into_iter().map(|(comparisons, _)| comparisons).collect();
    let (result, rounding) = conclude(prepared.case, device.level(), comparisons);
    match other {
        Some(other) if result.outcome == CaseOutcome::Judged(Verdict::Passed) => {
            let (again, more) = judge_other(device, other, session)?;
            if again.outcome == CaseOutcome::Judged(Verdict::Passed) {
                let mut rounding = rounding;
                rounding.add(more);
                return Ok((result, rounding));
            }
            Ok((again, rounding))
        }
        _ => Ok((result, rounding)),
    }
}

/// Judges the case on other data at the same addresses: results kept from the first data show.
fn judge_other(
    device: &mut dyn Device,
    other: &PreparedCase<'_>,
    session: &Session<'_>,
) -> Result<(CaseResult, RoundingStats), LaunchError> {
    session.rewrite(device, &other.inputs)?;
    let poisons = &POISONS[..1];
    let runs = run_all(device, other, session, poisons)?;
    let compared = compare_all(device, other, session, poisons, &runs);
    let comparisons = compared.into_iter().map(|(comparisons, _)| comparisons).collect();
    let (mut result, rounding) = conclude(other.case, device.level(), comparisons);
    if result.outcome != CaseOutcome::Judged(Verdict::Passed) {
        result.findings.push(Finding::new(
            "the outputs were right on the first data, and wrong when the data at the same addresses \
             were changed",
        ));
    }
    Ok((result, rounding))
}

/// Runs the steps once per poison and returns the bytes of the outputs of each run.
fn run_all(
    device: &mut dyn Device,
    prepared: &PreparedCase<'_>,
    session: &Session<'_>,
    poisons: &[u8],
) -> Result<Vec<Vec<Vec<u8>>>, LaunchError> {
    let mut runs = Vec::new();
    for &poison in poisons {
        session.poison(device, poison)?;
        session.run(device)?;
        session.check(device, &prepared.inputs)?;
        let outputs = (0..prepared.outputs.len()).map(|index| session.output(device, index));
        runs.push(outputs.collect::<Result<_, _>>()?);
    }
    Ok(runs)
}

/// Compares every run that differs from those before it.
fn compare_all<'r>(
    device: &mut dyn Device,
    prepared: &PreparedCase<'_>,
    session: &Session<'_>,
    poisons: &[u8],
    runs: &'r [Vec<Vec<u8>>],
) -> Vec<(Vec<Comparison>, &'r Vec<Vec<u8>>)> {
    let unwritten: Vec<Option<Vec<bool>>> =
        (0..prepared.outputs.len()).map(|index| session.unwritten(device, index)).collect();
    let mut compared: Vec<(Vec<Comparison>, &Vec<Vec<u8>>)> = Vec::new();
    for run in runs {
        // Two equal runs are right or wrong together.
        if compared.iter().any(|(_, earlier)| *earlier == run) {
            continue;
        }
        if let Some(comparisons) = prepared.known_right(run) {
            compared.push((comparisons, run));
            continue;
        }
        let canonical = prepared.canonical(run);
        let comparisons = canonical.iter().enumerate().map(|(index, bytes)| {
            let size = prepared.outputs[index].1.dtype.size();
            let unwritten = |element: usize| match &unwritten[index] {
                Some(unwritten) => unwritten[element * size..][..size].iter().all(|&byte| byte),
                // One poison alone may be a value that the kernel wrote.
                None => {
                    poisons.len() > 1
                        && poisons.iter().zip(runs).all(|(&poison, run)| {
                            run[index][element * size..][..size].iter().all(|&byte| byte == poison)
                        })
                }
            };
            prepared.compare(index, bytes, &unwritten)
        });
        compared.push((comparisons.collect(), run));
    }
    compared
}

/// Joins the comparisons of all runs and outputs into one result.
pub(super) fn conclude(
    case: &Case,
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
    let mut result = blank(case, CaseOutcome::Judged(verdict), level);
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
        all.iter().map(|output| output.other_rules).reduce(|a, b| kgen_record::OtherRules {
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
