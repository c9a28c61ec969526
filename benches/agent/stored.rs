//! A large run on disk: made, resumed, summed up.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use kgen::report::{
    self,
    compare::{self, Detail, Grouping, arms},
};
use kgen_agent::{Deps, Event, RunOp, ShutdownHandle, run};
use kgen_llm::{CallKey, CallLog, Finish, ReplyRecord, RequestRecord, Turn, Usage};
use kgen_record::{AttemptId, Case, Evaluation, Implementation, Spend};
use kgen_store::{AttemptRecord, AttemptStatus, Counts, Purpose, Run, RunState, RunStore};
use tokio::sync::mpsc;

use crate::{
    Sizes,
    device::{ScriptedDevice, evaluation},
    live::{self, MeteredLlm, MeteredMaterial, Meters},
    meter::{peak_mib, process_cpu},
    server::{Behaviour, Server},
};

pub(crate) async fn measure(sizes: &Sizes) {
    let scratch = tempfile::tempdir().expect("there is room for a run");
    let root = sizes.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    let ops = live::ops(&live::suite(), sizes.stored_ops);
    let dir = made(&root, &ops, sizes);
    read(&dir);
    finished(&dir, &ops, sizes).await;
    gone_on_with(&dir, &ops, sizes).await;
    println!("  parent memory, peak: {:.0} MiB", peak_mib());
}

/// Makes the run, unless it is there.
fn made(root: &Path, ops: &[RunOp], sizes: &Sizes) -> PathBuf {
    let id = format!("bench_{}x{}", ops.len(), sizes.stored_attempts);
    let dir = root.join(&id);
    if Run::open(&dir).is_ok() {
        println!("stored: {} as it was", dir.display());
        return dir;
    }
    let suite = live::suite();
    let id = id.parse().expect("letters, digits and underscores name a run");
    let store = RunStore::create(root, Some(id), |id| live::info(id, ops));
    let store = store.expect("a new run can be made");
    let (start, cpu) = (Instant::now(), process_cpu());
    for number in 1..=sizes.stored_attempts {
        for op in ops {
            let cases = suite.cases(&op.name, None, 1).expect("a built-in suite has its cases");
            write(&store, op, number, &cases);
        }
    }
    let n_attempts = ops.len() * usize::try_from(sizes.stored_attempts).expect("32 bits fit");
    println!(
        "stored: {n_attempts} attempts of {} ops, written in {:.1} s, {:.2} ms of CPU each",
        ops.len(),
        start.elapsed().as_secs_f64(),
        1e3 * (process_cpu() - cpu).as_secs_f64()
            / f64::from(u32::try_from(n_attempts).expect("few"))
    );
    dir
}

fn write(store: &RunStore, op: &RunOp, number: u32, cases: &[Case]) {
    let id = AttemptId { op: op.key.clone(), number };
    let key = CallKey { attempt: id.clone(), call: 1 };
    let evaluation = evaluation(&op.key.0, cases, usize::try_from(number).expect("small") % 3);
    let line = "// a line of a kernel as long as models write them, more or less\n";
    let kernel = format!("// {id}\n{}", line.repeat(80));
    let written = (|| {
        store.request(&key, &request(&key))?;
        store.reply(&key, &reply(&key, &kernel))?;
        store.write_source(&id, &Implementation::Kernel { source: kernel })?;
        store.write_evaluation(&id, &evaluation, "")?;
        store.write_feedback(&id, &"- a line of feedback about a case\n".repeat(20))?;
        store.finish_attempt(&id, &record(op, number, &evaluation))?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    })();
    written.expect("there is room for a run");
}

/// Times the commands that only read the run, and the report.
fn read(dir: &Path) {
    let run = Run::open(dir).expect("the run is there");
    time("RunState::scan", || RunState::scan(&run).expect("the run is whole"));
    time("report::summarise", || report::summarise(&run).expect("the run is whole"));
    let store = time("RunStore::open", || RunStore::open(dir).expect("the run is whole"));
    time("report::write", || report::write(&store).expect("the run is whole"));
    time("compare", || {
        let arms = arms(std::slice::from_ref(&run), Grouping::Settings, Detail::Numbers);
        compare::text(
            &kgen_compare::compare(&arms.expect("the run is whole")),
            kgen::report::Screen::FILE,
        )
    });
}

fn time<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (start, cpu) = (Instant::now(), process_cpu());
    let result = work();
    let (wall, cpu) = (start.elapsed().as_secs_f64(), (process_cpu() - cpu).as_secs_f64());
    println!("  {what}: {wall:.2} s, {cpu:.2} s of CPU");
    result
}

