//! The checks on simulated machines: one that is right, and some that are wrong in one way each.

use std::{convert::Infallible, time::Duration};

use kgen_measure::{
    Alone, Arm, Bench, Chunk, Flush, Health, Measured, Params, Timing, alone, compare,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// A machine, with what may be wrong with it.
#[derive(Clone)]
struct Machine {
    /// Its clock's reading of a microsecond.
    clock: f64,
    /// Whether flushing does anything.
    flushes: bool,
    /// How much longer the candidate takes, as a share, though it is the same kernel.
    bias: f64,
    /// Spread of samples, as a share.
    noise: f64,
    /// Microseconds by which the host is late where nothing holds the GPU up.
    late_us: f64,
    /// Bytes per microsecond.
    bandwidth: f64,
    n_benches: u64,
}

const RIGHT: Machine = Machine {
    clock: 1.0,
    flushes: true,
    bias: 0.0,
    noise: 0.005,
    late_us: 0.0,
    bandwidth: 4.2e6,
    n_benches: 0,
};

impl Machine {
    fn length_us(&self, work: Work, setting: Setting) -> f64 {
        let launch = 3.4 + if setting.held { 0.0 } else { self.late_us };
        let busy = match work {
            Work::Spin(ns) => ns as f64 / 1e3,
            _ => {
                let bytes = 4.0 * (work.n_in() + work.n_out(132)) as f64;
                let cold = bytes / self.bandwidth;
                let hot = setting.flush == Flush::None || !self.flushes;
                if hot && bytes < 60e6 { cold / 2.0 } else { cold }
            }
        };
        (launch + busy) * self.clock
    }

    fn bench(&mut self, baseline_us: f64, candidate_us: f64) -> Noisy {
        self.n_benches += 1;
        let rng = ChaCha8Rng::seed_from_u64(self.n_benches);
        Noisy { rng, baseline_us, candidate_us, noise: self.noise }
    }
}

struct Noisy {
    rng: ChaCha8Rng,
    baseline_us: f64,
    candidate_us: f64,
    noise: f64,
}

impl Bench for Noisy {
    type Error = Infallible;

    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, Infallible> {
        let samples_us = order
            .iter()
            .map(|arm| {
                let length = match arm {
                    Arm::Baseline => self.baseline_us,
                    Arm::Candidate => self.candidate_us,
                };
                let sum: f64 = (0..12).map(|_| self.rng.random::<f64>()).sum();
                length * (1.0 + self.noise * (sum - 6.0))
            })
            .collect();
        Ok(Chunk { samples_us, wall_us: 0.0, health: Health::default() })
    }

    fn pause(&mut self, _: Duration) {}
}

impl Lab for Machine {
    fn compare(
        &mut self,
        baseline: Work,
        candidate: Work,
        _: How,
        params: &Params,
        seed: u64,
    ) -> Result<Measured, Error> {
        let candidate_us = self.length_us(candidate, Setting::CLEAN) * (1.0 + self.bias);
        let baseline_us = self.length_us(baseline, Setting::CLEAN);
        let Ok(measured) =
            compare(&mut self.bench(baseline_us, candidate_us), &quick(params), seed);
        Ok(measured.unwrap())
    }

    fn alone(&mut self, work: Work, setting: Setting, params: &Params) -> Result<Timing, Error> {
        let length = self.length_us(work, setting);
        let Ok(measured) = alone(&mut self.bench(length, length), &quick(params));
        let Alone { candidate, .. } = measured.unwrap();
        Ok(candidate)
    }

    fn free_and_held(&mut self, work: Work) -> Result<[Timing; 2], Error> {
        Ok([self.taken(work, false), self.taken(work, true)])
    }
}

impl Machine {
    fn taken(&mut self, work: Work, held: bool) -> Timing {
        let setting = Setting { held, ..Setting::CLEAN };
        self.alone(work, setting, &Profile::Standard.params()).unwrap()
    }
}

/// Without the warm-up, which the clock of no wall would never end.
fn quick(params: &Params) -> Params {
    Params { warm_up_ms: 0.0, ..*params }
}

/// The full plan with a fifth of the comparisons.
fn thinned() -> CheckSchedule {
    let mut plan = CheckSchedule::full(1);
    plan.equal
        .iter_mut()
        .chain(&mut plan.injected)
        .for_each(|series| series.n = series.n.div_ceil(5));
    plan
}

/// The rows that failed, as `check: what`.
fn failed(machine: &Machine) -> Vec<String> {
    let target = Target { l2_bytes: 60 << 20, ..Target::h100_class() };
    let target = Target { peak_bandwidth: Some(4.9e12), ..target };
    let mut heard = 0;
    let rows = run(&mut machine.clone(), &target, &thinned(), &mut |_| heard += 1).unwrap();
    assert_eq!(heard, rows.len());
    let failed = rows.iter().filter(|row| row.outcome == CheckStatus::Failed);
    failed.map(|row| format!("{}: {}", row.check, row.what)).collect()
}

#[test]
fn a_right_machine_passes() {
    assert_eq!(failed(&RIGHT), Vec::<String>::new());
}

#[test]
fn a_clock_that_runs_fast_is_seen() {
    let found = failed(&Machine { clock: 1.01, ..RIGHT });
    assert_eq!(found, ["known lengths: spin kernels of 2 us to 1 ms"]);
}

#[test]
fn a_flush_that_does_nothing_is_seen() {
    let found = failed(&Machine { flushes: false, ..RIGHT });
    assert!(found.len() == 1 && found[0].starts_with("L2 flush"), "{found:?}");
}

#[test]
fn an_arm_that_is_favoured_is_seen() {
    let found = failed(&Machine { bias: 0.004, ..RIGHT });
    assert!(!found.is_empty(), "{found:?}");
    assert!(found.iter().all(|row| row.starts_with("equal kernels")), "{found:?}");
}

#[test]
fn noise_that_leaves_equal_kernels_undecided_is_seen() {
    let found = failed(&Machine { noise: 0.06, ..RIGHT });
    assert!(!found.is_empty(), "{found:?}");
    assert!(found.iter().all(|row| row.starts_with("equal kernels")), "{found:?}");
}

#[test]
fn a_host_that_is_late_is_seen() {
    let found = failed(&Machine { late_us: 1.5, ..RIGHT });
    assert!(found.len() >= 3, "{found:?}");
    assert!(found.iter().all(|row| row.starts_with("queue never empty")), "{found:?}");
}

#[test]
fn memory_that_is_faster_than_its_data_sheet_is_seen() {
    let found = failed(&Machine { bandwidth: 5.1e6, ..RIGHT });
    assert_eq!(found, ["bandwidth: copy of 4 GiB", "bandwidth: read of 4 GiB"]);
}

#[test]
fn a_profiler_that_agrees_but_for_an_offset_passes_and_one_that_does_not_fails() {
    let theirs: Vec<f64> = (0..).take(LADDER.len()).map(|i| 1.5 + 4.0 * 2.5_f64.powi(i)).collect();
    let with = |factor: f64| -> Vec<CheckStatus> {
        let ours: Vec<f64> = theirs.iter().map(|us| us * factor + 1.8).collect();
        profiler(&ours, &theirs).into_iter().map(|row| row.outcome).collect()
    };
    assert!(with(1.0).iter().all(|outcome| *outcome == CheckStatus::Passed));
    assert_eq!(with(1.0).len(), LADDER.len());
    assert!(with(1.05).contains(&CheckStatus::Failed));
    assert_eq!(profiler(&[], &[]), []);
}
