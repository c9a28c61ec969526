//! From kernel file to program: guards, plans, compile variants, bound arguments.

use std::{collections::BTreeMap, sync::Arc};

use kgen_baseline::BUILTIN;
use kgen_compile::{CompileError, CompileJob, Compiler, guard_source};
use kgen_kernel::{
    KernelFile,
    plan::{self, type_macros},
};
use kgen_ops::op::{InferError, OpDef};
use kgen_record::{
    Case, CaseClass, DType, Finding, Implementation, Level, ParamAxis, Precision, ResolvedPlan,
    Severity, Stage, Step, Target, Verdict,
};

use super::{
    BaselineProgram, Error, FullSizeProgram, Job, Program, Variant,
    builder::{EarlyVerdict, Results, failed},
    error::BuildError,
    full, library,
    link::{Linker, Planned},
    program::ReferenceProgram,
    reference_kernel,
};

/// Compile variants that autotuning may add.
const MAX_TUNINGS: usize = 16;

/// A kernel file with the cases that it becomes a program for.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) op: &'a OpDef,
    pub(super) text: &'a str,
    pub(super) cases: &'a [Case],
    pub(super) target: &'a Target,
    /// Values of the plan's parameters besides its defaults.
    pub(super) params: &'a BTreeMap<String, i64>,
    pub(super) max_variants: u32,
    /// Whether programs of timed cases with other parameters are wanted.
    pub(super) tunes: bool,
    /// The precision of the plan's library steps; `None` refuses them.
    pub(super) libraries: Option<Precision>,
    /// Whether it may include headers of CUTLASS.
    pub(super) cutlass: bool,
}

/// A program, the linker that compiles more of its kernel file, and cases that its plan declines.
pub(super) struct Built<'a> {
    pub(super) program: Program,
    pub(super) linker: Linker<'a>,
    pub(super) declined: Results,
}

impl<'a> Source<'a> {
    /// Returns the candidate of a job.
    pub(super) fn candidate(job: &'a Job<'_>) -> Self {
        let tunes = job.timing.is_some();
        let libraries = job.libraries.then_some(job.precision);
        Self { tunes, libraries, ..Self::of(job, job.request.source(), &job.request.cases) }
    }

    /// Returns a kernel file beside the candidate of a job.
    fn of(job: &'a Job<'_>, text: &'a str, cases: &'a [Case]) -> Self {
        Self {
            op: &job.op,
            text,
            cases,
            target: &job.request.target,
            params: &job.request.params,
            max_variants: job.limits.max_variants,
            tunes: false,
            libraries: None,
            cutlass: job.cutlass,
        }
    }

