//! The run directory: layout, locking, damage, reading back.

use std::{fs, path::Path};

use kgen_llm::{
    CallKey, CallLog, Finish, Recording, ReplyRecord, RequestRecord, ResponseRecord, Turn, Usage,
};
use kgen_record::{
    AttemptId, CaseClass, CaseOutcome, CaseResult, DType, Evaluation, Implementation,
    InputDistribution, KernelProfile, Level, OpKey, RawOutput, RunId, Speedup, Spend, Stage,
    Target, Verdict,
};
use kgen_store::{
    AttemptRecord, AttemptStage, AttemptStatus, CallFile, CallState, Confirmation, ConfirmedSeed,
    Counts, DeviceInfo, Error, LostCall, Purpose, RecordedRun, Run, RunInfo, RunState, RunStatus,
    RunStore, StageFile, TopFile, find_run, latest_run, list_runs,
};

mod damage;

/// A run's description with the fields that tests do not care about filled in.
pub(crate) fn info(run_id: RunId) -> RunInfo {
    RunInfo {
        created_at: "2026-01-01T00:00:00Z".to_owned(),
        provider: Some("scripted".to_owned()),
        model: Some("none".to_owned()),
        ..RunInfo::new(
            run_id,
            "smoke",
            vec!["relu".to_owned()],
            DeviceInfo::new("emu", Target::h100_class()),
        )
    }
}

/// Returns a kernel file of this text.
fn kernel(source: &str) -> Implementation {
    Implementation::Kernel { source: source.to_owned() }
}

fn evaluation(verdict: Verdict, n_cases: usize) -> Evaluation {
    let case = |index: usize| CaseResult {
        case: format!("f32[{index}]/normal"),
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        args: format!("self=f32[{index}]"),
        outcome: CaseOutcome::Judged(verdict),
        level: Level::Emu,
        findings: Vec::new(),
        mismatch: None,
        max_abs_error: None,
        max_rel_error: None,
        worst_ratio: None,
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    };
    Evaluation {
        op: "relu".to_owned(),
        verdict,
        level: Level::Emu,
        stage: Stage::Done,
        findings: Vec::new(),
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: (0..n_cases).map(case).collect(),
        timings: Vec::new(),
        speedups: Vec::new(),
        target: Target::h100_class(),
        seed: 7,
        nvrtc: None,
        precision: Default::default(),
        library_use: None,
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: Vec::new(),
        profile: None,
        sandbox: Default::default(),
    }
}

fn record(number: u32, verdict: Verdict, speedup: Option<f64>) -> AttemptRecord {
    AttemptRecord {
        op: "relu".to_owned(),
        attempt: number,
        parents: Vec::new(),
        branch: 1,
        round: number,
        purpose: Purpose::Initial,
        status: AttemptStatus::Judged,
        verdict,
        level: Level::Emu,
        stage: Stage::Done,
        counts: Counts::default(),
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
        finished_at: format!("2026-01-01T00:00:{number:02}Z"),
    }
}

fn attempt(number: u32) -> AttemptId {
    AttemptId { op: OpKey("relu".to_owned()), number }
}

fn key(number: u32, call: u32) -> CallKey {
    CallKey { attempt: attempt(number), call }
}

fn request(key: &CallKey) -> RequestRecord {
    RequestRecord {
        key: key.clone(),
        turn: Turn::Code,
        provider: "scripted".to_owned(),
        kind: "command".to_owned(),
        url: None,
        model: "none".to_owned(),
        headers: Vec::new(),
        command: Vec::new(),
        body: "the body".to_owned(),
        prompt_hash: format!("hash of {key}"),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        reserved: Spend::default(),
        markdown: "# the prompt".to_owned(),
    }
}

fn reply(key: &CallKey, text: &str) -> ReplyRecord {
    ReplyRecord {
        key: key.clone(),
        model: "none-1".to_owned(),
        finish: Finish::Stop,
        usage: Usage::default(),
        request_id: None,
        response_id: None,
        seconds: 0.5,
        retries: Vec::new(),
        cost: None,
        price_source: None,
        spend: Spend::default(),
        reasoning: None,
        replayed: None,
        cached: None,
        response: None,
        text: text.to_owned(),
    }
}

