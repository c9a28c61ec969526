//! The half of an evaluation that needs no GPU.

use std::{panic::resume_unwind, thread};

use kgen_baseline::side::Sides;
use kgen_compile::Compiler;
use kgen_record::{
    CaseOutcome, CaseResult, EvalRequest, Evaluation, Finding, Implementation, Level, Stage,
    Verdict,
};

use super::{
    Error, Job, Program, Progress,
    builder::{EarlyVerdict, EvaluationBuilder, blank},
    emulate::emulate,
    error::BuildError,
    link::Linker,
    prepare::{self, Built, Source},
    side::Processes,
    static_facts,
};

/// The result of the CPU half.
#[derive(Debug)]
pub struct CpuOutcome {
    /// The evaluation so far; final where there is no program.
    pub evaluation: Evaluation,
    /// The program for a GPU; `None` where the evaluation is over.
    pub program: Option<Program>,
}

/// Guards, compiles and emulates a kernel file.
///
/// `sides`: with the Python process of a reference in Python.
///
/// # Errors
///
/// When kgen or its machine failed; faults of the candidate are in the evaluation.
pub fn cpu_half(
    request: &EvalRequest,
    compiler: &Compiler,
    sides: &Sides,
    progress: &mut dyn FnMut(Progress),
) -> Result<CpuOutcome, Error> {
    let processes = Processes::new(sides);
    let job = &Job::resolve(request)?.with_process(processes.python());
    let mut outcome = screened(job, compiler, progress)?;
    if job.op.python_reference.is_some() {
        processes.note_facts(&mut outcome.evaluation);
    }
    Ok(outcome)
}

fn screened(
    job: &Job<'_>,
    compiler: &Compiler,
    progress: &mut dyn FnMut(Progress),
) -> Result<CpuOutcome, Error> {
    let mut builder = EvaluationBuilder::new(job.request, progress);
    let (major, minor) = compiler.version();
    builder.evaluation().nvrtc = Some(format!("{major}.{minor}"));
    if !matches!(job.candidate, Implementation::Kernel { .. }) {
        return uncompiled(job, compiler, builder);
    }
    let (mut program, linker) = match candidate(job, compiler, &mut builder) {
        Ok(built) => built,
        Err(BuildError::Stopped(verdict)) => {
            return Ok(CpuOutcome { evaluation: builder.end_early(*verdict), program: None });
        }
        Err(BuildError::Machine(error)) => return Err(error),
    };
    if job.compile_only {
        return Ok(CpuOutcome { evaluation: builder.build(), program: None });
    }
    program.reference = prepare::reference(job, &job.cases, compiler)?;
    let code = job.count_code.then(|| static_facts::MachineCode::of(&program)).flatten();
    thread::scope(|scope| {
        // A process of its own, which runs beside the emulator and the compiler.
        let code = code.map(|code| scope.spawn(move || code.count(compiler)));
        let mut outcome = screen(job, linker, builder, program)?;
        if let Some(code) = code {
            let mixes = code.join().unwrap_or_else(|panic| resume_unwind(panic));
            static_facts::add_code(mixes, &mut outcome.evaluation.resources);
        }
        Ok(outcome)
    })
}

/// Builds the candidate's program and stores all that its compilation shows.
fn candidate<'a>(
    job: &'a Job<'_>,
    compiler: &'a Compiler,
    builder: &mut EvaluationBuilder<'_>,
) -> Result<(Program, Linker<'a>), BuildError> {
    let source = Source::candidate(job);
    let Built { program, linker, declined } =
        source.build(compiler, &|_| true, &mut |stage| builder.enter(stage))?;
    builder.cases_done(declined);
    let mut resources = linker.worst_resources();
    static_facts::add_launches(job, &program, &linker.resources(), &mut resources);
    builder.evaluation().resources = resources;
    builder.evaluation().diagnostics = linker.warnings();
    Ok((program, linker))
}

/// Runs small cases on the emulator and compiles the other kernels that a GPU needs.
fn screen(
    job: &Job<'_>,
    mut linker: Linker<'_>,
    mut builder: EvaluationBuilder<'_>,
    mut program: Program,
) -> Result<CpuOutcome, Error> {
    if !job.on_gpu || job.screen {
        builder.enter(Stage::Emulate);
        emulate(job, &program, &mut linker, &mut builder)?;
    }
    let compiler = linker.compiler();
    let mut evaluation = if job.on_gpu { builder.build() } else { done(builder).build() };
    let goes_on = job.on_gpu
        && (!job.screen
            || matches!(
                evaluation.verdict,
                Verdict::Passed | Verdict::Unsupported | Verdict::Declined
            ));
    if goes_on {
        // The GPU has the last word; should it hang, this half has nothing to complain about.
        evaluation.findings.clear();
        evaluation.findings.extend(job.screen.then(|| unscreened(&evaluation)).flatten());
        program.baselines = prepare::baselines(job, compiler)?;
        program.full_size = prepare::full_size(job, compiler)?;
    }
    Ok(CpuOutcome { evaluation, program: goes_on.then_some(program) })
}

