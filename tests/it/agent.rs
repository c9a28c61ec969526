//! The whole loop with scripted replies: a local server plays the model, everything else is real.

use std::{collections::BTreeMap, fs, path::Path, process::Output};

use assert_cmd::Command;
use kgen_record::{AttemptId, OpKey, Verdict};
use kgen_store::{AttemptRecord, Run};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::method};

/// Cases that take the emulator no time.
const SUITE: &str = r#"
format = 1
name = "tiny"
description = "Small cases."
dtypes = ["f32"]

[[ops]]
name = "relu"
cases = [{ self = "[1]" }, { self = "[127]" }, { self = "[64, 33] transposed" }, { self = "[1..400]" }]

[[ops]]
name = "silu"
cases = [{ self = "[1]" }, { self = "[127]" }]
"#;

/// Returns a reply with a kernel file for an elementwise op of one input.
pub(crate) fn reply(body: &str) -> String {
    format!(
        "I thought about it.\n\n```cuda\n/*@plan\nx = contiguous(self)\nn = x.numel\n\
         launch(\"k\", grid=cdiv(n, 128), block=128, args=[x, out, n])\n@*/\n\
         extern \"C\" __global__ void k(const T_self* x, T_out* y, long long n) {{\n  \
         long long i = blockIdx.x * 128ll + threadIdx.x;\n  {body}\n}}\n```\n"
    )
}

/// A relu that is right.
pub(crate) const RELU: &str = "if (i < n) y[i] = x[i] <= 0 ? (T_self)0 : x[i];";

/// A silu that is right.
pub(crate) const SILU: &str = "if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));";

/// Returns the stream of a chat server for a text.
pub(crate) fn streamed(text: &str) -> ResponseTemplate {
    let chunk = json!({
        "id": "c1",
        "model": "scripted-1",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5},
    });
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

