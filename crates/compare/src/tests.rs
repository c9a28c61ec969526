//! Whole comparisons: by hand, by simulation, and laws that hold for any.

mod coverage;
mod examples;
mod invariants;

use crate::data::{Arm, Attempt, Op, Run, Speedup, Spend};

pub(crate) const GPU: &str = "NVIDIA H200";

/// A speedup over a baseline in cases that launch overhead does not dominate.
pub(crate) fn over(baseline: &str, factor: f64) -> Speedup {
    Speedup {
        baseline: baseline.to_owned(),
        long: Some(factor),
        all: factor,
        n_long: 2,
        n_overhead: 0,
        interval: None,
    }
}

/// An attempt that passed with this speedup over `aten`, or did not pass.
pub(crate) fn attempt(number: u32, speedup: Option<f64>) -> Attempt {
    Attempt {
        number,
        verdict: if speedup.is_some() { "passed" } else { "wrong_output" }.to_owned(),
        passed: speedup.is_some(),
        speedups: speedup.map(|factor| over("aten", factor)).into_iter().collect(),
        spend: Spend { calls: 1, usd: 0.5, ..Spend::default() },
        ..Attempt::default()
    }
}

/// An op of a run on a GPU with these attempts.
pub(crate) fn op(name: &str, attempts: &[Option<f64>]) -> Op {
    let attempts: Vec<Attempt> =
        (1..).zip(attempts).map(|(number, speedup)| attempt(number, *speedup)).collect();
    let factor = |attempt: &Attempt| attempt.speedups.first().and_then(|s| s.long);
    let passed = attempts.iter().filter(|attempt| attempt.passed);
    let best = passed.max_by(|a, b| factor(a).unwrap_or(0.0).total_cmp(&factor(b).unwrap_or(0.0)));
    Op {
        name: name.to_owned(),
        best: best.or(attempts.last()).map(|attempt| attempt.number),
        solved: best.is_some(),
        confirmed: best.is_some(),
        gpu: best.map(|_| GPU.to_owned()),
        speedups: best.map_or_else(Vec::new, |best| best.speedups.clone()),
        attempts,
        ..Op::default()
    }
}

/// A finished run on a GPU, timed against `aten`.
pub(crate) fn run(id: &str, ops: Vec<Op>) -> Run {
    Run {
        id: id.to_owned(),
        device: GPU.to_owned(),
        finished: true,
        baselines: vec!["aten".to_owned()],
        ops,
        ..Run::default()
    }
}

pub(crate) fn arm(name: &str, runs: Vec<Run>) -> Arm {
    Arm { name: name.to_owned(), facts: Vec::new(), runs }
}

pub(crate) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}
