//! An evaluation under construction: case results and stage times fall into place, the verdict
//! follows from them.

use std::time::{Duration, Instant};

use kgen_kernel::{
    KernelFile,
    plan::{self, plan_name},
};
use kgen_record::{
    ArgValue, Case, CaseOutcome, CaseResult, Diagnostic, EvalRequest, Evaluation, Finding,
    Implementation, Level, LibraryUse, Resources, Stage, StageTime, TensorArg, TensorSpec, Verdict,
};

use super::Progress;

/// Results of cases, by index.
pub(super) type Results = Vec<(usize, CaseResult)>;

/// Why a stage ends an evaluation before any case ran.
#[derive(Debug)]
pub(super) struct EarlyVerdict {
    pub(super) verdict: Verdict,
    /// The findings.
    pub(super) findings: Vec<Finding>,
    /// The compiler's messages, if it spoke.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Kernels that were compiled.
    pub(super) resources: Vec<Resources>,
    /// Cases that the plan does not take or that are at fault, by index.
    pub(super) cases: Results,
}

impl EarlyVerdict {
    /// Returns a verdict with one finding.
    pub(super) fn new(verdict: Verdict, finding: Finding) -> Self {
        Self {
            verdict,
            findings: vec![finding],
            diagnostics: Vec::new(),
            resources: Vec::new(),
            cases: Vec::new(),
        }
    }

    /// Returns all messages in one line.
    pub(super) fn messages(self) -> String {
        let messages = self.findings.into_iter().map(|finding| finding.message);
        let diagnostics = self.diagnostics.into_iter().map(|diagnostic| match diagnostic.line {
            Some(line) => format!("line {line}: {}", diagnostic.message),
            None => diagnostic.message,
        });
        messages.chain(diagnostics).collect::<Vec<_>>().join("; ")
    }
}

/// An evaluation under construction.
pub(super) struct EvaluationBuilder<'a> {
    /// The kernel file, for the text of the lines that findings name.
    kernel: &'a str,
    /// The cases of the request.
    cases: &'a [Case],
    evaluation: Evaluation,
    progress: &'a mut dyn FnMut(Progress),
    stage_start: Instant,
    /// Seconds of the present stage that references took.
    references_s: f64,
}

impl<'a> EvaluationBuilder<'a> {
    /// Begins an evaluation in which no case has run.
    pub(super) fn new(request: &'a EvalRequest, progress: &'a mut dyn FnMut(Progress)) -> Self {
        let evaluation = unbegun(request, Verdict::Unsupported);
        Self::resume(request, evaluation, progress)
    }

