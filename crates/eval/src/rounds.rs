//! Rounds of further cases on the emulator, for as long as they reach more of the kernel.

use std::{cmp::Reverse, collections::BTreeSet};

use kgen_device::Device as _;
use kgen_kernel::plan::type_macros;
use kgen_record::{
    Case, CaseClass, CaseOutcome, CaseResult, Coverage, Finding, Level, ResolvedPlan, Stage,
    Verdict,
};

use super::{
    CaseProgram, Error, Job,
    budget::{self, Allowance},
    builder::{self, EvaluationBuilder},
    coverage::launches,
    emulate::Emulation,
    error::BuildError,
    execute::run_case,
    further::further,
    link::{Linker, Planned},
    prepare,
    prepared_case::PreparedCase,
    session::Modules,
};

/// Rounds at most.
const MAX_ROUNDS: u32 = 4;

/// Part of a case's lane instructions that all further cases together may spend.
const SHARE: u64 = 8;

/// Part of these that one of them may spend.
const SHARE_OF_ONE: u64 = 4;

/// Elementary operations of a further case at most.
const MAX_OPERATIONS: u64 = 1_000_000;

/// Elementary operations of all further cases: references take time as well.
const ALL_OPERATIONS: u64 = 4_000_000;

/// Compile variants that further cases may add.
const MAX_VARIANTS: usize = 3;

/// Multiprocessors of the device that a plan sees when cases run again: persistent blocks then take several
/// tiles, and kernels for many tiles a few.
const FEW_SMS: u32 = 2;

/// Cases that run again on such a device.
const MAX_ON_FEW_SMS: usize = 6;

/// A further case, and how its plan is evaluated.
struct Further {
    case: Case,
    /// Multiprocessors that the plan sees, where it is not those of the target.
    sm_count: Option<u32>,
}

/// Draws further cases while there are gaps and a round closes some; returns the gaps that are
/// left.
///
/// A case that fails ends it. Nothing is drawn for a kernel that has failed, or that has no gaps.
pub(super) fn draw(
    emulation: &mut Emulation<'_>,
    linker: &mut Linker<'_>,
    builder: &mut EvaluationBuilder<'_>,
) -> Result<Option<Coverage>, Error> {
    let job = emulation.job;
    let limits = job.limits;
    let mut rounds = Rounds {
        emulation,
        linker,
        lanes: limits.emu_lane_instructions / SHARE,
        operations: ALL_OPERATIONS,
        variants: MAX_VARIANTS,
        ran: 0,
    };
    let mut coverage = rounds.coverage();
    if has_open_gaps(coverage.as_ref()) && all_right(builder) {
        let again = rounds.on_few_sms(&passed(job, builder))?;
        rounds.judge_all(&again, builder)?;
        rounds.operations = ALL_OPERATIONS;
        coverage = rounds.coverage();
    }
    for round in 0..MAX_ROUNDS {
        let Some(before) = coverage.as_ref().filter(|_| all_right(builder)) else { break };
        let passed = passed(job, builder);
        let cases = further(&job.op, &passed, &before.gaps, job.seed, round);
        if cases.is_empty() || !has_reference(job, rounds.linker, &cases) {
            break;
        }
        let cases: Vec<Further> =
            cases.into_iter().map(|case| Further { case, sm_count: None }).collect();
        rounds.judge_all(&cases, builder)?;
        let after = rounds.coverage();
        let grew = after.as_ref().is_some_and(|after| after.gaps != before.gaps);
        coverage = after;
        if !grew {
            break;
        }
    }
    Ok(coverage.map(|coverage| Coverage { further: rounds.ran, ..coverage }))
}

/// Returns whether some case passed and none failed.
fn all_right(builder: &mut EvaluationBuilder<'_>) -> bool {
    let evaluation = builder.evaluation();
    evaluation.failed().next().is_none() && 0 < evaluation.n_passed()
}

/// Returns whether there are gaps that a case may close.
fn has_open_gaps(coverage: Option<&Coverage>) -> bool {
    coverage.is_some_and(|coverage| coverage.gaps.iter().any(|gap| gap.kind.may_close()))
}

