//! One arm summed up.

use crate::{
    curve,
    data::Spend,
    resample::{Column, Draws},
    speed,
    summary::{ArmSummary, Estimate, Marks},
    view::{OverheadOnly, View},
};

/// Sums an arm up. `letter`: its name in tables; `baselines`: of the whole comparison, the primary one first.
pub(crate) fn summarise<'a>(
    letter: String,
    view: &View<'a>,
    baselines: &'a [String],
    overhead: &OverheadOnly<'a>,
) -> ArmSummary {
    let draws = Draws::new(view.ops.len());
    let mut devices: Vec<String> = view.arm.runs.iter().map(|run| run.device.clone()).collect();
    devices.sort();
    devices.dedup();
    let mut marks = Marks::default();
    view.samples().for_each(|sample| marks.add(&sample.marks()));
    let solved = |solved: bool| Some(f64::from(u8::from(solved)));
    let correct = view.ops.iter().map(|op| op.mean(|sample| solved(sample.op.solved)));
    let spends: Vec<Spend> = view.samples().map(|sample| sample.op.spend()).collect();
    let spend = Spend::sum(&spends);
    ArmSummary {
        letter,
        name: view.arm.name.clone(),
        facts: view.arm.facts.clone(),
        runs: view.arm.runs.iter().map(|run| run.id.clone()).collect(),
        devices,
        marks,
        n_ops: view.ops.len(),
        n_samples: view.samples().count(),
        n_solved: view.samples().filter(|sample| sample.op.solved).count(),
        n_attempts: view.samples().map(|sample| sample.op.attempts.len()).sum(),
        correct: draws.share(&Column::of_means(correct)),
        attempts_to_correct: attempts_to_correct(view, &draws),
        cost_per_solved: cost_per_solved(view, &spend, &draws),
        spend,
        speeds: speed::speeds(view, baselines, overhead, &draws),
        curve: curve::curve(view, baselines.first().map(String::as_str), overhead, &draws),
    }
}

fn attempts_to_correct(view: &View<'_>, draws: &Draws) -> Option<Estimate> {
    let first = |op: &crate::Op| op.attempts_to_correct().map(crate::resample::count);
    let means = view.ops.iter().map(|op| op.mean(|sample| first(sample.op)));
    draws.mean(&Column::of_means(means), |mean| mean)
}

/// The cost of an average sample over the share that is solved. Nobody was paid: no cost.
fn cost_per_solved(view: &View<'_>, spend: &Spend, draws: &Draws) -> Option<Estimate> {
    spend.cost().filter(|_| spend.is_paid())?;
    let mut column = Column::default();
    for op in &view.ops {
        let solved = |sample: &crate::view::Sample<'_>| f64::from(u8::from(sample.op.solved));
        column.above.extend(op.mean(|sample| sample.op.spend().cost()));
        column.below.extend(op.mean(|sample| Some(solved(sample))));
    }
    let estimate = draws.mean(&column, |cost| cost)?;
    // Ops that are not solved carry the cost as much as those that are.
    Some(Estimate { n_ops: view.ops.len(), ..estimate })
}
