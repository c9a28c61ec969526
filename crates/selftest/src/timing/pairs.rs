//! Equal kernels must be called the same, different ones different.

use kgen_measure::{Flush, Measured, Mode, Params, Profile, TimeVerdict, stats::median};

use super::{How, Lab, TimingCheck, Work};
use crate::Error;

/// The difference that must be found.
const EFFECT: f64 = 0.02;

/// Comparisons of one kind with one profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Series {
    pub(super) work: Work,
    pub(super) profile: Profile,
    pub(super) how: How,
    /// Comparisons.
    pub(super) n: u64,
    /// Whether the result is judged, or only reported: kernels that are too short for cold timing
    /// to resolve one per cent.
    pub(super) judged: bool,
}

/// The results of many comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tally {
    n: u64,
    faster: u64,
    slower: u64,
    same: u64,
    /// Median of the speedups.
    speedup: f64,
    /// Median half-width of the intervals, as a share.
    half_width: f64,
    /// Median time of the candidate.
    median_us: f64,
}

impl Tally {
    fn of(all: &[Measured]) -> Option<Self> {
        let count = |verdict| {
            all.iter().filter(|measured| measured.comparison.verdict == verdict).count() as u64
        };
        let middle =
            |value: &dyn Fn(&Measured) -> f64| median(&all.iter().map(value).collect::<Vec<_>>());
        Some(Self {
            n: all.len() as u64,
            faster: count(TimeVerdict::Faster),
            slower: count(TimeVerdict::Slower),
            same: count(TimeVerdict::Same),
            speedup: middle(&|measured| measured.comparison.speedup)?,
            half_width: middle(&|measured| {
                let [low, high] = measured.comparison.ci;
                (high / low).ln() / 2.0
            })?,
            median_us: middle(&|measured| measured.candidate.median_us)?,
        })
    }

    fn share(&self, n: u64) -> f64 {
        n as f64 / self.n as f64
    }

    fn describe(&self, row: TimingCheck) -> TimingCheck {
        let percent = |n| 100.0 * self.share(n);
        let found = format!(
            "{} faster, {} slower, {} same of {}; ratio {:.4}, +-{:.2} %",
            self.faster,
            self.slower,
            self.same,
            self.n,
            self.speedup,
            100.0 * self.half_width
        );
        row.found(found)
            .value("n", self.n as f64)
            .value("faster_percent", percent(self.faster))
            .value("slower_percent", percent(self.slower))
            .value("same_percent", percent(self.same))
            .value("median_ratio", self.speedup)
            .value("median_half_width_percent", 100.0 * self.half_width)
            .value("median_us", self.median_us)
    }
}

/// Compares a kernel with itself.
pub(super) fn equal(lab: &mut dyn Lab, series: &Series, seed: u64) -> Result<TimingCheck, Error> {
    const CHECK: &str = "equal kernels";
    let Series { work, profile, how, n, judged } = *series;
    let params = profile.params();
    let all: Vec<Measured> = (0..n)
        .map(|i| lab.compare(work, work, how, &params, seed + i))
        .collect::<Result<_, _>>()?;
    let Some(tally) = Tally::of(&all) else {
        return Ok(TimingCheck::not_measured(CHECK, work.to_string(), "no comparisons"));
    };
    let what = format!("{work}, {:.1} us {}, {profile}", tally.median_us, name(how));
    let wrong = tally.share(tally.faster + tally.slower);
    let is_right = wrong <= 0.02 && tally.share(tally.same) >= 0.95;
    let passed = is_right && (tally.speedup - 1.0).abs() <= 0.003;
    let row = if judged {
        TimingCheck::judged(CHECK, what, passed)
            .asked("<= 2 % wrong, >= 95 % same, ratio 1 +- 0.003")
    } else {
        TimingCheck::informational(CHECK, what)
    };
    Ok(tally.describe(row))
}

/// Compares a kernel with one that takes 2 % longer.
pub(super) fn injected(
    lab: &mut dyn Lab,
    series: &Series,
    seed: u64,
) -> Result<TimingCheck, Error> {
    const CHECK: &str = "2 % injected";
    let Series { work, profile, how, n, judged } = *series;
    let Some(slower) = slower(lab, work, how)? else {
        return Ok(TimingCheck::not_measured(
            CHECK,
            work.to_string(),
            "its time does not grow with its size",
        ));
    };
    let params = profile.params();
    let all: Vec<Measured> = (0..n)
        .map(|i| lab.compare(slower, work, how, &params, seed + i))
        .collect::<Result<_, _>>()?;
    let Some(tally) = Tally::of(&all) else {
        return Ok(TimingCheck::not_measured(CHECK, work.to_string(), "no comparisons"));
    };
    let what = format!("{work}, {:.1} us {}, {profile}", tally.median_us, name(how));
    let least = if profile == Profile::Screen { 0.8 } else { 0.9 };
    let passed = tally.share(tally.faster) >= least && tally.slower == 0;
    let row = if judged {
        let asked = format!(">= {:.0} % faster, none slower", 100.0 * least);
        TimingCheck::judged(CHECK, what, passed).asked(asked)
    } else {
        TimingCheck::informational(CHECK, what)
    };
    Ok(tally.describe(row))
}

/// Returns the size of the same kernel that takes 2 % longer, by how its time grows.
fn slower(lab: &mut dyn Lab, work: Work, how: How) -> Result<Option<Work>, Error> {
    let params = Params { target_half_width: Some(0.001), ..Profile::Standard.params() };
    let larger = work.scaled(1.25);
    let found = lab.compare(larger, work, how, &params, 0)?;
    let growth = found.comparison.speedup - 1.0;
    let added = (larger.size() - work.size()) as f64 / work.size() as f64;
    let factor = 1.0 + EFFECT * added / growth;
    let usable = growth > 0.0 && factor < 1.25;
    Ok(usable.then(|| work.scaled(factor)))
}

/// Labels of times.
fn name(how: How) -> String {
    match (how.mode, how.flush) {
        (Mode::Cold, Flush::Memset) => "cold (written)".to_owned(),
        (mode, _) => mode.name().to_owned(),
    }
}
