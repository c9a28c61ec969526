//! Takes the measurements that are only possible from inside; `scripts/figures.sh` runs it and
//! takes the others.
//!
//! ```text
//! figures evaluation KGEN        one relu evaluation on the emulator in a warm worker
//! figures flight KGEN URL OPS    parent CPU and memory with OPS ops in flight
//! ```
//!
//! KGEN is the binary whose workers judge, URL a server that speaks `openai-chat`. Each figure is
//! printed as a row of a Markdown table: figure, bound, measured, method.
#![expect(clippy::print_stdout, reason = "printing the figures is its purpose")]

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use kgen_agent::{
    CandidateSource, Deps, Event, Policy, RunEnd, RunOp, RunSpec, Search, ShutdownHandle,
    SuiteInputs, run,
};

use kgen_compile::{LocateOptions, locate};
use kgen_llm::{Access, Budget, Client, HttpAccess, ProviderConfig, preset};
use kgen_ops::suite::{self, Suite};
use kgen_prompt::Prompts;
use kgen_record::{
    DType, Emulation, EvalRequest, Evaluation, Implementation, Limits, OpKey, RunId, Stage, Target,
};
use kgen_settings::{DeviceChoice, Overrides, Settings, resolve};
use kgen_store::{DeviceInfo, Format, RunInfo, RunStatus, RunStore};
use kgen_worker::{Pool, PoolConfig};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use tokio::sync::mpsc;

/// The op of both measurements.
const OP: &str = "relu";
/// Element types of both measurements.
const DTYPES: [DType; 1] = [DType::F32];
/// Evaluations that are measured.
const SAMPLES: u32 = 15;
/// Fresh seeds that a winner is judged with again, as kgen does it.
const CONFIRM_SEEDS: u32 = 3;
/// Attempts at an op at most; the server's second kernel is right.
const MAX_ATTEMPTS: u32 = 5;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // As many threads as kgen itself has.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match args.as_slice() {
        ["evaluation", kgen] => runtime.block_on(Box::pin(evaluation(kgen))),
        ["flight", kgen, url, ops] => runtime.block_on(Box::pin(flight(kgen, url, ops.parse()?))),
        _ => Err("usage: figures evaluation KGEN | figures flight KGEN URL OPS".into()),
    }
}

fn row(what: &str, bound: &str, measured: &str, how: &str) {
    println!("| {what} | {bound} | {measured} | {how} |");
}

/// Starts workers with a compile cache that holds nothing.
async fn pool(settings: &Settings, kgen: &str, jobs: usize, cache: &Path) -> Result<Pool> {
    let toolchain = locate(&LocateOptions::new(&settings.nvrtc, None))?;
    let target = settings.device.emu.target();
    let config = PoolConfig {
        exe: fs::canonicalize(kgen)?,
        cache_dir: Some(cache.to_owned()),
        ..PoolConfig::new(toolchain, DeviceChoice::Emu, target, jobs)
    };
    Ok(Box::pin(Pool::start(config)).await?)
}

fn settings() -> Result<Settings> {
    Ok(resolve(None, &Overrides::default())?.settings)
}

fn kernel() -> &'static str {
    kgen_baseline::builtin(OP).expect("relu has a baseline")
}

/// Measures one evaluation in a worker that has judged before.
async fn evaluation(kgen: &str) -> Result<()> {
    let cache = tempfile::tempdir()?;
    let settings = settings()?;
    let pool = pool(&settings, kgen, 1, cache.path()).await?;
    let suite = suite::load("smoke")?;
    let mut walls = Vec::new();
    let mut stages: BTreeMap<Stage, Vec<f64>> = BTreeMap::new();
    let mut n_cases = 0;
    for sample in 0..=SAMPLES {
        let request = request(&suite, pool.target(), sample)?;
        n_cases = request.cases.len();
        let start = Instant::now();
        let evaluation = pool.evaluate(request).await?;
        let wall = start.elapsed().as_secs_f64();
        passed(&evaluation)?;
        // The first one warms the worker.
        if sample > 0 {
            walls.push(wall);
            for time in evaluation.stage_times {
                stages.entry(time.stage).or_default().push(time.seconds);
            }
        }
    }
    pool.shutdown().await;
    let n_compiled = fs::read_dir(cache.path())?.count();
    if n_compiled <= SAMPLES as usize {
        return Err(format!("{n_compiled} compilations: the compile cache was not cold").into());
    }
    let stages: Vec<String> = stages
        .into_iter()
        .map(|(stage, seconds)| format!("{} {:.3} s", stage.name(), median(seconds)))
        .collect();
    let worst = walls.iter().copied().fold(0.0, f64::max);
    row(
        "one relu evaluation on `emu`, warm worker",
        "0.5 s",
        &format!("{:.3} s", median(walls)),
        &format!(
            "median of {SAMPLES} (worst {worst:.3} s) through the pool with one worker that had \
             judged once; {n_cases} smoke cases in f32; the baseline's kernel, which includes \
             nothing, with another constant each time, so that the compile cache never has it; of \
             it, medians: {}",
            stages.join(", ")
        ),
    );
    Ok(())
}

