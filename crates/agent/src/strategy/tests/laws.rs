//! Invariants of every strategy, over many orders in which attempts come to their ends.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{islands::Islands, *};

fn outcome(world: u64, number: u32) -> FinishedAttempt {
    let mut rng = ChaCha8Rng::seed_from_u64(world << 32 | u64::from(number));
    if rng.random_bool(0.4) { fast(number, 0.0) } else { fast(number, rng.random_range(0.5..2.2)) }
}

fn finished(seen: &[FinishedAttempt], number: u32) -> bool {
    seen.iter().any(|seen| seen.number() == number)
}

/// Runs a search, attempts finishing in an order drawn from `order`; returns the proposals and the
/// end.
fn search(
    strategy: &dyn Strategy,
    policy: &Policy,
    world: u64,
    order: u64,
) -> (BTreeMap<u32, Proposal>, Vec<FinishedAttempt>, Ending) {
    let mut rng = ChaCha8Rng::seed_from_u64(order);
    let mut seen: Vec<FinishedAttempt> = Vec::new();
    let (mut proposed, mut under_way) = (BTreeMap::new(), BTreeMap::new());
    loop {
        match strategy.next(&seen, policy) {
            Step::Attempts(proposals) => {
                for (number, proposal) in &under_way {
                    assert!(proposals.contains(proposal), "{number} is dropped: {proposals:?}");
                }
                for proposal in &proposals {
                    assert!((1..=policy.max_attempts).contains(&proposal.number));
                    assert!(proposal.parents.iter().all(|p| proposal.knows.contains(p)));
                    // Whoever is waited for is at work or finished, so nobody waits for ever.
                    let is_known = |n: &u32| {
                        *n < proposal.number
                            && (finished(&seen, *n)
                                || under_way.contains_key(n)
                                || proposals.iter().any(|p| p.number == *n))
                    };
                    assert!(proposal.plans_after.iter().all(is_known));
                    assert!(proposal.knows.iter().all(|n| finished(&seen, *n)));
                    assert!(!finished(&seen, proposal.number));
                    proposed.insert(proposal.number, proposal.clone());
                    under_way.insert(proposal.number, proposal.clone());
                }
                let index = rng.random_range(0..under_way.len());
                let number = *under_way.keys().nth(index).unwrap();
                under_way.remove(&number);
                seen.push(outcome(world, number));
                seen.sort_by_key(FinishedAttempt::number);
            }
            Step::Confirm { number } => {
                assert!(under_way.is_empty(), "{under_way:?}");
                let winner = seen.iter_mut().find(|seen| seen.number() == number).unwrap();
                assert!(winner.confirmation.is_none());
                let passed = !number.is_multiple_of(3);
                winner.confirmation = Some(Confirmation { passed, seeds: Vec::new() });
            }
            Step::Done(ending) => {
                assert!(under_way.is_empty(), "{under_way:?}");
                return (proposed, seen, ending);
            }
        }
    }
}

fn strategies() -> Vec<Box<dyn Strategy>> {
    let all = kgen_record::Strategy::ALL.map(|strategy| {
        Search { strategy, samples: 4, width: 3, depth: 4, planner: true }.strategy()
    });
    all.into_iter().chain([Box::new(Islands) as Box<dyn Strategy>]).collect()
}

#[test]
fn the_order_in_which_attempts_end_decides_nothing() {
    for strategy in strategies() {
        for max_attempts in [0, 1, 2, 5, 12] {
            let policy = Policy { max_attempts, ..GPU };
            for world in 0..12 {
                let first = search(&*strategy, &policy, world, 0);
                for order in 1..12 {
                    let other = search(&*strategy, &policy, world, order);
                    assert_eq!(first, other, "{strategy:?}, world {world}, order {order}");
                }
            }
        }
    }
}

#[test]
fn a_search_uses_what_it_is_given_and_ends_with_a_confirmed_winner() {
    for strategy in strategies() {
        let policy = Policy { max_attempts: 12, target_speedup: 100.0, ..GPU };
        for world in 0..12 {
            let (proposed, seen, ending) = search(&*strategy, &policy, world, world);
            assert_eq!((proposed.len(), ending), (12, Ending::AttemptsSpent), "{strategy:?}");
            let winner = winner(&seen).unwrap();
            let confirmed = winner.confirmation.as_ref().is_some_and(|c| c.passed);
            assert!(!winner.passed() || confirmed, "{strategy:?}, world {world}");
        }
    }
}
