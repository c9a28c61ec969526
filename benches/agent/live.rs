//! A run at full load.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use kgen_agent::{
    BoxError, CandidateSource, Deps, Event, Llm, Policy, RunInputs, RunOp, RunSpec, Search,
    ShutdownHandle, SuiteInputs, run,
};
use kgen_llm::{
    Access, Budget, Call, CallKey, CallLog, Client, FailureRecord, HttpAccess, LogError,
    ProviderConfig, ReplyRecord, RequestRecord, preset,
};
use kgen_ops::suite::{self, Suite};
use kgen_prompt::{Prompts, Rendered, Situation};
use kgen_record::{Case, FeedbackSet, Limits, OpKey, Target, TimingRequest};
use kgen_settings::{Overrides, resolve};
use kgen_store::{DeviceInfo, RunInfo, RunStore};
use tokio::sync::mpsc;

use crate::{
    Sizes,
    device::ScriptedDevice,
    meter::{Meter, peak_mib, process_cpu, process_system},
    server::{Behaviour, Server},
};

/// Shares of the CPU time, as far as they show from outside.
#[derive(Debug, Default, Clone)]
pub(crate) struct Meters {
    pub(crate) prompts: Arc<Meter>,
    pub(crate) cases: Arc<Meter>,
    pub(crate) calls_on_record: Arc<Meter>,
}

pub(crate) async fn measure(sizes: &Sizes) {
    let server = Server::start(Behaviour { latency: sizes.latency, n_chunks: sizes.chunks });
    let root = tempfile::tempdir().expect("there is room for a run");
    let ops = ops(&suite(), sizes.ops);
    let store = RunStore::create(root.path(), None, |id| info(id, &ops));
    let store = Arc::new(store.expect("a new run can be made"));
    let meters = Meters::default();
    let device = ScriptedDevice::new(&suite(), sizes.device);
    let json = Arc::clone(&device.json);
    let deps = Deps {
        llm: Some(MeteredLlm { client: client(server.port, sizes.calls), meters: meters.clone() }),
        judge: device,
        inputs: MeteredMaterial { inputs: inputs(), meters: meters.clone() },
        store,
        stop: ShutdownHandle::default(),
    };
    let (sender, events) = mpsc::unbounded_channel();
    let watching = tokio::spawn(watch(events));
    let (start, cpu, system) = (Instant::now(), process_cpu(), process_system());
    let outcome = Box::pin(run(plan(sizes, ops, sizes.attempts), deps, sender)).await;
    let outcome = outcome.expect("the run directory can be written");
    let wall = start.elapsed();
    let (cpu, system) = (process_cpu() - cpu, process_system() - system);
    let most_calls = watching.await.expect("watching does not panic");

    let totals = outcome.totals;
    let n_calls = f64::from(totals.calls);
    let concurrency = f64::from(u32::try_from(sizes.calls).expect("32 bits fit"));
    let ideal = sizes.latency.mul_f64(n_calls / concurrency);
    println!(
        "live: {} ops, {} attempts, {} calls of {} ms, at most {} in flight ({most_calls} seen)",
        outcome.ops.len(),
        totals.attempts,
        totals.calls,
        sizes.latency.as_millis(),
        sizes.calls,
    );
    println!(
        "  wall {:.2} s, ideal {:.2} s, ratio {:.2}",
        wall.as_secs_f64(),
        ideal.as_secs_f64(),
        wall.as_secs_f64() / ideal.as_secs_f64()
    );
    println!("  parent memory, peak: {:.0} MiB", peak_mib());
    let per_attempt = |time: Duration| 1e3 * time.as_secs_f64() / f64::from(totals.attempts);
    println!(
        "  parent CPU per attempt: {:.2} ms, {:.2} of it in the kernel",
        per_attempt(cpu),
        per_attempt(system)
    );
    let mut rest = cpu;
    for (what, meter) in [
        ("prompts", &meters.prompts),
        ("cases", &meters.cases),
        ("JSON to and from the device", &json),
        ("requests and replies on record", &meters.calls_on_record),
    ] {
        println!("    {what}: {:.2} ms", per_attempt(meter.total()));
        rest = rest.saturating_sub(meter.total());
    }
    println!("    HTTP, other files, search: {:.2} ms", per_attempt(rest));
}

/// Returns the most calls that were in flight at once.
async fn watch(mut events: mpsc::UnboundedReceiver<Event>) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    while let Some(event) = events.recv().await {
        match event {
            Event::CallStarted { .. } => now += 1,
            Event::ReplyReceived { .. } => now -= 1,
            _ => {}
        }
        most = now.max(most);
    }
    most
}

pub(crate) fn suite() -> Suite {
    suite::load("smoke").expect("the suite is built in")
}

