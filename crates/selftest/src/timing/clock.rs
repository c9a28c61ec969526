//! Times of known length, and what stands between them and kgen's.

use kgen_measure::Profile;

use super::{Lab, Setting, TimingCheck, Work};
use crate::Error;

/// Lengths, in nanoseconds.
const SPINS: [u64; 9] =
    [2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

/// Times kernels that wait for a known time: kgen's time must be that plus the launch.
pub(super) fn spins(lab: &mut dyn Lab) -> Result<Vec<TimingCheck>, Error> {
    const CHECK: &str = "known lengths";
    let params = Profile::Standard.params();
    let mut points = Vec::new();
    for ns in SPINS {
        let timing = lab.alone(Work::Spin(ns), Setting::CLEAN, &params)?;
        points.push((ns as f64 / 1e3, timing.median_us));
    }
    let Some(line) = Line::fit(&points) else { return Ok(Vec::new()) };
    let worst = points.iter().map(|(x, y)| (y - line.at(*x)).abs()).fold(0.0, f64::max);
    let passed = (line.slope - 1.0).abs() <= 0.005 && worst <= 1.0;
    let row = TimingCheck::judged(CHECK, "spin kernels of 2 us to 1 ms", passed)
        .found(format!(
            "slope {:.4}, intercept {:.2} us, furthest {worst:.2} us",
            line.slope, line.intercept
        ))
        .asked("slope 1 +- 0.005, none further than 1 us")
        .value("slope", line.slope)
        .value("intercept_us", line.intercept)
        .value("furthest_us", worst);
    Ok(vec![row])
}

/// Times kernels while the GPU is held up until all launches wait in its queue, and while it is
/// not: a difference means that it waits for the host inside timed regions.
pub(super) fn starvation(lab: &mut dyn Lab, works: &[Work]) -> Result<Vec<TimingCheck>, Error> {
    const CHECK: &str = "queue never empty";
    let mut rows = Vec::new();
    for work in works {
        let [free, held] = lab.free_and_held(*work)?.map(|timing| timing.median_us);
        let passed = (free - held).abs() <= (0.01 * held).max(0.1);
        let row = TimingCheck::judged(CHECK, work.to_string(), passed)
            .found(format!("{free:.2} us, held back {held:.2} us"))
            .asked("within 1 % or 0.1 us")
            .value("free_us", free)
            .value("held_us", held);
        rows.push(row);
    }
    Ok(rows)
}

/// A straight line through points, by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) intercept: f64,
}

impl Line {
    /// Fits; `None` with fewer than two different abscissae.
    pub(super) fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |value: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / n;
        let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
        let spread = mean(&|point| (point.0 - x).powi(2));
        let slope = mean(&|point| (point.0 - x) * (point.1 - y)) / spread;
        slope.is_finite().then_some(Self { slope, intercept: y - slope * x })
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}
