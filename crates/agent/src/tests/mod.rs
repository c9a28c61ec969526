//! The loop with a scripted model and a scripted judge.
//!
//! A scripted kernel states its own outcome: `verdict=wrong_output`, `speedup=1.5`,
//! `flaky` (passes once), `takes=50` (milliseconds of judging). Over `verdict=timed_out` the workers fail, over `verdict=crashed` all do.

mod equal;
mod every_step;
mod looping;
mod parallel;
mod planning;
mod power;
mod resuming;
mod stopping;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use kgen_llm::{
    Call, CallKey, CallLog, Finish, ReplyRecord, RequestRecord, Turn, Usage, prompt_hash,
};
use kgen_prompt::{Rendered, Situation};
use kgen_record::{
    Case, Emulation, EvalRequest, Evaluation, FeedbackSet, Limits, OpKey, Precision, RunId,
    Speedup, Spend, Stage, Strategy, Target, TimingRequest, Verdict,
};
use kgen_store::{AttemptRecord, DeviceInfo, Run, RunInfo, RunStore, testing};
use kgen_worker::protocol::Role;
use tokio::sync::mpsc;

use super::{
    BoxError, CandidateSource, Deps, EvaluationService, Event, Llm, Policy, RunInputs, RunOp,
    RunOutcome, RunSpec, Search, ShutdownHandle, run,
};

pub(super) type Answer = Box<dyn Fn(&CallKey) -> Result<String, kgen_llm::Error> + Send + Sync>;

/// Plans as models write them, each with a bottleneck of its own.
fn plan_of(key: &CallKey) -> Result<String, kgen_llm::Error> {
    let number = key.attempt.number;
    Ok(format!("Bottleneck: b{number}\nEvidence: e{number}\nChange: c{number}"))
}

/// Answers by a function and puts everything on record as the real client does.
pub(super) struct ScriptedLlm {
    pub(super) answer: Answer,
    pub(super) asked: Arc<Mutex<Vec<Call>>>,
    /// Waited for before every answer, so that calls of several ops overlap.
    pub(super) gate: Option<Arc<tokio::sync::Barrier>>,
    pub(super) delay: Delay,
    /// Answers the calls for plans.
    pub(super) plan: Answer,
    /// Whether others get on before every answer.
    pub(super) steps_aside: bool,
}

/// How long an answer takes.
pub(super) type Delay = Box<dyn Fn(&CallKey) -> Duration + Send + Sync>;

impl Llm for ScriptedLlm {
    async fn complete(
        &self,
        call: &Call,
        log: &dyn CallLog,
    ) -> Result<ReplyRecord, kgen_llm::Error> {
        let key = &call.key;
        let failed = |source| kgen_llm::Error::Log { key: key.clone(), source };
        self.asked.lock().unwrap().push(call.clone());
        log.request(key, &request(call)).map_err(failed)?;
        if let Some(gate) = &self.gate {
            gate.wait().await;
        }
        pause((self.delay)(key)).await;
        if self.steps_aside {
            tokio::task::yield_now().await;
        }
        let answer = match call.turn {
            Turn::Plan => (self.plan)(key),
            Turn::Code => (self.answer)(key),
        };
        let (text, finish) = match answer {
            Ok(text) => (text, Finish::Stop),
            Err(kgen_llm::Error::Refused { reason }) => (String::new(), Finish::Refusal { reason }),
            Err(error) => return Err(error),
        };
        let record = ReplyRecord {
            key: key.clone(),
            model: "scripted".to_owned(),
            finish,
            usage: Usage::default(),
            request_id: None,
            response_id: None,
            seconds: 0.0,
            retries: Vec::new(),
            cost: None,
            price_source: None,
            spend: Spend { calls: 1, ..Spend::default() },
            reasoning: None,
            replayed: None,
            cached: None,
            response: None,
            text,
        };
        log.reply(key, &record).map_err(failed)?;
        record.usable()
    }
}

/// A timer of no time would still wait for the clock's next tick.
async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

fn request(call: &Call) -> RequestRecord {
    RequestRecord {
        key: call.key.clone(),
        turn: call.turn,
        provider: "scripted".to_owned(),
        kind: "command".to_owned(),
        url: None,
        model: "scripted".to_owned(),
        headers: Vec::new(),
        command: Vec::new(),
        body: call.prompt.clone(),
        prompt_hash: prompt_hash(call),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        reserved: Spend { calls: 1, ..Spend::default() },
        markdown: call.prompt.clone(),
    }
}

/// Answers as the kernel says.
#[derive(Default)]
pub(super) struct ScriptedJudge {
    pub(super) judged: Arc<Mutex<Vec<EvalRequest>>>,
    /// Whether the workers never fail.
    pub(super) is_mended: bool,
    /// Whether others get on during every evaluation.
    pub(super) steps_aside: bool,
}

