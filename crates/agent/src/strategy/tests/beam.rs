//! The strategy with several branches.

use Purpose::{Improve, Initial, Repair};

use super::*;

const TWO: Beam = Beam { width: 2, depth: 3 };
const MANY: Policy = Policy { max_attempts: 100, ..GPU };

#[test]
fn rounds_are_whole_and_numbers_belong_to_places() {
    let Step::Attempts(first) = TWO.next(&[], &MANY) else { panic!("nothing is proposed") };
    let places: Vec<_> = first.iter().map(|p| (p.number, p.round, p.branch, p.branches)).collect();
    assert_eq!(places, [(1, 1, 1, 2), (2, 1, 2, 2)]);
    assert_eq!(proposed(&TWO.next(&all(&[9.0]), &MANY)), [(2, Initial, vec![])]);
    let third = TWO.next(&all(&[1.0, 1.1, 1.2, 1.3]), &MANY);
    let Step::Attempts(third) = third else { panic!("nothing is proposed") };
    let places: Vec<_> = third.iter().map(|p| (p.number, p.round, p.branch)).collect();
    assert_eq!(places, [(5, 3, 1), (6, 3, 2)]);
    // Branches are planned one after the other.
    assert_eq!([&third[0].plans_after, &third[1].plans_after], [&vec![], &vec![5]]);
    assert!(third.iter().all(|p| p.knows == [1, 2, 3, 4]));
    // The result of a sibling changes nothing for the other.
    let half = TWO.next(&all(&[1.0, 1.1, 1.2, 1.3, 9.0]), &MANY);
    assert_eq!(half, Step::Attempts(vec![third[1].clone()]));
}

#[test]
fn a_branch_that_gets_anywhere_keeps_its_best() {
    let step = TWO.next(&all(&[1.0, 1.5]), &MANY);
    assert_eq!(proposed(&step), [(3, Improve, vec![1]), (4, Improve, vec![2])]);
    // The last one of a branch is mended beside its best, however slow the branch is.
    let step = TWO.next(&all(&[1.0, 1.5, 0.0, 1.8]), &MANY);
    assert_eq!(proposed(&step), [(5, Improve, vec![1, 3]), (6, Improve, vec![4])]);
}

#[test]
fn a_branch_that_fails_is_repaired_once_and_then_given_away() {
    let step = TWO.next(&all(&[1.0, 0.0]), &MANY);
    assert_eq!(proposed(&step), [(3, Improve, vec![1]), (4, Repair, vec![2])]);
    let step = TWO.next(&all(&[1.0, 0.0, 1.2, 0.0]), &MANY);
    assert_eq!(proposed(&step), [(5, Improve, vec![3]), (6, Improve, vec![1])]);
    let step = TWO.next(&all(&[0.0, 0.0, 0.0, 0.0]), &MANY);
    assert_eq!(proposed(&step), [(5, Repair, vec![3]), (6, Repair, vec![4])]);
}

#[test]
fn equal_kernels_are_one_parent() {
    let mut history = all(&[1.5, 1.5, 1.2, 0.0]);
    history[1].record.duplicate_of = Some(1);
    let step = TWO.next(&history, &MANY);
    assert_eq!(proposed(&step), [(5, Improve, vec![1, 3]), (6, Improve, vec![3])]);
    let step = TWO.next(&history[..2], &MANY);
    assert_eq!(proposed(&step), [(3, Improve, vec![1]), (4, Improve, vec![1])]);
}

#[test]
fn it_ends_with_a_round_that_solves_it_the_depth_or_the_cap() {
    assert_eq!(TWO.next(&all(&[1.0, 2.5]), &MANY), Step::Confirm { number: 2 });
    let deep = all(&[1.0, 1.5, 0.0, 0.0, 0.0, 1.4]);
    assert_eq!(TWO.next(&deep, &MANY), Step::Confirm { number: 2 });
    assert_eq!(TWO.next(&all(&[0.0; 6]), &MANY), Step::Done(Ending::AttemptsSpent));
    // The last round has only as many attempts as there are left.
    assert_eq!(proposed(&TWO.next(&all(&[1.0, 1.5]), &GPU)), [(3, Improve, vec![1])]);
    assert_eq!(TWO.next(&all(&[1.0, 1.5, 0.0]), &GPU), Step::Confirm { number: 2 });
    // On a device that cannot time the first pass is all that is wanted.
    let emu = Policy { can_time: false, ..MANY };
    assert_eq!(TWO.next(&all(&[0.0, 1.5]), &emu), Step::Confirm { number: 2 });
}
