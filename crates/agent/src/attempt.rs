//! One attempt, from wherever its files say it is to its record.

use kgen_llm::{Finish, ReplyRecord};
use kgen_prompt::{HistoryEntry, change, feedback};
use kgen_record::{AttemptId, Evaluation, Finding, Implementation};
use kgen_store::{
    AttemptRecord, AttemptState, AttemptStatus, CallState, Counts, RecordedRun, StageFile,
};
use std::{collections::BTreeMap, sync::Arc};

use super::{
    CandidateSource, EvaluationService, Event, Llm, RunInputs, RunOp,
    analysis_queue::AnalysisQueue,
    calls::Made,
    context::{AttemptError, Context},
    duplicates::{DuplicateCheck, DuplicateRegistry, Fingerprint},
    evaluate,
    strategy::{FinishedAttempt, Proposal},
};

/// An attempt at work.
pub(super) struct Attempt<L, J, M> {
    pub(super) context: Arc<Context<L, J, M>>,
    pub(super) op: Arc<RunOp>,
    pub(super) id: AttemptId,
    pub(super) proposal: Proposal,
    /// The finished attempts that it knows of, in the order of their numbers.
    pub(super) known: Vec<FinishedAttempt>,
    pub(super) state: AttemptState,
    pub(super) made: BTreeMap<u32, Made>,
}

#[derive(Debug)]
pub(super) struct Shared {
    /// Who judges which kernel.
    pub(super) originals: DuplicateRegistry,
    /// Who is past planning.
    pub(super) plans: AnalysisQueue,
}

enum Candidate {
    Given(Implementation),
    None(Box<Finding>, AttemptStatus),
}

#[derive(Default)]
struct Origin {
    replayed: bool,
    change: Option<String>,
}

/// An evaluation, and where it comes from.
struct Judgement {
    evaluation: Evaluation,
    /// Whether it is that of a recording.
    is_reused: bool,
    /// The attempt that was judged for the same kernel.
    duplicate_of: Option<u32>,
}

impl Judgement {
    /// Seconds that the stages of the evaluation took, which are not this attempt's where it has
    /// the evaluation of another.
    fn seconds(&self) -> f64 {
        if self.duplicate_of.is_some() {
            return 0.0;
        }
        self.evaluation.stage_times.iter().map(|time| time.seconds).sum()
    }
}

impl<L: Llm, J: EvaluationService, M: RunInputs> Attempt<L, J, M> {
    /// Runs the remaining stages, and closes the attempt.
    pub(super) async fn run(
        mut self,
        shared: Arc<Shared>,
    ) -> Result<FinishedAttempt, AttemptError> {
        let started_at = jiff::Timestamp::now().to_string();
        let purpose = self.proposal.purpose;
        self.context.send(Event::AttemptStarted { attempt: self.id.clone(), purpose });
        let _owner = shared.originals.owner(self.id.number);
        let mut origin = Origin::default();
        let candidate = self.candidate(&shared, &mut origin).await?;
        let recorded = self.recorded(&origin);
        // Until the attempt is closed, others with the same kernel wait.
        let mut claim = None;
        let mut duplicate_of = None;
        match (&candidate, recorded) {
            (Candidate::Given(Implementation::Kernel { source }), None) => {
                match shared.originals.claim(Fingerprint::of(source), self.id.number).await {
                    DuplicateCheck::Original(own) => claim = Some(own),
                    DuplicateCheck::DuplicateOf(original) => duplicate_of = Some(original),
                }
            }
            (Candidate::Given(_) | Candidate::None(..), Some(recorded)) => {
                duplicate_of = recorded.run().record(&self.id)?.and_then(|r| r.duplicate_of);
            }
            (Candidate::Given(_) | Candidate::None(..), None) => {}
        }
        let judgement = self.judgement(&candidate, recorded, duplicate_of).await?;
        self.write_feedback(&candidate, &judgement.evaluation)?;
        let seen = self.close(&candidate, judgement, origin, started_at)?;
        if let Some(claim) = claim {
            claim.finish();
        }
        Ok(seen)
    }

    fn write_feedback(
        &self,
        candidate: &Candidate,
        evaluation: &Evaluation,
    ) -> Result<(), AttemptError> {
        if self.state.files.contains(&StageFile::Feedback) {
            return Ok(());
        }
        let kernel = match candidate {
            Candidate::Given(implementation) => implementation.source().unwrap_or_default(),
            Candidate::None(..) => "",
        };
        let feedback = feedback(evaluation, kernel, self.context.plan.feedback);
        Ok(self.context.store().write_feedback(&self.id, &feedback)?)
    }

    fn close(
        &self,
        candidate: &Candidate,
        judgement: Judgement,
        origin: Origin,
        started_at: String,
    ) -> Result<FinishedAttempt, AttemptError> {
        let seconds_judging = judgement.seconds();
        let Judgement { evaluation, is_reused, duplicate_of } = judgement;
        let spend = self.context.store().run().calls_spend(&self.id, &self.state.calls)?;
        let (replayed, cached) = self.origin_of_replies()?;
        let record = AttemptRecord {
            op: self.op.name.clone(),
            attempt: self.id.number,
            parents: self.proposal.parents.clone(),
            branch: self.proposal.branch,
            round: self.proposal.round,
            purpose: self.proposal.purpose,
            status: match candidate {
                Candidate::Given(_) => AttemptStatus::Judged,
                Candidate::None(_, status) => *status,
            },
            verdict: evaluation.verdict,
            level: evaluation.level,
            stage: evaluation.stage,
            counts: Counts::of(&evaluation),
            library_use: evaluation.library_use,
            speedup: evaluation.speedup().cloned(),
            calls: u32::try_from(self.state.calls.len()).expect("an attempt has few calls"),
            lost_calls: self.state.n_calls(CallState::Lost),
            replayed,
            cached,
            reused_evaluation: is_reused,
            change: origin.change,
            duplicate_of,
            spend: spend.now,
            recorded_spend: spend.recorded,
            seconds_judging,
            started_at,
            finished_at: jiff::Timestamp::now().to_string(),
        };
        self.context.store().finish_attempt(&self.id, &record)?;
        let attempt = self.id.clone();
        let past = past(&record, &evaluation);
        // Where no case ran the verdict alone says too little.
        let ended_early = || Some(past.reason.clone()).filter(|_| evaluation.cases.is_empty());
        let reason = evaluation.unjudged_reason().or_else(ended_early);
        let reason = reason.filter(|reason| !reason.is_empty());
        let done = Box::new(record.clone());
        self.context.send(Event::AttemptDone { attempt, record: done, reason });
        Ok(FinishedAttempt { record, confirmation: None, past: Some(past) })
    }

