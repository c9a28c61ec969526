//! Laws of any comparison, on random arms.

use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{Comparison, Estimate, compare};

/// Arms with gaps, failures, unmeasured and overhead-dominated ops, unfinished and emulated runs.
fn any_arms(rng: &mut ChaCha8Rng) -> Vec<Arm> {
    let n_ops = rng.random_range(0..12);
    let any_op = |rng: &mut ChaCha8Rng, n: u32| {
        let attempts: Vec<Option<f64>> = (0..rng.random_range(0..5))
            .map(|_| rng.random_bool(0.4).then(|| rng.random_range(0.3..4.0)))
            .collect();
        let mut op = op(&format!("op{n}"), &attempts);
        if rng.random_bool(0.2) {
            op.speedups.clear();
        }
        for speedup in op.speedups.iter_mut().filter(|_| n.is_multiple_of(4)) {
            *speedup = Speedup { long: None, n_long: 0, n_overhead: 1, ..speedup.clone() };
        }
        op
    };
    let any_run = |rng: &mut ChaCha8Rng, id: String| {
        let ops = (0..n_ops).filter(|_| rng.random_bool(0.9)).collect::<Vec<u32>>();
        let mut run = run(&id, ops.into_iter().map(|n| any_op(rng, n)).collect());
        run.finished = rng.random_bool(0.8);
        if rng.random_bool(0.2) {
            run.device = "NVIDIA L4".to_owned();
            run.ops
                .iter_mut()
                .filter(|op| op.solved)
                .for_each(|op| op.gpu = Some("NVIDIA L4".into()));
        }
        run
    };
    let n_arms = rng.random_range(1..5);
    (0..n_arms)
        .map(|at| {
            let n_runs = rng.random_range(1..4);
            let runs = (0..n_runs).map(|seed| any_run(rng, format!("{at}_{seed}"))).collect();
            arm(&format!("arm{at}"), runs)
        })
        .collect()
}

fn estimates(found: &Comparison) -> Vec<Estimate> {
    let mut all = Vec::new();
    for arm in &found.arms {
        all.extend([arm.correct, arm.attempts_to_correct, arm.cost_per_solved].iter().flatten());
        for speed in arm.speeds.iter().flat_map(|speeds| [&speeds.long, &speeds.all]) {
            all.extend(speed.fast.iter().filter_map(|fast| fast.share));
            all.extend([speed.geomean, speed.median].iter().flatten());
        }
        all.extend(arm.curve.iter().filter_map(|point| point.correct));
    }
    all.extend(found.pairs.iter().flat_map(|pair| &pair.tests).map(|test| test.estimate));
    all
}

#[test]
fn numbers_are_finite_and_lie_in_their_intervals_which_no_order_changes() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..120 {
        let mut arms = any_arms(&mut rng);
        let found = compare(&arms);
        for estimate in estimates(&found) {
            assert!(estimate.value.is_finite() && estimate.n_ops > 0, "{estimate:?}");
            if let Some([low, high]) = estimate.interval() {
                assert!(low <= high + 1e-12 && crate::MIN_OPS <= estimate.n_ops, "{estimate:?}");
            }
        }
        for arm in &found.arms {
            let fast = |speed: &crate::Speed| -> Vec<f64> {
                speed.fast.iter().filter_map(|fast| fast.share.map(|share| share.value)).collect()
            };
            for speeds in &arm.speeds {
                assert!(fast(&speeds.long).is_sorted_by(|a, b| a >= b));
                assert!(fast(&speeds.all).iter().all(|share| (0.0..=1.0).contains(share)));
            }
            let correct = arm.curve.iter().filter_map(|point| point.correct.map(|e| e.value));
            assert!(correct.collect::<Vec<_>>().is_sorted());
            assert!(arm.n_solved <= arm.n_samples && arm.n_ops <= arm.n_samples.max(1));
        }
        for test in found.pairs.iter().flat_map(|pair| &pair.tests) {
            assert!(test.p <= test.p_holm && (0.0..=1.0).contains(&test.p_holm), "{test:?}");
        }
        for arm in &mut arms {
            arm.runs.shuffle(&mut rng);
            arm.runs.iter_mut().for_each(|run| run.ops.shuffle(&mut rng));
        }
        let again = compare(&arms);
        let pairs = estimates(&found).into_iter().zip(estimates(&again));
        for (a, b) in pairs {
            assert!(close(a.value, b.value) && a.n_ops == b.n_ops, "{a:?} {b:?}");
        }
    }
}

#[test]
fn an_arm_against_itself_differs_in_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..40 {
        let arms = any_arms(&mut rng);
        let found = compare(&[arms[0].clone(), arms[0].clone()]);
        for test in &found.pairs[0].tests {
            assert!(close(test.p, 1.0) && test.n_better + test.n_worse == 0, "{test:?}");
        }
    }
}
