//! Asking the judge, and the answer in its place where there is nothing to judge.

use std::fmt::Write;

use kgen_record::{
    AttemptId, EvalRequest, Evaluation, Finding, Implementation, Level, Profile, ProfileRequest,
    Severity, Stage, Verdict,
};
use kgen_store::{Confirmation, ConfirmedSeed, Counts};

use super::{
    BoxError, Error, EvaluationService, Event, Llm, RunInputs, RunOp, Shutdown,
    context::{AttemptError, Context},
    seeds,
};

/// Judges an implementation with a seed of its own; `judgement` counts the evaluations of an attempt.
pub(super) async fn evaluate<L: Llm, J: EvaluationService, M: RunInputs>(
    context: &Context<L, J, M>,
    op: &RunOp,
    attempt: &AttemptId,
    implementation: &Implementation,
    judgement: u32,
) -> Result<Evaluation, AttemptError> {
    let plan = &context.plan;
    let seed = seeds::evaluation_seed(plan.seed, attempt, judgement)
        .map_err(|error| Error::Entropy(BoxError::from(error)))?;
    let inputs = &context.deps.inputs;
    let cases =
        inputs.cases(&op.name, seed).map_err(|error| AttemptError::inputs(&op.name, error))?;
    let mut timing = inputs.timing(&op.name);
    if let Some(timing) = timing.as_mut().filter(|_| judgement > 0) {
        // The winner was chosen for being fast, by luck or not: the report is measured anew.
        timing.profile = Profile::Final;
    }
    let is_kernel = matches!(implementation, Implementation::Kernel { .. });
    let request = EvalRequest {
        op: op.name.clone(),
        definition: op.definition.clone(),
        candidate: implementation.clone(),
        // Those that confirm a winner were counted and profiled before.
        params: Default::default(),
        compile_only: false,
        count_code: judgement == 0,
        profile: (plan.profile && plan.on_gpu && judgement == 0 && is_kernel)
            .then(|| ProfileRequest::of(&cases))
            .flatten(),
        cases,
        seed,
        target: plan.target.clone(),
        on_gpu: plan.on_gpu,
        screen: plan.screen,
        precision: plan.precision,
        libraries: plan.libraries,
        cutlass: plan.cutlass,
        emulation: plan.emulation,
        limits: plan.limits,
        timing: timing.filter(|_| plan.policy.can_time),
    };
    let entered = |stage| {
        context.send(Event::Evaluating { attempt: attempt.clone(), stage });
    };
    let evaluation = tokio::select! {
        biased;
        // Nothing paid for is lost: the kernel is stored, and evaluated when the run continues.
        () = context.deps.stop.reached(Shutdown::Graceful) => return Err(AttemptError::Interrupted),
        evaluation = context.deps.judge.evaluate(request, &entered) => evaluation,
    };
    evaluation.map_err(|source| {
        let of_one = source.downcast_ref().is_some_and(kgen_worker::Error::is_of_one_evaluation);
        let error = Error::Judge { attempt: attempt.to_string(), source };
        if of_one { AttemptError::OfOp(error) } else { AttemptError::Failed(error) }
    })
}

/// Judges a winner again with fresh seeds, all at once; returns the first evaluation that failed
/// beside stored data.
pub(super) async fn confirm<L: Llm, J: EvaluationService, M: RunInputs>(
    context: &Context<L, J, M>,
    op: &RunOp,
    attempt: &AttemptId,
    kernel: &str,
) -> Result<(Confirmation, Option<Evaluation>), AttemptError> {
    let judgements = 1..=context.plan.policy.confirm_seeds;
    let kernel = Implementation::Kernel { source: kernel.to_owned() };
    let judgements = judgements.map(|nth| evaluate(context, op, attempt, &kernel, nth));
    let mut seeds = Vec::new();
    let mut failure = None;
    for evaluation in futures_util::future::join_all(judgements).await {
        let evaluation = evaluation?;
        seeds.push(ConfirmedSeed {
            seed: evaluation.seed,
            verdict: evaluation.verdict,
            counts: Counts::of(&evaluation),
            speedups: evaluation.speedups.clone(),
            flags: evaluation.flags(),
            findings: evaluation.findings.clone(),
            target: Some(evaluation.target.clone()),
            timings: evaluation.timings.clone(),
        });
        if !evaluation.verdict.is_pass() && failure.is_none() {
            failure = Some(evaluation);
        }
    }
    Ok((Confirmation { passed: failure.is_none(), seeds }, failure))
}

/// Returns the evaluation of a reply that holds no kernel file.
pub(super) fn no_code<L, J, M>(
    context: &Context<L, J, M>,
    op: &RunOp,
    finding: &Finding,
) -> Evaluation {
    Evaluation {
        op: op.name.clone(),
        verdict: Verdict::NoCode,
        level: Level::Static,
        stage: Stage::Extract,
        findings: vec![finding.clone()],
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: Vec::new(),
        timings: Vec::new(),
        speedups: Vec::new(),
        target: context.plan.target.clone(),
        seed: 0,
        nvrtc: None,
        precision: context.plan.precision,
        library_use: None,
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: Vec::new(),
        profile: None,
        sandbox: Default::default(),
    }
}

/// Returns the messages of an evaluation as people read them in a log.
pub(super) fn log(evaluation: &Evaluation) -> String {
    let mut log = String::new();
    let mut line = |text: &str| writeln!(log, "{text}").expect("a string takes any text");
    for diagnostic in &evaluation.diagnostics {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let place = diagnostic.line.map_or_else(String::new, |line| format!("line {line}: "));
        line(&format!("{place}{severity}: {}", diagnostic.message));
        if let Some(source) = &diagnostic.source_line {
            line(&format!("    {source}"));
        }
    }
    for resources in &evaluation.resources {
        line(&format!(
            "{}: {} registers, {} bytes of spill stores, {} bytes of shared memory",
            resources.kernel, resources.registers, resources.spill_stores, resources.smem_bytes
        ));
    }
    for finding in &evaluation.findings {
        line(&finding.message);
    }
    for case in evaluation.failed() {
        let messages = case.findings.iter().map(|finding| finding.message.as_str());
        for message in messages.chain(case.mismatch.as_ref().and_then(|m| m.pattern.as_deref())) {
            line(&format!("{}: {message}", case.case));
        }
    }
    log
}
