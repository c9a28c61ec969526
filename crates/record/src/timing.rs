//! Times: requests and measurements.

use kgen_measure::{Usage, do_bench::Summary as DoBench};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Comparison, Flag, Implementation, L2, Mode, Profile, Roofline, Timing, Verdict};

/// How a passed kernel is timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimingRequest {
    /// The baselines, the primary one first; none times it alone.
    pub baselines: Vec<BaselineRequest>,
    /// How many samples are taken and when there are enough.
    pub profile: Profile,
    pub l2: L2,
    /// Whether cases that a launch's overhead dominates are timed inside CUDA graphs instead.
    pub graph: bool,
    /// Whether the candidate is timed once more as Triton's `do_bench` does.
    pub do_bench: bool,
    /// Seconds per case and baseline at most; `None` takes the profile's.
    pub max_s: Option<f64>,
    /// Whether the baselines are of interest for themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_by_side: Option<SideBySide>,
}

/// Baselines that are results of their own: each is judged on the case before it is timed, and memory and
/// clocks are recorded of all.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SideBySide {
    /// Seconds for which each runs once more, for its energy.
    pub energy_s: Option<f64>,
}

impl TimingRequest {
    /// Returns the seconds that one case may take, all baselines together.
    #[must_use]
    pub fn case_s(&self) -> f64 {
        let one = self.max_s.unwrap_or_else(|| self.profile.params().max_s);
        one * f64::from(u32::try_from(self.baselines.len().max(1)).unwrap_or(u32::MAX))
    }
}

/// Something to time against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineRequest {
    /// Its name, for example `builtin`.
    pub name: String,
    pub implementation: Implementation,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseTiming {
    pub case: String,
    /// Its arguments in one line.
    pub args: String,
    /// How often a model makes the call, where the suite is a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How the times were taken.
    pub mode: Mode,
    /// The candidate, its samples against the first baseline that was measured.
    pub candidate: Timing,
    /// One entry per baseline that was asked for, in that order.
    pub baselines: Vec<BaselineTiming>,
    /// Bytes that the op must move at least.
    pub bytes: f64,
    /// Floating-point operations of the op.
    pub flops: f64,
    /// Bytes of inputs, outputs and scratch on the device at once.
    pub peak_bytes: u64,
    /// Time of an empty kernel in the same mode, median, in microseconds.
    pub floor_us: f64,
    /// The limit of the hardware; `None` where its peaks are not known.
    pub roofline: Option<Roofline>,
    pub flags: Vec<Flag>,
    /// The candidate as `do_bench` of Triton would have timed it, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub do_bench: Option<DoBench>,
    /// The choice of parameters that was timed.
    pub params: Vec<(String, i64)>,
    /// Memory, energy and clock of the candidate.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
}

impl CaseTiming {
    /// Returns the entry of a baseline.
    #[must_use]
    pub fn baseline(&self, name: &str) -> Option<&BaselineTiming> {
        self.baselines.iter().find(|baseline| baseline.name == name)
    }

    /// Returns the first baseline that was measured.
    #[must_use]
    pub fn primary(&self) -> Option<&BaselineTiming> {
        self.baselines.iter().find(|baseline| baseline.comparison.is_some())
    }

    /// Returns how near the candidate comes to the limit of the hardware, in percent.
    #[must_use]
    pub fn percent_of_floor(&self) -> Option<f64> {
        self.roofline.as_ref().map(|roofline| roofline.percent_of_floor(self.candidate.median_us))
    }
}

/// One baseline of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineTiming {
    pub name: String,
    /// Its times; `None` is "not measured".
    pub timing: Option<Timing>,
    /// The candidate's times between them, where those are not the case's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Timing>,
    /// Baseline over candidate, from paired samples.
    pub comparison: Option<Comparison>,
    /// Whether a launch's overhead is most of its time, which decides that the case stays out of
    /// the headline.
    pub overhead_dominated: bool,
    /// Why it was not measured, or notes on its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How its times were taken; those of all baselines are the case's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The judge's verdict on its outputs, where it was judged or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
}

impl BaselineTiming {
    /// Returns a baseline that was not measured.
    #[must_use]
    pub fn not_measured(name: &str, note: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            timing: None,
            candidate: None,
            comparison: None,
            overhead_dominated: false,
            note: Some(note.into()),
            flags: Vec::new(),
            verdict: None,
            usage: Usage::default(),
        }
    }

    /// Returns baseline time over candidate time, where it was measured.
    #[must_use]
    pub fn speedup(&self) -> Option<f64> {
        self.comparison.as_ref().map(|comparison| comparison.speedup)
    }
}

/// A speedup with the name of its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speedup {
    /// The baseline's name, for example `builtin`.
    pub baseline: String,
    /// Geometric mean over the cases that launch overhead does not dominate of baseline time over
    /// candidate time; over all timed cases where there are no others. A case of a log weighs as much as
    /// its count.
    pub geomean: f64,
    /// Cases that it is the mean of, if launch overhead does not dominate them.
    pub n: usize,
    /// Timed cases that launch overhead dominates.
    pub n_overhead: usize,
    /// The mean over all timed cases, overhead-dominated ones included, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geomean_all: Option<f64>,
    /// For the cases of a log: time of all timed calls, each as often as the log has it, of the baseline over
    /// that of the candidate. Launch overhead is part of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Geometric means of the lower and of the upper bounds of its cases' 99 % intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl Speedup {
    /// Returns the mean of so many cases, none of them dominated by launch overhead.
    #[must_use]
    pub fn new(baseline: &str, geomean: f64, n: usize) -> Self {
        let baseline = baseline.to_owned();
        Self { baseline, geomean, n, n_overhead: 0, geomean_all: None, total: None, interval: None }
    }

    /// Returns whether it may stand in a headline: launch overhead does not dominate every case.
    #[must_use]
    pub const fn is_headline(&self) -> bool {
        0 < self.n || self.n_overhead == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_how_long_a_case_may_take_and_which_kernels_it_needs() {
        let baseline =
            |name: &str, implementation| BaselineRequest { name: name.to_owned(), implementation };
        let request = TimingRequest {
            baselines: vec![
                baseline("aten", Implementation::python(crate::PythonKind::Aten)),
                baseline("builtin", Implementation::Kernel { source: "k".to_owned() }),
            ],
            profile: Profile::Screen,
            l2: L2::Cold,
            graph: false,
            do_bench: false,
            max_s: None,
            side_by_side: None,
        };
        assert!((request.case_s() - 2.0 * Profile::Screen.params().max_s).abs() < 1e-9);
    }
}