fn request(suite: &Suite, target: &Target, sample: u32) -> Result<EvalRequest> {
    let seed = u64::from(sample);
    Ok(EvalRequest {
        op: OP.to_owned(),
        definition: None,
        // A comment would not do: the compile cache does not see them.
        candidate: Implementation::kernel(format!(
            "{}\nconstexpr int SAMPLE = {sample};\n",
            kernel()
        )),
        params: Default::default(),
        compile_only: false,
        count_code: false,
        profile: None,
        cases: suite.cases(OP, Some(&DTYPES), seed)?,
        seed,
        target: target.clone(),
        on_gpu: false,
        screen: true,
        precision: kgen_record::Precision::Strict,
        libraries: false,
        cutlass: false,
        emulation: Emulation::default(),
        limits: Limits::default(),
        timing: None,
    })
}

fn passed(evaluation: &Evaluation) -> Result<()> {
    if evaluation.verdict.is_pass() {
        return Ok(());
    }
    let findings: Vec<&str> = evaluation.findings.iter().map(|f| f.message.as_str()).collect();
    Err(format!("relu is judged {}: {}", evaluation.verdict, findings.join("; ")).into())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures this process during a run of `n_ops` ops at once.
async fn flight(kgen: &str, url: &str, n_ops: usize) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let settings = settings()?;
    let jobs = settings.device.n_jobs();
    let pool = Arc::new(pool(&settings, kgen, jobs, &scratch.path().join("cache")).await?);
    let ops = (0..n_ops).map(|number| RunOp {
        name: OP.to_owned(),
        definition: None,
        key: OpKey(format!("{OP}__{number}")),
    });
    let target = pool.target().clone();
    let store = RunStore::create(&scratch.path().join("runs"), None, |id| info(id, &target))?;
    let deps = Deps {
        llm: Some(client(url, n_ops)?),
        judge: Arc::clone(&pool),
        inputs: inputs(&settings, &target)?,
        store: Arc::new(store),
        stop: ShutdownHandle::default(),
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    let watch = tokio::spawn(peaks(receiver));
    let cpu_before = cpu_seconds()?;
    let start = Instant::now();
    let outcome = Box::pin(run(plan(ops.collect(), target, n_ops), deps, sender)).await?;
    let wall = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds()? - cpu_before;
    let peaks = watch.await?;
    pool.shutdown().await;
    if let RunEnd::Failed(error) = outcome.end {
        return Err(error.into());
    }
    let totals = outcome.totals;
    if totals.attempts == 0 || !outcome.all_passed() {
        return Err(format!("{} of {n_ops} ops were solved", totals.solved).into());
    }
    let evaluations = totals.attempts + totals.solved * CONFIRM_SEEDS;
    row(
        "parent CPU per attempt",
        "10 ms",
        &format!("{:.1} ms", 1e3 * cpu / f64::from(totals.attempts)),
        &format!(
            "user and system time of the parent alone (`getrusage`) over a run of {n_ops} ops, \
             {} attempts and {evaluations} evaluations that took {wall:.0} s with {jobs} workers; \
             its half of the HTTP calls, prompts, run directory, confirmations included",
            totals.attempts
        ),
    );
    row(
        &format!("parent memory with {n_ops} ops in flight"),
        "150 MB",
        &format!("{:.0} MB", peak_memory_bytes()? / 1e6),
        &format!(
            "`VmHWM` of the parent at the end of the same run; at most {} ops were in flight and \
             {} of their calls open; the server streams and is a process of its own",
            peaks.ops, peaks.calls
        ),
    );
    Ok(())
}

fn plan(ops: Vec<RunOp>, target: Target, n_ops: usize) -> RunSpec {
    RunSpec {
        ops,
        source: CandidateSource::Llm {
            max_tokens: 16_000,
            temperature: None,
            calls_wait: false,
            reuse_evaluations: None,
        },
        search: Search::repair(),
        policy: Policy {
            max_attempts: MAX_ATTEMPTS,
            target_speedup: 1.0,
            can_time: false,
            confirm_seeds: CONFIRM_SEEDS,
        },
        seed: None,
        max_concurrent_ops: n_ops,
        target,
        on_gpu: false,
        screen: true,
        precision: kgen_record::Precision::Strict,
        libraries: false,
        cutlass: false,
        emulation: Emulation::default(),
        profile: false,
        feedback: kgen_record::FeedbackSet::ALL,
        limits: Limits::default(),
    }
}

fn client(url: &str, max_concurrency: usize) -> Result<Client> {
    let preset = preset("vllm").expect("vllm is a preset");
    let mut access = HttpAccess::new(preset, None);
    url.clone_into(&mut access.base_url);
    // The server of this benchmark may be slow to take that many connections.
    access.connect_timeout = Duration::from_secs(60);
    let access = Access::Http(Box::new(access));
    let config = ProviderConfig::new("local", "local", max_concurrency, access);
    Ok(Client::new(config, Budget::default())?)
}

fn inputs(settings: &Settings, target: &Target) -> Result<SuiteInputs> {
    Ok(SuiteInputs {
        suite: suite::load("smoke")?,
        dtypes: DTYPES.to_vec(),
        prompts: Prompts::load(None)?,
        target: target.clone(),
        timing: None,
        baseline: kgen_baseline::BUILTIN.to_owned(),
        baselines: BTreeMap::new(),
        target_speedup: 1.0,
        max_variants: settings.limits.max_variants,
        precision: kgen_record::Precision::Strict,
        libraries: false,
        cutlass: false,
        feedback: settings.feedback.kinds,
        prompt_tokens: settings.feedback.prompt_tokens,
    })
}

fn info(run_id: RunId, target: &Target) -> RunInfo {
    RunInfo {
        definition: None,
        format: Format::CURRENT,
        run_id,
        kgen_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        created_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        suite: "smoke".to_owned(),
        ops: vec![OP.to_owned()],
        backend: "llm".to_owned(),
        provider: Some("local".to_owned()),
        model: Some("local".to_owned()),
        replay_of: None,
        device: DeviceInfo {
            name: "emu".to_owned(),
            target: target.clone(),
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

/// How much happened at once.
#[derive(Debug, Default)]
struct Peaks {
    ops: usize,
    calls: usize,
}

/// Watches a run to its end.
async fn peaks(mut events: mpsc::UnboundedReceiver<Event>) -> Peaks {
    let (mut ops, mut calls) = (0_usize, 0_usize);
    let mut peaks = Peaks::default();
    while let Some(event) = events.recv().await {
        match event {
            Event::OpStarted { .. } => ops += 1,
            Event::OpDone { .. } => ops -= 1,
            Event::CallStarted { .. } => calls += 1,
            Event::ReplyReceived { .. } => calls = calls.saturating_sub(1),
            Event::AttemptStarted { .. }
            | Event::Evaluating { .. }
            | Event::AttemptDone { .. }
            | Event::Confirming { .. }
            | Event::Confirmed { .. }
            | Event::Awaiting { .. }
            | Event::Note { .. } => {}
        }
        peaks = Peaks { ops: peaks.ops.max(ops), calls: peaks.calls.max(calls) };
    }
    peaks
}

/// User and system time of this process without its children.
fn cpu_seconds() -> Result<f64> {
    let usage: Usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |time: nix::sys::time::TimeVal| {
        Duration::from_secs(time.tv_sec().unsigned_abs())
            + Duration::from_micros(time.tv_usec().unsigned_abs())
    };
    Ok((seconds(usage.user_time()) + seconds(usage.system_time())).as_secs_f64())
}

/// The most memory that this process ever had resident.
fn peak_memory_bytes() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse().ok());
    Ok(1024.0 * kib.ok_or("/proc/self/status has no VmHWM")?)
}
