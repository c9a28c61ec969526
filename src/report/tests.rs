//! Reports of a small run: one op that passed on the emulator, one that was timed, one that
//! failed, one that was never begun.

mod compare;
mod kernelbench;
mod screens;

use kgen_record::{
    AttemptId, BaselineTiming, CaseClass, CaseOutcome, CaseResult, CaseTiming, Comparison, DType,
    Evaluation, Finding, Flag, Implementation, InputDistribution, Level, LibraryUse, Mode, OpKey,
    RunId, Speedup, Spend, Stage, Target, Timing, Verdict,
};
use kgen_store::{
    AttemptRecord, AttemptStatus, Confirmation, ConfirmedSeed, Counts, DeviceInfo, Purpose,
    RunInfo, RunStatus,
};
use serde_json::json;

use super::*;

/// Returns a kernel file of this text.
fn kernel(source: &str) -> Implementation {
    Implementation::Kernel { source: source.to_owned() }
}

fn info(run_id: RunId) -> RunInfo {
    RunInfo {
        kgen_version: "0.0.0".to_owned(),
        command: vec!["kgen".to_owned(), "generate".to_owned()],
        created_at: "2026-01-02T03:04:05Z".to_owned(),
        provider: Some("replay".to_owned()),
        replay_of: Some("demo".to_owned()),
        settings: json!({}),
        status: RunStatus::Finished,
        ..RunInfo::new(
            run_id,
            "smoke",
            ["relu", "add", "mm", "sum"].map(str::to_owned).to_vec(),
            DeviceInfo {
                nvrtc: Some("13.0".to_owned()),
                ..DeviceInfo::new("emu", Target::h100_class())
            },
        )
    }
}

fn case(name: &str, outcome: CaseOutcome) -> CaseResult {
    let passed = outcome == CaseOutcome::Judged(Verdict::Passed);
    CaseResult {
        case: name.to_owned(),
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        args: "self=f32[3, 4]".to_owned(),
        outcome,
        level: Level::Emu,
        findings: if passed { Vec::new() } else { vec![Finding::new("4 of 12 are wrong")] },
        mismatch: None,
        max_abs_error: Some(0.5.into()),
        max_rel_error: Some(0.25.into()),
        worst_ratio: None,
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    }
}

fn timing() -> CaseTiming {
    let timing = |median_us: f64| Timing::of(vec![median_us]).unwrap();
    CaseTiming {
        case: "f32[3,4]/normal".to_owned(),
        args: "self=f32[3, 4]".to_owned(),
        count: None,
        candidate: timing(1000.0),
        mode: Mode::Cold,
        baselines: vec![BaselineTiming {
            name: "builtin".to_owned(),
            timing: Some(timing(2000.0)),
            candidate: None,
            comparison: Comparison::of(&[[2000.0, 1000.0, 1000.0, 2000.0]; 16]),
            overhead_dominated: false,
            note: None,
            flags: Vec::new(),
            verdict: None,
            usage: kgen_record::Usage::default(),
        }],
        bytes: 96.0,
        flops: 12.0,
        peak_bytes: 96,
        floor_us: 2.0,
        roofline: None,
        flags: vec![Flag::Throttled],
        do_bench: None,
        params: vec![("BLOCK".to_owned(), 256)],
        usage: kgen_record::Usage::default(),
    }
}

