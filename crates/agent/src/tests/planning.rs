//! Attempts that are planned before they are written.

use std::{path::PathBuf, time::Duration};

use kgen_llm::Turn;
use kgen_record::{AttemptId, Cap, CapKind, CapScope, OpKey};
use kgen_store::{AttemptStatus, CallState, Run, RunState};

use super::{Script, Trace, beam};
use crate::{CandidateSource, OpEnd, RunEnd, Search, Shutdown};

const REPLIES: [(&str, &[&str]); 1] = [(
    "relu",
    &["kernel: a speedup=1.0", "kernel: b speedup=1.1", "kernel: c speedup=1.2", "kernel: d"],
)];

fn script(search: Search) -> Script {
    let mut script = Script::new(&REPLIES);
    script.plan.search = Search { planner: true, ..search };
    script.plan.policy.can_time = true;
    script
}

fn id(number: u32) -> AttemptId {
    AttemptId { op: OpKey("relu".to_owned()), number }
}

fn turns(trace: &Trace) -> Vec<(String, Turn)> {
    trace.asked.iter().map(|call| (call.key.to_string(), call.turn)).collect()
}

#[tokio::test]
async fn what_has_a_parent_is_planned_and_then_written() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut script = script(Search::repair());
    script.plan.policy.max_attempts = 2;
    let trace = script.run_in(&dir).await;
    let call = |name: &str, turn| (format!("relu_attempt_{name}"), turn);
    assert_eq!(
        turns(&trace),
        [call("1.call_1", Turn::Code), call("2.call_1", Turn::Plan), call("2.call_2", Turn::Code)]
    );
    let last = "relu []; last 1 passed: [a speedup=1.0]; best 1: [a speedup=1.0]";
    assert_eq!(trace.asked[1].prompt, format!("{last}; what is to be changed?"));
    assert_eq!(trace.asked[2].prompt, format!("{last}; plan \"b2\", \"c2\""));
    let record = Run::open(&dir).unwrap().record(&id(2)).unwrap().unwrap();
    assert_eq!((record.calls, record.lost_calls), (2, 0));
}

#[tokio::test]
async fn a_plan_that_says_nothing_in_the_form_asked_for_is_taken_as_it_is() {
    let refused = || kgen_llm::Error::Refused { reason: None };
    for is_refused in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("r");
        let mut script = script(Search::repair());
        script.plan.policy.max_attempts = 2;
        script.planner = Box::new(move |_| match is_refused {
            true => Err(refused()),
            false => Ok("Use float4.\n".to_owned()),
        });
        let trace = script.run_in(&dir).await;
        let is_included = trace.asked[2].prompt.contains("\"Use float4.\"");
        assert_eq!((trace.asked.len(), is_included), (3, !is_refused));
        // A plan that is refused is no refusal of the kernel.
        let record = Run::open(&dir).unwrap().record(&id(2)).unwrap().unwrap();
        assert_eq!(record.status, AttemptStatus::Judged);
    }
}

#[tokio::test(start_paused = true)]
async fn each_branch_knows_the_changes_of_the_others() {
    let root = tempfile::tempdir().unwrap();
    let mut script = script(beam(3, 2));
    script.plan.policy.max_attempts = 6;
    // The first branch is the slowest: the others wait for its plan, not for its code.
    script.delay = Box::new(|key| Duration::from_secs(u64::from(10 - key.attempt.number)));
    let trace = script.run_in(&root.path().join("r")).await;
    let prompts: Vec<_> = trace.asked.iter().map(|call| call.prompt.as_str()).collect();
    assert!(prompts[..3].iter().all(|prompt| prompt.ends_with("taken []")), "{prompts:?}");
    let taken = |turn, number| {
        let call = trace.asked.iter().find(|c| c.turn == turn && c.key.attempt.number == number);
        let prompt = &call.unwrap().prompt;
        prompt[prompt.find("branch").unwrap()..].split(';').next().unwrap().to_owned()
    };
    for turn in [Turn::Plan, Turn::Code] {
        assert_eq!(taken(turn, 4), "branch 1, taken []");
        assert_eq!(taken(turn, 5), "branch 2, taken [\"b4\"]");
        assert_eq!(taken(turn, 6), "branch 3, taken [\"b4\", \"b5\"]");
    }
    // The plan of the second branch is asked for while the first writes.
    let order: Vec<_> = trace.asked[3..].iter().map(|c| (c.key.attempt.number, c.turn)).collect();
    let place = |which| order.iter().position(|other| *other == which).unwrap();
    assert_eq!(place((4, Turn::Plan)), 0);
    assert!(place((5, Turn::Plan)) < 3 && place((4, Turn::Code)) < 3, "{order:?}");
}