fn new_run(root: &Path) -> RunStore {
    RunStore::create(root, Some("r1".parse().unwrap()), info).unwrap()
}

/// Takes an attempt from its request to its record.
fn finish(store: &RunStore, number: u32, verdict: Verdict, speedup: Option<f64>) {
    let key = key(number, 1);
    store.request(&key, &request(&key)).unwrap();
    CallLog::reply(store, &key, &reply(&key, &format!("reply {number}"))).unwrap();
    store.write_source(&key.attempt, &kernel(&format!("// kernel {number}"))).unwrap();
    store.write_evaluation(&key.attempt, &evaluation(verdict, 3), "a log").unwrap();
    store.write_feedback(&key.attempt, "a word").unwrap();
    store.finish_attempt(&key.attempt, &record(number, verdict, speedup)).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_has_the_documented_files() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    finish(&store, 1, Verdict::Passed, Some(2.0));
    finish(&store, 2, Verdict::Passed, Some(1.0));
    store.write_top(TopFile::Readme, "# run").unwrap();
    let dir = store.run().dir();
    assert_eq!(
        names(dir),
        ["README.md", "index.jsonl", "relu", "run.json", "run.json.bak", "run.lock"]
    );
    let of_attempt = |n| {
        [
            "call_1.reply.json",
            "call_1.reply.md",
            "call_1.request.json",
            "call_1.request.md",
            "cu",
            "eval.json",
            "feedback.md",
            "json",
            "log",
            "samples.json",
        ]
        .map(|suffix| format!("relu_attempt_{n}.{suffix}"))
    };
    let mut expected = vec!["metadata.json".to_owned(), "relu.cu".to_owned()];
    expected.extend(of_attempt(1));
    expected.extend(of_attempt(2));
    assert_eq!(names(&dir.join("relu")), expected);

    // The best attempt is the faster one, not the last one.
    assert_eq!(fs::read_to_string(dir.join("relu/relu.cu")).unwrap(), "// kernel 1");
    let metadata = store.run().metadata(&attempt(1).op).unwrap().unwrap();
    assert_eq!(metadata.best_attempt, 1);
    assert_eq!(metadata.best_file.as_deref(), Some("relu_attempt_1.cu"));
    assert_eq!(metadata.attempts.len(), 2);
}

#[test]
fn everything_is_read_back_as_it_was_written() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    finish(&store, 1, Verdict::Passed, None);
    let run = Run::open(store.run().dir()).unwrap();
    assert_eq!(run.info(), store.run().info());
    assert_eq!(run.ops().unwrap(), [attempt(1).op]);
    assert_eq!(run.evaluation(&attempt(1)).unwrap(), Some(evaluation(Verdict::Passed, 3)));
    assert_eq!(run.kernel(&attempt(1)).unwrap().as_deref(), Some("// kernel 1"));
    assert_eq!(run.feedback(&attempt(1)).unwrap().as_deref(), Some("a word"));
    assert_eq!(run.reply(&attempt(1), 1).unwrap(), Some(reply(&key(1, 1), "reply 1")));
    assert_eq!(run.reply(&attempt(2), 1).unwrap(), None);
    assert_eq!(run.attempts(&attempt(1).op).unwrap(), [record(1, Verdict::Passed, None)]);
    assert_eq!(run.index().unwrap(), (vec![record(1, Verdict::Passed, None)], 0));
}

#[test]
fn a_torn_index_is_tolerated_and_then_mended() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    finish(&store, 1, Verdict::WrongOutput, None);
    finish(&store, 2, Verdict::Passed, None);
    let dir = store.run().dir().to_owned();
    drop(store);
    let index = dir.join("index.jsonl");
    let whole = fs::read(&index).unwrap();
    for cut in [0, 1, whole.len() / 2, whole.len() - 2, whole.len() - 1] {
        fs::write(&index, &whole[..cut]).unwrap();
        let (lines, n_unreadable) = Run::open(&dir).unwrap().index().unwrap();
        assert!(lines.len() <= 2 && n_unreadable <= 1, "cut at {cut}");
        drop(RunStore::open(&dir).unwrap());
        let (lines, n_unreadable) = Run::open(&dir).unwrap().index().unwrap();
        assert_eq!((lines.len(), n_unreadable), (2, 0), "cut at {cut}");
        // Text appended afterwards stands on a line of its own.
        assert_eq!(fs::read(&index).unwrap().last(), Some(&b'\n'), "cut at {cut}");
    }
}

