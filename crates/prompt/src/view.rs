//! Variables of the templates; `prompts/README.md` lists them.

use std::collections::BTreeMap;

use kgen_kernel::plan::{Builtin, plan_name};
use kgen_ops::op::{EagerRounding, Kind, OpDef, OpFamily, Param};
use kgen_record::{Case, DType, FeedbackKind, Precision};
use serde::Serialize;

use super::{
    Analysis, PromptContext, Situation,
    cases::{self, CasesView},
    detail::Detail,
    device::DeviceView,
    examples::{self, ExampleView},
    feedback,
    history::{self, HistoryView},
    text::{cut, fence, inline, significant, speedup_words},
};

/// The root of the templates' variables.
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
    /// Builtins that a library computes, where they are allowed.
    libraries: Vec<BuiltinView>,
    cutlass: bool,
    examples: Vec<ExampleView>,
    /// Texts of the folders `notes` and `arch`, which are rendered first.
    pub(super) notes: NotesView,
    /// Whether each kind of feedback is on, by its name.
    feedback: BTreeMap<&'static str, bool>,
    history: HistoryView,
    parent: Option<ParentView>,
    best: Option<BestView>,
    plan: Option<Analysis>,
    branch: Option<BranchView>,
}

#[derive(Debug, Serialize)]
struct OpView {
    name: String,
    schema: String,
    signature: String,
    semantics: String,
    /// Its family, for example `reduction`; of a graph, those that its notes are of.
    family: String,
    arguments: Vec<String>,
    /// The PyTorch module that it was imported from.
    module: Option<ModuleView>,
}

#[derive(Debug, Serialize)]
struct ModuleView {
    class: String,
    source: String,
    /// The call of a function with example inputs, whose scalars are part of the task.
    call: Option<String>,
}

#[derive(Debug, Serialize)]
struct GoalView {
    target_speedup: String,
    baseline: String,
}

#[derive(Debug, Serialize)]
struct LimitsView {
    variants: u32,
    /// The allowance beyond f32 arithmetic, in a sentence.
    allowance: Option<String>,
}

#[derive(Debug, Serialize)]
struct BuiltinView {
    usage: &'static str,
    doc: &'static str,
}

/// Rendered notes; empty where there are none.
#[derive(Debug, Default, Serialize)]
pub(super) struct NotesView {
    pub(super) family: String,
    pub(super) arch: String,
}

#[derive(Debug, Serialize)]
struct ParentView {
    number: u32,
    verdict: &'static str,
    passed: bool,
    /// Whether it is the best correct attempt.
    is_best: bool,
    source: Option<String>,
    feedback: String,
    repeated: bool,
}

#[derive(Debug, Serialize)]
struct BestView {
    number: u32,
    /// Its kernel file; absent where it is left out for length.
    source: Option<String>,
    speedup: Option<String>,
}

#[derive(Debug, Serialize)]
struct BranchView {
    number: u32,
    of: u32,
    taken: Vec<String>,
}

/// Collects the templates' variables.
pub(super) fn view(
    context: &PromptContext<'_>,
    situation: &Situation<'_>,
    detail: &Detail,
    examples: &[(String, String)],
) -> View {
    View {
        op: op(context.op, context.cases),
        cases: cases::view(context.cases, context.can_time, detail.case_lines),
        device: DeviceView::of(context.target, context.can_time),
        goal: GoalView {
            target_speedup: significant(context.target_speedup, 3),
            baseline: context.baseline.to_owned(),
        },
        limits: LimitsView {
            variants: context.max_variants,
            allowance: allowance(context.op, context.precision),
        },
        builtins: builtins(|builtin| !builtin.is_library()),
        arithmetic: arithmetic(),
        libraries: if context.libraries { builtins(Builtin::is_library) } else { Vec::new() },
        cutlass: context.cutlass,
        examples: examples::view(principal(context.op), context.target, detail.examples, examples),
        notes: NotesView::default(),
        feedback: FeedbackKind::ALL.map(|kind| (kind.name(), context.feedback.has(kind))).into(),
        history: history::view(context, situation, detail.rows),
        parent: parent(context, situation, detail),
        best: best(context, situation, detail),
        plan: situation.plan.map(plan),
        branch: situation.branch.filter(|branch| 1 < branch.of).map(|branch| BranchView {
            number: branch.number,
            of: branch.of,
            taken: branch.taken.iter().map(|taken| inline(taken, 300)).collect(),
        }),
    }
}

