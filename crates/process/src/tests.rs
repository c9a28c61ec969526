use std::{io::Read as _, path::Path, time::Instant};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::*;

/// A generous limit for things that happen at once: the machine may be busy.
const SOON: Duration = Duration::from_secs(20);

fn sh(dir: &Path, script: &str) -> Spec {
    Spec::new("/bin/sh", dir).args(["-c", script])
}

fn is_gone(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.trim().parse().unwrap());
    let begin = Instant::now();
    while begin.elapsed() < SOON {
        if kill(pid, None).is_err() || is_zombie(pid) {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// An orphan that was killed stays a zombie where no init process reaps it.
fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[test]
fn output_status_and_input_arrive() {
    let dir = tempfile::tempdir().unwrap();
    for (script, code, stdout, stderr) in [
        ("cat; echo no >&2; exit 3", 3, "hello", "no"),
        ("pwd -P", 0, "", ""),
        ("head -c 1", 0, "h", ""),
        ("exec 0<&-; sleep 0; echo x", 0, "x\n", ""),
    ] {
        let output = run(&sh(dir.path(), script).stdin("hello")).unwrap();
        assert_eq!(output.status, Status::Exited(code), "{script}");
        assert_eq!(output.stderr_text(), stderr, "{script}");
        assert!(!output.timed_out && !output.stdout_truncated, "{script}");
        let text = String::from_utf8(output.stdout).unwrap();
        if script.starts_with("pwd") {
            let expected = dir.path().canonicalize().unwrap();
            assert_eq!(Path::new(text.trim()), expected);
        } else {
            assert_eq!(text, stdout, "{script}");
        }
    }
}

#[test]
fn the_environment_holds_what_is_listed_or_given_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(&sh(dir.path(), "env").env("GIVEN", "1")).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("GIVEN=1\n") && text.contains("PATH="), "{text}");
    // cargo sets this one for tests.
    assert!(!text.contains("CARGO_MANIFEST_DIR"), "{text}");
}

#[test]
fn the_values_of_variables_are_never_printed() {
    let spec = Spec::new("x", "/").env("SOME_KEY", "sekret");
    assert!(!format!("{spec:?}").contains("sekret"));
}

#[test]
fn a_program_that_does_not_exist_and_a_folder_that_does_not_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = run(&Spec::new("/no/such/program", dir.path())).unwrap_err();
    assert_eq!(error.to_string(), "failed to start `/no/such/program`");
    let error = run(&Spec::new("/bin/sh", "/no/such/folder")).unwrap_err();
    assert!(error.to_string().contains("`/no/such/folder` does not exist"), "{error}");
}

#[test]
fn output_beyond_the_caps_is_dropped_and_does_not_block() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = sh(dir.path(), "head -c 3000000 /dev/zero; echo tail >&2");
    (spec.stdout_cap, spec.stderr_cap) = (1000, 3);
    let output = run(&spec).unwrap();
    assert_eq!((output.stdout.len(), output.stdout_truncated), (1000, true));
    assert_eq!(output.stderr, b"il\n");
}

#[test]
fn a_deadline_ends_the_polite_by_sigterm_and_the_deaf_by_sigkill() {
    let dir = tempfile::tempdir().unwrap();
    for (script, signal) in [
        ("exec sleep 1000", Signal::SIGTERM),
        ("trap '' TERM; while :; do sleep 1000; done", Signal::SIGKILL),
        ("trap '' TERM; cat /dev/zero", Signal::SIGKILL),
    ] {
        let mut spec = sh(dir.path(), script).deadline(Duration::from_millis(300));
        spec.grace = Duration::from_millis(200);
        spec.stdout_cap = 10;
        let output = run(&spec).unwrap();
        assert!(output.timed_out, "{script}");
        assert_eq!(output.status, Status::Signalled(signal as i32), "{script}");
    }
}

#[test]
fn a_deaf_member_is_killed_after_a_polite_leader() {
    let dir = tempfile::tempdir().unwrap();
    let member = "(trap '' TERM; echo $$ >/dev/null; exec sleep 1000)";
    let script = format!("{member} & echo $!; exec sleep 1000");
    let mut spec = sh(dir.path(), &script).deadline(Duration::from_millis(300));
    spec.grace = SOON;
    let output = run(&spec).unwrap();
    assert_eq!(output.status, Status::Signalled(Signal::SIGTERM as i32));
    assert!(is_gone(&String::from_utf8(output.stdout).unwrap()));
}

#[test]
fn a_member_that_a_finished_leader_left_behind_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(&sh(dir.path(), "sleep 1000 & echo $!")).unwrap();
    assert_eq!(output.status, Status::Exited(0));
    assert!(is_gone(&String::from_utf8(output.stdout).unwrap()));
}

#[test]
fn a_process_that_left_the_group_cannot_hold_the_pipes_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    // The escaped process ends by itself: nothing may outlive the test for long.
    let output = run(&sh(dir.path(), "setsid sleep 4 & echo ready")).unwrap();
    assert_eq!(output.stdout, b"ready\n");
}

#[test]
fn dropping_a_child_kills_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn(&sh(dir.path(), "sleep 1000 & echo $!; wait")).unwrap();
    let mut line = [0; 16];
    let n_read = child.stdout.take().unwrap().read(&mut line).unwrap();
    let member = String::from_utf8(line[..n_read].to_vec()).unwrap();
    let leader = child.pid().to_string();
    assert_eq!(child.status(), None);
    drop(child);
    assert!(is_gone(&member) && is_gone(&leader));
}

#[test]
fn a_child_is_stopped_and_waited_for_without_a_runtime() {
    let dir = tempfile::tempdir().unwrap();
    let child = spawn(&sh(dir.path(), "exec sleep 1000")).unwrap();
    assert_eq!(child.wait_timeout(Duration::ZERO), None);
    let status = child.stop_blocking(SOON).unwrap();
    assert_eq!(status, Status::Signalled(Signal::SIGTERM as i32));
    assert_eq!(status.to_string(), "was killed by SIGTERM");
    // A second stop of a dead child is no error and signals nobody.
    assert_eq!(child.stop_blocking(SOON).unwrap(), status);
}

#[test]
fn limits_reach_the_child() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = sh(dir.path(), "ulimit -v; ulimit -c");
    spec.memory_bytes = Some(1 << 30);
    assert_eq!(run(&spec).unwrap().stdout, b"1048576\n0\n");
}

#[tokio::test]
async fn run_works_inside_a_runtime_and_run_async_is_cancelled_by_dropping() {
    let dir = tempfile::tempdir().unwrap();
    assert!(run(&sh(dir.path(), "true")).unwrap().status.is_success());
    let pid_file = dir.path().join("pid");
    let spec = sh(dir.path(), "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000");
    let begin = Instant::now();
    {
        let run = run_async(&spec);
        let seen = async {
            while !pid_file.exists() && begin.elapsed() < SOON {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            output = run => panic!("ended: {output:?}"),
            () = seen => {}
        }
    }
    assert!(is_gone(&std::fs::read_to_string(&pid_file).unwrap()));
}
