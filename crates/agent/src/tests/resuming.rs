//! A run killed after any of its writes ends as one that was not killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use kgen_record::Spend;
use kgen_store::{
    AttemptRecord, CallState, Run, RunState,
    testing::{folder, journal},
};

use super::{Script, Trace};

/// Every way an attempt can go, and two attempts that are compared by their speed.
fn script() -> Script {
    let mut script = Script::new(&[(
        "relu",
        &["no kernel", "kernel: flaky speedup=1.0", "kernel: a speedup=1.1", "kernel: b speedup=1"],
    )]);
    script.plan.policy.can_time = true;
    script
}

/// Makes the directory that a process leaves which is killed after `writes`.
pub(super) fn rebuild(dir: &Path, writes: &[(PathBuf, journal::Change)]) {
    for (path, change) in writes {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match change {
            journal::Change::Whole(bytes) => fs::write(path, bytes).unwrap(),
            journal::Change::Appended(bytes) => {
                let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
                file.write_all(bytes).unwrap();
            }
        }
    }
}

fn essence(dir: &Path) -> Vec<AttemptRecord> {
    let run = Run::open(dir).unwrap();
    let op = run.ops().unwrap().remove(0);
    let (index, n_unreadable) = run.index().unwrap();
    let mut records = run.attempts(&op).unwrap();
    assert_eq!((index.len(), n_unreadable), (records.len(), 0));
    let metadata = run.metadata(&op).unwrap().unwrap();
    assert!(metadata.confirmed);
    assert_eq!(metadata.best_file.as_deref(), Some("relu_attempt_3.cu"));
    for record in &mut records {
        record.calls -= record.lost_calls;
        record.lost_calls = 0;
        // `check_calls` looks at the sums.
        record.spend = Spend::default();
        record.started_at.clear();
        record.finished_at.clear();
    }
    records
}

fn files(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir.join("relu")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn killed_after_any_write_it_ends_the_same() {
    let root = folder();
    let whole_dir = root.path().join("whole");
    let whole = script().run_in(&whole_dir).await;
    assert_eq!(whole.asked.len(), 4);
    let writes = journal::writes_below(&whole_dir);
    assert!(50 < writes.len(), "{} writes", writes.len());
    for n_writes in 1..=writes.len() {
        let dir = root.path().join(format!("cut_{n_writes}"));
        rebuild(&dir, &writes[..n_writes]);
        let before = RunState::scan(&Run::open(&dir).unwrap()).unwrap();
        let trace = script().run_in(&dir).await;
        check_calls(&whole, &trace, &before, &writes[n_writes - 1].0);
        assert_eq!(essence(&dir), essence(&whole_dir), "cut after {n_writes} writes");
        check_replies(&dir, n_writes);
        let lost = |name: &String| !name.contains(".call_");
        let kept = |dir| files(dir).into_iter().filter(lost).collect::<BTreeSet<_>>();
        assert_eq!(kept(&dir), kept(&whole_dir), "cut after {n_writes} writes");
        assert!(trace.outcome.ops[0].confirmed);
    }
}

/// Every attempt has one reply, whole on record even if only its text was there after the cut.
fn check_replies(dir: &Path, n_writes: usize) {
    let run = Run::open(dir).unwrap();
    for (number, attempt) in &RunState::scan(&run).unwrap().ops.values().next().unwrap().attempts {
        let counts = [CallState::Replied, CallState::TextOnly].map(|state| attempt.n_calls(state));
        assert_eq!(counts, [1, 0], "attempt {number}, cut after {n_writes} writes");
    }
}

/// A stored reply is never asked for again; a call in flight is sent once more and counted twice.
fn check_calls(whole: &Trace, resumed: &Trace, before: &RunState, last_write: &Path) {
    let cut = last_write.display();
    let attempts: BTreeMap<_, _> = before.ops.values().flat_map(|op| op.attempts.iter()).collect();
    let n_replied = attempts.values().filter(|a| a.replied_call().is_some()).count();
    let in_flight = attempts.values().filter(|a| a.replied_call().is_none() && !a.calls.is_empty());
    let n_lost = u32::try_from(in_flight.count()).unwrap();
    assert_eq!(resumed.asked.len(), whole.asked.len() - n_replied, "cut after {cut}");
    let totals = resumed.outcome.totals;
    assert_eq!(totals.lost_calls, n_lost, "cut after {cut}");
    assert_eq!(totals.calls, whole.outcome.totals.calls + n_lost, "cut after {cut}");
    assert_eq!(totals.spend.calls, totals.calls, "cut after {cut}");
    assert_eq!(totals.spend.lost_calls, n_lost, "cut after {cut}");
}

#[tokio::test]
async fn a_finished_run_is_left_as_it_is() {
    let root = folder();
    let dir = root.path().join("r");
    script().run_in(&dir).await;
    let again = script().run_in(&dir).await;
    assert!(again.asked.is_empty() && again.judged.is_empty());
    assert!(again.outcome.all_passed());
}
