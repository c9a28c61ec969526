//! The result of an evaluation.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{
    AdapterFacts, CaseClass, CaseTiming, Coverage, DType, Diagnostic, Finding, Flag,
    InputDistribution, KernelProfile, Level, LibraryUse, Mismatch, Precision, PythonFacts,
    Resources, Sandbox, Speedup, Target, Verdict, number::Number,
};

/// The record of judging one kernel file on one op's cases on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// The op's name in kgen.
    pub op: String,
    /// The verdict over all cases: that of the first stage or case that failed.
    pub verdict: Verdict,
    /// Where it was reached.
    pub level: Level,
    /// The stage that decided it.
    pub stage: Stage,
    pub findings: Vec<Finding>,
    /// Messages of the compiler.
    pub diagnostics: Vec<Diagnostic>,
    /// Resources of the compiled kernels, worst over the variants.
    pub resources: Vec<Resources>,
    /// One result per case, in the request's order.
    pub cases: Vec<CaseResult>,
    /// One entry per timed case.
    pub timings: Vec<CaseTiming>,
    /// One entry per baseline that was measured, the primary one first; none is "not measured".
    pub speedups: Vec<Speedup>,
    pub target: Target,
    pub precision: Precision,
    /// Whether the plan calls libraries; `None` where there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_use: Option<LibraryUse>,
    /// Seed of the inputs.
    pub seed: u64,
    /// Version of NVRTC, for example `13.0`; `None` where it was not reached.
    pub nvrtc: Option<String>,
    /// The Python process, where something ran there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<Box<PythonFacts>>,
    /// The adapters, where something ran there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adapters: Vec<AdapterFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Wall time of each stage that ran.
    pub stage_times: Vec<StageTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<KernelProfile>>,
    /// How far the workers were shut in; absent where all of it held.
    #[serde(default, skip_serializing_if = "Sandbox::is_on")]
    pub sandbox: Sandbox,
}

impl Evaluation {
    /// Returns the speedup over the primary baseline; `None` is "not measured".
    #[must_use]
    pub fn speedup(&self) -> Option<&Speedup> {
        self.speedups.first()
    }

    /// Returns flags raised while cases were timed, each once, in order.
    #[must_use]
    pub fn flags(&self) -> Vec<Flag> {
        let flags = self.timings.iter().flat_map(|timing| timing.flags.iter().copied());
        flags.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Counts the cases that passed.
    #[must_use]
    pub fn n_passed(&self) -> usize {
        self.cases
            .iter()
            .filter(|case| case.outcome == CaseOutcome::Judged(Verdict::Passed))
            .count()
    }

    /// Counts the cases that were skipped.
    #[must_use]
    pub fn n_skipped(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.outcome, CaseOutcome::Skipped { .. })).count()
    }

    /// Counts those of them that were too large for the emulator or the memory.
    #[must_use]
    pub fn n_too_large(&self) -> usize {
        self.cases.iter().filter(|case| case.outcome.is_too_large()).count()
    }

    /// Returns the largest error over its bound, over all cases that were compared; it may be NaN or infinite.
    #[must_use]
    pub fn worst_ratio(&self) -> Option<f64> {
        let ratios = self.cases.iter().filter_map(|case| case.worst_ratio.map(|ratio| ratio.0));
        ratios.max_by(f64::total_cmp)
    }

    /// Returns why nothing could be judged, in the words of the first skipped case or finding; `None` where
    /// something was.
    #[must_use]
    pub fn unjudged_reason(&self) -> Option<String> {
        if self.verdict != Verdict::Unsupported {
            return None;
        }
        let skipped = self.cases.iter().find_map(|case| match &case.outcome {
            CaseOutcome::Skipped { reason } => Some(reason.clone()),
            CaseOutcome::Judged(_) => None,
        });
        let mut findings = self.failed().flat_map(|case| &case.findings).chain(&self.findings);
        skipped.or_else(|| findings.next().map(|finding| finding.message.clone()))
    }

    pub fn failed(&self) -> impl Iterator<Item = &CaseResult> {
        self.cases.iter().filter(
            |case| matches!(case.outcome, CaseOutcome::Judged(verdict) if !verdict.is_pass()),
        )
    }
}