/// Returns whether a plan makes all `launch` calls that another makes, or some that the other does not: a
/// share of the multiprocessors that is 0 of two leaves a launch out.
fn is_whole_beside(plan: &ResolvedPlan, other: &ResolvedPlan) -> bool {
    let lines = |plan: &ResolvedPlan| -> BTreeSet<u32> {
        launches(plan).filter(|(_, blocks)| 0 < *blocks).map(|(line, _)| line).collect()
    };
    let (own, others) = (lines(plan), lines(other));
    own.is_superset(&others) || !own.is_subset(&others)
}

/// Returns whether a verdict is about what a kernel did, and not about its launch: one that needs more
/// multiprocessors than the smallest device has is no fault.
const fn is_of_a_run(verdict: Verdict) -> bool {
    !matches!(
        verdict,
        Verdict::Declined
            | Verdict::Unsupported
            | Verdict::PlanError
            | Verdict::CompileError
            | Verdict::LaunchError
    )
}

/// Returns the cases of the request that passed.
fn passed<'a>(job: &'a Job<'a>, builder: &mut EvaluationBuilder<'_>) -> Vec<&'a Case> {
    let results = &builder.evaluation().cases;
    let both = job.cases.iter().zip(results);
    let passed = both.filter(|(_, result)| result.outcome == CaseOutcome::Judged(Verdict::Passed));
    passed.map(|(case, _)| case).collect()
}

/// Enables a reference that is a kernel for further cases; whether there is a reference of all.
fn has_reference(job: &Job<'_>, linker: &Linker<'_>, cases: &[Case]) -> bool {
    job.op.reference_kernel.is_none() || prepare::reference(job, cases, linker.compiler()).is_ok()
}

/// The state of all rounds, and their budget.
struct Rounds<'e, 'a, 'l, 'c> {
    emulation: &'e mut Emulation<'a>,
    linker: &'l mut Linker<'c>,
    lanes: u64,
    operations: u64,
    variants: usize,
    ran: usize,
}

impl Rounds<'_, '_, '_, '_> {
    fn coverage(&self) -> Option<Coverage> {
        self.emulation.coverage(self.linker)
    }

