//! What the templates may ask for.

use serde::Serialize;

use super::{
    cases::{self, CasesView},
    text::{cut, fence, inline, significant},
};
use crate::{
    kernel::plan::Builtin,
    op::{Kind, OpDef, Param, plan_name},
    record::{Case, Evaluation, Precision, Speedup, Target, Verdict},
};

/// Attempts that the history lists one by one; older ones are only counted.
const MAX_HISTORY: usize = 8;

/// Characters of a kernel file that a prompt quotes.
const MAX_SOURCE: usize = 48_000;

/// The worked example, for an op that no suite has.
const EXAMPLE: &str = include_str!("../../prompts/example.cu");

/// What is known before a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct PromptContext<'a> {
    /// The op.
    pub op: &'a OpDef,
    /// Its cases; drawn ones are left out of the prompt.
    pub cases: &'a [Case],
    /// The device.
    pub target: &'a Target,
    /// Whether it times kernels.
    pub can_time: bool,
    /// Name of the baseline that speedups are measured against.
    pub baseline: &'a str,
    /// Speedup at which a kernel is good enough.
    pub target_speedup: f64,
    /// Compile variants per dtype that correctness may need.
    pub max_variants: u32,
    /// What the task allows beyond f32 arithmetic.
    pub precision: Precision,
}

/// An attempt in one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Number of the attempt.
    pub number: u32,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, in one line; empty for a pass.
    pub reason: String,
    /// Cases passed and cases run.
    pub passed: (usize, usize),
    /// Its speedup, where measured.
    pub speedup: Option<Speedup>,
}

impl Past {
    /// Returns the line of an evaluated attempt.
    #[must_use]
    pub fn new(number: u32, evaluation: &Evaluation) -> Self {
        let n_run = evaluation.cases.len() - evaluation.n_skipped();
        Self {
            number,
            verdict: evaluation.verdict,
            reason: super::feedback::reason(evaluation),
            passed: (evaluation.n_passed(), n_run),
            speedup: evaluation.speedup().cloned(),
        }
    }

    fn line(&self) -> String {
        let mut line = format!("attempt {}: {}", self.number, self.verdict);
        let (n_passed, n_run) = self.passed;
        if !self.verdict.is_pass() && 0 < n_run {
            line = format!("{line}, {n_passed} of {n_run} cases passed");
        }
        if let Some(speedup) = &self.speedup {
            line = format!("{line}, {}", speedup_words(speedup));
        }
        if self.reason.is_empty() { line } else { format!("{line}: {}", self.reason) }
    }
}

/// The attempt before the one that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct LastAttempt<'a> {
    /// Its line of the history.
    pub past: &'a Past,
    /// Its kernel file; `None` where the reply held none.
    pub kernel: Option<&'a str>,
    /// What [`super::feedback`] says about it.
    pub feedback: &'a str,
}

/// The best correct attempt so far.
#[derive(Debug, Clone, Copy)]
pub struct BestAttempt<'a> {
    /// Its number.
    pub number: u32,
    /// Its kernel file.
    pub kernel: &'a str,
    /// Its speedup, where measured.
    pub speedup: Option<&'a Speedup>,
}

/// The root of what the templates see.
#[derive(Debug, Serialize)]
pub(super) struct View {
    op: OpView,
    cases: CasesView,
    device: DeviceView,
    goal: GoalView,
    limits: LimitsView,
    /// Builtins that need a word of explanation.
    builtins: Vec<BuiltinView>,
    /// Builtins whose names say everything, as calls.
    arithmetic: String,
    example: &'static str,
    history: Vec<String>,
    last: Option<LastView>,
    best: Option<BestView>,
}

#[derive(Debug, Serialize)]
struct OpView {
    name: String,
    schema: String,
    signature: String,
    semantics: String,
    arguments: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DeviceView {
    name: String,
    arch: String,
    sm_count: u32,
    smem_kib: u32,
    l2_mib: u64,
    bandwidth_gbs: Option<String>,
    can_time: bool,
}

#[derive(Debug, Serialize)]
struct GoalView {
    target_speedup: String,
    baseline: String,
}

#[derive(Debug, Serialize)]
struct LimitsView {
    variants: u32,
    /// What is allowed beyond f32 arithmetic, in a sentence.
    allowance: Option<&'static str>,
}

/// Says what a task allows beyond f32 arithmetic.
const fn allowance(precision: Precision) -> Option<&'static str> {
    match precision {
        Precision::Strict => None,
        Precision::Tf32Ok => {
            Some("For this task, factors of f32 matrix products and convolutions may be TF32.")
        }
        Precision::FastMathOk => Some(
            "For this task, approximate functions such as `tanh.approx` and `__sinf` and flushing \
             of subnormal values are allowed.",
        ),
    }
}

#[derive(Debug, Serialize)]
struct BuiltinView {
    usage: &'static str,
    doc: &'static str,
}

#[derive(Debug, Serialize)]
struct LastView {
    number: u32,
    verdict: &'static str,
    source: Option<String>,
    feedback: String,
    repeated: bool,
}

#[derive(Debug, Serialize)]
struct BestView {
    number: u32,
    source: String,
    speedup: Option<String>,
}

