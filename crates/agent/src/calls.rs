//! The calls of an attempt: those on record, and those that are left to be made.
//!
//! An attempt has one call that brings its kernel file. Where there is something to go on from and
//! the search has a planner, another comes before it, which says the change to make. Each is
//! made until it has one reply; the purpose of a call is in its request.

use kgen_llm::{Call, CallKey, ReplyRecord, Turn};
use kgen_prompt::{Analysis, BestAttempt, Branch, HistoryEntry, LastAttempt, Rendered, Situation};
use kgen_record::AttemptId;
use kgen_store::{CallState, LostCall, Run};

use super::{
    CandidateSource, EvaluationService, Event, Llm, PromptMatch, RunInputs,
    attempt::{Attempt, Shared},
    context::{AttemptError, refusal},
};

#[derive(Debug, Clone, Copy)]
pub(super) struct Made {
    turn: Turn,
    /// Whether it is made again under its number while its reply is not whole: nobody is paid
    /// twice for a person's answer, nor for a recorded one.
    can_wait: bool,
}

/// The result of a reply; the error is a refusal.
pub(super) type Answer = Result<ReplyRecord, kgen_llm::Error>;

impl<L: Llm, J: EvaluationService, M: RunInputs> Attempt<L, J, M> {
    /// Returns the reply that brings the kernel file.
    pub(super) async fn reply(&mut self, shared: &Shared) -> Result<Answer, AttemptError> {
        // Whatever happens from here on, the branches that wait for this one are notified.
        let mut planning = shared.plans.begin(self.id.number);
        for call in self.state.calls.keys() {
            let request = self.context.store().run().request(&self.id, *call)?;
            let is_replayed = request.as_ref().is_some_and(|request| request.kind == "replay");
            let made = Made {
                turn: request.map_or_else(Turn::default, |request| request.turn),
                can_wait: is_replayed || self.calls_wait(),
            };
            self.made.insert(*call, made);
        }
        self.lose_calls()?;
        if self.has_code() {
            // Its plan is in there; a plan that failed is not asked for once more.
            planning.is_past();
            return self.turn(Turn::Code, None, None).await;
        }
        let branch = self.branch(shared).await?;
        let plan = if self.is_planned() { self.plan(branch.as_ref()).await? } else { None };
        planning.is_past();
        self.turn(Turn::Code, plan.as_ref(), branch.as_ref()).await
    }

    /// Returns whether the reply that brings the kernel file is stored, and no prompt is needed.
    fn has_code(&self) -> bool {
        let last = self.made.iter().rev().find(|(_, made)| made.turn == Turn::Code);
        last.is_some_and(|(call, made)| {
            let state = self.state.calls[call];
            state.has_reply() && !(made.can_wait && state == CallState::TextOnly)
        })
    }

    /// Returns whether a plan is made first: there must be something to analyse.
    fn is_planned(&self) -> bool {
        self.context.plan.search.planner && !self.proposal.parents.is_empty()
    }

    /// Returns which branch of several this is, and the work of the branches before it.
    async fn branch(&self, shared: &Shared) -> Result<Option<Branch>, AttemptError> {
        let (number, of) = (self.proposal.branch, self.proposal.branches);
        if of < 2 {
            return Ok(None);
        }
        let mut taken = Vec::new();
        if self.is_planned() {
            let before = &self.proposal.plans_after;
            if !shared.plans.passed(before).await {
                return Err(AttemptError::Sibling);
            }
            for sibling in before {
                let plan = stored_plan(self.context.store().run(), &self.sibling(*sibling))?;
                taken.extend(plan.map(|plan| plan.bottleneck));
            }
        }
        Ok(Some(Branch { number, of, taken }))
    }

    /// Returns the change to make. A reply that names nothing in the form asked for is taken as
    /// it is, and without one the code is asked for as if there was no planner.
    async fn plan(&mut self, branch: Option<&Branch>) -> Result<Option<Analysis>, AttemptError> {
        match self.turn(Turn::Plan, None, branch).await? {
            Ok(reply) => Ok(Some(Analysis::parse(&reply.text).unwrap_or_else(|| Analysis {
                bottleneck: "not named apart from the change".to_owned(),
                evidence: String::new(),
                change: reply.text.trim().to_owned(),
            }))),
            Err(refused) => {
                let message = format!("{}: no plan was made: {refused}", self.id);
                self.context.send(Event::Note { message });
                Ok(None)
            }
        }
    }

    /// Returns the stored reply of a turn, or makes a call.
    async fn turn(
        &mut self,
        turn: Turn,
        plan: Option<&Analysis>,
        branch: Option<&Branch>,
    ) -> Result<Answer, AttemptError> {
        let mut of_turn = self.made.iter().rev().filter(|(_, made)| made.turn == turn);
        let last = of_turn.next().map(|(call, made)| (*call, self.state.calls[call], *made));
        match last.map(|(call, state, made)| (call, state, made.can_wait)) {
            // The provider takes the text that a person put there and completes the record.
            Some((call, CallState::TextOnly | CallState::InFlight, true)) => {
                self.context.may_go_on()?;
                return self.call(call, turn, plan, branch).await;
            }
            Some((call, state, _)) if state.has_reply() => {
                if let Some(stored) = self.context.store().run().reply(&self.id, call)? {
                    self.complete(call, &stored)?;
                    let usable = stored.usable();
                    return usable.map_or_else(|e| refusal(e).map(Err), |r| Ok(Ok(r)));
                }
            }
            Some(_) | None => {}
        }
        self.context.may_go_on()?;
        self.call(self.state.next_call(), turn, plan, branch).await
    }

