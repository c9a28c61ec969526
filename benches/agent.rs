//! What the parent process costs: `cargo bench --bench agent`.
//!
//! 500 ops in flight against a local server (a process of its own), two attempts each, with real
//! prompts, cases, run directory and HTTP; the judge is a double that does the parent's part of
//! the worker protocol, JSON in and out. Prints the peak memory of the parent with all calls in
//! flight and at the end, and its CPU time per attempt. Asserts nothing.
#![expect(clippy::print_stdout, reason = "a benchmark prints and has no users")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

use kgen::{
    agent::{
        BoxError, Deps, Judge, PlannedOp, Policy, RunPlan, Search, Source, StopHandle,
        SuiteMaterial, run,
    },
    baseline,
    llm::{Access, Budget, Client, HttpAccess, ProviderConfig, preset},
    prompt::Prompts,
    record::{
        Case, CaseResult, EvalRequest, Evaluation, Level, Limits, OpKey, Outcome, Stage, Target,
        Verdict,
    },
    store::{DeviceInfo, Format, RunInfo, RunStatus, RunStore},
    suite,
};
use nix::sys::resource::{UsageWho, getrusage};
use tokio::sync::mpsc;

const N_OPS: usize = 500;

fn main() {
    if std::env::args().any(|argument| argument == "--server") {
        serve();
        return;
    }
    let (mut server, port) = start_server();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(measure(port));
    server.kill().expect("the server is there until it is killed");
    server.wait().expect("it was killed");
}

/// Judges like a worker at the other end of a pipe: the first kernel of an op is wrong.
struct PipedJudge;

impl Judge for PipedJudge {
    async fn evaluate(
        &self,
        request: EvalRequest,
        _entered: &(dyn Fn(Stage) + Send + Sync),
    ) -> Result<Evaluation, BoxError> {
        let line = serde_json::to_string(&request)?;
        let answer = serde_json::to_string(&evaluation(&request, line.contains("// again")))?;
        drop(request);
        Ok(serde_json::from_str(&answer)?)
    }
}

fn evaluation(request: &EvalRequest, right: bool) -> Evaluation {
    let verdict = if right { Verdict::Passed } else { Verdict::WrongOutput };
    let case = |case: &Case| CaseResult {
        case: case.id.clone(),
        dtype: case.dtype,
        class: case.class,
        family: case.family,
        args: format!("self={}", case.id),
        outcome: Outcome::Judged(verdict),
        level: Level::Emu,
        findings: Vec::new(),
        mismatch: None,
        max_abs_error: Some(0.5.into()),
        max_rel_error: Some(0.5.into()),
        worst_ratio: Some(0.5.into()),
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    };
    Evaluation {
        op: request.op.clone(),
        verdict,
        level: Level::Emu,
        stage: Stage::Done,
        findings: Vec::new(),
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: request.cases.iter().map(case).collect(),
        timings: Vec::new(),
        speedups: Vec::new(),
        target: request.target.clone(),
        seed: request.seed,
        nvrtc: Some("13.0".to_owned()),
        precision: Default::default(),
        python: None,
        stage_times: Vec::new(),
        profile: None,
    }
}

async fn measure(port: u16) {
    let root = tempfile::tempdir().expect("there is room for a run");
    let store = RunStore::create(root.path(), None, info).expect("a new run can be made");
    let suite = suite::load("smoke").expect("the suite is built in");
    let names = suite.ops().to_vec();
    let ops = (0..N_OPS).map(|index| {
        let name = names[index % names.len()].clone();
        PlannedOp { key: OpKey(format!("{name}_{index}")), definition: None, name }
    });
    let plan = RunPlan {
        ops: ops.collect(),
        source: Source::Llm {
            max_tokens: 8000,
            temperature: None,
            calls_wait: false,
            reuse_evaluations: None,
        },
        search: Search::repair(),
        policy: Policy { max_attempts: 5, target_speedup: 1.0, can_time: false, confirm_seeds: 3 },
        seed: None,
        max_concurrent_ops: N_OPS,
        target: Target::h100_class(),
        on_gpu: false,
        screen: true,
        precision: Default::default(),
        emulation: kgen::record::Emulation::default(),
        profile: false,
        feedback: kgen::record::FeedbackSet::ALL,
        limits: Limits::default(),
    };
    let material = SuiteMaterial {
        suite,
        dtypes: Vec::new(),
        prompts: Prompts::load(None).expect("the templates are built in"),
        target: Target::h100_class(),
        timing: None,
        baseline: baseline::BUILTIN.to_owned(),
        baselines: std::collections::BTreeMap::new(),
        target_speedup: 1.0,
        max_variants: 8,
        precision: Default::default(),
        feedback: kgen::record::FeedbackSet::ALL,
        prompt_tokens: 24_000,
    };
    let deps = Deps {
        llm: Some(client(port)),
        judge: PipedJudge,
        material,
        store: Arc::new(store),
        stop: StopHandle::default(),
    };
    let (sender, mut events) = mpsc::unbounded_channel();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    let sampler = thread::spawn(|| {
        // The server answers the first calls only when all of them are there.
        thread::sleep(Duration::from_secs(1));
        resident_mib()
    });
    let start = Instant::now();
    let before = cpu_s();
    let outcome = run(plan, deps, sender).await.expect("the run directory can be written");
    let cpu = cpu_s() - before;
    let attempts = outcome.totals.attempts;
    let in_flight = sampler.join().expect("sampling does not panic");
    println!(
        "{} ops, {attempts} attempts, {} solved in {:.2} s",
        outcome.ops.len(),
        outcome.totals.solved,
        start.elapsed().as_secs_f64()
    );
    println!("parent memory with {N_OPS} calls in flight: {in_flight:.0} MiB");
    println!("parent memory, peak of the whole run: {:.0} MiB", peak_mib());
    println!("parent CPU per attempt: {:.2} ms", cpu * 1000.0 / f64::from(attempts));
}

