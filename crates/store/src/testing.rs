//! Records for tests, and the journal of writes that tests cut a run by.

use kgen_record::{
    CaseClass, CaseOutcome, CaseResult, DType, ElementDiff, Evaluation, Finding, InputDistribution,
    Level, Mismatch, Precision, Speedup, Spend, Stage, StageTime, Target, Verdict, number::Number,
};

use crate::{AttemptRecord, AttemptStatus, Counts, Purpose};

/// An attempt's record with the fields that decide about its rank.
pub fn record(
    attempt: u32,
    verdict: Verdict,
    passed: usize,
    speedup: Option<f64>,
) -> AttemptRecord {
    AttemptRecord {
        op: "relu".to_owned(),
        attempt,
        parents: Vec::new(),
        branch: 1,
        round: attempt,
        purpose: Purpose::Initial,
        status: AttemptStatus::Judged,
        verdict,
        level: Level::Emu,
        stage: Stage::Done,
        counts: Counts { cases: 9, passed, failed: 9 - passed, ..Counts::default() },
        library_use: None,
        speedup: speedup.map(|geomean| Speedup::new("builtin", geomean, 1)),
        change: None,
        duplicate_of: None,
        spend: Spend::default(),
        recorded_spend: None,
        seconds_judging: 0.0,
        calls: 1,
        lost_calls: 0,
        replayed: false,
        cached: false,
        reused_evaluation: false,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        finished_at: "2026-01-01T00:00:01Z".to_owned(),
    }
}

/// An evaluation of `n_cases` cases of which the first `n_failed` are wrong.
pub fn evaluation(verdict: Verdict, n_cases: usize, n_failed: usize) -> Evaluation {
    Evaluation {
        op: "relu".to_owned(),
        verdict,
        level: Level::Emu,
        stage: Stage::Emulate,
        findings: vec![Finding::new("f32[1023]: 3 of 1023 elements are wrong")],
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: (0..n_cases).map(|index| case(index, index < n_failed)).collect(),
        timings: Vec::new(),
        speedups: Vec::new(),
        target: Target::h100_class(),
        precision: Precision::Strict,
        library_use: None,
        seed: u64::MAX,
        nvrtc: Some("13.0".to_owned()),
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: vec![StageTime { stage: Stage::Compile, seconds: 0.03 }],
        profile: None,
        sandbox: Default::default(),
    }
}

fn case(index: usize, wrong: bool) -> CaseResult {
    let difference = ElementDiff {
        integers: None,
        index: vec![index, 7],
        expected: Number(f64::NAN),
        got: Number(0.25),
        bound: Number(0.0),
    };
    let mismatch = Mismatch {
        output: "out".to_owned(),
        n_wrong: 3,
        n_special: 1,
        n_unwritten: 0,
        n_elements: 1023,
        worst_ratio: Number(f64::INFINITY),
        first: vec![difference; 8],
        pattern: Some("all from index 1020 on".to_owned()),
        rule: "bit equality".to_owned(),
    };
    let verdict = if wrong { Verdict::WrongOutput } else { Verdict::Passed };
    CaseResult {
        case: format!("f32[{index},1023]/normal"),
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        args: "self=f32[127,1023]".to_owned(),
        outcome: CaseOutcome::Judged(verdict),
        level: Level::Emu,
        findings: Vec::new(),
        mismatch: wrong.then_some(mismatch),
        max_abs_error: Some(Number(0.25)),
        max_rel_error: None,
        worst_ratio: Some(Number(f64::INFINITY)),
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    }
}

/// Makes a folder in memory where the machine has such: a disk takes milliseconds for each flush.
///
/// # Panics
///
/// When it cannot be made.
#[must_use]
pub fn folder() -> tempfile::TempDir {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("there is room for a folder")
}

/// The writes of this process in their order, for the test that cuts a run after each of them.
pub mod journal {
    use std::{
        path::{Path, PathBuf},
        sync::Mutex,
    };

    /// The effect of a write on its file.
    #[derive(Debug, Clone)]
    pub enum Change {
        /// The file has these contents now.
        Whole(Vec<u8>),
        /// These bytes were appended.
        Appended(Vec<u8>),
    }

    /// The part of a write that survives a loss of power.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Kept {
        /// Any part of the contents, under the new name or not.
        Nothing,
        /// The contents, where the name is there.
        Contents,
        /// Contents and name, and the names of earlier files of the folder.
        Name,
    }

    /// A write.
    #[derive(Debug, Clone)]
    pub struct Write {
        pub path: PathBuf,
        pub change: Change,
        pub kept: Kept,
    }

    static WRITES: Mutex<Vec<Write>> = Mutex::new(Vec::new());

    pub(crate) fn note(path: &Path, change: Change, kept: Kept) {
        let write = Write { path: path.into(), change, kept };
        WRITES.lock().expect("no test panics while it holds the lock").push(write);
    }

    /// Returns the writes below a folder, paths relative to it.
    pub fn below(folder: &Path) -> Vec<Write> {
        let writes = WRITES.lock().expect("no test panics while it holds the lock");
        let relative = |write: &Write| {
            Some(Write { path: write.path.strip_prefix(folder).ok()?.to_owned(), ..write.clone() })
        };
        writes.iter().filter_map(relative).collect()
    }

    /// Returns the same without their durability.
    pub fn writes_below(folder: &Path) -> Vec<(PathBuf, Change)> {
        below(folder).into_iter().map(|write| (write.path, write.change)).collect()
    }
}
