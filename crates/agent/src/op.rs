//! One op, from its first prompt to its winner.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::Arc,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use kgen_prompt::{HistoryEntry, feedback};
use kgen_record::AttemptId;
use kgen_store::{AttemptState, Confirmation, OpState, Purpose, StageFile};

use super::{
    CandidateSource, Error, EvaluationService, Event, Llm, OpEnd, OpOutcome, Policy, RunInputs,
    RunOp, Search, Shutdown,
    analysis_queue::AnalysisQueue,
    attempt::{Attempt, Shared, past},
    context::{AttemptError, Context},
    duplicates::{DuplicateRegistry, Fingerprint},
    evaluate,
    strategy::{FinishedAttempt, Proposal, Step, Strategy, close, winner},
};

/// An op at work.
pub(super) struct OpTask<L, J, M> {
    context: Arc<Context<L, J, M>>,
    op: Arc<RunOp>,
    policy: Policy,
    strategy: Box<dyn Strategy>,
    /// The finished attempts, in the order of their numbers.
    seen: Vec<FinishedAttempt>,
    /// Attempts that an interrupted run left unfinished.
    unfinished: BTreeMap<u32, AttemptState>,
    /// Shared by attempts; made when the first one begins.
    shared: Option<Arc<Shared>>,
}

/// An attempt at work, with its number.
type AtWork = Pin<Box<dyn Future<Output = Result<FinishedAttempt, AttemptError>> + Send>>;

impl<L: Llm, J: EvaluationService, M: RunInputs> OpTask<L, J, M> {
    pub(super) fn new(context: Arc<Context<L, J, M>>, op: RunOp, state: OpState) -> Self {
        let (search, policy) = match context.plan.source {
            CandidateSource::Llm { .. } => (context.plan.search, context.plan.policy),
            // Judging a given kernel once more would say the same.
            CandidateSource::Given(_) => {
                (Search::repair(), Policy { max_attempts: 1, ..context.plan.policy })
            }
        };
        let mut seen = Vec::new();
        let mut unfinished = BTreeMap::new();
        for (number, attempt) in state.attempts {
            match attempt.record {
                Some(record) => {
                    let confirmation = attempt.confirmation;
                    seen.push(FinishedAttempt { record, confirmation, past: None });
                }
                None => {
                    unfinished.insert(number, attempt);
                }
            }
        }
        let (op, strategy) = (Arc::new(op), search.strategy());
        Self { context, op, policy, strategy, seen, unfinished, shared: None }
    }

    /// Works on the op until it is over or the run stops; an error ends the run.
    pub(super) async fn work(mut self) -> (OpOutcome, Option<Failure>) {
        let stop = self.context.deps.stop.clone();
        self.context.send(Event::OpStarted { op: self.op.name.clone() });
        let end = tokio::select! {
            biased;
            () = stop.reached(Shutdown::Immediate) => Err(AttemptError::Interrupted),
            end = Box::pin(self.steps()) => end,
        };
        let (end, failure) = match end {
            Ok(end) => (end, None),
            Err(error) => sort(error),
        };
        let outcome = self.outcome(end);
        let event = Event::OpDone { outcome: Box::new(outcome.clone()) };
        self.context.send(event);
        (outcome, failure)
    }

    /// Returns the outcome of an op that is not worked on.
    pub(super) fn untouched(self) -> OpOutcome {
        self.outcome(OpEnd::Interrupted)
    }

    /// Keeps the strategy's proposals at work until it has nothing more to propose, or until
    /// one attempt cannot be made: then the attempts at work come to their end, and nothing new begins.
    async fn steps(&mut self) -> Result<OpEnd, AttemptError> {
        self.share_confirmations()?;
        let mut begun = BTreeSet::new();
        let mut at_work: FuturesUnordered<AtWork> = FuturesUnordered::new();
        let mut ended: Option<AttemptError> = None;
        loop {
            if ended.is_none() {
                match self.strategy.next(&self.seen, &self.policy) {
                    Step::Attempts(proposals) => {
                        if self.shared.is_none() {
                            self.shared = Some(Arc::new(self.shared(&proposals)?));
                        }
                        for proposal in proposals {
                            if begun.insert(proposal.number) {
                                at_work.push(self.begin(proposal)?);
                            }
                        }
                    }
                    Step::Confirm { number } => {
                        self.confirm(number).await?;
                        continue;
                    }
                    Step::Done(ending) => return Ok(OpEnd::Rule(ending)),
                }
            }
            match at_work.next().await {
                Some(Ok(seen)) => self.add(seen)?,
                Some(Err(error)) => {
                    if matches!(error, AttemptError::Failed(_)) {
                        self.context.deps.stop.raise(Shutdown::Draining);
                    }
                    ended = Some(match ended {
                        Some(before) => before.and(error),
                        None => error,
                    });
                }
                None => break,
            }
        }
        match ended.expect("a strategy proposes what is not finished, and only that is awaited") {
            error @ (AttemptError::EndOfRecording | AttemptError::Budget(_)) => {
                self.close(error).await
            }
            error => Err(error),
        }
    }