#[test]
fn the_scan_tells_how_far_each_attempt_got() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    let stage = |number| {
        let state = RunState::scan(store.run()).unwrap();
        state.ops[&attempt(1).op].attempts[&number].stage()
    };
    finish(&store, 1, Verdict::WrongOutput, None);
    assert_eq!(stage(1), AttemptStage::Done);

    store.request(&key(2, 1), &request(&key(2, 1))).unwrap();
    assert_eq!(stage(2), AttemptStage::InFlight { call: 1 });
    let lost = LostCall {
        noticed_at: "2026-01-01T00:00:00Z".to_owned(),
        possibly_billed: true,
        reason: "kgen ended".to_owned(),
    };
    store.write_lost(&attempt(2), 1, &lost).unwrap();
    assert_eq!(stage(2), AttemptStage::Begun);
    store.request(&key(2, 2), &request(&key(2, 2))).unwrap();
    assert_eq!(stage(2), AttemptStage::InFlight { call: 2 });
    CallLog::reply(&store, &key(2, 2), &reply(&key(2, 2), "text")).unwrap();
    assert_eq!(stage(2), AttemptStage::Replied { call: 2 });
    store.write_source(&attempt(2), &kernel("// kernel")).unwrap();
    assert_eq!(stage(2), AttemptStage::Extracted);
    store.write_evaluation(&attempt(2), &evaluation(Verdict::Passed, 1), "").unwrap();
    assert_eq!(stage(2), AttemptStage::Judged);

    let state = RunState::scan(store.run()).unwrap();
    assert_eq!(state.n_calls(), 3);
    assert_eq!(state.ops[&attempt(1).op].attempts[&2].n_calls(CallState::Lost), 1);
    assert_eq!(state.notes, [""; 0]);
}

#[test]
fn what_profilers_wrote_is_in_a_file_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    let raw = RawOutput { name: "ncu-raw.csv".to_owned(), text: "\"ID\"".to_owned() };
    let profile = KernelProfile {
        args: "self=f32[64]".to_owned(),
        summary: vec!["a line".to_owned()],
        suspicious: false,
        raw: vec![raw],
    };
    let profiled = Some(Box::new(profile.clone()));
    let judged = Evaluation { profile: profiled, ..evaluation(Verdict::Passed, 1) };
    store.write_evaluation(&attempt(1), &judged, "").unwrap();
    let text = fs::read_to_string(store.run().path(&attempt(1), StageFile::Profile)).unwrap();
    assert_eq!(serde_json::from_str::<KernelProfile>(&text).unwrap(), profile);
    let stored = store.run().evaluation(&attempt(1)).unwrap().unwrap().profile.unwrap();
    assert_eq!((stored.summary, stored.raw), (profile.summary, Vec::new()));
}

#[test]
fn a_text_without_its_record_is_still_a_reply() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    store.request(&key(1, 1), &request(&key(1, 1))).unwrap();
    fs::write(store.reply_path(&key(1, 1)), "the text").unwrap();
    let state = RunState::scan(store.run()).unwrap();
    let stage = state.ops[&attempt(1).op].attempts[&1].stage();
    assert_eq!(stage, AttemptStage::Replied { call: 1 });
    let reply = store.run().reply(&attempt(1), 1).unwrap().unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("the text", "none"));
    assert!(reply.clone().usable().is_ok());
    // Whoever takes it puts on record what is known, and nothing more.
    store.complete_reply(&reply).unwrap();
    assert_eq!(store.run().reply(&attempt(1), 1).unwrap(), Some(reply));
    let state = RunState::scan(store.run()).unwrap();
    assert_eq!(state.ops[&attempt(1).op].attempts[&1].calls[&1], CallState::Replied);
}

