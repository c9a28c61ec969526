//! A scripted device: the parent's part of the worker protocol, JSON in and out, and answers that
//! were made before.

use std::{collections::HashMap, sync::Arc, time::Duration};

use kgen_agent::{BoxError, EvaluationService};
use kgen_ops::suite::Suite;
use kgen_record::{
    BaselineTiming, Case, CaseClass, CaseOutcome, CaseResult, CaseTiming, Comparison, Diagnostic,
    ElementDiff, EvalRequest, Evaluation, Finding, Level, Mismatch, Mode, Severity, Speedup, Stage,
    Target, Timing, Verdict, number::Number,
};

use crate::{meter::Meter, server::MARK};

/// Pairs of times that a timed case has of candidate and baseline.
const N_BLOCKS: usize = 40;

/// Cases of an evaluation that are timed.
const N_TIMED: usize = 4;

/// Judges by the number in the kernel file: of three kernels one does not compile, one is wrong,
/// one is right and not fast enough.
pub(crate) struct ScriptedDevice {
    answers: HashMap<String, [Arc<str>; 3]>,
    /// How long an evaluation takes.
    latency: Duration,
    pub(crate) json: Arc<Meter>,
}

impl ScriptedDevice {
    /// Makes the answers for all ops of a suite ahead.
    pub(crate) fn new(suite: &Suite, latency: Duration) -> Self {
        let answers = suite.ops().iter().map(|op| {
            let cases = suite.cases(op, None, 1).expect("a built-in suite has its cases");
            let answer = |index| {
                let answer = serde_json::to_string(&evaluation(op, &cases, index));
                Arc::from(answer.expect("an evaluation is plain data"))
            };
            (op.clone(), [0, 1, 2].map(answer))
        });
        Self { answers: answers.collect(), latency, json: Arc::default() }
    }
}

impl EvaluationService for ScriptedDevice {
    async fn evaluate(
        &self,
        request: EvalRequest,
        entered: &(dyn Fn(Stage) + Send + Sync),
    ) -> Result<Evaluation, BoxError> {
        let line = self.json.count(|| serde_json::to_vec(&request))?;
        for stage in [Stage::Guard, Stage::Plan, Stage::Compile, Stage::Emulate, Stage::Execute] {
            entered(stage);
        }
        drop(line);
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        let answer = &self.answers[&request.op][number(request.source()) % 3];
        let evaluation = self.json.count(|| serde_json::from_str::<Evaluation>(answer))?;
        Ok(Evaluation { seed: request.seed, ..evaluation })
    }
}

/// Returns the number that the server gave a kernel file.
fn number(kernel: &str) -> usize {
    let number = kernel.split_once(MARK).and_then(|(_, rest)| rest.get(..8)?.parse().ok());
    number.expect("the server's kernels have numbers")
}

/// Makes an evaluation with all the parts that real ones have.
pub(crate) fn evaluation(op: &str, cases: &[Case], index: usize) -> Evaluation {
    let verdict = [Verdict::Passed, Verdict::WrongOutput, Verdict::CompileError][index];
    let timings = if verdict.is_pass() { timings(cases) } else { Vec::new() };
    let diagnostic = |line| Diagnostic {
        line: Some(line),
        severity: Severity::Error,
        message: "identifier \"blockIdX\" is undefined".to_owned(),
        source_line: Some("    int i = blockIdX.x * blockDim.x + threadIdx.x;".to_owned()),
    };
    let speedup = verdict.is_pass().then(|| Speedup::new("aten", 1.2, N_TIMED));
    let results = cases.iter().enumerate().map(|(index, case)| result(case, index, verdict));
    Evaluation {
        op: op.to_owned(),
        verdict,
        level: Level::EmuCuda,
        stage: if verdict == Verdict::CompileError { Stage::Compile } else { Stage::Done },
        findings: Vec::new(),
        diagnostics: match verdict {
            Verdict::CompileError => [12, 14, 20].map(diagnostic).to_vec(),
            _ => Vec::new(),
        },
        resources: Vec::new(),
        cases: results.collect(),
        timings,
        speedups: speedup.into_iter().collect(),
        target: Target::h100_class(),
        seed: 1,
        nvrtc: Some("13.0".to_owned()),
        precision: Default::default(),
        library_use: None,
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: Vec::new(),
        profile: None,
        sandbox: Default::default(),
    }
}

fn result(case: &Case, index: usize, verdict: Verdict) -> CaseResult {
    let wrong = verdict == Verdict::WrongOutput && index.is_multiple_of(4);
    let outcome = match verdict {
        Verdict::CompileError => {
            CaseOutcome::Skipped { reason: "the kernel did not compile".to_owned() }
        }
        _ if wrong => CaseOutcome::Judged(Verdict::WrongOutput),
        _ => CaseOutcome::Judged(Verdict::Passed),
    };
    let finding = "out[0][7]: expected 0.25, got 0.125; 12 of 1023 elements are wrong";
    CaseResult {
        case: case.id.clone(),
        dtype: case.dtype,
        class: case.class,
        distribution: case.distribution,
        args: format!("self={}", case.id),
        outcome,
        level: Level::EmuCuda,
        findings: wrong.then(|| Finding::new(finding)).into_iter().collect(),
        mismatch: wrong.then(mismatch),
        max_abs_error: Some(Number(0.000_123)),
        max_rel_error: Some(Number(0.000_456)),
        worst_ratio: Some(Number(0.5)),
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    }
}

fn mismatch() -> Mismatch {
    let difference = ElementDiff {
        integers: None,
        index: vec![0, 7],
        expected: Number(0.25),
        got: Number(0.125),
        bound: Number(0.000_001),
    };
    Mismatch {
        output: "out".to_owned(),
        n_wrong: 12,
        n_special: 0,
        n_unwritten: 0,
        n_elements: 1023,
        worst_ratio: Number(125_000.0),
        first: vec![difference; 8],
        pattern: Some("all from index 1011 on".to_owned()),
        rule: "|got - expected| <= 2 ulp".to_owned(),
    }
}

fn timings(cases: &[Case]) -> Vec<CaseTiming> {
    let realistic = cases.iter().filter(|case| case.class == CaseClass::Realistic);
    let times = |scale: f64| {
        let sample = |index: usize| scale * (1.0 + [0.01, -0.004, 0.02, 0.0, 0.007][index % 5]);
        Timing::of((0..2 * N_BLOCKS).map(sample).collect()).expect("they are positive")
    };
    let timing = |case: &Case| CaseTiming {
        case: case.id.clone(),
        args: format!("self={}", case.id),
        count: None,
        mode: Mode::Cold,
        candidate: times(10.234_5),
        baselines: vec![BaselineTiming {
            name: "aten".to_owned(),
            timing: Some(times(12.281_4)),
            candidate: None,
            comparison: Comparison::of(&[[1.21, 1.0, 1.01, 1.2]; N_BLOCKS]),
            overhead_dominated: false,
            note: None,
            flags: Vec::new(),
            verdict: None,
            usage: kgen_record::Usage::default(),
        }],
        bytes: 33_554_432.0,
        flops: 4_194_304.0,
        peak_bytes: 33_554_432,
        floor_us: 2.1,
        roofline: None,
        flags: Vec::new(),
        do_bench: None,
        params: Vec::new(),
        usage: kgen_record::Usage::default(),
    };
    realistic.take(N_TIMED).map(timing).collect()
}
