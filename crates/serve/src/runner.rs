//! Runners: each takes one job after the other out of the queue.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    Failure, FailureKind, Judged, Service, StoreError,
    job::{JobState, Millis},
    result::{Elapsed, JobResult},
    store::{Claimed, Outcome, jobs},
};

/// Evaluations of a job over which the machine may fail.
const MAX_TRIES: u32 = 3;

/// Time before a failed store is tried again.
const STORE_WAIT: Duration = Duration::from_millis(500);

/// Ended jobs between two looks at how many are kept.
const PRUNE_EVERY: u64 = 256;

impl Service {
    /// Runs jobs until the service drains and its running jobs are over, or the time for that is.
    pub async fn run(self: &Arc<Self>) {
        let mut runners = JoinSet::new();
        for _ in 0..self.judge.facts().workers.max(1) {
            let service = Arc::clone(self);
            runners.spawn(async move { service.run_one_after_the_other().await });
        }
        let service = Arc::clone(self);
        runners.spawn(async move { service.end_expired().await });
        let mut draining = self.draining.subscribe();
        // The sender lives as long as the service.
        drop(draining.wait_for(|draining| *draining).await);
        let deadline = Instant::now() + self.config.drain;
        while let Ok(Some(_)) = tokio::time::timeout_at(deadline, runners.join_next()).await {}
        runners.shutdown().await;
        let requeued = self.store.call(|transaction| {
            let sql = "UPDATE jobs SET state = 'queued', started = NULL WHERE state = 'running'";
            transaction.execute(sql, [])
        });
        drop(requeued.await);
    }

    async fn run_one_after_the_other(&self) {
        while !self.is_draining() {
            let queued = self.queued.notified();
            let claimed = self.store.call(|transaction| jobs::claim(transaction, Millis::now()));
            match claimed.await {
                Ok(Some(job)) => self.run_job(job).await,
                // Signals are not kept for those who look at the queue meanwhile.
                Ok(None) => drop(tokio::time::timeout(Duration::from_secs(1), queued).await),
                Err(error) => {
                    tracing::warn!("{error}");
                    tokio::time::sleep(STORE_WAIT).await;
                }
            }
        }
    }

    /// Ends jobs whose deadline is over, also where all runners are busy.
    async fn end_expired(&self) {
        while !self.is_draining() {
            let expired =
                self.store.call(|transaction| jobs::claim_expired(transaction, Millis::now()));
            match expired.await {
                Ok(Some(job)) => self.run_job(job).await,
                Ok(None) | Err(_) => tokio::time::sleep(STORE_WAIT).await,
            }
        }
    }

    async fn run_job(&self, job: Claimed) {
        self.metrics.running.inc();
        let outcome = self.outcome(&job).await;
        self.metrics.running.dec();
        let is_over = matches!(outcome, Outcome::Ended { .. });
        self.end(&job.id, outcome).await;
        if is_over {
            self.ended(&job.id);
        } else {
            self.queued.notify_waiters();
        }
    }

    async fn outcome(&self, job: &Claimed) -> Outcome {
        let judged = if job.killed_too_often() {
            let text = format!("the server died {} times while this job ran", job.deaths);
            Err(Failure { kind: FailureKind::ServerDied, text })
        } else {
            self.judge_in_time(job).await
        };
        let elapsed = Elapsed {
            queue_s: job.started.since(job.created),
            total_s: Millis::now().since(job.started),
        };
        match judged {
            Ok(judged) => {
                let result = JobResult::of(&judged, job.spec.level, elapsed);
                let evaluation = serde_json::to_string(&judged.evaluation);
                let evaluation = evaluation.expect("kgen's own data turns into JSON");
                self.over(JobState::Done, &result, Some(evaluation))
            }
            Err(failure) if may_be_tried_again(&failure, job) => {
                tracing::warn!("job {} is tried again: {}", job.id, failure.text);
                Outcome::Requeued
            }
            Err(failure) => {
                tracing::warn!("job {} failed: {}", job.id, failure.text);
                self.over(JobState::Failed, &JobResult::failed(failure, elapsed), None)
            }
        }
    }

    fn over(&self, state: JobState, result: &JobResult, evaluation: Option<String>) -> Outcome {
        // Those that the emulator cannot run have an evaluation, but no result about the kernel.
        let state = if result.infra_kind().is_some() { JobState::Failed } else { state };
        self.metrics.count(state, result);
        Outcome::Ended {
            state,
            retryable: result.infra_kind().is_some_and(FailureKind::is_retryable),
            result: serde_json::to_value(result).expect("kgen's own data turns into JSON"),
            evaluation,
        }
    }

    async fn judge_in_time(&self, job: &Claimed) -> Result<Judged, Failure> {
        let late = || {
            let text = "the job did not end by its deadline".to_owned();
            Failure { kind: FailureKind::Deadline, text }
        };
        let now = Millis::now();
        if job.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(late());
        }
        let evaluated = AssertUnwindSafe(self.judge.evaluate(job.spec.clone())).catch_unwind();
        let evaluated = evaluated.map(|ended| {
            ended.unwrap_or_else(|_| {
                let text = "kgen panicked while it judged; its log has more".to_owned();
                Err(Failure { kind: FailureKind::Internal, text })
            })
        });
        let Some(deadline) = job.deadline else { return evaluated.await };
        let left = Duration::from_millis(deadline.0.abs_diff(now.0));
        tokio::time::timeout(left, evaluated).await.unwrap_or_else(|_| Err(late()))
    }

    /// Stores an end, however long it takes: the work must not be lost to a disk that is full for a while.
    async fn end(&self, id: &str, outcome: Outcome) {
        let outcome = Arc::new(outcome);
        loop {
            match self.store_end(id, &outcome).await {
                Ok(()) => return,
                Err(error) => tracing::warn!("{error}"),
            }
            tokio::time::sleep(STORE_WAIT).await;
        }
    }

    async fn store_end(&self, id: &str, outcome: &Arc<Outcome>) -> Result<(), StoreError> {
        let (id, outcome, keep) = (id.to_owned(), Arc::clone(outcome), self.config.keep);
        let prunes = self.metrics.n_finished().is_multiple_of(PRUNE_EVERY);
        let call = self.store.call(move |transaction| {
            jobs::end(transaction, &id, &outcome, Millis::now())?;
            if prunes { jobs::prune(transaction, keep) } else { Ok(()) }
        });
        call.await
    }
}

fn may_be_tried_again(failure: &Failure, job: &Claimed) -> bool {
    failure.kind.is_retryable()
        && !matches!(
            failure.kind,
            FailureKind::Deadline | FailureKind::Lost | FailureKind::ServerDied
        )
        && job.tries < MAX_TRIES
}
