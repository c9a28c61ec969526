//! Every strategy, killed after any of its writes, and replayed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use kgen_llm::Turn;
use kgen_record::{AttemptId, OpKey};
use kgen_store::{
    AttemptRecord, CallState, RecordedRun, Run, RunState,
    testing::{folder, journal},
};

use super::{Script, Trace, beam, best_of, records, resuming::rebuild};
use crate::{CandidateSource, Search};

/// Two rounds and a half in which everything happens that attempts can do to each other: a wrong
/// kernel, a reply without one, the same kernel twice, and a winner that is none.
const REPLIES: [(&str, &[&str]); 1] = [(
    "relu",
    &[
        "kernel: a speedup=1.1",
        "kernel: flaky speedup=2.5",
        "no kernel at all",
        "kernel: verdict=wrong_output",
        "kernel: a speedup=1.1",
        "kernel: b speedup=1.3",
    ],
)];

pub(super) fn script(search: Search) -> Script {
    let mut script = Script::new(&REPLIES);
    script.plan.search = search;
    script.plan.policy.can_time = true;
    script.plan.policy.max_attempts = 6;
    script.steps_aside = true;
    script
}

/// Every way to search, with and without a planner.
pub(super) fn searches() -> Vec<Search> {
    let planned = |search| Search { planner: true, ..search };
    vec![Search::repair(), best_of(3), beam(2, 3), planned(best_of(2)), planned(beam(3, 2))]
}

pub(super) fn essence(dir: &Path) -> (Vec<AttemptRecord>, BTreeMap<String, Vec<u8>>) {
    let records = records(dir).into_iter().map(|mut record| {
        record.calls -= record.lost_calls;
        record.lost_calls = 0;
        record.spend = Default::default();
        record.started_at.clear();
        record.finished_at.clear();
        record
    });
    (records.collect(), files(dir))
}

/// The files that hold nothing of when and by whom they were written, calls left out.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let ends = [".cu", ".eval.json", ".samples.json", ".feedback.md", ".log", ".confirm.json"];
    let entries = fs::read_dir(dir.join("relu")).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    let kept = named.filter(|(name, _)| ends.iter().any(|end| name.ends_with(end)));
    kept.map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}

/// The replies that a run holds: of which attempt, and whether it was a plan.
fn replied(dir: &Path) -> BTreeSet<(u32, bool)> {
    let run = Run::open(dir).unwrap();
    let state = RunState::scan(&run).unwrap();
    let mut replied = BTreeSet::new();
    for (op, state) in &state.ops {
        for (&number, attempt) in &state.attempts {
            let id = AttemptId { op: op.clone(), number };
            for (&call, _) in attempt.calls.iter().filter(|(_, state)| state.has_reply()) {
                let turn = run.request(&id, call).unwrap().unwrap().turn;
                assert!(
                    replied.insert((number, turn == Turn::Plan)),
                    "attempt {number} was answered twice"
                );
            }
        }
    }
    replied
}

fn asked(trace: &Trace) -> BTreeSet<(u32, bool)> {
    let asked = trace.asked.iter().map(|call| (call.key.attempt.number, call.turn == Turn::Plan));
    let all: BTreeSet<_> = asked.collect();
    assert_eq!(all.len(), trace.asked.len(), "something was asked twice");
    all
}

fn prompts(trace: &Trace) -> BTreeMap<(u32, bool), String> {
    let which = |call: &kgen_llm::Call| (call.key.attempt.number, call.turn == Turn::Plan);
    trace.asked.iter().map(|call| (which(call), call.prompt.clone())).collect()
}

#[tokio::test]
async fn killed_after_any_write_every_strategy_ends_the_same() {
    for (index, search) in searches().into_iter().enumerate() {
        let root = folder();
        let whole_dir = root.path().join("whole");
        let whole = script(search).run_in(&whole_dir).await;
        let expected = essence(&whole_dir);
        assert_eq!(expected.0.len(), 6);
        assert!(whole.outcome.ops[0].confirmed);
        let writes = journal::writes_below(&whole_dir);
        // Every sixth cut, others for each strategy: all of them would take too long.
        for n_writes in (1 + index..=writes.len()).step_by(6) {
            let dir = root.path().join("cut");
            rebuild(&dir, &writes[..n_writes]);
            check_cut(search, &dir, &whole, &writes[n_writes - 1].0).await;
            assert_eq!(essence(&dir), expected, "{search:?}, cut after {n_writes} writes");
            fs::remove_dir_all(dir).unwrap();
        }
    }
}

