//! Arms seen by op: every sample of an op together.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    data::{Arm, Op, Run, Speedup},
    summary::Marks,
};

/// One op in one run.
#[derive(Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) run: &'a Run,
    pub(crate) op: &'a Op,
}

/// All samples of one op in one arm.
pub(crate) struct OpSamples<'a> {
    pub(crate) name: &'a str,
    pub(crate) samples: Vec<Sample<'a>>,
}

/// One arm by op, the ops by name.
pub(crate) struct View<'a> {
    pub(crate) arm: &'a Arm,
    pub(crate) ops: Vec<OpSamples<'a>>,
}

/// Which of an op's cases a speedup is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cases {
    /// Those that launch overhead does not dominate.
    Long,
    /// All that were timed.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Against<'a> {
    pub(crate) baseline: &'a str,
    pub(crate) gpu: Option<&'a str>,
}

/// Ops that have no case but those that launch overhead dominates, with the subject of the speedup. It
/// is a property of the op and its baseline, so it is decided over all arms.
pub(crate) type OverheadOnly<'a> = BTreeSet<(&'a str, Against<'a>)>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Found {
    /// It is not solved: slower than anything.
    Unsolved,
    /// Solved and measured.
    Factor(f64),
    /// Solved, and not measured against this.
    Unmeasured,
}

impl Found {
    /// Returns the logarithm of a speedup; `None` where there is none.
    pub(crate) fn log(self) -> Option<f64> {
        match self {
            Self::Factor(factor) => Some(factor.ln()),
            Self::Unsolved | Self::Unmeasured => None,
        }
    }
}

/// A share of samples as a fraction, so that sums of shares can be exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) part: i64,
    /// At least 1.
    pub(crate) whole: i64,
}

impl Share {
    /// Returns the share that is so; `None` of nothing.
    pub(crate) fn of(samples: impl Iterator<Item = bool>) -> Option<Self> {
        let (mut part, mut whole) = (0, 0);
        for is_so in samples {
            part += i64::from(is_so);
            whole += 1;
        }
        (whole > 0).then_some(Self { part, whole })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of samples are small")]
    pub(crate) fn value(self) -> f64 {
        self.part as f64 / self.whole as f64
    }
}

impl<'a> Sample<'a> {
    /// The GPU that it is about: the one that judged it, else that of the run.
    pub(crate) fn gpu(&self) -> Option<&'a str> {
        let device = (!self.run.emulated).then_some(self.run.device.as_str());
        self.op.gpu.as_deref().or(device)
    }

    /// Returns whether it was, or would have been, timed against this.
    pub(crate) fn is_about(&self, against: &Against<'_>) -> bool {
        self.gpu() == against.gpu && self.run.baselines.iter().any(|name| name == against.baseline)
    }

    pub(crate) fn found(&self, baseline: &str, cases: Cases) -> Found {
        if !self.op.solved {
            return Found::Unsolved;
        }
        let factor = self.op.speedup(baseline).and_then(|speedup| match cases {
            Cases::Long => speedup.long,
            Cases::All => Some(speedup.all),
        });
        factor.filter(|f| f.is_finite() && *f > 0.0).map_or(Found::Unmeasured, Found::Factor)
    }

    pub(crate) fn marks(&self) -> Marks {
        let flag = usize::from;
        let best = self.op.best_attempt();
        let of_best = |is: fn(&crate::Attempt) -> bool| flag(best.is_some_and(is));
        Marks {
            of: 1,
            emulator_only: flag(self.op.reached() && self.op.gpu.is_none() && self.run.emulated),
            replayed: of_best(|attempt| attempt.replayed),
            cached: of_best(|attempt| attempt.cached),
            reused_evaluations: of_best(|attempt| attempt.reused_evaluation),
            unconfirmed: flag(self.op.solved && !self.op.confirmed),
            not_reached: flag(!self.op.reached()),
        }
    }
}

impl<'a> OpSamples<'a> {
    /// The mean over the samples that have a value; `None` where none has.
    pub(crate) fn mean(&self, of: impl Fn(&Sample<'a>) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.samples.iter().filter_map(of).collect();
        mean(&values)
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(arm: &'a Arm) -> Self {
        let mut ops: BTreeMap<&str, Vec<Sample<'a>>> = BTreeMap::new();
        for run in &arm.runs {
            for op in &run.ops {
                ops.entry(&op.name).or_default().push(Sample { run, op });
            }
        }
        let ops = ops.into_iter().map(|(name, samples)| OpSamples { name, samples });
        Self { arm, ops: ops.collect() }
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = &Sample<'a>> {
        self.ops.iter().flat_map(|op| &op.samples)
    }

    pub(crate) fn op(&self, name: &str) -> Option<&OpSamples<'a>> {
        let found = self.ops.binary_search_by(|op| op.name.cmp(name));
        found.ok().map(|at| &self.ops[at])
    }

    /// The subjects of its speedups: baselines in the order given, GPUs by name.
    pub(crate) fn against(&self, baselines: &'a [String]) -> Vec<Against<'a>> {
        baselines.iter().flat_map(|baseline| self.against_one(baseline)).collect()
    }

    /// The subjects of its speedups over one baseline: an entry per GPU.
    pub(crate) fn against_one(&self, baseline: &'a str) -> Vec<Against<'a>> {
        let about = |sample: &&Sample<'a>| sample.run.baselines.iter().any(|name| name == baseline);
        let gpus: BTreeSet<Option<&'a str>> =
            self.samples().filter(about).map(Sample::gpu).collect();
        gpus.into_iter().map(|gpu| Against { baseline, gpu }).collect()
    }
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    let n = crate::resample::count(values.len());
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / n)
}

/// Finds the ops that have nothing but overhead.
pub(crate) fn overhead_only<'a>(views: &[View<'a>], baselines: &'a [String]) -> OverheadOnly<'a> {
    let mut only = OverheadOnly::new();
    let mut not = OverheadOnly::new();
    for sample in views.iter().flat_map(View::samples) {
        for baseline in baselines {
            let key = (sample.op.name.as_str(), Against { baseline, gpu: sample.gpu() });
            match sample.op.speedup(baseline) {
                Some(Speedup { n_long: 0, n_overhead: 1.., .. }) => only.insert(key),
                Some(_) => not.insert(key),
                None => false,
            };
        }
    }
    &only - &not
}
