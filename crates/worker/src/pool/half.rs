//! Half an evaluation: a job for a worker of one role, whatever becomes of the worker.

use kgen_baseline::side::{Sidecar, Sides};
use kgen_record::Evaluation;

use super::{
    deadline::Deadlines,
    ledger::Ledger,
    link::{JobError, Worker, ended_over_memory, verdict_of},
    side::Starters,
    slots::{Lease, Slots},
};
use crate::{Error, protocol::Hello};

/// The job of half an evaluation.
pub(super) struct Half {
    pub(super) evaluation: Evaluation,
    /// The compiled program, unread.
    pub(super) program: Option<Vec<u8>>,
}

/// A job with everything that belongs to it.
pub(super) struct Task<'a> {
    /// Makes the job's line, given the processes that it needs and the numbers of those that run. Called
    /// only when a worker is free: hundreds of evaluations may wait.
    pub(super) line: &'a (dyn Fn(&Sides, Vec<u32>) -> Vec<u8> + Send + Sync),
    /// The lines that follow it.
    pub(super) attachment: &'a [u8],
    pub(super) deadlines: Deadlines,
    /// Begins the record of the worker's messages.
    pub(super) ledger: &'a (dyn Fn(&Hello) -> Ledger<'a> + Send + Sync),
    /// How processes beside workers are started.
    pub(super) starters: &'a Starters,
    /// Those that the job needs.
    pub(super) programs: &'a [Sidecar],
    /// Whether it needs a process that ran no other job.
    pub(super) fresh: bool,
}

impl Task<'_> {
    /// Has a worker run the job; its death becomes a verdict. A GPU that is given up before the job
    /// began there hands it to the next one.
    pub(super) async fn run(&self, slots: &Slots) -> Result<Half, Error> {
        loop {
            let mut lease = slots.lease().await?;
            match self.carry_out_on(&mut lease).await {
                Err(Error::Quarantined { .. }) if slots.is_live() => {}
                result => return result,
            }
        }
    }

    async fn carry_out_on(&self, lease: &mut Lease<'_>) -> Result<Half, Error> {
        let mut is_retry = false;
        loop {
            let mut worker = lease.worker().await?;
            if self.fresh && worker.is_used() {
                worker.shut_down().await?;
                worker = lease.worker().await?;
            }
            if self.programs.contains(&Sidecar::Python) && lease.admit_python() {
                worker.shut_down().await?;
                worker = lease.worker().await?;
            }
            let sandbox = worker.hello().sandbox();
            let sides = sides_for(lease, &worker, self.starters, self.programs).await;
            let line = (self.line)(&sides, lease.side_pids());
            let mut ledger = (self.ledger)(worker.hello());
            let job = [&line[..], self.attachment];
            let silence = match worker.judge(&job, self.deadlines, &mut ledger).await {
                Ok(answer) => {
                    self.release(lease, &sides, &answer.broken).await;
                    if answer.fit {
                        lease.put_back(worker);
                    } else {
                        worker.shut_down().await?;
                    }
                    let mut half = Half { evaluation: answer.evaluation, program: answer.program };
                    half.evaluation.sandbox.join(&sandbox);
                    return Ok(half);
                }
                Err(silence) => silence,
            };
            // A worker that sat out its wait for a process says that the latter hangs; not which one.
            let broken = match &silence {
                JobError::Overdue(_) if ledger.is_waiting() => sides.ready().collect(),
                JobError::Failed { broken, .. } | JobError::Op { broken, .. } => broken.clone(),
                JobError::Overdue(_)
                | JobError::Closed
                | JobError::Garbage(_)
                | JobError::Panicked(_) => Vec::new(),
            };
            self.release(lease, &sides, &broken).await;
            let died = match silence {
                JobError::Closed => worker.own_end().await,
                JobError::Overdue(_)
                | JobError::Garbage(_)
                | JobError::Panicked(_)
                | JobError::Failed { .. }
                | JobError::Op { .. } => None,
            };
            let undead = end(&mut worker, lease).await;
            let role = worker.role();
            let (why, said) = (silence.detail(), worker.stderr_text());
            tracing::info!(%role, why, ?died, said, "a worker was ended");
            let had_begun = ledger.has_begun();
            let is_candidates = ledger.is_waiting() || ledger.is_candidates();
            match (silence, undead) {
                // A fresh process may find the machine in better order, once.
                (JobError::Failed { .. }, Ok(())) if !is_retry => is_retry = true,
                (JobError::Failed { message, .. }, Ok(())) => {
                    return Err(Error::Judge { role, message });
                }
                (JobError::Op { message, .. }, Ok(())) => return Err(Error::Op { message }),
                // Something else may have killed it, for want of memory say: only who dies twice has died
                // over this candidate.
                (JobError::Closed | JobError::Garbage(_), Ok(()))
                    if !is_retry && !ended_over_memory(died) =>
                {
                    is_retry = true;
                }
                (JobError::Failed { .. } | JobError::Op { .. } | JobError::Closed, Err(error))
                    if !had_begun =>
                {
                    return Err(error);
                }
                (silence, _) => {
                    let mut evaluation = ledger.close(verdict_of(&silence, died, is_candidates));
                    evaluation.sandbox.join(&sandbox);
                    return Ok(Half { evaluation, program: None });
                }
            }
        }
    }

    async fn release(&self, lease: &mut Lease<'_>, sides: &Sides, broken: &[Sidecar]) {
        if let Some((sidecars, device)) = lease.sidecars() {
            sidecars.job_done(self.starters, &device, sides, broken).await;
        }
    }
}

/// Starts a worker, to see that it can be done, and returns its hello.
pub(super) async fn ready(slots: &Slots) -> Result<Hello, Error> {
    let mut lease = slots.lease().await?;
    let worker = lease.worker().await?;
    let hello = worker.hello().clone();
    lease.put_back(worker);
    Ok(hello)
}

/// Starts the processes of some programs beside a worker where they do not run.
pub(super) async fn warm_up(
    lease: &mut Lease<'_>,
    starters: &Starters,
    programs: &[Sidecar],
) -> Result<(), Error> {
    let worker = lease.worker().await?;
    drop(sides_for(lease, &worker, starters, programs).await);
    lease.put_back(worker);
    Ok(())
}

async fn sides_for(
    lease: &mut Lease<'_>,
    worker: &Worker,
    starters: &Starters,
    programs: &[Sidecar],
) -> Sides {
    let uuid = worker.hello().target.as_ref().and_then(|target| target.uuid.as_deref());
    let watch = lease.watcher();
    match lease.sidecars() {
        Some((sidecars, device)) => sidecars.ready(starters, programs, &device, uuid, watch).await,
        None => Sides::default(),
    }
}

/// Ends a worker; a GPU whose process does not die is given up.
async fn end(worker: &mut Worker, lease: &mut Lease<'_>) -> Result<(), Error> {
    let ended = worker.end().await;
    ended.map(drop).map_err(|error| lease.end_failed(error))
}