fn store_attempt(store: &RunStore, op: &str, level: Level, cases: Vec<CaseResult>, timed: bool) {
    let failed = cases.iter().find_map(|case| match case.outcome {
        CaseOutcome::Judged(verdict) => (!verdict.is_pass()).then_some(verdict),
        CaseOutcome::Skipped { .. } => None,
    });
    // A speedup of a failed kernel must never show up anywhere.
    let speedup = timed.then(|| Speedup::new("builtin", 2.0, 1));
    let evaluation = Evaluation {
        op: op.to_owned(),
        verdict: failed.unwrap_or(Verdict::Passed),
        level,
        stage: Stage::Done,
        findings: Vec::new(),
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases,
        timings: if timed { vec![timing()] } else { Vec::new() },
        speedups: speedup.iter().cloned().collect(),
        target: Target::h100_class(),
        seed: 7,
        nvrtc: Some("13.0".to_owned()),
        precision: Default::default(),
        library_use: None,
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: Vec::new(),
        profile: None,
        sandbox: Default::default(),
    };
    let attempt = AttemptId { op: OpKey(op.to_owned()), number: 1 };
    store.write_source(&attempt, &kernel("// kernel")).unwrap();
    store.write_evaluation(&attempt, &evaluation, "").unwrap();
    let record = AttemptRecord {
        op: op.to_owned(),
        attempt: 1,
        parents: Vec::new(),
        branch: 1,
        round: 1,
        purpose: Purpose::Initial,
        status: AttemptStatus::Judged,
        verdict: evaluation.verdict,
        level,
        stage: Stage::Done,
        counts: Counts::of(&evaluation),
        library_use: None,
        speedup,
        change: None,
        duplicate_of: None,
        spend: Spend::default(),
        recorded_spend: None,
        seconds_judging: 0.0,
        calls: 1,
        lost_calls: 0,
        cached: false,
        replayed: op == "relu",
        reused_evaluation: false,
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        finished_at: "2026-01-02T03:04:06Z".to_owned(),
    };
    store.finish_attempt(&attempt, &record).unwrap();
}

fn with_run(check: impl FnOnce(&RunStore)) {
    let root = tempfile::tempdir().unwrap();
    let id = "run_20260102_030405".parse().unwrap();
    let store = RunStore::create(root.path(), Some(id), info).unwrap();
    let passed = || CaseOutcome::Judged(Verdict::Passed);
    let skipped = || CaseOutcome::Skipped { reason: "above the emulator's budget".to_owned() };
    let wrong = || CaseOutcome::Judged(Verdict::WrongOutput);
    let relu = vec![case("a", passed()), case("b", skipped())];
    store_attempt(&store, "relu", Level::Emu, relu, false);
    store_attempt(&store, "add", Level::EmuCuda, vec![case("a", passed())], true);
    store_attempt(&store, "mm", Level::Emu, vec![case("a", passed()), case("b", wrong())], true);
    check(&store);
}

#[test]
fn the_table_tells_where_and_how_much_passed() {
    with_run(|store| {
        let summary = summarise(store.run()).unwrap();
        insta::assert_snapshot!("op_table", op_table(&summary, Screen::FILE).unwrap().render());
    });
}

#[test]
fn tables_say_which_plans_call_libraries_where_any_does() {
    with_run(|store| {
        let mut summary = summarise(store.run()).unwrap();
        let relu = &mut summary.ops[0];
        relu.library_use = Some(LibraryUse::DeviceOnly);
        relu.speedups = vec![Speedup::new("builtin", 1.5, 1)];
        let add = &mut summary.ops[1];
        add.library_use = Some(LibraryUse::WithLibrary);
        summary.speedups = scores::mean_speedups(&summary.ops);
        summary.fast = scores::fast_shares(&summary.ops);
        let text = format!("{}\n\n{}", totals_line(&summary), tables(&summary, Screen::FILE));
        insta::assert_snapshot!("tables_with_libraries", text);
    });
}

#[test]
fn replies_that_were_kept_are_marked() {
    with_run(|store| {
        let mut summary = summarise(store.run()).unwrap();
        summary.ops[1].cached = true;
        let table = op_table(&summary, Screen::FILE).unwrap().render();
        let marked: Vec<_> = table.lines().filter(|line| line.contains("[kept reply]")).collect();
        assert!(matches!(marked[..], [only] if only.starts_with("add ")), "{table}");
        let rows = operator_summary(&summary);
        let column = rows.lines().next().unwrap().split(',').position(|name| name == "kept_reply");
        let row = rows.lines().find(|row| row.starts_with("add,")).unwrap();
        assert_eq!(row.split(',').nth(column.unwrap()), Some("true"));
    });
}

