//! Equal kernels of an op are judged once.

use std::{path::Path, time::Duration};

use kgen_record::{AttemptId, OpKey, Verdict};
use kgen_store::{Purpose, Run, StageFile};

use super::{Script, Trace, best_of, records};
use crate::{Ending, OpEnd, RunEnd};

fn id(number: u32) -> AttemptId {
    AttemptId { op: OpKey("relu".to_owned()), number }
}

/// The kernel file of a scripted reply with comments and blanks that mean nothing.
fn dressed(script: &mut Script, number: u32) {
    let answer = std::mem::replace(&mut script.answer, Box::new(|_| unreachable!("replaced")));
    script.answer = Box::new(move |key| {
        let text = answer(key)?;
        let says_more = key.attempt.number == number;
        Ok(if says_more { text.replace(" k(", "  /* faster */\n  k (") } else { text })
    });
}

fn originals(dir: &Path) -> Vec<Option<u32>> {
    records(dir).iter().map(|record| record.duplicate_of).collect()
}

fn n_judged(trace: &Trace, what: &str) -> usize {
    trace.judged.iter().filter(|request| request.source().contains(what)).count()
}

#[tokio::test]
async fn a_kernel_that_comes_again_has_the_evaluation_it_had() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let wrong = "kernel: verdict=wrong_output";
    let mut script = Script::new(&[("relu", &[wrong, "kernel: verdict=race", wrong, wrong])]);
    dressed(&mut script, 3);
    let trace = script.run_in(&dir).await;
    assert_eq!((trace.asked.len(), trace.judged.len()), (4, 2));
    assert_eq!(originals(&dir), [None, None, Some(1), Some(1)]);
    let run = Run::open(&dir).unwrap();
    let stored = |number, file| std::fs::read_to_string(run.path(&id(number), file)).unwrap();
    for file in [StageFile::Samples, StageFile::Eval] {
        assert_eq!(stored(1, file), stored(3, file));
    }
    assert_eq!(run.feedback(&id(1)).unwrap(), run.feedback(&id(3)).unwrap());
    // Each attempt keeps the words of its own reply.
    assert_ne!(run.kernel(&id(1)).unwrap(), run.kernel(&id(3)).unwrap());
    let record = run.record(&id(3)).unwrap().unwrap();
    assert_eq!((record.verdict, record.seconds_judging), (Verdict::WrongOutput, 0.0));
}

#[tokio::test(start_paused = true)]
async fn of_equal_kernels_at_work_one_is_judged_and_the_others_wait() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let same = "kernel: same takes=500 verdict=race";
    let mut script = Script::new(&[("relu", &[same, "kernel: other verdict=race", same, same])]);
    script.plan.search = best_of(4);
    // The last comes first, the others while it is judged.
    script.delay = Box::new(|key| Duration::from_millis(100 * u64::from(5 - key.attempt.number)));
    let start = tokio::time::Instant::now();
    let trace = script.run_in(&dir).await;
    assert_eq!(start.elapsed().as_millis(), 600);
    assert_eq!(trace.judged.len(), 2);
    assert_eq!(originals(&dir), [Some(4), None, Some(4), None]);
}

#[tokio::test]
async fn a_judge_that_fails_over_a_kernel_is_asked_by_the_next_with_it() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let same = "kernel: verdict=timed_out";
    let mut script = Script::new(&[("relu", &[same, same])]);
    script.plan.search = best_of(2);
    let trace = script.run_in(&dir).await;
    assert!(matches!(trace.outcome.end, RunEnd::Failed(_)));
    assert!(records(&dir).is_empty());
    // The machine is mended: the paid reply is judged, once.
    let mended = Script { answer: Box::new(|_| unreachable!("it is stored")), ..Script::new(&[]) };
    let mut script = Script { plan: Script::new(&[("relu", &[same, same])]).plan, ..mended };
    script.plan.search = best_of(2);
    script.plan.policy.max_attempts = 2;
    script.is_mended = true;
    let trace = script.run_in(&dir).await;
    assert_eq!(n_judged(&trace, "timed_out"), 1);
    assert_eq!(originals(&dir), [None, Some(1)]);
}

#[tokio::test]
async fn what_is_found_out_about_a_winner_holds_for_its_equals() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r");
    let flaky = "kernel: flaky speedup=3.0";
    let replies = [("relu", &[flaky, flaky, "kernel: steady speedup=1.5", flaky][..])];
    let mut script = Script::new(&replies);
    script.plan.search = best_of(3);
    script.plan.policy.can_time = true;
    let trace = script.run_in(&dir).await;
    // The flaky kernel is fast enough, fails its confirmation, and is not tried again under
    // another number: not when it is there already, and not when it comes again.
    assert_eq!(n_judged(&trace, "flaky"), 1 + 3);
    assert_eq!(n_judged(&trace, "steady"), 1 + 3);
    assert_eq!(originals(&dir), [None, Some(1), None, Some(1)]);
    let run = Run::open(&dir).unwrap();
    let passed = |number| run.confirmation(&id(number)).unwrap().map(|c| c.passed);
    assert_eq!([1, 2, 3, 4].map(passed), [Some(false), Some(false), Some(true), Some(false)]);
    assert_eq!(run.feedback(&id(1)).unwrap(), run.feedback(&id(4)).unwrap());
    let op = &trace.outcome.ops[0];
    assert_eq!(op.end, OpEnd::Rule(Ending::AttemptsSpent));
    assert_eq!(op.best.as_ref().map(|best| best.attempt), Some(3));
    let last = run.record(&id(4)).unwrap().unwrap();
    assert_eq!((last.purpose, last.parents), (Purpose::Improve, vec![3]));
    // Started again, the run finds everything done.
    let again = Script::new(&replies);
    let mut again = Script { plan: again.plan, ..Script::new(&[]) };
    again.plan.search = best_of(3);
    again.plan.policy.can_time = true;
    let trace = again.run_in(&dir).await;
    assert!(trace.judged.is_empty() && trace.outcome.all_passed());
}
