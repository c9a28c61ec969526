//! The command line: help, exit codes, near names, formats, bad input.

use std::{fs, path::Path};

use assert_cmd::{Command, assert::Assert};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::documents;

/// Returns kgen in a folder of its own, without keys, settings or a home.
pub(crate) fn kgen(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgen"));
    command.current_dir(folder).env_clear().env("HOME", folder);
    for name in ["PATH", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::vars_os().find(|(var, _)| var == name) {
            command.env(name, value.1);
        }
    }
    command
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// Runs kgen, checks exit code and standard error; nothing may be on standard output.
pub(crate) fn fails(folder: &Path, args: &[&str], code: i32, says: &[&str]) {
    let assert = kgen(folder).args(args).assert().code(code);
    let text = stderr(&assert);
    for part in says {
        assert!(text.contains(part), "{args:?}: `{part}` is not in:\n{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("error: ")), "{args:?}:\n{text}");
    assert_eq!(stdout(&assert), "", "{args:?}");
}

#[test]
fn every_help_text_is_as_it_was_agreed() {
    let folder = folder();
    let commands = [
        "",
        "generate",
        "resume",
        "run",
        "eval",
        "profile",
        "list",
        "show",
        "report",
        "compare",
        "experiment",
        "export",
        "serve",
        "mcp",
        "doctor",
        "selftest",
        "setup",
        "completions",
        "man",
    ];
    for command in commands {
        let args: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let assert = kgen(folder.path()).args(args).assert().code(0);
        let name = if command.is_empty() { "help" } else { command };
        insta::assert_snapshot!(format!("help_{name}"), stdout(&assert));
    }
    let assert = kgen(folder.path()).args(["generate", "-h"]).assert().code(0);
    insta::assert_snapshot!("short_help_generate", stdout(&assert));
}

#[test]
fn a_command_line_that_is_wrong_is_2() {
    let folder = folder();
    for args in [
        &["frobnicate"][..],
        &["generate", "--frobnicate"],
        &["generate", "--max-attempts", "many"],
        &["run"],
        &["eval", "x.cu"],
        &["list", "kernels"],
        &["report"],
        &["list", "-v", "-q"],
        &["list", "--format", "xml"],
        &[],
    ] {
        kgen(folder.path()).args(args).assert().code(2);
    }
    kgen(folder.path()).arg("--version").assert().code(0).stdout("kgen 0.1.0\n");
}

#[test]
fn profiling_without_a_gpu_is_5_and_says_what_works_instead() {
    let folder = folder();
    fs::write(folder.path().join("k.cu"), "").unwrap();
    let args = ["profile", "k.cu", "--op", "relu", "--device", "emu"];
    fails(folder.path(), &args, 5, &["profilers need a GPU", "--counters"]);
}

#[test]
fn names_that_are_not_known_are_2_and_near_ones_are_suggested() {
    let folder = folder();
    let path = folder.path();
    for (args, says) in [
        (&["show", "rleu"][..], &["unknown op `rleu`", "did you mean `relu`", "kgen list ops"][..]),
        (&["generate", "--ops", "relu,sofmax"], &["unknown op `sofmax`", "`softmax`"]),
        (&["run", "--backend", "buildin"], &["unknown backend `buildin`", "`builtin`"]),
        (&["generate", "--suite", "smok"], &["no suite `smok`", "did you mean `smoke`?"]),
        (&["list", "--suite", "nope"], &["no suite `nope`", "built in: smoke"]),
        (
            &["generate", "--device", "gpu"],
            &["flag --device", "auto, emu, cuda or cuda:N,cuda:M", "`gpu`"],
        ),
        (&["generate", "--dtypes", "f8"], &["flag --dtypes", "a list of element types"]),
        (&["generate", "--dtypes", "f64"], &["op `relu` has no cases in f64"]),
        (&["generate", "--max-attempts", "0"], &["flag --max-attempts", "at least 1"]),
        (&["generate", "--run-id", "../x"], &["`../x` cannot name a run"]),
        (&["generate", "--provider", "replay"], &["needs a run to replay", "--replay RUN"]),
        (&["run", "--backend", "triton"], &["--kernels-dir DIR", "relu__default"]),
        (
            &["run", "--backend", "builtin", "--baseline", "atem"],
            &["unknown baseline `atem`", "aten"],
        ),
    ] {
        fails(path, args, 2, says);
    }
}

#[test]
fn an_op_is_found_by_its_exact_name_only() {
    let folder = folder();
    let assert = kgen(folder.path()).args(["show", "lu"]).assert().code(2);
    assert!(stderr(&assert).contains("unknown op `lu`"));
    kgen(folder.path()).args(["show", "aten.relu.default"]).assert().code(0);
}

#[test]
fn files_that_are_wrong_are_3_and_named() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("typo.toml"), "[run]\nmax_atempts = 3\n").unwrap();
    fs::write(path.join("torn.toml"), "[run\n").unwrap();
    fs::write(path.join("kind.toml"), "[llm]\nmax_tokens = 'many'\n").unwrap();
    fs::write(
        path.join("suite.toml"),
        "format = 1\nname = 'x'\n[[ops]]\nname = 'rleu'\ncases = []\n",
    )
    .unwrap();
    fs::create_dir_all(path.join("kernels/relu/relu.cu")).unwrap();
    fs::create_dir_all(path.join("empty")).unwrap();
    for (args, says) in [
        (&["list", "--config", "none.toml"][..], &["failed to read config file `none.toml`"][..]),
        (
            &["list", "--config", "typo.toml"],
            &[
                "unknown setting `run.max_atempts`",
                "typo.toml",
                "did you mean `max_attempts`? It lives in `[run]`",
            ],
        ),
        (&["list", "--config", "torn.toml"], &["`torn.toml` is not valid TOML", "caused by: "]),
        (&["list", "--config", "kind.toml"], &["`llm.max_tokens`", "an integer", "`many`"]),
        (&["list", "--suite", "suite.toml"], &["suite.toml", "`rleu`", "relu"]),
        (&["list", "--suite", "none.toml"], &["failed to read suite file none.toml"]),
        (&["eval", "none.cu", "--op", "relu"], &["failed to read none.cu"]),
        (&["report", "run_1"], &["no run `run_1`", "kgen list runs"]),
        (&["report", "empty"], &["empty is not a run"]),
        (&["resume", "empty"], &["empty is not a run"]),
        (
            &["run", "--backend", "pregenerated", "--kernels-dir", "none"],
            &["there is no kernels folder none"],
        ),
        (
            &["run", "--backend", "pregenerated", "--kernels-dir", "empty"],
            &["empty has no kernel for relu", "<op>/<op>.cu"],
        ),
        (
            &["run", "--backend", "pregenerated", "--kernels-dir", "kernels", "--ops", "relu"],
            &["failed to read", "relu/relu.cu"],
        ),
        (
            &["run", "--backend", "builtin", "--output-dir", "suite.toml/runs"],
            &["cannot write runs to suite.toml/runs", "--output-dir"],
        ),
        (&["show", "relu", "--prompts-dir", "none"], &["none", "--prompts-dir"]),
    ] {
        fails(path, args, 3, says);
    }
}

#[test]
fn a_folder_of_baselines_that_is_not_there_is_3() {
    let folder = folder();
    fs::write(folder.path().join("relu.cu"), "").unwrap();
    let eval = ["eval", "relu.cu", "--op", "relu", "--device", "emu", "--baseline"];
    for (name, said) in [("triton=nowhere", "no folder `nowhere`"), ("triton=", "no folder ``")] {
        fails(folder.path(), &[&eval[..], &[name]].concat(), 3, &[said, "hint: "]);
    }
}

#[test]
fn a_config_file_beside_the_user_is_read_and_a_stray_variable_is_reported() {
    let folder = folder();
    fs::write(folder.path().join("config.toml"), "[run]\nsede = 3\n").unwrap();
    fails(
        folder.path(),
        &["list"],
        3,
        &["unknown setting `run.sede`", "did you mean `seed`? It lives in `[run]`"],
    );
    fs::remove_file(folder.path().join("config.toml")).unwrap();
    let assert =
        kgen(folder.path()).args(["list", "suites"]).env("KGEN_RUN_SEDE", "1").assert().code(0);
    assert!(stderr(&assert).contains("KGEN_RUN_SEDE sets nothing"), "{}", stderr(&assert));
    let assert = kgen(folder.path()).arg("list").env("KGEN_RUN_SEED", "x").assert().code(3);
    assert!(stderr(&assert).contains("variable KGEN_RUN_SEED"), "{}", stderr(&assert));
}

#[test]
fn a_provider_without_its_key_is_4() {
    let folder = folder();
    let args = ["generate", "--ops", "relu", "--provider", "anthropic"];
    fails(folder.path(), &args, 4, &["ANTHROPIC_API_KEY", "hint: "]);
    let args = ["generate", "--ops", "relu", "--provider", "antropic"];
    fails(folder.path(), &args, 3, &["`antropic`", "did you mean `anthropic`?"]);
}

#[test]
fn a_missing_gpu_or_compiler_is_5() {
    let folder = folder();
    let args = ["run", "--backend", "builtin", "--ops", "relu", "--device"];
    fails(folder.path(), &[&args[..], &["cuda:99"]].concat(), 5, &["hint: ", "--device emu"]);
    let cublas = ["run", "--backend", "cublas", "--ops", "mm", "--device", "emu"];
    fails(folder.path(), &cublas, 5, &["the backend `cublas` needs a GPU", "hint: kernel files"]);
    let clock = ["selftest", "--timing", "--device", "emu"];
    fails(
        folder.path(),
        &clock,
        5,
        &["part of the selftest needs a GPU", "hint: `kgen selftest --judge"],
    );
    let nowhere = ["emu", "--nvrtc", "nowhere"];
    fails(folder.path(), &[&args[..], &nowhere].concat(), 5, &["nowhere", "hint: "]);
    let emulated = ["--ops", "relu", "--device", "emu"];
    let aten = [&["run", "--backend", "aten"][..], &emulated].concat();
    fails(folder.path(), &aten, 5, &["the backend `aten` needs a GPU", "hint: "]);
    let module = folder.path().join("bb/relu__default/relu__default_implementation_v1.py");
    fs::create_dir_all(module.parent().unwrap()).unwrap();
    fs::write(module, "def relu__default_kernel_impl(x): ...\n").unwrap();
    let bb = ["run", "--backend", "pregenerated", "--kernels-dir", "bb"];
    fails(folder.path(), &[&bb[..], &emulated].concat(), 5, &["kernels in Python (bb) need a GPU"]);
}

#[test]
fn what_will_do_nothing_is_said_before_it_does_nothing() {
    let folder = folder();
    let no_compiler = ["--device", "emu", "--nvrtc", "nowhere"];
    let idle = ["run", "--backend", "builtin", "--ops", "relu", "--l2", "hot", "--graph"];
    let words = "--l2, --graph: of no effect on the emulator";
    fails(folder.path(), &[&idle[..], &no_compiler].concat(), 5, &[words]);
    let unrecorded = ["generate", "--ops", "relu,mish"];
    let words = "has no reply for mish; its ops are";
    fails(folder.path(), &[&unrecorded[..], &no_compiler].concat(), 5, &[words]);
    let both = ["run", "--backend", "builtin", "--no-timing", "--timing", "final"];
    fails(folder.path(), &both, 2, &["cannot be used with"]);
}

fn run_json(major: u32) -> Value {
    json!({ "format": { "major": major, "minor": 0 } })
}

#[test]
fn runs_of_a_newer_format_and_torn_ones_are_3_and_stay_as_they_are() {
    let folder = folder();
    let root = folder.path().join("generated_kernels");
    let write = |name: &str, text: &str| {
        fs::create_dir_all(root.join(name)).unwrap();
        fs::write(root.join(name).join("run.json"), text).unwrap();
    };
    write("newer", &run_json(99).to_string());
    write("torn", "{\"format\": {");
    for command in ["report", "resume"] {
        fails(folder.path(), &[command, "newer"], 3, &["has format 99.0", "newer"]);
        fails(folder.path(), &[command, "torn"], 3, &["torn/run.json is damaged"]);
    }
    fails(folder.path(), &["report", "newr"], 3, &["no run `newr`", "did you mean newer?"]);
    let assert = kgen(folder.path()).args(["list", "runs"]).assert().code(0);
    assert_eq!(stdout(&assert).matches("unreadable").count(), 2, "{}", stdout(&assert));
    assert_eq!(fs::read_to_string(root.join("torn/run.json")).unwrap(), "{\"format\": {");
}

#[test]
fn tables_are_valid_json_where_that_is_asked_for() {
    let folder = folder();
    for args in [
        &["list", "ops"][..],
        &["list", "suites"],
        &["list", "runs"],
        &["list", "backends"],
        &["list", "devices"],
        &["show", "relu"],
    ] {
        let assert = kgen(folder.path()).args(args).args(["--format", "json"]).assert().code(0);
        match &documents::data(&assert.get_output().stdout) {
            Value::Array(items) => assert!(args[1] == "runs" || !items.is_empty(), "{args:?}"),
            Value::Object(object) => assert!(object.contains_key("cases"), "{args:?}"),
            other => panic!("{args:?}: {other}"),
        }
    }
}

#[test]
fn the_lists_name_what_there_is() {
    let folder = folder();
    let list = |what: &str| stdout(&kgen(folder.path()).args(["list", what]).assert().code(0));
    assert!(list("ops").contains("aten.cross_entropy_loss.default"));
    assert!(list("suites").contains("smoke"));
    for name in
        ["builtin", "cublas", "pregenerated", "llm", "anthropic", "codex-cli", "mailbox", "replay"]
    {
        assert!(list("backends").contains(name), "{name}");
    }
    assert!(list("devices").contains("emu"));
    insta::assert_snapshot!("list_suites", list("suites"));
}

#[test]
fn keys_are_reported_as_set_and_never_shown() {
    let folder = folder();
    let assert = kgen(folder.path())
        .args(["list", "backends", "-v"])
        .env("ANTHROPIC_API_KEY", "sk-very-secret")
        .assert()
        .code(0);
    let row =
        stdout(&assert).lines().find(|line| line.starts_with("anthropic ")).unwrap().to_owned();
    assert!(row.contains("has its key"), "{row}");
    assert!(!format!("{}{}", stdout(&assert), stderr(&assert)).contains("sk-very-secret"));
}

#[test]
fn show_prints_contract_cases_and_prompt() {
    let folder = folder();
    let assert = kgen(folder.path()).args(["show", "relu", "--dtypes", "f32"]).assert().code(0);
    let text = stdout(&assert);
    for part in
        ["aten.relu.default", "T_self", "## Cases in suite `smoke+opinfo`", "## System prompt"]
    {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("bf16["), "only the types asked for");
}

#[test]
fn show_prints_the_prompt_alone_as_it_would_be_sent() {
    let folder = folder();
    let shown = |flags: &[&str]| {
        let args = [&["show", "relu", "--prompt"], flags].concat();
        let assert = kgen(folder.path()).args(args).assert().code(0);
        (stdout(&assert), stderr(&assert))
    };
    let (text, notes) = shown(&[]);
    assert!(text.starts_with("## System prompt") && !text.contains("## Cases in suite"), "{text}");
    assert!(text.contains("Write the kernel file.") && notes.contains("tokens by kgen's estimate"));
    for (turn, words) in [
        ("plan", "Answer with exactly three lines"),
        ("repair", "Find the cause"),
        ("improve", "Make it faster"),
    ] {
        let (text, notes) = shown(&["--turn", turn]);
        assert!(text.contains(words) && text.contains("Made up: the kernel file"), "{text}");
        assert!(notes.contains("attempt 1 is made up"), "{notes}");
    }
    let (text, notes) = shown(&["--prompt-tokens", "4000"]);
    let left_out = "the notes about this kind of op";
    assert!(notes.contains("left out for length: ") && notes.contains(left_out), "{notes}");
    assert!(!text.contains("Notes on this kind"), "{text}");
    let args = ["show", "relu", "--prompt", "--prompt-tokens", "100"];
    let assert = kgen(folder.path()).args(args).assert().code(3);
    assert!(stderr(&assert).contains("100 are allowed"), "{}", stderr(&assert));
    // A folder replaces single files, parts of prompts and notes too.
    let mine = folder.path().join("mine");
    fs::create_dir_all(mine.join("notes")).unwrap();
    fs::write(mine.join("answer.hbs"), "Reply as {{op.name}} likes it.").unwrap();
    fs::write(mine.join("notes/elementwise.hbs"), "- My note on {{device.arch}}.").unwrap();
    let (text, _) = shown(&["--prompts-dir", "mine"]);
    assert!(text.contains("Reply as relu likes it.") && text.contains("- My note on sm_90a."));
    fs::write(mine.join("answer.hbs"), "{{op.nmae}}").unwrap();
    let args = ["show", "relu", "--prompt", "--prompts-dir", "mine"];
    let assert = kgen(folder.path()).args(args).assert().code(3);
    assert!(stderr(&assert).contains("nmae"), "{}", stderr(&assert));
}

#[test]
fn the_readme_has_every_exit_code() {
    let readme = include_str!("../../README.md");
    for exit in kgen::cli::exit_codes::Exit::ALL {
        assert!(readme.contains(&format!("\n| {} | ", exit.code())), "{exit:?}");
    }
}
