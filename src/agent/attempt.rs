//! One attempt, from wherever its files say it is to its record.

use super::{
    Ask, Best, Error, Event, Judge, Last, Llm, Material, PlannedOp, PromptMatch, Source,
    context::{Context, Halt, refusal},
    decide::{Seen, winner},
    judging,
};
use crate::{
    kernel,
    llm::{self, Call, CallKey, Finish, Reply, ReplyRecord, Turn},
    prompt::{Past, Rendered, feedback},
    record::{AttemptId, Evaluation, Finding, Implementation, Spend},
    store::{
        AttemptRecord, AttemptState, AttemptStatus, CallState, Counts, LostCall, Purpose, StageFile,
    },
};

/// An attempt at work.
pub(super) struct Attempt<'a, L, J, M> {
    pub(super) context: &'a Context<L, J, M>,
    pub(super) op: &'a PlannedOp,
    pub(super) id: AttemptId,
    pub(super) purpose: Purpose,
    pub(super) parents: Vec<u32>,
    /// The finished attempts.
    pub(super) seen: &'a [Seen],
    /// What an interrupted run left of this one.
    pub(super) state: AttemptState,
}

/// What an attempt has to be judged by.
enum Draft {
    Given(Implementation),
    None(Box<Finding>, AttemptStatus),
}

/// What was learned from the reply besides its text.
#[derive(Clone, Copy, Default)]
struct Origin {
    replayed: bool,
}

