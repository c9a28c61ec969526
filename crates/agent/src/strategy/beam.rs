//! Several branches that go on side by side.

use super::{
    FinishedAttempt, Policy, Proposal, Purpose, Step, Strategy, better, close, going_on, is_solved,
    numbers,
};

/// Makes `width` attempts at once, round after round. Between two rounds the best attempts so far
/// become the parents of the next.
///
/// A branch keeps its best attempt as long as that is worth more than the offers of other branches
/// spare: the best correct attempt of each branch comes first, then second best correct ones of
/// any branch, then branches without a correct one. So no branch crowds out another that gets
/// anywhere, and one that does not is given to those that do, after it had its chance to repair.
#[derive(Debug)]
pub(super) struct Beam {
    pub(super) width: u32,
    pub(super) depth: u32,
}

impl Strategy for Beam {
    fn next(&self, seen: &[FinishedAttempt], policy: &Policy) -> Step {
        let total = self.width.saturating_mul(self.depth).min(policy.max_attempts);
        let is_missing = |number: &u32| seen.iter().all(|seen| seen.number() != *number);
        let Some(first_missing) = (1..=total).find(is_missing) else { return close(seen, policy) };
        let before = (first_missing - 1) / self.width * self.width;
        let n_before = seen.partition_point(|seen| seen.number() <= before);
        let (known, of_round) = seen.split_at(n_before);
        // A round that was begun is made whole: its attempts are the same in any order.
        if of_round.is_empty() && is_solved(known, policy) {
            return close(seen, policy);
        }
        let parents = self.parents(known);
        let last = before.saturating_add(self.width).min(total);
        let missing = (before + 1..=last).filter(is_missing);
        Step::Attempts(missing.map(|number| self.proposal(number, known, &parents)).collect())
    }
}

impl Beam {
    fn branch(&self, number: u32) -> u32 {
        (number - 1) % self.width + 1
    }

    fn proposal(
        &self,
        number: u32,
        known: &[FinishedAttempt],
        parents: &[(u32, &FinishedAttempt)],
    ) -> Proposal {
        let branch = self.branch(number);
        let best = parents.iter().find(|(of, _)| *of == branch).map(|(_, best)| *best);
        let (purpose, parents) = match best {
            None => (Purpose::Initial, Vec::new()),
            // A branch that stays with its own goes on from its last attempt, as a repair would.
            Some(best) if self.branch(best.number()) == branch => going_on(
                best,
                self.of_branch(known, branch).last().map_or(0, FinishedAttempt::number),
            ),
            Some(best) => going_on(best, best.number()),
        };
        Proposal {
            number,
            round: (number - 1) / self.width + 1,
            branch,
            branches: self.width,
            purpose,
            parents,
            knows: numbers(known),
            plans_after: (number + 1 - branch..number).collect(),
        }
    }

    fn of_branch<'a>(
        &self,
        known: &'a [FinishedAttempt],
        branch: u32,
    ) -> impl Iterator<Item = &'a FinishedAttempt> {
        let width = self.width;
        known.iter().filter(move |seen| (seen.number() - 1) % width + 1 == branch)
    }

    /// Returns the attempt that each branch goes on from; none before the first round.
    fn parents<'a>(&self, known: &'a [FinishedAttempt]) -> Vec<(u32, &'a FinishedAttempt)> {
        let chosen = self.chosen(known);
        let (mut own, mut moved): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for best in chosen {
            let branch = self.branch(best.number());
            if own.iter().any(|(taken, _)| *taken == branch) {
                moved.push(best);
            } else {
                own.push((branch, best));
            }
        }
        let free: Vec<_> =
            (1..=self.width).filter(|b| own.iter().all(|(taken, _)| taken != b)).collect();
        // Where there are fewer than branches, several branches go on from one.
        let all: Vec<_> = moved.into_iter().chain(own.iter().map(|(_, best)| *best)).collect();
        own.extend(free.into_iter().zip(all.into_iter().cycle()));
        own
    }

    /// Returns the best attempts, the best first, at most one per branch of the next round.
    fn chosen<'a>(&self, known: &'a [FinishedAttempt]) -> Vec<&'a FinishedAttempt> {
        let of = |branch| self.of_branch(known, branch);
        let best_pass =
            |branch| of(branch).filter(|seen| seen.passed()).max_by(|a, b| better(a, b));
        let sorted = |mut seen: Vec<&'a FinishedAttempt>| {
            seen.sort_by(|a, b| better(b, a));
            seen
        };
        let firsts = sorted((1..=self.width).filter_map(best_pass).collect());
        let others = sorted(known.iter().filter(|seen| seen.passed()).collect());
        let failing = (1..=self.width).filter(|branch| best_pass(*branch).is_none());
        let failing = sorted(failing.filter_map(|branch| of(branch).last()).collect());
        let mut chosen: Vec<&FinishedAttempt> = Vec::new();
        for candidate in firsts.into_iter().chain(others).chain(failing) {
            if chosen.iter().all(|other| !same_source(other, candidate)) {
                chosen.push(candidate);
            }
        }
        chosen.truncate(usize::try_from(self.width).unwrap_or(usize::MAX));
        chosen
    }
}

fn same_source(a: &FinishedAttempt, b: &FinishedAttempt) -> bool {
    let original = |seen: &FinishedAttempt| seen.record.duplicate_of.unwrap_or(seen.number());
    original(a) == original(b)
}
