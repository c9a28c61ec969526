//! The files of a run as data.

use kgen_record::{
    CaseTiming, Coverage, Evaluation, Finding, Flag, Level, LibraryUse, RunId, Session, Speedup,
    Spend, Stage, Target, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the run directory's format.
///
/// A reader takes any minor version of its own major version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Changes when older readers would misread the files.
    pub major: u32,
    /// Changes when something is added.
    pub minor: u32,
}

impl Format {
    /// The format that this kgen writes.
    pub const CURRENT: Self = Self { major: 1, minor: 1 };
}

/// `run.json`: the description and the state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the folder's format.
    pub format: Format,
    pub run_id: RunId,
    pub kgen_version: String,
    pub command: Vec<String>,
    /// When the run was made, RFC 3339, UTC.
    pub created_at: String,
    /// The suite's name or path.
    pub suite: String,
    /// The ops, by their names in kgen, in the order asked for.
    pub ops: Vec<String>,
    /// The text of the op file that the run's op is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Where the kernels come from: `llm`, `pregenerated`, `builtin`, ...
    pub backend: String,
    /// The LLM provider, where there is one.
    pub provider: Option<String>,
    /// The model as it was asked for.
    pub model: Option<String>,
    /// The recording whose replies are replayed.
    pub replay_of: Option<String>,
    pub device: DeviceInfo,
    /// `--seed`, where it was given; otherwise each evaluation's seed is in its record.
    pub seed: Option<u64>,
    /// All settings as resolved, without keys.
    pub settings: serde_json::Value,
    /// How the run stands.
    pub status: RunStatus,
    /// When it was last finished or stopped.
    pub finished_at: Option<String>,
    /// Totals, once it was finished or stopped.
    pub totals: Option<Totals>,
}

impl RunInfo {
    /// Returns the description of a run that begins now, on the ops of a suite, for `llm` without a
    /// provider and with no settings.
    #[must_use]
    pub fn new(run_id: RunId, suite: &str, ops: Vec<String>, device: DeviceInfo) -> Self {
        Self {
            format: Format::CURRENT,
            run_id,
            kgen_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: Vec::new(),
            created_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            suite: suite.to_owned(),
            ops,
            definition: None,
            backend: "llm".to_owned(),
            provider: None,
            model: None,
            replay_of: None,
            device,
            seed: None,
            settings: serde_json::Value::Null,
            status: RunStatus::Running,
            finished_at: None,
            totals: None,
        }
    }
}

/// The device of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// As named on the command line: `emu` or `cuda:0`.
    pub name: String,
    pub target: Target,
    /// Version of NVRTC, for example `13.0`.
    pub nvrtc: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Session>,
}

impl DeviceInfo {
    /// Returns a device of which nothing was measured yet.
    #[must_use]
    pub fn new(name: &str, target: Target) -> Self {
        Self { name: name.to_owned(), target, nvrtc: None, sessions: Vec::new() }
    }
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A process works on it, or was killed.
    Running,
    /// Every op came to its end.
    Finished,
    /// It was stopped: by Ctrl-C, the budget, a failure.
    Stopped,
    /// Calls await replies through the mailbox.
    AwaitingReplies,
}

impl RunStatus {
    /// Returns the name as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::AwaitingReplies => "awaiting_replies",
        }
    }
}

/// Sums over a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    pub ops: u32,
    /// Ops whose best attempt passed.
    pub solved: u32,
    pub attempts: u32,
    /// Calls that were sent, lost ones included.
    pub calls: u32,
    /// Calls whose reply never came.
    pub lost_calls: u32,
    pub spend: Spend,
    /// Wall time of all processes that worked on the run, in seconds.
    pub seconds: f64,
}

