//! The bundled session, as a person sees it who has neither a GPU nor a key.

use std::{fs, path::Path};

use serde_json::Value;

use super::flow::kgen;

/// Reads all stored replies of a run.
fn replies(run: &Path) -> Vec<Value> {
    let files = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let folders = files(run).into_iter().filter(|path| path.is_dir());
    let all = folders.flat_map(|folder| files(&folder));
    all.filter(|file| file.to_string_lossy().ends_with(".reply.json"))
        .map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
        .collect()
}

#[test]
fn without_a_key_the_recorded_session_solves_every_op() {
    let folder = tempfile::tempdir().unwrap();
    let command = ["generate", "--run-id", "r"];
    // As a user has it: with the default suite.
    let mut command = kgen(folder.path(), &command);
    let assert = command.env_remove("KGEN_SUITE_SUITE").assert().success();
    let output = assert.get_output();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(said.starts_with("REPLAY: no LLM is asked."), "{said}");
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    for op in kgen_ops::suite::load("smoke").unwrap().ops() {
        let row = table.lines().find(|line| line.split_whitespace().next() == Some(op.as_str()));
        let row = row.unwrap_or_else(|| panic!("{op} is not in\n{table}"));
        assert!(row.contains("passed on emu") && row.contains("[replayed]"), "{row}");
        assert!(row.contains("not measured"), "{row}");
    }
    let replies = replies(&folder.path().join("generated_kernels/r"));
    assert!(replies.len() >= kgen_ops::suite::load("smoke").unwrap().ops().len());
    let differs = |reply: &&Value| {
        // A recording that says nothing about the prompt would hide that it is stale.
        reply.pointer("/replayed/prompt_differs").and_then(Value::as_bool).unwrap()
    };
    let n_differing = replies.iter().filter(differs).count();
    println!("{n_differing} of {} recorded prompts differ from today's", replies.len());
}

/// A session of a GPU with a planner and profiles, its replies written through the mailbox: replayed
/// where there is no GPU, with its evaluations, it is the same attempt by attempt.
#[test]
fn the_recorded_session_of_a_gpu_is_replayed_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let recorded =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/generated_kernels/demo-planner"));
    let path = recorded.to_str().unwrap();
    let command = ["generate", "--replay", path, "--reuse-evals", "--run-id", "r"];
    let as_it_was = ["--ops", "softmax,mm,layer_norm", "--planner", "--max-attempts", "3"];
    let device = ["--target-speedup", "3", "--device", "emu"];
    let args = [&command[..], &as_it_was, &device].concat();
    // Under other rules the evaluations would say what nobody found.
    for rules in [&["--libraries"][..], &["--precision", "tf32"]] {
        let refused = kgen(folder.path(), &[&args[..], rules].concat()).assert().code(2);
        let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert!(said.contains("precision strict, without libraries"), "{said}");
    }
    kgen(folder.path(), &args).assert().success();
    let again = folder.path().join("generated_kernels/r");
    for op in ["softmax", "mm", "layer_norm"] {
        for attempt in 1..=3 {
            let file = |run: &Path, suffix: &str| {
                let path = run.join(format!("{op}/{op}_attempt_{attempt}{suffix}"));
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
            };
            for suffix in [".cu", ".samples.json", ".eval.json"] {
                assert!(file(recorded, suffix) == file(&again, suffix), "{op} {attempt} {suffix}");
            }
            let record =
                |run: &Path| -> Value { serde_json::from_str(&file(run, ".json")).unwrap() };
            let (then, now) = (record(recorded), record(&again));
            for field in ["parents", "purpose", "verdict", "level", "counts", "speedup", "change"] {
                assert_eq!(then[field], now[field], "{op} {attempt} {field}");
            }
        }
        let best = |run: &Path| fs::read_to_string(run.join(format!("{op}/{op}.cu"))).unwrap();
        assert!(best(recorded) == best(&again), "{op}");
    }
}