    /// Returns whether any of the replies was replayed, and whether any was kept.
    fn origin_of_replies(&self) -> Result<(bool, bool), AttemptError> {
        let (mut replayed, mut cached) = (false, false);
        for (call, state) in &self.state.calls {
            if state.has_reply()
                && let Some(reply) = self.context.store().run().reply(&self.id, *call)?
            {
                replayed |= reply.replayed.is_some();
                cached |= reply.cached.is_some();
            }
        }
        Ok((replayed, cached))
    }

    /// Returns the candidate, asking for it only if nothing of it is stored.
    async fn candidate(
        &mut self,
        shared: &Shared,
        origin: &mut Origin,
    ) -> Result<Candidate, AttemptError> {
        let candidate = match &self.context.plan.source {
            CandidateSource::Given(kernels) => kernels.get(&self.op.key).map_or_else(
                || {
                    let message = "no kernel file was given for this op";
                    Candidate::None(Box::new(Finding::new(message)), AttemptStatus::Judged)
                },
                |given| Candidate::Given(given.clone()),
            ),
            CandidateSource::Llm { .. } => match self.reply(shared).await? {
                Ok(reply) => {
                    origin.replayed = reply.replayed.is_some();
                    origin.change = change(&reply.text);
                    extract(&reply)
                }
                Err(refused) => Candidate::None(
                    Box::new(Finding::new(refused.to_string())),
                    AttemptStatus::Refused,
                ),
            },
        };
        if let Candidate::Given(implementation) = &candidate
            && let Some(file) = StageFile::of(implementation)
            && !self.state.files.contains(&file)
        {
            self.context.store().write_source(&self.id, implementation)?;
        }
        Ok(candidate)
    }

    /// Returns the recording whose evaluation is taken, where it has one.
    fn recorded(&self, origin: &Origin) -> Option<&RecordedRun> {
        match &self.context.plan.source {
            CandidateSource::Llm { reuse_evaluations, .. } if origin.replayed => reuse_evaluations
                .as_deref()
                .filter(|recorded| recorded.run().path(&self.id, StageFile::Eval).exists()),
            CandidateSource::Llm { .. } | CandidateSource::Given(_) => None,
        }
    }

    /// Returns the stored evaluation, the recorded one, that of an equal kernel, or a new one.
    async fn judgement(
        &self,
        candidate: &Candidate,
        recorded: Option<&RecordedRun>,
        mut duplicate_of: Option<u32>,
    ) -> Result<Judgement, AttemptError> {
        let store = self.context.store();
        let recorded = match recorded {
            Some(recorded) => recorded.evaluation(&self.id)?,
            None => None,
        };
        let is_reused = recorded.is_some();
        if self.state.files.contains(&StageFile::Eval)
            && let Some(evaluation) = store.run().evaluation(&self.id)?
        {
            return Ok(Judgement { evaluation, is_reused, duplicate_of });
        }
        let equal = match duplicate_of.filter(|_| !is_reused) {
            Some(original) => store.run().evaluation(&self.sibling(original))?,
            None => None,
        };
        let evaluation = match (recorded.or(equal), candidate) {
            (Some(known), _) => known,
            (None, Candidate::None(none, _)) => evaluate::no_code(&self.context, &self.op, none),
            (None, Candidate::Given(implementation)) => {
                duplicate_of = None;
                self.context.may_go_on()?;
                evaluate::evaluate(&self.context, &self.op, &self.id, implementation, 0).await?
            }
        };
        store.write_evaluation(&self.id, &evaluation, &evaluate::log(&evaluation))?;
        Ok(Judgement { evaluation, is_reused, duplicate_of })
    }

    pub(super) fn known(&self, number: u32) -> Option<&FinishedAttempt> {
        self.known.iter().find(|seen| seen.number() == number)
    }
}

/// Returns an attempt's line of the history.
pub(super) fn past(record: &AttemptRecord, evaluation: &Evaluation) -> HistoryEntry {
    HistoryEntry {
        parents: record.parents.clone(),
        change: record.change.clone(),
        duplicate_of: record.duplicate_of,
        ..HistoryEntry::new(record.attempt, evaluation)
    }
}

fn extract(reply: &ReplyRecord) -> Candidate {
    match kgen_kernel::extract(&reply.text) {
        Ok(source) => Candidate::Given(Implementation::Kernel { source }),
        Err(error) => {
            let mut finding = Finding::new(error.to_string());
            if reply.finish == Finish::Length {
                finding.hint = Some(
                    "the reply reached its token limit: write less before the code block"
                        .to_owned(),
                );
            }
            Candidate::None(Box::new(finding), AttemptStatus::Judged)
        }
    }
}
