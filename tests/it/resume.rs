//! kgen killed by SIGKILL: the run goes on where it was.

use std::{
    fs,
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kgen_record::OpKey;
use kgen_store::{CallState, Run, RunState, StageFile};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{process::Child, time::sleep};
use wiremock::{MockServer, Request};

use crate::agent::{RELU, SILU, arguments, prompt, reply, server, streamed};

#[expect(clippy::disallowed_methods, reason = "the test kills kgen, so it must have its process")]
fn spawn(folder: &Path, server: &MockServer, command: &[&str]) -> Child {
    tokio::process::Command::new(env!("CARGO_BIN_EXE_kgen"))
        .current_dir(folder)
        .args(arguments(folder, server, command))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

async fn code(mut child: Child) -> Option<i32> {
    child.wait().await.unwrap().code()
}

fn state(folder: &Path) -> Option<RunState> {
    let run = Run::open(&folder.join("generated_kernels/r")).ok()?;
    Some(RunState::scan(&run).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_flight_is_recorded_as_lost_and_sent_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let is_slow = Arc::new(AtomicBool::new(true));
    let slow = Arc::clone(&is_slow);
    let server = server(move |_: &Request| {
        let response = streamed(&reply(RELU));
        if slow.load(Ordering::SeqCst) {
            response.set_delay(Duration::from_secs(3600))
        } else {
            response
        }
    })
    .await;
    let mut child = spawn(folder, &server, &["generate", "--ops", "relu", "--run-id", "r"]);
    while server.received_requests().await.unwrap().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "kgen ended by itself");
        sleep(Duration::from_millis(5)).await;
    }
    child.kill().await.unwrap();

    is_slow.store(false, Ordering::SeqCst);
    assert_eq!(code(spawn(folder, &server, &["resume", "r"])).await, Some(0));
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
    let run = Run::open(&folder.join("generated_kernels/r")).unwrap();
    let totals = run.info().totals.unwrap();
    assert_eq!((totals.calls, totals.lost_calls, totals.solved), (2, 1, 1));
    let attempt = &state(folder).unwrap().ops[&OpKey("relu".to_owned())].attempts[&1];
    let calls: Vec<_> = attempt.calls.values().copied().collect();
    assert_eq!(calls, [CallState::Lost, CallState::Replied]);
    // The attempt's file says the same to people.
    let lost = folder.join("generated_kernels/r/relu/relu_attempt_1.call_1.lost.json");
    assert!(fs::read_to_string(lost).unwrap().contains("\"possibly_billed\": true"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_keeps_the_reply_that_was_paid_for_and_a_second_one_stops_at_once() {
    for (n_signals, n_lost, stored) in [(1, 0, &[StageFile::Kernel][..]), (2, 1, &[])] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let delay = Duration::from_secs(if n_signals == 1 { 1 } else { 3600 });
        let server = server(move |_: &Request| streamed(&reply(RELU)).set_delay(delay)).await;
        let mut child = spawn(folder, &server, &["generate", "--ops", "relu", "--run-id", "r"]);
        while server.received_requests().await.unwrap().is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "kgen ended by itself");
            sleep(Duration::from_millis(5)).await;
        }
        let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
        for _ in 0..n_signals {
            kill(pid, Signal::SIGINT).unwrap();
            sleep(Duration::from_millis(300)).await;
        }
        assert_eq!(code(child).await, Some(130), "{n_signals} signals");
        let state = state(folder).unwrap();
        let attempt = &state.ops[&OpKey("relu".to_owned())].attempts[&1];
        assert_eq!(attempt.n_calls(CallState::InFlight), n_lost, "{n_signals} signals");
        assert!(attempt.files.iter().eq(stored), "{:?}", attempt.files);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_it_asks_for_no_stored_reply_twice() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = server(|request: &Request| {
        let prompt = prompt(request);
        let right = if prompt.contains("aten.relu") { RELU } else { SILU };
        let n_earlier = prompt.matches("Verdict").count();
        streamed(&reply(if n_earlier == 0 { "y[0] = x[0];" } else { right }))
    })
    .await;
    let mut command = vec!["generate", "--run-id", "r"];
    let mut lived = Duration::from_millis(20);
    let exit = loop {
        let mut child = spawn(folder, &server, &command);
        if let Ok(exit) = tokio::time::timeout(lived, child.wait()).await {
            break exit.unwrap().code();
        }
        child.kill().await.unwrap();
        if state(folder).is_some() {
            command = vec!["resume", "r"];
        } else {
            // Killed before there was a run: nothing to go on with.
            drop(fs::remove_dir_all(folder.join("generated_kernels")));
        }
        lived = lived * 5 / 4;
    };
    assert_eq!(exit, Some(0));
    let state = state(folder).unwrap();
    let attempts: Vec<_> = state.ops.values().flat_map(|op| op.attempts.values()).collect();
    assert_eq!(attempts.len(), 4);
    for attempt in &attempts {
        assert!(attempt.record.is_some());
        assert_eq!(attempt.n_calls(CallState::Replied), 1);
    }
    // Whatever the server was asked is on record, and only lost calls were asked again.
    let n_asked = server.received_requests().await.unwrap().len();
    let n_lost: u32 = attempts.iter().map(|attempt| attempt.n_calls(CallState::Lost)).sum();
    let n_lost = usize::try_from(n_lost).unwrap();
    assert!(n_asked <= 4 + n_lost, "{n_asked} calls, {n_lost} lost");
    assert_eq!(state.n_calls(), u32::try_from(4 + n_lost).unwrap());
}