#[test]
fn only_a_measured_pass_counts_as_fast() {
    with_run(|store| {
        let summary = summarise(store.run()).unwrap();
        assert_eq!(summary.n_passed, 2);
        assert!(!summary.all_passed());
        let mean = &summary.speedups[0];
        assert_eq!((mean.baseline.as_str(), mean.ops, summary.speedups.len()), ("builtin", 1, 1));
        assert!((mean.geomean - 2.0).abs() < 1e-9);
        let [over_builtin] = &summary.fast[..] else { panic!("{:?}", summary.fast) };
        let shares: Vec<_> =
            over_builtin.shares.iter().map(|fast| fast.share.unwrap().value).collect();
        // Of all four, two of which passed; a speedup of 2 is not above 2.
        assert_eq!(shares, [0.5, 0.25, 0.25, 0.0]);
        assert_eq!((over_builtin.baseline.as_str(), over_builtin.n_timed), ("builtin", 1));
        assert_eq!(summary.correct.map(|correct| (correct.value, correct.n_ops)), Some((0.5, 4)));
        let mm = &summary.ops[2];
        assert_eq!((mm.speedup(), mm.mean_speedup), (None, None));
    });
}

#[test]
fn the_csv_has_backendbenchs_columns_and_empty_cells_for_what_is_unknown() {
    with_run(|store| {
        let summary = summarise(store.run()).unwrap();
        insta::assert_snapshot!("operator_summary", operator_summary(&summary));
    });
}

#[test]
fn every_file_is_written_and_failed_tests_hold_the_failures_only() {
    with_run(|store| {
        write(store).unwrap();
        let read = |name: &str| std::fs::read_to_string(store.run().dir().join(name)).unwrap();
        let tests: Vec<serde_json::Value> =
            serde_json::from_str(&read("full_results.json")).unwrap();
        assert_eq!(tests.len(), 7);
        let failed: Vec<serde_json::Value> =
            serde_json::from_str(&read("failed_tests.json")).unwrap();
        assert_eq!(failed.len(), 2);
        assert_eq!(failed[0]["op_name"], "mm");
        assert_eq!(failed[0]["error_type"], "wrong_output");
        insta::assert_snapshot!("overall_summary", read("OVERALL_SUMMARY.txt"));
        insta::assert_snapshot!("readme", read("README.md"));
        assert!(read("operator_summary.csv").starts_with("operator,total_tests,"));
    });
}

#[test]
fn tables_are_aligned_and_escaped() {
    let mut table = TextTable::new(&["name", ">n"]);
    table.row(vec!["a|b".to_owned(), "10".to_owned()]);
    table.row(vec!["c".to_owned(), "9".to_owned()]);
    assert_eq!(table.render(), "name   n\na|b   10\nc      9");
    assert_eq!(table.markdown(), "| name |  n |\n| ---- | --: |\n| a\\|b | 10 |\n| c    |  9 |");
}

#[test]
fn a_run_on_several_gpus_says_which_op_ran_where() {
    with_run(|store| {
        let mut summary = summarise(store.run()).unwrap();
        assert!(gpu_table(&summary).is_none() && summary.gpus.is_empty());
        for (op, uuid) in summary.ops.iter_mut().zip(["GPU-1a-x", "GPU-2b-y", "GPU-1a-x"]) {
            let (name, uuid) = ("NVIDIA H200".to_owned(), uuid.to_owned());
            op.gpu = Some(GpuId { name, uuid });
        }
        summary.gpus = gpus::by_gpu(&summary.ops);
        insta::assert_snapshot!("tables_of_several_gpus", tables(&summary, Screen::FILE));
    });
}