impl<L: Llm, J: Judge, M: Material> Attempt<'_, L, J, M> {
    /// Does what is left to be done, and closes the attempt.
    pub(super) async fn carry_out(mut self) -> Result<Seen, Halt> {
        let started_at = jiff::Timestamp::now().to_string();
        self.context
            .send(Event::AttemptStarted { attempt: self.id.clone(), purpose: self.purpose });
        let mut origin = Origin::default();
        let draft = self.draft(&mut origin).await?;
        let (evaluation, reused_evaluation) = self.evaluation(&draft, origin).await?;
        let store = self.context.store();
        if !self.state.files.contains(&StageFile::Feedback) {
            let kernel = match &draft {
                Draft::Given(implementation) => implementation.source().unwrap_or_default(),
                Draft::None(..) => "",
            };
            store.write_feedback(&self.id, &feedback(&evaluation, kernel))?;
        }
        let past = Some(Past::new(self.id.number, &evaluation));
        let record = AttemptRecord {
            op: self.op.name.clone(),
            attempt: self.id.number,
            parents: self.parents,
            branch: 1,
            round: self.id.number,
            purpose: self.purpose,
            status: match draft {
                Draft::Given(_) => AttemptStatus::Judged,
                Draft::None(_, status) => status,
            },
            verdict: evaluation.verdict,
            level: evaluation.level,
            stage: evaluation.stage,
            counts: Counts::of(&evaluation),
            speedup: evaluation.speedup().cloned(),
            change: None,
            duplicate_of: None,
            spend: Spend::default(),
            seconds_judging: 0.0,
            calls: u32::try_from(self.state.calls.len()).expect("an attempt has few calls"),
            lost_calls: self.state.n_calls(CallState::Lost),
            replayed: origin.replayed,
            reused_evaluation,
            started_at,
            finished_at: jiff::Timestamp::now().to_string(),
        };
        store.finish_attempt(&self.id, &record)?;
        let attempt = self.id.clone();
        let reason = judging::unjudged(&evaluation);
        let done = Box::new(record.clone());
        self.context.send(Event::AttemptDone { attempt, record: done, reason });
        Ok(Seen { record, confirmation: None, past })
    }

    /// Returns what is judged, asking for it only if nothing of it is stored.
    async fn draft(&mut self, origin: &mut Origin) -> Result<Draft, Halt> {
        let store = self.context.store();
        let draft = match &self.context.plan.source {
            Source::Given(kernels) => kernels.get(&self.op.key).map_or_else(
                || {
                    let message = "no kernel file was given for this op";
                    Draft::None(Box::new(Finding::new(message)), AttemptStatus::Judged)
                },
                |given| Draft::Given(given.clone()),
            ),
            Source::Llm { .. } => match self.reply().await? {
                Ok(reply) => {
                    origin.replayed = reply.replayed.is_some();
                    extract(&reply)
                }
                Err(refused) => {
                    Draft::None(Box::new(Finding::new(refused.to_string())), AttemptStatus::Refused)
                }
            },
        };
        if let Draft::Given(implementation) = &draft
            && let Some(file) = StageFile::of(implementation)
            && !self.state.files.contains(&file)
        {
            store.write_source(&self.id, implementation)?;
        }
        Ok(draft)
    }

    /// Returns the stored reply, or makes a call; the inner error is a refusal.
    async fn reply(&mut self) -> Result<Result<Reply, llm::Error>, Halt> {
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
        let context = self.context;
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
            system: prompt.system,
            prompt: prompt.user,
            max_tokens: *max_tokens,
            turn: Turn::Code,
            sample: 1,
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
        let mut earlier: Vec<_> = self.seen.iter().filter_map(|seen| seen.past.clone()).collect();
        let last = match earlier.pop() {
            None => None,
            Some(past) => {
                let id = self.sibling(past.number);
                let feedback = run.feedback(&id)?.unwrap_or_default();
                Some(Last { past, kernel: run.kernel(&id)?, feedback })
            }
        };
        let best = match winner(self.seen).filter(|winner| winner.verdict().is_pass()) {
            None => None,
            Some(winner) => {
                let AttemptRecord { attempt: number, speedup, .. } = &winner.record;
                let kernel = run.kernel(&self.sibling(*number))?;
                kernel.map(|kernel| Best { number: *number, kernel, speedup: speedup.clone() })
            }
        };
        let ask = Ask { op: &self.op.name, earlier, last, best };
        let prompt = self.context.deps.material.prompt(&ask);
        prompt.map_err(|error| Halt::material(&self.op.name, error))
    }

    fn sibling(&self, number: u32) -> AttemptId {
        AttemptId { op: self.id.op.clone(), number }
    }

    /// Returns the stored evaluation, the recorded one where that is wanted, or a new one; and
    /// whether it is recorded.
    async fn evaluation(&self, draft: &Draft, origin: Origin) -> Result<(Evaluation, bool), Halt> {
        let store = self.context.store();
        let recorded = match &self.context.plan.source {
            Source::Llm { reuse_evaluations: Some(recorded), .. } if origin.replayed => {
                recorded.evaluation(&self.id)?
            }
            Source::Llm { .. } | Source::Given(_) => None,
        };
        let reused = recorded.is_some();
        if self.state.files.contains(&StageFile::Eval)
            && let Some(stored) = store.run().evaluation(&self.id)?
        {
            return Ok((stored, reused));
        }
        let evaluation = match (recorded, draft) {
            (Some(recorded), _) => recorded,
            (None, Draft::None(none, _)) => judging::no_code(self.context, self.op, none),
            (None, Draft::Given(implementation)) => {
                self.context.may_go_on()?;
                judging::judge(self.context, self.op, &self.id, implementation, 0).await?
            }
        };
        store.write_evaluation(&self.id, &evaluation, &judging::log(&evaluation))?;
        Ok((evaluation, reused))
    }
}

fn extract(reply: &Reply) -> Draft {
    match kernel::extract(&reply.text) {
        Ok(source) => Draft::Given(Implementation::Kernel { source }),
        Err(error) => {
            let mut finding = Finding::new(error.to_string());
            if reply.finish == Finish::Length {
                finding.hint = Some(
                    "the reply reached its token limit: write less before the code block"
                        .to_owned(),
                );
            }
            Draft::None(Box::new(finding), AttemptStatus::Judged)
        }
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
