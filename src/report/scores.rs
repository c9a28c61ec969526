//! A run in the terms of `KernelBench`: `fast_p`, geometric mean and median of the speedups.

use std::{cmp::Reverse, collections::BTreeSet};

use kgen_compare::{Estimate, Fast, Outcome, Scores, scores};
use kgen_record::Flag;
use serde::Serialize;

use super::{
    TextTable,
    summary::{OpSummary, Summary},
    text::NOT_MEASURED,
};

/// The speedup of a run over one baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanSpeedup {
    pub baseline: String,
    /// Name of the GPU, where the run's ops were judged on GPUs of several names: times of
    /// different GPUs are never averaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Geometric mean over the ops.
    pub geomean: f64,
    /// Its 95 % interval; `None` with too few ops.
    pub interval: Option<[f64; 2]>,
    /// Median over the ops.
    pub median: f64,
    /// Its 95 % interval; `None` with too few ops.
    pub median_interval: Option<[f64; 2]>,
    /// Ops that it is the mean of: those that passed and were timed against this baseline in a case
    /// that launch overhead does not dominate.
    pub ops: usize,
}

/// Shares of a run's ops that are fast.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FastShares {
    pub baseline: String,
    /// `fast_p` for some `p`: shares of all ops. One that did not pass, or that has no speedup over this
    /// baseline in a case that launch overhead does not dominate, is not fast.
    pub shares: Vec<Fast>,
    /// Ops that have such a speedup.
    pub n_timed: usize,
}

/// Returns the speedup of an op that may stand in a headline: none where the result does not depend on
/// the inputs.
fn headline(op: &OpSummary, baseline: &str) -> Option<f64> {
    if op.flags.contains(&Flag::Degenerate) {
        return None;
    }
    let speedup = op.speedup_over(baseline).filter(|speedup| speedup.is_headline());
    speedup.map(|speedup| speedup.geomean)
}

/// Scores ops; the speedups of those that are left out are none.
fn scores_of(ops: &[OpSummary], baseline: &str, is_on: impl Fn(&OpSummary) -> bool) -> Scores {
    let outcome = |op: &OpSummary| Outcome {
        correct: op.passed(),
        speedup: headline(op, baseline).filter(|_| is_on(op)),
    };
    scores(&ops.iter().map(outcome).collect::<Vec<_>>())
}

/// Returns the share of ops that passed.
pub(super) fn correct(ops: &[OpSummary]) -> Option<Estimate> {
    scores_of(ops, "", |_| true).fast.first()?.share
}

/// Returns the shares of fast ops, an entry per baseline that any op was timed against.
pub(super) fn fast_shares(ops: &[OpSummary]) -> Vec<FastShares> {
    let shares = |name: &str| {
        let found = scores_of(ops, name, |_| true);
        let n_timed = found.geomean?.n_ops;
        Some(FastShares { baseline: name.to_owned(), shares: found.fast, n_timed })
    };
    baselines(ops).into_iter().filter_map(shares).collect()
}

/// Returns a mean per baseline, and per name of a GPU where there are several.
pub(super) fn mean_speedups(ops: &[OpSummary]) -> Vec<MeanSpeedup> {
    let name = |op: &OpSummary| op.gpu.as_ref().map(|gpu| gpu.name.clone());
    let timed = ops.iter().filter(|op| !op.speedups.is_empty());
    let gpus: BTreeSet<Option<String>> = timed.map(name).collect();
    if gpus.len() < 2 {
        return mean_speedups_on(ops, |_| true);
    }
    let on = |gpu: Option<String>| {
        let means = mean_speedups_on(ops, |op| name(op) == gpu);
        means.into_iter().map(move |mean| MeanSpeedup { gpu: gpu.clone(), ..mean })
    };
    gpus.into_iter().flat_map(on).collect()
}