    /// Guards and compiles the file for the wanted cases; `enter` is called as a stage begins.
    ///
    /// # Errors
    ///
    /// [`BuildError::Stopped`] where the file is at fault.
    pub(super) fn build(
        self,
        compiler: &'a Compiler,
        wanted: &dyn Fn(&Case) -> bool,
        enter: &mut dyn FnMut(Stage),
    ) -> Result<Built<'a>, BuildError> {
        enter(Stage::Guard);
        guard_source(self.text, self.cutlass)
            .map_err(|finding| EarlyVerdict::new(Verdict::Rejected, *finding))?;
        enter(Stage::Plan);
        let file = KernelFile::parse(self.text).map_err(|error| {
            EarlyVerdict::new(Verdict::PlanError, Finding::new(error.to_string()))
        })?;
        let (plans, declined) = self.plans(&file, wanted)?;
        enter(Stage::Compile);
        let mut linker = Linker::new(self, file, compiler);
        match linker.link(plans, enter) {
            Ok(program) => Ok(Built { program, linker, declined }),
            Err(BuildError::Stopped(mut verdict)) => {
                verdict.cases.splice(0..0, declined);
                Err(BuildError::Stopped(verdict))
            }
            Err(error) => Err(error),
        }
    }

    /// Builds the program of a file that comes with kgen or its user, whose stages nobody watches.
    fn build_quietly(
        self,
        compiler: &'a Compiler,
        wanted: &dyn Fn(&Case) -> bool,
    ) -> Result<Program, BuildError> {
        self.build(compiler, wanted, &mut |_| {}).map(|built| built.program)
    }

    /// Evaluates the plan for a case.
    pub(super) fn resolve(
        &self,
        file: &KernelFile,
        env: &plan::Env,
    ) -> Result<ResolvedPlan, plan::LaunchPlanError> {
        match plan::resolve(file, env, self.params) {
            Err(_) if !self.params.is_empty() => plan::resolve(file, env, &BTreeMap::new()),
            chosen => chosen,
        }
    }

    /// Returns the names that the plan of a case sees.
    pub(super) fn env(&self, case: &Case) -> Result<plan::Env, InferError> {
        let outputs = self.op.infer(case)?;
        let env = plan::Env::new(case, &outputs, self.target);
        let env = env.with_libraries(self.libraries);
        Ok(if self.op.returns_list { env.with_output_list(&outputs) } else { env })
    }

    /// Evaluates the plan for every wanted case; returns the declined ones beside.
    fn plans(
        &self,
        file: &KernelFile,
        wanted: &dyn Fn(&Case) -> bool,
    ) -> Result<(Vec<Planned>, Results), BuildError> {
        let (mut plans, mut left_out) = (Vec::new(), Vec::new());
        let mut findings: Vec<Finding> = Vec::new();
        for (index, case) in self.cases.iter().enumerate().filter(|(_, case)| wanted(case)) {
            let types = type_macros(self.op, case)?;
            let env = self.env(case)?;
            match self.resolve(file, &env) {
                Ok(plan) => {
                    let axes = plan.params.clone();
                    plans.push(Planned { case: index, types: types.clone(), plan, tuning: false });
                    if self.tunes && case.class == CaseClass::Realistic {
                        plans.extend(tunings(file, &env, &axes).map(|plan| Planned {
                            case: index,
                            types: types.clone(),
                            plan,
                            tuning: true,
                        }));
                    }
                }
                Err(plan::LaunchPlanError::Declined { line, condition }) => {
                    let mut finding =
                        Finding::new(format!("the plan's require({condition}) declined the case"));
                    finding.span = Some(file.span(line, 0));
                    left_out.push((index, failed(case, Verdict::Declined, Level::Static, finding)));
                }
                Err(plan::LaunchPlanError::Error(error)) => {
                    let finding = error.finding(file);
                    if !findings.contains(&finding) {
                        findings.push(finding.clone());
                    }
                    left_out
                        .push((index, failed(case, Verdict::PlanError, Level::Static, finding)));
                }
            }
        }
        let mut findings = findings.into_iter();
        let Some(first) = findings.next() else { return Ok((plans, left_out)) };
        let mut rejected = EarlyVerdict::new(Verdict::PlanError, first);
        rejected.findings.extend(findings);
        rejected.cases = left_out;
        Err(rejected.into())
    }
}

/// Returns the plans of a case with other parameters than the default ones. A choice that the plan
/// declines or rejects is not among them.
fn tunings(
    file: &KernelFile,
    env: &plan::Env,
    axes: &[ParamAxis],
) -> impl Iterator<Item = ResolvedPlan> {
    choices(axes).into_iter().skip(1).filter_map(|chosen| plan::resolve(file, env, &chosen).ok())
}

/// Builds the baselines of a job that run here, for the timed cases.
pub(super) fn baselines(job: &Job<'_>, compiler: &Compiler) -> Result<Vec<BaselineProgram>, Error> {
    let timed = |case: &Case| case.class == CaseClass::Realistic;
    let mut baselines = Vec::new();
    for baseline in job.timing.iter().flat_map(|timing| &timing.baselines) {
        let name = baseline.name.clone();
        let program = match &baseline.implementation {
            Implementation::Kernel { source } => Source::of(job, source, &job.cases)
                .build_quietly(compiler, &timed)
                .map_err(|error| baseline_error(&name, error))?,
            Implementation::Library { name } => library_program(job, compiler, name, &timed)?,
            Implementation::Python { .. } | Implementation::Adapter { .. } => continue,
        };
        baselines.push(BaselineProgram { name, program });
    }
    Ok(baselines)
}

fn baseline_error(name: &str, error: BuildError) -> Error {
    error.or_rejected(|reason| Error::Baseline { name: name.to_owned(), reason })
}

/// Compiles the kernels that full-size cases of a job are judged with; `None` where there are none,
/// or the trusted kernel does not take them.
pub(super) fn full_size(
    job: &Job<'_>,
    compiler: &Compiler,
) -> Result<Option<Box<FullSizeProgram>>, Error> {
    let of_module = dtypes(job, &|case| full::is_of_module(&job.op, case));
    if !of_module.is_empty() {
        let own = full_size_kernels(&job.target, compiler, &of_module)?;
        return Ok(Some(Box::new(FullSizeProgram { own, trusted: None })));
    }
    let Some(kernel) = full::trusted(job) else { return Ok(None) };
    let wanted = |case: &Case| full::is_full_size(&job.op, case);
    if !job.cases.iter().any(wanted) {
        return Ok(None);
    }
    let trusted = Source::of(job, kernel, &job.cases)
        .build_quietly(compiler, &wanted)
        .map_err(|error| baseline_error(BUILTIN, error))?;
    let own = full_size_kernels(&job.target, compiler, &dtypes(job, &wanted))?;
    Ok(Some(Box::new(FullSizeProgram { own, trusted: Some(trusted) })))
}

