//! `kgen serve` and `kgen mcp` as processes, on the emulator.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::flow::{self, RELU, wrong_tail};

/// A process until it is dropped.
struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Process {
    #[expect(clippy::disallowed_methods, reason = "a process that is talked to, from outside")]
    fn start(folder: &Path, args: &[&str]) -> Self {
        let command = flow::kgen(folder, args);
        let mut process = Command::new(command.get_program());
        process.args(command.get_args()).current_dir(folder).env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                process.env(name, value);
            }
        }
        let mut child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Most have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server, and its address.
fn serve(folder: &Path, more: &[&str]) -> (Process, String) {
    let args = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
    let mut process = Process::start(folder, &args);
    let line = process.line();
    let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("no address: {line}"));
    let address = address.split(' ').next().unwrap().to_owned();
    (process, address)
}

/// Sends a request, and returns status and body of the answer.
fn call(address: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer secret\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

fn evaluate(address: &str, source: &str, more: &Value) -> Value {
    let mut request = json!({ "op": "relu", "source": source, "dtypes": ["f32"], "seed": 3 });
    request.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let (status, job) = call(address, "POST", "/v1/evaluate?wait=100", &request);
    assert_eq!((status, &job["state"]), (200, &json!("done")), "{job}");
    job["result"].clone()
}

#[test]
fn a_service_judges_as_the_command_does_and_keeps_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = serve(folder.path(), &[]);
    let right = evaluate(&address, RELU, &json!({}));
    assert_eq!((&right["compiled"], &right["correct"]), (&json!(true), &json!(true)), "{right}");
    assert_eq!(
        right["cases"]["passed"],
        right["cases"]["total"].as_u64().unwrap() - right["cases"]["skipped"].as_u64().unwrap()
    );
    assert!(right["worst_error_over_bound"].as_f64().unwrap() <= 1.0);
    assert_eq!((&right["seed"], &right["speedup"]), (&json!(3), &Value::Null));

    let wrong = evaluate(&address, &wrong_tail(), &json!({}));
    assert_eq!(wrong["correct"], false);
    assert!(!wrong["feedback"].as_str().unwrap().is_empty());
    assert_eq!(wrong["error"]["kind"], wrong["verdict"]);

    let compiles = evaluate(&address, &wrong_tail(), &json!({ "level": "compile" }));
    assert_eq!((&compiles["compiled"], &compiles["correct"]), (&json!(true), &Value::Null));
    let broken = RELU.replace("T_out)0", "T_oot)0");
    let broken = evaluate(&address, &broken, &json!({ "level": "compile" }));
    assert_eq!((&broken["compiled"], &broken["correct"]), (&json!(false), &Value::Null));
    assert_eq!(broken["error"]["kind"], "compile_error");
    assert!(broken["error"]["text"].as_str().unwrap().contains("T_oot"), "{broken}");

    let prompt = call(&address, "GET", "/v1/prompt/relu", &Value::Null).1;
    assert!(prompt["prompt"].as_str().unwrap().contains("relu"));
    for (request, kind) in [
        (json!({ "op": "rely", "source": "x" }), "unknown_op"),
        (json!({ "op": "relu", "source": "x", "suite": "smok" }), "unknown_suite"),
        (json!({ "op": "relu", "source": "x", "level": "time" }), "no_gpu"),
        (json!({ "problem": { "name": "p" }, "source": "x" }), "unknown_problem"),
        (json!({ "problem": { "definition": "format = 9" }, "source": "x" }), "invalid_problem"),
        (json!({ "op": "relu", "source": "x", "dtypes": ["bool"] }), "no_cases"),
    ] {
        let (status, answer) = call(&address, "POST", "/v1/evaluate", &request);
        assert_eq!((status, &answer["error"]["kind"]), (422, &json!(kind)), "{answer}");
    }

    let mut server = server;
    server.signal(Signal::SIGTERM);
    assert!(server.child.wait().unwrap().success());
    // The server's types are those of requests that name none: this is the same job.
    let (_server, address) = serve(folder.path(), &["--dtypes", "f32"]);
    assert_eq!(evaluate(&address, RELU, &json!({ "dtypes": null })), right);
}

#[test]
fn a_service_is_not_opened_to_others_without_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["serve", "--listen", "0.0.0.0:0"];
    flow::kgen(folder.path(), &args).assert().code(2);
    let token = folder.path().join("token");
    fs::write(&token, "\nsecret\n").unwrap();
    let path = token.display().to_string();
    let args = [&args[..], &["--token-file", &path]].concat();
    flow::kgen(folder.path(), &args).assert().code(3);
    fs::write(&token, "secret\n").unwrap();
    let (_server, address) = serve(folder.path(), &["--token-file", &path]);
    assert_eq!(call(&address, "GET", "/v1/ops", &Value::Null).0, 200);
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(b"GET /v1/ops HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 401 "), "{answer}");
}

#[test]
fn an_agent_has_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::start(folder.path(), &["mcp"]);
    let mut ask = |id: u32, method: &str, params: Value| {
        let input = process.child.stdin.as_mut().unwrap();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        process.out.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    };
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    assert_eq!(ask(1, "initialize", hello)["serverInfo"]["name"], "kgen");
    let listed = ask(2, "tools/list", json!({}));
    let mut names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["compare", "evaluate", "list_runs", "profile", "show_op"]);
    let mut tool = {
        let mut id = 2;
        move |name: &str, arguments: Value| {
            id += 1;
            ask(id, "tools/call", json!({ "name": name, "arguments": arguments }))
        }
    };
    let text = |answer: &Value| answer["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text(&tool("show_op", json!({ "op": "relu" }))).contains("relu"));
    let kernel = json!({ "op": "relu", "source": wrong_tail(), "dtypes": ["f32"] });
    let judged = tool("evaluate", kernel);
    assert!(text(&judged).contains("Verdict"), "{judged}");
    assert_eq!(judged["structuredContent"]["result"]["correct"], false);
    let unknown = tool("evaluate", json!({ "op": "rely", "source": "x" }));
    assert_eq!(unknown["isError"], true);
    assert!(text(&unknown).contains("relu"), "{unknown}");
    let runs = tool("list_runs", json!({}));
    assert_eq!(runs["structuredContent"]["schema"], "kgen/list-runs/1", "{runs}");
    // A run is never taken for a flag.
    let runs = json!({ "runs": ["--format=html", "--output=page.html", "--help"] });
    let compared = tool("compare", runs);
    assert_eq!(compared["isError"], true, "{compared}");
    assert!(text(&compared).contains("--format=html"), "{compared}");
    assert!(!folder.path().join("page.html").exists());
    // It needs a GPU, and says so.
    let profile = tool("profile", json!({ "op": "relu", "source": RELU }));
    assert!(text(&profile).contains("GPU"), "{profile}");
}

#[test]
fn a_service_refuses_what_no_request_could_be_judged_with() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, expected) in [
        (["--suite", "smoke+sweep"], "a service judges with a builtin suite"),
        (["--op-file", "op.toml"], "--op-file has no place in a service"),
    ] {
        for command in ["serve", "mcp"] {
            let args = [&[command], &flags[..]].concat();
            let refused = flow::kgen(folder.path(), &args).assert().code(2);
            let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
            assert!(said.contains(expected), "{command} {flags:?}: {said}");
        }
    }
}