fn parent(
    context: &PromptContext<'_>,
    situation: &Situation<'_>,
    detail: &Detail,
) -> Option<ParentView> {
    let parent = situation.parent?;
    Some(ParentView {
        number: parent.past.number,
        verdict: parent.past.verdict.name(),
        passed: parent.past.verdict.is_pass(),
        is_best: situation.best.is_some_and(|best| best.number == parent.past.number),
        source: parent.kernel.map(|kernel| source(kernel, detail.source)),
        feedback: feedback::shorten(parent.feedback, detail.feedback),
        repeated: history::is_repeated(context, situation),
    })
}

/// Returns the best attempt, unless it is the parent, which is shown anyway.
fn best(
    context: &PromptContext<'_>,
    situation: &Situation<'_>,
    detail: &Detail,
) -> Option<BestView> {
    let parent = situation.parent.map(|parent| parent.past.number);
    let best = situation.best.filter(|best| Some(best.number) != parent)?;
    let timed = context.can_time && context.feedback.has(FeedbackKind::Timing);
    Some(BestView {
        number: best.number,
        source: (0 < detail.best).then(|| source(best.kernel, detail.best)),
        speedup: best.speedup.filter(|_| timed).map(speedup_words),
    })
}

fn plan(plan: &Analysis) -> Analysis {
    let line = |text: &str| inline(text, 600);
    Analysis {
        bottleneck: line(&plan.bottleneck),
        evidence: line(&plan.evidence),
        change: line(&plan.change),
    }
}

/// Quotes a kernel file, cut to so many characters at the end of a line.
fn source(kernel: &str, max: usize) -> String {
    if kernel.len() <= max {
        return fence("cuda", kernel);
    }
    let head = cut(kernel, max);
    let head = head.rfind('\n').map_or(head.as_str(), |end| &head[..end]);
    let n_left_out = kernel.lines().count().saturating_sub(head.lines().count());
    fence("cuda", &format!("{head}\n// ... {n_left_out} more lines are left out here for length"))
}

/// Returns the judge's allowance for an op family beyond f32 arithmetic, whatever the task.
const fn allowed_to(family: OpFamily) -> Option<&'static str> {
    match family {
        OpFamily::Attention => Some(
            "One exception, for f16 and bf16 inputs: the probabilities may be rounded to the \
             type of the inputs before they meet the values, and their sum with them; scores, \
             maximum and output stay f32 until the store.",
        ),
        _ => None,
    }
}

/// Returns the allowance beyond f32 arithmetic: by the family, whatever the task, and by the task.
fn allowance(op: &OpDef, precision: Precision) -> Option<String> {
    let of_task = match precision {
        Precision::Strict => None,
        Precision::Eager => as_eager(EagerRounding::of(&op.name, DType::F16)),
        Precision::TorchDefault => Some(
            "For this task, factors of f32 convolutions and recurrent layers may be TF32, as in PyTorch by \
             default; those of other products may not.",
        ),
        Precision::Tf32 => {
            Some("For this task, factors of f32 matrix products and convolutions may be TF32.")
        }
        Precision::Low => Some(
            "For this task, factors of f32 matrix products and convolutions may be rounded to bf16 or f16 \
             (mind the range of f16); sums and all else stay f32.",
        ),
        Precision::FastMathOk => Some(
            "For this task, approximate functions such as `tanh.approx` and `__sinf` and flushing \
             of subnormal values are allowed.",
        ),
    };
    let allowed: Vec<_> = allowed_to(op.family).into_iter().chain(of_task).collect();
    (!allowed.is_empty()).then(|| allowed.join(" "))
}

