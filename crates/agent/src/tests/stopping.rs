//! Runs that stop early: nothing is lost, and the same directory goes on.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use kgen_llm::{Call, CallLog, ReplyRecord};
use kgen_record::{Cap, CapKind, CapScope};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Script, ScriptedLlm, plan_of};
use crate::{CandidateSource, Error, Llm, OpEnd, RunEnd, Shutdown};

const REPLIES: [(&str, &[&str]); 2] =
    [("add", &["kernel: x"]), ("relu", &["kernel: verdict=race", "kernel: x"])];

#[tokio::test]
async fn the_end_of_a_recording_ends_the_op_with_its_best() {
    let root = tempfile::tempdir().unwrap();
    let mut script = Script::new(&[("relu", &["kernel: a speedup=1.0"])]);
    script.plan.policy.can_time = true;
    let trace = script.run_in(&root.path().join("r")).await;
    let op = &trace.outcome.ops[0];
    assert_eq!((&op.end, op.confirmed), (&OpEnd::EndOfRecording, true));
    assert!(matches!(trace.outcome.end, RunEnd::Finished));
}

#[tokio::test]
async fn the_budget_stops_the_run_and_a_larger_one_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut script = Script::new(&REPLIES);
    let answer = script.answer;
    script.answer = Box::new(move |key| match (key.attempt.op.0.as_str(), key.attempt.number) {
        ("relu", 2) => Err(kgen_llm::Error::Budget {
            cap: Cap { scope: CapScope::Run, kind: CapKind::Calls, limit: 2.0 },
        }),
        _ => answer(key),
    });
    let trace = script.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::BudgetReached { .. }));
    let trace = Script::new(&REPLIES).run_in(&dir).await;
    assert!(trace.outcome.all_passed());
}

#[tokio::test]
async fn calls_that_wait_are_left_pending_and_taken_up_under_their_name() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mailbox = || {
        let mut script = Script::new(&REPLIES);
        script.plan.source = CandidateSource::Llm {
            max_tokens: 1,
            temperature: None,
            calls_wait: true,
            reuse_evaluations: None,
        };
        script
    };
    let mut script = mailbox();
    script.answer = Box::new(|key| {
        Err(kgen_llm::Error::AwaitingReply { key: key.clone(), path: PathBuf::from("reply.md") })
    });
    let trace = script.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::AwaitingReplies));
    assert!(trace.outcome.ops.iter().all(|op| matches!(op.end, OpEnd::Awaiting { .. })));
    let trace = mailbox().run_in(&dir).await;
    assert!(trace.outcome.all_passed());
    assert_eq!(
        trace.calls(),
        ["add_attempt_1.call_1", "relu_attempt_1.call_1", "relu_attempt_2.call_1"]
    );
    assert_eq!(trace.outcome.totals.lost_calls, 0);
}

#[tokio::test]
async fn a_wrong_key_ends_the_run_at_once() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut script = Script::new(&REPLIES);
    script.answer = Box::new(|_| {
        Err(kgen_llm::Error::Auth {
            provider: "p".to_owned(),
            variable: None,
            status: 401,
            message: "no".to_owned(),
        })
    });
    let trace = script.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::Failed(Error::Llm(kgen_llm::Error::Auth { .. }))));
    assert_eq!(trace.asked.len(), 1);
    let trace = Script::new(&REPLIES).run_in(&dir).await;
    assert!(trace.outcome.all_passed());
}

#[tokio::test]
async fn an_op_without_an_answer_waits_while_others_go_on() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let unavailable = || kgen_llm::Error::Unavailable {
        provider: "p".to_owned(),
        status: None,
        tries: 3,
        message: "no route".to_owned(),
    };
    let mut script = Script::new(&REPLIES);
    let answer = script.answer;
    script.answer =
        Box::new(
            move |key| {
                if key.attempt.op.0 == "add" { Err(unavailable()) } else { answer(key) }
            },
        );
    let trace = script.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::Incomplete(Error::Llm(_))));
    assert!(!trace.outcome.ops[0].passed() && trace.outcome.ops[1].passed());
    assert_eq!(trace.outcome.ops[0].n_attempts, 0);

    let ops: Vec<_> = (0..9).map(|index| format!("op{index}")).collect();
    let replies: Vec<_> = ops.iter().map(|op| (op.as_str(), &["kernel: x"][..])).collect();
    let mut script = Script::new(&replies);
    script.answer = Box::new(move |_| Err(unavailable()));
    let trace = script.run_in(&root.path().join("s")).await;
    assert_eq!(trace.asked.len(), 3);
    assert!(matches!(trace.outcome.end, RunEnd::Failed(Error::Llm(_))));
}

#[tokio::test]
async fn a_judge_that_cannot_work_ends_the_run() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let trace = Script::new(&[("relu", &["kernel: verdict=crashed"])]).run_in(&dir).await;
    let RunEnd::Failed(error @ Error::Judge { .. }) = trace.outcome.end else {
        panic!("{:?}", trace.outcome.end)
    };
    assert_eq!(error.to_string(), "failed to judge relu_attempt_1");
}

