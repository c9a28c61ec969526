//! Several independent attempts, and the best of them refined.

use super::{FinishedAttempt, Policy, Proposal, Purpose, Step, Strategy, repair::one_more, winner};

/// Makes the first attempts all at once, from the same prompt, then goes on from the best of them
/// one by one.
#[derive(Debug)]
pub(super) struct BestOf {
    /// Attempts of the first round.
    pub(super) samples: u32,
}

impl Strategy for BestOf {
    fn next(&self, seen: &[FinishedAttempt], policy: &Policy) -> Step {
        let samples = self.samples.min(policy.max_attempts);
        let missing: Vec<_> = (1..=samples)
            .filter(|number| seen.iter().all(|seen| seen.number() != *number))
            .map(sample)
            .collect();
        if !missing.is_empty() {
            return Step::Attempts(missing);
        }
        let latest = seen.last().map_or(0, FinishedAttempt::number);
        // The best sample is refined, whichever it is; from then on its descendants.
        let last = if latest <= samples {
            winner(seen).map_or(0, FinishedAttempt::number)
        } else {
            latest
        };
        one_more(seen, policy, last, latest + 1, latest.saturating_sub(samples) + 2)
    }
}

/// A sample knows of no other: their prompts are equal, and only the model's randomness
/// distinguishes them.
fn sample(number: u32) -> Proposal {
    Proposal {
        number,
        round: 1,
        branch: number,
        branches: 1,
        purpose: Purpose::Initial,
        parents: Vec::new(),
        knows: Vec::new(),
        plans_after: Vec::new(),
    }
}
