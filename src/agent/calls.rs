//! The calls of an attempt: those on record, and those that are left to be made.

use super::{
    Ask, Best, Event, Judge, Last, Llm, Material, PromptMatch, Source,
    attempt::Attempt,
    context::{Halt, refusal},
};
use crate::{
    llm::{self, Call, CallKey, Reply, ReplyRecord, Turn},
    prompt::Rendered,
    record::AttemptId,
    store::{CallState, LostCall},
};

impl<L: Llm, J: Judge, M: Material> Attempt<L, J, M> {
    /// Returns the stored reply, or makes a call; the inner error is a refusal.
    pub(super) async fn reply(&mut self) -> Result<Result<Reply, llm::Error>, Halt> {
        let calls_wait = match self.context.plan.source {
            Source::Llm { calls_wait, .. } => calls_wait,
            Source::Given(_) => false,
        };
        let replied = self.state.replied_call().filter(|call| {
            // The provider takes what a person put there and completes the record.
            !(calls_wait && self.state.calls[call] == CallState::TextOnly)
        });
        if let Some(call) = replied
            && let Some(stored) = self.context.store().run().reply(&self.id, call)?
        {
            self.complete(call, &stored)?;
            return stored.to_reply().usable().map_or_else(|e| refusal(e).map(Err), |r| Ok(Ok(r)));
        }
        let call = self.next_call(calls_wait)?;
        self.context.may_go_on()?;
        self.call(call).await
    }

    /// Makes the record of a stored reply whole where kgen ended before it was.
    fn complete(&mut self, call: u32, stored: &ReplyRecord) -> Result<(), Halt> {
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

    /// Returns the number of the call to make; one that was in flight is put on record as lost.
    fn next_call(&mut self, calls_wait: bool) -> Result<u32, Halt> {
        let last = self.state.calls.last_key_value().map(|(call, state)| (*call, *state));
        match last {
            Some((call, CallState::InFlight | CallState::TextOnly)) if calls_wait => Ok(call),
            Some((call, CallState::InFlight)) => {
                let lost = LostCall {
                    noticed_at: jiff::Timestamp::now().to_string(),
                    possibly_billed: true,
                    reason: "kgen ended while the call was in flight".to_owned(),
                };
                self.context.store().write_lost(&self.id, call, &lost)?;
                self.state.calls.insert(call, CallState::Lost);
                let message =
                    format!("{}.call_{call} was in flight: it is lost, possibly billed", self.id);
                self.context.send(Event::Note { message });
                Ok(call + 1)
            }
            Some(_) | None => Ok(self.state.next_call()),
        }
    }

    async fn call(&mut self, call: u32) -> Result<Result<Reply, llm::Error>, Halt> {
        let context = &self.context;
        let (Some(llm), Source::Llm { max_tokens, temperature, .. }) =
            (&context.deps.llm, &context.plan.source)
        else {
            unreachable!("a plan with an LLM as its source comes with one")
        };
        let prompt = self.prompt()?;
        let key = CallKey { attempt: self.id.clone(), call };
        context.send(Event::CallStarted { key: key.clone() });
        let request = Call {
            key: key.clone(),
            turn: Turn::Code,
            sample: self.proposal.branch,
            system: prompt.system,
            prompt: prompt.user,
            max_tokens: *max_tokens,
            temperature: *temperature,
        };
        let answer = llm.complete(&request, context.store()).await;
        let answer = answer.map_or_else(|error| refusal(error).map(Err), |reply| Ok(Ok(reply)))?;
        self.state.calls.insert(call, CallState::Replied);
        if let Ok(reply) = &answer {
            context.send(Event::ReplyReceived {
                key,
                seconds: reply.seconds,
                usage: reply.usage,
                replayed: reply.replayed.map(|replayed| {
                    if replayed.prompt_differs { PromptMatch::Differs } else { PromptMatch::Same }
                }),
            });
        }
        Ok(answer)
    }

    fn prompt(&self) -> Result<Rendered, Halt> {
        let run = self.context.store().run();
        let mut parents = self.proposal.parents.iter().rev();
        let subject = parents.next().copied();
        let others = self.known.iter().filter(|seen| Some(seen.number()) != subject);
        let earlier: Vec<_> = others.filter_map(|seen| seen.past.clone()).collect();
        let last = match subject.and_then(|number| self.known(number)?.past.clone()) {
            None => None,
            Some(past) => {
                let id = self.sibling(past.number);
                let feedback = run.feedback(&id)?.unwrap_or_default();
                Some(Last { past, kernel: run.kernel(&id)?, feedback })
            }
        };
        // Where there are two, the other one is what the subject is measured by.
        let best = parents.next().copied().or(subject).and_then(|number| self.known(number));
        let best = match best.filter(|best| best.verdict().is_pass()) {
            None => None,
            Some(best) => run.kernel(&self.sibling(best.number()))?.map(|kernel| Best {
                number: best.number(),
                kernel,
                speedup: best.record.speedup.clone(),
            }),
        };
        let ask = Ask { op: &self.op.name, earlier, last, best };
        let prompt = self.context.deps.material.prompt(&ask);
        prompt.map_err(|error| Halt::material(&self.op.name, error))
    }

    pub(super) fn sibling(&self, number: u32) -> AttemptId {
        AttemptId { op: self.id.op.clone(), number }
    }
}