/// Returns the element types of the tensors of some cases, each once.
fn dtypes(job: &Job<'_>, wanted: &dyn Fn(&Case) -> bool) -> Vec<DType> {
    let cases = job.cases.iter().filter(|case| wanted(case));
    let mut dtypes: Vec<DType> = cases.flat_map(|case| full::dtypes(&job.op, case)).collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    dtypes
}

/// Compiles the kernels that full-size cases of some element types are judged with.
pub(super) fn full_size_kernels(
    target: &Target,
    compiler: &Compiler,
    dtypes: &[DType],
) -> Result<Variant, Error> {
    let (defines, kernels) = (full::defines(dtypes), full::kernels(dtypes));
    own_kernels(target, compiler, full::kernel_source(), &defines, &kernels)
}

/// Compiles kernels of kgen's own, which have no plan.
fn own_kernels(
    target: &Target,
    compiler: &Compiler,
    source: &str,
    defines: &[(String, String)],
    kernels: &[String],
) -> Result<Variant, Error> {
    let arch = &target.arch;
    let job = CompileJob { source, defines, types: &[], kernels, arch };
    match compiler.compile(&job) {
        Ok(compiled) => Ok(Variant {
            types: Vec::new(),
            defines: Vec::new(),
            cubin: compiled.cubin,
            ptx: compiled.ptx,
        }),
        Err(CompileError::Failed(diagnostics)) => {
            let first = diagnostics.into_iter().find(|d| d.severity == Severity::Error);
            Err(Error::OwnKernels(first.map_or_else(String::new, |d| d.message)))
        }
        Err(CompileError::Machine(error)) => Err(error.into()),
    }
}

/// Returns the program that calls a library for the wanted cases.
pub(super) fn library_program(
    job: &Job<'_>,
    compiler: &Compiler,
    library: &str,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<Program, Error> {
    let (cases, refused) = library::programs(job, library, wanted)?;
    let mut steps = cases.iter().flat_map(|case| &case.plan.steps);
    let copies = steps.any(|step| matches!(step, Step::Copy { .. }));
    let copy = copies.then(|| copy_kernel(&job.target, compiler)).transpose()?;
    Ok(Program { cases, copy, refused, ..Program::without_code(0) })
}

/// Lets the kernel that is the op's reference, where it has one, be evaluated for cases; returns what
/// the GPU's half needs of it.
pub(super) fn reference(
    job: &Job<'_>,
    cases: &[Case],
    compiler: &Compiler,
) -> Result<Option<Box<ReferenceProgram>>, Error> {
    let Some(program) = reference_program(job, cases, compiler)? else { return Ok(None) };
    let reference = Arc::new(reference_kernel::portable(program));
    reference_kernel::enable(job, cases, &reference);
    Ok(job.on_gpu.then(|| Box::new((*reference).clone())))
}

/// Builds the kernel that is the reference of a job's op for cases in f64; `None` where the
/// reference is no kernel.
fn reference_program(
    job: &Job<'_>,
    cases: &[Case],
    compiler: &Compiler,
) -> Result<Option<Program>, Error> {
    let Some(kernel) = &job.op.reference_kernel else { return Ok(None) };
    let cases: Vec<Case> = cases.iter().map(|case| kernel.in_f64(case)).collect();
    let program = Source::of(job, kernel.source(), &cases)
        .build_quietly(compiler, &|_| true)
        .map_err(|error| error.or_rejected(Error::ReferenceKernel))?;
    if program.cases.len() < cases.len() {
        return Err(Error::ReferenceKernel("its plan declines a case".to_owned()));
    }
    Ok(Some(program))
}

/// Returns all choices of parameters, the default first, capped.
fn choices(axes: &[ParamAxis]) -> Vec<BTreeMap<String, i64>> {
    let mut choices = vec![BTreeMap::new()];
    for axis in axes {
        choices = choices
            .into_iter()
            .flat_map(|choice| {
                axis.values.iter().map(move |&value| {
                    let mut choice = choice.clone();
                    choice.insert(axis.name.clone(), value);
                    choice
                })
            })
            .take(MAX_TUNINGS)
            .collect();
    }
    choices
}

/// Compiles kgen's own copy kernel.
pub(super) fn copy_kernel(target: &Target, compiler: &Compiler) -> Result<Variant, Error> {
    let sizes = [1, 2, 4, 8].into_iter().filter_map(kgen_compile::copy_kernel);
    let kernels: Vec<String> = sizes.map(str::to_owned).collect();
    own_kernels(target, compiler, kgen_compile::copy_source(), &[], &kernels)
}
