//! Results of the protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Comparison, Timing, roofline::is_overhead_dominated, stats::median};

/// Something about how a number came to be that its reader must know.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Samples were taken although the GPU was slowed down, because it did not recover.
    Throttled,
    /// The board was at its power limit.
    PowerCapped,
    /// The clock differed by more than 3 % between chunks.
    ClockDrift,
    /// Launching takes a large part of the time: below five times an empty kernel.
    FloorLimited,
    /// Time was up before the least number of blocks.
    TimedOut,
    /// Another process used the GPU.
    Shared,
    /// The result does not depend on the inputs, so that little need be computed.
    Degenerate,
}

impl Flag {
    /// Its name in tables and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::PowerCapped => "power_capped",
            Self::ClockDrift => "clock_drift",
            Self::FloorLimited => "floor_limited",
            Self::TimedOut => "timed_out",
            Self::Shared => "shared",
            Self::Degenerate => "degenerate",
        }
    }

    /// How the samples were taken, for people: the end of "timed ..".
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Throttled => "while throttled (the GPU was slowed down and did not recover)",
            Self::PowerCapped => "while power capped (the board was at its power limit)",
            Self::ClockDrift => "with clock drift (more than 3 % between chunks)",
            Self::FloorLimited => "near the launch floor (launching takes a large part)",
            Self::TimedOut => "too briefly (timed out before the least number of blocks)",
            Self::Shared => "while shared (another process used the GPU)",
            Self::Degenerate => "though degenerate (the result does not depend on the inputs)",
        }
    }
}

/// Candidate and baseline, sampled in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The candidate.
    pub candidate: Timing,
    /// The baseline.
    pub baseline: Timing,
    /// One against the other.
    pub comparison: Comparison,
    /// Notes on it, each once, in order.
    pub flags: Vec<Flag>,
    /// Chunks that count.
    pub chunks: u32,
    /// Chunks thrown away because the GPU was slowed down.
    pub discarded: u32,
    /// Median clock of the multiprocessors over the chunks, in MHz.
    pub sm_mhz: Option<f64>,
}

impl Measured {
    /// Flags times that are mostly launching, given the time of an empty kernel.
    pub fn mark_floor(&mut self, launch_floor_us: f64) {
        let fastest = self.candidate.median_us.min(self.baseline.median_us);
        if is_overhead_dominated(fastest, launch_floor_us) {
            add(&mut self.flags, Flag::FloorLimited);
        }
    }

    /// Joins the measurements of several processes; `None` without any.
    ///
    /// Samples are put one after another; see [`Comparison::across`] for the rest.
    #[must_use]
    pub fn across(parts: Vec<Self>) -> Option<Self> {
        let comparisons: Vec<Comparison> = parts.iter().map(|part| part.comparison).collect();
        let comparison = Comparison::across(&comparisons)?;
        let chunks = parts.iter().map(|part| part.chunks).sum();
        let discarded = parts.iter().map(|part| part.discarded).sum();
        let clocks: Vec<f64> = parts.iter().filter_map(|part| part.sm_mhz).collect();
        let mut flags = Vec::new();
        let (mut candidate, mut baseline) = (Vec::new(), Vec::new());
        for part in parts {
            candidate.extend(part.candidate.samples_us);
            baseline.extend(part.baseline.samples_us);
            part.flags.into_iter().for_each(|flag| add(&mut flags, flag));
        }
        Some(Self {
            candidate: Timing::of(candidate)?,
            baseline: Timing::of(baseline)?,
            comparison,
            flags,
            chunks,
            discarded,
            sm_mhz: median(&clocks),
        })
    }
}

/// A candidate without a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alone {
    /// The candidate.
    pub candidate: Timing,
    /// Notes on it, each once, in order.
    pub flags: Vec<Flag>,
    /// Chunks that count.
    pub chunks: u32,
    /// Chunks thrown away because the GPU was slowed down.
    pub discarded: u32,
    /// Median clock of the multiprocessors over the chunks, in MHz.
    pub sm_mhz: Option<f64>,
}

/// Adds a flag where it belongs, once.
pub(crate) fn add(flags: &mut Vec<Flag>, flag: Flag) {
    if let Err(at) = flags.binary_search(&flag) {
        flags.insert(at, flag);
    }
}
