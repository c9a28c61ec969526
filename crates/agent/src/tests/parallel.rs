//! Several attempts of an op at once.

use kgen_record::{Cap, CapKind, CapScope};
use kgen_store::AttemptRecord;
use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{Script, beam, best_of, records};
use crate::{CandidateSource, Ending, OpEnd, RunEnd, Search, Shutdown};

/// Replies of six attempts, in which everything happens that attempts can do to each other.
const REPLIES: [(&str, &[&str]); 1] = [(
    "relu",
    &[
        "kernel: a speedup=1.0",
        "kernel: verdict=wrong_output",
        "kernel: flaky speedup=1.4",
        "kernel: b speedup=1.2",
        "no kernel at all",
        "kernel: c speedup=1.3",
    ],
)];

fn script(search: Search) -> Script {
    let mut script = Script::new(&REPLIES);
    script.plan.search = search;
    script.plan.policy.can_time = true;
    script.plan.policy.max_attempts = 6;
    script
}

/// A record without its times.
fn timeless(mut record: AttemptRecord) -> AttemptRecord {
    record.started_at.clear();
    record.finished_at.clear();
    record
}

#[tokio::test]
async fn the_samples_are_in_flight_at_once() {
    for search in [best_of(3), beam(3, 2)] {
        let root = tempfile::tempdir().unwrap();
        let mut script = script(search);
        script.plan.policy.max_attempts = 3;
        // Three calls must be in flight at once, or nobody gets on.
        script.gate = Some(Arc::new(tokio::sync::Barrier::new(3)));
        let trace = script.run_in(&root.path().join("r")).await;
        assert_eq!(trace.asked.len(), 3);
        let samples: Vec<_> = trace.asked.iter().map(|call| call.sample).collect();
        assert_eq!(samples, [1, 2, 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn no_order_of_replies_changes_what_is_asked_or_recorded() {
    for search in [best_of(3), beam(3, 2)] {
        let root = tempfile::tempdir().unwrap();
        let mut expected = None;
        for (index, order) in permutations(3).into_iter().enumerate() {
            let dir = root.path().join(format!("r{index}"));
            let mut script = script(search);
            script.delay = Box::new(move |key| {
                let place = (key.attempt.number - 1) % 3;
                Duration::from_secs(1 + order[usize::try_from(place).unwrap()])
            });
            let trace = script.run_in(&dir).await;
            let mut prompts: Vec<_> =
                trace.asked.iter().map(|call| (call.key.clone(), call.prompt.clone())).collect();
            prompts.sort();
            let records: Vec<_> = records(&dir).into_iter().map(timeless).collect();
            let op = trace.outcome.ops.into_iter().next().unwrap();
            let found = (prompts, records, op.end, op.best.map(timeless), op.confirmed);
            assert_eq!(found.1.len(), 6);
            assert_eq!(*expected.get_or_insert_with(|| found.clone()), found, "{search:?}");
        }
    }
}

fn permutations(n: u64) -> Vec<Vec<u64>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let insert = |shorter: &Vec<u64>, place: usize| {
        let mut longer = shorter.clone();
        longer.insert(place, n);
        longer
    };
    shorter.iter().flat_map(|s| (0..=s.len()).map(move |place| insert(s, place))).collect()
}

#[tokio::test]
async fn every_call_that_waits_is_named() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mailbox = || {
        let mut script = script(best_of(3));
        script.plan.source = CandidateSource::Llm {
            max_tokens: 1,
            temperature: None,
            calls_wait: true,
            reuse_evaluations: None,
        };
        script
    };
    let mut waiting = mailbox();
    let answer = waiting.answer;
    // One sample has its reply, two wait.
    waiting.answer = Box::new(move |key| match key.attempt.number {
        2 => answer(key),
        _ => Err(kgen_llm::Error::AwaitingReply {
            key: key.clone(),
            path: PathBuf::from("reply.md"),
        }),
    });
    let trace = waiting.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::AwaitingReplies));
    let OpEnd::Awaiting { calls } = &trace.outcome.ops[0].end else { panic!("nothing waits") };
    let numbers: Vec<_> = calls.iter().map(|(key, _)| key.attempt.number).collect();
    assert_eq!((numbers, trace.judged.len()), (vec![1, 3], 1));
    let trace = mailbox().run_in(&dir).await;
    assert_eq!(trace.outcome.ops[0].end, OpEnd::Rule(Ending::AttemptsSpent));
    assert_eq!(
        trace.calls(),
        [1, 3, 4, 5, 6].map(|number| format!("relu_attempt_{number}.call_1"))
    );
    assert_eq!(trace.outcome.totals.lost_calls, 0);
}

