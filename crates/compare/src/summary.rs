//! The result of a comparison, as plain data; also its JSON.
//!
//! A sample is one op in one run. Every op counts the same: where an arm has several samples of an
//! op, their mean stands for it. Intervals cover the values of other ops of the kind: they
//! come from resampling ops, with all samples of an op together. Numbers of different GPUs are never
//! averaged, a value that was not measured is absent.

use schemars::JsonSchema;
use serde::Serialize;

use crate::data::Spend;

/// Version of the JSON; changes when something in it gets another meaning.
pub const FORMAT: u32 = 1;

/// Confidence of all intervals.
pub const LEVEL: f64 = 0.95;

/// Factors that shares of fast ops are given for.
pub const FACTORS: [f64; 4] = [0.8, 1.0, 1.5, 2.0];

/// Several arms beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Version of this value, in files that hold it alone.
    pub format: u32,
    /// How the numbers were made, in sentences.
    pub method: Vec<String>,
    /// Notes to read before, in sentences: missing ops, different GPUs, replays.
    pub notes: Vec<String>,
    /// The baselines, the one that most arms call primary first. Pairs and curves are about it.
    pub baselines: Vec<String>,
    /// Names of the settings in which the arms differ, in the order of the first arm that has them.
    pub differing: Vec<String>,
    /// One entry per arm, in the order given.
    pub arms: Vec<ArmSummary>,
    /// Arms against each other: every pair, or each arm against the first where there are many.
    pub pairs: Vec<Pair>,
    /// One row per op, by name.
    pub ops: Vec<OpRow>,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end; `None` where fewer than 5 ops carry it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Ops that it rests on.
    pub n_ops: usize,
}

/// The result of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArmSummary {
    /// `A`, `B`, ...: its name in tables.
    pub letter: String,
    /// Its name in full.
    pub name: String,
    /// Its settings by name.
    pub facts: Vec<(String, String)>,
    /// IDs of its runs.
    pub runs: Vec<String>,
    /// Names of the devices of its runs, each once.
    pub devices: Vec<String>,
    /// How its numbers came about.
    pub marks: Marks,
    /// Ops that it was asked for.
    pub n_ops: usize,
    /// Samples: ops times runs, if no run lacks any.
    pub n_samples: usize,
    /// Samples whose best attempt passed.
    pub n_solved: usize,
    /// Finished attempts.
    pub n_attempts: usize,
    /// Share of the samples that are solved, in 0 to 1.
    pub correct: Option<Estimate>,
    /// Attempts until the first that passed, of the samples that have one.
    pub attempts_to_correct: Option<Estimate>,
    /// US dollars of all calls over solved samples; `None` where a call has no known price or
    /// nothing is solved.
    pub cost_per_solved: Option<Estimate>,
    /// The cost of all its calls.
    pub spend: Spend,
    /// Speedups, one entry per baseline and GPU, in the order of [`Comparison::baselines`]; none
    /// is "not measured".
    pub speeds: Vec<Speeds>,
    /// How it went attempt by attempt.
    pub curve: Vec<CurvePoint>,
}

impl ArmSummary {
    /// Returns the value of a setting.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1.as_str())
    }
}

/// How the numbers of an arm, or of an op in it, came about; all counts are of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Marks {
    /// All of them.
    pub of: usize,
    /// Only the emulator judged them: they have no speedup.
    pub emulator_only: usize,
    /// The reply of the best attempt comes from a recording.
    pub replayed: usize,
    /// The reply of the best attempt comes from the cache of replies.
    pub cached: usize,
    /// Its evaluation comes from a recording.
    pub reused_evaluations: usize,
    /// Solved, and not judged again with fresh seeds.
    pub unconfirmed: usize,
    /// Asked for and not reached; they count as unsolved.
    pub not_reached: usize,
}

/// Speedups of an arm over one baseline on one GPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Speeds {
    /// The baseline's name.
    pub baseline: String,
    /// The GPU's name; `None` where no sample reached one.
    pub gpu: Option<String>,
    /// Over the cases that launch overhead does not dominate; ops all of whose cases it dominates
    /// are left out.
    pub long: Speed,
    /// Over all timed cases.
    pub all: Speed,
}

/// Speedups of an arm over some of the cases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Speed {
    /// Shares of the samples that are right and more than so many times as fast, one entry per
    /// factor of [`FACTORS`]; an unsolved op counts as not fast.
    pub fast: Vec<Fast>,
    /// Geometric mean over the ops that are solved and measured.
    pub geomean: Option<Estimate>,
    /// Median over these ops of each one's geometric mean.
    pub median: Option<Estimate>,
    /// Each of these ops with its geometric mean over its samples, ascending by speedup.
    pub ops: Vec<(String, f64)>,
    /// Samples that are solved and not measured against this baseline; left out of everything here.
    pub n_unmeasured: usize,
}

