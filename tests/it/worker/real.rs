//! The pool with kgen's own workers and a real compiler.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
};

use kgen_compile::{Toolchain, testing::toolchain};
use kgen_ops::suite;
use kgen_process::{Spec, Status};
use kgen_record::{Case, EvalRequest, Implementation, Limits, Stage, Target, Verdict, testing};
use kgen_settings::DeviceChoice;
use kgen_worker::{
    Pool, PoolConfig,
    protocol::{Job, Message, PROTOCOL, Role, Setup, Walls},
};

use super::fake::SOON;

/// A template whose instantiations double with each level: NVRTC is busy for hours.
const BOMB: &str = r#"/*@plan
launch("relu", grid=1, block=1, args=[self, out, self.numel])
@*/
template <int N, int M> struct B { static const int v = B<N - 1, 2 * M>::v + B<N - 1, 2 * M + 1>::v; };
template <int M> struct B<0, M> { static const int v = M; };
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {
  for (long long i = 0; i < n; i++) y[i] = x[i] + (T_out)(float)(B<26, 1>::v);
}
"#;

pub(super) const BROKEN: &str = r#"/*@plan
launch("relu", grid=1, block=1, args=[self, out, self.numel])
@*/
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) { y[0] = nonsense; }
"#;

pub(super) fn config(toolchain: &Toolchain) -> PoolConfig {
    let target = Target::h100_class();
    let mut config = PoolConfig::new(toolchain.clone(), DeviceChoice::Emu, target, 1);
    config.exe = env!("CARGO_BIN_EXE_kgen").into();
    config
}

pub(super) fn request(kernel: &str) -> EvalRequest {
    let cases = suite::load("smoke").unwrap().cases("relu", None, 1).unwrap();
    let cases: Vec<Case> = cases.into_iter().take(2).collect();
    EvalRequest {
        seed: 7,
        limits: Limits { compile_s: 3.0, ..Limits::default() },
        ..testing::request("relu", Implementation::kernel(kernel), cases)
    }
}

#[tokio::test]
async fn a_compile_bomb_is_ended_and_the_next_kernel_is_judged() {
    let pool = Pool::start(config(toolchain())).await.unwrap();
    let version = toolchain().version;
    assert!(pool.nvrtc().unwrap().starts_with(&format!("{}.", version.0)));
    let bomb = pool.evaluate(request(BOMB)).await.unwrap();
    // Time or memory, whichever runs out first.
    let ends = [Verdict::TimedOut, Verdict::CompileError];
    assert!(ends.contains(&bomb.verdict) && bomb.stage == Stage::Compile, "{bomb:?}");
    let broken = pool.evaluate(request(BROKEN)).await.unwrap();
    assert_eq!((broken.verdict, broken.stage), (Verdict::CompileError, Stage::Compile));
    assert!(broken.diagnostics[0].message.contains("nonsense"), "{:?}", broken.diagnostics);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_missing_library_is_named() {
    let missing = Toolchain { nvrtc: "/no/such/libnvrtc.so.13".into(), ..toolchain().clone() };
    let error = Pool::start(config(&missing)).await.err().unwrap().to_string();
    assert!(error.starts_with("failed to start a cpu worker: "), "{error}");
    assert!(error.contains("/no/such/libnvrtc.so.13"), "{error}");
}

/// A worker without a pool.
pub(super) fn spawn(dir: &Path) -> kgen_process::Child {
    let exe = env!("CARGO_BIN_EXE_kgen");
    kgen_process::spawn(&Spec::new(exe, dir).args(["worker", "--role", "cpu"])).unwrap()
}

pub(super) fn line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap() + "\n"
}

fn setup(protocol: u32) -> String {
    let toolchain = toolchain().clone();
    line(&Setup {
        protocol,
        role: Role::Cpu,
        toolchain,
        cache_dir: None,
        device: 0,
        side_pids: Vec::new(),
        calibrate: false,
        sandbox: Some(Walls::default()),
    })
}

#[test]
fn a_busy_worker_whose_parent_vanished_ends_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn(dir.path());
    let mut stdin = child.stdin.take().unwrap();
    let request = Box::new(std::borrow::Cow::Owned(request(BOMB)));
    let job = line(&Job::Cpu { request, sides: Box::default() });
    stdin.write_all((setup(PROTOCOL) + &job).as_bytes()).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let compiling = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).any(
        |message| matches!(message, Message::Progress { progress } if progress == kgen_eval::Progress::Stage { stage: Stage::Compile }),
    );
    assert!(compiling);
    assert_eq!(child.status(), None);
    drop(stdin);
    assert_eq!(child.wait_timeout(SOON), Some(Status::Signalled(9)));
}

#[test]
fn an_idle_worker_whose_input_ends_exits_in_good_order() {
    for text in [String::new(), setup(PROTOCOL)] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = spawn(dir.path());
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        if !text.is_empty() {
            let mut hello = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut hello).unwrap();
            assert!(hello.contains(r#""kind":"hello""#), "{hello}");
        }
        drop(stdin);
        assert_eq!(child.wait_timeout(SOON), Some(Status::Exited(0)));
    }
}

#[test]
fn a_parent_of_another_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn(dir.path());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(setup(99).as_bytes()).unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("the parent speaks protocol 99"), "{said}");
    assert_eq!(child.wait_timeout(SOON), Some(Status::Exited(1)));
}

/// Returns the processes that have a parent of this number and run the worker.
fn workers_of(parent: u32) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}"));
        let stat = read("stat").unwrap_or_default();
        let of_parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1))
            .is_some_and(|ppid| ppid == parent.to_string());
        of_parent && read("cmdline").unwrap_or_default().contains("--role")
    })
    .collect()
}

#[test]
fn nothing_outlives_a_kgen_that_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bomb.cu"), BOMB).unwrap();
    let args = ["eval", "bomb.cu", "--op", "relu", "--device", "emu"];
    let mut spec = Spec::new(env!("CARGO_BIN_EXE_kgen"), dir.path()).args(args);
    spec = spec.env("KGEN_NVRTC", &toolchain().nvrtc);
    let kgen = kgen_process::spawn(&spec).unwrap();
    let begin = std::time::Instant::now();
    let workers = loop {
        let workers = workers_of(kgen.pid());
        if !workers.is_empty() {
            break workers;
        }
        assert!(begin.elapsed() < SOON && kgen.status().is_none(), "no worker was started");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    kgen.kill();
    assert_eq!(kgen.wait_timeout(SOON), Some(Status::Signalled(9)));
    let state = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let lives = |pid: &i32| state(pid).is_some_and(|stat| !stat.contains(") Z "));
    while workers.iter().any(lives) {
        assert!(begin.elapsed() < 2 * SOON, "a worker outlived kgen");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
