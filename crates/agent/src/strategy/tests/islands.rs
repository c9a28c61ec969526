//! A toy of evolution with islands: tests that it fits the trait.

use super::*;

/// Two islands that go on without waiting for each other. Every third generation has two parents:
/// the island's best attempt, and that of the other island, which must have come so far.
#[derive(Debug)]
pub(super) struct Islands;

const ISLANDS: u32 = 2;

impl Strategy for Islands {
    fn next(&self, seen: &[FinishedAttempt], policy: &Policy) -> Step {
        if !seen.is_empty() && policy.max_attempts <= u32::try_from(seen.len()).unwrap() {
            return close(seen, policy);
        }
        let next = (0..ISLANDS).filter_map(|island| proposal(seen, island));
        let next: Vec<_> = next.filter(|p| p.number <= policy.max_attempts).collect();
        if next.is_empty() { close(seen, policy) } else { Step::Attempts(next) }
    }
}

fn of(seen: &[FinishedAttempt], island: u32) -> Vec<&FinishedAttempt> {
    seen.iter().filter(|seen| (seen.number() - 1) % ISLANDS == island).collect()
}

fn proposal(seen: &[FinishedAttempt], island: u32) -> Option<Proposal> {
    let own = of(seen, island);
    let n_own = u32::try_from(own.len()).unwrap();
    let mut knows: Vec<_> = own.iter().map(|seen| seen.number()).collect();
    let mut parents = Vec::new();
    if n_own > 0 && n_own.is_multiple_of(3) {
        let abroad = of(seen, 1 - island);
        let abroad = abroad.get(..own.len())?;
        knows.extend(abroad.iter().map(|seen| seen.number()));
        knows.sort_unstable();
        parents.extend(abroad.iter().max_by(|a, b| better(a, b)).map(|seen| seen.number()));
    }
    parents.extend(own.iter().max_by(|a, b| better(a, b)).map(|seen| seen.number()));
    Some(Proposal {
        number: n_own * ISLANDS + island + 1,
        round: n_own + 1,
        branch: island + 1,
        branches: ISLANDS,
        purpose: if parents.is_empty() { Purpose::Initial } else { Purpose::Improve },
        parents,
        knows,
        plans_after: Vec::new(),
    })
}

#[test]
fn islands_go_on_by_themselves_and_meet_where_they_cross() {
    let history = all(&[1.0, 0.0, 1.2, 0.0, 1.1]);
    // The first island is three generations ahead of nobody; the second does not wait for it.
    let history: Vec<_> = history.into_iter().filter(|seen| seen.number() != 4).collect();
    assert_eq!(
        proposed(&Islands.next(&history, &Policy { max_attempts: 12, ..GPU })),
        [(4, Purpose::Improve, vec![2])]
    );
    let history = all(&[1.0, 0.0, 1.2, 0.0, 1.1, 1.5]);
    assert_eq!(
        proposed(&Islands.next(&history, &Policy { max_attempts: 12, ..GPU })),
        [(7, Purpose::Improve, vec![6, 3]), (8, Purpose::Improve, vec![3, 6]),]
    );
}