/// A stored reply is never asked for again, every other one is, by the same prompt.
pub(super) async fn check_cut(search: Search, dir: &Path, whole: &Trace, cut: &Path) {
    let before = replied(dir);
    let n_open = {
        let state = RunState::scan(&Run::open(dir).unwrap()).unwrap();
        let attempts = state.ops.values().flat_map(|op| op.attempts.values());
        attempts.map(|attempt| attempt.n_calls(CallState::InFlight)).sum::<u32>()
    };
    let resumed = script(search).run_in(dir).await;
    let missing: BTreeSet<_> = asked(whole).difference(&before).copied().collect();
    assert_eq!(asked(&resumed), missing, "{search:?}, cut after {}", cut.display());
    let all = prompts(whole);
    for (which, prompt) in prompts(&resumed) {
        assert_eq!(prompt, all[&which], "{search:?}, cut after {}", cut.display());
    }
    assert_eq!(resumed.outcome.totals.lost_calls, n_open);
    assert!(resumed.outcome.ops[0].confirmed);
    assert_eq!(replied(dir), asked(whole));
}

fn replaying(search: Search, recorded: &Path) -> (Script, kgen_llm::Client) {
    let recording = RecordedRun::new(Run::open(recorded).unwrap());
    let client = super::client(kgen_llm::Access::Replay(Arc::new(recording.clone())));
    let mut script = script(search);
    script.plan.source = CandidateSource::Llm {
        max_tokens: 1,
        temperature: None,
        calls_wait: false,
        reuse_evaluations: Some(Box::new(recording)),
    };
    (script, client)
}

/// A record without its marks of a replay.
fn as_recorded(mut record: AttemptRecord) -> AttemptRecord {
    record.replayed = false;
    record.reused_evaluation = false;
    record.spend = Default::default();
    record.recorded_spend = None;
    record.started_at.clear();
    record.finished_at.clear();
    record
}

#[tokio::test]
async fn a_replay_with_its_evaluations_is_the_recording() {
    for search in searches() {
        let root = folder();
        let recorded = root.path().join("recorded");
        script(search).run_in(&recorded).await;
        let again = root.path().join("again");
        let (replay, client) = replaying(search, &recorded);
        let trace = replay.with(client, &again).await;
        assert!(trace.judged.is_empty());
        let plain = |dir: &Path| records(dir).into_iter().map(as_recorded).collect::<Vec<_>>();
        assert_eq!(plain(&again), plain(&recorded), "{search:?}");
        assert!(records(&again).iter().all(|record| record.replayed && record.reused_evaluation));
        assert_eq!(files(&again), files(&recorded), "{search:?}");
        assert_eq!(replied(&again), replied(&recorded));
        // Every recorded reply answered the very prompt that it answers now.
        let run = Run::open(&again).unwrap();
        for record in records(&again) {
            let id = id(record.attempt);
            for call in 1..=record.calls {
                let replayed = run.reply(&id, call).unwrap().unwrap().replayed.unwrap();
                assert!(!replayed.prompt_differs, "{search:?}, {id}, call {call}");
            }
        }
    }
}

#[tokio::test]
async fn a_replay_that_was_killed_goes_on_as_a_replay() {
    let search = Search { planner: true, ..beam(2, 3) };
    let root = folder();
    let recorded = root.path().join("recorded");
    script(search).run_in(&recorded).await;
    let whole_dir = root.path().join("whole");
    let (replay, client) = replaying(search, &recorded);
    replay.with(client, &whole_dir).await;
    let writes: Vec<(PathBuf, journal::Change)> = journal::writes_below(&whole_dir);
    for n_writes in (1..=writes.len()).step_by(6) {
        let dir = root.path().join("cut");
        rebuild(&dir, &writes[..n_writes]);
        let (replay, client) = replaying(search, &recorded);
        let trace = replay.with(client, &dir).await;
        assert!(trace.judged.is_empty(), "cut after {n_writes} writes");
        assert_eq!(files(&dir), files(&recorded), "cut after {n_writes} writes");
        fs::remove_dir_all(dir).unwrap();
    }
}

#[tokio::test]
async fn a_recording_with_plans_is_replayed_without_them() {
    let root = folder();
    let recorded = root.path().join("recorded");
    script(Search { planner: true, ..Search::repair() }).run_in(&recorded).await;
    let again = root.path().join("again");
    let (replay, client) = replaying(Search::repair(), &recorded);
    replay.with(client, &again).await;
    for number in 1..=6 {
        let kernel = |dir: &Path| Run::open(dir).unwrap().kernel(&id(number)).unwrap();
        assert_eq!(kernel(&again), kernel(&recorded));
    }
    assert!(replied(&again).iter().all(|(_, is_plan)| !is_plan));
    assert!(replied(&recorded).iter().any(|(_, is_plan)| *is_plan));
}

fn id(number: u32) -> AttemptId {
    AttemptId { op: OpKey("relu".to_owned()), number }
}
