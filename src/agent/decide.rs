//! What comes next for an op: a pure rule over its finished attempts.
//!
//! Repair until a kernel is correct; then, where time can be measured, improve the best one until
//! it is fast enough or the attempts are spent; judge the winner again before it is reported. The
//! rule needs nothing but what is stored, so a resumed run decides as the interrupted one would.

use crate::{
    prompt::Past,
    record::Verdict,
    store::{AttemptRecord, Confirmation, Purpose, best, effective_verdict},
};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Attempts at most.
    pub max_attempts: u32,
    /// Speedup at which a correct kernel is good enough.
    pub target_speedup: f64,
    /// Whether correct kernels are timed; otherwise the first pass ends the search.
    pub can_time: bool,
    /// Fresh seeds that the winner is judged with again; 0 leaves that out.
    pub confirm_seeds: u32,
}

/// A finished attempt with its confirmation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) record: AttemptRecord,
    pub(super) confirmation: Option<Confirmation>,
    /// Its line in the history that a prompt shows; read from the store where it is missing.
    pub(super) past: Option<Past>,
}

impl Seen {
    /// Returns the verdict that counts.
    pub(super) fn verdict(&self) -> Verdict {
        effective_verdict(&self.record, self.confirmation.as_ref())
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Make an attempt.
    Attempt {
        number: u32,
        purpose: Purpose,
        /// The attempts whose kernels the prompt shows: the last one, and before it the best one
        /// where there is one to improve.
        parents: Vec<u32>,
    },
    /// Judge the winner again.
    Confirm { number: u32 },
    /// Nothing: the op is over.
    Done(Ending),
}

/// Why an op is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A kernel is correct, and either fast enough or on a device that cannot time.
    Solved,
    /// The attempts are spent.
    AttemptsSpent,
}

/// Returns the best attempt by the store's rule.
pub(super) fn winner(seen: &[Seen]) -> Option<&Seen> {
    let number = best(seen.iter().map(|seen| (&seen.record, seen.confirmation.as_ref())))?.attempt;
    seen.iter().find(|seen| seen.record.attempt == number)
}

/// Decides what comes next.
pub(super) fn next_step(seen: &[Seen], policy: &Policy) -> Step {
    let last = seen.iter().map(|seen| seen.record.attempt).max().unwrap_or(0);
    let number = last + 1;
    let spent = policy.max_attempts < number;
    let Some(winner) = winner(seen) else {
        return if spent {
            Step::Done(Ending::AttemptsSpent)
        } else {
            Step::Attempt { number, purpose: Purpose::Initial, parents: Vec::new() }
        };
    };
    if !winner.verdict().is_pass() {
        if spent {
            return Step::Done(Ending::AttemptsSpent);
        }
        return Step::Attempt { number, purpose: Purpose::Repair, parents: vec![last] };
    }
    let good_enough = is_good_enough(&winner.record, policy);
    if !good_enough && !spent {
        let mut parents = vec![winner.record.attempt, last];
        parents.dedup();
        return Step::Attempt { number, purpose: Purpose::Improve, parents };
    }
    if winner.confirmation.is_none() && 0 < policy.confirm_seeds {
        return Step::Confirm { number: winner.record.attempt };
    }
    Step::Done(if good_enough { Ending::Solved } else { Ending::AttemptsSpent })
}

fn is_good_enough(record: &AttemptRecord, policy: &Policy) -> bool {
    // Where nothing was measured there is nothing that could be improved.
    let Some(speedup) = &record.speedup else { return true };
    !policy.can_time || policy.target_speedup <= speedup.geomean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::test_record;

    const EMU: Policy =
        Policy { max_attempts: 3, target_speedup: 2.0, can_time: false, confirm_seeds: 3 };
    const GPU: Policy = Policy { can_time: true, ..EMU };

    fn seen(number: u32, verdict: Verdict, speedup: Option<f64>, confirmed: Option<bool>) -> Seen {
        Seen {
            record: test_record(number, verdict, usize::from(verdict.is_pass()) * 9, speedup),
            confirmation: confirmed.map(|passed| Confirmation { passed, seeds: Vec::new() }),
            past: None,
        }
    }

    fn attempt(number: u32, purpose: Purpose, parents: &[u32]) -> Step {
        Step::Attempt { number, purpose, parents: parents.to_vec() }
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
}