fn check_error(error: &Error, message: &str, hint: &str) {
    assert!(error.to_string().contains(message), "{error}");
    assert!(error.hint().is_some_and(|text| text.contains(hint)), "{error}: {:?}", error.hint());
}

#[test]
fn a_second_kgen_learns_who_works_on_the_run() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    let error = RunStore::open(store.run().dir()).unwrap_err();
    check_error(&error, &format!("in use by process {}", std::process::id()), "wait");
    // Reading needs no lock.
    Run::open(store.run().dir()).unwrap();
}

#[test]
fn bad_runs_are_named_with_a_way_out() {
    let root = tempfile::tempdir().unwrap();
    let dir = new_run(root.path()).run().dir().to_owned();
    let run_json = dir.join("run.json");
    let text = fs::read_to_string(&run_json).unwrap();

    fs::write(&run_json, "{\"format\": {\"major\": 2, \"minor\": 3}, \"new\": 1}").unwrap();
    check_error(&Run::open(&dir).unwrap_err(), "has format 2.3", "newer");
    fs::write(&run_json, &text[..text.len() / 2]).unwrap();
    check_error(&Run::open(&dir).unwrap_err(), "run.json is damaged", "--repair");
    fs::remove_file(&run_json).unwrap();
    check_error(&Run::open(&dir).unwrap_err(), "it has no run.json", "--repair");
    kgen_store::repair_run(&dir).unwrap();
    assert_eq!(Run::open(&dir).unwrap().info().status, RunStatus::Stopped);
    fs::write(&run_json, "[]").unwrap();
    check_error(&Run::open(&dir).unwrap_err(), "run.json is damaged", "--repair");
    let later_minor = text.replacen("\"minor\": 1", "\"minor\": 9", 1);
    fs::write(&run_json, later_minor).unwrap();
    Run::open(&dir).unwrap();

    check_error(&Run::open(root.path()).unwrap_err(), "is not a run", "kgen list runs");
    let taken = RunStore::create(root.path(), Some("r1".parse().unwrap()), info).unwrap_err();
    check_error(&taken, "r1 exists already", "--run-id");
    let empty = root.path().join("r2");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join("notes.txt"), "of somebody").unwrap();
    let taken = RunStore::create(root.path(), Some("r2".parse().unwrap()), info).unwrap_err();
    check_error(&taken, "r2 exists already", "--run-id");
    let error = RunStore::create(&run_json, None, info).unwrap_err();
    assert!(error.to_string().contains("run.json"), "{error}");
}

#[test]
fn a_folder_whose_run_was_never_written_is_used_again() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("r1");
    fs::create_dir(&dir).unwrap();
    for left in ["run.lock", ".1f-0.kgen-tmp"] {
        fs::write(dir.join(left), "").unwrap();
    }
    let store = new_run(root.path());
    let again = RunStore::create(root.path(), Some("r1".parse().unwrap()), info).unwrap_err();
    assert!(matches!(again, Error::Exists { .. }), "{again}");
    drop(store);
    assert_eq!(Run::open(&dir).unwrap().info().run_id.as_str(), "r1");
}

#[test]
fn the_later_of_two_runs_of_one_second_is_the_latest() {
    let root = tempfile::tempdir().unwrap();
    let made = |id: &str| {
        let now = |id| {
            let device = DeviceInfo::new("emu", Target::h100_class());
            RunInfo::new(id, "smoke", vec!["relu".to_owned()], device)
        };
        RunStore::create(root.path(), Some(id.parse().unwrap()), now).unwrap()
    };
    made("zebra");
    let second = made("aardvark");
    assert_eq!(latest_run(root.path()).unwrap().as_deref(), Some(second.run().dir()));
}

