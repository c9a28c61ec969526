//! `kgen profile` of commands and of reports, with a perf that is a script.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use assert_cmd::{Command, assert::Assert};

use crate::{documents, flow};

/// Does with its flags what perf does, without counting or sampling anything.
const PERF: &str = r#"#!/bin/sh
to_command() { while [ "$1" != -- ]; do [ "$1" = -o ] && out=$2; shift; n=$((n + 1)); done; }
n=1
case $1 in
--version) echo "perf version 9.9" ;;
script) printf 'app 7 1.5: 100 cpu-clock:\n\t10 hot+0x1 (/bin/app)\n\t20 main+0x2 (/bin/app)\n\n' ;;
stat) to_command "$@"; shift $n; printf '2000000000;ns;duration_time;1;100.00;;\n<not supported>;;cycles;0;100.00;;\n5;msec;task-clock;1;100.00;0.5;CPUs utilized\n' >"$out"; exec "$@" ;;
record) to_command "$@"; shift $n; printf PERFILE2 >"$out"; exec "$@" ;;
esac
"#;

/// A perf that the kernel refuses.
const REFUSED: &str = "#!/bin/sh\n[ $1 = --version ] && exit\n\
    echo 'Access to performance monitoring is limited: perf_event_paranoid setting is 4' >&2\nexit 255\n";

/// An ncu that profiles two kernels, starts a while before the command, and keeps its own words.
const NCU: &str = r#"#!/bin/sh
case $1 in
--version) echo "Version 9.9.9.9" ;;
--import) cat "$(dirname "$0")/raw.csv" ;;
*) echo "$@" >>words; sleep 0.4; while [ "$1" != -o ]; do shift; done; echo report >"$2"; shift 2; exec "$@" ;;
esac
"#;

/// A Python whose tracer takes longer for its trace than the program runs.
const PYTHON: &str = r#"#!/bin/sh
sleep 0.2; : >"$(dirname "$2")/torch_ended"; sleep 0.4
echo '[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":2}]' >"$2"
"#;

/// Returns kgen in a folder whose `bin` is the first of `PATH` and has such a perf.
fn with_perf(folder: &Path, perf: &str, args: &[&str]) -> Command {
    with_tool(folder, "perf", perf, args)
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn with_tool(folder: &Path, name: &str, text: &str, args: &[&str]) -> Command {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    script(&bin.join(name), text);
    let mut command = flow::kgen(folder, args);
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    command
}

fn said(assert: &Assert) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&assert.get_output().stdout), text(&assert.get_output().stderr))
}

#[test]
fn a_command_that_fails_has_a_profile_and_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = ["profile", "--tool", "perf", "--out", "p", "--", "sh", "-c", "echo own; exit 7"];
    let assert = with_perf(at, PERF, &line).assert().code(0);
    let (out, err) = said(&assert);
    assert!(
        out.contains("exit code 7") && out.contains("hot") && out.lines().count() <= 35,
        "{out}"
    );
    assert!(out.contains("IPC not measured") && out.contains("CPUs utilized 0.5: below"), "{out}");
    assert!(out.contains("duration 2.00 s") && out.contains("): 2.00 s ("), "{out}");
    assert!(err.contains("own") && !out.contains("own\n"), "{err}");
    assert_eq!(fs::read_to_string(at.join("p/summary.txt")).unwrap(), out);
    assert!(fs::read_to_string(at.join("p/flame.svg")).unwrap().contains("main"));
    let line = [&line[..3], &["--format", "json"], &line[3..]].concat();
    let assert = with_perf(at, PERF, &line).assert().code(0);
    let document = documents::document(&assert.get_output().stdout);
    let data = &document["data"];
    assert_eq!(document["schema"], "kgen/profile-command/1");
    assert_eq!(data["seconds"], 2.0);
    assert!(data["too_short"].as_str().unwrap().contains("1 of the 100 samples"), "{data}");
    assert_eq!(
        (&data["command_exit_code"], &data["tool_version"]),
        (&7.into(), &"perf version 9.9".into())
    );
    assert_eq!(
        (&data["counters"]["cycles"], &data["counters"]["task-clock"]),
        (&().into(), &5.0.into())
    );
    assert_eq!(
        (&data["functions"][0]["name"], &data["functions"][0]["samples"]),
        (&"hot".into(), &1.into())
    );
    let stored = fs::read(at.join("p/summary.json")).unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&stored).unwrap()["tool"], "perf");
}

