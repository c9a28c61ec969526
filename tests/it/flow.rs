//! Whole commands on the emulator: judge, run, ask, resume, replay, report.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use assert_cmd::{Command, assert::Assert};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::documents;

/// Returns the folder that NVRTC is installed into, once for all tests.
fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let cache = kgen_settings::env::cache_home().unwrap();
        Command::new(env!("CARGO_BIN_EXE_kgen")).arg("setup").assert().success();
        cache
    })
}

/// Returns kgen in a folder of its own, on the emulator, without keys or settings.
pub(crate) fn kgen(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgen"));
    command.current_dir(folder).args(args).env_clear().env("HOME", folder);
    command.env("KGEN_CACHE_DIR", cache()).env("KGEN_DEVICE_DEVICE", "emu");
    // The default has ten times as many cases, which the judge's own tests are about.
    command.env("KGEN_SUITE_SUITE", "smoke");
    for (name, value) in std::env::vars_os() {
        if ["PATH", "LD_LIBRARY_PATH", "KGEN_NVRTC"].iter().any(|kept| name == *kept) {
            command.env(name, value);
        }
    }
    command
}

fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) const RELU: &str = r#"/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 128), block=128, args=[x, out, n])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] < (T_self)0 ? (T_out)0 : x[i];
}
"#;

/// The same, one element short.
pub(crate) fn wrong_tail() -> String {
    RELU.replace("i < n)", "i < n - 1)")
}

pub(crate) fn reply(kernel: &str) -> String {
    format!("Here it is.\n\n```cuda\n{kernel}```\n")
}

#[test]
fn eval_reads_regular_files_only() {
    let folder = folder();
    for file in ["/dev/zero", "."] {
        let assert = kgen(folder.path(), &["eval", file, "--op", "relu"]).assert().code(3);
        let error = stderr(&assert);
        assert!(error.contains(&format!("{file} is not a regular file")), "{error}");
    }
}

#[test]
fn eval_judges_one_file_and_prints_what_it_found() {
    let folder = folder();
    fs::write(folder.path().join("right.cu"), RELU).unwrap();
    fs::write(folder.path().join("wrong.cu"), wrong_tail()).unwrap();
    fs::write(folder.path().join("torn.cu"), RELU.replace("long long i", "lung long i")).unwrap();
    let eval = |file: &str, extra: &[&str]| {
        let args = [&["eval", file, "--op", "relu", "--dtypes", "f32"], extra].concat();
        kgen(folder.path(), &args).assert()
    };
    let assert = eval("right.cu", &[]).code(0);
    assert!(stdout(&assert).starts_with("relu: passed on emu (strict); "), "{}", stdout(&assert));
    assert!(stdout(&assert).contains("speedup not measured"), "{}", stdout(&assert));
    let assert = eval("wrong.cu", &["--seed", "1"]).code(1);
    for part in ["wrong_output (emu", "f32[127]/normal", "the tail", "seed 1\n"] {
        assert!(stdout(&assert).contains(part), "{part}: {}", stdout(&assert));
    }
    let assert = eval("torn.cu", &[]).code(1);
    for part in ["compile_error (static, stage compile)", "line 7: error: ", "lung"] {
        assert!(stdout(&assert).contains(part), "{part}: {}", stdout(&assert));
    }
    let assert = eval("wrong.cu", &["--format", "json"]).code(1);
    let evaluation = documents::data(&assert.get_output().stdout);
    assert_eq!(evaluation["verdict"], "wrong_output");
}

#[test]
fn builtin_kernels_pass_and_the_next_run_takes_theirs() {
    let folder = folder();
    let run = |args: &[&str]| {
        let common = ["--ops", "relu,softmax", "--dtypes", "f32"];
        kgen(folder.path(), &[&["run", "--backend"], args, &common].concat()).assert()
    };
    let assert = run(&["builtin", "--run-id", "first"]).code(0);
    assert!(stdout(&assert).contains("passed on emu"), "{}", stdout(&assert));
    assert!(stderr(&assert).contains("2 of 2 ops passed on emu"), "{}", stderr(&assert));
    let assert = run(&["builtin", "--run-id", "first"]).code(3);
    assert!(stderr(&assert).contains("exists already"), "{}", stderr(&assert));
    let assert = run(&["pregenerated", "--run-id", "second", "--format", "json"]).code(0);
    assert!(stderr(&assert).contains("generated_kernels/first (the latest run)"));
    let summary = documents::data(&assert.get_output().stdout);
    assert_eq!((&summary["run"], &summary["n_passed"]), (&"second".into(), &2.into()));

    let assert = kgen(folder.path(), &["report", "first", "--format", "json"]).assert().code(0);
    let summary = documents::data(&assert.get_output().stdout);
    assert_eq!(summary["ops"][1]["op"], "softmax");
    let assert = kgen(folder.path(), &["list", "runs"]).assert().code(0);
    assert_eq!(stdout(&assert).lines().count(), 3, "{}", stdout(&assert));
    let assert = kgen(folder.path(), &["report", "frist"]).assert().code(3);
    assert!(stderr(&assert).contains("did you mean first?"), "{}", stderr(&assert));
}

