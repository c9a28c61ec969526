//! From kernel file to program: guards, plans, compile variants, bound arguments.

use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use crate::{
    baseline::BUILTIN,
    compile::{self, CompileError, Compiler, Job, guard_ptx, guard_source},
    kernel::{self, KernelFile, plan},
    op::OpDef,
    record::{
        Case, CaseClass, DType, EvalRequest, Finding, Implementation, Level, ResolvedPlan,
        Resources, Severity, Signature, Stage, Step, Verdict,
    },
};

use super::{
    BaselineProgram, BoundLaunch, CaseProgram, Error, FullSizeProgram, Program, Variant,
    draft::{Draft, Halt, failed},
    facts, full, library,
    subject::op_of,
};

/// Compile variants that autotuning may add.
const MAX_TUNINGS: usize = 16;

/// Turns the baselines of a request that run here into programs for the timed cases.
pub(super) fn prepare_baselines(
    request: &EvalRequest,
    compiler: &Compiler,
) -> Result<Vec<BaselineProgram>, Error> {
    let timed = |case: &Case| case.class == CaseClass::Realistic;
    let mut baselines = Vec::new();
    for baseline in request.timing.iter().flat_map(|timing| &timing.baselines) {
        let name = baseline.name.clone();
        let kernel = match &baseline.implementation {
            Implementation::Kernel { source } => source.clone(),
            Implementation::Library { name: library } => {
                let program = prepare_library(request, compiler, library, &timed)?;
                baselines.push(BaselineProgram { name, program });
                continue;
            }
            Implementation::Python { .. } => continue,
        };
        let request = EvalRequest { kernel, timing: None, ..request.clone() };
        let mut ignore = |_| {};
        let mut draft = Draft::new(&request, &mut ignore);
        match prepare_cases(&request, compiler, &mut draft, &timed)? {
            Ok(program) => baselines.push(BaselineProgram { name, program }),
            Err(halt) => return Err(Error::Baseline { name, reason: messages(halt) }),
        }
    }
    Ok(baselines)
}

/// Compiles what full-size cases of a request are judged with; `None` where there are none, or the
/// trusted kernel does not take them.
pub(super) fn prepare_full_size(
    request: &EvalRequest,
    compiler: &Compiler,
) -> Result<Option<Box<FullSizeProgram>>, Error> {
    let op = op_of(request)?;
    let Some(kernel) = full::trusted(request) else { return Ok(None) };
    let wanted = |case: &Case| full::is_full_size(op, case);
    if !request.cases.iter().any(wanted) {
        return Ok(None);
    }
    let request = EvalRequest { kernel: kernel.to_owned(), timing: None, ..request.clone() };
    let mut ignore = |_| {};
    let mut draft = Draft::new(&request, &mut ignore);
    let trusted = match prepare_cases(&request, compiler, &mut draft, &wanted)? {
        Ok(program) => program,
        Err(halt) => {
            let name = BUILTIN.to_owned();
            return Err(Error::Baseline { name, reason: messages(halt) });
        }
    };
    let mut dtypes: Vec<DType> = request
        .cases
        .iter()
        .filter(|case| wanted(case))
        .flat_map(|case| full::dtypes(op, case))
        .collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    let own = full_size_kernels(&request, compiler, &dtypes)?;
    Ok(Some(Box::new(FullSizeProgram { own, trusted })))
}

/// Compiles the kernels that full-size cases of some element types are judged with.
pub(super) fn full_size_kernels(
    request: &EvalRequest,
    compiler: &Compiler,
    dtypes: &[DType],
) -> Result<Variant, Error> {
    let (defines, kernels) = (full::defines(dtypes), full::kernels(dtypes));
    own_kernels(request, compiler, full::kernel_source(), &defines, &kernels)
}

