//! Runs that come to their end.

use kgen_record::{AttemptId, Implementation, OpKey, Verdict};
use kgen_store::{AttemptStatus, Purpose, RecordedRun, Run, RunStatus};
use std::sync::Arc;

use super::{Script, Trace, behaviour, planned};
use crate::{CandidateSource, Ending, Event, OpEnd, RunEnd};

fn verdicts(trace: &Trace) -> Vec<(u32, Purpose, Verdict)> {
    let done = |event: &Event| match event {
        Event::AttemptDone { record, .. } => Some((record.attempt, record.purpose, record.verdict)),
        _ => None,
    };
    trace.events.iter().filter_map(done).collect()
}

/// Returns the note on each attempt beside its verdict.
fn reasons(trace: &Trace) -> Vec<Option<String>> {
    let done = |event: &Event| match event {
        Event::AttemptDone { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    trace.events.iter().filter_map(done).collect()
}

#[tokio::test]
async fn an_attempt_that_no_case_judged_says_why() {
    let root = tempfile::tempdir().unwrap();
    let replies: &[&str] = &["I cannot see what you want", "kernel: right"];
    let trace = Script::new(&[("relu", replies)]).run_in(&root.path().join("r")).await;
    let [Some(no_code), passed] = &reasons(&trace)[..] else { panic!("{:?}", reasons(&trace)) };
    assert!(no_code.contains("code block"), "{no_code}");
    assert_eq!(*passed, None);
}

#[tokio::test]
async fn it_repairs_until_a_kernel_passes_and_confirms_it() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let script = Script::new(&[(
        "relu",
        &[
            "I cannot see what you want",
            "kernel: verdict=compile_error",
            "kernel: verdict=out_of_bounds_write",
            "kernel: right",
        ],
    )]);
    let trace = script.run_in(&dir).await;
    assert_eq!(
        verdicts(&trace),
        [
            (1, Purpose::Initial, Verdict::NoCode),
            (2, Purpose::Repair, Verdict::CompileError),
            (3, Purpose::Repair, Verdict::OutOfBoundsWrite),
            (4, Purpose::Repair, Verdict::Passed),
        ]
    );
    // The judge sees each kernel once and the winner three times more, with other seeds.
    let judged: Vec<_> = trace.judged.iter().map(|request| behaviour(request.source())).collect();
    assert_eq!(judged[2..], ["right"; 4]);
    let mut seeds: Vec<_> = trace.judged.iter().map(|request| request.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 6);
    let prompts: Vec<_> = trace.asked.iter().map(|call| call.prompt.as_str()).collect();
    assert_eq!(
        prompts[..3],
        [
            "relu []",
            "relu []; last 1 no_code: [none]",
            "relu [\"no_code\"]; last 2 compile_error: [verdict=compile_error]",
        ]
    );
    let outcome = &trace.outcome;
    assert!(matches!(outcome.end, RunEnd::Finished) && outcome.all_passed());
    let op = &outcome.ops[0];
    assert_eq!((&op.end, op.confirmed), (&OpEnd::Rule(Ending::Solved), true));
    let totals = (outcome.totals.calls, outcome.totals.attempts, outcome.totals.solved);
    assert_eq!(totals, (4, 4, 1));
    let run = Run::open(&dir).unwrap();
    assert_eq!((run.info().status, run.info().totals), (RunStatus::Finished, Some(outcome.totals)));
    let metadata = run.metadata(&op.key).unwrap().unwrap();
    assert_eq!((metadata.best_attempt, metadata.confirmed), (4, true));
}

#[tokio::test]
async fn on_a_device_that_times_the_best_attempt_wins_not_the_last() {
    let root = tempfile::tempdir().unwrap();
    let mut script = Script::new(&[(
        "relu",
        &[
            "kernel: a speedup=1.0",
            "kernel: b speedup=1.5",
            "kernel: verdict=wrong_output",
            "kernel: c speedup=1.2",
        ],
    )]);
    script.plan.policy.can_time = true;
    let trace = script.run_in(&root.path().join("r")).await;
    let prompts: Vec<_> = trace.asked.iter().map(|call| call.prompt.as_str()).collect();
    assert_eq!(
        prompts[2..],
        [
            "relu [\"passed\"]; last 2 passed: [b speedup=1.5]; best 2: [b speedup=1.5]",
            "relu [\"passed\", \"passed\"]; last 3 wrong_output: [verdict=wrong_output]; \
             best 2: [b speedup=1.5]",
        ]
    );
    let op = &trace.outcome.ops[0];
    assert_eq!(op.end, OpEnd::Rule(Ending::AttemptsSpent));
    assert_eq!(op.best.as_ref().map(|best| best.attempt), Some(2));
    assert!(op.confirmed && op.passed());
}

#[tokio::test]
async fn the_target_speedup_ends_the_search() {
    let root = tempfile::tempdir().unwrap();
    let mut script =
        Script::new(&[("relu", &["kernel: a speedup=1.0", "kernel: b speedup=2.5", "kernel: c"])]);
    script.plan.policy.can_time = true;
    let trace = script.run_in(&root.path().join("r")).await;
    assert_eq!(trace.outcome.ops[0].end, OpEnd::Rule(Ending::Solved));
    assert_eq!(trace.asked.len(), 2);
}

#[tokio::test]
async fn a_winner_that_fails_with_fresh_seeds_is_demoted_and_repaired() {
    let root = tempfile::tempdir().unwrap();
    let script = Script::new(&[("relu", &["kernel: flaky", "kernel: steady"])]);
    let trace = script.run_in(&root.path().join("r")).await;
    let prompt = &trace.asked[1].prompt;
    assert_eq!(prompt, "relu []; last 1 nondeterministic: [flaky]");
    let op = &trace.outcome.ops[0];
    assert_eq!(op.best.as_ref().map(|best| best.attempt), Some(2));
    assert_eq!(op.verdict, Some(Verdict::Passed));

    let mut script = Script::new(&[("relu", &["kernel: flaky"])]);
    script.plan.policy.max_attempts = 1;
    let trace = script.run_in(&root.path().join("s")).await;
    assert_eq!(trace.outcome.ops[0].verdict, Some(Verdict::Nondeterministic));
    assert!(!trace.outcome.all_passed());
}

#[tokio::test]
async fn ops_run_concurrently_up_to_the_limit() {
    let root = tempfile::tempdir().unwrap();
    let ops: Vec<_> = (0..6).map(|index| format!("op{index}")).collect();
    let replies: Vec<_> = ops.iter().map(|op| (op.as_str(), &["kernel: x"][..])).collect();
    let mut script = Script::new(&replies);
    script.plan.max_concurrent_ops = 3;
    // Three calls must be in flight at once, or nobody gets on.
    script.gate = Some(Arc::new(tokio::sync::Barrier::new(3)));
    let trace = script.run_in(&root.path().join("r")).await;
    assert!(trace.outcome.all_passed());
    let mut in_work = 0_u32;
    for event in &trace.events {
        match event {
            Event::OpStarted { .. } => in_work += 1,
            Event::OpDone { .. } => in_work -= 1,
            _ => {}
        }
        assert!(in_work <= 3);
    }
    let order: Vec<_> = trace.outcome.ops.iter().map(|op| op.op.as_str()).collect();
    assert_eq!(order, ops);
}

#[tokio::test]
async fn a_refusal_costs_one_attempt() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut script = Script::new(&[("relu", &["", "kernel: x"])]);
    let answer = script.answer;
    script.answer = Box::new(move |key| match key.attempt.number {
        1 => Err(kgen_llm::Error::Refused { reason: Some("no".to_owned()) }),
        _ => answer(key),
    });
    let trace = script.run_in(&dir).await;
    assert!(trace.outcome.all_passed());
    let id = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
    let record = Run::open(&dir).unwrap().record(&id).unwrap().unwrap();
    assert_eq!((record.status, record.verdict), (AttemptStatus::Refused, Verdict::NoCode));
}