impl EvaluationService for ScriptedJudge {
    async fn evaluate(
        &self,
        request: EvalRequest,
        entered: &(dyn Fn(Stage) + Send + Sync),
    ) -> Result<Evaluation, BoxError> {
        entered(Stage::Compile);
        let word = |name: &str| {
            let words = behaviour(request.source()).split_whitespace();
            words.filter_map(|word| word.split_once('=')).find(|(key, _)| *key == name)
        };
        let verdict = word("verdict").map_or(Verdict::Passed, |(_, name)| {
            Verdict::ALL.into_iter().find(|verdict| verdict.name() == name).unwrap()
        });
        if word("verdict").is_some_and(|(_, name)| name == "crashed") {
            return Err("the worker cannot be started".into());
        }
        if !self.is_mended && verdict == Verdict::TimedOut {
            let message = "out of host memory".to_owned();
            return Err(kgen_worker::Error::Judge { role: Role::Cpu, message }.into());
        }
        if self.steps_aside {
            tokio::task::yield_now().await;
        }
        if let Some((_, takes)) = word("takes") {
            pause(Duration::from_millis(takes.parse().unwrap())).await;
        }
        // Code is counted once per kernel: when it is judged for the first time.
        let flaky = request.source().contains("flaky") && !request.count_code;
        let verdict = if flaky { Verdict::WrongOutput } else { verdict };
        let n_failed = usize::from(!verdict.is_pass());
        let mut evaluation = testing::evaluation(verdict, 3, n_failed);
        evaluation.op.clone_from(&request.op);
        evaluation.seed = request.seed;
        let speedup = word("speedup").map(|(_, number)| number.parse().unwrap());
        evaluation.speedups =
            speedup.map(|geomean| Speedup::new("builtin", geomean, 1)).into_iter().collect();
        self.judged.lock().unwrap().push(request);
        Ok(evaluation)
    }
}

/// Prompts that are easy to look at.
pub(super) struct PlainMaterial;

impl RunInputs for PlainMaterial {
    fn cases(&self, _op: &str, _seed: u64) -> Result<Vec<Case>, BoxError> {
        Ok(Vec::new())
    }

    fn timing(&self, _op: &str) -> Option<TimingRequest> {
        None
    }

    fn prompt(&self, op: &str, situation: &Situation<'_>) -> Result<Rendered, BoxError> {
        if op == "endless" {
            let (op, tokens, limit) = (op.to_owned(), 2, 1);
            return Err(kgen_prompt::Error::TooLong { op, tokens, limit }.into());
        }
        let last = situation.parent.as_ref();
        let earlier = situation.history.iter();
        let earlier =
            earlier.filter(|past| last.is_none_or(|last| last.past.number != past.number));
        let verdicts: Vec<_> = earlier.map(|past| past.verdict.name()).collect();
        let last = last.map_or_else(String::new, |last| {
            let kernel = last.kernel.map_or("none", behaviour);
            format!("; last {} {}: [{kernel}]", last.past.number, last.past.verdict)
        });
        let best = situation.best.as_ref().map_or_else(String::new, |best| {
            format!("; best {}: [{}]", best.number, behaviour(best.kernel))
        });
        let mut user = format!("{op} {verdicts:?}{last}{best}");
        if let Some(branch) = situation.branch {
            user = format!("{user}; branch {}, taken {:?}", branch.number, branch.taken);
        }
        if let Some(plan) = situation.plan {
            user = format!("{user}; plan {:?}, {:?}", plan.bottleneck, plan.change);
        }
        if situation.turn == Turn::Plan {
            user = format!("{user}; what is to be changed?");
        }
        Ok(Rendered { system: "system".to_owned(), user, tokens: 0, left_out: Vec::new() })
    }
}

/// Makes a reply with a kernel file that states its own outcome.
pub(super) fn reply_with(what: &str) -> String {
    format!(
        "Here it is.\n\n```cuda\n/*@plan\nlaunch(\"k\", grid=1, block=1, args=[out])\n@*/\n\
         const char* behaviour = \"{what}\";\nextern \"C\" __global__ void k(T_out* y) {{}}\n```\n"
    )
}

/// The search that begins with some samples.
pub(super) const fn best_of(samples: u32) -> Search {
    Search { strategy: Strategy::BestOf, samples, ..Search::repair() }
}

/// The search with branches.
pub(super) const fn beam(width: u32, depth: u32) -> Search {
    Search { strategy: Strategy::Beam, width, depth, ..Search::repair() }
}

/// Returns the records of the only op.
pub(super) fn records(dir: &Path) -> Vec<AttemptRecord> {
    let run = Run::open(dir).unwrap();
    let op = run.ops().unwrap().remove(0);
    run.attempts(&op).unwrap()
}

/// Returns the outcome that a kernel file states.
pub(super) fn behaviour(kernel: &str) -> &str {
    let behaviour = kernel.lines().find_map(|line| line.strip_prefix("const char* behaviour = \""));
    behaviour.and_then(|behaviour| behaviour.split('"').next()).unwrap_or("nothing")
}

/// A run in a test.
pub(super) struct Script {
    pub(super) plan: RunSpec,
    pub(super) answer: Answer,
    pub(super) gate: Option<Arc<tokio::sync::Barrier>>,
    pub(super) delay: Delay,
    /// Answers the calls for plans.
    pub(super) planner: Answer,
    /// Whether calls and evaluations give way to each other.
    pub(super) steps_aside: bool,
    pub(super) stop: ShutdownHandle,
    /// Whether the workers never fail.
    pub(super) is_mended: bool,
}