#[test]
fn a_kernels_folder_of_the_user_is_judged() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("mine/relu")).unwrap();
    fs::write(folder.path().join("mine/relu/relu.cu"), wrong_tail()).unwrap();
    let args = ["run", "--backend", "pregenerated", "--kernels-dir", "mine", "--dtypes", "f32"];
    let assert = kgen(folder.path(), &args).assert().code(1);
    assert!(stderr(&assert).contains("11 ops without a kernel"), "{}", stderr(&assert));
    assert!(stdout(&assert).contains("wrong_output (emu)"), "{}", stdout(&assert));
    // The judged folder is never written to.
    assert_eq!(fs::read_dir(folder.path().join("mine/relu")).unwrap().count(), 1);
    let args = ["run", "--backend", "pregenerated", "--output-dir", "other", "--dtypes", "f32"];
    let assert = kgen(folder.path(), &[&args[..], &["--ops", "relu"]].concat()).assert().code(0);
    assert!(stderr(&assert).contains("evaluation_only"), "{}", stderr(&assert));
}

#[test]
fn a_mailbox_is_answered_step_by_step_and_the_run_replays() {
    let folder = folder();
    let path = folder.path();
    let common = ["--ops", "relu", "--dtypes", "f32", "--run-id"];
    let generate = |id: &str, extra: &[&str]| {
        kgen(path, &[&["generate"], &common[..], &[id], extra].concat()).assert()
    };
    let resume = || kgen(path, &["resume", "post"]).assert();
    let answer = |attempt: u32, text: &str| {
        let name = format!("relu_attempt_{attempt}.call_1.reply.md");
        fs::write(path.join("generated_kernels/post/relu").join(name), text).unwrap();
    };
    let assert = generate("post", &["--provider", "mailbox"]).code(6);
    assert!(stderr(&assert).contains("1 prompt awaits its reply"), "{}", stderr(&assert));
    assert!(stderr(&assert).contains("kgen resume post"), "{}", stderr(&assert));
    resume().code(6);
    answer(1, &reply(&wrong_tail()));
    let assert = resume().code(6);
    assert!(stderr(&assert).contains("relu attempt 1: wrong_output"), "{}", stderr(&assert));
    let prompt = path.join("generated_kernels/post/relu/relu_attempt_2.call_1.request.md");
    assert!(fs::read_to_string(prompt).unwrap().contains("the tail"));
    answer(2, &reply(RELU));
    let assert = resume().code(0);
    assert!(stdout(&assert).contains("passed on emu"), "{}", stdout(&assert));
    // Nothing is left to do, and nothing is done.
    resume().code(0);

    let assert = generate("again", &["--replay", "post"]).code(0);
    assert!(stdout(&assert).contains("[replayed]"), "{}", stdout(&assert));
    let assert = generate("reused", &["--replay", "post", "--reuse-evals"]).code(0);
    assert!(stdout(&assert).contains("[replayed, evaluation too]"), "{}", stdout(&assert));
    let assert = generate("short", &["--replay", "post", "--max-attempts", "1"]).code(1);
    assert!(stdout(&assert).contains("wrong_output (emu)"), "{}", stdout(&assert));
    let assert = generate("dear", &["--replay", "post", "--max-calls", "1"]).code(7);
    assert!(
        stderr(&assert).contains("the cap of 1 LLM call per run is reached"),
        "{}",
        stderr(&assert)
    );
    kgen(path, &["resume", "dear", "--max-calls", "2"]).assert().code(0);
}

/// A product by a library, for `mm`.
const PRODUCT: &str = r#"/*@plan
a = contiguous(self)
b = contiguous(mat2)
matmul(a, b, out, m=a.shape[0], n=b.shape[1], k=a.shape[1])
@*/
"#;

#[test]
fn a_resumed_run_allows_libraries_as_it_began() {
    let folder = folder();
    let path = folder.path();
    for (id, flag, code, said) in
        [("with", Some("--libraries"), 0, "passed on emu"), ("without", None, 1, "plan_error")]
    {
        let args = ["generate", "--ops", "mm", "--dtypes", "f32", "--provider", "mailbox"];
        let mut args = [&args[..], &["--max-attempts", "1", "--run-id", id]].concat();
        args.extend(flag);
        kgen(path, &args).assert().code(6);
        let run = path.join("generated_kernels").join(id);
        let asked = fs::read_to_string(run.join("mm/mm_attempt_1.call_1.request.md")).unwrap();
        assert_eq!(asked.contains("matmul(a, b, out"), flag.is_some());
        fs::write(run.join("mm/mm_attempt_1.call_1.reply.md"), reply(PRODUCT)).unwrap();
        let assert = kgen(path, &["resume", id]).assert().code(code);
        assert!(stdout(&assert).contains(said), "{}", stdout(&assert));
        let stored = fs::read_to_string(run.join("mm/mm_attempt_1.eval.json")).unwrap();
        let stored: Value = serde_json::from_str(&stored).unwrap();
        assert_eq!(stored["library_use"], "with-library", "whether it was allowed or not");
        let rows = fs::read_to_string(run.join("operator_summary.csv")).unwrap();
        assert!(rows.lines().nth(1).unwrap().ends_with(",with-library"), "{rows}");
        let log = fs::read_to_string(run.join("mm/mm_attempt_1.feedback.md")).unwrap();
        assert_eq!(log.contains("--libraries"), flag.is_none(), "{log}");
    }
}

