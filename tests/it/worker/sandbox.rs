//! The walls around kgen's own workers. Their strength is tested in `kgen-process`.

use std::io::{BufRead as _, BufReader, Write as _};

use kgen_compile::testing::toolchain;
use kgen_process::{Spec, run, sandbox::Namespaces};
use kgen_record::{Sandbox, Verdict};
use kgen_worker::{
    Pool,
    protocol::{Message, PROTOCOL, Role, Setup, Walls},
};
use serde_json::Value;

use super::real::{config, line, request, spawn};

const RELU: &str = include_str!("../../../suites/baselines/relu.cu");

#[tokio::test]
async fn a_worker_judges_behind_its_walls_and_keeps_what_it_compiled() {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("compiled");
    let mut config = config(toolchain());
    config.cache_dir = Some(folder.clone());
    let pool = Pool::start(config.clone()).await.unwrap();
    let report = pool.sandbox().unwrap();
    assert!(report.held.iter().any(|part| part == "seccomp"), "{report:?}");
    let expected = Sandbox::lacking(report.missing.clone());
    let judged = pool.evaluate(request(RELU)).await.unwrap();
    assert_eq!((judged.verdict, &judged.sandbox), (Verdict::Passed, &expected));
    assert!(0 < folder.read_dir().unwrap().count());
    pool.shutdown().await;

    config.sandbox = false;
    let pool = Pool::start(config).await.unwrap();
    assert_eq!(pool.sandbox(), None);
    let judged = pool.evaluate(request(RELU)).await.unwrap();
    assert_eq!((judged.verdict, judged.sandbox), (Verdict::Passed, Sandbox::Off));
    pool.shutdown().await;
}

#[test]
fn a_worker_without_namespaces_works_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn(dir.path());
    let here = kgen_process::sandbox::user_namespace();
    let setup = line(&Setup {
        protocol: PROTOCOL,
        role: Role::Cpu,
        toolchain: toolchain().clone(),
        cache_dir: None,
        device: 0,
        side_pids: Vec::new(),
        calibrate: false,
        sandbox: Some(Walls { outer_namespace: here, ..Walls::default() }),
    });
    child.stdin.as_mut().unwrap().write_all(setup.as_bytes()).unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let Message::Hello { hello } = serde_json::from_str(&said).unwrap() else { panic!("{said}") };
    let missing = hello.sandbox.as_ref().unwrap().missing.clone();
    let expected = "user, network and IPC namespaces (the system forbids them)";
    assert!(missing.iter().any(|part| part == expected), "{missing:?}");
    assert_eq!(hello.sandbox(), Sandbox::Partly { missing });
}

/// Runs kgen and returns its standard output.
fn kgen(args: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("relu.cu"), RELU).unwrap();
    let spec = Spec::new(env!("CARGO_BIN_EXE_kgen"), dir.path()).args(args);
    let spec = spec.env("KGEN_NVRTC", &toolchain().nvrtc);
    String::from_utf8(run(&spec).unwrap().stdout).unwrap()
}

#[test]
fn every_result_without_a_sandbox_says_so() {
    let eval = ["eval", "relu.cu", "--op", "relu", "--suite", "smoke", "--device", "emu"];
    let text = kgen(&[&eval[..], &["--no-sandbox"]].concat());
    assert!(text.lines().any(|line| line == "sandbox: off"), "{text}");
    let document = kgen(&[&eval[..], &["--no-sandbox", "--format", "json"]].concat());
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["data"]["sandbox"], serde_json::json!({ "state": "off" }));
    let text = kgen(&eval);
    assert!(!text.contains("sandbox: off"), "{text}");
}

#[test]
fn doctor_says_what_holds() {
    let text = kgen(&["doctor", "--device", "emu", "--format", "json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let items = document["data"].as_array().unwrap();
    let row = items.iter().find(|item| item["what"] == "sandbox").unwrap();
    let found = row["found"].as_str().unwrap();
    assert!(found.starts_with("cpu workers: ") && found.contains("seccomp"), "{found}");
    assert_eq!(found.contains("; without "), row["state"] == "missing");
    assert_eq!(found.contains("IPC namespaces ("), Namespaces::where_allowed().is_none());
}