    /// Ends the op with the attempts there are: the winner is still confirmed.
    async fn close(&mut self, error: AttemptError) -> Result<OpEnd, AttemptError> {
        while let Step::Confirm { number } = close(&self.seen, &self.policy) {
            self.confirm(number).await?;
        }
        Ok(sort(error).0)
    }

    fn begin(&mut self, mut proposal: Proposal) -> Result<AtWork, AttemptError> {
        if matches!(self.context.plan.source, CandidateSource::Given(_)) {
            proposal.purpose = Purpose::Given;
        }
        let shared = self.shared.clone().expect("it is made before the first attempt begins");
        let known = self.seen.iter().filter(|seen| proposal.knows.contains(&seen.number()));
        let attempt = Attempt {
            context: Arc::clone(&self.context),
            op: Arc::clone(&self.op),
            id: self.id(proposal.number),
            known: known.cloned().collect(),
            made: BTreeMap::new(),
            state: self.unfinished.remove(&proposal.number).unwrap_or_default(),
            proposal,
        };
        Ok(Box::pin(attempt.run(shared)))
    }

    /// Reads the results of an interrupted run that further attempts need.
    fn shared(&mut self, proposals: &[Proposal]) -> Result<Shared, AttemptError> {
        let run = self.context.store().run();
        let mut kernels = BTreeMap::new();
        // One that is not gone on with, after fewer attempts were asked for, is not waited for.
        let goes_on = |number: &u32| proposals.iter().any(|proposal| proposal.number == *number);
        let judged = self.unfinished.iter();
        let judged = judged.filter(|(n, a)| goes_on(n) && a.files.contains(&StageFile::Eval));
        let originals = self.seen.iter().filter(|seen| seen.record.duplicate_of.is_none());
        let finished = originals.map(|seen| (seen.number(), true));
        for (number, is_finished) in finished.chain(judged.map(|(number, _)| (*number, false))) {
            if let Some(kernel) = run.kernel(&self.id(number))? {
                kernels.insert(number, (Fingerprint::of(&kernel), is_finished));
            }
        }
        for seen in &mut self.seen {
            let number = seen.number();
            let id = AttemptId { op: self.op.key.clone(), number };
            if let (None, Some(evaluation)) = (&seen.past, run.evaluation(&id)?) {
                let verdict = seen.verdict();
                seen.past = Some(HistoryEntry { verdict, ..past(&seen.record, &evaluation) });
            }
        }
        let finished = self.seen.iter().map(FinishedAttempt::number);
        Ok(Shared {
            originals: DuplicateRegistry::new(kernels),
            plans: AnalysisQueue::new(finished),
        })
    }

    /// Takes an attempt that came to its end.
    fn add(&mut self, seen: FinishedAttempt) -> Result<(), AttemptError> {
        let place = self.seen.partition_point(|other| other.number() < seen.number());
        self.seen.insert(place, seen);
        self.share_confirmations()
    }

    async fn confirm(&mut self, number: u32) -> Result<(), AttemptError> {
        let id = self.id(number);
        self.context.may_go_on()?;
        self.context.send(Event::Confirming { attempt: id.clone() });
        let store = self.context.store();
        let kernel = store.run().kernel(&id)?.unwrap_or_default();
        let confirmation = if let Some((confirmation, feedback)) = self.recorded(&id)? {
            if !confirmation.passed {
                store.write_feedback(&id, &feedback)?;
            }
            confirmation
        } else {
            let (confirmation, failure) =
                Box::pin(evaluate::confirm(&self.context, &self.op, &id, &kernel)).await?;
            if let Some(failure) = failure {
                // The next prompt is about the failure now, not about the pass.
                let feedback = feedback(&failure, &kernel, self.context.plan.feedback);
                store.write_feedback(&id, &feedback)?;
            }
            confirmation
        };
        let passed = confirmation.passed;
        self.keep_confirmation(number, confirmation)?;
        self.context.send(Event::Confirmed { attempt: id, passed });
        self.share_confirmations()
    }

