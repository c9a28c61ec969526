//! One attempt after the other.

use super::{
    FinishedAttempt, Policy, Proposal, Purpose, Step, Strategy, close, going_on, is_solved,
    numbers, winner,
};

/// Repairs until a kernel is correct; then, where time can be measured, improves the best one
/// until it is fast enough or the attempts are spent.
#[derive(Debug)]
pub(super) struct Repair;

impl Strategy for Repair {
    fn next(&self, seen: &[FinishedAttempt], policy: &Policy) -> Step {
        let last = seen.last().map_or(0, FinishedAttempt::number);
        one_more(seen, policy, last, last + 1, last + 1)
    }
}

/// Makes one attempt that goes on from `last`, unless the search is over.
pub(super) fn one_more(
    seen: &[FinishedAttempt],
    policy: &Policy,
    last: u32,
    number: u32,
    round: u32,
) -> Step {
    if policy.max_attempts < number || is_solved(seen, policy) {
        return close(seen, policy);
    }
    let (purpose, parents) = match winner(seen) {
        Some(best) => going_on(best, last),
        None => (Purpose::Initial, Vec::new()),
    };
    let (knows, plans_after) = (numbers(seen), Vec::new());
    Step::Attempts(vec![Proposal {
        number,
        round,
        branch: 1,
        branches: 1,
        purpose,
        parents,
        knows,
        plans_after,
    }])
}
