//! How fast an arm's kernels are.

use crate::{
    resample::{Column, Draws},
    summary::{FACTORS, Fast, Speed, Speeds},
    view::{Against, Cases, Found, OpSamples, OverheadOnly, Share, View, mean},
};

/// Sums up the speedups of an arm, one entry per baseline and GPU.
pub(crate) fn speeds<'a>(
    view: &View<'a>,
    baselines: &'a [String],
    overhead: &OverheadOnly<'a>,
    draws: &Draws,
) -> Vec<Speeds> {
    let one = |against: &Against<'a>| Speeds {
        baseline: against.baseline.to_owned(),
        gpu: against.gpu.map(str::to_owned),
        long: speed(view, against, Cases::Long, overhead, draws),
        all: speed(view, against, Cases::All, overhead, draws),
    };
    view.against(baselines).iter().map(one).collect()
}

fn speed<'a>(
    view: &View<'a>,
    against: &Against<'a>,
    cases: Cases,
    overhead: &OverheadOnly<'a>,
    draws: &Draws,
) -> Speed {
    let logs: Vec<Option<f64>> =
        view.ops.iter().map(|op| mean_log(op, against, cases, overhead)).collect();
    let fast = |p: f64| {
        let share = |op| share_above(op, against, cases, overhead, p).map(Share::value);
        let shares = view.ops.iter().map(share);
        Fast { p, share: draws.share(&Column::of_means(shares)) }
    };
    let factors: Vec<Option<f64>> = logs.iter().map(|log| log.map(f64::exp)).collect();
    let names = view.ops.iter().map(|op| op.name.to_owned());
    let mut ops: Vec<(String, f64)> =
        names.zip(&factors).filter_map(|(name, factor)| Some((name, (*factor)?))).collect();
    ops.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    let unmeasured = view.ops.iter().map(|op| {
        found(op, against, cases, overhead).filter(|found| *found == Found::Unmeasured).count()
    });
    Speed {
        fast: FACTORS.map(fast).to_vec(),
        geomean: draws.mean(&Column::of_means(logs.into_iter()), f64::exp),
        median: draws.median(&factors),
        ops,
        n_unmeasured: unmeasured.sum(),
    }
}

/// Returns the share of an op's samples that are right and more than `p` times as fast; `None` where
/// none says anything about it.
pub(crate) fn share_above<'a>(
    op: &OpSamples<'a>,
    against: &Against<'a>,
    cases: Cases,
    overhead: &OverheadOnly<'a>,
    p: f64,
) -> Option<Share> {
    let fast = found(op, against, cases, overhead).filter_map(|found| match found {
        Found::Unsolved => Some(false),
        Found::Factor(factor) => Some(factor > p),
        Found::Unmeasured => None,
    });
    Share::of(fast)
}

/// Returns the mean logarithm of an op's speedups.
pub(crate) fn mean_log<'a>(
    op: &OpSamples<'a>,
    against: &Against<'a>,
    cases: Cases,
    overhead: &OverheadOnly<'a>,
) -> Option<f64> {
    let logs = found(op, against, cases, overhead).filter_map(Found::log);
    mean(&logs.collect::<Vec<f64>>())
}

/// The speedups of the samples of an op; nothing where launch overhead is all that the op is.
fn found<'s, 'a>(
    op: &'s OpSamples<'a>,
    against: &'s Against<'a>,
    cases: Cases,
    overhead: &OverheadOnly<'a>,
) -> impl Iterator<Item = Found> + use<'s, 'a> {
    let counts = cases == Cases::All || !overhead.contains(&(op.name, *against));
    let samples = op.samples.iter().filter(move |sample| counts && sample.is_about(against));
    samples.map(move |sample| sample.found(against.baseline, cases))
}
