//! Findings of an evaluation while a worker is at it, so that a killed worker's findings
//! survive it.

use std::time::{Duration, Instant};

use kgen_eval::Progress;
use kgen_record::{
    CaseOutcome, CaseResult, EvalRequest, Evaluation, Finding, Level, Stage, StageTime, Verdict,
};

use super::{Observer, deadline::Deadlines};
use crate::protocol::Role;

/// How a worker left an evaluation unfinished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// The verdict on the candidate.
    pub(super) verdict: Verdict,
    /// The event, as the end of a sentence, for example `the worker was killed by SIGSEGV`.
    pub(super) what: String,
    /// Advice for the candidate's author.
    pub(super) hint: Option<String>,
}

/// The progress of one half of an evaluation.
pub(super) struct Ledger<'a> {
    observer: Observer<'a>,
    role: Role,
    screened: bool,
    /// The evaluation as it would be if the worker died now, verdict and stage aside.
    evaluation: Evaluation,
    stage: Option<Stage>,
    stage_start: Instant,
    in_flight: Option<usize>,
    /// Whether the last message was that it waits for the Python process.
    is_waiting: bool,
}

impl<'a> Ledger<'a> {
    /// Begins the half that needs no GPU.
    pub(super) fn cpu(
        request: &EvalRequest,
        nvrtc: Option<String>,
        observer: Observer<'a>,
    ) -> Self {
        let evaluation = Evaluation { nvrtc, ..kgen_eval::unbegun(request, Verdict::Crashed) };
        Self::new(Role::Cpu, request, evaluation, observer)
    }

    /// Begins the half on the GPU.
    pub(super) fn gpu(
        request: &EvalRequest,
        evaluation: Evaluation,
        observer: Observer<'a>,
    ) -> Self {
        Self::new(Role::Gpu, request, evaluation, observer)
    }

    fn new(
        role: Role,
        request: &EvalRequest,
        evaluation: Evaluation,
        observer: Observer<'a>,
    ) -> Self {
        Self {
            observer,
            role,
            screened: request.screen,
            evaluation,
            stage: None,
            stage_start: Instant::now(),
            in_flight: None,
            is_waiting: false,
        }
    }

    /// Returns whether the worker has said anything about this job.
    pub(super) const fn has_begun(&self) -> bool {
        self.stage.is_some() || self.in_flight.is_some()
    }

    /// Returns whether it is the candidate that the worker is busy with.
    pub(super) fn is_candidates(&self) -> bool {
        Deadlines::is_candidates(self.stage(), self.in_flight.is_some())
    }

    /// Returns whether the worker waits for the Python process.
    pub(super) const fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Returns the stage that the worker is in.
    pub(super) fn stage(&self) -> Stage {
        self.stage.unwrap_or(match self.role {
            Role::Cpu => Stage::Guard,
            Role::Gpu => Stage::Execute,
        })
    }

    pub(super) fn note(&mut self, progress: Progress) {
        self.is_waiting = matches!(progress, Progress::Waiting { .. });
        match progress {
            Progress::Stage { stage } => {
                self.close_stage();
                if self.stage != Some(stage) {
                    (self.observer)(stage);
                }
                self.stage = Some(stage);
                self.in_flight = None;
            }
            Progress::CaseStarted { index } => self.in_flight = Some(index),
            Progress::Queued => {
                tracing::warn!("another kgen measures on this GPU; waiting until it is free");
            }
            Progress::Waiting { .. } => {}
            Progress::CaseDone { index, result } => {
                self.in_flight = None;
                match self.evaluation.cases.get_mut(index) {
                    Some(slot) => *slot = *result,
                    None => self.evaluation.cases.push(*result),
                }
            }
        }
    }

    fn close_stage(&mut self) {
        let seconds = self.stage_start.elapsed();
        self.stage_start = Instant::now();
        let Some(stage) = self.stage else { return };
        add_time(&mut self.evaluation.stage_times, stage, seconds);
    }

    /// Makes the evaluation from the facts known when the worker is gone.
    pub(super) fn close(mut self, end: End) -> Evaluation {
        self.close_stage();
        let stage = self.stage();
        let level = self.level(stage);
        let mut finding = Finding::new(end.what);
        finding.hint = end.hint;
        let in_flight = self.in_flight.and_then(|index| self.evaluation.cases.get_mut(index));
        let at = match in_flight {
            Some(case) => {
                let at = format!("case `{}` ({})", case.case, case.args);
                *case = CaseResult {
                    outcome: CaseOutcome::Judged(end.verdict),
                    level,
                    findings: vec![finding.clone()],
                    ..case.clone()
                };
                format!("in stage {}, {at}", stage.name())
            }
            None => format!("in stage {}", stage.name()),
        };
        finding.message = format!("{} {at}", finding.message);
        let mut evaluation = self.evaluation;
        evaluation.verdict = end.verdict;
        evaluation.level = level;
        evaluation.stage = stage;
        evaluation.findings.push(finding);
        evaluation.speedups.clear();
        evaluation
    }

    const fn level(&self, stage: Stage) -> Level {
        match (stage, self.role) {
            (Stage::Emulate, _) => Level::Emu,
            (Stage::Execute | Stage::Time | Stage::Profile | Stage::Done, Role::Gpu) => {
                if self.screened { Level::EmuCuda } else { Level::Cuda }
            }
            (Stage::Execute | Stage::Time | Stage::Profile | Stage::Done, Role::Cpu) => Level::Emu,
            (
                Stage::Extract
                | Stage::Guard
                | Stage::Plan
                | Stage::Compile
                | Stage::Link
                | Stage::Reference,
                Role::Cpu | Role::Gpu,
            ) => Level::Static,
        }
    }
}

fn add_time(times: &mut Vec<StageTime>, stage: Stage, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    match times.iter_mut().find(|time| time.stage == stage) {
        Some(time) => time.seconds += seconds,
        None => times.push(StageTime { stage, seconds }),
    }
}
