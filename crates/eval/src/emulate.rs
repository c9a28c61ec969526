//! The cases of an evaluation on the emulator.

use std::collections::BTreeSet;

use kgen_device::{Device, EmuDevice, Image, LaunchError, ModuleId};
use kgen_record::{
    BufferRef, Case, CaseOutcome, CaseResult, Coverage, Finding, Level, TensorSpec, Verdict,
};

use super::{
    CaseProgram, Error, Job, Program, Variant,
    blocks::{self, Sampled},
    budget::{self, Allowance, Purse},
    builder::{self, EvaluationBuilder, blank},
    coverage::{self, Launches},
    execute::{Ran, run_case},
    link::Linker,
    prepared_case::PreparedCase,
    rounding::RoundingPools,
    rounds,
    session::Modules,
};

/// Part of a case's lane instructions that a sample of its blocks may spend besides.
const SAMPLED_SHARE: u64 = 4;

/// Runs the cases that fit on the emulator, and further ones where they leave gaps.
pub(super) fn emulate(
    job: &Job<'_>,
    program: &Program,
    linker: &mut Linker<'_>,
    builder: &mut EvaluationBuilder<'_>,
) -> Result<(), Error> {
    let mut device = EmuDevice::new(&job.target);
    device.set_emulation(job.emulation);
    let copy = load_copy(&mut device, program)?;
    let mut emulation = Emulation {
        job,
        program,
        variants: Vec::new(),
        used: program.cases.iter().map(|case| case.variant).collect(),
        copy,
        device,
        purse: Purse::new(job),
        pools: RoundingPools::default(),
        launches: Launches::default(),
    };
    program.variants.iter().try_for_each(|variant| emulation.load(variant))?;
    for (operations, case) in cheapest_first(job, program) {
        emulation.judge(operations, case, builder)?;
    }
    emulation.pools.judge(builder, Level::Emu);
    let coverage = rounds::draw(&mut emulation, linker, builder)?;
    builder.evaluation().coverage = coverage;
    Ok(())
}

/// A variant's module, or why the emulator does not take it.
type Loaded = Result<ModuleId, (Verdict, Finding)>;

fn load_copy(device: &mut EmuDevice, program: &Program) -> Result<Option<ModuleId>, Error> {
    let Some(copy) = &program.copy else { return Ok(None) };
    match device.load(&Image { ptx: &copy.ptx, cubin: &copy.cubin }) {
        Ok(module) => Ok(Some(module)),
        Err(error) => Err(Error::OwnKernels(error.to_string())),
    }
}

/// The state of an evaluation on the emulator.
pub(super) struct Emulation<'a> {
    pub(super) job: &'a Job<'a>,
    program: &'a Program,
    pub(super) variants: Vec<Loaded>,
    /// The variants of cases.
    pub(super) used: BTreeSet<usize>,
    pub(super) copy: Option<ModuleId>,
    pub(super) device: EmuDevice,
    pub(super) purse: Purse,
    pools: RoundingPools,
    /// The launches of cases that ran.
    pub(super) launches: Launches,
}