pub(super) struct Trace {
    pub(super) outcome: RunOutcome,
    pub(super) asked: Vec<Call>,
    pub(super) judged: Vec<EvalRequest>,
    pub(super) events: Vec<Event>,
}

impl Trace {
    /// Names of the calls that were made, in order.
    pub(super) fn calls(&self) -> Vec<String> {
        self.asked.iter().map(|call| call.key.to_string()).collect()
    }
}

impl Script {
    /// A run over `ops` whose replies are `replies[op][attempt - 1]`; a reply that begins with `kernel: `
    /// is made a kernel file.
    pub(super) fn new(replies: &[(&str, &[&str])]) -> Self {
        let replies: BTreeMap<String, Vec<String>> = replies
            .iter()
            .map(|(op, replies)| {
                let reply = |reply: &&str| {
                    reply.strip_prefix("kernel: ").map_or_else(|| (*reply).to_owned(), reply_with)
                };
                ((*op).to_owned(), replies.iter().map(reply).collect())
            })
            .collect();
        let ops = replies.keys().map(|op| planned(op)).collect();
        let answer = move |key: &CallKey| {
            let index = usize::try_from(key.attempt.number).unwrap() - 1;
            let reply = replies[&key.attempt.op.0].get(index);
            reply.cloned().ok_or_else(|| kgen_llm::Error::EndOfRecording { key: key.clone() })
        };
        Self {
            plan: RunSpec {
                ops,
                source: CandidateSource::Llm {
                    max_tokens: 100,
                    temperature: None,
                    calls_wait: false,
                    reuse_evaluations: None,
                },
                search: Search::repair(),
                policy: Policy {
                    max_attempts: 4,
                    target_speedup: 2.0,
                    can_time: false,
                    confirm_seeds: 3,
                },
                seed: Some(1),
                max_concurrent_ops: 1,
                target: Target::h100_class(),
                on_gpu: false,
                screen: true,
                precision: Precision::Strict,
                libraries: false,
                cutlass: false,
                emulation: Emulation::default(),
                profile: false,
                feedback: FeedbackSet::ALL,
                limits: Limits::default(),
            },
            answer: Box::new(answer),
            gate: None,
            delay: Box::new(|_| Duration::ZERO),
            planner: Box::new(plan_of),
            steps_aside: false,
            stop: ShutdownHandle::default(),
            is_mended: false,
        }
    }

    /// Executes the run in a directory, which is made if there is none.
    pub(super) async fn run_in(mut self, dir: &Path) -> Trace {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answer = std::mem::replace(&mut self.answer, Box::new(|_| unreachable!("taken")));
        let delay = std::mem::replace(&mut self.delay, Box::new(|_| Duration::ZERO));
        let plan = std::mem::replace(&mut self.planner, Box::new(plan_of));
        let (asked_by, gate) = (Arc::clone(&asked), self.gate.take());
        let steps_aside = self.steps_aside;
        let llm = ScriptedLlm { answer, asked: asked_by, gate, delay, plan, steps_aside };
        let trace = self.with(llm, dir).await;
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        Trace { asked, ..trace }
    }

    /// Executes the run with another model.
    pub(super) async fn with(self, llm: impl Llm, dir: &Path) -> Trace {
        let store = Arc::new(if Run::open(dir).is_ok() {
            RunStore::open(dir).unwrap()
        } else {
            let id = dir.file_name().unwrap().to_str().unwrap().parse().unwrap();
            RunStore::create(dir.parent().unwrap(), Some(id), info).unwrap()
        });
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let judge = ScriptedJudge {
            is_mended: self.is_mended,
            steps_aside: self.steps_aside,
            ..ScriptedJudge::default()
        };
        let judged = Arc::clone(&judge.judged);
        let deps = Deps { llm: Some(llm), judge, inputs: PlainMaterial, store, stop: self.stop };
        let outcome = run(self.plan, deps, sender).await.unwrap();
        let mut events = Vec::new();
        while let Ok(event) = receiver.try_recv() {
            events.push(event);
        }
        let judged = std::mem::take(&mut *judged.lock().unwrap());
        Trace { outcome, asked: Vec::new(), judged, events }
    }
}

/// Returns a client of another run's replies.
pub(super) fn client(access: kgen_llm::Access) -> kgen_llm::Client {
    let config = kgen_llm::ProviderConfig::new("replay", "", 8, access);
    kgen_llm::Client::new(config, kgen_llm::Budget::default()).unwrap()
}

pub(super) fn planned(op: &str) -> RunOp {
    RunOp { name: op.to_owned(), definition: None, key: OpKey(op.to_owned()) }
}

fn info(run_id: RunId) -> RunInfo {
    RunInfo::new(
        run_id,
        "smoke",
        vec!["relu".to_owned()],
        DeviceInfo::new("emu", Target::h100_class()),
    )
}
