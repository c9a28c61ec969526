//! Seeds of evaluations: secret and fresh, or derived from `--seed`.

use kgen_record::AttemptId;
use rand::{TryRngCore, rngs::OsRng};
use sha2::{Digest, Sha256};

/// Returns the seed of one evaluation of an attempt.
///
/// `judgement` is 0 for the attempt's own evaluation and counts its confirmations from 1. Without
/// a seed of the run it comes from the operating system, and nobody knows it before it is stored
/// with the evaluation.
///
/// # Errors
///
/// When the operating system has no entropy.
pub(super) fn evaluation_seed(
    run_seed: Option<u64>,
    attempt: &AttemptId,
    judgement: u32,
) -> Result<u64, rand::rand_core::OsError> {
    let Some(run_seed) = run_seed else { return fresh() };
    let mut hasher = Sha256::new();
    hasher.update(run_seed.to_le_bytes());
    hasher.update(judgement.to_le_bytes());
    hasher.update(attempt.to_string());
    let hash = hasher.finalize();
    let (first, _) = hash.split_first_chunk().expect("a SHA-256 has 32 bytes");
    Ok(u64::from_le_bytes(*first) & SEED_BITS)
}

/// Bits of a seed that kgen draws: `--seed` and TOML take integers of 64 bits with a sign.
const SEED_BITS: u64 = i64::MAX.cast_unsigned();

/// Returns a seed from the operating system that `--seed` can repeat.
///
/// # Errors
///
/// When the operating system has no entropy.
pub fn fresh() -> Result<u64, rand::rand_core::OsError> {
    Ok(OsRng.try_next_u64()? & SEED_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_record::OpKey;

    #[test]
    fn a_given_seed_repeats_and_every_evaluation_has_its_own() {
        let attempt = |op: &str, number| AttemptId { op: OpKey(op.to_owned()), number };
        let seed = |run, attempt, judgement| evaluation_seed(run, &attempt, judgement).unwrap();
        let first = seed(Some(1), attempt("relu", 1), 0);
        assert_eq!(first, seed(Some(1), attempt("relu", 1), 0));
        for other in [
            seed(Some(2), attempt("relu", 1), 0),
            seed(Some(1), attempt("relu", 2), 0),
            seed(Some(1), attempt("add", 1), 0),
            seed(Some(1), attempt("relu", 1), 1),
            seed(None, attempt("relu", 1), 0),
        ] {
            assert!(i64::try_from(other).is_ok(), "--seed takes {other}");
            assert_ne!(first, other);
        }
    }
}