    /// Goes on with an evaluation that another worker began.
    pub(super) fn resume(
        request: &'a EvalRequest,
        evaluation: Evaluation,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            kernel: request.source(),
            cases: &request.cases,
            evaluation,
            progress,
            stage_start: Instant::now(),
            references_s: 0.0,
        }
    }

    /// Returns the evaluation as it stands.
    pub(super) fn evaluation(&mut self) -> &mut Evaluation {
        &mut self.evaluation
    }

    pub(super) fn enter(&mut self, stage: Stage) {
        self.leave();
        self.evaluation.stage = stage;
        (self.progress)(Progress::Stage { stage });
    }

    /// Notes the time of the stage that ends here.
    fn leave(&mut self) {
        let all = self.stage_start.elapsed().as_secs_f64();
        let references = std::mem::take(&mut self.references_s).min(all);
        if references > 0.0 {
            self.add_time(Stage::Reference, references);
        }
        self.add_time(self.evaluation.stage, all - references);
        self.stage_start = Instant::now();
    }

    fn add_time(&mut self, stage: Stage, seconds: f64) {
        match self.evaluation.stage_times.iter_mut().find(|time| time.stage == stage) {
            Some(time) => time.seconds += seconds,
            None => self.evaluation.stage_times.push(StageTime { stage, seconds }),
        }
    }

    /// Calls a function that the present stage waits for: it makes inputs or references.
    pub(super) fn reference<T>(&mut self, make: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let made = make();
        self.references_s += began.elapsed().as_secs_f64();
        made
    }

    /// Announces that a case begins.
    pub(super) fn case_started(&mut self, index: usize) {
        (self.progress)(Progress::CaseStarted { index });
    }

    /// Announces that nothing more may be said for that long.
    pub(super) fn waiting(&mut self, limit: Duration) {
        (self.progress)(Progress::Waiting { limit_s: limit.as_secs_f64() });
    }

    /// Stores a case's result, that of a further case behind the others.
    pub(super) fn case_done(&mut self, index: usize, mut result: CaseResult) {
        result.findings.iter_mut().for_each(|finding| quote_line(self.kernel, finding));
        (self.progress)(Progress::CaseDone { index, result: Box::new(result.clone()) });
        match self.evaluation.cases.get_mut(index) {
            Some(known) => *known = result,
            None => self.evaluation.cases.push(result),
        }
    }

    /// Stores the results of several cases.
    pub(super) fn cases_done(&mut self, cases: Results) {
        for (index, result) in cases {
            self.case_done(index, result);
        }
    }

    /// Ends the evaluation at this stage.
    pub(super) fn end_early(mut self, mut end: EarlyVerdict) -> Evaluation {
        self.cases_done(end.cases);
        end.findings.iter_mut().for_each(|finding| quote_line(self.kernel, finding));
        self.evaluation.verdict = end.verdict;
        self.evaluation.findings.extend(end.findings);
        self.evaluation.resources.extend(end.resources);
        self.evaluation.diagnostics.extend(end.diagnostics);
        self.close()
    }

    /// Ends the evaluation; the cases decide.
    pub(super) fn build(mut self) -> Evaluation {
        build(&mut self.evaluation, self.cases);
        self.close()
    }

    fn close(mut self) -> Evaluation {
        self.leave();
        self.evaluation
    }
}

/// Gives a finding that names a line, but does not quote it, the line's text.
///
/// Devices and the PTX guard see no source.
fn quote_line(kernel: &str, finding: &mut Finding) {
    let Some(span) = finding.span.as_mut().filter(|span| span.text.is_empty()) else { return };
    let index = usize::try_from(span.line).ok().and_then(|line| line.checked_sub(1));
    if let Some(text) = index.and_then(|index| kernel.lines().nth(index)) {
        text.clone_into(&mut span.text);
    }
}

/// Derives the verdict and the level from the results.
///
/// The first case that failed decides; a case that the plan declined or the emulator cannot run
/// decides only where no other failed. Without a single passed case that has elements nothing has passed.
///
/// `cases`: those of the request; results behind theirs are of further cases, which have elements.
fn build(evaluation: &mut Evaluation, cases: &[Case]) {
    let verdicts = || {
        evaluation.cases.iter().enumerate().filter_map(|(index, case)| match case.outcome {
            CaseOutcome::Judged(verdict) => Some((index, verdict, case.level)),
            CaseOutcome::Skipped { .. } => None,
        })
    };
    let weak = |verdict| matches!(verdict, Verdict::Declined | Verdict::Unsupported);
    let is_empty = |index| cases.get(index).is_some_and(Case::is_empty);
    let decisive = verdicts()
        .find(|(_, verdict, _)| !verdict.is_pass() && !weak(*verdict))
        .or_else(|| verdicts().find(|(_, verdict, _)| !verdict.is_pass()));
    let passed = || verdicts().filter(|(_, verdict, _)| verdict.is_pass());
    let passed_level = passed().filter(|(index, ..)| !is_empty(*index)).map(|(.., level)| level);
    let (verdict, level) = match decisive {
        Some((_, verdict, level)) => (verdict, level),
        None => match passed_level.reduce(join) {
            Some(level) => (Verdict::Passed, level),
            None => (Verdict::Unsupported, Level::Static),
        },
    };
    let message = match passed().count() {
        0 => "no case could run here, so nothing is proved",
        _ => "no case that ran has elements, so nothing is proved",
    };
    evaluation.verdict = verdict;
    evaluation.level = level;
    if verdict == Verdict::Unsupported && evaluation.findings.is_empty() {
        let finding = evaluation.cases.iter().flat_map(|case| case.findings.first()).next();
        let finding = finding.cloned().unwrap_or_else(|| Finding::new(message));
        evaluation.findings.push(finding);
    }
}