/// Returns the prompt of a request to the server.
pub(crate) fn prompt(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// Starts a server that answers.
pub(crate) async fn server(model: impl Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(model).mount(&server).await;
    server
}

/// Returns the arguments of a command that asks a server about the ops of the tiny suite.
pub(crate) fn arguments(folder: &Path, server: &MockServer, command: &[&str]) -> Vec<String> {
    let suite = folder.join("tiny.toml");
    fs::write(&suite, SUITE).unwrap();
    fs::write(folder.join("config.toml"), "[limits]\nemu_lane_instructions = 60000000\n").unwrap();
    let fixed = ["--provider", "vllm", "--llm-model", "scripted", "--base-url"];
    let mut arguments: Vec<String> =
        command.iter().chain(&fixed).map(|argument| (*argument).to_owned()).collect();
    arguments.push(format!("{}/v1", server.uri()));
    if command[0] == "generate" {
        let device = ["--device", "emu", "--jobs", "2", "--suite", suite.to_str().unwrap()];
        arguments.extend(device.map(str::to_owned));
    }
    arguments
}

async fn kgen(folder: &Path, server: &MockServer, command: &[&str]) -> Output {
    let mut kgen = Command::new(env!("CARGO_BIN_EXE_kgen"));
    kgen.current_dir(folder).args(arguments(folder, server, command));
    tokio::task::spawn_blocking(move || kgen.output().unwrap()).await.unwrap()
}

fn verdicts(folder: &Path, op: &str) -> Vec<Verdict> {
    let run = Run::open(&folder.join("generated_kernels/r")).unwrap();
    let attempts = run.attempts(&OpKey(op.to_owned())).unwrap();
    attempts.iter().map(|record| record.verdict).collect()
}

fn feedback(folder: &Path, number: u32) -> String {
    let run = Run::open(&folder.join("generated_kernels/r")).unwrap();
    run.feedback(&AttemptId { op: OpKey("relu".to_owned()), number }).unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_gets_from_every_kind_of_mistake_to_a_kernel_that_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let replies = [
        "I would rather not write code.".to_owned(),
        reply("y[i] = x[i"),
        reply("if (i < n - 1) y[i] = x[i] <= 0 ? (T_self)0 : x[i];"),
        reply("y[i] = x[i] <= 0 ? (T_self)0 : x[i];"),
        reply("float j = 0; if (i == 0) while (x[0] == x[0]) y[0] = ++j;"),
        reply("__trap();"),
        reply(RELU),
    ];
    let n_asked = std::sync::atomic::AtomicUsize::new(0);
    let server = server(move |_: &Request| {
        let index = n_asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        streamed(&replies[index])
    })
    .await;
    let command = ["generate", "--ops", "relu", "--max-attempts", "8", "--run-id", "r"];
    let command = [&command[..], &["--dtypes", "f32"]].concat();
    let output = kgen(folder, &server, &command).await;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let verdicts = verdicts(folder, "relu");
    assert_eq!(
        verdicts,
        [
            Verdict::NoCode,
            Verdict::CompileError,
            Verdict::WrongOutput,
            Verdict::Fault,
            Verdict::TimedOut,
            Verdict::Fault,
            Verdict::Passed,
        ]
    );
    for (number, says) in [(2, "expected a \"]\""), (3, "126"), (4, "out"), (5, "end")] {
        assert!(feedback(folder, number).contains(says), "{}", feedback(folder, number));
    }
    // The findings are in the next prompt, and no seed ever is.
    let requests = server.received_requests().await.unwrap();
    let run = Run::open(&folder.join("generated_kernels/r")).unwrap();
    for (index, request) in requests.iter().enumerate() {
        let prompt = prompt(request);
        let number = u32::try_from(index).unwrap();
        if 0 < number {
            let feedback = feedback(folder, number);
            assert!(prompt.contains(feedback.trim_end()), "{prompt}");
            let id = AttemptId { op: OpKey("relu".to_owned()), number };
            let seed = run.short_evaluation(&id).unwrap().unwrap().seed;
            assert!(seed == 0 || !prompt.contains(&seed.to_string()));
        }
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("passed on emu"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_on_calls_is_kept_and_a_resumed_run_counts_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = server(|request: &Request| {
        let right = if prompt(request).contains("aten.relu") { RELU } else { SILU };
        let is_first = !prompt(request).contains("Verdict");
        streamed(&reply(if is_first { "y[i] = x[i" } else { right }))
    })
    .await;
    let command = ["generate", "--run-id", "r", "--max-calls", "3"];
    let output = kgen(folder, &server, &command).await;
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.received_requests().await.unwrap().len(), 3);
    let output = kgen(folder, &server, &["resume", "r", "--max-calls", "4"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
    assert_eq!(verdicts(folder, "relu"), [Verdict::CompileError, Verdict::Passed]);
    assert_eq!(verdicts(folder, "silu"), [Verdict::CompileError, Verdict::Passed]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_one_error_and_the_run_goes_on_with_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refusing = server(|_: &Request| {
        ResponseTemplate::new(401).set_body_json(json!({"error": {"message": "bad key"}}))
    })
    .await;
    let command = ["generate", "--ops", "relu", "--run-id", "r"];
    let output = kgen(folder, &refusing, &command).await;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("bad key") && stderr.contains("kgen resume r"), "{stderr}");
    assert_eq!(refusing.received_requests().await.unwrap().len(), 1);

    let answering = server(|_: &Request| streamed(&reply(RELU))).await;
    let output = kgen(folder, &answering, &["resume", "r"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Plays a model that gets it right once the feedback names the fault, and says the same wrong
/// thing in other words until then.
fn scripted(n_asked: &std::sync::atomic::AtomicUsize, request: &Request) -> ResponseTemplate {
    let prompt = prompt(request);
    if prompt.contains("Do not write the kernel yet") {
        return streamed(
            "Bottleneck: the sign\nEvidence: it is wrong\nChange: keep what is above 0",
        );
    }
    let nth = n_asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let right = if prompt.contains("aten.relu") { RELU } else { SILU };
    streamed(&match nth % 3 {
        _ if prompt.contains("keep what is above 0") => reply(right),
        0 => reply("if (i < n) y[i] = -x[i];"),
        1 => reply("if (i < n)  y[i] = -x[i]; // in other words"),
        _ => "I would rather not write code.".to_owned(),
    })
}

/// Reads the files with the results of the attempts at an op, by their names.
fn results(run: &Path, op: &str) -> BTreeMap<String, Vec<u8>> {
    let kept = [".cu", ".eval.json", ".samples.json", ".feedback.md", ".log", ".confirm.json"];
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(run.join(op)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if kept.iter().chain(&[".request.md", ".reply.md"]).any(|end| name.ends_with(end)) {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

/// Reads the table of a run without the columns of provider and cost.
fn table(run: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(run.join("operator_summary.csv")).unwrap();
    let rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
    let rows: Vec<Vec<String>> = rows.collect();
    let of_llm =
        ["replayed", "reused", "calls", "usd", "cost", "token", "seconds", "spend", "unreported"];
    let kept: Vec<usize> = (0..rows[0].len())
        .filter(|column| of_llm.iter().all(|part| !rows[0][*column].contains(part)))
        .collect();
    assert!(16 < kept.len(), "{:?}", rows[0]);
    rows.iter().map(|row| kept.iter().map(|column| row[*column].clone()).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_strategy_is_recorded_and_replayed_bit_for_bit() {
    for strategy in ["repair", "best-of", "beam"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let n_asked = std::sync::atomic::AtomicUsize::new(0);
        let server = server(move |request: &Request| scripted(&n_asked, request)).await;
        let search = ["--strategy", strategy, "--planner", "--samples", "3", "--width", "2"];
        let command = [&["generate", "--max-attempts", "6", "--run-id", "r"], &search[..]].concat();
        let output = kgen(folder, &server, &command).await;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{strategy}: {stderr}");
        let n_requests = server.received_requests().await.unwrap().len();

        let again =
            [&command[..3], &["--run-id", "again", "--replay", "r", "--reuse-evals"]].concat();
        let suite = folder.join("tiny.toml");
        let suite = ["--device", "emu", "--jobs", "2", "--suite", suite.to_str().unwrap()];
        let mut replay = Command::new(env!("CARGO_BIN_EXE_kgen"));
        replay.current_dir(folder).args([&again[..], &search[..], &suite[..]].concat());
        let output = replay.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{strategy}: {stderr}");
        assert_eq!(server.received_requests().await.unwrap().len(), n_requests);
        let (run, again) =
            (folder.join("generated_kernels/r"), folder.join("generated_kernels/again"));
        let mut n_equal = 0;
        for op in ["relu", "silu"] {
            let (was, is) = (results(&run, op), results(&again, op));
            assert!(was.keys().eq(is.keys()), "{strategy}: {:?}, {:?}", was.keys(), is.keys());
            for (name, bytes) in &was {
                let [was, is] = [bytes, &is[name]].map(|bytes| String::from_utf8_lossy(bytes));
                assert_eq!(was, is, "{strategy}, {name}");
            }
            let key = OpKey(op.to_owned());
            let records = |run| Run::open(run).unwrap().attempts(&key).unwrap();
            let what = |record: &AttemptRecord| {
                (
                    record.attempt,
                    record.parents.clone(),
                    record.branch,
                    record.round,
                    record.verdict,
                    record.duplicate_of,
                    record.change.clone(),
                    record.seconds_judging,
                )
            };
            let (was, is) = (records(&run), records(&again));
            assert_eq!(
                was.iter().map(what).collect::<Vec<_>>(),
                is.iter().map(what).collect::<Vec<_>>()
            );
            assert!(is.iter().all(|record| record.replayed && record.reused_evaluation));
            n_equal += was.iter().filter(|record| record.duplicate_of.is_some()).count();
        }
        assert!(strategy == "repair" || 0 < n_equal, "{strategy}");
        assert_eq!(table(&run), table(&again), "{strategy}");
    }
}