/// Returns so many ops, those of the suite again and again.
pub(crate) fn ops(suite: &Suite, n_ops: usize) -> Vec<RunOp> {
    let names = suite.ops().iter().cycle().take(n_ops).enumerate();
    let op = |(index, name): (usize, &String)| RunOp {
        key: OpKey(format!("{name}__{index}")),
        definition: None,
        name: name.clone(),
    };
    names.map(op).collect()
}

pub(crate) fn plan(sizes: &Sizes, ops: Vec<RunOp>, max_attempts: u32) -> RunSpec {
    RunSpec {
        ops,
        source: CandidateSource::Llm {
            max_tokens: 8000,
            temperature: None,
            calls_wait: false,
            reuse_evaluations: None,
        },
        search: Search::repair(),
        feedback: FeedbackSet::ALL,
        policy: Policy {
            max_attempts,
            // No kernel is that fast: every op takes all its attempts.
            target_speedup: 2.0,
            can_time: true,
            confirm_seeds: sizes.confirm,
        },
        seed: None,
        max_concurrent_ops: sizes.ops_at_once,
        target: Target::h100_class(),
        on_gpu: true,
        screen: true,
        precision: Default::default(),
        libraries: false,
        cutlass: false,
        emulation: Default::default(),
        profile: false,
        limits: Limits::default(),
    }
}

pub(crate) fn inputs() -> SuiteInputs {
    let settings = resolve(None, &Overrides::default()).expect("the defaults are right").settings;
    SuiteInputs {
        suite: suite(),
        dtypes: Vec::new(),
        prompts: Prompts::load(None).expect("the templates are built in"),
        target: Target::h100_class(),
        timing: Some(settings.timing),
        baseline: "aten".to_owned(),
        baselines: BTreeMap::new(),
        target_speedup: 2.0,
        max_variants: 8,
        feedback: FeedbackSet::ALL,
        prompt_tokens: settings.feedback.prompt_tokens,
        precision: Default::default(),
        libraries: false,
        cutlass: false,
    }
}

pub(crate) fn client(port: u16, max_concurrency: usize) -> Client {
    let preset = preset("vllm").expect("the preset is built in");
    let mut access = HttpAccess::new(preset, None);
    access.base_url = format!("http://127.0.0.1:{port}/v1");
    let access = Access::Http(Box::new(access));
    let config = ProviderConfig::new("local", "scripted", max_concurrency, access);
    Client::new(config, Budget::default()).expect("the configuration is complete")
}

pub(crate) fn info(run_id: kgen_record::RunId, ops: &[RunOp]) -> RunInfo {
    // Each of the ops is one of its own here.
    RunInfo::new(
        run_id,
        "smoke",
        ops.iter().map(|op| op.key.0.clone()).collect(),
        DeviceInfo::new("cuda:0", Target::h100_class()),
    )
}

/// The client, its records metered.
pub(crate) struct MeteredLlm {
    pub(crate) client: Client,
    pub(crate) meters: Meters,
}

impl Llm for MeteredLlm {
    async fn complete(
        &self,
        call: &Call,
        log: &dyn CallLog,
    ) -> Result<ReplyRecord, kgen_llm::Error> {
        let log = MeteredLog { log, meter: &self.meters.calls_on_record };
        self.client.complete(call, &log).await
    }
}

struct MeteredLog<'a> {
    log: &'a dyn CallLog,
    meter: &'a Meter,
}

impl CallLog for MeteredLog<'_> {
    fn request(&self, key: &CallKey, record: &RequestRecord) -> Result<(), LogError> {
        self.meter.count(|| self.log.request(key, record))
    }

    fn reply(&self, key: &CallKey, record: &ReplyRecord) -> Result<(), LogError> {
        self.meter.count(|| self.log.reply(key, record))
    }

    fn failure(&self, key: &CallKey, record: &FailureRecord) -> Result<(), LogError> {
        self.log.failure(key, record)
    }

    fn reply_path(&self, key: &CallKey) -> PathBuf {
        self.log.reply_path(key)
    }

    fn awaited_reply(&self, key: &CallKey) -> Result<Option<String>, LogError> {
        self.log.awaited_reply(key)
    }
}

/// The suite's material, metered.
pub(crate) struct MeteredMaterial {
    pub(crate) inputs: SuiteInputs,
    pub(crate) meters: Meters,
}

impl RunInputs for MeteredMaterial {
    fn cases(&self, op: &str, seed: u64) -> Result<Vec<Case>, BoxError> {
        self.meters.cases.count(|| self.inputs.cases(op, seed))
    }

    fn timing(&self, op: &str) -> Option<TimingRequest> {
        self.inputs.timing(op)
    }

    fn prompt(&self, op: &str, situation: &Situation<'_>) -> Result<Rendered, BoxError> {
        self.meters.prompts.count(|| self.inputs.prompt(op, situation))
    }
}