/// Times a resume that finds nothing left to do but to confirm the winners.
async fn finished(dir: &Path, ops: &[RunOp], sizes: &Sizes) {
    let start = Instant::now();
    let confirm = Sizes { confirm: 0, ..sizes.clone() };
    let plan = live::plan(&confirm, ops.to_vec(), sizes.stored_attempts);
    let (sender, _events) = mpsc::unbounded_channel();
    let deps = deps(dir, 1, ShutdownHandle::default());
    let outcome = Box::pin(run(plan, deps, sender)).await.expect("the run is whole");
    println!(
        "  resume of all {} attempts, to its end: {:.2} s",
        outcome.totals.attempts,
        start.elapsed().as_secs_f64()
    );
}

/// Times a resume in which every op goes on, until its first call and its first reply.
async fn gone_on_with(dir: &Path, ops: &[RunOp], sizes: &Sizes) {
    let server = Server::start(Behaviour { latency: sizes.latency, n_chunks: sizes.chunks });
    let start = Instant::now();
    let plan = live::plan(sizes, ops.to_vec(), sizes.stored_attempts + 1);
    let (sender, mut events) = mpsc::unbounded_channel();
    let stop = ShutdownHandle::default();
    let deps = deps(dir, server.port, stop.clone());
    let running = tokio::spawn(Box::pin(run(plan, deps, sender)));
    while let Some(event) = events.recv().await {
        if let Event::CallStarted { key } = event {
            let seconds = start.elapsed().as_secs_f64();
            println!("  resume until its first call ({key}): {seconds:.2} s");
            break;
        }
    }
    stop.raise(kgen_agent::Shutdown::Immediate);
    let outcome = running.await.expect("a run does not panic");
    outcome.expect("the run directory can be written");
}

fn deps(
    dir: &Path,
    port: u16,
    stop: ShutdownHandle,
) -> Deps<MeteredLlm, ScriptedDevice, MeteredMaterial> {
    let meters = Meters::default();
    Deps {
        judge: ScriptedDevice::new(&live::suite(), std::time::Duration::ZERO),
        llm: Some(MeteredLlm { client: live::client(port, 200), meters: meters.clone() }),
        inputs: MeteredMaterial { inputs: live::inputs(), meters },
        store: Arc::new(RunStore::open(dir).expect("the run is whole")),
        stop,
    }
}

fn request(key: &CallKey) -> RequestRecord {
    RequestRecord {
        key: key.clone(),
        turn: Turn::Code,
        reserved: Spend { calls: 1, ..Spend::default() },
        command: Vec::new(),
        provider: "local".to_owned(),
        kind: "openai-chat".to_owned(),
        url: None,
        model: "scripted".to_owned(),
        headers: Vec::new(),
        body: "x".repeat(20_000),
        prompt_hash: "0".repeat(64),
        started_at: jiff::Timestamp::now().to_string(),
        markdown: "x".repeat(18_000),
    }
}

fn reply(key: &CallKey, text: &str) -> ReplyRecord {
    ReplyRecord {
        key: key.clone(),
        model: "scripted".to_owned(),
        finish: Finish::Stop,
        usage: Usage::default(),
        request_id: None,
        response_id: None,
        seconds: 0.5,
        retries: Vec::new(),
        cost: None,
        price_source: None,
        cached: None,
        response: None,
        spend: Spend { calls: 1, ..Spend::default() },
        reasoning: None,
        replayed: None,
        text: text.to_owned(),
    }
}

fn record(op: &RunOp, number: u32, evaluation: &Evaluation) -> AttemptRecord {
    AttemptRecord {
        op: op.key.0.clone(),
        attempt: number,
        parents: Vec::new(),
        branch: 1,
        round: number,
        purpose: Purpose::Repair,
        status: AttemptStatus::Judged,
        verdict: evaluation.verdict,
        level: evaluation.level,
        stage: evaluation.stage,
        counts: Counts::of(evaluation),
        library_use: None,
        speedup: evaluation.speedup().cloned(),
        change: None,
        duplicate_of: None,
        spend: Spend { calls: 1, ..Spend::default() },
        seconds_judging: 0.0,
        recorded_spend: None,
        cached: false,
        calls: 1,
        lost_calls: 0,
        replayed: false,
        reused_evaluation: false,
        started_at: jiff::Timestamp::now().to_string(),
        finished_at: jiff::Timestamp::now().to_string(),
    }
}