#[tokio::test]
async fn given_kernels_are_judged_without_a_call() {
    let root = tempfile::tempdir().unwrap();
    let mut script = Script::new(&[]);
    script.plan.ops = ["add", "mul", "relu"].map(planned).to_vec();
    let kernel = |op: &str, kernel: &str| {
        let source = format!("const char* behaviour = \"{kernel}\";");
        (OpKey(op.to_owned()), Implementation::Kernel { source })
    };
    let kernels = [kernel("relu", "right"), kernel("add", "verdict=race")];
    script.plan.source = CandidateSource::Given(kernels.into());
    script.plan.policy.confirm_seeds = 0;
    let trace = script.run_in(&root.path().join("r")).await;
    let verdicts: Vec<_> = trace.outcome.ops.iter().map(|op| op.verdict.unwrap()).collect();
    assert_eq!(verdicts, [Verdict::Race, Verdict::NoCode, Verdict::Passed]);
    assert_eq!((trace.asked.len(), trace.judged.len()), (0, 2));
    assert_eq!(trace.outcome.ops[0].best.as_ref().unwrap().purpose, Purpose::Given);
}

#[tokio::test]
async fn recorded_evaluations_are_reused_where_that_is_wanted() {
    let root = tempfile::tempdir().unwrap();
    let recorded = root.path().join("recorded");
    let replies = [("relu", &["kernel: verdict=race", "kernel: x"][..])];
    Script::new(&replies).run_in(&recorded).await;

    let recording = RecordedRun::new(Run::open(&recorded).unwrap());
    let access = kgen_llm::Access::Replay(Arc::new(recording.clone()));
    let client = super::client(access);
    let mut script = Script::new(&replies);
    script.plan.source = CandidateSource::Llm {
        max_tokens: 1,
        temperature: None,
        calls_wait: false,
        reuse_evaluations: Some(Box::new(recording)),
    };
    let trace = script.with(client, &root.path().join("again")).await;
    assert!(trace.outcome.all_passed() && trace.judged.is_empty());
    let best = trace.outcome.ops[0].best.as_ref().unwrap();
    assert!(best.replayed && best.reused_evaluation);
}
