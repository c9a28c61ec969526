//! `kgen compare` on the sessions that come with kgen.

use std::path::Path;

use super::documents;
use assert_cmd::Command;

fn compare(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgen"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_clear().arg("compare").args(args);
    command
}

const DEMOS: [&str; 2] = ["generated_kernels/demo", "generated_kernels/demo-gpu"];

fn stdout(args: &[&str]) -> String {
    let output = compare(args).assert().code(0).get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn the_emulator_and_a_gpu_stand_beside_each_other_and_not_in_one_mean() {
    let table = stdout(&DEMOS);
    for text in [
        "emulator only",
        "not measured",
        "over builtin",
        "A  demo: device emu",
        "B  demo-gpu: device NVIDIA H200",
        "no speedups: demo.",
        "Not finished: demo-gpu.",
    ] {
        assert!(table.contains(text), "{text}\n{table}");
    }
    let json = documents::data(stdout(&[DEMOS[0], DEMOS[1], "--format", "json"]).as_bytes());
    assert_eq!(json["arms"][1]["letter"], "B");
    assert!(json["differing"].as_array().unwrap().contains(&"device".into()));
    assert_eq!(json["arms"][0]["speeds"], serde_json::json!([]));
    assert_eq!(json["arms"][0]["marks"]["emulator_only"], 12);
    assert_eq!(json["arms"][1]["speeds"][0]["gpu"], "NVIDIA H200");
    assert_eq!(json["pairs"][0]["tests"].as_array().unwrap().len(), 1, "{}", json["pairs"]);
}

#[test]
fn it_is_written_into_a_file_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    let printed = stdout(&[DEMOS[0], "--format", "csv", "--output", file.to_str().unwrap()]);
    assert!(printed.is_empty());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("arm,against,op,"));
    let nowhere = Path::new("/nonexistent/a.csv");
    compare(&[DEMOS[0], "--output", nowhere.to_str().unwrap()]).assert().code(3);
}

#[test]
fn runs_that_are_not_there_or_named_twice_are_refused() {
    let said = |args: &[&str], code: i32| {
        let output = compare(args).assert().code(code).get_output().stderr.clone();
        String::from_utf8(output).unwrap()
    };
    assert!(said(&["no_such_run"], 3).contains("no run `no_such_run`"));
    assert!(said(&[DEMOS[0], "./generated_kernels/demo"], 2).contains("is named twice"));
    said(&[], 2);
}
