//! The pooled rule: rounding over all cases of a dtype.

use kgen_record::{CaseOutcome, CaseResult, DType, Finding, InputDistribution, Level, Verdict};

use super::{builder::EvaluationBuilder, compare::RoundingStats};

/// Rounding statistics of the main distribution, per dtype.
#[derive(Default)]
pub(super) struct RoundingPools(Vec<RoundingPool>);

/// Rounding statistics of one dtype.
struct RoundingPool {
    dtype: DType,
    stats: RoundingStats,
    /// Index of the case with most misrounded elements, and their number.
    worst: (usize, u64),
}

impl RoundingPools {
    /// Adds a case that passed by the bound.
    ///
    /// Other distributions than the main one round specially chosen values, and a case that failed has
    /// said what is wrong already.
    pub(super) fn add(&mut self, index: usize, result: &CaseResult, stats: RoundingStats) {
        let counts = result.distribution == InputDistribution::Normal
            && result.outcome == CaseOutcome::Judged(Verdict::Passed)
            && stats.n > 0;
        if !counts {
            return;
        }
        match self.0.iter_mut().find(|pool| pool.dtype == result.dtype) {
            Some(pool) => {
                pool.stats.add(stats);
                if stats.n_misrounded > pool.worst.1 {
                    pool.worst = (index, stats.n_misrounded);
                }
            }
            None => self.0.push(RoundingPool {
                dtype: result.dtype,
                stats,
                worst: (index, stats.n_misrounded),
            }),
        }
    }

    /// Fails the worst case of each dtype whose pooled rounding is off.
    pub(super) fn judge(&self, draft: &mut EvaluationBuilder<'_>, level: Level) {
        for pool in &self.0 {
            let Some(complaint) = pool.stats.complaint() else { continue };
            let index = pool.worst.0;
            let mut result = draft.evaluation().cases[index].clone();
            result.outcome = CaseOutcome::Judged(Verdict::WrongOutput);
            result.level = level;
            let message = format!("over all {} cases of normal values: {complaint}", pool.dtype);
            result.findings.push(Finding::new(message));
            draft.case_done(index, result);
        }
    }
}
