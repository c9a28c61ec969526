//! The state machine with scripted devices.

use std::collections::VecDeque;

use crate::{Health, Mode, Profile, Throttle};

use super::*;

/// A device whose arms take exact times and whose health follows a script.
struct Scripted {
    baseline_us: f64,
    candidate_us: f64,
    /// Health of the first chunks; then all is well.
    health: VecDeque<Health>,
    orders: Vec<Vec<Arm>>,
    pauses: Vec<Duration>,
}

impl Scripted {
    fn new(baseline_us: f64, candidate_us: f64) -> Self {
        Self {
            baseline_us,
            candidate_us,
            health: VecDeque::new(),
            orders: Vec::new(),
            pauses: Vec::new(),
        }
    }
}

impl Bench for Scripted {
    type Error = String;

    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, String> {
        self.orders.push(order.to_vec());
        let time = |arm: &Arm| match arm {
            Arm::Baseline => self.baseline_us,
            Arm::Candidate => self.candidate_us,
        };
        let samples_us: Vec<f64> = order.iter().map(time).collect();
        let health = self.health.pop_front().unwrap_or_default();
        Ok(Chunk { wall_us: 80.0 * order.len() as f64, samples_us, health })
    }

    fn pause(&mut self, duration: Duration) {
        self.pauses.push(duration);
    }
}

/// No warm-up beyond the one block that is always thrown away.
fn cold_start(profile: Profile) -> Params {
    Params { warm_up_ms: 0.0, ..profile.params() }
}

fn hot() -> Health {
    Health { throttle: Throttle { sw_thermal: true, ..Throttle::default() }, ..Health::default() }
}

fn at(sm_mhz: f64) -> Health {
    Health { sm_mhz: Some(sm_mhz), max_sm_mhz: Some(1980.0), ..Health::default() }
}

#[test]
fn exact_times_end_at_the_least_number_of_blocks() {
    let mut bench = Scripted::new(20.0, 10.0);
    let found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    assert!((found.comparison.speedup - 2.0).abs() < 1e-12);
    assert_eq!(found.comparison.verdict, crate::TimeVerdict::Faster);
    assert_eq!((found.comparison.n_blocks, found.chunks, found.discarded), (24, 3, 0));
    assert_eq!((found.baseline.samples_us.len(), found.candidate.samples_us.len()), (48, 48));
    assert_eq!(found.flags, []);
    // One block of warm-up, then whole chunks.
    let lengths: Vec<usize> = bench.orders.iter().map(Vec::len).collect();
    assert_eq!(lengths, [4, 32, 32, 32]);
}

#[test]
fn stored_samples_give_the_comparison_again() {
    let mut bench = Scripted::new(10.0, 10.25);
    let found = compare(&mut bench, &cold_start(Profile::Screen), 5).unwrap().unwrap();
    let blocks = blocks_of(&found.baseline.samples_us, &found.candidate.samples_us, 1);
    assert_eq!(Comparison::of(&blocks), Some(found.comparison));
}

#[test]
fn the_arm_that_goes_first_alternates_by_the_seed() {
    use Arm::{Baseline, Candidate};
    for (seed, first) in [(6, Baseline), (7, Candidate)] {
        let mut bench = Scripted::new(10.0, 10.0);
        compare(&mut bench, &cold_start(Profile::Standard), seed).unwrap().unwrap();
        let measured = &bench.orders[1..];
        assert_eq!(measured.len(), 6);
        for (chunk, order) in measured.iter().enumerate() {
            let first = if chunk % 2 == 0 { first } else { first.other() };
            let block = [first, first.other(), first.other(), first];
            assert!(order.chunks(4).all(|found| found == block), "{order:?}");
        }
    }
}

#[test]
fn a_position_holds_as_many_samples_as_asked() {
    let params = Params { width: 3, ..cold_start(Profile::Screen) };
    let mut bench = Scripted::new(10.0, 10.0);
    let found = compare(&mut bench, &params, 0).unwrap().unwrap();
    assert_eq!(found.comparison.n_blocks, 24);
    assert_eq!(found.baseline.samples_us.len(), 144);
    assert_eq!(bench.orders[0][..7], [vec![Arm::Baseline; 3], vec![Arm::Candidate; 4]].concat());
}

#[test]
fn warm_up_lasts_as_long_as_asked_and_counts_for_nothing() {
    let params = Params { warm_up_ms: 5.0, ..Profile::Screen.params() };
    let mut bench = Scripted::new(10.0, 10.0);
    let found = compare(&mut bench, &params, 0).unwrap().unwrap();
    // 80 µs a sample: one block is 0.32 ms, two chunks are 5.12 ms.
    assert_eq!(bench.orders.len(), 3 + 3);
    assert_eq!(found.baseline.samples_us.len(), 48);
}

#[test]
fn chunks_of_a_hot_device_are_thrown_away_with_longer_and_longer_rests() {
    let mut bench = Scripted::new(10.0, 10.0);
    bench.health = [Health::default(), hot(), hot(), hot()].into();
    let found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    assert_eq!((found.chunks, found.discarded), (3, 3));
    assert_eq!(found.candidate.samples_us.len(), 48);
    let pauses: Vec<f64> = bench.pauses.iter().map(Duration::as_secs_f64).collect();
    for (pause, expected) in pauses.iter().zip([0.05, 0.075, 0.1125]) {
        assert!((pause - expected).abs() < 1e-9, "{pauses:?}");
    }
    assert_eq!((pauses.len(), found.flags), (3, vec![]));
}

