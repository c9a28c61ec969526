//! The input of a comparison, as plain data.
//!
//! Whoever reads runs fills this in. Texts (source, feedback) are needed by the page alone and are
//! absent otherwise. A value that was not measured is absent, never 0.

use kgen_measure::{Comparison, Timing, roofline::Roofline};
use schemars::JsonSchema;
use serde::Serialize;

/// Runs that were made with equal settings: the samples of one condition.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Arm {
    /// Its distinguishing name, for example `gpt-5, beam`; unique among the arms.
    pub name: String,
    /// Its settings by name, for example (`strategy`, `beam`): those that the arms differ in first.
    pub facts: Vec<(String, String)>,
    /// Its runs, at least one, each with its own seed.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Run {
    /// Its ID.
    pub id: String,
    /// Notes about it by name: (`made`, `2026-01-01T00:00:00Z`), (`seed`, `1`).
    pub facts: Vec<(String, String)>,
    /// The device: a GPU's name, or that of the target that the emulator stands for.
    pub device: String,
    /// Whether all of it ran on the emulator, which cannot time anything.
    pub emulated: bool,
    /// Whether its replies come from a recording.
    pub replayed: bool,
    /// Whether its evaluations come from a recording too.
    pub reused_evaluations: bool,
    /// Whether it came to its end; ops that it did not reach may still change.
    pub finished: bool,
    /// Its baselines, the primary one first; empty where it was not timed.
    pub baselines: Vec<String>,
    /// Every op that it was asked for, whether it was reached or not.
    pub ops: Vec<Op>,
}

/// The outcome of one op in one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Op {
    /// Its name, for example `relu`.
    pub name: String,
    /// Finished attempts by number; none where the run did not reach it.
    pub attempts: Vec<Attempt>,
    /// The cost of calls of attempts that are not finished.
    pub unfinished: Spend,
    /// Number of the best attempt.
    pub best: Option<u32>,
    /// Whether the best attempt passed, its confirmation included.
    pub solved: bool,
    /// Whether it was judged again with fresh seeds, and passed.
    pub confirmed: bool,
    /// The GPU that it was judged on; `None` where only the emulator saw it.
    pub gpu: Option<String>,
    /// Speedups of the best attempt as they are reported, one per baseline that it was measured
    /// against: where it was measured again, of these measurements. Empty where it did not pass.
    pub speedups: Vec<Speedup>,
    /// The cases that these speedups are of, with all samples; read for the page of one run only.
    pub timed: Vec<TimedCase>,
}

/// Times of one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimedCase {
    /// Its arguments in one line, for example `self=f32[4096,1024]`.
    pub args: String,
    /// Bytes that the op must move at least.
    pub bytes: f64,
    /// Floating-point operations of the op.
    pub flops: f64,
    /// The limit of the hardware; `None` where its peaks are not known.
    pub roofline: Option<Roofline>,
    /// The kernel.
    pub kernel: Timing,
    /// One entry per baseline that was asked for.
    pub baselines: Vec<TimedBaseline>,
}

/// Times of one baseline in one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimedBaseline {
    /// Its name, for example `aten`.
    pub name: String,
    /// Its times; `None` is "not measured".
    pub timing: Option<Timing>,
    /// Its time over that of the kernel, with the 99 % interval.
    pub comparison: Option<Comparison>,
    /// Whether launch overhead is most of its time.
    pub overhead_dominated: bool,
}

/// How many times as fast as one baseline.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Speedup {
    /// The baseline's name, for example `aten`.
    pub baseline: String,
    /// Geometric mean over the cases that launch overhead does not dominate; `None` where there
    /// are no such cases.
    pub long: Option<f64>,
    /// Geometric mean over all timed cases.
    pub all: f64,
    /// Cases that launch overhead does not dominate.
    pub n_long: usize,
    /// Cases that it dominates.
    pub n_overhead: usize,
    /// 99 % interval of [`Self::long`], or of [`Self::all`] where there is no other.
    pub interval: Option<[f64; 2]>,
}