#[test]
fn a_run_on_a_suite_file_is_resumed_from_another_folder() {
    let folder = folder();
    let suite = "format = 1\nname = 'mine'\ndtypes = ['f32']\n\
                 [[ops]]\nname = 'relu'\ncases = [{ self = '[5]' }, { self = '[1..9]' }]\n";
    fs::write(folder.path().join("mine.toml"), suite).unwrap();
    let args = ["generate", "--suite", "mine.toml", "--provider", "mailbox", "--run-id", "own"];
    kgen(folder.path(), &args).assert().code(6);
    let run = folder.path().join("generated_kernels/own");
    fs::write(run.join("relu/relu_attempt_1.call_1.reply.md"), reply(RELU)).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let assert = kgen(elsewhere.path(), &["resume", run.to_str().unwrap()]).assert().code(0);
    let table = stdout(&assert);
    let row = table.lines().find(|line| line.starts_with("relu ")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[..4], ["relu", "passed on emu", "1", "2/2"], "{table}");
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let folder = folder();
    let exe = env!("CARGO_BIN_EXE_kgen");
    let args = ["--preserve-status", "-s", "INT", "4", exe, "generate", "--ops", "relu"];
    let mut command = Command::new("timeout");
    command.current_dir(folder.path()).args(args).args(["--run-id", "cut"]);
    command.args(["--provider", "mailbox", "--mailbox-wait", "600", "--device", "emu"]);
    let assert = command.env("KGEN_CACHE_DIR", cache()).assert().code(130);
    assert!(stderr(&assert).contains("kgen resume cut"), "{}", stderr(&assert));
    let assert = kgen(folder.path(), &["resume", "cut", "--mailbox-wait", "0"]).assert().code(6);
    assert!(stderr(&assert).contains("1 prompt awaits its reply"), "{}", stderr(&assert));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_4_names_its_variable_and_is_stored_nowhere() {
    const KEY: &str = "sk-wrong-0123456789";
    let server = wiremock::MockServer::start().await;
    let body = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } });
    wiremock::Mock::given(wiremock::matchers::any())
        .respond_with(wiremock::ResponseTemplate::new(401).set_body_json(body))
        .mount(&server)
        .await;
    let url = server.uri();
    let check = move || {
        let folder = folder();
        let args = ["generate", "--ops", "relu,add", "--provider", "openai", "--run-id", "r"];
        let args = [&args[..], &["--llm-model", "m", "--base-url", &url]].concat();
        let assert = kgen(folder.path(), &args).env("OPENAI_API_KEY", KEY).assert().code(4);
        let text = stderr(&assert);
        for part in ["error: ", "OPENAI_API_KEY", "kgen resume r"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains(KEY), "{text}");
        for op in ["relu", "add"] {
            let op = folder.path().join("generated_kernels/r").join(op);
            for entry in fs::read_dir(op).into_iter().flatten() {
                let text = fs::read_to_string(entry.unwrap().path()).unwrap();
                assert!(!text.contains(KEY), "{text}");
            }
        }
    };
    tokio::task::spawn_blocking(check).await.unwrap();
}

#[test]
fn doctor_tells_what_works_here() {
    let folder = folder();
    let assert = kgen(folder.path(), &["doctor"]).assert().code(0);
    for part in ["NVRTC", "compiler", "GPU", "LLM keys", "none is set"] {
        assert!(stdout(&assert).contains(part), "{part}: {}", stdout(&assert));
    }
    let assert = kgen(folder.path(), &["doctor", "--format", "json"]).assert().code(0);
    let items = documents::data(&assert.get_output().stdout);
    let items = items.as_array().unwrap();
    assert!(items.iter().any(|item| item["what"] == "NVRTC" && item["state"] == "ok"));
    let args = ["doctor", "--nvrtc", "/nowhere"];
    kgen(folder.path(), &args).assert().code(5);
}

#[test]
fn what_the_emulator_cannot_do_is_one_line_with_its_reason() {
    let folder = folder();
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/giant.toml");
    let run = ["run", "--backend", "builtin", "--suite", suite];
    let said = stderr(&kgen(folder.path(), &run).assert().code(1));
    let why =
        "relu attempt 1: unsupported (static) 0/0, 1 too large: 6144.0 MiB of inputs, over the";
    assert!(said.lines().any(|line| line.starts_with(why)), "{said}");
    fs::write(folder.path().join("relu.cu"), RELU).unwrap();
    let eval = ["eval", "relu.cu", "--op", "relu", "--suite", "smoke", "--baseline", "aten"];
    let said = stderr(&kgen(folder.path(), &eval).assert().code(0));
    assert!(said.contains("nothing is timed without a GPU: aten is not used"), "{said}");
}
