//! Budgets: the limit of a run's cost, however it is interrupted, and the messages about it.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    process::Output,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use assert_cmd::Command;
use kgen_llm::{
    Access, Budget, BudgetCaps, Call, CallKey, Client, Error, HttpAccess, Pricer, ProviderConfig,
    RetryPolicy, Turn, preset,
};
use kgen_record::{AttemptId, Caps, OpKey, Spend};
use kgen_settings::{ModelSettings, PriceSettings};
use kgen_store::{CallState, LostCall, Run, RunState, RunStore, spent};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use wiremock::{MockServer, Request, Respond, ResponseTemplate};

use crate::{
    agent::{RELU, SILU, arguments, prompt, reply, server, streamed},
    store::info,
};

/// Prices of the scripted model: a reply of the server's 7 and 5 tokens costs $0.0005.
const PRICE: &str = "\n[models.\"scripted\"]\nprice = { input = 0.0, output = 100.0 }\n";

/// A server that gets no limit for its replies.
const DROPS: &str = "\n[providers.vllm]\nkind = \"openai-chat\"\ndrop = [\"max_tokens\"]\n";

async fn kgen(folder: &Path, server: &MockServer, config: &str, command: &[&str]) -> Output {
    let mut kgen = Command::new(env!("CARGO_BIN_EXE_kgen"));
    kgen.current_dir(folder).args(arguments(folder, server, command));
    let mut file = fs::read_to_string(folder.join("config.toml")).unwrap();
    file.push_str(config);
    fs::write(folder.join("config.toml"), file).unwrap();
    tokio::task::spawn_blocking(move || kgen.output().unwrap()).await.unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Answers the first prompt of each op with a mistake, and the next one without.
fn model(request: &Request) -> ResponseTemplate {
    let right = if prompt(request).contains("aten.relu") { RELU } else { SILU };
    let is_first = !prompt(request).contains("Verdict");
    streamed(&reply(if is_first { "y[i] = x[i" } else { right }))
}

async fn asked(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_that_cannot_be_kept_is_an_error_before_anything_begins() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = server(model).await;
    for (config, flags, code, says) in [
        ("", ["--max-cost", "5"], 3, "`scripted` at `vllm`, which is not known"),
        ("", ["--max-cost-per-op", "5"], 3, "[models.\"scripted\"]\n    price = {"),
        (PRICE, ["--max-cost", "1.5"], 3, "a reply of 16000 tokens of `scripted` costs up to $1.6"),
        ("", ["--max-total-tokens", "9000"], 3, "a reply may have 16000 tokens (llm.max_tokens)"),
        (DROPS, ["--max-total-tokens", "90000"], 3, "max_output_tokens = 16000"),
        ("", ["--max-cost", "0"], 2, "--max-cost"),
        ("", ["--max-calls-per-op", "0"], 2, "--max-calls-per-op"),
        ("", ["--max-time", "0s"], 2, "--max-time"),
        (
            "[models.\"scripted\"]\nprice = { input = -1.0, output = 1.0 }",
            ["--max-cost", "5"],
            3,
            "-1",
        ),
    ] {
        let command = ["generate", "--run-id", "r", flags[0], flags[1]];
        let output = kgen(folder, &server, config, &command).await;
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {stderr}");
        assert!(stderr.contains(says), "{flags:?}: {stderr}");
        assert!(!folder.join("generated_kernels/r").exists(), "{flags:?}");
    }
    let output = kgen(folder, &server, "", &["generate", "--run-id", "r", "--max-cost=-2"]).await;
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(asked(&server).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_in_dollars_stops_the_run_cleanly_and_a_higher_one_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = server(model).await;
    // One worst case is a bit above $1.60 (16,000 tokens), and the prompt is free: two calls cost
    // $0.001, and then one more worst case fits only under more than $1.601.
    let command = ["generate", "--run-id", "r", "--max-cost", "1.6005"];
    let output = kgen(folder, &server, PRICE, &command).await;
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert_eq!(asked(&server).await, 2);
    assert!(
        text.contains("the cap of $1.6005 per run is reached: 2 calls, 24 tokens, $0.0010"),
        "{text}"
    );
    assert!(text.trim_end().ends_with("go on with `kgen resume r --max-cost 3.201`"), "{text}");
    assert!(text.contains("14 input tokens, 10 output tokens, $0.0010"), "{text}");

    let output = kgen(folder, &server, PRICE, &["resume", "r", "--max-cost", "3.201"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(asked(&server).await, 4);
    let run = folder.join("generated_kernels/r");
    let totals = Run::open(&run).unwrap().info().totals.unwrap();
    assert_eq!((totals.spend.calls, totals.spend.tokens(), totals.spend.unpriced), (4, 48, 0));
    assert!((totals.spend.usd - 0.002).abs() < 1e-12, "{totals:?}");
    for (file, says) in [
        ("OVERALL_SUMMARY.txt", "4 LLM calls, 28 input tokens, 20 output tokens, $0.0020"),
        ("README.md", "4 LLM calls, 28 input tokens, 20 output tokens, $0.0020"),
        ("operator_summary.csv", "cost_usd,cost_usd_at_most,unpriced_calls"),
        ("full_results.json", "\"op_cost_usd\": 0.001"),
        ("relu/relu_attempt_1.call_1.reply.json", "\"price_source\": \"config\""),
        ("relu/relu_attempt_1.json", "\"usd\": 0.0005"),
    ] {
        let text = fs::read_to_string(run.join(file)).unwrap();
        assert!(text.contains(says), "{file}: {text}");
    }
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.lines().next().unwrap().contains("cost"), "{stdout}");

    // A replay pays nothing, and reports the cost of the recording.
    let mut replay = Command::new(env!("CARGO_BIN_EXE_kgen"));
    let device = ["--device", "emu", "--jobs", "2", "--suite", "tiny.toml", "--max-cost", "0.01"];
    replay.current_dir(folder).args(["generate", "--replay", "r", "--run-id", "s"]).args(device);
    let output = tokio::task::spawn_blocking(move || replay.output().unwrap()).await.unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let says = "4 replies of other runs, free of charge now, took 28 input tokens, 20 output tokens, \
                $0.0020";
    assert!(text.contains(says) && !text.contains("LLM call"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_of_an_op_ends_that_op_and_a_cap_on_time_counts_all_processes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = server(model).await;
    let command = ["generate", "--run-id", "r", "--max-calls-per-op", "1"];
    let output = kgen(folder, &server, "", &command).await;
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert_eq!(asked(&server).await, 2, "each op has its own");
    for op in ["relu", "silu"] {
        assert!(text.contains(&format!("{op}: the cap of 1 LLM call per op is reached: 1 call")));
    }
    assert!(text.trim_end().ends_with("go on with `kgen resume r --max-calls-per-op 2`"), "{text}");
    assert!(text.contains("unpriced"), "{text}");

    // The time that the first process took is more than this.
    let time = ["resume", "r", "--max-calls-per-op", "9", "--max-time", "0.01"];
    let output = kgen(folder, &server, "", &time).await;
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert!(text.contains("the cap of 0.01 s per run is reached"), "{text}");
    assert_eq!(asked(&server).await, 2);
    let more = ["resume", "r", "--max-calls-per-op", "9", "--max-time", "2h"];
    let output = kgen(folder, &server, "", &more).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// A provider that keeps its own books.
#[derive(Clone, Default)]
struct Provider {
    random: Arc<AtomicU64>,
    billed_nano_usd: Arc<AtomicU64>,
    billed_calls: Arc<AtomicU64>,
}

impl Provider {
    /// A number that is the same in every run for the n-th request (the mixing of `SplitMix64`).
    fn next(&self) -> u64 {
        mixed(self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst))
    }
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Dollars per million tokens; tokens that a reply may have.
const DOLLARS: (f64, f64) = (3.0, 15.0);
const MAX_TOKENS: u32 = 500;

impl Respond for Provider {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let (kind, input, output) =
            (self.next() % 10, self.next() % 20, self.next() % u64::from(MAX_TOKENS));
        let delay = Duration::from_millis(self.next() % 12);
        if kind == 0 {
            return ResponseTemplate::new(429).insert_header("retry-after-ms", "3");
        }
        if kind == 1 {
            return ResponseTemplate::new(400)
                .set_body_json(json!({"error": {"message": "no"}}))
                .set_delay(delay);
        }
        // A streamed reply that breaks off is billed like any other.
        self.billed_nano_usd.fetch_add(input * 3000 + output * 15_000, Ordering::SeqCst);
        self.billed_calls.fetch_add(1, Ordering::SeqCst);
        let mut chunk = json!({
            "model": "scripted-1",
            "choices": [{"index": 0, "delta": {"content": "text"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": input, "completion_tokens": output},
        });
        let end = if kind == 2 { "" } else { "data: [DONE]\n\n" };
        if kind == 2 {
            chunk["choices"][0]["finish_reason"] = Value::Null;
        }
        let body = format!("data: {chunk}\n\n{end}");
        ResponseTemplate::new(200).set_body_raw(body, "text/event-stream").set_delay(delay)
    }
}

fn config(server: &MockServer) -> ProviderConfig {
    let mut access = HttpAccess::new(preset("openai").unwrap(), Some("sk-test".into()));
    access.base_url = format!("{}/v1", server.uri());
    access.retry =
        RetryPolicy { max_tries: 3, base_wait: Duration::from_millis(1), ..RetryPolicy::default() };
    ProviderConfig::new("openai", "scripted", 6, Access::Http(Box::new(access)))
}

fn budget(config: &ProviderConfig, usd: f64) -> Budget {
    let (input, output) = DOLLARS;
    let price = PriceSettings { input, output, cache_read: None, cache_write: None };
    let settings = ModelSettings { price: Some(price), ..ModelSettings::default() };
    let pricer = Pricer::new(config, &BTreeMap::from([(config.model.clone(), settings)]));
    let run = Caps { usd: Some(usd), ..Caps::default() };
    let op = Caps { usd: Some(usd / 2.0), ..Caps::default() };
    Budget::new(BudgetCaps { run, op }, pricer.unwrap(), Some(MAX_TOKENS.into())).unwrap()
}

fn call(op: u32, number: u32, call: u32) -> Call {
    let attempt = AttemptId { op: OpKey(format!("op{op}")), number };
    Call {
        key: CallKey { attempt, call },
        system: "You write CUDA kernels.".to_owned(),
        prompt: "Write one.".to_owned(),
        max_tokens: MAX_TOKENS,
        turn: Turn::Code,
        sample: 1,
        temperature: None,
    }
}

/// One process of a run: charges the cost in its files, makes calls, is killed or comes to its end.
async fn process(dir: &Path, server: &MockServer, usd: f64, dies_after: Option<Duration>) -> u64 {
    let store = Arc::new(RunStore::open(dir).unwrap());
    let state = RunState::scan(store.run()).unwrap();
    let config = config(server);
    let budget = budget(&config, usd);
    let mut next = HashMap::new();
    for (op, (spend, _)) in &spent(store.run(), &state, false).unwrap().ops {
        budget.charge(op, spend);
    }
    for (key, op) in &state.ops {
        for (&number, attempt) in &op.attempts {
            let id = AttemptId { op: key.clone(), number };
            if let Some((&call, CallState::InFlight)) = attempt.calls.last_key_value() {
                let lost = LostCall {
                    noticed_at: String::new(),
                    possibly_billed: true,
                    reason: "killed".to_owned(),
                };
                store.write_lost(&id, call, &lost).unwrap();
            }
            next.insert(id, attempt.next_call());
        }
    }
    let client = Arc::new(Client::new(config, budget.clone()).unwrap());
    let refused = Arc::new(Mutex::new(0));
    let mut tasks = JoinSet::new();
    for number in 1..=4 {
        for op in 1..=3 {
            let id = AttemptId { op: OpKey(format!("op{op}")), number };
            let call = call(op, number, next.get(&id).copied().unwrap_or(1));
            let (client, store, refused) =
                (Arc::clone(&client), Arc::clone(&store), Arc::clone(&refused));
            tasks.spawn(async move {
                if let Err(Error::Budget { .. }) = client.complete(&call, store.as_ref()).await {
                    *refused.lock().unwrap() += 1;
                }
            });
        }
    }
    let all = async { while tasks.join_next().await.is_some() {} };
    if timeout(dies_after.unwrap_or(Duration::MAX), all).await.is_err() {
        tasks.shutdown().await;
    }
    let charged = budget.charged();
    assert!(charged.usd <= usd + 1e-9, "{} of {usd} are charged", charged.usd);
    *refused.lock().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_instant_a_run_is_charged_all_that_was_billed_and_stays_below_its_cap() {
    let mut n_refused = 0;
    for seed in 0_u8..8 {
        let root = tempfile::tempdir().unwrap();
        drop(RunStore::create(root.path(), Some("r".parse().unwrap()), info).unwrap());
        let dir = root.path().join("r");
        let provider = Provider { random: Arc::new(u64::from(seed).into()), ..Provider::default() };
        let server = server(provider.clone()).await;
        let usd = 0.06 + f64::from(seed) * 0.02;
        for round in 0..3 {
            let dies_after =
                (round < 2).then(|| Duration::from_millis(mixed(u64::from(seed) * 3 + round) % 40));
            n_refused += process(&dir, &server, usd, dies_after).await;
            // The server may still be answering somebody who is gone.
            sleep(Duration::from_millis(15)).await;
            let run = Run::open(&dir).unwrap();
            let state = RunState::scan(&run).unwrap();
            let charged: Spend =
                spent(&run, &state, false).unwrap().ops.values().map(|(spend, _)| *spend).sum();
            let billed = provider.billed_nano_usd.load(Ordering::SeqCst) as f64 / 1e9;
            let n_billed = provider.billed_calls.load(Ordering::SeqCst);
            let context = format!("seed {seed}, round {round}: {charged:?}");
            assert!(billed <= charged.charged_usd() + 1e-9, "billed {billed}, {context}");
            assert!(n_billed <= charged.calls.into(), "billed {n_billed}, {context}");
            assert!(charged.charged_usd() <= usd + 1e-9, "{context}");
            if charged.lost_calls == 0 && charged.unreported == 0 {
                assert!((billed - charged.usd).abs() < 1e-9, "billed {billed}, {context}");
            }
        }
    }
    assert!(0 < n_refused, "some runs reach their cap");
}
