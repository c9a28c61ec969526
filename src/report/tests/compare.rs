//! Runs read for a comparison: which run is a sample of which arm, and the texts.

use kgen_compare::compare;

use super::*;
use crate::report::compare::{Detail, Grouping, arms, csv, load, text};

/// A run over `relu` and `add` on a GPU; only `relu` is reached: wrong, then right and measured.
fn stored(root: &std::path::Path, id: &str, seed: u64, strategy: &str) -> Run {
    let on_gpu = |run_id| RunInfo {
        ops: ["relu", "add"].map(str::to_owned).to_vec(),
        replay_of: None,
        model: Some("m".to_owned()),
        seed: Some(seed),
        device: DeviceInfo { name: "cuda:0".to_owned(), ..info("x".parse().unwrap()).device },
        settings: json!({
            "run": {"seed": seed},
            "search": {"strategy": strategy},
            "timing": {"enabled": true, "baselines": ["builtin", "aten"]},
        }),
        ..info(run_id)
    };
    let store = RunStore::create(root, Some(id.parse().unwrap()), on_gpu).unwrap();
    let passed = case("a", CaseOutcome::Judged(Verdict::Passed));
    store_attempt(&store, "relu", Level::EmuCuda, vec![passed], true);
    Run::open(store.run().dir()).unwrap()
}

#[test]
fn runs_that_differ_in_their_seed_alone_are_samples_of_one_arm() {
    let root = tempfile::tempdir().unwrap();
    let of = |id, seed, strategy| stored(root.path(), id, seed, strategy);
    let runs = [of("a", 1, "repair"), of("b", 1, "beam"), of("c", 2, "repair")];
    let grouped = arms(&runs, Grouping::Settings, Detail::Numbers).unwrap();
    let names: Vec<&str> = grouped.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["repair", "beam"]);
    let ids: Vec<&str> = grouped[0].runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["a", "c"]);
    let each = arms(&runs, Grouping::Runs, Detail::Numbers).unwrap();
    assert_eq!(each.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn a_run_is_read_with_what_it_did_not_reach() {
    let root = tempfile::tempdir().unwrap();
    let run = stored(root.path(), "a", 1, "repair");
    let found = load(&run, Detail::Numbers).unwrap();
    assert_eq!(found.baselines, ["builtin", "aten"]);
    let [relu, add] = &found.ops[..] else { panic!("two ops") };
    assert!(relu.solved && relu.gpu.is_some() && !relu.confirmed && add.attempts.is_empty());
    assert_eq!(relu.speedups[0].baseline, "builtin");
    // Nobody counted the tokens of its call: nobody knows its cost.
    assert_eq!((relu.spend().calls, relu.spend().cost()), (1, None));
    assert!(relu.attempts[0].source.is_none());
    let with_texts = load(&run, Detail::Texts).unwrap();
    assert!(with_texts.ops[0].attempts[0].source.is_some());
    // Derived data may be gone or old.
    std::fs::remove_file(run.dir().join("relu/metadata.json")).unwrap();
    assert_eq!(load(&run, Detail::Numbers).unwrap(), found);
}

#[test]
fn a_plan_that_calls_libraries_has_a_baseline_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let run = stored(root.path(), "a", 1, "repair");
    let record = run.dir().join("relu/relu_attempt_1.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let text = text.replacen('{', r#"{"library_use":"with-library","#, 1);
    std::fs::write(&record, text).unwrap();
    std::fs::remove_file(run.dir().join("relu/metadata.json")).unwrap();
    let found = load(&run, Detail::Numbers).unwrap();
    let apart = "builtin (with-library)";
    assert_eq!(found.ops[0].speedups[0].baseline, apart);
    assert_eq!(found.ops[0].attempts[0].speedups[0].baseline, apart);
    assert_eq!(found.baselines, ["builtin", "aten", apart]);
}

#[test]
fn a_comparison_is_written_for_people_and_for_programs() {
    let root = tempfile::tempdir().unwrap();
    let runs = [stored(root.path(), "a", 1, "repair"), stored(root.path(), "b", 1, "beam")];
    let comparison = compare(&arms(&runs, Grouping::Settings, Detail::Numbers).unwrap());
    let table = text(&comparison, Screen::FILE);
    for line in [
        "A  a: strategy repair\nB  b: strategy beam",
        "arm  runs  ops  solved",
        "A       1    2     1/2  0.50",
        "over builtin",
        "over aten",
        "A -> B  correct",
        "relu  1/1 2.00x builtin [replayed; not confirmed]",
        "add   0/1 [not reached]",
    ] {
        assert!(table.contains(line), "{line}\n{table}");
    }
    let csv = csv(&comparison);
    let header = "arm,against,op,quantity,baseline,gpu,cases,attempts,value,low,high,n_ops,n_samples,p,\
                  p_holm,marks";
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], header);
    assert!(lines.iter().all(|line| line.matches(',').count() >= 15), "{csv}");
    let fast = lines.iter().find(|line| line.starts_with("repair,,,fast_1,builtin,")).unwrap();
    assert!(fast.contains(",long,,0.5,,,2,,,,"), "{fast}");
    assert!(csv.contains("beam,repair,,difference of correct,,,,,0,,,1,,1,1,"), "{csv}");
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["arms"][0]["speeds"][0]["long"]["fast"][1]["share"]["value"], 0.5);
}

#[test]
fn all_that_calls_took_counts_once() {
    use kgen_record::Spend;
    let root = tempfile::tempdir().unwrap();
    let run = stored(root.path(), "a", 1, "repair");
    let (record_path, metadata) = ("relu/relu_attempt_1.json", "relu/metadata.json");
    std::fs::remove_file(run.dir().join(metadata)).unwrap();
    let path = run.dir().join(record_path);
    let mut record: kgen_store::AttemptRecord =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // A kept reply, and a lost call of this run.
    let lost =
        Spend { calls: 1, lost_calls: 1, assumed_usd: 0.5, assumed_tokens: 9, ..Spend::default() };
    record.calls = 2;
    record.spend = lost;
    record.recorded_spend =
        Some(Spend { calls: 1, usd: 0.25, input_tokens: 7, output_tokens: 3, ..Spend::default() });
    std::fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
    // An attempt that is not over, at an op that has no other.
    let begun = AttemptId { op: OpKey("add".to_owned()), number: 1 };
    let lost = run.call_path(&begun, 1, kgen_store::CallFile::Lost);
    std::fs::create_dir(lost.parent().unwrap()).unwrap();
    std::fs::write(lost, "{}").unwrap();
    let found = load(&run, Detail::Numbers).unwrap();
    let unfinished = found.ops[1].unfinished;
    assert_eq!((unfinished.calls, unfinished.lost_calls, found.ops[1].reached()), (1, 1, false));
    let spend = found.ops[0].attempts[0].spend;
    assert_eq!((spend.calls, spend.lost_calls, spend.tokens()), (2, 1, 10));
    assert!(spend.is_at_most() && (spend.cost().unwrap() - 0.75).abs() < 1e-12);
}