/// Says which cases rest on no sanitizer, since the emulator cannot run them.
fn unscreened(evaluation: &Evaluation) -> Option<Finding> {
    let is = |case: &&CaseResult, verdict| case.outcome == CaseOutcome::Judged(verdict);
    let cases = || evaluation.cases.iter().filter(|case| is(case, Verdict::Unsupported));
    let first = cases().next()?;
    let n_passed = evaluation.n_passed();
    let which = match n_passed {
        0 => "not screened".to_owned(),
        _ => format!("not screened in {} of {} cases", cases().count(), n_passed + cases().count()),
    };
    let why = first.findings.first().map_or("unsupported", |finding| finding.message.as_str());
    Some(Finding::new(format!(
        "{which}: the emulator cannot run the kernel there, so that no sanitizer has looked for races, \
         stray accesses and uninitialised values ({why})"
    )))
}

/// Prepares an implementation that is called and not compiled: the GPU alone can judge it.
fn uncompiled(
    job: &Job<'_>,
    compiler: &Compiler,
    mut builder: EvaluationBuilder<'_>,
) -> Result<CpuOutcome, Error> {
    if !job.on_gpu {
        let finding = Finding::new("what is no kernel file can be judged on a GPU alone");
        let evaluation = builder.end_early(EarlyVerdict::new(Verdict::Unsupported, finding));
        return Ok(CpuOutcome { evaluation, program: None });
    }
    let mut program = match &job.candidate {
        Implementation::Library { name } => {
            prepare::library_program(job, compiler, name, &|_| true)?
        }
        Implementation::Kernel { .. }
        | Implementation::Python { .. }
        | Implementation::Adapter { .. } => Program::without_code(job.cases.len()),
    };
    for (index, reason) in &program.refused {
        let outcome = CaseOutcome::Skipped { reason: reason.clone() };
        builder.case_done(*index, blank(&job.cases[*index], outcome, Level::Static));
    }
    program.reference = prepare::reference(job, &job.cases, compiler)?;
    program.baselines = prepare::baselines(job, compiler)?;
    program.full_size = prepare::full_size(job, compiler)?;
    Ok(CpuOutcome { evaluation: builder.build(), program: Some(program) })
}

/// Marks the last stage where the cases left nothing to complain about.
fn done(mut builder: EvaluationBuilder<'_>) -> EvaluationBuilder<'_> {
    let evaluation = builder.evaluation();
    let no_failure = evaluation.failed().next().is_none();
    if no_failure && evaluation.n_passed() > 0 {
        builder.enter(Stage::Done);
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::unscreened;
    use kgen_ops::suite;
    use kgen_record::{
        CaseOutcome, EvalRequest, Evaluation, Finding, Implementation, Level, Verdict, testing,
    };

    use crate::{builder::failed, unbegun};

    fn begun() -> (EvalRequest, Evaluation) {
        let request = EvalRequest {
            on_gpu: true,
            ..testing::request(
                "relu",
                Implementation::kernel(""),
                suite::load("smoke").unwrap().public_cases("relu").unwrap(),
            )
        };
        let evaluation = unbegun(&request, Verdict::Unsupported);
        (request, evaluation)
    }

    #[test]
    fn what_the_emulator_cannot_run_is_named_as_not_screened() {
        let (request, mut evaluation) = begun();
        assert_eq!(unscreened(&evaluation), None);
        let finding = Finding::new("unsupported: wgmma.fence");
        evaluation.cases[0] = failed(&request.cases[0], Verdict::Unsupported, Level::Emu, finding);
        let message = unscreened(&evaluation).unwrap().message;
        assert!(message.starts_with("not screened: "), "{message}");
        assert!(message.ends_with("(unsupported: wgmma.fence)"), "{message}");
        evaluation.cases[1].outcome = CaseOutcome::Judged(Verdict::Passed);
        let message = unscreened(&evaluation).unwrap().message;
        assert!(message.starts_with("not screened in 1 of 2 cases: "), "{message}");
    }
}
