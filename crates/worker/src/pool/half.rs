//! Half an evaluation: a job for a worker of one role, whatever becomes of the worker.

use kgen_baseline::side::Side;
use kgen_record::Evaluation;

use super::{
    deadline::Deadlines,
    ledger::Ledger,
    link::{JobError, Worker, ended_over_memory, verdict_of},
    python::Pythons,
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
    /// Makes the job's line, given the Python process and its number. Called only when a worker is
    /// free: hundreds of evaluations may wait.
    pub(super) line: &'a (dyn Fn(&Side, Option<u32>) -> Vec<u8> + Send + Sync),
    /// The lines that follow it.
    pub(super) attachment: &'a [u8],
    pub(super) deadlines: Deadlines,
    /// Begins the record of the worker's messages.
    pub(super) ledger: &'a (dyn Fn(&Hello) -> Ledger<'a> + Send + Sync),
    /// How Python processes are started, where the job needs that of its GPU.
    pub(super) pythons: Option<&'a Pythons>,
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
            if self.pythons.is_some() && lease.admit_python() {
                worker.shut_down().await?;
                worker = lease.worker().await?;
            }
            let sandbox = worker.hello().sandbox();
            let side = match self.pythons {
                Some(pythons) => python_for(lease, &worker, pythons).await,
                None => Side::None,
            };
            let line = (self.line)(&side, lease.python_pid());
            let mut ledger = (self.ledger)(worker.hello());
            let job = [&line[..], self.attachment];
            let silence = match worker.judge(&job, self.deadlines, &mut ledger).await {
                Ok(answer) => {
                    self.release_python(lease, &side, answer.side_broken).await;
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
            // A worker that sat out its wait for the Python process says that the latter hangs.
            let is_broken = match &silence {
                JobError::Overdue(_) => ledger.is_waiting(),
                JobError::Failed { side_broken, .. } | JobError::Op { side_broken, .. } => {
                    *side_broken
                }
                JobError::Closed | JobError::Garbage(_) | JobError::Panicked(_) => false,
            };
            self.release_python(lease, &side, is_broken).await;
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

    async fn release_python(&self, lease: &mut Lease<'_>, side: &Side, is_broken: bool) {
        if let (Some(pythons), Side::Ready(_), Some((python, device))) =
            (self.pythons, side, lease.python())
        {
            python.job_done(pythons, &device, is_broken).await;
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

/// Returns how the Python process of a place stands, started if it does not run.
pub(super) async fn side(lease: &mut Lease<'_>, pythons: &Pythons) -> Result<Side, Error> {
    let worker = lease.worker().await?;
    let side = python_for(lease, &worker, pythons).await;
    lease.put_back(worker);
    Ok(side)
}

async fn python_for(lease: &mut Lease<'_>, worker: &Worker, pythons: &Pythons) -> Side {
    let uuid = worker.hello().target.as_ref().and_then(|target| target.uuid.as_deref());
    let watch = lease.watcher();
    match lease.python() {
        Some((python, device)) => python.ready(pythons, &device, uuid, watch).await,
        None => Side::None,
    }
}

/// Ends a worker; a GPU whose process does not die is given up.
async fn end(worker: &mut Worker, lease: &mut Lease<'_>) -> Result<(), Error> {
    let ended = worker.end().await;
    ended.map(drop).map_err(|error| lease.end_failed(error))
}
