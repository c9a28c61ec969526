//! One op, from its first prompt to its winner.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Error, Event, Judge, Llm, Material, OpEnd, OpOutcome, PlannedOp, Policy, Source, Stop,
    attempt::Attempt,
    context::{Context, Halt},
    decide::{Seen, Step, next_step, winner},
    judging,
};
use crate::{
    prompt::{Past, feedback},
    record::AttemptId,
    store::{AttemptState, Confirmation, OpState, Purpose, effective_verdict},
};

/// An op at work.
pub(super) struct OpTask<L, J, M> {
    context: Arc<Context<L, J, M>>,
    op: PlannedOp,
    policy: Policy,
    seen: Vec<Seen>,
    /// Attempts that an interrupted run left unfinished.
    unfinished: BTreeMap<u32, AttemptState>,
    /// The latest reason to stop that the rule does not know.
    halted: Option<OpEnd>,
}

impl<L: Llm, J: Judge, M: Material> OpTask<L, J, M> {
    pub(super) fn new(context: Arc<Context<L, J, M>>, op: PlannedOp, state: OpState) -> Self {
        let policy = match context.plan.source {
            Source::Llm { .. } => context.plan.policy,
            // Judging a given kernel once more would say the same.
            Source::Given(_) => Policy { max_attempts: 1, ..context.plan.policy },
        };
        let mut seen = Vec::new();
        let mut unfinished = BTreeMap::new();
        for (number, attempt) in state.attempts {
            match attempt.record {
                Some(record) => {
                    let confirmation = attempt.confirmation;
                    seen.push(Seen { record, confirmation, past: None });
                }
                None => {
                    unfinished.insert(number, attempt);
                }
            }
        }
        Self { context, op, policy, seen, unfinished, halted: None }
    }

    /// Works on the op until it is over or the run stops; an error ends the run.
    pub(super) async fn work(mut self) -> (OpOutcome, Option<Failure>) {
        let stop = self.context.deps.stop.clone();
        self.context.send(Event::OpStarted { op: self.op.name.clone() });
        let end = tokio::select! {
            biased;
            () = stop.reached(Stop::Now) => Err(Halt::Interrupted),
            end = Box::pin(self.steps()) => end,
        };
        let (end, failure) = match end {
            Ok(end) => (end, None),
            Err(halt) => sort(halt),
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

    async fn steps(&mut self) -> Result<OpEnd, Halt> {
        self.read_past()?;
        loop {
            match next_step(&self.seen, &self.policy) {
                Step::Attempt { number, purpose, parents } => {
                    let purpose = match self.context.plan.source {
                        Source::Llm { .. } => purpose,
                        Source::Given(_) => Purpose::Given,
                    };
                    let attempt = Attempt {
                        context: &self.context,
                        op: &self.op,
                        id: self.id(number),
                        purpose,
                        parents,
                        seen: &self.seen,
                        state: self.unfinished.remove(&number).unwrap_or_default(),
                    };
                    match Box::pin(attempt.carry_out()).await {
                        Ok(seen) => self.seen.push(seen),
                        Err(Halt::EndOfRecording) => self.last_attempt(OpEnd::EndOfRecording),
                        Err(Halt::Budget) => self.last_attempt(OpEnd::BudgetReached),
                        Err(halt) => return Err(halt),
                    }
                }
                Step::Confirm { number } => {
                    let confirmation = self.confirm(number).await?;
                    let winner = self.seen.iter_mut().find(|seen| seen.record.attempt == number);
                    let winner = winner.expect("the rule confirms a finished attempt");
                    winner.confirmation = Some(confirmation);
                    if let Some(past) = &mut winner.past {
                        past.verdict =
                            effective_verdict(&winner.record, winner.confirmation.as_ref());
                    }
                }
                Step::Done(ending) => {
                    return Ok(self.halted.take().unwrap_or(OpEnd::Rule(ending)));
                }
            }
        }
    }

    /// Reads what prompts say about attempts of an interrupted run.
    fn read_past(&mut self) -> Result<(), Halt> {
        for seen in &mut self.seen {
            let number = seen.record.attempt;
            let id = AttemptId { op: self.op.key.clone(), number };
            if let Some(evaluation) = self.context.store().run().evaluation(&id)? {
                let verdict = seen.verdict();
                seen.past = Some(Past { verdict, ..Past::new(number, &evaluation) });
            }
        }
        Ok(())
    }

    /// Makes the rule end the op with the attempts there are: the winner is still confirmed.
    fn last_attempt(&mut self, end: OpEnd) {
        self.policy.max_attempts = 0;
        self.halted = Some(end);
    }

    async fn confirm(&self, number: u32) -> Result<Confirmation, Halt> {
        let id = self.id(number);
        self.context.may_go_on()?;
        self.context.send(Event::Confirming { attempt: id.clone() });
        let store = self.context.store();
        let kernel = store.run().kernel(&id)?.unwrap_or_default();
        let (confirmation, failure) = match self.recorded_confirmation(&id)? {
            Some(recorded) => (recorded, None),
            None => Box::pin(judging::confirm(&self.context, &self.op, &id, &kernel)).await?,
        };
        if let Some(failure) = failure {
            // The next prompt is about what went wrong now, not about the pass.
            store.write_feedback(&id, &feedback(&failure, &kernel))?;
        }
        store.write_confirmation(&id, &confirmation)?;
        self.context.send(Event::Confirmed { attempt: id, passed: confirmation.passed });
        Ok(confirmation)
    }

    fn recorded_confirmation(&self, id: &AttemptId) -> Result<Option<Confirmation>, Halt> {
        match &self.context.plan.source {
            Source::Llm { reuse_evaluations: Some(recorded), .. } => {
                Ok(recorded.run().confirmation(id)?)
            }
            Source::Llm { .. } | Source::Given(_) => Ok(None),
        }
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
            verdict: winner.map(Seen::verdict),
            confirmed: confirmation.is_some_and(|confirmation| confirmation.passed),
            n_attempts: u32::try_from(self.seen.len()).expect("an op has few attempts"),
        }
    }
}

/// Something that was not the candidate's fault.
#[derive(Debug)]
pub(super) enum Failure {
    /// Other ops may fare better.
    OfOp(Error),
    /// Nothing would succeed.
    OfRun(Error),
}

fn sort(halt: Halt) -> (OpEnd, Option<Failure>) {
    let failed = |message: String| OpEnd::Failed { message };
    match halt {
        Halt::EndOfRecording => (OpEnd::EndOfRecording, None),
        Halt::Budget => (OpEnd::BudgetReached, None),
        Halt::Awaiting { key, path } => (OpEnd::Awaiting { key, path }, None),
        Halt::Interrupted => (OpEnd::Interrupted, None),
        Halt::OfOp(error) => (failed(with_cause(&error)), Some(Failure::OfOp(error))),
        Halt::Failed(error) => (failed(with_cause(&error)), Some(Failure::OfRun(error))),
    }
}

fn with_cause(error: &Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or(error.to_string(), |cause| format!("{error}: {cause}"))
}
