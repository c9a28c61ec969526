//! Search strategies: the next step of an op, a pure rule over its finished attempts.
//!
//! A [`Strategy`] gets which attempts are finished and answers which ones are to be at work.
//! It does not get which of these were begun, nor in which order the finished ones came to their
//! ends, so a resumed run decides as the interrupted one would have, and a replayed one as the
//! recorded one did. Three things follow, and the tests hold every strategy to them: numbers
//! belong to places in the search, so that attempts made at once never get the same one; an attempt
//! that was proposed stays proposed until it is finished; and the part of the history in its prompt
//! ([`Proposal::knows`]) is part of the proposal, not whatever happens to be finished when it
//! begins.

mod beam;
mod best_of;
mod repair;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use beam::Beam;
use best_of::BestOf;
use kgen_prompt::HistoryEntry;
use kgen_record::Verdict;
use kgen_store::{AttemptRecord, Confirmation, Purpose, best, effective_verdict, rank};
use repair::Repair;

/// A way to search for a kernel.
pub(super) trait Strategy: Debug + Send + Sync {
    /// Decides the next step; `seen` is in the order of the numbers.
    fn next(&self, seen: &[FinishedAttempt], policy: &Policy) -> Step;
}

/// How kernels are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    pub strategy: kgen_record::Strategy,
    /// Attempts of `best-of` that are made at once, at least 1.
    pub samples: u32,
    /// Branches of `beam`, at least 1.
    pub width: u32,
    /// Rounds of `beam`, at least 1.
    pub depth: u32,
    /// Whether an attempt with a parent is planned by a call of its own before it is written.
    pub planner: bool,
}

impl Search {
    /// One attempt after the other, without a planner.
    #[must_use]
    pub const fn repair() -> Self {
        let strategy = kgen_record::Strategy::Repair;
        Self { strategy, samples: 1, width: 1, depth: 1, planner: false }
    }

    /// Returns the strategy as set up.
    pub(super) fn strategy(self) -> Box<dyn Strategy> {
        match self.strategy {
            kgen_record::Strategy::Repair => Box::new(Repair),
            kgen_record::Strategy::BestOf => Box::new(BestOf { samples: self.samples.max(1) }),
            kgen_record::Strategy::Beam => {
                Box::new(Beam { width: self.width.max(1), depth: self.depth.max(1) })
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Attempts at most, whatever the strategy.
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
pub(super) struct FinishedAttempt {
    pub(super) record: AttemptRecord,
    pub(super) confirmation: Option<Confirmation>,
    /// Its line in the history that a prompt shows; read from the store where it is missing.
    pub(super) past: Option<HistoryEntry>,
}

impl FinishedAttempt {
    /// Returns the verdict that counts.
    pub(super) fn verdict(&self) -> Verdict {
        effective_verdict(&self.record, self.confirmation.as_ref())
    }

    pub(super) const fn number(&self) -> u32 {
        self.record.attempt
    }

    fn passed(&self) -> bool {
        self.verdict().is_pass()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// These attempts, at once; those that were begun go on.
    Attempts(Vec<Proposal>),
    /// Judge the winner again.
    Confirm { number: u32 },
    /// Nothing: the op is over.
    Done(Ending),
}

/// An attempt that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) number: u32,
    /// Round of the search, from 1.
    pub(super) round: u32,
    /// Its place among the attempts of its round, from 1.
    pub(super) branch: u32,
    /// Branches of the search that each are to go their own way; 1 where there is but one.
    pub(super) branches: u32,
    pub(super) purpose: Purpose,
    /// The attempts whose kernels the prompt shows: the one to be mended or improved is the last,
    /// before it stands the best one that it is measured by, where that is another.
    pub(super) parents: Vec<u32>,
    /// The finished attempts that its prompts speak of.
    pub(super) knows: Vec<u32>,
    /// Attempts of other branches that are planned before it, if they are planned: its prompt names
    /// their changes.
    pub(super) plans_after: Vec<u32>,
}

/// Why an op is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A kernel is correct, and either fast enough or on a device that cannot time.
    Solved,
    AttemptsSpent,
}

/// Returns the best attempt by the store's rule.
pub(super) fn winner(seen: &[FinishedAttempt]) -> Option<&FinishedAttempt> {
    let number = best(seen.iter().map(|seen| (&seen.record, seen.confirmation.as_ref())))?.attempt;
    seen.iter().find(|seen| seen.number() == number)
}

/// Ends the search with the attempts there are: the winner is judged again before it is reported.
pub(super) fn close(seen: &[FinishedAttempt], policy: &Policy) -> Step {
    let winner = winner(seen).filter(|winner| winner.passed());
    match winner {
        Some(winner) if winner.confirmation.is_none() && 0 < policy.confirm_seeds => {
            Step::Confirm { number: winner.number() }
        }
        Some(winner) if is_good_enough(&winner.record, policy) => Step::Done(Ending::Solved),
        Some(_) | None => Step::Done(Ending::AttemptsSpent),
    }
}

/// Returns whether the winner is all that was asked for.
fn is_solved(seen: &[FinishedAttempt], policy: &Policy) -> bool {
    winner(seen).is_some_and(|winner| winner.passed() && is_good_enough(&winner.record, policy))
}

fn is_good_enough(record: &AttemptRecord, policy: &Policy) -> bool {
    // Where nothing was measured there is nothing that could be improved.
    let Some(speedup) = &record.speedup else { return true };
    !policy.can_time || policy.target_speedup <= speedup.geomean
}

/// Returns the purpose and the parents of an attempt that goes on from `last`, where `best` is
/// the best attempt of the line of attempts that it stands in.
fn going_on(best: &FinishedAttempt, last: u32) -> (Purpose, Vec<u32>) {
    if !best.passed() {
        return (Purpose::Repair, vec![last]);
    }
    let mut parents = vec![best.number(), last];
    parents.dedup();
    (Purpose::Improve, parents)
}

/// Compares two attempts; the greater is the better.
fn better(a: &FinishedAttempt, b: &FinishedAttempt) -> std::cmp::Ordering {
    rank((&a.record, a.verdict()), (&b.record, b.verdict()))
}

fn numbers(seen: &[FinishedAttempt]) -> Vec<u32> {
    seen.iter().map(FinishedAttempt::number).collect()
}