/// Why an attempt was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The first try at the op.
    Initial,
    /// To mend the parent's mistakes.
    Repair,
    /// To be faster than the parent.
    Improve,
    /// The kernel file was given; nobody was asked.
    Given,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStatus {
    /// Its kernel file, or the lack of one in the reply, was judged.
    Judged,
    /// The provider refused to answer.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// All cases of the evaluation.
    pub cases: usize,
    pub passed: usize,
    /// Those that failed, declined ones included.
    pub failed: usize,
    /// Those that did not run.
    pub skipped: usize,
    /// Those of them that are too large for the emulator or the memory.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_large: usize,
    /// Lines of the kernel that none of them reached on the emulator.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreached: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Counts {
    /// Counts the cases of an evaluation.
    #[must_use]
    pub fn of(evaluation: &Evaluation) -> Self {
        let cases = evaluation.cases.len();
        let (passed, skipped) = (evaluation.n_passed(), evaluation.n_skipped());
        let unreached = evaluation.coverage.as_ref().map_or(0, Coverage::n_unreached);
        let (failed, too_large) = (cases - passed - skipped, evaluation.n_too_large());
        Self { cases, passed, failed, skipped, too_large, unreached }
    }
}

/// `<op>_attempt_<n>.json`: an attempt that is over; also a line of `index.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// The op's name in kgen.
    pub op: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Attempts whose kernels the prompt showed.
    pub parents: Vec<u32>,
    /// Branch of the search that it belongs to.
    pub branch: u32,
    /// Round of the search, from 1.
    pub round: u32,
    /// Why it was made.
    pub purpose: Purpose,
    pub status: AttemptStatus,
    pub verdict: Verdict,
    /// Where that was found out.
    pub level: Level,
    /// The stage that decided it.
    pub stage: Stage,
    pub counts: Counts,
    /// Whether the plan calls libraries; `None` where there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_use: Option<LibraryUse>,
    /// Speedup over the timed cases; `None` is "not measured".
    pub speedup: Option<Speedup>,
    /// One line on its change, in the model's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The earlier attempt with the same source, whose evaluation this one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<u32>,
    pub spend: Spend,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_spend: Option<Spend>,
    /// Seconds that the stages of its evaluation took; 0 where the evaluation is another's.
    pub seconds_judging: f64,
    /// Calls that were sent for it, lost ones included.
    pub calls: u32,
    /// Calls whose reply never came; they may have been billed.
    pub lost_calls: u32,
    /// Whether its reply comes from a recording.
    pub replayed: bool,
    /// Whether its reply was kept from an equal request of another run.
    pub cached: bool,
    /// Whether its evaluation comes from a recording too.
    pub reused_evaluation: bool,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// When it was over.
    pub finished_at: String,
}

/// `<op>_attempt_<n>.confirm.json`: the winner judged again with fresh seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// Whether it passed with every seed.
    pub passed: bool,
    /// One entry per seed, in order; the first failure ends it.
    pub seeds: Vec<ConfirmedSeed>,
}

/// One evaluation of a [`Confirmation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfirmedSeed {
    pub seed: u64,
    pub verdict: Verdict,
    pub counts: Counts,
    /// Speedups over the timed cases, one per baseline.
    pub speedups: Vec<Speedup>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    pub findings: Vec<Finding>,
    /// The device that it was judged on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The times of the cases with all samples, which `.confirm.samples.json` holds.
    #[serde(skip)]
    pub timings: Vec<CaseTiming>,
}

/// `<op>_attempt_<n>.call_<m>.lost.json`: a call whose reply never came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostCall {
    /// When it was noticed, RFC 3339, UTC.
    pub noticed_at: String,
    /// Whether the provider may have charged for it.
    pub possibly_billed: bool,
    /// The reason, in words.
    pub reason: String,
}

/// `metadata.json` of an op: derived from its attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpMetadata {
    /// The op's name in kgen.
    pub op: String,
    /// The verdict of the best attempt, its confirmation included.
    pub verdict: Verdict,
    /// Number of the best attempt.
    pub best_attempt: u32,
    /// Its file, for example `relu_attempt_3.cu`; a copy is `<op>.cu`.
    pub best_file: Option<String>,
    pub speedup: Option<Speedup>,
    /// Where it was measured again: its speedups over all baselines, the primary one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speedups: Vec<Speedup>,
    /// Whether the best attempt was judged again with fresh seeds, and passed.
    pub confirmed: bool,
    pub attempts: Vec<AttemptRecord>,
}