/// Returns a mean per baseline over some of the ops.
pub(super) fn mean_speedups_on(
    ops: &[OpSummary],
    is_on: impl Fn(&OpSummary) -> bool,
) -> Vec<MeanSpeedup> {
    let mean = |name: &str| {
        let Scores { geomean, median, .. } = scores_of(ops, name, &is_on);
        let (geomean, median) = (geomean?, median?);
        Some(MeanSpeedup {
            baseline: name.to_owned(),
            gpu: None,
            geomean: geomean.value,
            interval: geomean.interval(),
            median: median.value,
            median_interval: median.interval(),
            ops: geomean.n_ops,
        })
    };
    baselines(ops).into_iter().filter_map(mean).collect()
}

/// Returns the baselines of some ops; the primary one, which is first, is that of most ops.
fn baselines(ops: &[OpSummary]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for speedup in ops.iter().flat_map(|op| &op.speedups) {
        if !names.contains(&speedup.baseline.as_str()) {
            names.push(&speedup.baseline);
        }
    }
    let n_primary = |name: &str| {
        let primary = ops.iter().filter_map(OpSummary::speedup);
        primary.filter(|speedup| speedup.baseline == name).count()
    };
    names.sort_by_key(|name| Reverse(n_primary(name)));
    names
}

/// Returns the table of scores, a row per baseline; `None` where nothing was timed.
#[must_use]
pub fn score_table(summary: &Summary) -> Option<TextTable> {
    let first = summary.fast.first()?;
    let mut headers = vec!["over".to_owned()];
    headers.extend(first.shares.iter().map(|fast| format!("fast_{}", fast.p)));
    headers.extend(["geomean", "median", ">ops timed"].map(str::to_owned));
    let mut table = TextTable::new(&headers.iter().map(String::as_str).collect::<Vec<_>>());
    for FastShares { baseline, shares, n_timed } in &summary.fast {
        let means = || summary.speedups.iter().filter(|mean| mean.baseline == *baseline);
        let share = |fast: &Fast| {
            let share = fast.share?;
            Some(number(share.value, share.interval(), ""))
        };
        let shares = shares.iter().map(share);
        let mut cells = vec![baseline.clone()];
        cells.extend(shares.map(|share| share.unwrap_or_else(|| NOT_MEASURED.to_owned())));
        let geomean = |mean: &MeanSpeedup| number(mean.geomean, mean.interval, "x") + &on(mean);
        let median =
            |mean: &MeanSpeedup| number(mean.median, mean.median_interval, "x") + &on(mean);
        cells.push(means().map(geomean).collect::<Vec<_>>().join("; "));
        cells.push(means().map(median).collect::<Vec<_>>().join("; "));
        cells.push(format!("{n_timed}/{}", summary.ops.len()));
        table.row(cells);
    }
    Some(table)
}

fn on(mean: &MeanSpeedup) -> String {
    mean.gpu.as_ref().map_or_else(String::new, |gpu| format!(" on {gpu}"))
}

fn number(value: f64, interval: Option<[f64; 2]>, unit: &str) -> String {
    let interval = interval.map(|[low, high]| format!(" [{low:.2}, {high:.2}]"));
    format!("{value:.2}{unit}{}", interval.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use kgen_record::{Speedup, Verdict};

    use super::*;
    use crate::report::summary::unstarted;

    fn op(name: &str, speedup: f64, flags: Vec<Flag>) -> OpSummary {
        let speedups = vec![Speedup::new("aten", speedup, 1)];
        OpSummary { verdict: Some(Verdict::Passed), speedups, flags, ..unstarted(name) }
    }

    #[test]
    fn a_degenerate_problem_is_correct_and_in_no_mean() {
        let mut ops = vec![op("a", 2.0, Vec::new()), op("b", 8.0, vec![Flag::Throttled])];
        assert!((mean_speedups(&ops)[0].geomean - 4.0).abs() < 1e-12);
        ops.push(op("c", 1000.0, vec![Flag::Degenerate]));
        let means = mean_speedups(&ops);
        assert!((means[0].geomean - 4.0).abs() < 1e-12 && means[0].ops == 2, "{means:?}");
        let shares = &fast_shares(&ops)[0];
        let share = |at: usize| shares.shares[at].share.as_ref().unwrap().value;
        assert!((share(0) - 1.0).abs() < 1e-12, "all are correct");
        assert!((share(1) - 2.0 / 3.0).abs() < 1e-12, "two of three are faster");
    }
}