#[test]
fn a_command_is_ended_after_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let line = [
        "profile",
        "--tool",
        "perf",
        "--max-time",
        "0.5s",
        "--format",
        "json",
        "--",
        "sleep",
        "50",
    ];
    let began = Instant::now();
    let assert = with_perf(folder.path(), PERF, &line).assert().code(0);
    assert!(began.elapsed() < Duration::from_secs(30));
    let data = documents::data(&assert.get_output().stdout);
    assert_eq!(data["command_exit_code"], serde_json::Value::Null);
    assert!(data["summary"][0].as_str().unwrap().contains("ended before its end"));
    assert_eq!(profiles(folder.path()), 1);
}

#[test]
fn tools_that_are_missing_or_refused_say_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let missing = flow::kgen(at, &["profile", "--tool", "xctrace", "--", "true"]).assert().code(5);
    assert!(said(&missing).1.contains("Xcode"));
    assert!(said(&missing).1.contains("`xctrace` is not installed"));
    let line = ["profile", "--tool", "perf", "--", "true"];
    let refused = with_perf(at, REFUSED, &line).assert().code(5);
    assert!(said(&refused).1.contains("sysctl kernel.perf_event_paranoid"), "{}", said(&refused).1);
    let args = ["profile", "--tool", "xctrace", "--format", "json", "--", "true"];
    let document = flow::kgen(at, &args).assert().code(5);
    let document = documents::document(&document.get_output().stdout);
    assert_eq!(
        (&document["schema"], &document["error"]["kind"]),
        (&"kgen/profile-command/1".into(), &"device".into())
    );
}

#[test]
fn a_command_has_its_own_time_and_ncu_a_bound_of_launches() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = ["profile", "--tool", "ncu", "--launches", "2", "--out", "p", "--format", "json"];
    let mut kgen = with_tool(at, "ncu", NCU, &[&line[..], &["--", "sleep", "0.2"]].concat());
    let raw = include_str!("../../crates/profile/fixtures/ncu-tiny-raw.csv");
    fs::write(at.join("bin/raw.csv"), raw).unwrap();
    let line = ["profile", "--tool", "torch", "--out", "t", "--format", "json", "--"];
    let line = [&line[..], &["python3", "train.py"]].concat();
    let mut traced = with_tool(at, "python3", PYTHON, &line);
    for kgen in [&mut kgen, &mut traced] {
        let data = documents::data(&kgen.assert().code(0).get_output().stdout);
        let seconds = |name: &str| data[name].as_f64().unwrap();
        // A loaded machine takes longer, but the tool's own 0.4 s are never in it.
        assert!(0.15 < seconds("seconds"), "{}", data["seconds"]);
        assert!(seconds("seconds") + 0.3 < seconds("seconds_with_profiler"), "{data}");
    }
    assert!(fs::read_to_string(at.join("words")).unwrap().contains(" --launch-count=2 "));
}

#[test]
fn programs_that_are_not_there_are_refused_before_a_tool_starts() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir_all(at.join("bin")).unwrap();
    script(&at.join("train_it"), "#!/bin/sh\n");
    script(&at.join("bin/a_program_of_mine"), "#!/bin/sh\n");
    fs::write(at.join("train.py"), "print(1)\n").unwrap();
    let perf = "#!/bin/sh\necho started >>started\nexit 1\n";
    for (command, says) in [
        (&["no_such_program_here"][..], "there is no program `no_such_program_here`"),
        (&["a_progam_of_mine"], "did you mean `a_program_of_mine`?"),
        (&["./tran_it"], "did you mean `./train_it`?"),
        (&["train_it"], "did you mean `./train_it`?"),
        (&["./bin"], "./bin is a folder"),
        (&["./train.py"], "kgen profile -- python3 ./train.py"),
        (&["train.py"], "kgen profile -- python3 train.py"),
        (&["python3 train.py"], "kgen profile -- python3 train.py"),
        (&["A=1", "python3"], "env A=1"),
        (&[""], "no program ``"),
    ] {
        let line = [&["profile", "--tool", "perf", "--"][..], command].concat();
        let assert = with_perf(at, perf, &line).assert().code(2);
        assert!(said(&assert).1.contains(says), "{command:?}: {}", said(&assert).1);
    }
    assert!(!at.join("started").exists());
    assert_eq!(profiles(at), 0);
}