/// Share of samples that are right and fast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Fast {
    /// The factor.
    pub p: f64,
    /// The share, in 0 to 1; `None` where no sample is left.
    pub share: Option<Estimate>,
}

/// An arm after so many attempts at each op. Speedups are over the primary baseline, as measured when
/// the attempts were judged, without cases that launch overhead dominates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CurvePoint {
    /// Attempts at each op, at most.
    pub attempts: u32,
    /// Share of the samples solved so far.
    pub correct: Option<Estimate>,
    /// Share of the samples that have a right kernel faster than the baseline so far; `None` where
    /// nothing was timed.
    pub fast_1: Option<Estimate>,
    /// Geometric mean of the best speedups so far, over the ops that have one.
    pub geomean: Option<Estimate>,
    /// Mean cost per sample so far, in US dollars; `None` where a call has no known price.
    pub usd: Option<f64>,
}

/// Two arms against each other over the ops that both worked on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// Position of the first arm in [`Comparison::arms`].
    pub a: usize,
    /// Position of the second.
    pub b: usize,
    /// Ops that both worked on.
    pub n_shared: usize,
    /// The tests; a quantity that one of them has not is absent.
    pub tests: Vec<PairTest>,
    /// Why a quantity is absent, for example different GPUs.
    pub note: Option<String>,
}

/// A quantity that two arms are compared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Share of samples solved: b minus a.
    Correct,
    /// Share of samples solved and faster than the primary baseline: b minus a.
    Fast1,
    /// Speedup over the primary baseline of the ops that both solved: b over a.
    Speedup,
}

/// One test between two arms.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PairTest {
    /// The compared quantity.
    pub quantity: Quantity,
    /// The difference of shares, or the ratio of speedups.
    pub estimate: Estimate,
    /// Ops with a larger value in b.
    pub n_better: usize,
    /// Ops with a smaller value in b.
    pub n_worse: usize,
    /// Two-sided p value of the paired test.
    pub p: f64,
    /// The same, corrected by Holm's method over all pairs of this quantity.
    pub p_holm: f64,
    /// The test: `sign flips` or `signed ranks`.
    pub test: &'static str,
}

/// One op in every arm.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpRow {
    /// Its name.
    pub op: String,
    /// One entry per arm; `None` where it was not asked for.
    pub cells: Vec<Option<OpCell>>,
}

/// One op in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpCell {
    /// How its numbers came about; `of` is the number of samples.
    pub marks: Marks,
    /// Samples that are solved.
    pub n_solved: usize,
    /// Finished attempts over all samples.
    pub n_attempts: usize,
    /// Mean attempts until the first that passed, of the samples that have one.
    pub attempts_to_correct: Option<f64>,
    /// Speedups, one entry per baseline and GPU: geometric means over the measured samples.
    pub speedups: Vec<OpSpeedup>,
    /// The cost of all calls.
    pub spend: Spend,
    /// Most frequent verdict of the best attempts that did not pass.
    pub failure: Option<String>,
    /// The run whose best attempt is the fastest, or else the first that solved it.
    pub best_run: Option<String>,
}

/// Speedup of one op in one arm over one baseline on one GPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpSpeedup {
    /// The baseline's name.
    pub baseline: String,
    /// The GPU's name.
    pub gpu: Option<String>,
    /// Over the cases that launch overhead does not dominate; `None` where there are none.
    pub long: Option<f64>,
    /// Over all timed cases.
    pub all: f64,
    /// Samples that it is the mean of.
    pub n_samples: usize,
}

impl OpSpeedup {
    /// The one to show: over the cases that launch overhead does not dominate, where there are any.
    pub(crate) fn shown(&self) -> f64 {
        self.long.unwrap_or(self.all)
    }
}

impl Estimate {
    /// Returns both ends; `None` where too few ops carry it.
    #[must_use]
    pub fn interval(&self) -> Option<[f64; 2]> {
        Some([self.low?, self.high?])
    }
}

impl Marks {
    /// Returns remarks in words, for example `replayed`, `3 of 8 not reached`.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let named = [
            (self.emulator_only, "emulator only"),
            (self.replayed, "replayed"),
            (self.cached, "cached"),
            (self.reused_evaluations, "evaluations reused"),
            (self.unconfirmed, "not confirmed"),
            (self.not_reached, "not reached"),
        ];
        let word = |&(n, name): &(usize, &str)| match n {
            0 => None,
            n if n == self.of => Some(name.to_owned()),
            n => Some(format!("{n} of {} {name}", self.of)),
        };
        named.iter().filter_map(word).collect()
    }

    /// Adds the marks of other samples.
    pub fn add(&mut self, other: &Self) {
        self.of += other.of;
        self.emulator_only += other.emulator_only;
        self.replayed += other.replayed;
        self.cached += other.cached;
        self.reused_evaluations += other.reused_evaluations;
        self.unconfirmed += other.unconfirmed;
        self.not_reached += other.not_reached;
    }
}