#[test]
fn runs_are_found_by_id_path_and_near_miss() {
    let root = tempfile::tempdir().unwrap();
    let first = RunStore::create(root.path(), None, info).unwrap();
    let later = |id| RunInfo { created_at: "2026-01-02T00:00:00Z".to_owned(), ..info(id) };
    let second = RunStore::create(root.path(), None, later).unwrap();
    let id = first.run().info().run_id.as_str();
    assert!(id.starts_with("run_2") && id.len() == "run_YYYYmmdd_HHMMSS".len(), "{id}");
    assert_ne!(first.run().dir(), second.run().dir());

    assert_eq!(list_runs(root.path()).unwrap().len(), 2);
    assert_eq!(list_runs(&root.path().join("none")).unwrap().len(), 0);
    assert_eq!(latest_run(root.path()).unwrap().as_deref(), Some(second.run().dir()));
    assert_eq!(find_run(root.path(), id).unwrap(), first.run().dir());
    let path = first.run().dir().to_str().unwrap();
    assert_eq!(find_run(Path::new("/nowhere"), path).unwrap(), first.run().dir());
    let error = find_run(root.path(), &id.replace("run_", "rnu_")).unwrap_err();
    check_error(&error, &format!("did you mean {id}"), "kgen list runs");
    let error = find_run(root.path(), root.path().to_str().unwrap()).unwrap_err();
    check_error(&error, "is not a run", "kgen list runs");
}

#[test]
fn a_recording_knows_replies_by_what_they_are_for() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    // The first call was lost.
    for (call, turn) in [(1, Turn::Plan), (2, Turn::Plan), (3, Turn::Code)] {
        let request = RequestRecord { turn, ..request(&key(1, call)) };
        store.request(&key(1, call), &request).unwrap();
    }
    CallLog::reply(&store, &key(1, 2), &reply(&key(1, 2), "two")).unwrap();
    CallLog::reply(&store, &key(1, 3), &reply(&key(1, 3), "three")).unwrap();
    store.request(&key(2, 1), &request(&key(2, 1))).unwrap();
    CallLog::reply(&store, &key(2, 1), &reply(&key(2, 1), "code")).unwrap();
    let recording = RecordedRun::new(Run::open(store.run().dir()).unwrap());
    let replayed = |number, turn| {
        let reply = recording.reply(&attempt(number), turn).unwrap()?;
        Some((reply.record.text, reply.prompt_hash.unwrap()))
    };
    let hash = |call| format!("hash of relu_attempt_1.call_{call}");
    assert_eq!(replayed(1, Turn::Plan), Some(("two".to_owned(), hash(2))));
    assert_eq!(replayed(1, Turn::Code), Some(("three".to_owned(), hash(3))));
    assert_eq!(replayed(2, Turn::Plan), None);
    assert_eq!(replayed(2, Turn::Code).unwrap().0, "code");
    assert_eq!(replayed(3, Turn::Code), None);
}

#[test]
fn a_request_is_complete_before_it_counts() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    store.request(&key(1, 1), &request(&key(1, 1))).unwrap();
    fs::remove_file(store.run().call_path(&attempt(1), 1, CallFile::Request)).unwrap();
    let state = RunState::scan(store.run()).unwrap();
    assert_eq!(state.n_calls(), 0);
}

#[test]
fn what_came_back_is_kept_byte_for_byte() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    let key = key(1, 1);
    store.request(&key, &request(&key)).unwrap();
    let response = ResponseRecord {
        status: Some(200),
        headers: [("request-id".to_owned(), "r-1".to_owned())].into(),
        body: b"data: {\"a\": \"\xff\"}\r\n\r\n".to_vec(),
    };
    let record = ReplyRecord { response: Some(response.clone()), ..reply(&key, "text") };
    CallLog::reply(&store, &key, &record).unwrap();
    let run = store.run();
    assert_eq!(run.response(&key.attempt, 1).unwrap(), Some(response.body));
    let stored = run.reply(&key.attempt, 1).unwrap().unwrap().response.unwrap();
    assert_eq!((stored.status, stored.headers), (Some(200), response.headers));
    assert_eq!(run.response(&key.attempt, 2).unwrap(), None);
    // Alone it is no reply: a call that left nothing else is lost.
    fs::remove_file(run.call_path(&key.attempt, 1, CallFile::Reply)).unwrap();
    fs::remove_file(run.call_path(&key.attempt, 1, CallFile::ReplyText)).unwrap();
    let state = RunState::scan(run).unwrap();
    let calls = &state.ops[&key.attempt.op].attempts[&1].calls;
    assert_eq!(calls[&1], CallState::InFlight);
}