fn client(port: u16) -> Client {
    let preset = preset("vllm").expect("the preset is built in");
    let mut access = HttpAccess::new(preset, None);
    access.base_url = format!("http://127.0.0.1:{port}/v1");
    let access = Access::Http(Box::new(access));
    let config = ProviderConfig::new("local", "scripted", N_OPS, access);
    Client::new(config, Budget::default()).expect("the configuration is complete")
}

fn info(run_id: kgen::record::RunId) -> RunInfo {
    RunInfo {
        format: Format::CURRENT,
        run_id,
        kgen_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: Vec::new(),
        created_at: jiff::Timestamp::now().to_string(),
        suite: "smoke".to_owned(),
        ops: Vec::new(),
        definition: None,
        backend: "llm".to_owned(),
        provider: None,
        model: None,
        replay_of: None,
        device: DeviceInfo {
            name: "emu".to_owned(),
            target: Target::h100_class(),
            nvrtc: None,
            sessions: Vec::new(),
        },
        seed: None,
        settings: serde_json::Value::Null,
        status: RunStatus::Running,
        finished_at: None,
        totals: None,
    }
}

fn cpu_s() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its own usage");
    let seconds = |time: nix::sys::time::TimeVal| {
        let (s, us) = (i32::try_from(time.tv_sec()), i32::try_from(time.tv_usec()));
        f64::from(s.expect("short")) + f64::from(us.expect("below a million")) / 1e6
    };
    seconds(usage.user_time()) + seconds(usage.system_time())
}

fn resident_mib() -> f64 {
    status_mib("VmRSS:")
}

fn peak_mib() -> f64 {
    status_mib("VmHWM:")
}

fn status_mib(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the field exists");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number of KiB");
    kib / 1024.0
}

#[expect(clippy::disallowed_methods, reason = "the server must not count as the parent's cost")]
fn start_server() -> (std::process::Child, u16) {
    let exe = std::env::current_exe().expect("the benchmark knows its path");
    let mut child = std::process::Command::new(exe)
        .arg("--server")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the benchmark starts itself");
    let stdout = child.stdout.take().expect("it is piped");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("the server says its port");
    (child, line.trim().parse().expect("it is a number"))
}

fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    println!("{}", listener.local_addr().expect("it is bound").port());
    let all = Arc::new((Mutex::new(0), Condvar::new()));
    for stream in listener.incoming().flatten() {
        let all = Arc::clone(&all);
        thread::spawn(move || while answer(&stream, &all).is_some() {});
    }
}

/// Answers one request; the first `N_OPS` are answered together, after two seconds.
fn answer(mut stream: &TcpStream, all: &(Mutex<usize>, Condvar)) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut n_asked = all.0.lock().ok()?;
    *n_asked += 1;
    all.1.notify_all();
    let waited = all.1.wait_while(n_asked, |n_asked| *n_asked < N_OPS).ok()?;
    let is_first = *waited == N_OPS;
    drop(waited);
    if is_first {
        thread::sleep(Duration::from_secs(2));
    }
    let again =
        if String::from_utf8_lossy(&body).contains("wrong_output") { "// again" } else { "" };
    let filler = "// a line of a kernel as long as models write them, more or less\n".repeat(100);
    let text = format!(
        "```cuda\n/*@plan\nlaunch(\"k\", grid=1, block=1, args=[out])\n@*/\n{again}\n{filler}\
         extern \"C\" __global__ void k(T_out* y) {{}}\n```\n"
    );
    let chunk = serde_json::json!({
        "id": "c", "model": "scripted",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}],
    });
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
    stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).ok()
}
