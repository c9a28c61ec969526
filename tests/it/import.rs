//! `kgen import` with a Python that plays the tracer: it hands out a trace that was made once.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use tempfile::TempDir;

use super::flow::kgen;

const TRACE: &str = include_str!("../../crates/import/tests/mixer.json");

/// Answers for one file, whose name is `mixer`.
const TRACED: &str = r#"cp "$(dirname "$0")/mixer.json" "$2/mixer.json"
echo '{"name": "mixer", "ok": true}'"#;

/// Answers when it is asked for its packages.
const PACKAGES: &str = r#"if [ "$1" = -c ]; then
  echo '{"python": "3.12.3", "torch": "2.11.0", "triton": null, "flag_gems": null}'
  exit
fi"#;

/// Makes a folder with a module and a Python of these lines.
fn folder(python: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mixer.py"), "class Model: pass\n").unwrap();
    fs::write(folder.path().join("mixer.json"), TRACE).unwrap();
    let path = folder.path().join("python");
    fs::write(&path, format!("#!/bin/sh\n{PACKAGES}\n{python}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn import(path: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let args = [&["import"], args, &["--python", "./python"]].concat();
    let output = kgen(path, &args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn an_imported_module_is_an_op_that_every_command_takes() {
    let folder = folder(TRACED);
    let path = folder.path();
    let (code, out, said) = import(path, &["module", "mixer.py", "-o", "problems"]);
    assert_eq!((code, out.as_str()), (Some(0), "problems/mixer.suite.toml\n"), "{said}");
    assert!(said.contains("as the module in f64 in"), "{said}");
    assert!(said.contains("1 problem imported"), "{said}");
    let mut shown = kgen(path, &["show", "mixer", "--suite", "problems/mixer.suite.toml"]);
    let shown = shown.output().unwrap();
    assert!(shown.status.success());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("mixer(Tensor x, Tensor gate"), "{shown}");
}

#[test]
fn a_graph_that_is_not_the_module_is_not_written() {
    let folder = folder(&format!(
        r#"sed -i 's/{{"float":"1.5"}}/{{"float":"1.25"}}/g' "$(dirname "$0")/mixer.json"
{TRACED}"#
    ));
    let (code, _, said) = import(folder.path(), &["module", "mixer.py", "-o", "problems"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("its graph does not give the module's values"), "{said}");
    assert!(!folder.path().join("problems/mixer.toml").exists());
}

#[test]
fn a_module_that_cannot_be_traced_names_its_line_and_a_dead_tracer_its_last_words() {
    let refused = folder(
        r#"echo '{"name": "mixer", "ok": false, "error": "forward draws random numbers", "line": 3}'"#,
    );
    let (code, _, said) = import(refused.path(), &["module", "mixer.py"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("mixer.py, line 3: forward draws random numbers"), "{said}");

    let dead = folder("echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1");
    let (code, _, said) = import(dead.path(), &["module", "mixer.py"]);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("No module named 'torch'"), "{said}");

    let (code, _, said) = import(dead.path(), &["module", "nowhere.py"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("cannot read nowhere.py"), "{said}");
}
