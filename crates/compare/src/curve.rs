//! How an arm learns: its results after so many attempts at each op.

use crate::{
    data::Op,
    resample::{Column, Draws, count},
    summary::CurvePoint,
    view::{Against, OpSamples, OverheadOnly, Sample, View},
};

/// Points up to which every number of attempts has its own.
const DENSE: usize = 32;

/// Returns a point per number of attempts, up to the most that any op had; beyond [`DENSE`], by
/// steps of a tenth.
pub(crate) fn curve<'a>(
    view: &View<'a>,
    primary: Option<&'a str>,
    overhead: &OverheadOnly<'a>,
    draws: &Draws,
) -> Vec<CurvePoint> {
    let longest = view.samples().map(|sample| sample.op.attempts.len()).max().unwrap_or(0);
    let priced = view.samples().all(|sample| sample.op.spend().cost().is_some());
    let paid = view.samples().any(|sample| sample.op.spend().is_paid());
    // Times of different GPUs have no mean.
    let against = primary.map(|name| view.against_one(name)).filter(|found| found.len() == 1);
    let against = against.and_then(|found| found.first().copied());
    let point = |attempts: usize| {
        let correct = view.ops.iter().map(|op| op.mean(|sample| Some(solved(sample.op, attempts))));
        let speeds = against.map(|against| Speeds { against, overhead, attempts });
        let usd = view.samples().map(|sample| usd(sample.op, attempts)).sum::<f64>();
        CurvePoint {
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
            correct: draws.share(&Column::of_means(correct)),
            fast_1: speeds.and_then(|speeds| {
                draws.share(&Column::of_means(view.ops.iter().map(|op| speeds.fast(op))))
            }),
            geomean: speeds.and_then(|speeds| {
                let logs = view.ops.iter().map(|op| speeds.log(op));
                draws.mean(&Column::of_means(logs), f64::exp)
            }),
            usd: (priced && paid).then(|| usd / count(view.samples().count())),
        }
    };
    steps(longest).into_iter().map(point).collect()
}

fn steps(longest: usize) -> Vec<usize> {
    let mut steps = Vec::new();
    let mut at = 1;
    while at < longest {
        steps.push(at);
        at += if at < DENSE { 1 } else { at / 10 };
    }
    if longest > 0 {
        steps.push(longest);
    }
    steps
}

fn solved(op: &Op, attempts: usize) -> f64 {
    let passed = op.attempts.iter().take(attempts).any(|attempt| attempt.passed);
    f64::from(u8::from(passed))
}

fn usd(op: &Op, attempts: usize) -> f64 {
    op.attempts.iter().take(attempts).filter_map(|attempt| attempt.spend.cost()).sum()
}

/// The speedups after so many attempts.
#[derive(Clone, Copy)]
struct Speeds<'a, 'b> {
    against: Against<'a>,
    overhead: &'b OverheadOnly<'a>,
    attempts: usize,
}

impl<'a> Speeds<'a, '_> {
    /// The best speedup of a sample so far; `None` where it has no measured right kernel.
    fn best(&self, sample: &Sample<'a>) -> Option<f64> {
        let passed = sample.op.attempts.iter().take(self.attempts).filter(|a| a.passed);
        let speedups = passed.flat_map(|attempt| &attempt.speedups);
        let of_baseline = speedups.filter(|speedup| speedup.baseline == self.against.baseline);
        of_baseline.filter_map(|speedup| speedup.long).filter(|f| *f > 0.0).max_by(f64::total_cmp)
    }

    fn samples<'s>(
        &self,
        op: &'s OpSamples<'a>,
    ) -> impl Iterator<Item = &'s Sample<'a>> + use<'a, 's> {
        let Self { against, overhead, .. } = *self;
        let left_out = overhead.contains(&(op.name, against));
        op.samples.iter().filter(move |sample| !left_out && sample.is_about(&against))
    }

    fn fast(&self, op: &OpSamples<'a>) -> Option<f64> {
        let fast = |sample: &Sample<'a>| {
            let best = self.best(sample);
            // Right and not measured is neither fast nor slow.
            let unmeasured = best.is_none() && solved(sample.op, self.attempts) > 0.0;
            (!unmeasured).then(|| f64::from(u8::from(best.is_some_and(|best| best > 1.0))))
        };
        crate::view::mean(&self.samples(op).filter_map(fast).collect::<Vec<f64>>())
    }

    fn log(&self, op: &OpSamples<'a>) -> Option<f64> {
        let logs = self.samples(op).filter_map(|sample| Some(self.best(sample)?.ln()));
        crate::view::mean(&logs.collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn long_curves_have_few_points_and_their_last_one() {
        assert_eq!(steps(0), Vec::<usize>::new());
        assert_eq!(steps(3), [1, 2, 3]);
        let many = steps(1000);
        assert!(many.len() < 75 && many.last() == Some(&1000) && many[30] == 31, "{many:?}");
        assert!(many.is_sorted_by(|a, b| a < b));
    }
}
