//! Output of `--format json`, held against the schemas in the docs.

use std::{fs, path::Path};

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use super::flow::{self, RELU, wrong_tail};

/// Parses the document on standard output, which its schema must describe to the last member.
pub(crate) fn document(stdout: &[u8]) -> Value {
    let document: Value = serde_json::from_slice(stdout).expect("one document and nothing else");
    let id = document["schema"].as_str().expect("a schema is named").to_owned();
    let name = id.split('/').nth(1).unwrap();
    let mut schema = published(name);
    close(&mut schema);
    if let Err(error) = validate(&schema, &document) {
        panic!("not as docs/schemas/{name}.json: {error:#}\n{document:#}");
    }
    document
}

/// Returns the data of such a document.
pub(crate) fn data(stdout: &[u8]) -> Value {
    document(stdout)["data"].take()
}

fn folder_of_schemas() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas")
}

fn published(name: &str) -> Value {
    let text = fs::read(folder_of_schemas().join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn validate(schema: &Value, document: &Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("urn:schema", schema.clone()).unwrap();
    let schema = compiler.compile("urn:schema", &mut schemas).unwrap();
    schemas.validate(document, schema).map_err(|error| format!("{error:#}"))
}

/// Forbids members that a schema does not name: readers are to ignore them, kgen is not to print them.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.contains_key("properties") && !object.contains_key("additionalProperties") {
                object.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Runs a command in a folder, checks its exit code, and returns its document.
fn prints(folder: &Path, args: &[&str], code: i32) -> Value {
    let assert = flow::kgen(folder, args).args(["--format", "json"]).assert().code(code);
    let document = document(&assert.get_output().stdout);
    assert_eq!(document["exit_code"], code, "{args:?}");
    document
}

#[test]
fn the_docs_have_the_schemas_that_kgen_has() {
    let folder = tempfile::tempdir().unwrap();
    let schema = |args: &[&str]| {
        let args = [&["schema"], args].concat();
        let assert = flow::kgen(folder.path(), &args).assert().code(0);
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    };
    let page = fs::read_to_string(folder_of_schemas().with_file_name("json.md")).unwrap();
    let mut files = fs::read_dir(folder_of_schemas()).unwrap().count();
    for line in schema(&[]).lines().skip(1) {
        let name = line.split_whitespace().next().unwrap();
        assert!(page.contains(&format!("`{name}`")), "docs/json.md has no `{name}`");
        let file = folder_of_schemas().join(format!("{name}.json"));
        let text = schema(&[name]);
        #[expect(clippy::disallowed_methods, reason = "a switch of the tests, none of kgen's")]
        if std::env::var_os("KGEN_UPDATE_DOCS").is_some_and(|value| value == "1") {
            fs::write(&file, &text).unwrap();
        }
        assert!(!text.contains("[`") && !text.contains("`None`"), "{name}: links of Rust");
        let there = fs::read_to_string(&file).unwrap_or_default();
        let update = "KGEN_UPDATE_DOCS=1 cargo test --test it documents::";
        assert!(there == text, "docs/schemas/{name}.json is stale: {update}");
        files = files.saturating_sub(1);
    }
    assert_eq!(files, 0, "a file in docs/schemas belongs to no schema");
}

#[test]
fn a_schema_refuses_a_document_without_its_members() {
    let folder = tempfile::tempdir().unwrap();
    let document = prints(folder.path(), &["list", "suites"], 0);
    let schema = published("list-suites");
    for member in document.as_object().unwrap().keys() {
        let mut broken = document.clone();
        broken.as_object_mut().unwrap().shift_remove(member);
        assert!(validate(&schema, &broken).is_err(), "without {member}");
    }
    for (place, value) in [
        ("/schema", json!("kgen/list-suites/2")),
        ("/exit_code", json!("0")),
        ("/data/0/ops", json!("relu")),
        ("/data/0", json!({})),
        ("/warnings", json!(null)),
    ] {
        let mut broken = document.clone();
        *broken.pointer_mut(place).unwrap() = value;
        assert!(validate(&schema, &broken).is_err(), "{place}");
    }
}

#[test]
fn commands_that_judge_nothing_print_documents() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for kind in ["ops", "suites", "backends", "devices"] {
        let document = prints(at, &["list", kind], 0);
        assert_eq!(document["schema"], format!("kgen/list-{kind}/1"));
        assert!(!document["data"].as_array().unwrap().is_empty(), "{kind}");
    }
    assert_eq!(prints(at, &["list", "runs"], 0)["data"], json!([]));
    assert_eq!(prints(at, &["show", "relu", "--prompt"], 0)["data"]["op"], "relu");
    assert!(prints(at, &["doctor"], 0)["data"].as_array().unwrap().len() > 5);
    assert!(prints(at, &["setup"], 0)["data"]["version"].is_string());
}

#[test]
fn the_selftest_prints_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["selftest", "--judge", "--only", "unary/zeros/relu/f32"];
    let judge = &prints(folder.path(), &args, 0)["data"]["judge"];
    assert_eq!(
        (&judge["total"]["n_controls"], &judge["rows"][0]["end"]),
        (&1.into(), &"right".into())
    );
}

