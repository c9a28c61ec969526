//! A run in the terms of `KernelBench`: `fast_p`, geometric mean and median of the speedups.

use std::{cmp::Reverse, collections::BTreeSet};

use kgen_compare::{Estimate, Fast, Outcome, Scores, scores};
use kgen_record::{Flag, LibraryUse};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    TextTable,
    digits::factor,
    summary::{OpSummary, Summary},
    text::NOT_MEASURED,
};

/// The speedup of a run over one baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeanSpeedup {
    pub baseline: String,
    /// Name of the GPU, where the run's ops were judged on GPUs of several names: times of
    /// different GPUs are never averaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// The kind of plans, where any of the run calls libraries: kinds are never averaged together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_use: Option<LibraryUse>,
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FastShares {
    pub baseline: String,
    /// The kind of plans, where any of the run calls libraries; an op with the other kind is not fast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_use: Option<LibraryUse>,
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

/// Scores ops; those that are left out are not correct and have no speedup.
fn scores_of(ops: &[OpSummary], baseline: &str, counts: impl Fn(&OpSummary) -> bool) -> Scores {
    let outcome = |op: &OpSummary| Outcome {
        correct: op.passed() && counts(op),
        speedup: headline(op, baseline).filter(|_| counts(op)),
    };
    scores(&ops.iter().map(outcome).collect::<Vec<_>>())
}

/// The ops that may be scored together: all, or those whose plans are of one kind.
type Set = Option<LibraryUse>;

fn is_in(set: Set, op: &OpSummary) -> bool {
    set.is_none_or(|kind| (kind == LibraryUse::WithLibrary) == op.with_library())
}

/// Returns each baseline with each set of ops: two where any plan calls libraries, whose results are never
/// averaged with others.
fn sets(ops: &[OpSummary]) -> Vec<(&str, Set)> {
    let kinds: &[Set] = if ops.iter().any(OpSummary::with_library) {
        &[Some(LibraryUse::DeviceOnly), Some(LibraryUse::WithLibrary)]
    } else {
        &[None]
    };
    let names = baselines(ops).into_iter();
    names.flat_map(|name| kinds.iter().map(move |kind| (name, *kind))).collect()
}

/// Returns the share of ops that passed.
pub(super) fn correct(ops: &[OpSummary]) -> Option<Estimate> {
    scores_of(ops, "", |_| true).fast.first()?.share
}

/// Returns the shares of fast ops, an entry per baseline that any op was timed against and per kind of plan.
pub(super) fn fast_shares(ops: &[OpSummary]) -> Vec<FastShares> {
    let shares = |(name, library_use): (&str, Set)| {
        let found = scores_of(ops, name, |op| is_in(library_use, op));
        let (baseline, n_timed) = (name.to_owned(), found.geomean?.n_ops);
        Some(FastShares { baseline, library_use, shares: found.fast, n_timed })
    };
    sets(ops).into_iter().filter_map(shares).collect()
}

/// Returns a mean per baseline and kind of plan, and per name of a GPU where there are several.
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

/// Returns a mean per baseline and kind of plan over some of the ops.
pub(super) fn mean_speedups_on(
    ops: &[OpSummary],
    is_on: impl Fn(&OpSummary) -> bool,
) -> Vec<MeanSpeedup> {
    let mean = |(name, library_use): (&str, Set)| {
        let counts = |op: &OpSummary| is_on(op) && is_in(library_use, op);
        let Scores { geomean, median, .. } = scores_of(ops, name, counts);
        let (geomean, median) = (geomean?, median?);
        Some(MeanSpeedup {
            baseline: name.to_owned(),
            gpu: None,
            library_use,
            geomean: geomean.value,
            interval: geomean.interval(),
            median: median.value,
            median_interval: median.interval(),
            ops: geomean.n_ops,
        })
    };
    sets(ops).into_iter().filter_map(mean).collect()
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

/// Returns the table of scores, a row per baseline and kind of plan; `None` where nothing was timed.
#[must_use]
pub fn score_table(summary: &Summary) -> Option<TextTable> {
    let first = summary.fast.first()?;
    let mut headers = vec!["over".to_owned()];
    headers.extend(first.shares.iter().map(|fast| format!("fast_{}", fast.p)));
    headers.extend(["geomean", "median", ">ops timed"].map(str::to_owned));
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let fast = headers.iter().copied().filter(|header| header.starts_with("fast_")).rev();
    let yielding: Vec<_> = fast.chain(["median"]).map(|header| (header, 0)).collect();
    let mut table = TextTable::new(&headers).yielding(&yielding);
    for FastShares { baseline, library_use, shares, n_timed } in &summary.fast {
        let of_row =
            |mean: &&MeanSpeedup| mean.baseline == *baseline && mean.library_use == *library_use;
        let means = || summary.speedups.iter().filter(of_row);
        let share = |fast: &Fast| {
            let share = fast.share?;
            Some(number(share.value, share.interval(), ""))
        };
        let shares = shares.iter().map(share);
        let kind = library_use.map_or_else(String::new, |kind| format!(", {}", kind.name()));
        let mut cells = vec![format!("{baseline}{kind}")];
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

fn digits(value: f64) -> String {
    // A share of nothing is no small number.
    if value == 0.0 { "0.00".to_owned() } else { factor(value) }
}

fn number(value: f64, interval: Option<[f64; 2]>, unit: &str) -> String {
    let interval = interval.map(|[low, high]| format!(" [{}, {}]", digits(low), digits(high)));
    format!("{}{unit}{}", digits(value), interval.unwrap_or_default())
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
    fn plans_that_call_libraries_are_in_no_mean_with_others() {
        let of =
            |name, speedup, kind| OpSummary { library_use: kind, ..op(name, speedup, Vec::new()) };
        let (device, library) = (Some(LibraryUse::DeviceOnly), Some(LibraryUse::WithLibrary));
        let mut ops = vec![of("a", 2.0, device), of("b", 8.0, device), of("c", 0.5, None)];
        assert_eq!(mean_speedups(&ops)[0].library_use, None);
        assert_eq!(mean_speedups(&ops).len(), 1);
        ops.extend([of("d", 100.0, library), of("e", 1.0, library)]);
        let means = mean_speedups(&ops);
        let means = means.iter().map(|m| (m.library_use, (m.geomean * 1e9).round() / 1e9, m.ops));
        let means: Vec<_> = means.collect();
        assert_eq!(means, [(device, 2.0, 3), (library, 10.0, 2)]);
        let shares = fast_shares(&ops);
        let row = |at: usize| {
            let FastShares { library_use, shares, n_timed, .. } = &shares[at];
            let values: Vec<f64> = shares.iter().map(|fast| fast.share.unwrap().value).collect();
            (*library_use, *n_timed, values)
        };
        // Shares of all five ops: correct, and more than 1, 1.5 and 2 times as fast.
        assert_eq!(row(0), (device, 3, vec![0.6, 0.4, 0.4, 0.2]));
        assert_eq!(row(1), (library, 2, vec![0.4, 0.2, 0.2, 0.2]));
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
