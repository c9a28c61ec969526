//! The clock proves itself: kernels whose times, or whose ratio, are known.
//!
//! Every check is a function of a [`Lab`], so that the checks themselves are proven on simulated
//! ones that are right, and on ones that are wrong in one way each.

mod check;
mod clock;
mod cross;
mod gpu;
mod lab;
mod memory;
mod nsight;
mod pairs;
mod work;

#[cfg(test)]
mod tests;

use kgen_measure::Profile;

pub use check::{CheckStatus, TimingCheck};
pub use cross::{LADDER, climb, python};
use cross::{NSIGHT, profiler};
pub use gpu::GpuLab;
pub use lab::{How, Lab, Setting};
pub use nsight::{N_LAUNCHES, nsight};
pub use work::Work;

use kgen_record::Target;

use self::pairs::Series;
use super::Error;

/// Floats of the kernels that A/A comparisons and the queue are tried with: 6 to 130 µs on an H200.
const SIZES: [u64; 4] = [1 << 20, 4 << 20, 16 << 20, 64 << 20];

/// The experiments, with their repetitions.
#[derive(Debug, Clone)]
pub struct CheckSchedule {
    equal: Vec<Series>,
    injected: Vec<Series>,
    seed: u64,
}

impl CheckSchedule {
    /// Everything that the page promises: 200 comparisons of equal kernels of 36 µs among it.
    #[must_use]
    pub fn full(seed: u64) -> Self {
        use kgen_measure::{Flush, Mode};
        let [tiny, small, medium, large] = SIZES.map(Work::Relu);
        let spin = Work::Spin(33_000);
        let cold = How { mode: Mode::Cold, flush: Flush::Read };
        let dirty = How { flush: Flush::Memset, ..cold };
        let graph = How { mode: Mode::Graph, flush: Flush::None };
        let series = |work, profile, how, n| Series { work, profile, how, n, judged: true };
        let informational = |work, profile, how, n| Series { work, profile, how, n, judged: false };
        Self {
            equal: vec![
                series(medium, Profile::Screen, cold, 200),
                series(large, Profile::Screen, cold, 50),
                series(medium, Profile::Standard, cold, 30),
                informational(medium, Profile::Screen, dirty, 50),
                informational(tiny, Profile::Screen, cold, 50),
                informational(tiny, Profile::Standard, cold, 20),
                informational(small, Profile::Standard, cold, 20),
                informational(tiny, Profile::Screen, graph, 50),
                informational(small, Profile::Screen, graph, 50),
            ],
            injected: vec![
                series(medium, Profile::Standard, cold, 50),
                series(spin, Profile::Standard, cold, 30),
                series(medium, Profile::Screen, cold, 50),
                informational(medium, Profile::Standard, dirty, 20),
                informational(tiny, Profile::Standard, cold, 20),
                informational(small, Profile::Standard, graph, 20),
            ],
            seed,
        }
    }
}

/// Runs all checks; `done` hears of every row at once.
///
/// # Errors
///
/// When the GPU cannot be used, or gives no times.
pub fn run(
    lab: &mut dyn Lab,
    target: &Target,
    plan: &CheckSchedule,
    done: &mut dyn FnMut(&TimingCheck),
) -> Result<Vec<TimingCheck>, Error> {
    let mut rows = Vec::new();
    let mut add = |more: Vec<TimingCheck>| {
        more.iter().for_each(&mut *done);
        rows.extend(more);
    };
    add(clock::spins(lab)?);
    add(memory::flush(lab, target)?);
    add(memory::bandwidth(lab, target)?);
    add(clock::starvation(lab, &SIZES.map(Work::Relu))?);
    for series in &plan.equal {
        add(vec![pairs::equal(lab, series, plan.seed)?]);
    }
    for series in &plan.injected {
        add(vec![pairs::injected(lab, series, plan.seed)?]);
    }
    Ok(rows)
}