/// Compiles kernels of kgen's own, which have no plan.
fn own_kernels(
    request: &EvalRequest,
    compiler: &Compiler,
    source: &str,
    defines: &[(String, String)],
    kernels: &[String],
) -> Result<Variant, Error> {
    let arch = &request.target.arch;
    let job = Job { source, defines, types: &[], kernels, arch };
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
pub(super) fn prepare_library(
    request: &EvalRequest,
    compiler: &Compiler,
    library: &str,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<Program, Error> {
    let (cases, refused) = library::programs(request, library, wanted)?;
    let mut steps = cases.iter().flat_map(|case| &case.plan.steps);
    let copies = steps.any(|step| matches!(step, Step::Copy { .. }));
    let copy = copies.then(|| copy_kernel(request, compiler)).transpose()?;
    Ok(Program { cases, copy, refused, ..Program::without_code(0) })
}

/// Turns the kernel that is the reference of the request's op into a program for all cases, in f64;
/// `None` where the reference is no kernel.
pub(super) fn prepare_reference(
    request: &EvalRequest,
    compiler: &Compiler,
) -> Result<Option<Box<Program>>, Error> {
    let Some(kernel) = op_of(request)?.reference_kernel else { return Ok(None) };
    let request = EvalRequest {
        kernel: kernel.source().to_owned(),
        cases: request.cases.iter().map(|case| kernel.in_f64(case)).collect(),
        timing: None,
        ..request.clone()
    };
    let mut ignore = |_| {};
    let mut draft = Draft::new(&request, &mut ignore);
    match prepare_cases(&request, compiler, &mut draft, &|_| true)? {
        Ok(program) if program.cases.len() == request.cases.len() => Ok(Some(Box::new(program))),
        Ok(_) => Err(Error::ReferenceKernel("its plan declines a case".to_owned())),
        Err(halt) => Err(Error::ReferenceKernel(messages(halt))),
    }
}

/// Returns what a halt says, in one line.
fn messages(halt: Halt) -> String {
    let messages = halt.findings.into_iter().map(|finding| finding.message);
    let diagnostics = halt.diagnostics.into_iter().map(|diagnostic| match diagnostic.line {
        Some(line) => format!("line {line}: {}", diagnostic.message),
        None => diagnostic.message,
    });
    messages.chain(diagnostics).collect::<Vec<_>>().join("; ")
}

/// Turns a request's kernel file into a program.
///
/// `Ok(Err(halt))`: a stage ended the evaluation.
pub(super) fn prepare(
    request: &EvalRequest,
    compiler: &Compiler,
    draft: &mut Draft<'_>,
) -> Result<Result<Program, Halt>, Error> {
    prepare_cases(request, compiler, draft, &|_| true)
}

fn prepare_cases(
    request: &EvalRequest,
    compiler: &Compiler,
    draft: &mut Draft<'_>,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<Result<Program, Halt>, Error> {
    let op = op_of(request)?;
    draft.enter(Stage::Guard);
    if let Err(finding) = guard_source(&request.kernel) {
        return Ok(Err(Halt::new(Verdict::Rejected, *finding)));
    }
    draft.enter(Stage::Plan);
    let file = match KernelFile::parse(&request.kernel) {
        Ok(file) => file,
        Err(error) => {
            let finding = Finding::new(error.to_string());
            return Ok(Err(Halt::new(Verdict::PlanError, finding)));
        }
    };
    let plans = match resolve_all(request, op, &file, draft, wanted)? {
        Ok(plans) => plans,
        Err(halt) => return Ok(Err(halt)),
    };
    draft.enter(Stage::Compile);
    let mut linker = Linker { request, file: &file, compiler, keys: Vec::new(), built: Vec::new() };
    let program = linker.link(plans, draft)?;
    let mut resources = linker.worst_resources();
    if let Ok(program) = &program {
        facts::add_launches(request, program, &linker.resources(), &mut resources);
    }
    draft.evaluation().resources = resources;
    draft.evaluation().diagnostics = linker.warnings();
    Ok(program)
}

/// A case's plan with what its compile variant depends on.
struct Planned {
    case: usize,
    types: Vec<(String, DType)>,
    plan: ResolvedPlan,
    tuning: bool,
}

/// Evaluates the plan for every case; declined cases are noted and left out.
fn resolve_all(
    request: &EvalRequest,
    op: &'static OpDef,
    file: &KernelFile,
    draft: &mut Draft<'_>,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<Result<Vec<Planned>, Halt>, Error> {
    let mut plans = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    for (index, case) in request.cases.iter().enumerate().filter(|(_, case)| wanted(case)) {
        let outputs = op.infer(case)?;
        let env = plan::Env::new(case, &outputs, &request.target);
        let env = if op.returns_list { env.with_output_list(&outputs) } else { env };
        let types = op.type_macros(case)?;
        let chosen = plan::resolve(file, &env, &request.params);
        let chosen = match chosen {
            Err(_) if !request.params.is_empty() => plan::resolve(file, &env, &BTreeMap::new()),
            chosen => chosen,
        };
        match chosen {
            Ok(plan) => {
                let axes = plan.params.clone();
                plans.push(Planned { case: index, types: types.clone(), plan, tuning: false });
                if request.timing.is_some() && case.class == CaseClass::Realistic {
                    for chosen in choices(&axes).into_iter().skip(1) {
                        // A choice that the plan declines or rejects is not among the candidates.
                        if let Ok(plan) = plan::resolve(file, &env, &chosen) {
                            let types = types.clone();
                            plans.push(Planned { case: index, types, plan, tuning: true });
                        }
                    }
                }
            }
            Err(plan::LaunchPlanError::Declined { line, condition }) => {
                let mut finding =
                    Finding::new(format!("the plan's require({condition}) declined the case"));
                finding.span = Some(file.span(line, 0));
                let result = failed(case, Verdict::Declined, Level::Static, finding);
                draft.case_done(index, result);
            }
            Err(plan::LaunchPlanError::Error(error)) => {
                let finding = error.finding(file);
                if !findings.contains(&finding) {
                    findings.push(finding.clone());
                }
                draft.case_done(index, failed(case, Verdict::PlanError, Level::Static, finding));
            }
        }
    }
    if findings.is_empty() {
        return Ok(Ok(plans));
    }
    Ok(Err(Halt { verdict: Verdict::PlanError, findings, diagnostics: Vec::new() }))
}

/// Returns all choices of parameters, the default first, capped.
fn choices(axes: &[crate::record::ParamAxis]) -> Vec<BTreeMap<String, i64>> {
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

/// Everything that a compilation depends on, besides the source.
#[derive(PartialEq)]
struct VariantKey {
    types: Vec<(String, DType)>,
    defines: Vec<(String, String)>,
}

/// The type macros of one dtype with the plan's macros that go with them.
type VariantCount<'a> = (&'a [(String, DType)], Vec<&'a [(String, String)]>);

/// Compiles kgen's own copy kernel.
fn copy_kernel(request: &EvalRequest, compiler: &Compiler) -> Result<Variant, Error> {
    let sizes = [1, 2, 4, 8].into_iter().filter_map(compile::copy_kernel);
    let kernels: Vec<String> = sizes.map(str::to_owned).collect();
    own_kernels(request, compiler, compile::copy_source(), &[], &kernels)
}

/// A compiled variant with what binding needs.
struct Built {
    variant: Variant,
    signatures: Vec<Signature>,
    entries: Vec<String>,
    resources: Vec<Resources>,
    diagnostics: Vec<crate::record::Diagnostic>,
}

/// All variants, each with its key.
type Variants = (Vec<VariantKey>, Vec<Built>);

/// Compiles variants on demand and binds launches to them.
struct Linker<'a> {
    request: &'a EvalRequest,
    file: &'a KernelFile,
    compiler: &'a Compiler,
    keys: Vec<VariantKey>,
    built: Vec<Built>,
}

impl Linker<'_> {
    fn link(
        &mut self,
        plans: Vec<Planned>,
        draft: &mut Draft<'_>,
    ) -> Result<Result<Program, Halt>, Error> {
        if let Some(halt) = self.too_many_variants(&plans) {
            return Ok(Err(halt));
        }
        let needs_copy = plans
            .iter()
            .any(|planned| planned.plan.steps.iter().any(|step| matches!(step, Step::Copy { .. })));
        let this = &*self;
        let (all, copy) = thread::scope(|scope| {
            let copy = || copy_kernel(this.request, this.compiler);
            let copy = needs_copy.then(|| scope.spawn(copy));
            let all = this.build_all(&plans, draft);
            if matches!(all, Ok(Ok(_))) {
                draft.enter(Stage::Link);
            }
            let copy = copy.map(|copy| copy.join().unwrap_or_else(|panic| resume_unwind(panic)));
            (all, copy)
        });
        match all? {
            Ok((keys, built)) => (self.keys, self.built) = (keys, built),
            Err(halt) => return Ok(Err(halt)),
        }
        let copy = copy.transpose()?;
        let mut program = Program {
            variants: Vec::new(),
            cases: Vec::new(),
            tunings: Vec::new(),
            copy,
            baselines: Vec::new(),
            full_size: None,
            refused: Vec::new(),
            reference: None,
        };
        for planned in plans {
            let case = &self.request.cases[planned.case];
            match self.bind(&planned) {
                Ok(bound) => {
                    let entry = CaseProgram {
                        case: planned.case,
                        variant: self.position(&planned.types, &planned.plan.defines),
                        plan: planned.plan,
                        bound,
                    };
                    if planned.tuning {
                        program.tunings.push(entry);
                    } else {
                        program.cases.push(entry);
                    }
                }
                Err(finding) => {
                    let result = failed(case, Verdict::PlanError, Level::Static, *finding.clone());
                    draft.case_done(planned.case, result);
                    return Ok(Err(Halt::new(Verdict::PlanError, *finding)));
                }
            }
        }
        program.variants = self.built.iter().map(|built| built.variant.clone()).collect();
        Ok(Ok(program))
    }

    /// Complains where correctness alone needs more variants of one dtype than allowed.
    fn too_many_variants(&self, plans: &[Planned]) -> Option<Halt> {
        let mut per_types: Vec<VariantCount<'_>> = Vec::new();
        for planned in plans.iter().filter(|planned| !planned.tuning) {
            let position = per_types.iter().position(|(types, _)| *types == planned.types);
            let position = position.unwrap_or_else(|| {
                per_types.push((&planned.types, Vec::new()));
                per_types.len() - 1
            });
            let defines = &mut per_types[position].1;
            if !defines.contains(&planned.plan.defines.as_slice()) {
                defines.push(&planned.plan.defines);
            }
        }
        let most = per_types.iter().map(|(_, defines)| defines.len()).max()?;
        let allowed = self.request.limits.max_variants as usize;
        if most <= allowed {
            return None;
        }
        let mut finding = Finding::new(format!(
            "the plan's define() values need {most} compile variants for one dtype; at most \
             {allowed} are allowed"
        ));
        finding.hint =
            Some("pass sizes as kernel arguments and define only a few constants".to_owned());
        Some(Halt::new(Verdict::PlanError, finding))
    }

    fn position(&self, types: &[(String, DType)], defines: &[(String, String)]) -> usize {
        let found = self.keys.iter().position(|key| key.types == types && key.defines == defines);
        found.expect("every planned variant was built before it is looked up")
    }

    /// Compiles every variant that the plans need: the first alone, since a wrong kernel mostly is
    /// so in all of them, the others on two threads.
    fn build_all(
        &self,
        plans: &[Planned],
        draft: &mut Draft<'_>,
    ) -> Result<Result<Variants, Halt>, Error> {
        let mut jobs: Vec<(VariantKey, Vec<String>)> = Vec::new();
        for planned in plans {
            let defines = &planned.plan.defines;
            if jobs.iter().any(|(key, _)| key.types == planned.types && key.defines == *defines) {
                continue;
            }
            let same = plans
                .iter()
                .filter(|other| other.types == planned.types && other.plan.defines == *defines);
            let key = VariantKey { types: planned.types.clone(), defines: defines.clone() };
            jobs.push((key, kernels_of(same)));
        }
        let (first, rest) = jobs.split_at(jobs.len().min(1));
        let mut built: Vec<Result<Built, Halt>> = Vec::with_capacity(jobs.len());
        for (key, kernels) in first {
            draft.enter(Stage::Compile);
            match self.build(key, kernels)? {
                Ok(variant) => built.push(Ok(variant)),
                Err(halt) => return Ok(Err(halt)),
            }
        }
        built.extend(self.build_rest(rest, draft)?);
        let built: Result<Vec<Built>, Halt> = built.into_iter().collect();
        let keys = jobs.into_iter().map(|(key, _)| key).collect();
        Ok(built.map(|built| (keys, built)))
    }

    /// Compiles variants on two threads; returns them in order.
    fn build_rest(
        &self,
        jobs: &[(VariantKey, Vec<String>)],
        draft: &mut Draft<'_>,
    ) -> Result<Vec<Result<Built, Halt>>, Error> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let mut built: Vec<_> = jobs.iter().map(|_| None).collect();
        thread::scope(|scope| {
            for sender in [sender.clone(), sender].into_iter().take(jobs.len()) {
                let next = &next;
                scope.spawn(move || {
                    while let Some((index, (key, kernels))) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        jobs.get(index).map(|job| (index, job))
                    } {
                        let done = (index, self.build(key, kernels));
                        if sender.send(done).is_err() {
                            return;
                        }
                    }
                });
            }
            // Each compilation has its own deadline, which the parent sets by this message.
            draft.enter(Stage::Compile);
            while let Ok((index, variant)) = receiver.recv() {
                draft.enter(Stage::Compile);
                built[index] = Some(variant);
            }
        });
        built.into_iter().map(|variant| variant.expect("every job was done")).collect()
    }

    fn build(&self, key: &VariantKey, kernels: &[String]) -> Result<Result<Built, Halt>, Error> {
        let compiled = match self.compiler.compile(&Job {
            source: self.file.text(),
            defines: &key.defines,
            types: &key.types,
            kernels,
            arch: &self.request.target.arch,
        }) {
            Ok(compiled) => compiled,
            Err(CompileError::Failed(diagnostics)) => {
                let finding =
                    Finding::new(format!("NVRTC refuses the kernel with {}", key.describe()));
                let findings = vec![finding];
                return Ok(Err(Halt { verdict: Verdict::CompileError, findings, diagnostics }));
            }
            Err(CompileError::Machine(error)) => return Err(error.into()),
        };
        if let Err(finding) = guard_ptx(&compiled) {
            return Ok(Err(Halt::new(Verdict::Rejected, *finding)));
        }
        Ok(Ok(Built {
            variant: Variant {
                types: key.types.clone(),
                defines: key.defines.clone(),
                cubin: compiled.cubin,
                ptx: compiled.ptx,
            },
            signatures: compiled.signatures,
            entries: compiled.entries,
            resources: compiled.resources,
            diagnostics: compiled.diagnostics,
        }))
    }

    /// Binds the arguments of every launch to the compiled kernels.
    fn bind(&self, planned: &Planned) -> Result<Vec<Option<BoundLaunch>>, Box<Finding>> {
        let built = &self.built[self.position(&planned.types, &planned.plan.defines)];
        let mut bound = Vec::with_capacity(planned.plan.steps.len());
        for step in &planned.plan.steps {
            let Step::Launch { kernel, args, line, .. } = step else {
                bound.push(None);
                continue;
            };
            let at_line = |message: String| {
                let mut finding = Finding::new(message);
                finding.span = Some(self.file.span(*line, 0));
                Box::new(finding)
            };
            let known = built.signatures.iter().zip(&built.entries);
            let found = known.into_iter().find(|(signature, _)| &signature.kernel == kernel);
            let (signature, entry) =
                found.ok_or_else(|| at_line(format!("there is no kernel `{kernel}`")))?;
            let args = kernel::bind(args, signature).map_err(|error| at_line(error.to_string()))?;
            bound.push(Some(BoundLaunch { entry: entry.clone(), args }));
        }
        Ok(bound)
    }

    /// Returns the resources of every kernel of every variant.
    fn resources(&self) -> Vec<&[Resources]> {
        self.built.iter().map(|built| built.resources.as_slice()).collect()
    }

    /// Returns the largest figures of each kernel over its variants.
    fn worst_resources(&self) -> Vec<Resources> {
        let mut worst: Vec<Resources> = Vec::new();
        for resources in self.built.iter().flat_map(|built| &built.resources) {
            match worst.iter_mut().find(|known| known.kernel == resources.kernel) {
                None => worst.push(resources.clone()),
                Some(known) => {
                    known.registers = known.registers.max(resources.registers);
                    known.spill_stores = known.spill_stores.max(resources.spill_stores);
                    known.spill_loads = known.spill_loads.max(resources.spill_loads);
                    known.stack_bytes = known.stack_bytes.max(resources.stack_bytes);
                    known.smem_bytes = known.smem_bytes.max(resources.smem_bytes);
                }
            }
        }
        worst
    }

    /// Returns the distinct messages of all compilations.
    fn warnings(&self) -> Vec<crate::record::Diagnostic> {
        let mut all = Vec::new();
        for diagnostic in self.built.iter().flat_map(|built| &built.diagnostics) {
            if !all.contains(diagnostic) {
                all.push(diagnostic.clone());
            }
        }
        all
    }
}

impl VariantKey {
    /// Returns the macros in words, for example `T_self=f32 T_out=f32 VEC=4`.
    fn describe(&self) -> String {
        let types = self.types.iter().map(|(name, dtype)| format!("{name}={}", dtype.cuda_type()));
        let defines = self.defines.iter().map(|(name, value)| format!("{name}={value}"));
        types.chain(defines).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the names of all kernels that some of these plans launch.
fn kernels_of<'a>(plans: impl Iterator<Item = &'a Planned>) -> Vec<String> {
    let mut kernels: Vec<String> = Vec::new();
    for step in plans.flat_map(|planned| &planned.plan.steps) {
        if let Step::Launch { kernel, .. } = step
            && !kernels.contains(kernel)
        {
            kernels.push(kernel.clone());
        }
    }
    kernels
}
