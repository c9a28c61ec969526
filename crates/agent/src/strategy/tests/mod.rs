//! The strategies as pure rules.

mod beam;
mod best_of;
mod islands;
mod laws;
mod repair;

use kgen_store::testing;

use super::*;

const EMU: Policy =
    Policy { max_attempts: 3, target_speedup: 2.0, can_time: false, confirm_seeds: 3 };
const GPU: Policy = Policy { can_time: true, ..EMU };

fn seen(
    number: u32,
    verdict: Verdict,
    speedup: Option<f64>,
    confirmed: Option<bool>,
) -> FinishedAttempt {
    FinishedAttempt {
        record: testing::record(number, verdict, usize::from(verdict.is_pass()) * 9, speedup),
        confirmation: confirmed.map(|passed| Confirmation { passed, seeds: Vec::new() }),
        past: None,
    }
}

/// A finished attempt in short: a speedup is a pass, 0 is a wrong output.
fn fast(number: u32, speedup: f64) -> FinishedAttempt {
    if speedup == 0.0 {
        seen(number, Verdict::WrongOutput, None, None)
    } else {
        seen(number, Verdict::Passed, Some(speedup), None)
    }
}

/// Finished attempts numbered from 1.
fn all(speedups: &[f64]) -> Vec<FinishedAttempt> {
    (1..).zip(speedups).map(|(number, speedup)| fast(number, *speedup)).collect()
}

/// The proposals, in short: number, purpose, parents.
fn proposed(step: &Step) -> Vec<(u32, Purpose, Vec<u32>)> {
    let Step::Attempts(proposals) = step else { panic!("{step:?}") };
    proposals.iter().map(|p| (p.number, p.purpose, p.parents.clone())).collect()
}