#[test]
fn an_evaluation_is_a_document_whatever_its_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (name, source, code) in [
        ("right", RELU.to_owned(), 0),
        ("wrong", wrong_tail(), 1),
        ("torn", RELU.replace("if (i < n)", "if (i <"), 1),
        ("faulty", RELU.replace("i < n", "i < n + 1"), 1),
    ] {
        let file = format!("{name}.cu");
        fs::write(at.join(&file), source).unwrap();
        let args = ["eval", &file, "--op", "relu", "--dtypes", "f32", "--counters"];
        let document = prints(at, &args, code);
        assert_eq!(document["error"], Value::Null, "{name}");
        assert_eq!(document["data"]["verdict"] == "passed", code == 0, "{name}");
    }
}

#[test]
fn a_run_and_all_that_reads_it_print_documents() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = ["run", "--backend", "builtin", "--ops", "relu", "--dtypes", "f32", "--run-id", "r"];
    let ran = prints(at, &run, 0);
    let reported = prints(at, &["report", "r"], 0);
    assert_eq!((&ran["schema"], &ran["data"]["run"]), (&"kgen/run/1".into(), &"r".into()));
    assert_eq!(reported["data"]["ops"], ran["data"]["ops"]);
    assert_eq!(prints(at, &["list", "runs"], 0)["data"][0]["passed"], 1);
    assert_eq!(prints(at, &["check", "r"], 0)["data"], json!([]));
    assert_eq!(prints(at, &["compare", "r"], 0)["data"]["arms"][0]["n_solved"], 1);
    let exported = prints(at, &["export", "r", "--op", "relu", "--to", "torch"], 0);
    assert_eq!(exported["data"]["modules"][0]["file"], "relu.py");
    assert!(at.join("relu.py").is_file());
    let project = prints(at, &["export", "r", "--op", "relu", "--to", "hf-kernel", "-o", "p"], 0);
    assert_eq!(project["data"]["folder"], "p");
    assert_eq!(project["data"]["modules"][0]["file"], "p/torch-ext/relu/kernel.py");
    let to_stdout = prints(at, &["export", "r", "--op", "relu", "--to", "torch", "-o", "-"], 2);
    assert!(to_stdout["error"]["message"].as_str().unwrap().contains("standard output"));
    // Results are not lost with the file that they were to be in.
    let lost = prints(at, &["report", "r", "--output", "no/such/folder.json"], 3);
    assert_eq!((&lost["error"]["kind"], &lost["data"]["run"]), (&"config".into(), &"r".into()));
    // One that is torn is read as far as it goes.
    fs::write(at.join("generated_kernels/r/relu/metadata.json"), "{").unwrap();
    fs::create_dir(at.join("generated_kernels/empty")).unwrap();
    fs::write(at.join("generated_kernels/empty/run.json"), "").unwrap();
    let checked = prints(at, &["check", "r"], 1);
    assert_eq!(checked["data"][0]["can_be_mended"], true);
    assert!(prints(at, &["list", "runs"], 0)["data"].as_array().unwrap().len() == 2);
    let file = at.join("report.json");
    let args = ["report", "r", "--format", "json", "--output", "report.json"];
    let printed = flow::kgen(at, &args).assert().code(0).get_output().stdout.clone();
    assert_eq!(printed, b"");
    assert_eq!(document(&fs::read(file).unwrap())["command"], "report");
}

#[test]
fn a_recorded_run_on_a_gpu_is_a_document() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated_kernels");
    let gpu = runs.join("demo-gpu").display().to_string();
    let summary = &prints(&runs, &["report", &gpu], 0)["data"];
    assert_eq!(summary["gpus"][0]["name"], "NVIDIA H200");
    let arms = &prints(&runs, &["compare", &gpu], 0)["data"]["arms"];
    assert_eq!(arms[0]["speeds"][0]["gpu"], "NVIDIA H200");
}

#[test]
fn a_failure_is_a_document_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("bad.toml"), "[run]\nmax_atempts = 3\n").unwrap();
    for (args, code, kind, schema, says) in [
        (&["eval", "no.cu", "--op", "relu"][..], 3, "config", "eval", "no.cu"),
        (&["show", "rleu"], 2, "usage", "show", "rleu"),
        (&["report", "nowhere"], 3, "config", "run", "nowhere"),
        (&["list", "runs", "--nosuch"], 2, "usage", "list-runs", "--nosuch"),
        (&["eval"], 2, "usage", "eval", "required"),
        // Empty tensors alone would show nothing about a kernel.
        (&["show", "relu", "--max-bytes", "1"], 2, "usage", "show", "no case with elements"),
        (&["frobnicate"], 2, "usage", "error", "frobnicate"),
        (&["list", "--config", "bad.toml"], 3, "config", "list-ops", "max_atempts"),
        (&["selftest", "--timing"], 5, "device", "selftest", "GPU"),
    ] {
        let document = prints(at, args, code);
        let error = &document["error"];
        assert_eq!((&error["kind"], &document["data"]), (&kind.into(), &Value::Null), "{args:?}");
        assert_eq!(document["schema"], format!("kgen/{schema}/1"), "{args:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says) && !message.starts_with("error"), "{args:?}: {message}");
    }
}

#[test]
fn warnings_are_in_the_document_also_of_a_quiet_command() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["list", "suites", "--quiet", "--format", "json"];
    let assert = flow::kgen(folder.path(), &args).env("KGEN_RNU_SEED", "1").assert().code(0);
    assert_eq!(assert.get_output().stderr, b"");
    let document = document(&assert.get_output().stdout);
    let warnings = document["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|text| text.as_str().unwrap().contains("KGEN_RNU_SEED")));
}
