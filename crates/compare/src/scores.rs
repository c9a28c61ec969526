//! The numbers that a suite of problems is scored by, of one sample per problem and against one baseline.
//!
//! Source: `fast_p` of `KernelBench` (arXiv 2502.10517): the share of all problems that are
//! solved correctly and with a speedup above `p`; `fast_0` is the share that is correct.

use crate::{
    resample::{Column, Draws},
    summary::{Estimate, Fast},
};

/// Factors `p` of `fast_p`; that of 0 is the share of correct problems.
pub const THRESHOLDS: [f64; 4] = [0.0, 1.0, 1.5, 2.0];

/// The outcome of one problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Whether it is solved.
    pub correct: bool,
    /// Its speedup; `None` where it is not solved or was not measured.
    pub speedup: Option<f64>,
}

/// The scores of some problems, each with a 95 % interval from resampling them.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// `fast_p`, one entry per factor of [`THRESHOLDS`]: a share of all problems, so that one that is not
    /// solved, or was not measured, is not fast.
    pub fast: Vec<Fast>,
    /// Geometric mean of the speedups there are.
    pub geomean: Option<Estimate>,
    /// Their median.
    pub median: Option<Estimate>,
}

/// Scores problems.
#[must_use]
pub fn scores(outcomes: &[Outcome]) -> Scores {
    let draws = Draws::new(outcomes.len());
    let speedup = |outcome: &Outcome| outcome.speedup.filter(|_| outcome.correct);
    let speedups: Vec<Option<f64>> = outcomes.iter().map(speedup).collect();
    let fast = |p: f64| {
        let is_fast = |outcome: &Outcome| match speedup(outcome) {
            _ if p <= 0.0 => outcome.correct,
            factor => factor.is_some_and(|factor| factor > p),
        };
        let shares = outcomes.iter().map(|outcome| Some(f64::from(u8::from(is_fast(outcome)))));
        Fast { p, share: draws.share(&Column::of_means(shares)) }
    };
    let logs = speedups.iter().map(|speedup| speedup.map(f64::ln));
    Scores {
        fast: THRESHOLDS.map(fast).to_vec(),
        geomean: draws.mean(&Column::of_means(logs), f64::exp),
        median: draws.median(&speedups),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three times as fast, as fast, half as fast, correct without a time, and wrong.
    fn outcomes() -> Vec<Outcome> {
        let solved = |speedup| Outcome { correct: true, speedup };
        let wrong = Outcome { correct: false, speedup: Some(9.0) };
        let mut outcomes = vec![solved(Some(3.0)), solved(Some(1.0)), solved(Some(0.5))];
        outcomes.extend([solved(None), wrong]);
        outcomes
    }

    #[test]
    fn fast_p_is_a_share_of_all_problems() {
        let scores = scores(&outcomes());
        let shares = scores.fast.iter().map(|fast| fast.share.unwrap().value);
        // fast_1 is of more than p: as fast is not faster.
        assert_eq!(shares.collect::<Vec<_>>(), [0.8, 0.2, 0.2, 0.2]);
        assert!(scores.fast.iter().all(|fast| fast.share.unwrap().n_ops == 5));
        let geomean = scores.geomean.unwrap();
        assert!((geomean.value - 1.5_f64.cbrt()).abs() < 1e-12 && geomean.n_ops == 3);
        assert!((scores.median.unwrap().value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn five_problems_have_intervals_and_four_have_none() {
        let all = outcomes();
        let [low, high] = scores(&all).fast[0].share.unwrap().interval().unwrap();
        assert!((0.0..0.8).contains(&low) && 0.8 < high && high <= 1.0, "{low} {high}");
        assert_eq!(scores(&all[..4]).fast[0].share.unwrap().interval(), None);
        let none = scores(&[]);
        assert_eq!((none.fast[0].share, none.geomean, none.median), (None, None, None));
    }
}