    /// Returns how the winner of the recording fared, and the note on it.
    fn recorded(&self, id: &AttemptId) -> Result<Option<(Confirmation, String)>, AttemptError> {
        let CandidateSource::Llm { reuse_evaluations: Some(recorded), .. } =
            &self.context.plan.source
        else {
            return Ok(None);
        };
        let Some(confirmation) = recorded.run().confirmation(id)? else { return Ok(None) };
        Ok(Some((confirmation, recorded.run().feedback(id)?.unwrap_or_default())))
    }

    fn keep_confirmation(
        &mut self,
        number: u32,
        confirmation: Confirmation,
    ) -> Result<(), AttemptError> {
        self.context.store().write_confirmation(&self.id(number), &confirmation)?;
        let seen = self.seen.iter_mut().find(|seen| seen.number() == number);
        let seen = seen.expect("what is judged again was finished");
        seen.confirmation = Some(confirmation);
        let verdict = seen.verdict();
        if let Some(past) = &mut seen.past {
            past.verdict = verdict;
        }
        Ok(())
    }

    fn share_confirmations(&mut self) -> Result<(), AttemptError> {
        let (known, lacking): (Vec<_>, Vec<_>) =
            self.seen.iter().partition(|seen| seen.confirmation.is_some());
        let mut shared = Vec::new();
        for seen in lacking {
            let judged = known.iter().find(|other| original(other) == original(seen));
            let judged =
                judged.and_then(|other| Some((other.number(), other.confirmation.clone()?)));
            shared.extend(judged.map(|(from, confirmation)| (seen.number(), from, confirmation)));
        }
        for (number, from, confirmation) in shared {
            let store = self.context.store();
            if !confirmation.passed
                && let Some(feedback) = store.run().feedback(&self.id(from))?
            {
                store.write_feedback(&self.id(number), &feedback)?;
            }
            self.keep_confirmation(number, confirmation)?;
        }
        Ok(())
    }

    fn id(&self, number: u32) -> AttemptId {
        AttemptId { op: self.op.key.clone(), number }
    }

    fn outcome(&self, end: OpEnd) -> OpOutcome {
        let winner = winner(&self.seen);
        let confirmation = winner.and_then(|winner| winner.confirmation.as_ref());
        OpOutcome {
            op: self.op.name.clone(),
            key: self.op.key.clone(),
            end,
            best: winner.map(|winner| winner.record.clone()),
            verdict: winner.map(FinishedAttempt::verdict),
            confirmed: confirmation.is_some_and(|confirmation| confirmation.passed),
            n_attempts: u32::try_from(self.seen.len()).expect("an op has few attempts"),
        }
    }
}

fn original(seen: &FinishedAttempt) -> u32 {
    seen.record.duplicate_of.unwrap_or(seen.number())
}

/// Something that was not the candidate's fault.
#[derive(Debug)]
pub(super) enum Failure {
    /// Other ops may fare better.
    OfOp(Error),
    OfRun(Error),
}

fn sort(error: AttemptError) -> (OpEnd, Option<Failure>) {
    let failed = |message: String| OpEnd::Failed { message };
    match error {
        AttemptError::EndOfRecording => (OpEnd::EndOfRecording, None),
        AttemptError::Budget(cap) => (OpEnd::BudgetReached { cap }, None),
        AttemptError::Awaiting { calls } => (OpEnd::Awaiting { calls }, None),
        AttemptError::Sibling | AttemptError::Interrupted => (OpEnd::Interrupted, None),
        AttemptError::OfOp(error) => (failed(with_cause(&error)), Some(Failure::OfOp(error))),
        AttemptError::Failed(error) => (failed(with_cause(&error)), Some(Failure::OfRun(error))),
    }
}

fn with_cause(error: &Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or(error.to_string(), |cause| format!("{error}: {cause}"))
}