impl Speedup {
    /// The one to show: over the cases that launch overhead does not dominate, where there are any.
    pub(crate) fn shown(&self) -> f64 {
        self.long.unwrap_or(self.all)
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Attempt {
    /// Its number within the op, from 1.
    pub number: u32,
    /// Attempts that it was made from.
    pub parents: Vec<u32>,
    /// Branch of the search that it belongs to.
    pub branch: u32,
    /// Round of the search, from 1.
    pub round: u32,
    /// Why it was made: `initial`, `repair`, `improve`, `given`.
    pub purpose: String,
    /// Its change, in one line.
    pub change: Option<String>,
    /// Its outcome, for example `passed` or `compile_error`.
    pub verdict: String,
    /// Whether it passed, its confirmation included.
    pub passed: bool,
    /// The earlier attempt whose source it repeats.
    pub duplicate_of: Option<u32>,
    /// Whether its reply comes from a recording.
    pub replayed: bool,
    /// Whether a reply comes from the cache of replies.
    pub cached: bool,
    /// Whether its evaluation comes from a recording.
    pub reused_evaluation: bool,
    /// Its speedups as measured when it was judged, the primary baseline first.
    pub speedups: Vec<Speedup>,
    /// The cost of its calls.
    pub spend: Spend,
    /// Wall time of judging it, in seconds.
    pub seconds_judging: f64,
    /// When it began and ended, in seconds since 1970.
    pub time: Option<[f64; 2]>,
    /// Its kernel file; read for the page only, and not for every attempt where that is too much.
    pub source: Option<String>,
    /// The feedback on it; read as [`Self::source`] is.
    pub feedback: Option<String>,
    /// Whether its texts were not read to save memory.
    pub texts_left_out: bool,
}

/// The cost of calls. Sums of it are sums of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Spend {
    /// Calls that were sent.
    pub calls: u64,
    /// Calls whose reply never came; they may have been billed.
    pub lost_calls: u64,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written into the provider's cache.
    pub cache_write_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Output tokens that were reasoning.
    pub reasoning_tokens: u64,
    /// Calls whose provider reported no usage.
    pub unreported: u64,
    /// US dollars of the calls that have a price.
    pub usd: f64,
    /// Tokens at most of lost calls and of those whose provider reported no usage.
    pub assumed_tokens: u64,
    /// US dollars at most of these.
    pub assumed_usd: f64,
    /// Calls without a known price.
    pub unpriced: u64,
    /// Latency of the calls, in seconds.
    pub seconds: f64,
}

impl Spend {
    /// Adds the cost of other calls.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.lost_calls += other.lost_calls;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.unreported += other.unreported;
        self.usd += other.usd;
        self.assumed_tokens = self.assumed_tokens.saturating_add(other.assumed_tokens);
        self.assumed_usd += other.assumed_usd;
        self.unpriced += other.unpriced;
        self.seconds += other.seconds;
    }

    /// Returns the sum of several.
    #[must_use]
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for part in parts {
            sum.add(part);
        }
        sum
    }

    /// Returns the US dollars, the worst case of unreported calls included; `None` where a call
    /// has no known price: a part of the cost is not the cost.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.usd + self.assumed_usd)
    }

    /// Returns whether [`Self::cost`] is an upper bound.
    #[must_use]
    pub fn is_at_most(&self) -> bool {
        0.0 < self.assumed_usd
    }

    /// Returns whether anybody was paid, as far as that is known; a reply by hand costs nothing.
    #[must_use]
    pub fn is_paid(&self) -> bool {
        0 < self.unpriced || 0.0 < self.usd + self.assumed_usd || 0 < self.tokens()
    }

    /// Returns input and output tokens together, as far as they were reported.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns whether there are more tokens than were reported.
    #[must_use]
    pub const fn has_untold_tokens(&self) -> bool {
        0 < self.unreported || 0 < self.assumed_tokens
    }
}

impl Op {
    /// Returns whether the run worked on it.
    #[must_use]
    pub fn reached(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// Returns an attempt by its number.
    #[must_use]
    pub fn attempt(&self, number: u32) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.number == number)
    }

    /// Returns the best attempt.
    #[must_use]
    pub fn best_attempt(&self) -> Option<&Attempt> {
        self.attempt(self.best?)
    }

    /// Returns the speedup over a baseline.
    #[must_use]
    pub fn speedup(&self, baseline: &str) -> Option<&Speedup> {
        self.speedups.iter().find(|speedup| speedup.baseline == baseline)
    }

    /// Returns the position, from 1, of the first attempt that passed.
    #[must_use]
    pub fn attempts_to_correct(&self) -> Option<usize> {
        self.attempts.iter().position(|attempt| attempt.passed).map(|position| position + 1)
    }

    /// Returns the cost of all its calls.
    #[must_use]
    pub fn spend(&self) -> Spend {
        let finished = self.attempts.iter().map(|attempt| &attempt.spend);
        Spend::sum(finished.chain([&self.unfinished]))
    }
}