/// Stages of an evaluation, in order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The kernel file is taken out of the reply.
    Extract,
    /// The source is refused or let through before NVRTC sees it.
    Guard,
    /// The plan is evaluated.
    Plan,
    Compile,
    /// The PTX is refused or let through, arguments are bound.
    Link,
    /// Inputs are made and references evaluated; only in [`Evaluation::stage_times`], where it is
    /// taken out of the stages that wait for it.
    Reference,
    /// Cases run on the emulator.
    Emulate,
    /// Cases run on the GPU.
    Execute,
    Time,
    /// Profilers run; only in [`Evaluation::stage_times`].
    Profile,
    /// All stages are through.
    Done,
}

impl Stage {
    /// Returns the name as stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Extract => "extract",
            Self::Guard => "guard",
            Self::Plan => "plan",
            Self::Compile => "compile",
            Self::Link => "link",
            Self::Reference => "reference",
            Self::Emulate => "emulate",
            Self::Execute => "execute",
            Self::Time => "time",
            Self::Profile => "profile",
            Self::Done => "done",
        }
    }
}

/// Wall time of one stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageTime {
    pub stage: Stage,
    pub seconds: f64,
}

/// How a case was judged that is too large for references of all its elements: inputs made on the
/// device, every output element compared there with a trusted kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FullSize {
    /// Data sets that it ran on.
    pub data_sets: u32,
    /// Output elements that were compared with the trusted results, over all data sets.
    pub compared: u64,
    /// Of those, elements that differ by more than rounding.
    pub differing: u64,
    /// Elements that were held against the f64 reference: chosen ones, and those that differ.
    pub judged: u64,
    /// Whether the kernel that was judged is the trusted one itself.
    pub against_itself: bool,
    /// Whether the trusted results are those of a PyTorch module in f64, not the builtin kernel's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_module: bool,
    /// Where the time went.
    pub steps: Vec<StepTime>,
}

/// Wall time of one step of judging a full-size case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    pub step: String,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    pub case: String,
    pub dtype: DType,
    pub class: CaseClass,
    pub distribution: InputDistribution,
    /// Its arguments in one line, for example `self=f32[127,1023]`.
    pub args: String,
    pub outcome: CaseOutcome,
    /// Where; `Static` when it was not executed.
    pub level: Level,
    pub findings: Vec<Finding>,
    /// The wrong output, if that is the verdict.
    pub mismatch: Option<Mismatch>,
    /// Largest absolute error against the reference.
    pub max_abs_error: Option<Number>,
    /// Largest relative error against the reference.
    pub max_rel_error: Option<Number>,
    /// Largest error over its bound; at most 1 passes.
    pub worst_ratio: Option<Number>,
    /// Verdicts by other projects' rules; never decide.
    pub other_rules: Option<OtherRules>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<LaunchCounters>,
    /// How it was judged where it is too large for references of all elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_size: Option<FullSize>,
}

impl CaseResult {
    /// Returns why the case did not pass, in one line: its mismatch, else its first finding.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let finding = || self.findings.first().map(|finding| finding.message.clone());
        self.mismatch.as_ref().map(Mismatch::headline).or_else(finding)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchCounters {
    /// The kernel's name in its module.
    pub kernel: String,
    #[serde(deserialize_with = "through_value")]
    pub counters: ptx_emu::Counters,
}

/// Reads by way of a [`serde_json::Value`], which turns keys back into line numbers also inside
/// the tagged messages of the workers.
fn through_value<'de, D: Deserializer<'de>>(input: D) -> Result<ptx_emu::Counters, D::Error> {
    let value = serde_json::Value::deserialize(input)?;
    serde_json::from_value(value).map_err(D::Error::custom)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum CaseOutcome {
    /// It ran, or was refused.
    Judged(Verdict),
    /// It did not run.
    Skipped { reason: String },
}

impl CaseOutcome {
    /// Words of the reasons for which a case is too large: for the emulator, or for the memory.
    const TOO_LARGE: [&str; 5] =
        ["the emulator's budget", "the emulator's limit", "too large", "out of memory", " free"];

    /// Returns whether a case did not run because it is too large.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        match self {
            Self::Judged(_) => false,
            Self::Skipped { reason } => Self::TOO_LARGE.iter().any(|words| reason.contains(words)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherRules {
    /// `BackendBench`: `allclose` with 1e-2 absolute and relative, NaN equal to NaN.
    pub backendbench: bool,
    /// `KernelBench`: `allclose` with 1e-4 for f32, 1e-2 for f16 and bf16.
    pub kernelbench: bool,
}
