//! Completions, the manual, names of runs and ops, and flags without effect.

use std::{fs, path::Path};

use assert_cmd::Command;

use super::{cli::kgen, documents};

/// Runs kgen, checks its exit code, and returns both of its streams.
fn run(folder: &Path, args: &[&str], code: i32) -> (String, String) {
    let output = kgen(folder).args(args).assert().code(code).get_output().clone();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn completions_are_scripts_that_know_commands_and_flags() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = run(folder.path(), &["completions", shell], 0);
        for word in ["generate", "max-attempts", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // Internal commands are nobody's to complete.
        assert!(!script.contains("rehearse"), "{shell}");
        let file = folder.path().join(shell);
        fs::write(&file, script).unwrap();
        // A shell that is not there proves nothing.
        if Command::new(shell).args(["-c", "true"]).ok().is_ok() {
            Command::new(shell).arg("-n").arg(&file).assert().code(0);
        }
    }
    run(folder.path(), &["completions", "tcsh"], 2);
}

#[test]
fn the_manual_has_a_page_per_command() {
    let folder = tempfile::tempdir().unwrap();
    let (_, said) = run(folder.path(), &["man", "pages"], 0);
    let pages: Vec<_> = fs::read_dir(folder.path().join("pages")).unwrap().collect();
    assert!(said.contains(&format!("{} pages", pages.len())), "{} pages: {said}", pages.len());
    let page = |name: &str| fs::read_to_string(folder.path().join("pages").join(name)).unwrap();
    assert!(page("kgen.1").starts_with(".ie") || page("kgen.1").contains(".TH kgen 1"));
    assert!(page("kgen-generate.1").contains("max\\-attempts"));
    for name in ["worker", "help-run"] {
        assert!(!folder.path().join(format!("pages/kgen-{name}.1")).exists(), "{name}");
    }
    fs::write(folder.path().join("file"), "").unwrap();
    run(folder.path(), &["man", "file"], 3);
}

#[test]
fn short_help_is_shorter_and_long_help_has_defaults_and_examples() {
    let folder = tempfile::tempdir().unwrap();
    let (short, _) = run(folder.path(), &["generate", "-h"], 0);
    let (long, _) = run(folder.path(), &["generate", "--help"], 0);
    assert!(short.lines().count() * 2 < long.lines().count());
    assert!(!short.contains("--mailbox-wait") && long.contains("--mailbox-wait"));
    // Lines are broken between words.
    let words = long.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("[default: smoke+opinfo]") && long.contains("Examples:"));
    let (short, _) = run(folder.path(), &["-h"], 0);
    let (long, _) = run(folder.path(), &["--help"], 0);
    assert!(!short.contains("Exit codes:") && long.contains("Exit codes:"));
}

/// Copies a session that comes with kgen under another name.
fn copy_run(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated_kernels/demo");
    let mut folders = vec![from.clone()];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(to.join(folder.strip_prefix(&from).unwrap())).unwrap();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                fs::copy(&path, to.join(path.strip_prefix(&from).unwrap())).unwrap();
            }
        }
    }
}

#[test]
fn latest_names_the_run_that_was_made_last() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("generated_kernels");
    let (_, said) = run(folder.path(), &["report", "latest"], 3);
    assert!(said.contains("there is no run in"), "{said}");
    for (name, day) in [("old", "10"), ("new", "20")] {
        copy_run(&root.join(name));
        let file = root.join(name).join("run.json");
        let text = fs::read_to_string(&file).unwrap();
        let mut info: serde_json::Value = serde_json::from_str(&text).unwrap();
        info["run_id"] = name.into();
        info["created_at"] = format!("2026-01-{day}T00:00:00Z").into();
        fs::write(file, info.to_string()).unwrap();
    }
    let named = |args: &[&str]| {
        let (json, _) = run(folder.path(), args, 0);
        documents::data(json.as_bytes())
    };
    assert_eq!(named(&["report", "latest", "--format", "json"])["run"], "new");
    let compared = named(&["compare", "latest", "old", "--each-run", "--format", "json"]);
    assert_eq!(compared["arms"][0]["name"], "new");
    // One that is really called so wins, although it is older.
    fs::rename(root.join("old"), root.join("latest")).unwrap();
    assert_eq!(named(&["report", "latest", "--format", "json"])["run"], "old");
}

