//! `--launch`: workers at the other end of a command, which is lost in several ways.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use super::flow::{RELU, kgen, wrong_tail};

/// A folder with kernels, and the home of the other side, which the tests share: what is sent there is
/// large.
struct Elsewhere {
    folder: TempDir,
    home: PathBuf,
}

impl Elsewhere {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("right.cu"), RELU).unwrap();
        fs::write(folder.path().join("wrong.cu"), wrong_tail()).unwrap();
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("launch-home");
        fs::create_dir_all(&home).unwrap();
        Self { folder, home }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a prefix that gives the other side its own home, and runs its shell by a script.
    fn prefix(&self, script: &str) -> String {
        let path = self.path().join("prefix.sh");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        format!("env HOME='{}' {}", self.home.display(), path.display())
    }

    /// Judges a kernel; returns the exit code, the document and standard error.
    fn eval(&self, kernel: &str, prefix: &str) -> (i32, Value, String) {
        self.eval_on(1, kernel, prefix)
    }

    fn eval_on(&self, n_workers: u32, kernel: &str, prefix: &str) -> (i32, Value, String) {
        let args = ["eval", kernel, "--op", "relu", "--dtypes", "f32", "--seed", "5"];
        let n_workers = n_workers.to_string();
        let more = ["--launch", prefix, "--launch-workers", &n_workers, "--format", "json"];
        let output = kgen(self.path(), &args).args(more).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let document = serde_json::from_str(&text(output.stdout)).unwrap();
        (output.status.code().unwrap(), document, text(output.stderr))
    }
}

fn verdict(document: &Value) -> &Value {
    &document["data"]["verdict"]
}

#[test]
fn verdicts_are_those_of_workers_here() {
    let elsewhere = Elsewhere::new();
    // A login shell says things before it is asked.
    let prefix = elsewhere.prefix("echo Welcome; echo; exec \"$@\"");
    for (kernel, code, expected) in [("right.cu", 0, "passed"), ("wrong.cu", 1, "wrong_output")] {
        let (exit, document, said) = elsewhere.eval(kernel, &prefix);
        assert_eq!((exit, verdict(&document)), (code, &Value::from(expected)), "{said}");
    }
    // It was sent once, and nothing but caches is left.
    let nodes = elsewhere.home.join(".cache/kgen/nodes");
    let names: Vec<_> = fs::read_dir(nodes).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("new.")), "{names:?}");
}

#[test]
fn a_lost_worker_is_replaced_and_never_the_kernels_fault() {
    let elsewhere = Elsewhere::new();
    // The first one is cut off in the middle of its job.
    let cut = "\"$@\" | { sed -u '/\"kind\":\"stage\"/q'; kill -9 $$; }";
    let once = format!(
        "if mkdir {}/began 2>/dev/null; then {cut}; else exec \"$@\"; fi",
        elsewhere.path().display()
    );
    let (exit, document, said) = elsewhere.eval("wrong.cu", &elsewhere.prefix(&once));
    assert_eq!((exit, verdict(&document)), (1, &Value::from("wrong_output")), "{said}");
    assert!(said.contains("was lost"), "{said}");
    // All are; with as many as it may lose, none is waited for.
    let cut = elsewhere.prefix(cut);
    let (exit, document, said) = elsewhere.eval_on(5, "right.cu", &cut);
    let error = document["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("5 workers were lost over it"), "{document} {said}");
    assert_eq!(exit, 5, "{said}");
}

#[test]
fn a_prefix_that_starts_nothing_is_named_with_its_reason() {
    let elsewhere = Elsewhere::new();
    let script = |text: &str| elsewhere.prefix(text);
    let cases: [(&dyn Fn() -> String, &str); 4] = [
        (&|| "kgen-no-such-program".to_owned(), "kgen-no-such-program"),
        (&|| "'unfinished".to_owned(), "is no command"),
        (&|| script("echo no such partition >&2; exit 3"), "no such partition"),
        (&|| script("echo 'kgen-node need Plan9 mips'; cat >/dev/null"), "Plan9 mips"),
    ];
    for (prefix, expected) in cases {
        let prefix = prefix();
        let (exit, document, said) = elsewhere.eval("right.cu", &prefix);
        assert_ne!(exit, 0, "{prefix}");
        let text = document["error"].to_string();
        assert!(text.contains(expected), "{prefix}: {text} {said}");
    }
}