#[test]
fn a_device_that_stays_hot_is_measured_as_it_is() {
    let mut bench = Scripted::new(10.0, 10.0);
    bench.health = vec![hot(); 100].into();
    let found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    assert_eq!((found.chunks, found.discarded, bench.pauses.len()), (3, 5, 5));
    assert_eq!(found.flags, [Flag::Throttled]);
}

#[test]
fn a_low_clock_without_a_reason_needs_work_and_no_rest() {
    let mut bench = Scripted::new(10.0, 10.0);
    bench.health = [at(400.0), at(1200.0), at(1900.0), at(1980.0)].into();
    let found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    assert_eq!((found.chunks, found.discarded, bench.pauses.len()), (3, 1, 0));
    // 1900 to 1980 MHz is more than 3 %.
    assert_eq!(found.flags, [Flag::ClockDrift]);
}

#[test]
fn a_power_cap_is_told_and_kept() {
    let capped = Throttle { power_cap: true, ..Throttle::default() };
    let mut bench = Scripted::new(10.0, 10.0);
    bench.health = vec![Health { throttle: capped, ..at(1700.0) }; 100].into();
    let found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    assert_eq!((found.discarded, found.flags), (0, vec![Flag::PowerCapped]));
}

#[test]
fn slow_kernels_are_sampled_one_block_at_a_time_until_time_is_up() {
    let mut bench = Scripted::new(110_000.0, 110_000.0);
    let found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    // 0.44 s a block: the fifth ends beyond 2 s, and the first is thrown away.
    assert_eq!(found.comparison.n_blocks, 4);
    assert!(bench.orders.iter().all(|order| order.len() == 4));
    assert_eq!(found.flags, [Flag::TimedOut]);
    let mut bench = Scripted::new(1e8, 1e8);
    let found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    assert_eq!((found.comparison.n_blocks, bench.orders.len()), (1, 2));
}

#[test]
fn the_final_profile_has_a_fixed_number_of_blocks() {
    let mut bench = Scripted::new(10.0, 10.0);
    let found = compare(&mut bench, &cold_start(Profile::Final), 0).unwrap().unwrap();
    assert_eq!(found.comparison.n_blocks, 256);
}

#[test]
fn a_candidate_alone_is_sampled_as_often() {
    let mut bench = Scripted::new(f64::NAN, 10.0);
    bench.health = [Health::default(), hot()].into();
    let found = alone(&mut bench, &cold_start(Profile::Screen)).unwrap().unwrap();
    assert_eq!((found.candidate.samples_us.len(), found.chunks, found.discarded), (48, 3, 1));
    assert!(bench.orders.iter().flatten().all(|arm| *arm == Arm::Candidate));
}

#[test]
fn what_is_no_time_gives_nothing() {
    let mut bench = Scripted::new(0.0, 10.0);
    assert_eq!(compare(&mut bench, &cold_start(Profile::Screen), 0), Ok(None));
    let mut bench = Scripted::new(10.0, f64::NAN);
    assert_eq!(alone(&mut bench, &cold_start(Profile::Screen)), Ok(None));
}

#[test]
fn the_error_of_a_bench_ends_the_comparison() {
    struct Broken;
    impl Bench for Broken {
        type Error = &'static str;
        fn chunk(&mut self, _: &[Arm]) -> Result<Chunk, &'static str> {
            Err("the device is gone")
        }
        fn pause(&mut self, _: Duration) {}
    }
    let params = Profile::Screen.params();
    assert_eq!(compare(&mut Broken, &params, 0), Err("the device is gone"));
    assert_eq!(alone(&mut Broken, &params), Err("the device is gone"));
}

#[test]
fn times_near_those_of_an_empty_kernel_are_flagged() {
    let mut bench = Scripted::new(20.0, 10.0);
    let mut found = compare(&mut bench, &cold_start(Profile::Screen), 0).unwrap().unwrap();
    found.mark_floor(1.5);
    assert_eq!(found.flags, []);
    found.mark_floor(3.3);
    found.mark_floor(3.3);
    assert_eq!(found.flags, [Flag::FloorLimited]);
    assert_eq!(Mode::Graph.to_string(), "graph");
}

#[test]
fn processes_are_joined() {
    let part = |candidate_us: f64| {
        let mut bench = Scripted::new(20.0, candidate_us);
        bench.health = vec![at(1500.0); 1].into();
        compare(&mut bench, &cold_start(Profile::Final), 0).unwrap().unwrap()
    };
    let joined = Measured::across(vec![part(10.0), part(10.0), part(16.0)]).unwrap();
    assert_eq!((joined.comparison.n_blocks, joined.candidate.samples_us.len()), (768, 1536));
    assert!((joined.comparison.speedup - 2.0).abs() < 1e-12);
    assert!((joined.comparison.ci[0] - 1.25).abs() < 1e-12);
    assert_eq!(joined.chunks, 96);
    assert_eq!(Measured::across(Vec::new()), None);
}