fn timed_again() -> ConfirmedSeed {
    ConfirmedSeed {
        seed: 1,
        verdict: Verdict::Passed,
        counts: Counts::default(),
        speedups: vec![Speedup::new("builtin", 1.5, 1)],
        flags: Vec::new(),
        findings: Vec::new(),
        target: None,
        timings: Vec::new(),
    }
}

#[test]
fn what_is_held_in_memory_is_what_the_files_say() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    let check = |store: &RunStore| {
        assert_eq!(store.state(), RunState::scan(store.run()).unwrap());
    };
    check(&store);
    store.request(&key(1, 1), &request(&key(1, 1))).unwrap();
    check(&store);
    let lost = LostCall {
        noticed_at: "2026-01-01T00:00:00Z".to_owned(),
        possibly_billed: true,
        reason: "kgen ended".to_owned(),
    };
    store.write_lost(&attempt(1), 1, &lost).unwrap();
    check(&store);
    store.request(&key(1, 2), &request(&key(1, 2))).unwrap();
    CallLog::reply(&store, &key(1, 2), &reply(&key(1, 2), "text")).unwrap();
    check(&store);
    store.write_source(&attempt(1), &kernel("// kernel")).unwrap();
    store.write_evaluation(&attempt(1), &evaluation(Verdict::Passed, 2), "a log").unwrap();
    check(&store);
    finish(&store, 1, Verdict::Passed, Some(2.0));
    check(&store);
    let confirmation = Confirmation { passed: true, seeds: vec![timed_again()] };
    store.write_confirmation(&attempt(1), &confirmation).unwrap();
    finish(&store, 2, Verdict::WrongOutput, None);
    check(&store);
    let dir = store.run().dir().to_owned();
    drop(store);
    check(&RunStore::open(&dir).unwrap());
}

/// The derived files of a confirmed winner are made of samples: opening a run compares none of
/// that.
#[test]
fn the_speedups_of_a_confirmed_winner_are_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    finish(&store, 1, Verdict::Passed, Some(2.0));
    let confirmation = Confirmation { passed: true, seeds: vec![timed_again()] };
    store.write_confirmation(&attempt(1), &confirmation).unwrap();
    let dir = store.run().dir().to_owned();
    drop(store);
    let path = dir.join("relu/metadata.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut stored: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(stored["speedups"][0]["geomean"], 1.5);
    let joined = serde_json::json!(1.25);
    stored["speedups"][0]["geomean"] = joined.clone();
    stored["speedup"]["geomean"] = joined;
    fs::write(&path, stored.to_string()).unwrap();
    drop(RunStore::open(&dir).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), stored.to_string());
}

#[test]
fn what_interrupted_writes_left_is_swept() {
    let root = tempfile::tempdir().unwrap();
    let store = new_run(root.path());
    finish(&store, 1, Verdict::Passed, None);
    let dir = store.run().dir().to_owned();
    drop(store);
    let left = [dir.join(".7.kgen-tmp"), dir.join("relu/.8.kgen-tmp")];
    left.iter().for_each(|path| fs::write(path, "x").unwrap());
    drop(RunStore::open(&dir).unwrap());
    assert!(left.iter().all(|path| !path.exists()));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_write_at_once() {
    let root = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(new_run(root.path()));
    let tasks = (1..=40).map(|number| {
        let store = std::sync::Arc::clone(&store);
        let speedup = Some(f64::from(number));
        tokio::spawn(async move { finish(&store, number, Verdict::Passed, speedup) })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // Whoever came last knew of all others.
    let metadata = store.run().metadata(&attempt(1).op).unwrap().unwrap();
    assert_eq!((metadata.attempts.len(), metadata.best_attempt), (40, 40));
    let copy = store.run().dir().join("relu/relu.cu");
    assert_eq!(fs::read_to_string(copy).unwrap(), "// kernel 40");
    assert_eq!(store.run().index().unwrap().0.len(), 40);
    assert_eq!(store.state(), RunState::scan(store.run()).unwrap());
}
