//! From kernel file to program: guards, plans, compile variants, bound arguments.

use std::collections::BTreeMap;

use kgen_baseline::BUILTIN;
use kgen_compile::{CompileError, Compiler, Job, guard_source};
use kgen_kernel::{
    KernelFile,
    plan::{self, type_macros},
};
use kgen_ops::op::OpDef;
use kgen_record::{
    Case, CaseClass, DType, EvalRequest, Finding, Implementation, Level, ResolvedPlan, Severity,
    Stage, Step, TensorSpec, Verdict,
};

use super::{
    BaselineProgram, Error, FullSizeProgram, Program, Variant,
    builder::{EarlyVerdict, EvaluationBuilder, failed},
    full, library,
    link::{Linker, Planned},
    prepared_case::op_of,
    static_facts,
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
        let mut draft = EvaluationBuilder::new(&request, &mut ignore);
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
    let wanted = |case: &Case| full::is_full_size(&op, case);
    if !request.cases.iter().any(wanted) {
        return Ok(None);
    }
    let request = EvalRequest { kernel: kernel.to_owned(), timing: None, ..request.clone() };
    let mut ignore = |_| {};
    let mut draft = EvaluationBuilder::new(&request, &mut ignore);
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
        .flat_map(|case| full::dtypes(&op, case))
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
    let op = op_of(request)?;
    let Some(kernel) = &op.reference_kernel else { return Ok(None) };
    let request = EvalRequest {
        kernel: kernel.source().to_owned(),
        cases: request.cases.iter().map(|case| kernel.in_f64(case)).collect(),
        timing: None,
        ..request.clone()
    };
    let mut ignore = |_| {};
    let mut draft = EvaluationBuilder::new(&request, &mut ignore);
    match prepare_cases(&request, compiler, &mut draft, &|_| true)? {
        Ok(program) if program.cases.len() == request.cases.len() => Ok(Some(Box::new(program))),
        Ok(_) => Err(Error::ReferenceKernel("its plan declines a case".to_owned())),
        Err(halt) => Err(Error::ReferenceKernel(messages(halt))),
    }
}

/// Returns what a halt says, in one line.
fn messages(halt: EarlyVerdict) -> String {
    let messages = halt.findings.into_iter().map(|finding| finding.message);
    let diagnostics = halt.diagnostics.into_iter().map(|diagnostic| match diagnostic.line {
        Some(line) => format!("line {line}: {}", diagnostic.message),
        None => diagnostic.message,
    });
    messages.chain(diagnostics).collect::<Vec<_>>().join("; ")
}

/// A program, and what can compile more of its kernel file.
pub(super) type Prepared<'a> = (Program, Linker<'a>);

/// Turns a request's kernel file into a program.
///
/// `Ok(Err(halt))`: a stage ended the evaluation.
pub(super) fn prepare<'a>(
    request: &'a EvalRequest,
    compiler: &'a Compiler,
    draft: &mut EvaluationBuilder<'_>,
) -> Result<Result<Prepared<'a>, EarlyVerdict>, Error> {
    prepare_linked(request, compiler, draft, &|_| true)
}

fn prepare_cases(
    request: &EvalRequest,
    compiler: &Compiler,
    draft: &mut EvaluationBuilder<'_>,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<Result<Program, EarlyVerdict>, Error> {
    let prepared = prepare_linked(request, compiler, draft, wanted)?;
    Ok(prepared.map(|(program, _)| program))
}

fn prepare_linked<'a>(
    request: &'a EvalRequest,
    compiler: &'a Compiler,
    draft: &mut EvaluationBuilder<'_>,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<Result<Prepared<'a>, EarlyVerdict>, Error> {
    let op = op_of(request)?;
    draft.enter(Stage::Guard);
    if let Err(finding) = guard_source(&request.kernel) {
        return Ok(Err(EarlyVerdict::new(Verdict::Rejected, *finding)));
    }
    draft.enter(Stage::Plan);
    let file = match KernelFile::parse(&request.kernel) {
        Ok(file) => file,
        Err(error) => {
            let finding = Finding::new(error.to_string());
            return Ok(Err(EarlyVerdict::new(Verdict::PlanError, finding)));
        }
    };
    let plans = match resolve_all(request, &op, &file, draft, wanted)? {
        Ok(plans) => plans,
        Err(halt) => return Ok(Err(halt)),
    };
    draft.enter(Stage::Compile);
    let mut linker = Linker::new(request, file, compiler);
    let program = linker.link(plans, draft)?;
    let mut resources = linker.worst_resources();
    if let Ok(program) = &program {
        static_facts::add_launches(request, program, &linker.resources(), &mut resources);
    }
    draft.evaluation().resources = resources;
    draft.evaluation().diagnostics = linker.warnings();
    Ok(program.map(|program| (program, linker)))
}

/// Evaluates the plan for a case.
pub(super) fn resolve(
    request: &EvalRequest,
    op: &OpDef,
    file: &KernelFile,
    case: &Case,
) -> Result<Result<ResolvedPlan, plan::LaunchPlanError>, Error> {
    let outputs = op.infer(case)?;
    let env = env(request, op, case, &outputs);
    let chosen = plan::resolve(file, &env, &request.params);
    Ok(match chosen {
        Err(_) if !request.params.is_empty() => plan::resolve(file, &env, &BTreeMap::new()),
        chosen => chosen,
    })
}

/// Returns what the plan of a case sees.
fn env(request: &EvalRequest, op: &OpDef, case: &Case, outputs: &[TensorSpec]) -> plan::Env {
    let env = plan::Env::new(case, outputs, &request.target);
    if op.returns_list { env.with_output_list(outputs) } else { env }
}

/// Evaluates the plan for every case; declined cases are noted and left out.
fn resolve_all(
    request: &EvalRequest,
    op: &OpDef,
    file: &KernelFile,
    draft: &mut EvaluationBuilder<'_>,
    wanted: &dyn Fn(&Case) -> bool,
) -> Result<Result<Vec<Planned>, EarlyVerdict>, Error> {
    let mut plans = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    for (index, case) in request.cases.iter().enumerate().filter(|(_, case)| wanted(case)) {
        let types = type_macros(op, case)?;
        match resolve(request, op, file, case)? {
            Ok(plan) => {
                let axes = plan.params.clone();
                plans.push(Planned { case: index, types: types.clone(), plan, tuning: false });
                if request.timing.is_some() && case.class == CaseClass::Realistic {
                    let env = env(request, op, case, &op.infer(case)?);
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
    Ok(Err(EarlyVerdict { verdict: Verdict::PlanError, findings, diagnostics: Vec::new() }))
}

/// Returns all choices of parameters, the default first, capped.
fn choices(axes: &[kgen_record::ParamAxis]) -> Vec<BTreeMap<String, i64>> {
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
pub(super) fn copy_kernel(request: &EvalRequest, compiler: &Compiler) -> Result<Variant, Error> {
    let sizes = [1, 2, 4, 8].into_iter().filter_map(kgen_compile::copy_kernel);
    let kernels: Vec<String> = sizes.map(str::to_owned).collect();
    own_kernels(request, compiler, kgen_compile::copy_source(), &[], &kernels)
}