#[tokio::test]
async fn branches_whose_neighbours_have_no_plan_wait_with_them() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mailbox = || {
        let mut script = script(beam(2, 2));
        script.plan.source = CandidateSource::Llm {
            max_tokens: 1,
            temperature: None,
            calls_wait: true,
            reuse_evaluations: None,
        };
        script
    };
    let waiting = || {
        let mut script = mailbox();
        script.planner = Box::new(|key| {
            Err(kgen_llm::Error::AwaitingReply {
                key: key.clone(),
                path: PathBuf::from("reply.md"),
            })
        });
        script
    };
    let trace = waiting().run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::AwaitingReplies));
    let OpEnd::Awaiting { calls } = &trace.outcome.ops[0].end else { panic!("nothing waits") };
    let names: Vec<_> = calls.iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(names, ["relu_attempt_3.call_1"]);
    // The plan is there: under the same name, and then the other branch has its turn.
    let trace = mailbox().run_in(&dir).await;
    let call = |name: &str, turn| (format!("relu_attempt_{name}"), turn);
    let mut turns = turns(&trace);
    turns.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        turns,
        [
            call("3.call_1", Turn::Plan),
            call("3.call_2", Turn::Code),
            call("4.call_1", Turn::Plan),
            call("4.call_2", Turn::Code),
        ]
    );
    assert_eq!(trace.outcome.totals.lost_calls, 0);
}

#[tokio::test]
async fn a_cap_between_the_two_calls_leaves_the_plan_to_be_used() {
    let cap = Cap { scope: CapScope::Run, kind: CapKind::Calls, limit: 2.0 };
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut capped = script(Search::repair());
    let answer = capped.answer;
    capped.answer = Box::new(move |key| match key.attempt.number {
        2 => Err(kgen_llm::Error::Budget { cap }),
        _ => answer(key),
    });
    let trace = capped.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::BudgetReached { .. }));
    assert!(trace.outcome.ops[0].confirmed);
    let trace = script(Search::repair()).run_in(&dir).await;
    assert_eq!(trace.asked[0].turn, Turn::Code);
    assert!(trace.asked[0].prompt.ends_with("plan \"b2\", \"c2\""), "{}", trace.asked[0].prompt);
    let state = RunState::scan(&Run::open(&dir).unwrap()).unwrap();
    let calls = &state.ops[&OpKey("relu".to_owned())].attempts[&2].calls;
    assert_eq!(calls[&1], CallState::Replied);
}

#[tokio::test]
async fn where_the_code_is_stored_a_plan_that_failed_is_not_asked_for_again() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut stopped = script(Search::repair());
    stopped.plan.policy.max_attempts = 2;
    stopped.planner = Box::new(|_| Err(kgen_llm::Error::EmptyReply));
    let (answer, handle) = (stopped.answer, stopped.stop.clone());
    stopped.answer = Box::new(move |key| {
        if key.attempt.number == 2 {
            handle.raise(Shutdown::Graceful);
        }
        answer(key)
    });
    let trace = stopped.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::Interrupted));
    let mut again = script(Search::repair());
    again.plan.policy.max_attempts = 2;
    let trace = again.run_in(&dir).await;
    assert!(trace.asked.is_empty(), "{:?}", turns(&trace));
    assert!(trace.outcome.ops[0].passed());
}