    fn calls_wait(&self) -> bool {
        match self.context.plan.source {
            CandidateSource::Llm { calls_wait, .. } => calls_wait,
            CandidateSource::Given(_) => false,
        }
    }

    /// Makes the record of a stored reply whole where kgen ended before it was.
    fn complete(&mut self, call: u32, stored: &ReplyRecord) -> Result<(), AttemptError> {
        if self.state.calls[&call] != CallState::TextOnly {
            return Ok(());
        }
        self.context.store().complete_reply(stored)?;
        self.state.calls.insert(call, CallState::Replied);
        let message =
            format!("{}.call_{call}: only its text was stored, its usage is lost", self.id);
        self.context.send(Event::Note { message });
        Ok(())
    }

    /// Puts calls that were in flight on record as lost, unless they still wait for their replies.
    fn lose_calls(&mut self) -> Result<(), AttemptError> {
        for (call, state) in &mut self.state.calls {
            if *state != CallState::InFlight || self.made[call].can_wait {
                continue;
            }
            let lost = LostCall {
                noticed_at: jiff::Timestamp::now().to_string(),
                possibly_billed: true,
                reason: "kgen ended while the call was in flight".to_owned(),
            };
            self.context.store().write_lost(&self.id, *call, &lost)?;
            *state = CallState::Lost;
            let message =
                format!("{}.call_{call} was in flight: it is lost, possibly billed", self.id);
            self.context.send(Event::Note { message });
        }
        Ok(())
    }

    async fn call(
        &mut self,
        call: u32,
        turn: Turn,
        plan: Option<&Analysis>,
        branch: Option<&Branch>,
    ) -> Result<Answer, AttemptError> {
        let context = &self.context;
        let (Some(llm), CandidateSource::Llm { max_tokens, temperature, .. }) =
            (&context.deps.llm, &context.plan.source)
        else {
            unreachable!("a plan with an LLM as its source comes with one")
        };
        let prompt = self.prompt(turn, plan, branch)?;
        let key = CallKey { attempt: self.id.clone(), call };
        if !prompt.left_out.is_empty() {
            let left_out = prompt.left_out.join("; ");
            let message = format!("{key}: left out of the prompt for length: {left_out}");
            context.send(Event::Note { message });
        }
        context.send(Event::CallStarted { key: key.clone() });
        let request = Call {
            key: key.clone(),
            turn,
            sample: self.proposal.branch,
            system: prompt.system,
            prompt: prompt.user,
            max_tokens: *max_tokens,
            temperature: *temperature,
        };
        let answer = llm.complete(&request, context.store()).await;
        let answer = answer.map_or_else(|error| refusal(error).map(Err), |reply| Ok(Ok(reply)))?;
        self.state.calls.insert(call, CallState::Replied);
        self.made.insert(call, Made { turn, can_wait: false });
        if let Ok(reply) = &answer {
            context.send(Event::ReplyReceived {
                key,
                seconds: reply.seconds,
                usage: reply.usage,
                cost: reply.cost,
                cached: reply.cached.is_some(),
                replayed: reply.replayed.map(|replayed| {
                    if replayed.prompt_differs { PromptMatch::Differs } else { PromptMatch::Same }
                }),
            });
        }
        Ok(answer)
    }

    fn prompt(
        &self,
        turn: Turn,
        plan: Option<&Analysis>,
        branch: Option<&Branch>,
    ) -> Result<Rendered, AttemptError> {
        let run = self.context.store().run();
        let history: Vec<HistoryEntry> =
            self.known.iter().filter_map(|seen| seen.past.clone()).collect();
        let mut parents = self.proposal.parents.iter().rev();
        let base = parents.next().and_then(|number| self.known(*number));
        // Where there are two, the other one is the measure of the base.
        let best = parents.next().and_then(|number| self.known(*number)).or(base);
        let best = best.filter(|best| best.verdict().is_pass());
        let kernel = |number| run.kernel(&self.sibling(number));
        let (base_kernel, feedback) = match base {
            Some(seen) => {
                let feedback = run.feedback(&self.sibling(seen.number()))?;
                (kernel(seen.number())?, feedback.unwrap_or_default())
            }
            None => (None, String::new()),
        };
        let best_kernel = match best {
            Some(best) => kernel(best.number())?,
            None => None,
        };
        let parent = base.and_then(|seen| seen.past.as_ref()).map(|past| LastAttempt {
            past,
            kernel: base_kernel.as_deref(),
            feedback: &feedback,
        });
        let best = best.zip(best_kernel.as_deref()).map(|(best, kernel)| BestAttempt {
            number: best.number(),
            kernel,
            speedup: best.record.speedup.as_ref(),
        });
        let situation = Situation { turn, history: &history, parent, best, plan, branch };
        let prompt = self.context.deps.inputs.prompt(&self.op.name, &situation);
        prompt.map_err(|error| AttemptError::inputs(&self.op.name, error))
    }

    pub(super) fn sibling(&self, number: u32) -> AttemptId {
        AttemptId { op: self.id.op.clone(), number }
    }
}

/// Returns the plan that an attempt was made by; `None` where it had none, or none that names a
/// bottleneck.
fn stored_plan(run: &Run, attempt: &AttemptId) -> Result<Option<Analysis>, AttemptError> {
    let mut plan = None;
    for call in 1.. {
        let Some(request) = run.request(attempt, call)? else { break };
        if request.turn == Turn::Plan
            && let Some(reply) = run.reply(attempt, call)?
        {
            plan = Analysis::parse(&reply.text);
        }
    }
    Ok(plan)
}
