//! The service behind the routes: submits jobs, waits for them, and ends in order.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout_at},
};

use crate::{
    ApiError, ErrorKind, EvaluateRequest, Facts, Judge, Prompt, PromptQuery, StoreError,
    job::{JobState, JobView, Millis},
    metrics::Metrics,
    store::{Store, Submission, Submitted, jobs},
};

#[derive(Debug, Clone)]
pub struct Config {
    /// Folder of the jobs.
    pub state: PathBuf,
    /// Jobs that wait at most.
    pub max_queue: usize,
    /// Jobs that are over and kept.
    pub keep: usize,
    /// Time that running evaluations have to end.
    pub drain: Duration,
    /// The bearer token; `None` lets everybody in.
    pub token: Option<String>,
}

/// Jobs before a judge.
pub struct Service {
    pub(crate) judge: Arc<dyn Judge>,
    pub(crate) store: Store,
    pub(crate) config: Config,
    pub(crate) metrics: Metrics,
    /// Wakes runners.
    pub(crate) queued: Notify,
    /// Whether no new jobs are taken.
    pub(crate) draining: watch::Sender<bool>,
    waiters: Mutex<HashMap<String, Weak<Notify>>>,
}

impl Service {
    /// Opens the state folder.
    ///
    /// # Errors
    ///
    /// [`StoreError`] where it cannot be used.
    pub fn new(judge: Arc<dyn Judge>, config: Config) -> Result<Arc<Self>, StoreError> {
        let store = Store::open(&config.state)?;
        Ok(Arc::new(Self {
            judge,
            store,
            config,
            metrics: Metrics::new(),
            queued: Notify::new(),
            draining: watch::Sender::new(false),
            waiters: Mutex::default(),
        }))
    }

    /// Returns facts about the judge.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.judge.facts()
    }

    /// Submits a request and waits for its end; returns the job as JSON, as `POST /v1/evaluate` does.
    ///
    /// # Errors
    ///
    /// As the route.
    pub async fn evaluate(
        &self,
        request: EvaluateRequest,
        wait: Duration,
    ) -> Result<serde_json::Value, ApiError> {
        let mut jobs = self.submit(vec![Ok(request)]).await?;
        let job = jobs.pop().expect("one answer per request")?;
        let job = self.wait(job, Some(Instant::now() + wait)).await?;
        Ok(serde_json::to_value(job).expect("kgen's own data turns into JSON"))
    }

    /// Returns the first prompt about an op.
    ///
    /// # Errors
    ///
    /// An [`ApiError`] about the query.
    pub fn prompt(&self, query: &PromptQuery) -> Result<Prompt, ApiError> {
        self.judge.prompt(query)
    }

    /// Takes no new jobs from now on.
    pub fn drain(&self) {
        self.draining.send_replace(true);
        self.queued.notify_waiters();
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Submits requests, all or none of them; an error of one is its own.
    pub(crate) async fn submit(
        &self,
        requests: Vec<Result<EvaluateRequest, ApiError>>,
    ) -> Result<Vec<Result<JobView, ApiError>>, ApiError> {
        if self.is_draining() {
            return Err(ApiError::new(ErrorKind::Draining, "the server is shutting down"));
        }
        let now = Millis::now();
        let resolved: Vec<Result<Submission, ApiError>> =
            requests.into_iter().map(|request| self.resolve(&request?, now)).collect();
        let submissions: Vec<Submission> =
            resolved.iter().filter_map(|found| found.as_ref().ok()).cloned().collect();
        let max_queue = self.config.max_queue;
        let submitted = self
            .store
            .call(move |transaction| jobs::submit(transaction, &submissions, max_queue, now))
            .await?;
        let Submitted::Jobs { jobs, n_new } = submitted else {
            let text = format!("{max_queue} jobs wait already");
            return Err(ApiError::new(ErrorKind::QueueFull, text));
        };
        self.metrics.accepted.inc_by(n_new as u64);
        self.queued.notify_waiters();
        let mut jobs = jobs.into_iter();
        let join = |found: Result<Submission, ApiError>| {
            let submission = found?;
            jobs.next().flatten().ok_or_else(|| conflict(&submission))
        };
        Ok(resolved.into_iter().map(join).collect())
    }

    fn resolve(&self, request: &EvaluateRequest, now: Millis) -> Result<Submission, ApiError> {
        request.check()?;
        let spec = self.judge.resolve(request)?;
        #[expect(clippy::cast_possible_truncation, reason = "a deadline is at most a month")]
        let deadline = request.deadline_s.map(|s| Millis(now.0 + (s * 1e3) as i64));
        Ok(Submission {
            id: spec.id(&self.judge.facts().identity),
            spec,
            deadline,
            idempotency_key: request.idempotency_key.clone(),
        })
    }

    /// Returns a job.
    pub(crate) async fn job(&self, id: String) -> Result<JobView, ApiError> {
        let missing = ApiError::new(ErrorKind::NotFound, format!("there is no job `{id}`"));
        let found = self.store.call(move |transaction| jobs::view(transaction, &id)).await?;
        found.ok_or(missing)
    }

    /// Returns a job once it is over, or as it is after a time or at the end of the server.
    pub(crate) async fn wait(
        &self,
        job: JobView,
        until: Option<Instant>,
    ) -> Result<JobView, ApiError> {
        let Some(until) = until else { return Ok(job) };
        let mut job = job;
        let mut draining = self.draining.subscribe();
        let notify = self.waiter(&job.id);
        loop {
            // Before the job is read, so that no end is missed.
            let ended = notify.notified();
            job = self.job(job.id).await?;
            if job.state.is_over() || self.is_draining() {
                return Ok(job);
            }
            tokio::select! {
                waited = timeout_at(until, ended) => if waited.is_err() {
                    return Ok(job);
                },
                _ = draining.changed() => {}
            }
        }
    }

    fn waiter(&self, id: &str) -> Arc<Notify> {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = waiters.get(id).and_then(Weak::upgrade) {
            return notify;
        }
        let notify = Arc::new(Notify::new());
        waiters.insert(id.to_owned(), Arc::downgrade(&notify));
        notify
    }

    /// Wakes those who wait for a job.
    pub(crate) fn ended(&self, id: &str) {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = waiters.remove(id).and_then(|notify| notify.upgrade()) {
            notify.notify_waiters();
        }
    }

    /// Counts the jobs that wait and those that run.
    pub(crate) async fn depths(&self) -> Result<(usize, usize), ApiError> {
        let counts = self.store.call(|transaction| {
            let count = |state| jobs::n_in(transaction, state);
            Ok((count(JobState::Queued)?, count(JobState::Running)?))
        });
        Ok(counts.await?)
    }
}

fn conflict(submission: &Submission) -> ApiError {
    let key = submission.idempotency_key.as_deref().unwrap_or_default();
    let text = format!("the key `{key}` belongs to another request");
    ApiError::new(ErrorKind::IdempotencyConflict, text).field("idempotency_key")
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::warn!("{error}");
        Self::new(ErrorKind::Storage, error.to_string())
    }
}
