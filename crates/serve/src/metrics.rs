//! Counters and histograms of the service.

use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
    core::Collector,
};

use crate::{job::JobState, result::JobResult};

/// Upper bounds of the histograms' buckets, in seconds.
const BUCKETS: [f64; 12] = [0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 1_800.0];

pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) accepted: IntCounter,
    finished: IntCounterVec,
    evaluations: IntCounterVec,
    infra_errors: IntCounterVec,
    pub(crate) requests: IntCounterVec,
    pub(crate) queue_depth: IntGauge,
    pub(crate) running: IntGauge,
    queue: HistogramVec,
    evaluation: HistogramVec,
    stages: HistogramVec,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let registry = Registry::new();
        Self {
            accepted: add(&registry, IntCounter::new("kgen_jobs_accepted_total", "Jobs accepted")),
            finished: counters(
                &registry,
                "kgen_jobs_finished_total",
                "Jobs that ended",
                &["state"],
            ),
            evaluations: counters(
                &registry,
                "kgen_evaluations_total",
                "Results about kernels",
                &["verdict"],
            ),
            infra_errors: counters(
                &registry,
                "kgen_infra_errors_total",
                "Failures of the machine",
                &["kind"],
            ),
            requests: counters(
                &registry,
                "kgen_requests_total",
                "Answers to HTTP requests",
                &["status"],
            ),
            queue_depth: add(&registry, IntGauge::new("kgen_queue_depth", "Jobs that wait")),
            running: add(&registry, IntGauge::new("kgen_running", "Jobs that run")),
            queue: histogram(&registry, "kgen_queue_seconds", "Wait of jobs in the queue", &[]),
            evaluation: histogram(&registry, "kgen_evaluation_seconds", "Time of evaluations", &[]),
            stages: histogram(
                &registry,
                "kgen_stage_seconds",
                "Time of the stages of evaluations",
                &["stage"],
            ),
            registry,
        }
    }

    /// Counts a job that ended.
    pub(crate) fn count(&self, state: JobState, result: &JobResult) {
        self.finished.with_label_values(&[state.name()]).inc();
        if let Some(verdict) = result.verdict() {
            self.evaluations.with_label_values(&[verdict.name()]).inc();
        }
        if let Some(kind) = result.infra_kind() {
            self.infra_errors.with_label_values(&[kind.name()]).inc();
        }
        for (stage, seconds) in result.timing_s() {
            let none: [&str; 0] = [];
            match stage.as_str() {
                "queue" => self.queue.with_label_values(&none).observe(*seconds),
                "total" => self.evaluation.with_label_values(&none).observe(*seconds),
                stage => self.stages.with_label_values(&[stage]).observe(*seconds),
            }
        }
    }

    /// Returns how many jobs ended.
    pub(crate) fn n_finished(&self) -> u64 {
        let of = |state: JobState| self.finished.with_label_values(&[state.name()]).get();
        of(JobState::Done) + of(JobState::Failed)
    }

    /// Returns all of them in Prometheus' text format.
    pub(crate) fn text(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    add(registry, IntCounterVec::new(Opts::new(name, help), labels))
}

fn histogram(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
    add(registry, HistogramVec::new(options, labels))
}

fn add<C: Collector + Clone + 'static>(registry: &Registry, metric: prometheus::Result<C>) -> C {
    let metric = metric.expect("names and labels are constants");
    registry.register(Box::new(metric.clone())).expect("every name is used once");
    metric
}
