//! Facts about an op and its attempts for a prompt.

use kgen_llm::Turn;
use kgen_ops::op::OpDef;
use kgen_record::{Case, Evaluation, FeedbackSet, Precision, Speedup, Target, Verdict};

use super::{Analysis, feedback};

/// The facts that a prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PromptContext<'a> {
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
    /// The allowance of the task beyond f32 arithmetic.
    pub precision: Precision,
    /// Whether plans may call libraries.
    pub libraries: bool,
    /// Whether kernels may include headers of CUTLASS.
    pub cutlass: bool,
    /// The kinds of feedback about attempts.
    pub feedback: FeedbackSet,
    /// Tokens that a whole prompt may have, by kgen's estimate.
    pub prompt_tokens: u64,
}

/// The state of the attempts at an op, and the next request.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// Whether a plan or code is asked for.
    pub turn: Turn,
    /// All finished attempts, in order.
    pub history: &'a [HistoryEntry],
    /// The attempt to mend or to improve; `None` asks for a first kernel.
    pub parent: Option<LastAttempt<'a>>,
    /// The best correct attempt; may be the parent.
    pub best: Option<BestAttempt<'a>>,
    /// The result of the analysis turn before this one.
    pub plan: Option<&'a Analysis>,
    /// Which of several branches this is.
    pub branch: Option<&'a Branch>,
}

impl Situation<'_> {
    /// Nothing was tried yet.
    #[must_use]
    pub const fn first(turn: Turn) -> Self {
        Self { turn, history: &[], parent: None, best: None, plan: None, branch: None }
    }
}

/// One of several searches for the same op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// The plans of the other branches, in their words.
    pub taken: Vec<String>,
}

/// An attempt in one line.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Number of the attempt.
    pub number: u32,
    /// The attempts whose kernels its prompt showed.
    pub parents: Vec<u32>,
    /// The change that its reply names.
    pub change: Option<String>,
    /// The earlier attempt whose source it repeats.
    pub duplicate_of: Option<u32>,
    pub verdict: Verdict,
    /// Why, in one line; empty for a pass.
    pub reason: String,
    /// Cases passed and cases run.
    pub passed: (usize, usize),
    /// Its speedup, where measured.
    pub speedup: Option<Speedup>,
}

impl HistoryEntry {
    /// Returns the line of an evaluated attempt, without parents and change.
    #[must_use]
    pub fn new(number: u32, evaluation: &Evaluation) -> Self {
        let n_run = evaluation.cases.len() - evaluation.n_skipped();
        Self {
            number,
            parents: Vec::new(),
            change: None,
            duplicate_of: None,
            verdict: evaluation.verdict,
            reason: feedback::reason(evaluation),
            passed: (evaluation.n_passed(), n_run),
            speedup: evaluation.speedup().cloned(),
        }
    }
}

/// The attempt that the next one is made from.
#[derive(Debug, Clone, Copy)]
pub struct LastAttempt<'a> {
    /// Its line of the history.
    pub past: &'a HistoryEntry,
    /// Its kernel file; `None` where the reply held none.
    pub kernel: Option<&'a str>,
    /// The text of [`super::feedback`] about it.
    pub feedback: &'a str,
}

/// The best correct attempt so far.
#[derive(Debug, Clone, Copy)]
pub struct BestAttempt<'a> {
    pub number: u32,
    /// Its kernel file.
    pub kernel: &'a str,
    /// Its speedup, where measured.
    pub speedup: Option<&'a Speedup>,
}
