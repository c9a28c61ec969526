//! `kgen report --format html` on the sessions that come with kgen.

use std::{collections::BTreeMap, fs, path::Path};

use assert_cmd::Command;

fn report(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgen"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_clear().arg("report").args(args);
    command
}

fn page(run: &str) -> String {
    let output = report(&[run, "--format", "html"]).assert().code(0).get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

/// Every file below a folder with its time of change.
fn files(folder: &Path, found: &mut BTreeMap<std::path::PathBuf, std::time::SystemTime>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.insert(path.clone(), fs::metadata(&path).unwrap().modified().unwrap());
        }
    }
}

#[test]
fn a_run_on_a_gpu_has_its_pictures_and_is_not_touched() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated_kernels/demo-planner");
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(&folder, &mut before);
    let page = page("generated_kernels/demo-planner");
    files(&folder, &mut after);
    assert!(before == after, "a file of the run was changed");
    assert!(page.starts_with("<!DOCTYPE html>"));
    // Those of `kgen report` as a table: 1.36, 0.28 and 1.51 times as fast as aten.
    for part in [
        "demo-planner: 3 of 3 ops solved",
        "1.36×",
        "0.282×",
        "1.51×",
        "id=\"speedup-2\"",
        "id=\"roof-0\"",
        "id=\"attempts-0\"",
        "Distribution of samples",
        "pre class=\"diff\"",
        "pre class=\"source\"",
        "What the model was told",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "nothing is asked of the network"
    );
}

#[test]
fn a_run_on_the_emulator_says_that_nothing_was_measured() {
    let page = page("generated_kernels/demo");
    assert!(page.contains("Not measured: the emulator gives no times."));
    assert!(page.contains("12 of 12 ops solved") && page.contains("id=\"attempts-0\""));
}

#[test]
fn it_is_written_into_a_file_and_opened_only_as_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.html");
    let file = file.to_str().unwrap();
    // Without PATH there is no program that opens it: that is said, and the page is there.
    let assert = report(&["generated_kernels/demo", "--open", "--output", file]).assert().code(0);
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(said.contains("no browser was started") && said.contains(file), "{said}");
    assert!(assert.get_output().stdout.is_empty());
    assert!(fs::read_to_string(file).unwrap().starts_with("<!DOCTYPE html>"));
    report(&["generated_kernels/demo", "--open", "--format", "json"]).assert().code(2);
}

#[test]
fn the_browser_is_started_with_the_page() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (opener, log) = (folder.path().join("xdg-open"), folder.path().join("log"));
    // It goes on for a while, as a browser does.
    fs::write(&opener, format!("#!/bin/sh\nsleep 0.3\necho \"$1\" > {}\n", log.display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let file = folder.path().join("run.html");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let args = ["generated_kernels/demo", "--open", "--output", file.to_str().unwrap()];
    let assert = report(&args).env("PATH", path).assert().code(0);
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(!said.contains("no browser"), "{said}");
    let opened = fs::read_to_string(log).unwrap();
    assert_eq!(opened.trim(), file.canonicalize().unwrap().to_str().unwrap());
}
