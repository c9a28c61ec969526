//! Do the intervals cover as often as they claim, and do the tests err as rarely as they claim? Simulated:
//! ops drawn from a population that is known, several samples of each.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{
    compare,
    resample::{Column, Draws},
    summary::{Estimate, Quantity},
};

/// Simulated experiments per setting.
const N: u32 = 1500;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Share of simulated experiments whose interval holds the truth.
fn covered(
    truth: f64,
    n_ops: usize,
    mut estimate: impl FnMut(&Draws, &mut ChaCha8Rng) -> Estimate,
) -> f64 {
    let draws = Draws::new(n_ops);
    let mut rng = ChaCha8Rng::seed_from_u64(n_ops as u64);
    let given = (0..N).filter_map(|_| estimate(&draws, &mut rng).interval());
    let holds: Vec<bool> = given.map(|[low, high]| (low..=high).contains(&truth)).collect();
    assert!(holds.len() * 4 > N as usize * 3, "most have an interval");
    holds.iter().filter(|holds| **holds).count() as f64 / holds.len() as f64
}

#[test]
fn intervals_of_shares_cover_what_they_claim() {
    // Chances that an op is solved: from hopeless to easy, uniform between `low` and `high`.
    for (low, high, n_samples, n_ops, allowed) in [
        (0.0, 1.0, 1, 20, 0.92..=0.98),
        (0.0, 1.0, 3, 20, 0.92..=0.98),
        (0.0, 1.0, 5, 100, 0.93..=0.97),
        (0.6, 1.0, 3, 40, 0.92..=0.98),
        (0.9, 1.0, 1, 30, 0.92..=1.0),
    ] {
        let truth = f64::midpoint(low, high);
        let found = covered(truth, n_ops, |draws, rng| {
            let shares = (0..n_ops).map(|_| {
                let chance = rng.random_range(low..high);
                let solved = (0..n_samples).filter(|_| rng.random_bool(chance)).count();
                Some(solved as f64 / f64::from(n_samples))
            });
            draws.share(&Column::of_means(shares)).unwrap()
        });
        println!("shares {low} to {high}, {n_samples} samples of {n_ops} ops: {found:.3}");
        assert!(allowed.contains(&found), "{low} to {high}, {n_samples} of {n_ops}: {found}");
    }
}

#[test]
fn intervals_of_geometric_means_medians_and_costs_cover_what_they_claim() {
    for n_ops in [10, 30, 150] {
        // Speedups: ops differ by a factor of 1.6, samples of an op by 1.1; centre 1.3.
        let logs = |rng: &mut ChaCha8Rng| -> Vec<f64> {
            let op = |rng: &mut ChaCha8Rng| {
                let op = 1.3_f64.ln() + 0.47 * normal(rng);
                (0..3).map(|_| op + 0.1 * normal(rng)).sum::<f64>() / 3.0
            };
            (0..n_ops).map(|_| op(rng)).collect()
        };
        let geomean = covered(1.3, n_ops, |draws, rng| {
            draws.mean(&Column::of_means(logs(rng).into_iter().map(Some)), f64::exp).unwrap()
        });
        assert!((0.925..=0.975).contains(&geomean), "geomean of {n_ops}: {geomean}");
        let median = covered(1.3, n_ops, |draws, rng| {
            let factors: Vec<_> = logs(rng).into_iter().map(|log| Some(log.exp())).collect();
            draws.median(&factors).unwrap()
        });
        assert!((0.925..=0.985).contains(&median), "median of {n_ops}: {median}");
        // Cost: hard ops take more calls and are solved more rarely.
        let cost = covered(2.0 / 0.6, n_ops, |draws, rng| {
            let mut column = Column::default();
            for _ in 0..n_ops {
                let ease: f64 = rng.random_range(0.2..1.0);
                column.above.push((3.2 - 2.0 * ease) + 0.3 * normal(rng));
                column.below.push(f64::from(u8::from(rng.random_bool(ease))));
            }
            draws.mean(&column, |cost| cost).unwrap()
        });
        println!("{n_ops} ops: geomean {geomean:.3}, median {median:.3}, cost {cost:.3}");
        assert!((0.92..=0.985).contains(&cost), "cost of {n_ops}: {cost}");
    }
}

/// Arms that are the same but for luck, or where one solves `more` of the ops.
fn arms(rng: &mut ChaCha8Rng, n_arms: usize, more: f64) -> Vec<Arm> {
    let names: Vec<String> = (0..25).map(|n| format!("op{n}")).collect();
    let hardness: Vec<f64> = names.iter().map(|_| rng.random_range(0.1..0.7)).collect();
    let base: Vec<f64> = names.iter().map(|_| 0.4 * normal(rng)).collect();
    let mut one = |at: usize| {
        let more = if at == 0 { more } else { 0.0 };
        let mut run_of = |seed: usize| {
            let ops = names.iter().zip(hardness.iter().zip(&base)).map(|(name, (chance, base))| {
                let solved = rng.random_bool(chance + more);
                let factor = (base + more + 0.2 * normal(rng)).exp();
                op(name, &[solved.then_some(factor)])
            });
            run(&format!("{at}_{seed}"), ops.collect())
        };
        let runs = vec![run_of(0), run_of(1)];
        arm(&format!("arm{at}"), runs)
    };
    (0..n_arms).map(&mut one).collect()
}

/// Share of simulated comparisons with any corrected p below 5 % in a quantity.
fn rejections(n_arms: usize, more: f64, n: u32) -> [f64; 3] {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut counts = [0_u32; 3];
    for _ in 0..n {
        let found = compare(&arms(&mut rng, n_arms, more));
        for (at, quantity) in
            [Quantity::Correct, Quantity::Fast1, Quantity::Speedup].into_iter().enumerate()
        {
            let tests = found.pairs.iter().flat_map(|pair| &pair.tests);
            let mut tests = tests.filter(|test| test.quantity == quantity);
            counts[at] += u32::from(tests.any(|test| test.p_holm < 0.05));
        }
    }
    counts.map(|count| f64::from(count) / f64::from(n))
}

#[test]
fn equal_arms_are_rarely_told_apart_and_different_ones_mostly() {
    // The standard error of 5 % in 600 is 0.9 %.
    for (n_arms, n) in [(2, 600), (4, 300)] {
        let found = rejections(n_arms, 0.0, n);
        println!("{n_arms} arms: {found:?}");
        assert!(found.iter().all(|share| *share <= 0.075), "{n_arms} arms: {found:?}");
    }
    let [correct, fast, speedup] = rejections(2, 0.3, 60);
    assert!(correct > 0.7 && fast > 0.8 && speedup > 0.6, "{correct} {fast} {speedup}");
}