impl Emulation<'_> {
    /// Loads a variant behind the others.
    pub(super) fn load(&mut self, variant: &Variant) -> Result<(), Error> {
        let image = Image { ptx: &variant.ptx, cubin: &variant.cubin };
        self.variants.push(match self.device.load(&image) {
            Ok(module) => Ok(module),
            Err(LaunchError::Kernel { verdict, finding, .. }) => Err((verdict, *finding)),
            Err(LaunchError::Budget { reason, .. }) => {
                Err((Verdict::Unsupported, Finding::new(reason)))
            }
            Err(LaunchError::Machine(error)) => return Err(error.into()),
        });
        Ok(())
    }

    /// Returns the coverage of the cases so far.
    pub(super) fn coverage(&self, linker: &Linker<'_>) -> Option<Coverage> {
        let loaded = self.used.iter().filter_map(|&variant| {
            let module = self.variants.get(variant)?.as_ref().ok()?;
            Some((linker.variant(variant).types.as_slice(), *module))
        });
        let loaded: Vec<_> = loaded.collect();
        coverage::of(self.job, self.program, &self.device, &loaded, &self.launches)
    }

    /// Judges a case, or leaves it out.
    fn judge(
        &mut self,
        operations: u64,
        program: &CaseProgram,
        builder: &mut EvaluationBuilder<'_>,
    ) -> Result<(), Error> {
        let case = &self.job.cases[program.case];
        let skip = self
            .purse
            .spent()
            .or_else(|| budget::refusal(self.job, case, operations))
            .or_else(|| self.purse.stopped(case))
            .or_else(|| {
                builder.evaluation().failed().next()?;
                budget::after_failure(operations)
            });
        let result = match (skip, &self.variants[program.variant]) {
            // Its size matters for nothing that is never written.
            (Some(_), _) if self.unwritten(program).is_some() => {
                let name = self.unwritten(program).unwrap_or_default();
                let finding = Finding::new(format!("the plan passes `{name}` to no step"));
                builder::failed(case, Verdict::WrongOutput, Level::Static, finding)
            }
            (Some(reason), _) => blank(case, CaseOutcome::Skipped { reason }, Level::Static),
            (None, Err((verdict, finding))) => {
                builder.case_started(program.case);
                builder::failed(case, *verdict, Level::Emu, finding.clone())
            }
            (None, Ok(candidate)) => {
                builder.case_started(program.case);
                let modules = Modules::loaded(Some(*candidate), self.copy);
                let prepared = builder.reference(|| PreparedCase::new(self.job, case))?;
                self.run(&prepared, operations, program, modules)?
            }
        };
        builder.case_done(program.case, result);
        Ok(())
    }

    /// Returns the name of an output with elements that no step of a case's plan writes.
    fn unwritten(&self, program: &CaseProgram) -> Option<String> {
        let outputs = self.job.op.infer(&self.job.cases[program.case]).ok()?;
        let is_unwritten = |(index, spec): &(usize, &TensorSpec)| {
            0 < spec.numel() && !program.plan.names(BufferRef::Output(*index))
        };
        let (index, _) = outputs.iter().enumerate().find(is_unwritten)?;
        Some(if outputs.len() == 1 { "out".to_owned() } else { format!("out{index}") })
    }

    fn run(
        &mut self,
        prepared: &PreparedCase<'_>,
        operations: u64,
        program: &CaseProgram,
        modules: Modules<'_>,
    ) -> Result<CaseResult, Error> {
        let case = prepared.case;
        let allowance = Allowance::of(operations, self.job.limits.emu_lane_instructions);
        self.device.set_budget(allowance.lanes);
        let mut ran = run_case(&mut self.device, prepared, None, program, modules)?;
        self.device.commit_coverage(!ran.unproven);
        if !ran.unproven {
            self.launches.add(program);
        }
        let is_stopped = ran.unproven && !allowance.blames;
        blame_or_skip(case, &mut ran, allowance);
        if is_stopped {
            self.purse.stop(case);
            self.device.set_budget(allowance.lanes / SAMPLED_SHARE);
            self.look_at_blocks(prepared, program, modules, &mut ran.result)?;
        }
        let timed_out = ran.result.outcome == CaseOutcome::Judged(Verdict::TimedOut);
        self.purse.spend(ran.lane_instructions, timed_out);
        self.pools.add(program.case, &ran.result, ran.rounding);
        Ok(ran.result)
    }

    /// Judges some blocks of a case that was stopped, and adds the outcome to its result.
    fn look_at_blocks(
        &mut self,
        prepared: &PreparedCase<'_>,
        program: &CaseProgram,
        modules: Modules<'_>,
        result: &mut CaseResult,
    ) -> Result<(), Error> {
        let variant = &self.program.variants[program.variant];
        let seed = self.job.seed;
        let sampled = blocks::sample(&mut self.device, prepared, program, variant, modules, seed)?;
        self.device.commit_coverage(sampled.is_some());
        match sampled {
            Some(Sampled::Wrong(wrong)) => *result = *wrong,
            Some(Sampled::Right { blocks, of, elements }) => {
                if let CaseOutcome::Skipped { reason } = &mut result.outcome {
                    let right = format!(
                        "; {blocks} of its {of} blocks ran by themselves, and the {elements} \
                         elements that they wrote are right"
                    );
                    reason.push_str(&right);
                }
            }
            None => {}
        }
        Ok(())
    }
}

/// Returns the cases that the emulator is for with their elementary operations, in the order of
/// these: a budget leaves out the costliest.
fn cheapest_first<'a>(job: &Job<'_>, program: &'a Program) -> Vec<(u64, &'a CaseProgram)> {
    let cases = program
        .cases
        .iter()
        .filter(|program| !job.on_gpu || !job.cases[program.case].class.is_large());
    let mut cases: Vec<(u64, &CaseProgram)> =
        cases.map(|program| (budget::operations(job, &job.cases[program.case]), program)).collect();
    cases.sort_by_key(|(operations, _)| *operations);
    cases
}

/// Decides whether a spent budget is the kernel's fault or a limit of the emulator's.
fn blame_or_skip(case: &Case, ran: &mut Ran, allowance: Allowance) {
    if !ran.unproven {
        return;
    }
    if allowance.blames {
        ran.result.findings.push(Finding::new(allowance.blamed()));
    } else {
        let reason = allowance.skipped();
        let counters = std::mem::take(&mut ran.result.counters);
        let skipped = blank(case, CaseOutcome::Skipped { reason }, Level::Static);
        ran.result = CaseResult { counters, ..skipped };
    }
}
