//! A judge whose answers are in the source, and servers with it.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt};
use kgen_record::{
    CaseClass, CaseOutcome, CaseResult, DType, Evaluation, Finding, InputDistribution, Level,
    Precision, Sandbox, Stage, Target, Verdict,
};
use tokio::task::JoinHandle;

use crate::{
    ApiError, Config, ErrorKind, EvaluateRequest, Facts, Failure, FailureKind, Judge, Judged,
    Limits, OpEntry, ProblemEntry, Prompt, PromptQuery, Service, Spec, StoreError, bind, serve,
};

pub(super) struct FakeJudge {
    facts: Facts,
    pub(super) evaluations: Arc<AtomicUsize>,
}

impl Judge for FakeJudge {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn resolve(&self, request: &EvaluateRequest) -> Result<Spec, ApiError> {
        let op = request.op.clone().unwrap_or_default();
        if op == "unknown" {
            return Err(ApiError::new(ErrorKind::UnknownOp, "no such op").field("op"));
        }
        Ok(Spec {
            op,
            definition: None,
            source: request.source.clone(),
            level: request.level,
            dtypes: request.dtypes.clone().unwrap_or_default(),
            suite: request.suite.clone(),
            precision: request.precision.unwrap_or_default(),
            seed: request.seed,
        })
    }

    fn evaluate(&self, spec: Spec) -> BoxFuture<'_, Result<Judged, Failure>> {
        async move {
            self.evaluations.fetch_add(1, Ordering::SeqCst);
            let first = spec.source.split(' ').next().unwrap_or_default();
            match first {
                "broken" => Err(Failure { kind: FailureKind::Worker, text: "it died".to_owned() }),
                "panic" => panic!("the judge has a defect"),
                "never" => std::future::pending().await,
                "slow" => {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    Ok(judged(Verdict::Passed))
                }
                "wrong" => Ok(judged(Verdict::WrongOutput)),
                "unsupported" => Ok(judged(Verdict::Unsupported)),
                _ => Ok(judged(Verdict::Passed)),
            }
        }
        .boxed()
    }

    fn ops(&self) -> Vec<OpEntry> {
        vec![OpEntry {
            name: "relu".to_owned(),
            overload: "aten.relu.default".to_owned(),
            signature: "relu(Tensor self) -> Tensor".to_owned(),
            aliases: vec!["aten.relu".to_owned()],
        }]
    }

    fn problems(&self) -> Vec<ProblemEntry> {
        Vec::new()
    }

    fn prompt(&self, query: &PromptQuery) -> Result<Prompt, ApiError> {
        Ok(Prompt { op: query.op.clone(), prompt: "Write it.".to_owned() })
    }
}

fn judged(verdict: Verdict) -> Judged {
    let outcome = CaseOutcome::Judged(verdict);
    let case = CaseResult {
        case: "f32[4]/normal".to_owned(),
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        args: "self=f32[4]".to_owned(),
        outcome,
        level: Level::Emu,
        findings: vec![Finding::new("found")],
        mismatch: None,
        max_abs_error: None,
        max_rel_error: None,
        worst_ratio: None,
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    };
    let evaluation = Evaluation {
        op: "relu".to_owned(),
        verdict,
        level: Level::Emu,
        stage: Stage::Emulate,
        findings: Vec::new(),
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: vec![case],
        timings: Vec::new(),
        speedups: Vec::new(),
        target: Target::h100_class(),
        precision: Precision::Strict,
        library_use: None,
        seed: 1,
        nvrtc: None,
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: Vec::new(),
        profile: None,
        sandbox: Sandbox::On,
    };
    Judged { evaluation, feedback: "found".to_owned() }
}

/// A server until it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) service: Arc<Service>,
    pub(super) evaluations: Arc<AtomicUsize>,
    task: Option<JoinHandle<()>>,
}

/// How a server is started.
pub(super) struct Options {
    pub(super) max_queue: usize,
    pub(super) runners: usize,
    pub(super) token: Option<&'static str>,
    pub(super) limits: Limits,
    pub(super) drain: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_queue: 8,
            runners: 2,
            token: None,
            limits: Limits { max_body: 4096, ..Limits::default() },
            drain: Duration::from_secs(5),
        }
    }
}

impl Server {
    pub(super) async fn start(state: &Path, options: Options) -> Self {
        let evaluations = Arc::new(AtomicUsize::new(0));
        let judge = FakeJudge {
            facts: Facts {
                kgen_version: "0.0.0".to_owned(),
                device: "fake".to_owned(),
                workers: options.runners,
                identity: "fake".to_owned(),
            },
            evaluations: Arc::clone(&evaluations),
        };
        let config = Config {
            state: state.to_owned(),
            max_queue: options.max_queue,
            keep: 100,
            drain: options.drain,
            token: options.token.map(str::to_owned),
        };
        let judge: Arc<dyn Judge> = Arc::new(judge);
        let service = loop {
            // A server that ended in the same process lets go of the folder a moment later.
            match Service::new(Arc::clone(&judge), config.clone()) {
                Err(StoreError::InUse { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
                opened => break opened.unwrap(),
            }
        };
        let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(serve(
            listener,
            Arc::clone(&service),
            options.limits,
            axum::Router::new(),
        ));
        Self { address, service, evaluations, task: Some(task) }
    }

    /// Waits until so many evaluations were begun.
    pub(super) async fn begun(&self, n: usize) {
        while self.evaluations.load(Ordering::SeqCst) < n {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Drains it, as a signal does, and waits for its end.
    pub(super) async fn end(mut self) {
        self.service.drain();
        self.task.take().unwrap().await.unwrap();
    }

    /// Ends it without a word to anybody, as `kill -9` does.
    pub(super) async fn kill(mut self) {
        let task = self.task.take().unwrap();
        task.abort();
        drop(task.await);
    }
}