/// Collects what the templates see; `earlier` are the attempts before the last.
pub(super) fn view(
    context: &PromptContext<'_>,
    earlier: &[Past],
    last: Option<&LastAttempt<'_>>,
    best: Option<&BestAttempt<'_>>,
) -> View {
    let target = context.target;
    let bandwidth = target.peak_bandwidth.map(|bytes| significant(bytes / 1e9, 4));
    View {
        op: op(context.op, context.cases),
        cases: cases::view(context.cases, context.can_time),
        device: DeviceView {
            name: inline(&target.name, 80),
            arch: target.arch.clone(),
            sm_count: target.sm_count,
            smem_kib: target.smem_max >> 10,
            l2_mib: target.l2_bytes >> 20,
            bandwidth_gbs: bandwidth,
            can_time: context.can_time,
        },
        goal: GoalView {
            target_speedup: significant(context.target_speedup, 3),
            baseline: context.baseline.to_owned(),
        },
        limits: LimitsView {
            variants: context.max_variants,
            allowance: allowance(context.precision),
        },
        builtins: builtins(),
        arithmetic: arithmetic(),
        example: EXAMPLE,
        history: history(earlier),
        last: last.map(|last| LastView {
            number: last.past.number,
            verdict: last.past.verdict.name(),
            source: last.kernel.map(source),
            feedback: last.feedback.trim_end().to_owned(),
            repeated: earlier.last().is_some_and(|before| {
                before.verdict == last.past.verdict && before.reason == last.past.reason
            }),
        }),
        best: best.map(|best| BestView {
            number: best.number,
            source: source(best.kernel),
            speedup: best.speedup.map(speedup_words),
        }),
    }
}

fn source(kernel: &str) -> String {
    fence("cuda", &cut(kernel, MAX_SOURCE))
}

pub(super) fn speedup_words(speedup: &Speedup) -> String {
    format!("{}x of `{}`", significant(speedup.geomean, 3), inline(&speedup.baseline, 40))
}

/// Tells whether a builtin's name and parameters say what it does; `tmap` does nothing yet.
const fn explains_itself(builtin: Builtin) -> bool {
    match builtin {
        Builtin::Cdiv
        | Builtin::Min
        | Builtin::Max
        | Builtin::Abs
        | Builtin::AlignUp
        | Builtin::NextPow2
        | Builtin::Ilog2
        | Builtin::IsPow2
        | Builtin::Len
        | Builtin::Range
        | Builtin::Has
        | Builtin::F32
        | Builtin::I32 => true,
        Builtin::Launch
        | Builtin::Require
        | Builtin::Param
        | Builtin::Define
        | Builtin::Scratch
        | Builtin::Fill
        | Builtin::Ptr
        | Builtin::Contiguous
        | Builtin::Expand
        | Builtin::Tmap => false,
    }
}

fn builtins() -> Vec<BuiltinView> {
    let explained = Builtin::ALL
        .into_iter()
        .filter(|builtin| !explains_itself(*builtin) && !matches!(builtin, Builtin::Tmap));
    let specs = explained.map(Builtin::spec);
    specs.map(|spec| BuiltinView { usage: spec.usage, doc: spec.doc }).collect()
}

fn arithmetic() -> String {
    let builtins = Builtin::ALL.into_iter().filter(|builtin| explains_itself(*builtin));
    let calls: Vec<_> = builtins.map(|builtin| format!("`{}`", builtin.spec().usage)).collect();
    calls.join(", ")
}

fn history(earlier: &[Past]) -> Vec<String> {
    let n_older = earlier.len().saturating_sub(MAX_HISTORY);
    let older = (0 < n_older).then(|| format!("{n_older} older attempts"));
    older.into_iter().chain(earlier[n_older..].iter().map(Past::line)).collect()
}

fn op(op: &OpDef, cases: &[Case]) -> OpView {
    let outputs = cases.first().and_then(|case| op.infer(case).ok()).map_or(1, |specs| specs.len());
    if op.returns_list {
        let what = op.outputs.first().map_or("outputs", String::as_str);
        let list = format!(
            "`out` (`T_out`): tuple of tensors, `out[0]`, `out[1]`, ...: {what}, each contiguous"
        );
        return view_of(op, std::iter::once(list));
    }
    let names = op.output_names(outputs);
    let outputs = names.iter().enumerate().map(|(index, name)| {
        let what = op.outputs.get(index).map_or("output", String::as_str);
        format!("`{name}` (`T_{name}`): {what}, contiguous")
    });
    view_of(op, outputs)
}

fn view_of(op: &OpDef, outputs: impl Iterator<Item = String>) -> OpView {
    OpView {
        name: op.name.clone(),
        schema: op.schema.clone(),
        signature: op.signature.clone(),
        semantics: op.semantics.clone(),
        arguments: op.params.iter().map(argument).chain(outputs).collect(),
    }
}

fn argument(param: &Param) -> String {
    let name = plan_name(&param.name);
    let kind = match param.kind {
        Kind::Tensor => return format!("`{name}` (`T_{name}`): tensor{}", or_none(param)),
        Kind::Tensors => {
            return format!(
                "`{name}` (`T_{name}`): tuple of tensors, `{name}[0]`, `{name}[1]`, ..."
            );
        }
        Kind::Str if !param.choices.is_empty() => {
            let values: Vec<_> = param.choices.iter().map(|value| format!("\"{value}\"")).collect();
            return format!("`{name}`: string, {}", values.join(" or "));
        }
        Kind::Int => "integer",
        Kind::Float => "float",
        Kind::Scalar => "integer or float",
        Kind::Bool => "bool",
        Kind::Str => "string",
        Kind::Ints => "tuple of integers",
        Kind::Floats => "tuple of floats",
        Kind::DType => "dtype, compares with strings such as \"f32\"",
    };
    format!("`{name}`: {kind}{}", or_none(param))
}

const fn or_none(param: &Param) -> &'static str {
    if param.optional { " or None" } else { "" }
}