#[test]
fn the_speedup_of_a_winner_is_that_of_its_later_measurements() {
    let root = tempfile::tempdir().unwrap();
    let id = "run_20260102_030405".parse().unwrap();
    let store = RunStore::create(root.path(), Some(id), info).unwrap();
    let cases = vec![case("a", CaseOutcome::Judged(Verdict::Passed))];
    store_attempt(&store, "add", Level::EmuCuda, cases, true);
    let seed = |seed, geomean| ConfirmedSeed {
        seed,
        verdict: Verdict::Passed,
        counts: Counts::default(),
        speedups: vec![Speedup::new("builtin", geomean, 1)],
        flags: if seed == 2 { vec![Flag::FloorLimited, Flag::Shared] } else { Vec::new() },
        findings: Vec::new(),
        target: None,
        timings: Vec::new(),
    };
    let seeds = vec![seed(1, 1.7), seed(2, 1.5), seed(3, 1.6)];
    let attempt = AttemptId { op: OpKey("add".to_owned()), number: 1 };
    store.write_confirmation(&attempt, &Confirmation { passed: true, seeds }).unwrap();
    let summary = summarise(store.run()).unwrap();
    let add = summary.ops.iter().find(|op| op.op == "add").unwrap();
    assert_eq!(add.speedup(), Some(&Speedup::new("builtin", 1.6, 1)));
    // Flags raised in one of them must be known of all.
    assert_eq!(add.flags, [Flag::Throttled, Flag::FloorLimited, Flag::Shared]);
    let lines: Vec<String> =
        tables(&summary, Screen::FILE).lines().skip(3).take(2).map(str::to_owned).collect();
    let expected = [
        "timed while throttled (the GPU was slowed down and did not recover): add",
        "timed while shared (another process used the GPU): add",
    ];
    assert_eq!(lines, expected);
    let json = serde_json::to_value(&summary).unwrap();
    assert!(json["ops"].to_string().contains(r#""flags":["throttled","floor_limited","shared"]"#));
}

#[test]
fn what_is_reported_of_a_winner_rests_on_the_samples_of_its_later_measurements_on_one_gpu() {
    let root = tempfile::tempdir().unwrap();
    let id = "run_20260102_030405".parse().unwrap();
    let store = RunStore::create(root.path(), Some(id), info).unwrap();
    let cases = vec![case("a", CaseOutcome::Judged(Verdict::Passed))];
    store_attempt(&store, "add", Level::EmuCuda, cases, true);
    let seed = |seed, factor: f64, uuid: &str| {
        let mut timing = timing();
        let baseline = &mut timing.baselines[0];
        baseline.timing = Timing::of(vec![1000.0 * factor]);
        baseline.comparison =
            Comparison::of(&[[1000.0 * factor, 1000.0, 1000.0, 1000.0 * factor]; 16]);
        let uuid = Some(uuid.to_owned());
        ConfirmedSeed {
            seed,
            verdict: Verdict::Passed,
            counts: Counts::default(),
            speedups: vec![Speedup::new("builtin", factor, 1)],
            flags: Vec::new(),
            findings: Vec::new(),
            target: Some(Target { uuid, ..Target::h100_class() }),
            timings: vec![timing],
        }
    };
    let seeds = vec![seed(1, 9.0, "GPU-b"), seed(2, 1.5, "GPU-a"), seed(3, 1.25, "GPU-a")];
    let attempt = AttemptId { op: OpKey("add".to_owned()), number: 1 };
    store.write_confirmation(&attempt, &Confirmation { passed: true, seeds }).unwrap();
    let kept = store.run().confirmation(&attempt).unwrap().unwrap();
    assert_eq!(kept.seeds[0].timings.len(), 1);
    let summary = summarise(store.run()).unwrap();
    let add = summary.ops.iter().find(|op| op.op == "add").unwrap();
    let [low, high] = add.speedup().unwrap().interval.unwrap();
    assert!((low - 1.25).abs() < 1e-9 && (high - 1.5).abs() < 1e-9, "{low} {high}");
    assert!((add.mean_speedup.unwrap() - 1.375).abs() < 1e-9, "{:?}", add.mean_speedup);
    let text = speedup_text(add.speedup());
    assert!(text.ends_with("x [1.25, 1.50] vs builtin"), "{text}");
    let results = full_results(store.run(), &summary).unwrap();
    let tests: Vec<serde_json::Value> = serde_json::from_str(&results.all).unwrap();
    let timed = tests.iter().find(|test| test["test_type"] == "performance").unwrap();
    assert!((timed["speedup"].as_f64().unwrap() - 1.375).abs() < 1e-9, "{timed}");
    let metadata = store.run().dir().join("add/metadata.json");
    let metadata = std::fs::read_to_string(metadata).unwrap();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    assert_eq!(metadata["speedup"]["n"], 1);
    assert!((metadata["speedup"]["geomean"].as_f64().unwrap() - 1.375).abs() < 1e-9);
}