    /// Returns cases of which the plan is another one on a device with few multiprocessors, those first
    /// that launch what no case has launched.
    fn on_few_sms(&self, passed: &[&Case]) -> Result<Vec<Further>, Error> {
        let (source, file) = (self.linker.source(), self.linker.file());
        // No other plan comes out, so none is evaluated.
        if !file.text().contains("sm_count") {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for case in passed.iter().filter(|case| case.class != CaseClass::Drawn) {
            let env = source.env(case)?;
            let few = source.resolve(file, &env.clone().with_sm_count(FEW_SMS));
            let (Ok(plan), Ok(few)) = (source.resolve(file, &env), few) else { continue };
            let is_same = (&plan.steps, &plan.defines) == (&few.steps, &few.defines);
            if is_same || !is_whole_beside(&few, &plan) {
                continue;
            }
            let case = Case {
                id: format!("further-sms-{FEW_SMS}:{}", case.id),
                class: CaseClass::Further,
                ..(*case).clone()
            };
            let n_new = self.emulation.launches.n_new(&few);
            let operations = budget::operations(self.emulation.job, &case);
            found.push((n_new, operations, Further { case, sm_count: Some(FEW_SMS) }));
        }
        // The largest come first: small ones have few tiles on any device.
        found.sort_by_key(|(n_new, operations, _)| Reverse((*n_new, *operations)));
        found.truncate(MAX_ON_FEW_SMS);
        Ok(found.into_iter().map(|(.., further)| further).collect())
    }

    /// Judges cases until one fails or the budget is spent.
    fn judge_all(
        &mut self,
        cases: &[Further],
        builder: &mut EvaluationBuilder<'_>,
    ) -> Result<(), Error> {
        for case in cases {
            if self.lanes == 0 || self.emulation.purse.spent().is_some() || !all_right(builder) {
                break;
            }
            self.judge(case, builder)?;
        }
        Ok(())
    }

    /// Judges a case; one that the plan does not take, that is beyond the budget or that the emulator
    /// cannot run leaves no result.
    fn judge(
        &mut self,
        further: &Further,
        builder: &mut EvaluationBuilder<'_>,
    ) -> Result<(), Error> {
        let (job, case) = (self.emulation.job, &further.case);
        let index = builder.evaluation().cases.len();
        let operations = budget::operations(job, case);
        let is_again = further.sm_count.is_some();
        let most = if is_again { ALL_OPERATIONS } else { MAX_OPERATIONS };
        if most.min(self.operations) < operations
            || budget::refusal(job, case, operations).is_some()
        {
            return Ok(());
        }
        let result = match self.link(further, index, builder) {
            Ok(None) => return Ok(()),
            Err(BuildError::Machine(error)) => return Err(error),
            Err(BuildError::Stopped(_)) if is_again => return Ok(()),
            Err(BuildError::Stopped(rejected)) => {
                let finding = rejected.findings.into_iter().next();
                let finding = finding.unwrap_or_else(|| Finding::new("it does not compile"));
                builder.evaluation().diagnostics.extend(rejected.diagnostics);
                builder::failed(case, rejected.verdict, Level::Static, finding)
            }
            Ok(Some(program)) => {
                builder.case_started(index);
                let Ok(prepared) = builder.reference(|| PreparedCase::new(job, case)) else {
                    return Ok(());
                };
                self.operations -= operations;
                let result = self.run(&prepared, operations, &program)?;
                let blames = |result: &CaseResult| match result.outcome {
                    CaseOutcome::Judged(verdict) => !is_again || is_of_a_run(verdict),
                    CaseOutcome::Skipped { .. } => true,
                };
                let Some(mut result) = result.filter(blames) else { return Ok(()) };
                if is_again && result.outcome != CaseOutcome::Judged(Verdict::Passed) {
                    result.findings.push(Finding::new(format!(
                        "the plan saw an `sm_count` of {FEW_SMS} here: devices of one architecture differ \
                         in it"
                    )));
                }
                result
            }
        };
        self.ran += 1;
        builder.case_done(index, result);
        Ok(())
    }

    /// Resolves and binds the plan of a case; `None` where it has none.
    fn link(
        &mut self,
        further: &Further,
        index: usize,
        builder: &mut EvaluationBuilder<'_>,
    ) -> Result<Option<CaseProgram>, BuildError> {
        let (source, case) = (self.linker.source(), &further.case);
        let mut env = source.env(case)?;
        if let Some(sm_count) = further.sm_count {
            env = env.with_sm_count(sm_count);
        }
        // Limits of the plan language, such as that of launches, are no fault of the kernel.
        let Ok(plan) = source.resolve(self.linker.file(), &env) else {
            return Ok(None);
        };
        let planned =
            Planned { case: index, types: type_macros(source.op, case)?, plan, tuning: false };
        let may_compile = 0 < self.variants;
        let copies = planned.copies() && self.emulation.copy.is_none();
        if copies {
            return Ok(None);
        }
        let n_before = self.linker.n_variants();
        let mut compiles = || builder.enter(Stage::Compile);
        let linked = self.linker.add(planned, may_compile.then_some(&mut compiles));
        if self.linker.n_variants() != n_before {
            builder.enter(Stage::Emulate);
            self.variants -= 1;
            self.emulation.load(self.linker.variant(n_before))?;
        }
        linked
    }

    /// Runs a case; `None` where that shows nothing.
    fn run(
        &mut self,
        prepared: &PreparedCase<'_>,
        operations: u64,
        program: &CaseProgram,
    ) -> Result<Option<CaseResult>, Error> {
        let emulation = &mut *self.emulation;
        let Ok(module) = emulation.variants[program.variant] else { return Ok(None) };
        let of_one = emulation.job.limits.emu_lane_instructions / SHARE / SHARE_OF_ONE;
        let allowance = Allowance::of(operations, of_one.min(self.lanes));
        emulation.device.set_budget(allowance.lanes);
        let modules = Modules::loaded(Some(module), emulation.copy);
        let ran = run_case(&mut emulation.device, prepared, None, program, modules)?;
        emulation.purse.spend(ran.lane_instructions, false);
        emulation.used.insert(program.variant);
        self.lanes = self.lanes.saturating_sub(ran.lane_instructions);
        let is_unsupported = ran.result.outcome == CaseOutcome::Judged(Verdict::Unsupported);
        let shows_nothing = is_unsupported || (ran.unproven && !allowance.blames);
        emulation.device.commit_coverage(!shows_nothing);
        if shows_nothing {
            return Ok(None);
        }
        emulation.launches.add(program);
        let mut result = ran.result;
        if ran.unproven {
            result.findings.push(Finding::new(allowance.blamed()));
        }
        Ok(Some(result))
    }
}
