//! A run over problems of `KernelBench`: one that was timed, one without a time, two that failed, and one
//! without a finished attempt.

use serde_json::Value;

use super::*;

const NAMES: [&str; 5] =
    ["l1_1_square", "l1_2_standard", "l1_19_relu", "l1_20_leakyrelu", "l1_100_hingeloss"];

fn with_problems(names: &[&str], check: impl FnOnce(&RunStore)) {
    let root = tempfile::tempdir().unwrap();
    let id = "run_20260102_030405".parse().unwrap();
    let ops: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let store =
        RunStore::create(root.path(), Some(id), |run_id| RunInfo { ops, ..info(run_id) }).unwrap();
    let passed = || CaseOutcome::Judged(Verdict::Passed);
    let wrong = CaseOutcome::Judged(Verdict::WrongOutput);
    for (name, outcome, timed) in
        [(names[0], passed(), true), (names[1], passed(), false), (names[2], wrong, true)]
    {
        store_attempt(&store, name, Level::EmuCuda, vec![case("a", outcome)], timed);
    }
    check(&store);
}

fn results(store: &RunStore) -> Result<EvalResults, KernelBenchError> {
    let run = Run::open(store.run().dir()).unwrap();
    eval_results(&run, &summarise(&run).unwrap())
}

#[test]
fn eval_results_are_keyed_by_problem_and_say_what_was_not_measured() {
    with_problems(&NAMES, |store| {
        let found = results(store).unwrap();
        assert_eq!((found.level, found.left_out.len()), (1, 0));
        let json: Value = serde_json::from_str(&found.text).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        // Those without a finished attempt are absent.
        assert_eq!(keys, ["1", "2", "19"]);
        let timed = &json["1"][0];
        assert_eq!((&timed["sample_id"], &timed["compiled"]), (&json!(0), &json!(true)));
        assert_eq!((&timed["correctness"], &timed["runtime"]), (&json!(true), &json!(1.0)));
        let stats = json!({ "mean": 1.0, "std": 0.0, "min": 1.0, "max": 1.0, "num_trials": 1,
            "hardware": null, "device": "emu" });
        assert_eq!(timed["runtime_stats"], stats);
        assert_eq!(timed["metadata"]["kgen"]["baseline_runtimes"], json!({ "builtin": 2.0 }));
        let untimed = &json["2"][0];
        assert_eq!((&untimed["correctness"], &untimed["runtime"]), (&json!(true), &json!(-1.0)));
        assert_eq!(untimed["runtime_stats"], json!({}));
        let wrong = &json["19"][0];
        assert_eq!((&wrong["compiled"], &wrong["correctness"]), (&json!(true), &json!(false)));
        assert_eq!((&wrong["runtime"], &wrong["runtime_stats"]), (&json!(-1.0), &json!({})));
        assert_eq!(wrong["metadata"]["correctness_issue"], "4 of 12 are wrong");
    });
}

#[test]
fn a_kernel_that_nvrtc_refused_is_not_compiled() {
    with_problems(&NAMES, |store| {
        let attempt = AttemptId { op: OpKey(NAMES[3].to_owned()), number: 1 };
        store_attempt(store, NAMES[3], Level::Static, Vec::new(), false);
        let mut evaluation = store.run().evaluation(&attempt).unwrap().unwrap();
        (evaluation.verdict, evaluation.stage) = (Verdict::CompileError, Stage::Compile);
        evaluation.findings = vec![Finding::new("expected a `;`")];
        store.write_evaluation(&attempt, &evaluation, "").unwrap();
        let mut record = store.run().record(&attempt).unwrap().unwrap();
        (record.verdict, record.stage) = (Verdict::CompileError, Stage::Compile);
        store.finish_attempt(&attempt, &record).unwrap();
        let json: Value = serde_json::from_str(&results(store).unwrap().text).unwrap();
        let refused = &json["20"][0];
        assert_eq!((&refused["compiled"], &refused["correctness"]), (&json!(false), &json!(false)));
        assert_eq!(refused["metadata"]["compilation_error"], "expected a `;`");
    });
}

#[test]
fn runs_of_other_ops_or_of_several_levels_are_refused() {
    with_problems(&["relu", "l1_2_standard", "l2_19_gelu", "add"], |store| {
        let said = results(store).unwrap_err().to_string();
        assert!(said.contains("problems of levels 1 and 2"), "{said}");
    });
    with_problems(&["relu", "add", "mm"], |store| {
        assert!(matches!(results(store), Err(KernelBenchError::NoProblems { .. })));
    });
    with_problems(&["relu", "l2_2_standard", "mm"], |store| {
        let found = results(store).unwrap();
        assert_eq!((found.level, found.left_out), (2, vec!["relu".to_owned(), "mm".to_owned()]));
    });
}
