//! The files of a run as data.

use kgen_record::{
    CaseTiming, Coverage, Evaluation, Finding, Flag, Level, RunId, Session, Speedup, Spend, Stage,
    Target, Verdict, timing,
};
use serde::{Deserialize, Serialize};

/// Version of the run directory's format.
///
/// A reader takes any minor version of its own major version, and older major versions.
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

/// `run.json`: what a run is and how it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the folder's format.
    pub format: Format,
    /// The run's name.
    pub run_id: RunId,
    pub kgen_version: String,
    /// The command line.
    pub command: Vec<String>,
    /// When the run was made, RFC 3339, UTC.
    pub created_at: String,
    /// The suite's name or path.
    pub suite: String,
    /// The ops, by their names in kgen, in the order asked for.
    pub ops: Vec<String>,
    /// The text of the op file that the run's op is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// The device of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// As named on the command line: `emu` or `cuda:0`.
    pub name: String,
    /// Its facts.
    pub target: Target,
    /// Version of NVRTC, for example `13.0`.
    pub nvrtc: Option<String>,
    /// What was measured of each GPU when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Session>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// Sums over a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    pub ops: u32,
    /// Ops whose best attempt passed.
    pub solved: u32,
    /// Finished attempts.
    pub attempts: u32,
    /// Calls that were sent, lost ones included.
    pub calls: u32,
    /// Calls whose reply never came.
    pub lost_calls: u32,
    /// What all calls took, those of unfinished attempts included.
    #[serde(default)]
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
    /// To mend what the parent got wrong.
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

/// Numbers of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// All cases of the evaluation.
    pub cases: usize,
    /// Those that passed.
    pub passed: usize,
    /// Those that failed, declined ones included.
    pub failed: usize,
    /// Those that did not run.
    pub skipped: usize,
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
        Self { cases, passed, failed: cases - passed - skipped, skipped, unreached }
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
    /// How it ended.
    pub status: AttemptStatus,
    /// What became of its kernel.
    pub verdict: Verdict,
    /// Where that was found out.
    pub level: Level,
    /// The stage that decided it.
    pub stage: Stage,
    /// Cases.
    pub counts: Counts,
    /// Speedup over the timed cases; `None` is "not measured".
    pub speedup: Option<Speedup>,
    /// One line on what it changed, in the model's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The earlier attempt with the same source, whose evaluation this one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<u32>,
    /// What its calls took.
    #[serde(default)]
    pub spend: Spend,
    /// What its replies took when they were made, where they are those of another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_spend: Option<Spend>,
    /// Seconds that the stages of its evaluation took; 0 where the evaluation is another's.
    #[serde(default)]
    pub seconds_judging: f64,
    /// Calls that were sent for it, lost ones included.
    pub calls: u32,
    /// Calls whose reply never came; they may have been billed.
    pub lost_calls: u32,
    /// Whether its reply comes from a recording.
    pub replayed: bool,
    /// Whether its reply was kept from an equal request of another run.
    #[serde(default)]
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
    /// What became of the kernel.
    pub verdict: Verdict,
    /// Cases.
    pub counts: Counts,
    /// Speedups over the timed cases, one per baseline.
    #[serde(default, alias = "speedup", deserialize_with = "timing::one_or_more")]
    pub speedups: Vec<Speedup>,
    /// What was noticed while it was timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// What was found, empty for a pass.
    pub findings: Vec<Finding>,
    /// The device that it was judged on; absent in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// What happened, in words.
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
    /// All finished attempts.
    pub attempts: Vec<AttemptRecord>,
}