/// Describes the roundings of PyTorch's eager kernel.
const fn as_eager(rounding: EagerRounding) -> Option<&'static str> {
    match rounding {
        EagerRounding::Result => None,
        EagerRounding::Steps
        | EagerRounding::StepsBeyondRange
        | EagerRounding::ProductsOfSums
        | EagerRounding::SharedFactor => Some(
            "For this task, f16 and bf16 values may be rounded to their type between the steps of \
             the formula and in partial sums, as PyTorch's eager kernel does.",
        ),
        EagerRounding::Statistics => Some(
            "For this task, means and factors of f16 and bf16 tensors may be rounded to their type, \
             as in PyTorch's eager kernel.",
        ),
        EagerRounding::Accumulator => Some(
            "For this task, accumulators of f16 and bf16 may be kept in their type, as in PyTorch's \
             eager kernel.",
        ),
        EagerRounding::Quotient => Some(
            "For this task, quotients of f16 and bf16 may be rounded to their type before they are \
             made integers, as in PyTorch's eager kernel.",
        ),
        EagerRounding::OneIsAdded => Some(
            "For this task, results near 0 may have the absolute error of a sum with 1, as in PyTorch's \
             eager kernel.",
        ),
        EagerRounding::Gates => Some(
            "For this task, sigmoid and tanh of the gates may be approximate, off by 2^-17, as in cuDNN.",
        ),
    }
}

/// Returns whether a builtin's name and parameters explain it.
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
        | Builtin::Prod
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
        | Builtin::TensorMap
        | Builtin::Matmul
        | Builtin::Convolution => false,
    }
}

/// Returns the builtins of a kind that need a word of explanation.
fn builtins(wanted: impl Fn(Builtin) -> bool) -> Vec<BuiltinView> {
    let explained = Builtin::ALL.into_iter().filter(|builtin| !explains_itself(*builtin));
    let specs = explained.filter(|builtin| wanted(*builtin)).map(Builtin::spec);
    specs.map(|spec| BuiltinView { usage: spec.usage, doc: spec.doc }).collect()
}

fn arithmetic() -> String {
    let builtins = Builtin::ALL.into_iter().filter(|builtin| explains_itself(*builtin));
    let calls: Vec<_> = builtins.map(|builtin| format!("`{}`", builtin.spec().usage)).collect();
    calls.join(", ")
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

/// Families of a graph's nodes that a prompt has notes on, at most.
const MAX_NODE_FAMILIES: usize = 3;

/// Returns the families whose notes a prompt has: of a graph, beside its own, those of its costliest
/// nodes. Elementwise and movement nodes are fused into others where there are any.
pub(super) fn noted(op: &OpDef) -> Vec<OpFamily> {
    let is_fused = |family: &OpFamily| matches!(family, OpFamily::Movement | OpFamily::Elementwise);
    let all_fused = op.node_families.iter().all(is_fused);
    let costly = op.node_families.iter().filter(|family| all_fused || !is_fused(family));
    std::iter::once(op.family).chain(costly.take(MAX_NODE_FAMILIES).copied()).collect()
}

/// Returns the family whose worked examples help most.
pub(super) fn principal(op: &OpDef) -> OpFamily {
    op.node_families.first().copied().unwrap_or(op.family)
}

fn view_of(op: &OpDef, outputs: impl Iterator<Item = String>) -> OpView {
    OpView {
        name: op.name.clone(),
        schema: op.schema.clone(),
        signature: op.signature.clone(),
        semantics: op.semantics.clone(),
        family: noted(op).iter().map(|family| family.name()).collect::<Vec<_>>().join(", "),
        arguments: op.params.iter().map(argument).chain(outputs).collect(),
        module: op.module.as_ref().map(|module| ModuleView {
            class: module.class.clone(),
            source: module.source.trim_end().to_owned(),
            call: module.inputs.as_ref().map(|inputs| format!("{}({inputs})", module.class)),
        }),
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
