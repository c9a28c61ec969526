//! Signals, and processes that are killed.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    bench::{Bench, reply, right, strs},
    server::{Answer, Server, chat, response},
};

/// The limit after a signal: replies have four seconds.
const SOON: Duration = Duration::from_secs(8);

/// A state of a run: how the server answers, settings, and the number of signals to try: open requests get
/// their four seconds each time.
type State = (&'static str, fn() -> Answer, &'static [(&'static str, &'static str)], usize);

const STATES: &[State] = &[
    ("a rate limit", || Answer::Bytes(response(429, &[("retry-after", "300")], b"{}")), &[], 3),
    ("retries", || Answer::Bytes(response(500, &[], b"{}")), &[("KGEN_LLM_RETRIES", "1000")], 3),
    ("broken connections", || Answer::Bytes(Vec::new()), &[("KGEN_LLM_RETRIES", "1000")], 3),
    ("an answer that does not come", || Answer::Silence(Vec::new()), &[], 1),
    (
        "half of an answer",
        || {
            let whole = chat(&reply(2));
            Answer::Silence(whole[..whole.len() / 2].to_vec())
        },
        &[],
        1,
    ),
];

#[test]
fn a_hangup_that_kgen_was_started_to_ignore_is_ignored() {
    let late = |prompt: &str| Answer::Late(Duration::from_secs(1), right(prompt));
    let server = Server::start(move |_, prompt| late(prompt));
    let bench = Bench::new();
    let args = Bench::generate(&server, "twice");
    let mut running = bench.start_without_hangup(&strs(&args));
    running.until("a request", || server.n_requests() > 0);
    running.signal(Signal::SIGHUP);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

#[test]
fn a_signal_ends_commands_that_are_no_run_with_their_document() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
        let bench = Bench::new();
        let mut running = bench.start(&["selftest", "--judge", "--format", "json"]);
        let err = bench.path().join("err");
        let judges = || fs::read_to_string(&err).unwrap().contains("controls and variants on");
        running.until("the judge", judges);
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(code), "{}", ended.said());
        let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(
            (&document["exit_code"], &document["command"]),
            (&code.into(), &"selftest".into())
        );
        assert!(document["data"].is_null() && document["error"].is_null(), "{document}");
    }
}

#[test]
fn a_signal_ends_every_wait_and_nothing_more_is_sent() {
    let signals = [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)];
    for (what, answer, settings, n_signals) in STATES {
        for (signal, code) in signals.into_iter().take(*n_signals) {
            let server = Server::start(move |_, _| answer());
            let mut bench = Bench::new();
            bench.env.extend(settings.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())));
            let args = Bench::generate(&server, "twice");
            let mut running = bench.start(&strs(&args));
            running.until("a request", || server.n_requests() > 0);
            thread::sleep(Duration::from_millis(300));
            running.signal(signal);
            let (begin, sent) = (Instant::now(), server.n_requests());
            let ended = running.end();
            let said = ended.said();
            assert!(begin.elapsed() < SOON, "{what}, {signal}: {:?} {said}", begin.elapsed());
            assert_eq!(
                (ended.code, server.n_requests()),
                (Some(code), sent),
                "{what}, {signal}: {said}"
            );
            assert!(said.contains("kgen resume r"), "{what}, {signal}: {said}");
            bench.is_solved_by_one_request(what);
        }
    }
}

#[test]
fn a_reply_that_comes_soon_after_a_signal_is_kept() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let server = Server::start(|_, prompt| Answer::Late(Duration::from_secs(1), right(prompt)));
        let bench = Bench::new();
        let args = Bench::generate(&server, "twice");
        let mut running = bench.start(&strs(&args));
        running.until("a request", || server.n_requests() > 0);
        running.signal(signal);
        let ended = running.end();
        assert!(matches!(ended.code, Some(130 | 143)), "{signal}: {}", ended.said());
        let resumed = bench.resume(&server);
        assert_eq!((resumed.code, server.n_requests()), (Some(0), 1), "{}", resumed.said());
    }
}

/// Waits until a process is gone or a zombie that nobody reaps.
fn is_gone(pid: i32) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < SOON {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_zombie =
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        if kill(Pid::from_raw(pid), None).is_err() || is_zombie {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn nothing_that_a_command_started_outlives_a_killed_kgen() {
    let bench = Bench::new();
    let script = "sleep 1000 & echo $! >> PIDS; echo $$ >> PIDS; wait";
    let pids = bench.path().join("pids");
    let script = script.replace("PIDS", pids.to_str().unwrap());
    fs::write(
        bench.path().join("config.toml"),
        format!("[providers.agent]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", '{script}']\n"),
    )
    .unwrap();
    let mut running = bench.start(&[
        "generate",
        "--provider",
        "agent",
        "--suite",
        "two.toml",
        "--ops",
        "twice",
        "--run-id",
        "r",
    ]);
    let read = || fs::read_to_string(&pids).unwrap_or_default();
    running.until("the command", || read().lines().count() == 2);
    running.signal(Signal::SIGKILL);
    drop(running);
    for pid in read().lines() {
        assert!(is_gone(pid.parse().unwrap()), "process {pid} lives on");
    }
}

#[test]
fn folders_of_killed_workers_go_at_the_next_start() {
    let bench = Bench::new();
    let scratch = bench.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let bench = bench.env("TMPDIR", scratch.to_str().unwrap());
    let server = Server::start(|_, _| Answer::Silence(Vec::new()));
    let args = Bench::generate(&server, "twice");
    let mut running = bench.start(&strs(&args));
    running.until("a request", || server.n_requests() > 0);
    running.signal(Signal::SIGKILL);
    drop(running);
    let folders = || fs::read_dir(&scratch).unwrap().count();
    assert!(folders() > 0, "the workers had folders");
    let healthy = Server::start(|_, prompt| Answer::Bytes(right(prompt)));
    assert_eq!(bench.resume(&healthy).code, Some(0));
    assert_eq!(folders(), 0);
}
