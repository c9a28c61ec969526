//! Which attempt is the best: a pure rule over stored data.

use std::cmp::{Ordering, Reverse};

use kgen_record::Verdict;

use super::{AttemptRecord, Confirmation, OpMetadata};

/// Returns the verdict that counts for an attempt.
///
/// A kernel that passed once and failed with a fresh seed did not earn its pass: it is
/// `nondeterministic`.
#[must_use]
pub fn effective_verdict(record: &AttemptRecord, confirmation: Option<&Confirmation>) -> Verdict {
    match confirmation {
        Some(Confirmation { passed: false, .. }) if record.verdict.is_pass() => {
            Verdict::Nondeterministic
        }
        Some(_) | None => record.verdict,
    }
}

/// Compares two attempts; the greater is the better.
///
/// A pass beats everything else; then the larger speedup, a measured one before none; then more
/// passed cases; the earlier attempt wins ties.
#[must_use]
pub fn rank(
    (a, a_verdict): (&AttemptRecord, Verdict),
    (b, b_verdict): (&AttemptRecord, Verdict),
) -> Ordering {
    let speedup = |record: &AttemptRecord| {
        let measured = record.speedup.as_ref().map(|speedup| speedup.geomean);
        measured.filter(|geomean| geomean.is_finite()).unwrap_or(f64::NEG_INFINITY)
    };
    a_verdict
        .is_pass()
        .cmp(&b_verdict.is_pass())
        .then_with(|| speedup(a).total_cmp(&speedup(b)))
        .then_with(|| a.counts.passed.cmp(&b.counts.passed))
        .then_with(|| Reverse(a.attempt).cmp(&Reverse(b.attempt)))
}

/// Returns the best of an op's finished attempts by [`rank`].
#[must_use]
pub fn best<'a>(
    attempts: impl IntoIterator<Item = (&'a AttemptRecord, Option<&'a Confirmation>)>,
) -> Option<&'a AttemptRecord> {
    attempts
        .into_iter()
        .map(|(record, confirmation)| (record, effective_verdict(record, confirmation)))
        .max_by(|a, b| rank(*a, *b))
        .map(|(record, _)| record)
}

/// Derives an op's `metadata.json`.
pub(super) fn metadata(attempts: &[Finished]) -> Option<OpMetadata> {
    let best = best(attempts.iter().map(|a| (&a.record, a.confirmation.as_ref())))?;
    let chosen = attempts.iter().find(|a| a.record.attempt == best.attempt)?;
    let confirmation = chosen.confirmation.as_ref();
    let again = confirmation.filter(|confirmation| confirmation.passed);
    let speedups = again.map_or_else(Vec::new, Confirmation::speedups);
    Some(OpMetadata {
        op: best.op.clone(),
        verdict: effective_verdict(best, confirmation),
        best_attempt: best.attempt,
        best_file: chosen.source.clone(),
        // That of the attempt itself was chosen for being high.
        speedup: speedups.first().cloned().or_else(|| best.speedup.clone()),
        speedups,
        confirmed: confirmation.is_some_and(|confirmation| confirmation.passed),
        attempts: attempts.iter().map(|a| a.record.clone()).collect(),
    })
}

pub(super) struct Finished {
    pub(super) record: AttemptRecord,
    pub(super) confirmation: Option<Confirmation>,
    /// Name of its kernel file or Python module.
    pub(super) source: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    fn check(attempts: &[AttemptRecord], expected: Option<u32>) {
        let found = best(attempts.iter().map(|record| (record, None)));
        assert_eq!(found.map(|record| record.attempt), expected);
    }

    #[test]
    fn the_best_attempt_is_not_the_last_one() {
        use Verdict::{CompileError, Passed, WrongOutput};
        check(&[], None);
        check(&[record(1, CompileError, 0, None), record(2, WrongOutput, 4, None)], Some(2));
        check(&[record(1, Passed, 9, None), record(2, WrongOutput, 8, Some(9.0))], Some(1));
        check(
            &[
                record(1, Passed, 9, Some(1.5)),
                record(2, Passed, 9, Some(2.5)),
                record(3, Passed, 9, Some(2.0)),
            ],
            Some(2),
        );
        check(&[record(1, Passed, 9, None), record(2, Passed, 9, Some(0.5))], Some(2));
        check(&[record(1, Passed, 9, Some(f64::NAN)), record(2, Passed, 9, Some(0.5))], Some(2));
        check(&[record(1, Passed, 9, Some(1.0)), record(2, Passed, 9, Some(1.0))], Some(1));
        check(&[record(1, WrongOutput, 3, None), record(2, WrongOutput, 3, None)], Some(1));
    }

    #[test]
    fn a_winner_that_fails_its_confirmation_is_demoted() {
        let fast = record(1, Verdict::Passed, 9, Some(4.0));
        let slow = record(2, Verdict::Passed, 9, Some(2.0));
        let failed = Confirmation { passed: false, seeds: Vec::new() };
        let attempts = [(&fast, Some(&failed)), (&slow, None)];
        assert_eq!(best(attempts).unwrap().attempt, 2);
        assert_eq!(effective_verdict(&fast, Some(&failed)), Verdict::Nondeterministic);
    }
}