#[tokio::test]
async fn a_sample_that_cannot_be_made_leaves_the_others_to_be_judged() {
    let cap = Cap { scope: CapScope::Run, kind: CapKind::Calls, limit: 2.0 };
    for is_budget in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("r");
        let mut stopped = script(best_of(3));
        let answer = stopped.answer;
        stopped.answer = Box::new(move |key| match key.attempt.number {
            2 if is_budget => Err(kgen_llm::Error::Budget { cap }),
            2 => Err(kgen_llm::Error::EndOfRecording { key: key.clone() }),
            _ => answer(key),
        });
        let trace = stopped.run_in(&dir).await;
        let numbers: Vec<_> = records(&dir).iter().map(|record| record.attempt).collect();
        assert_eq!((trace.asked.len(), numbers), (3, vec![1, 3]));
        // The flaky one was the winner and is none; the next best is confirmed.
        let op = &trace.outcome.ops[0];
        assert_eq!(op.best.as_ref().map(|best| best.attempt), Some(1));
        assert!(op.confirmed);
        if is_budget {
            assert!(matches!(trace.outcome.end, RunEnd::BudgetReached { .. }));
        } else {
            assert_eq!(op.end, OpEnd::EndOfRecording);
        }
        // The missing parts are made when it can be.
        let trace = script(best_of(3)).run_in(&dir).await;
        assert_eq!(trace.asked[0].key.attempt.to_string(), "relu_attempt_2");
        assert_eq!(trace.outcome.ops[0].n_attempts, 6);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_stops_the_siblings_too() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let mut script = script(best_of(3));
    let answer = script.answer;
    script.delay = Box::new(|key| Duration::from_secs(key.attempt.number.into()));
    script.answer = Box::new(move |key| match key.attempt.number {
        1 => Err(kgen_llm::Error::Auth {
            provider: "p".to_owned(),
            variable: None,
            status: 401,
            message: "no".to_owned(),
        }),
        _ => answer(key),
    });
    let trace = script.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::Failed(_)));
    // Their replies were paid for and are stored; nothing more is begun.
    assert_eq!((trace.asked.len(), trace.judged.len()), (3, 0));
    let trace = self::script(best_of(3)).run_in(&dir).await;
    assert_eq!(trace.calls()[0], "relu_attempt_1.call_2");
    assert_eq!(trace.asked.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_stop_leaves_nothing_of_any_sibling_behind() {
    for stop in [Shutdown::Graceful, Shutdown::Immediate] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("r");
        let mut script = script(best_of(3));
        let (answer, handle) = (script.answer, script.stop.clone());
        script.delay = Box::new(|key| Duration::from_secs(key.attempt.number.into()));
        script.answer = Box::new(move |key| {
            handle.raise(stop);
            answer(key)
        });
        let trace = script.run_in(&dir).await;
        assert!(matches!(trace.outcome.end, RunEnd::Interrupted));
        let n_stored = if stop == Shutdown::Graceful { 3 } else { 1 };
        let trace = self::script(best_of(3)).run_in(&dir).await;
        assert_eq!(trace.asked.len(), 6 - n_stored, "{stop:?}");
        assert_eq!(trace.outcome.ops[0].n_attempts, 6);
    }
}
