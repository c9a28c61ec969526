//! Parameter values that timing chose: they are judged on all small cases before they have a speed.

use std::collections::{BTreeMap, BTreeSet};

use kgen_kernel::{KernelFile, plan};
use kgen_record::{CaseOutcome, EvalRequest, Evaluation, Finding};

use super::{Job, prepare::Source};

/// A choice of parameter values.
type Choice = BTreeMap<String, i64>;

/// Returns the requests that judge the params that the timing of a right kernel chose, on every
/// case that is no realistic one: one per choice that is not the plan's default. Where all cases are
/// realistic there is nothing to judge a choice on but the timed cases, whose outputs were judged.
#[must_use]
pub fn tuned(request: &EvalRequest, evaluation: &Evaluation) -> Vec<EvalRequest> {
    if !evaluation.verdict.is_pass() || !request.params.is_empty() {
        return Vec::new();
    }
    let Ok(job) = Job::resolve(request) else { return Vec::new() };
    let choices: BTreeSet<(&str, Choice)> = evaluation
        .timings
        .iter()
        .map(|timing| (timing.case.as_str(), timing.params.iter().cloned().collect()))
        .collect();
    let small = request.cases.iter().filter(|case| !case.class.is_large());
    let cases: Vec<_> = small.cloned().collect();
    if cases.is_empty() {
        return Vec::new();
    }
    let mut judged: Vec<Choice> = Vec::new();
    for (case, choice) in choices.into_iter().filter(|(_, choice)| !choice.is_empty()) {
        if !judged.contains(&choice) && defaults(&job, case).as_ref() != Some(&choice) {
            judged.push(choice);
        }
    }
    let judge = |params| EvalRequest {
        params,
        cases: cases.clone(),
        timing: None,
        profile: None,
        ..request.clone()
    };
    judged.into_iter().map(judge).collect()
}

/// Returns the values that the plan has for a case by itself.
fn defaults(job: &Job<'_>, case: &str) -> Option<Choice> {
    let case = job.cases.iter().find(|known| known.id == case)?;
    let env = Source::candidate(job).env(case).ok()?;
    let file = KernelFile::parse(job.source()).ok()?;
    let plan = plan::resolve(&file, &env, &BTreeMap::new()).ok()?;
    Some(plan.params.into_iter().map(|axis| (axis.name, axis.chosen)).collect())
}

/// Joins the evaluation of a choice: one that is wrong makes the kernel wrong, and its times void.
pub fn join_tuned(evaluation: &mut Evaluation, params: &Choice, judged: Evaluation) {
    evaluation.stage_times.extend(judged.stage_times);
    evaluation.sandbox.join(&judged.sandbox);
    if judged.verdict.is_pass() {
        return;
    }
    let choice: Vec<String> =
        params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut finding = Finding::new(format!(
        "with {}, which was the fastest, the kernel is not right",
        choice.join(" ")
    ));
    finding.hint = Some("every value of a param() must be right for every case".to_owned());
    for result in judged.cases {
        let failed = matches!(result.outcome, CaseOutcome::Judged(verdict) if !verdict.is_pass());
        if let Some(case) = evaluation.cases.iter_mut().find(|case| case.case == result.case)
            && failed
        {
            *case = result;
        }
    }
    evaluation.verdict = judged.verdict;
    evaluation.stage = judged.stage;
    evaluation.level = judged.level;
    evaluation.findings = std::iter::once(finding).chain(judged.findings).collect();
    evaluation.timings.clear();
    evaluation.speedups.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_compile::testing::compiler;
    use kgen_ops::suite;
    use kgen_record::{
        Implementation, Verdict,
        testing::{self, case},
    };

    use crate::{cpu_half, unbegun};

    /// Right with blocks of 128 threads, and leaves out half of the elements with 256.
    const KERNEL: &str = r#"/*@plan
block = param("BLOCK", [128, 256])
launch("relu", grid=cdiv(self.numel, block), block=128, args=[contiguous(self), out, self.numel, block])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n, long long block) {
  const long long i = blockIdx.x * block + threadIdx.x;
  if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
"#;

    fn request() -> EvalRequest {
        let cases =
            suite::load("smoke").unwrap().cases("relu", Some(&[kgen_record::DType::F32]), 1);
        testing::request("relu", Implementation::kernel(KERNEL), cases.unwrap())
    }

    /// A right evaluation whose timing chose a block.
    fn timed(request: &EvalRequest, block: i64) -> Evaluation {
        let realistic = request.cases.iter().find(|case| case.class.is_large());
        let mut timing = case(&[("builtin", 1.5, false)]);
        timing.case.clone_from(&realistic.unwrap().id);
        timing.params = vec![("BLOCK".to_owned(), block)];
        let timings = vec![timing.clone(), timing];
        Evaluation { timings, ..unbegun(request, Verdict::Passed) }
    }

    #[test]
    fn a_choice_other_than_the_default_is_judged_once_on_all_small_cases() {
        let request = request();
        assert!(tuned(&request, &timed(&request, 128)).is_empty());
        let choices = tuned(&request, &timed(&request, 256));
        assert_eq!(choices.len(), 1);
        assert_eq!(choices[0].params, Choice::from([("BLOCK".to_owned(), 256)]));
        assert!(choices[0].cases.iter().all(|case| !case.class.is_large()));
        let failed = Evaluation { verdict: Verdict::Fault, ..timed(&request, 256) };
        assert!(tuned(&request, &failed).is_empty());
    }

    #[test]
    fn a_candidate_without_parameters_and_cases_of_real_sizes_alone_have_no_choice_to_judge() {
        let chosen = request();
        let library = Implementation::python(kgen_record::PythonKind::Aten);
        let called = EvalRequest { candidate: library, ..chosen.clone() };
        let mut evaluation = timed(&called, 256);
        evaluation.timings.iter_mut().for_each(|timing| timing.params.clear());
        assert!(tuned(&called, &evaluation).is_empty());
        let mut realistic = chosen.clone();
        realistic.cases.retain(|case| case.class.is_large());
        assert!(tuned(&realistic, &timed(&chosen, 256)).is_empty());
    }

    #[test]
    fn a_choice_that_is_wrong_makes_the_kernel_wrong() {
        let request = request();
        let mut evaluation = timed(&request, 256);
        for choice in tuned(&request, &evaluation.clone()) {
            let judged = cpu_half(&choice, &compiler(), &Default::default(), &mut |_| {})
                .unwrap()
                .evaluation;
            join_tuned(&mut evaluation, &choice.params, judged);
        }
        assert!(!evaluation.verdict.is_pass());
        assert!(evaluation.timings.is_empty() && evaluation.speedups.is_empty());
        assert!(evaluation.findings[0].message.contains("BLOCK=256"));
        assert!(evaluation.failed().next().is_some());
        let right =
            cpu_half(&request, &compiler(), &Default::default(), &mut |_| {}).unwrap().evaluation;
        assert_eq!(right.verdict, Verdict::Passed);
    }
}