/// Joins the levels of two passed cases.
fn join(a: Level, b: Level) -> Level {
    match (a, b) {
        (a, b) if a == b => a,
        (Level::Static, other) | (other, Level::Static) => other,
        _ => Level::EmuCuda,
    }
}

/// Returns the evaluation of a request of which nothing has run; `verdict` stands until something
/// is found out.
#[must_use]
pub fn unbegun(request: &EvalRequest, verdict: Verdict) -> Evaluation {
    Evaluation {
        op: request.op.clone(),
        verdict,
        level: Level::Static,
        stage: Stage::Guard,
        findings: Vec::new(),
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: request.cases.iter().map(not_reached).collect(),
        timings: Vec::new(),
        speedups: Vec::new(),
        target: request.target.clone(),
        seed: request.seed,
        nvrtc: None,
        precision: request.precision,
        library_use: library_use(&request.candidate),
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: Vec::new(),
        profile: None,
        sandbox: Default::default(),
    }
}

/// Returns whether an implementation calls libraries; `None` where it has no plan.
fn library_use(implementation: &Implementation) -> Option<LibraryUse> {
    match implementation {
        Implementation::Kernel { source } => {
            KernelFile::parse(source).ok().map(|file| plan::library_use(&file))
        }
        Implementation::Library { .. } => Some(LibraryUse::WithLibrary),
        Implementation::Python { .. } | Implementation::Adapter { .. } => None,
    }
}

/// Returns the result of a case that no stage has reached.
pub fn not_reached(case: &Case) -> CaseResult {
    blank(case, CaseOutcome::Skipped { reason: "not reached".to_owned() }, Level::Static)
}

/// Returns a result without numbers.
pub(super) fn blank(case: &Case, outcome: CaseOutcome, level: Level) -> CaseResult {
    CaseResult {
        case: case.id.clone(),
        dtype: case.dtype,
        class: case.class,
        distribution: case.distribution,
        args: describe_args(case),
        outcome,
        level,
        findings: Vec::new(),
        mismatch: None,
        max_abs_error: None,
        max_rel_error: None,
        worst_ratio: None,
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    }
}

/// Returns a failed result with one finding.
pub(super) fn failed(case: &Case, verdict: Verdict, level: Level, finding: Finding) -> CaseResult {
    let mut result = blank(case, CaseOutcome::Judged(verdict), level);
    result.findings.push(finding);
    result
}

/// Returns a case's arguments in one line, for example `self=f32[127,1023], dim=(-1,)`.
#[must_use]
pub fn describe_args(case: &Case) -> String {
    let describe = |value: &ArgValue| match value {
        ArgValue::Tensor(tensor) => describe_tensor(&tensor.spec),
        ArgValue::Tensors(list) => {
            let one = |tensor: &Option<TensorArg>| {
                tensor.as_ref().map_or("None".to_owned(), |tensor| describe_tensor(&tensor.spec))
            };
            format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        ArgValue::Int(value) => value.to_string(),
        ArgValue::Float(value) => value.to_string(),
        ArgValue::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        ArgValue::Str(value) => format!("'{value}'"),
        ArgValue::Ints(values) => format!("[{}]", join_numbers(values)),
        ArgValue::Floats(values) => format!("[{}]", join_numbers(values)),
        ArgValue::DType(dtype) => dtype.to_string(),
        ArgValue::None => "None".to_owned(),
    };
    let args = case.args.iter();
    let args = args.map(|arg| format!("{}={}", plan_name(&arg.name), describe(&arg.value)));
    args.collect::<Vec<_>>().join(", ")
}

fn describe_tensor(spec: &TensorSpec) -> String {
    let mut text = format!("{}[{}]", spec.dtype, join_numbers(&spec.shape));
    if !spec.is_contiguous() {
        text = format!("{text} stride=({})", join_numbers(&spec.stride));
    }
    if spec.offset != 0 {
        text = format!("{text} offset={}", spec.offset);
    }
    text
}

fn join_numbers<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