#[test]
fn patterns_choose_ops() {
    let folder = tempfile::tempdir().unwrap();
    let listed = |args: &[&str]| -> Vec<String> {
        let args = [&["list", "ops", "--format", "json"], args].concat();
        let (json, _) = run(folder.path(), &args, 0);
        let value = documents::data(json.as_bytes());
        let ops = value.as_array().unwrap().iter();
        ops.map(|op| op["op"].as_str().unwrap().to_owned()).collect()
    };
    let found = listed(&["soft?ax"]);
    assert_eq!(found, ["softmax"]);
    let found = listed(&["*soft*"]);
    assert!(["softmax", "log_softmax"].iter().all(|name| found.iter().any(|op| op == name)));
    assert!(!found.iter().any(|name| name == "relu"), "{found:?}");
    assert_eq!(listed(&["aten.relu.default"]), ["relu"]);
    assert_eq!(listed(&["re*", "--suite", "smoke"]), ["relu"]);
    for args in [
        &["list", "ops", "relz*"][..],
        &["generate", "--ops", "relz*"],
        &["run", "--backend", "builtin", "--ops", "relz*"],
    ] {
        let (_, said) = run(folder.path(), args, 2);
        assert!(said.contains("matches `relz*`") && said.contains("`relu`"), "{args:?}: {said}");
    }
    let (_, said) = run(folder.path(), &["list", "ops", "[a"], 2);
    assert!(said.contains("pattern `[a`"), "{said}");
}

/// Command lines with flags that do nothing there, and the words of the warning or the error.
const IDLE: &[(&[&str], i32, &str)] = &[
    (
        &["run", "--backend", "builtin", "--ops", "relu", "--llm-model", "x"],
        0,
        "--llm-model: of no effect with the backend builtin",
    ),
    (
        &["run", "--backend", "builtin", "--ops", "relu", "--planner", "--max-cost", "1"],
        0,
        "--planner, --max-cost: of no effect",
    ),
    (
        &["run", "--backend", "builtin", "--ops", "relu", "--kernels-dir", "."],
        0,
        "--kernels-dir: of no effect",
    ),
    (
        &["run", "--backend", "builtin", "--ops", "relu", "--seeds", "3"],
        0,
        "--seeds: of no effect on the emulator",
    ),
    (
        &["generate", "--ops", "relu", "--width", "3", "--samples", "2"],
        0,
        "--width: of no effect with the strategy repair",
    ),
    (&["generate", "--ops", "relu", "--effort", "low"], 0, "--effort: of no effect in a replay"),
    (&["generate", "--ops", "relu", "--mailbox-wait", "3"], 0, "--mailbox-wait: of no effect"),
    (
        &["generate", "--ops", "relu", "--provider", "mailbox", "--base-url", "http://x"],
        6,
        "--base-url: of no effect with a mailbox",
    ),
    (&["generate", "--provider", "anthropic", "--replay", "demo"], 2, "contradict each other"),
    (&["generate", "--kernels-dir", "x"], 2, "--kernels-dir"),
    (&["list", "runs", "--suite", "smoke"], 2, "--suite has no effect on `kgen list runs`"),
    (&["list", "suites", "re*"], 2, "only ops are listed by a pattern"),
    (&["list", "ops", "--topn", "3"], 2, "--topn"),
    (&["doctor", "--l2", "hot"], 2, "--l2"),
];

#[test]
fn flags_without_effect_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (args, code, words) in IDLE {
        let mut command = kgen(folder.path());
        command.args(*args);
        if *code != 2 {
            command.args(["--device", "emu", "--offline"]);
        }
        let output = command.assert().get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(words), "{args:?}: `{words}` is not in:\n{said}");
        // Nothing is compiled where there is no NVRTC, which is 5; the warning comes before.
        let found = output.status.code();
        assert!(
            found == Some(*code) || (*code != 2 && found == Some(5)),
            "{args:?}: {found:?}\n{said}"
        );
    }
}

#[test]
fn the_runs_of_an_experiment_are_listed_as_data_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = "name = \"widths\"\nllm.provider = \"mailbox\"\n[matrix]\nstrategies = [\"repair\", \"beam\"]\nseeds = [1]\n";
    fs::write(folder.path().join("widths.toml"), file).unwrap();
    let args = ["experiment", "widths.toml", "--dry-run", "--format"];
    let (json, _) = run(folder.path(), &[&args[..], &["json"]].concat(), 0);
    let runs = documents::data(json.as_bytes());
    assert_eq!(runs[1]["run"], "widths_beam_s1");
    assert_eq!(runs[1]["strategy"], "beam");
    assert_eq!(runs[1]["state"], "to_do");
    let (_, said) = run(folder.path(), &[&args[..], &["csv"]].concat(), 2);
    assert!(said.contains("as a table or as JSON"), "{said}");
}