#[tokio::test]
async fn a_worker_that_fails_over_one_op_leaves_the_others_to_be_judged() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let replies: [(&str, &[&str]); 3] = [
        ("add", &["kernel: verdict=timed_out"]),
        ("relu", &["kernel: x"]),
        ("sum", &["kernel: x"]),
    ];
    let mut script = Script::new(&replies);
    script.plan.max_concurrent_ops = 1;
    let trace = script.run_in(&dir).await;
    let ends: Vec<bool> = trace.outcome.ops.iter().map(|op| op.passed()).collect();
    assert_eq!(ends, [false, true, true]);
    let OpEnd::Failed { message } = &trace.outcome.ops[0].end else { panic!("add did not fail") };
    assert_eq!(message, "failed to judge add_attempt_1: a cpu worker failed: out of host memory");
    assert!(matches!(trace.outcome.end, RunEnd::Incomplete(Error::Judge { .. })));
}

#[tokio::test]
async fn a_stopped_run_keeps_what_was_begun_and_goes_on_later() {
    for (stop, n_stored) in [(Shutdown::Graceful, 1), (Shutdown::Immediate, 1)] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("r");
        let mut script = Script::new(&REPLIES);
        let (answer, handle) = (script.answer, script.stop.clone());
        // The stop comes while the first call is in flight.
        script.answer = Box::new(move |key| {
            handle.raise(stop);
            answer(key)
        });
        let trace = script.run_in(&dir).await;
        assert!(matches!(trace.outcome.end, RunEnd::Interrupted));
        assert_eq!((trace.asked.len(), trace.judged.len()), (n_stored, 0));
        let trace = Script::new(&REPLIES).run_in(&dir).await;
        assert!(trace.outcome.all_passed());
        // The reply that was stored is not asked for again.
        assert_eq!(trace.calls(), ["relu_attempt_1.call_1", "relu_attempt_2.call_1"]);
    }
}

#[tokio::test]
async fn an_op_whose_prompt_is_too_long_leaves_the_others_to_be_solved() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let replies: [(&str, &[&str]); 2] = [("endless", &["kernel: x"]), ("relu", &["kernel: x"])];
    let mut script = Script::new(&replies);
    script.plan.max_concurrent_ops = 1;
    let trace = script.run_in(&dir).await;
    let OpEnd::Failed { message } = &trace.outcome.ops[0].end else { panic!("it was asked") };
    assert!(
        message.starts_with("failed to prepare `endless`: the prompt for endless"),
        "{message}"
    );
    assert!(trace.outcome.ops[1].passed());
    assert!(matches!(trace.outcome.end, RunEnd::Incomplete(Error::RunInputs { .. })));
}

/// Takes one call at a time.
struct Queue {
    llm: ScriptedLlm,
    place: Semaphore,
    stopping: CancellationToken,
}

impl Llm for Queue {
    async fn complete(
        &self,
        call: &Call,
        log: &dyn CallLog,
    ) -> Result<ReplyRecord, kgen_llm::Error> {
        let _place = tokio::select! {
            biased;
            () = self.stopping.cancelled() => return Err(kgen_llm::Error::Stopped),
            place = self.place.acquire() => place.unwrap(),
        };
        self.llm.complete(call, log).await
    }
}

#[tokio::test]
async fn calls_that_wait_for_their_turn_are_not_sent_after_a_stop() {
    let replies: [(&str, &[&str]); 3] =
        [("add", &["kernel: x"]), ("relu", &["kernel: x"]), ("sum", &["kernel: x"])];
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut script = Script::new(&replies);
    script.plan.max_concurrent_ops = 3;
    let answer = std::mem::replace(&mut script.answer, Box::new(|_| unreachable!("replaced")));
    let (handle, asked) = (script.stop.clone(), Arc::new(Mutex::new(Vec::new())));
    let stopping = script.stop.stopping();
    let llm = ScriptedLlm {
        answer: Box::new(move |key| {
            handle.raise(Shutdown::Graceful);
            answer(key)
        }),
        asked: Arc::clone(&asked),
        gate: None,
        // The others are in the queue by then.
        delay: Box::new(|_| Duration::from_millis(20)),
        plan: Box::new(plan_of),
        steps_aside: false,
    };
    let trace = script.with(Queue { llm, place: Semaphore::new(1), stopping }, &dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::Interrupted));
    assert_eq!((asked.lock().unwrap().len(), trace.outcome.totals.calls), (1, 1));
}

#[tokio::test]
async fn a_request_that_is_refused_for_what_it_says_is_one_ops_trouble() {
    let root = tempfile::tempdir().unwrap();
    let mut script = Script::new(&REPLIES);
    let answer = script.answer;
    script.answer = Box::new(move |key| match key.attempt.op.0.as_str() {
        "add" => Err(kgen_llm::Error::Rejected {
            provider: "p".to_owned(),
            status: 400,
            message: "no".to_owned(),
            param: None,
        }),
        _ => answer(key),
    });
    let trace = script.run_in(&root.path().join("r")).await;
    assert!(!trace.outcome.ops[0].passed() && trace.outcome.ops[1].passed());
    assert!(matches!(
        trace.outcome.end,
        RunEnd::Incomplete(Error::Llm(kgen_llm::Error::Rejected { .. }))
    ));
}
