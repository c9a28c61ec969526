//! The strategy that makes one attempt after the other.

use super::*;

fn next_step(seen: &[FinishedAttempt], policy: &Policy) -> Step {
    Repair.next(seen, policy)
}

fn attempt(number: u32, purpose: Purpose, parents: &[u32]) -> Step {
    Step::Attempts(vec![Proposal {
        number,
        round: number,
        branch: 1,
        branches: 1,
        purpose,
        parents: parents.to_vec(),
        knows: (1..number).collect(),
        plans_after: Vec::new(),
    }])
}

#[test]
fn it_repairs_the_last_attempt_until_one_passes() {
    use Verdict::{CompileError, Passed, WrongOutput};
    let first = seen(1, CompileError, None, None);
    let second = seen(2, WrongOutput, None, None);
    let third = seen(3, Passed, None, None);
    let history = [first, second, third];
    assert_eq!(next_step(&[], &EMU), attempt(1, Purpose::Initial, &[]));
    assert_eq!(next_step(&history[..1], &EMU), attempt(2, Purpose::Repair, &[1]));
    assert_eq!(next_step(&history[..2], &EMU), attempt(3, Purpose::Repair, &[2]));
    assert_eq!(next_step(&history, &EMU), Step::Confirm { number: 3 });
    let spent = Policy { max_attempts: 2, ..EMU };
    assert_eq!(next_step(&history[..2], &spent), Step::Done(Ending::AttemptsSpent));
    let none = Policy { max_attempts: 0, ..EMU };
    assert_eq!(next_step(&[], &none), Step::Done(Ending::AttemptsSpent));
}

#[test]
fn the_first_confirmed_pass_ends_it_where_nothing_is_timed() {
    let passed = seen(1, Verdict::Passed, None, Some(true));
    assert_eq!(next_step(&[passed], &EMU), Step::Done(Ending::Solved));
    let unconfirmed = seen(1, Verdict::Passed, None, None);
    let without = Policy { confirm_seeds: 0, ..EMU };
    assert_eq!(next_step(&[unconfirmed], &without), Step::Done(Ending::Solved));
}

#[test]
fn it_improves_the_best_until_the_target_or_the_end() {
    let slow = seen(1, Verdict::Passed, Some(1.5), None);
    let slower = seen(2, Verdict::Passed, Some(1.2), None);
    let history = [slow, slower];
    assert_eq!(next_step(&history[..1], &GPU), attempt(2, Purpose::Improve, &[1]));
    assert_eq!(next_step(&history, &GPU), attempt(3, Purpose::Improve, &[1, 2]));
    let wrong = seen(3, Verdict::WrongOutput, None, None);
    let history = [history[0].clone(), history[1].clone(), wrong];
    assert_eq!(next_step(&history, &GPU), Step::Confirm { number: 1 });
    let fast = seen(1, Verdict::Passed, Some(2.0), Some(true));
    assert_eq!(next_step(&[fast], &GPU), Step::Done(Ending::Solved));
}

#[test]
fn a_winner_that_fails_its_confirmation_makes_room_for_the_next_best() {
    let fast = seen(1, Verdict::Passed, Some(3.0), Some(false));
    let slow = seen(2, Verdict::Passed, Some(1.5), None);
    let history = [fast.clone(), slow];
    assert_eq!(next_step(&history, &GPU), attempt(3, Purpose::Improve, &[2]));
    let spent = Policy { max_attempts: 2, ..GPU };
    assert_eq!(next_step(&history, &spent), Step::Confirm { number: 2 });
    // Alone it is not a pass any more, so it is repaired.
    assert_eq!(next_step(&[fast], &GPU), attempt(2, Purpose::Repair, &[1]));
}
