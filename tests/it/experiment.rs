//! `kgen experiment`: a matrix of runs on the emulator, killed, stopped by its budget, gone on with.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use serde_json::Value;

use crate::{
    documents,
    flow::{RELU, kgen, reply, wrong_tail},
};

/// Answers as its argument says, notes every call, and sends kgen a signal at the third one.
const SCRIPT: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
cat > /dev/null
echo "$1" >> calls
if [ "$(wc -l < calls)" -eq 3 ] && [ -e signal ]; then kill -$(cat signal) $PPID; rm signal; fi
cat "$1.md"
"#;

/// A folder with a provider that is a script, and an experiment of 2 x 2 x 2 runs.
fn folder(signal: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let script = path("script.sh");
    fs::write(&script, SCRIPT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(path("signal"), signal).unwrap();
    fs::write(path("right.md"), reply(RELU)).unwrap();
    fs::write(path("wrong.md"), reply(&wrong_tail())).unwrap();
    let text = format!(
        r#"
name = "exp"
[providers.script]
kind = "command"
command = ["{}", "{{model}}"]
[llm]
provider = "script"
[run]
max_attempts = 2
[suite]
suite = "smoke"
dtypes = ["f32"]
[search]
samples = 2
[matrix]
models = ["right", "script/wrong"]
strategies = ["repair", "best-of"]
seeds = [1, 2]
ops = ["relu"]
"#,
        script.display()
    );
    fs::write(path("exp.toml"), text).unwrap();
    folder
}

fn experiment(folder: &Path, args: &[&str]) -> Command {
    kgen(folder, &[&["experiment", "exp.toml"], args].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn dir(folder: &Path) -> PathBuf {
    folder.join("generated_kernels/exp")
}

/// The state of every run that was begun, by ID.
fn states(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(dir(folder)).unwrap().map(|entry| entry.unwrap().path());
    let runs = entries.filter(|path| path.join("run.json").exists()).map(|path| {
        let run: Value = serde_json::from_slice(&fs::read(path.join("run.json")).unwrap()).unwrap();
        let id = path.file_name().unwrap().to_str().unwrap().to_owned();
        (id, run["status"].as_str().unwrap().to_owned())
    });
    let mut runs: Vec<_> = runs.collect();
    runs.sort();
    runs
}

#[test]
fn a_matrix_is_carried_out_through_kill_and_budget_and_compared_at_the_end() {
    let folder = folder("KILL");
    let at = folder.path();
    let listed = experiment(at, &["--dry-run"]).assert().code(0);
    let listed = text(&listed.get_output().stdout);
    assert!(listed.contains("exp_script-wrong_best-of_s2") && listed.contains("to do"), "{listed}");
    assert!(!dir(at).exists(), "nothing was done");

    // The script kills it at the third call.
    experiment(at, &[]).assert().failure();
    let n_calls = || fs::read_to_string(at.join("calls")).unwrap().lines().count();
    assert_eq!((n_calls(), states(at).len()), (3, 2));
    let first = dir(at).join("exp_right_repair_s1/run.json");
    let finished = fs::read(&first).unwrap();

    // A process may end between making a run's folder and describing the run.
    let unwritten = dir(at).join("exp_script-wrong_best-of_s2");
    fs::create_dir(&unwritten).unwrap();
    fs::write(unwritten.join("run.lock"), "").unwrap();

    // Calls of all runs count, the one in flight too.
    let stopped = experiment(at, &["--max-calls", "6"]).assert().code(7);
    let said = text(&stopped.get_output().stderr);
    assert!(said.contains("the cap of 6 LLM calls per run is reached"), "{said}");
    assert!(said.contains("go on with `kgen experiment exp.toml --max-calls 12`"), "{said}");
    assert!(n_calls() <= 6, "{}", n_calls());

    let done = experiment(at, &["--max-calls", "100"]).assert().code(1);
    let printed = text(&done.get_output().stdout);
    let states = states(at);
    assert!(states.len() == 8 && states.iter().all(|(_, s)| s == "finished"), "{states:?}");
    assert_eq!(fs::read(&first).unwrap(), finished, "what was finished is not done again");
    for file in ["comparison.txt", "comparison.csv", "comparison.json", "comparison.html"] {
        assert!(dir(at).join(file).exists(), "{file}");
    }
    assert_eq!(fs::read_to_string(dir(at).join("comparison.txt")).unwrap().trim(), printed.trim());
    for part in
        ["right, strategy repair", "wrong, strategy best-of", "emulator only", "not measured"]
    {
        assert!(printed.contains(part), "{part}\n{printed}");
    }

    let calls_before = n_calls();
    let again = experiment(at, &["--format", "json"]).assert().code(1);
    assert_eq!(n_calls(), calls_before, "nothing is left to be done");
    let json = documents::data(&again.get_output().stdout);
    let arms: Vec<_> = json["arms"].as_array().unwrap().iter().collect();
    assert_eq!(arms.len(), 4);
    for arm in arms {
        let share = if arm["name"].as_str().unwrap().starts_with("right") { 1.0 } else { 0.0 };
        assert_eq!((&arm["correct"]["value"], &arm["n_samples"]), (&share.into(), &2.into()));
    }
    // The folder stands for its runs, and each of them has its name.
    kgen(at, &["compare", "exp", "--format", "csv"]).assert().code(0);
    kgen(at, &["report", "exp_right_repair_s1"]).assert().code(0);

    let file = fs::read_to_string(at.join("exp.toml")).unwrap();
    fs::write(at.join("exp.toml"), file.replace("max_attempts = 2", "max_attempts = 3")).unwrap();
    let changed = experiment(at, &[]).assert().code(3);
    let said = text(&changed.get_output().stderr);
    assert!(said.contains("it is not what") && said.contains("another `name`"), "{said}");
}

#[test]
fn ctrl_c_finishes_what_was_begun_and_the_same_command_goes_on() {
    let folder = folder("INT");
    let at = folder.path();
    let stopped = experiment(at, &[]).assert().code(130);
    let said = text(&stopped.get_output().stderr);
    assert!(said.contains("interrupted; go on with `kgen experiment exp.toml`"), "{said}");
    let states = states(at);
    assert!((2..8).contains(&states.len()), "{states:?}");
    // The finished runs are compared.
    assert!(dir(at).join("comparison.json").exists());
    let listed = experiment(at, &["--dry-run"]).assert().code(0);
    let listed = text(&listed.get_output().stdout);
    assert!(listed.contains("finished") && listed.contains("to do"), "{listed}");
}

#[test]
fn prompts_of_all_runs_await_their_replies() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "name = \"exp\"\nllm.provider = \"mailbox\"\nmatrix.seeds = [1, 2]\nmatrix.ops = [\"relu\"]";
    fs::write(folder.path().join("exp.toml"), lines).unwrap();
    let waiting = experiment(folder.path(), &[]).assert().code(6);
    let said = text(&waiting.get_output().stderr);
    assert!(said.contains("prompts await replies; go on with"), "{said}");
    let states = states(folder.path());
    let awaiting = |run: &str| (run.to_owned(), "awaiting_replies".to_owned());
    assert_eq!(states, [awaiting("exp_s1"), awaiting("exp_s2")]);
    let table = text(&waiting.get_output().stdout);
    assert!(
        table.contains("not reached") && table.contains("Not finished: exp_s1, exp_s2."),
        "{table}"
    );
}

#[test]
fn impossible_settings_are_refused_before_anything_begins() {
    let fails = |lines: &str, code: i32, says: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("exp.toml"), lines).unwrap();
        let failed = experiment(folder.path(), &[]).assert().code(code);
        let said = text(&failed.get_output().stderr);
        assert!(said.contains(says), "{says}\n{said}");
        assert!(!dir(folder.path()).exists(), "{lines}");
    };
    let matrix = |lines: &str| format!("name = \"exp\"\n[matrix]\n{lines}");
    fails(&matrix(""), 3, "the matrix is empty");
    fails(&matrix("strategies = [\"beem\"]"), 3, "the strategies are repair, best-of, beam");
    fails(&matrix("models = [\"nobody/gpt\"]"), 3, "no provider is named for `nobody/gpt`");
    fails(&matrix("seeds = [1]\n[rnu]\nmax_attempts = 1"), 3, "unknown setting `rnu.max_attempts`");
    fails(&matrix("seeds = [1]\n[run]\nseed = 1"), 3, "contradict each other");
    fails(&matrix("seeds = [1]"), 4, "no provider is named, and no key is there");
    fails(&matrix("ops = [\"reluu\"]\n[llm]\nprovider = \"mailbox\""), 2, "reluu");
    let seeds: Vec<String> = (0..1001).map(|seed| seed.to_string()).collect();
    let many = format!("seeds = [{}]\n[llm]\nprovider = \"mailbox\"", seeds.join(", "));
    fails(&matrix(&many), 2, "the matrix makes 1001 runs");
    let folder = tempfile::tempdir().unwrap();
    experiment(folder.path(), &[]).assert().code(3);
}