/// Counts the folders of profiles.
fn profiles(at: &Path) -> usize {
    let made = fs::read_dir(at).unwrap().filter_map(Result::ok);
    made.filter(|entry| entry.file_name().to_string_lossy().starts_with("profile_")).count()
}

#[test]
fn a_profile_that_fails_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for out in [&[][..], &["--out", "a/b/c"]] {
        let line = [&["profile", "--tool", "perf"], out, &["--", "true"]].concat();
        with_perf(at, REFUSED, &line).assert().code(5);
        let line = [&["profile", "--tool", "torch"], out, &["--", "true"]].concat();
        flow::kgen(at, &line).assert().code(2);
    }
    assert!(profiles(at) == 0 && !at.join("a").exists());
    // Of a folder that was there, only a profile's own files go.
    fs::create_dir(at.join("mine")).unwrap();
    fs::write(at.join("mine/notes"), "").unwrap();
    with_perf(at, REFUSED, &["profile", "--tool", "perf", "--out", "mine", "--", "true"])
        .assert()
        .code(5);
    let left = fs::read_dir(at.join("mine")).unwrap().count();
    assert!(left == 1 && at.join("mine/notes").is_file());
}

#[test]
fn wrong_command_lines_are_usage() {
    let folder = tempfile::tempdir().unwrap();
    for (args, says) in [
        (&["profile"][..], "kgen profile FILE.cu --op OP"),
        (&["profile"], "kgen profile -- COMMAND"),
        (&["profile", "--op", "relu"], "kgen profile -- COMMAND"),
        (&["profile", "relu.cu"], "--op"),
        (&["profile", "--launches", "3"], "COMMAND"),
        (&["profile", "--launches", "0", "--tool", "ncu", "--", "true"], "--launches"),
        (&["profile", "--launches", "3", "--tool", "perf", "--", "true"], "--tool ncu"),
        (&["profile", "--tool", "perf"], "COMMAND"),
        (&["profile", "--op", "relu", "--", "true"], "--op"),
        (&["profile", "--read", "x", "--", "true"], "--read"),
        (&["profile", "--max-time", "0s", "--", "true"], "a time above 0"),
        (&["profile", "--tool", "torch", "--", "true"], "Python program"),
        (&["profile", "--thresholds", "--format", "json"], "table"),
    ] {
        let assert = flow::kgen(folder.path(), args).assert().code(2);
        assert!(said(&assert).1.contains(says), "{args:?}: {}", said(&assert).1);
    }
}

#[test]
fn reports_that_are_there_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let trace = r#"[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":2}]"#;
    for (name, text, code, says) in [
        ("perf.txt", "app 7 1.5: 9 cycles:\n\t10 hot+0x1 (/bin/app)\n", 0, "hot"),
        ("trace.json", trace, 0, "aten::mm"),
        ("empty.csv", "", 3, "empty"),
        ("garbage.txt", "neither nor", 3, "no known report"),
        ("toc.xml", "<trace-toc/>", 3, "xctrace export"),
        ("table.xml", "<trace-query-result/>", 3, "no table"),
        ("x.sqlite", "SQLite format 3\0 not", 3, "nsys"),
    ] {
        fs::write(at.join(name), text).unwrap();
        let assert = flow::kgen(at, &["profile", "--read", name]).assert().code(code);
        let (out, err) = said(&assert);
        assert!(format!("{out}{err}").contains(says), "{name}: {out}{err}");
    }
    flow::kgen(at, &["profile", "--read", "nowhere"]).assert().code(3);
    let args = ["profile", "--read", "perf.txt", "--out", "made", "--format", "json"];
    let assert = flow::kgen(at, &args).assert().code(0);
    assert_eq!(documents::data(&assert.get_output().stdout)["command"], serde_json::json!([]));
    assert!(at.join("made/flame.svg").is_file() && at.join("made/summary.json").is_file());
}

#[test]
fn the_thresholds_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let assert = flow::kgen(folder.path(), &["profile", "--thresholds"]).assert().code(0);
    let (out, _) = said(&assert);
    assert!(
        out.contains("IPC") && out.contains("below 1") && out.contains("usually for memory"),
        "{out}"
    );
}
