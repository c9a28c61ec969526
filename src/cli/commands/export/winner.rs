//! The attempt that is exported, and its records.

use kgen_ops::op::OpDef;
use kgen_record::{AttemptId, Case, CaseOutcome, Evaluation, Level, OpKey, Speedup, Verdict};
use kgen_store::{AttemptRecord, Confirmation, OpMetadata, Run, effective_verdict};

use crate::{
    cli::{CommandError, Context, exit_codes::Exit, selection},
    export::{Evidence, Export},
};

/// The attempt that is exported.
pub(super) struct Winner {
    pub id: AttemptId,
    kernel: String,
    evaluation: Option<Evaluation>,
    metadata: OpMetadata,
    record: AttemptRecord,
    confirmation: Option<Confirmation>,
}

impl Winner {
    pub(super) fn find(run: &Run, op: &OpDef, attempt: Option<u32>) -> Result<Self, CommandError> {
        let key = OpKey::from(op);
        let Some(metadata) = run.metadata(&key)? else {
            let known: Vec<String> = run.ops()?.into_iter().map(|op| op.0).collect();
            let run = &run.info().run_id;
            let hint = match known.as_slice() {
                [] => format!("it has none at all: `kgen resume {run}` goes on with it"),
                known => format!("its ops are {}", known.join(", ")),
            };
            let message = format!("{run} has no finished attempt at {}", op.name);
            return Err(CommandError::usage(message).hint(hint));
        };
        let number = attempt.unwrap_or(metadata.best_attempt);
        let id = AttemptId { op: key, number };
        let record = run.record(&id)?.ok_or_else(|| {
            CommandError::usage(format!("there is no attempt {number} at {}", op.name))
        })?;
        let confirmation = run.confirmation(&id)?;
        let verdict = effective_verdict(&record, confirmation.as_ref());
        if !verdict.is_pass() {
            let message = format!("attempt {number} at {} did not pass: {verdict}", op.name);
            return Err(CommandError::new(Exit::NotSolved, message)
                .hint("only kernels that passed are exported"));
        }
        let kernel = run.kernel(&id)?.ok_or_else(|| {
            CommandError::config(format!("attempt {number} at {} has no kernel file", op.name))
                .hint("what a library or a Python process computed cannot be exported")
        })?;
        let evaluation = run.evaluation(&id)?;
        Ok(Self { id, kernel, evaluation, metadata, record, confirmation })
    }

    /// Returns the suite's cases.
    ///
    /// A suite that is gone leaves the module without cases, which is no reason not to write it.
    pub(super) fn cases(context: &Context, run: &Run, op: &OpDef) -> Vec<Case> {
        let suite = selection::suite_of_run(&context.ui, run.info());
        let cases = suite.and_then(|suite| Ok(suite.public_cases(&op.name)?));
        cases.unwrap_or_else(|error| {
            context.ui.warn(&format!("the module has no cases to check: {}", error.source));
            Vec::new()
        })
    }

    /// Returns the parts of its module; cases: the suite's.
    pub(super) fn export<'a>(
        &'a self,
        run: &Run,
        op: &'a OpDef,
        cases: &[Case],
        backward: Option<&'a OpDef>,
    ) -> Export<'a> {
        let cases = self.passed(cases);
        Export {
            op,
            kernel: &self.kernel,
            origin: self.origin(run),
            precision: self.evaluation.as_ref().map(|e| e.precision).unwrap_or_default(),
            tuned: self.tuned(&cases),
            cases,
            backward,
        }
    }

    /// Returns where it passed; `None` where its evaluation is gone.
    pub(super) fn level(&self) -> Option<Level> {
        self.evaluation.as_ref().map(|evaluation| evaluation.level)
    }

    /// Returns those of the cases that the kernel passed; all of them where its evaluation is gone.
    fn passed(&self, cases: &[Case]) -> Vec<Case> {
        let Some(evaluation) = &self.evaluation else { return cases.to_vec() };
        let passed = |case: &&Case| {
            let mut results = evaluation.cases.iter().filter(|result| result.case == case.id);
            results.any(|result| result.outcome == CaseOutcome::Judged(Verdict::Passed))
        };
        cases.iter().filter(passed).cloned().collect()
    }

    /// Returns the timed cases with the values of the plan's axes that were fastest.
    fn tuned(&self, cases: &[Case]) -> Vec<(Case, Vec<(String, i64)>)> {
        let timings = self.evaluation.iter().flat_map(|evaluation| &evaluation.timings);
        let tuned = timings.filter_map(|timing| {
            let case = cases.iter().find(|case| case.id == timing.case)?;
            Some((case.clone(), timing.params.clone()))
        });
        tuned.collect()
    }

    pub(super) fn judged(&self) -> String {
        self.level().map_or("passed".to_owned(), |level| format!("passed ({level})"))
    }

    /// Says in a few lines where the kernel comes from.
    fn origin(&self, run: &Run) -> Vec<String> {
        let info = run.info();
        let mut lines = vec![format!(
            "From run {} of kgen {}: attempt {} at {}, {} on {}.",
            info.run_id,
            info.kgen_version,
            self.id.number,
            self.metadata.op,
            self.judged(),
            info.device.target.name
        )];
        let best = self.metadata.best_attempt == self.id.number;
        if let Some(speedup) = self.metadata.speedup.as_ref().filter(|_| best) {
            lines.push(format!(
                "Speedup {:.2}x over {}, the geometric mean over the timed cases.",
                speedup.geomean, speedup.baseline
            ));
        }
        lines
    }

    /// Returns the records for the card.
    pub(super) fn evidence<'a>(&'a self, run: &'a Run) -> Evidence<'a> {
        let best = self.metadata.best_attempt == self.id.number;
        let measured: &[Speedup] = match &self.evaluation {
            _ if best && !self.metadata.speedups.is_empty() => &self.metadata.speedups,
            Some(evaluation) => &evaluation.speedups,
            None => self.record.speedup.as_slice(),
        };
        Evidence {
            run: run.info(),
            record: &self.record,
            confirmation: self.confirmation.as_ref(),
            evaluation: self.evaluation.as_ref(),
            speedups: measured,
        }
    }
}