#[test]
fn an_experiment_is_a_job_array_whose_tasks_are_its_runs() {
    let folder = folder("0");
    let at = folder.path();
    fs::remove_file(at.join("signal")).unwrap();
    let slurm = "\n[slurm]\noptions = ['--gpus=1']\nsetup = ['module load cuda']\nmax_tasks = 4\n";
    let file = at.join("exp.toml");
    let plain = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{plain}{slurm}")).unwrap();
    experiment(at, &["--slurm"]).assert().code(0);
    let script = fs::read_to_string(at.join("exp.sbatch")).unwrap();
    for line in ["#SBATCH --array=0-7%4", "#SBATCH --gpus=1", "module load cuda"] {
        assert!(script.lines().any(|l| l == line), "{line}\n{script}");
    }
    // A shell does a task as Slurm would; this one is the right model's.
    let task = |n: &str| {
        let mut command = kgen(at, &[]);
        let env: Vec<_> =
            command.get_envs().map(|(k, v)| (k.to_owned(), v.map(|v| v.to_owned()))).collect();
        command = Command::new("sh");
        command.arg(at.join("exp.sbatch")).current_dir(at).env_clear();
        command.envs(env.into_iter().filter_map(|(k, v)| Some((k, v?))));
        command.env("SLURM_ARRAY_TASK_ID", n);
        command
    };
    task("0").assert().code(0);
    assert_eq!(states(at), [("exp_right_repair_s1".to_owned(), "finished".to_owned())]);
    assert!(!dir(at).join("comparison.txt").exists());
    let beyond = task("8").assert().code(2);
    let said = text(&beyond.get_output().stderr);
    assert!(said.contains("there is no run 8: the experiment has 8 runs"), "{said}");
    // How tasks are submitted is no part of the experiment.
    fs::write(&file, format!("{plain}\n[slurm]\nmax_tasks = 1\n")).unwrap();
    let listed = experiment(at, &["--dry-run"]).assert().code(0);
    let listed = text(&listed.get_output().stdout);
    assert_eq!(listed.matches("finished").count(), 1, "{listed}");
    fs::write(&file, format!("{plain}\n[slurm]\ntasks = 1\n")).unwrap();
    let wrong = experiment(at, &["--slurm"]).assert().code(3);
    let said = text(&wrong.get_output().stderr);
    assert!(said.contains("`slurm` has no `tasks`"), "{said}");
}
