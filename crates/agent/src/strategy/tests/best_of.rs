//! The strategy that samples first and refines then.

use super::*;

const FOUR: BestOf = BestOf { samples: 4 };
const SIX: Policy = Policy { max_attempts: 6, ..GPU };

#[test]
fn the_samples_are_made_at_once_and_know_of_nothing() {
    let Step::Attempts(samples) = FOUR.next(&[], &SIX) else { panic!("nothing is proposed") };
    let places: Vec<_> = samples.iter().map(|p| (p.number, p.round, p.branch)).collect();
    assert_eq!(places, [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4)]);
    assert!(samples.iter().all(|p| p.knows.is_empty() && p.parents.is_empty()));
    // A finished attempt is not made again, and changes nothing for the others: not even a kernel
    // that is good enough ends the round early.
    let Step::Attempts(rest) = FOUR.next(&[fast(1, 1.0), fast(3, 9.0)], &SIX) else {
        panic!("nothing is proposed")
    };
    assert_eq!(rest, [samples[1].clone(), samples[3].clone()]);
}

#[test]
fn the_best_sample_is_refined_and_then_what_comes_of_it() {
    use Purpose::{Improve, Repair};
    let history = all(&[1.0, 1.5, 0.0, 1.2, 0.0]);
    assert_eq!(proposed(&FOUR.next(&history[..4], &SIX)), [(5, Improve, vec![2])]);
    assert_eq!(proposed(&FOUR.next(&history, &SIX)), [(6, Improve, vec![2, 5])]);
    let Step::Attempts(refined) = FOUR.next(&history, &SIX) else { panic!("nothing is proposed") };
    assert_eq!((refined[0].round, refined[0].branch), (3, 1));
    assert_eq!(refined[0].knows, [1, 2, 3, 4, 5]);
    // Without a right one the most promising is repaired.
    let mut wrong = all(&[0.0; 4]);
    wrong[2].record.counts.passed = 5;
    assert_eq!(proposed(&FOUR.next(&wrong, &SIX)), [(5, Repair, vec![3])]);
}

#[test]
fn it_ends_like_a_repair() {
    let good = all(&[1.0, 2.5, 0.0, 1.2]);
    assert_eq!(FOUR.next(&good, &SIX), Step::Confirm { number: 2 });
    let spent = all(&[1.0, 1.5, 0.0, 1.2, 0.0, 0.0]);
    assert_eq!(FOUR.next(&spent, &SIX), Step::Confirm { number: 2 });
    let none = Policy { max_attempts: 0, ..GPU };
    assert_eq!(FOUR.next(&[], &none), Step::Done(Ending::AttemptsSpent));
    // A winner that fails its confirmation makes room for the next best.
    let mut demoted = good;
    demoted[1] = seen(2, Verdict::Passed, Some(2.5), Some(false));
    assert_eq!(proposed(&FOUR.next(&demoted, &SIX)), [(5, Purpose::Improve, vec![4])]);
}

#[test]
fn the_cap_on_attempts_is_a_cap_on_samples_too() {
    assert_eq!(proposed(&FOUR.next(&[], &GPU)).len(), 3);
    assert_eq!(FOUR.next(&all(&[1.0, 0.0, 0.0]), &GPU), Step::Confirm { number: 1 });
}
