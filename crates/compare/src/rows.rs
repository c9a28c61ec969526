//! One row per op, one cell per arm.

use std::collections::BTreeMap;

use crate::{
    data::Spend,
    summary::{Marks, OpCell, OpRow, OpSpeedup},
    view::{Against, Cases, OpSamples, Sample, View, mean},
};

/// Makes a row per op that any arm was asked for, by name.
pub(crate) fn rows(views: &[View<'_>], baselines: &[String]) -> Vec<OpRow> {
    let mut rows: BTreeMap<&str, Vec<Option<OpCell>>> = BTreeMap::new();
    for (at, view) in views.iter().enumerate() {
        for op in &view.ops {
            let cells = rows.entry(op.name).or_insert_with(|| vec![None; views.len()]);
            cells[at] = Some(cell(op, baselines));
        }
    }
    rows.into_iter().map(|(op, cells)| OpRow { op: op.to_owned(), cells }).collect()
}

fn cell(op: &OpSamples<'_>, baselines: &[String]) -> OpCell {
    let mut marks = Marks::default();
    op.samples.iter().for_each(|sample| marks.add(&sample.marks()));
    let first = |sample: &Sample<'_>| sample.op.attempts_to_correct().map(crate::resample::count);
    let spends: Vec<Spend> = op.samples.iter().map(|sample| sample.op.spend()).collect();
    OpCell {
        marks,
        n_solved: op.samples.iter().filter(|sample| sample.op.solved).count(),
        n_attempts: op.samples.iter().map(|sample| sample.op.attempts.len()).sum(),
        attempts_to_correct: op.mean(first),
        speedups: baselines.iter().flat_map(|baseline| speedups(op, baseline)).collect(),
        spend: Spend::sum(&spends),
        failure: failure(op),
        best_run: best_run(op, baselines),
    }
}

fn speedups(op: &OpSamples<'_>, baseline: &str) -> Vec<OpSpeedup> {
    let mut gpus: Vec<Option<&str>> = op.samples.iter().map(Sample::gpu).collect();
    gpus.sort_unstable();
    gpus.dedup();
    let on = |gpu: Option<&str>| {
        let against = Against { baseline, gpu };
        let logs = |cases: Cases| -> Vec<f64> {
            let about = op.samples.iter().filter(|sample| sample.is_about(&against));
            about.filter_map(|sample| sample.found(baseline, cases).log()).collect()
        };
        let all = logs(Cases::All);
        Some(OpSpeedup {
            baseline: baseline.to_owned(),
            gpu: gpu.map(str::to_owned),
            long: mean(&logs(Cases::Long)).map(f64::exp),
            all: mean(&all)?.exp(),
            n_samples: all.len(),
        })
    };
    gpus.into_iter().filter_map(on).collect()
}

/// The most frequent verdict of the samples that are not solved, the first by name among equals.
fn failure(op: &OpSamples<'_>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for sample in op.samples.iter().filter(|sample| !sample.op.solved) {
        if let Some(best) = sample.op.best_attempt() {
            *counts.entry(&best.verdict).or_default() += 1;
        }
    }
    let most = counts.into_iter().rev().max_by_key(|(_, n)| *n);
    most.map(|(verdict, _)| verdict.to_owned())
}

fn best_run(op: &OpSamples<'_>, baselines: &[String]) -> Option<String> {
    let factor = |sample: &Sample<'_>| {
        let over = |baseline: &String| sample.op.speedup(baseline).map(crate::Speedup::shown);
        baselines.iter().find_map(over).unwrap_or(f64::NEG_INFINITY)
    };
    let solved = op.samples.iter().filter(|sample| sample.op.solved);
    // The last of equal ones is the greatest: in reverse, that is the first.
    let best = solved.rev().max_by(|a, b| factor(a).total_cmp(&factor(b)));
    best.map(|sample| sample.run.id.clone())
}
