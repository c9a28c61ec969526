//! From the times of the cases to speedups, and from those of several processes to one.

use kgen_measure::Measured;

use super::{BaselineTiming, CaseTiming, Speedup, Timing};

/// Returns one entry per baseline that was measured, in the order they were asked for.
///
/// Cases whose baseline is mostly the overhead of its launch stay out of the headline: there any
/// kernel is as fast as any other. Both means are given, and both counts.
#[must_use]
pub fn speedups(timings: &[CaseTiming]) -> Vec<Speedup> {
    let mut names: Vec<&str> = Vec::new();
    for baseline in timings.iter().flat_map(|timing| &timing.baselines) {
        if !names.contains(&baseline.name.as_str()) {
            names.push(&baseline.name);
        }
    }
    names.into_iter().filter_map(|name| against(name, timings)).collect()
}

/// A case that was timed against a baseline.
#[derive(Clone, Copy)]
struct Timed<'a> {
    case: &'a CaseTiming,
    baseline: &'a BaselineTiming,
    /// How often its call is made.
    weight: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of a log are far below 2^53")]
fn against(name: &str, timings: &[CaseTiming]) -> Option<Speedup> {
    let timed = timings.iter().filter_map(|case| {
        let baseline = case.baseline(name).filter(|baseline| baseline.comparison.is_some())?;
        Some(Timed { case, baseline, weight: case.count.unwrap_or(1) as f64 })
    });
    let timed: Vec<Timed<'_>> = timed.collect();
    let mean = |keep: &dyn Fn(&BaselineTiming) -> bool| {
        let kept = timed.iter().filter(|timed| keep(timed.baseline));
        let speedups: Vec<_> =
            kept.filter_map(|timed| Some((timed.baseline.speedup()?, timed.weight))).collect();
        let n = speedups.len();
        (kgen_measure::weighted_geometric_mean(speedups), n)
    };
    let (all, n_all) = mean(&|_| true);
    let (long, n) = mean(&|baseline| !baseline.overhead_dominated);
    Some(Speedup {
        baseline: name.to_owned(),
        geomean: long.or(all)?,
        n,
        n_overhead: n_all - n,
        geomean_all: all.filter(|_| n < n_all),
        total: total(&timed),
        interval: interval(&timed, n),
    })
}

/// Returns the quotient of the times of all calls; `None` where the cases are not those of a log.
fn total(timed: &[Timed<'_>]) -> Option<f64> {
    if timed.iter().any(|timed| timed.case.count.is_none()) {
        return None;
    }
    let times = timed.iter().filter_map(|timed| {
        let candidate = timed.baseline.candidate.as_ref().unwrap_or(&timed.case.candidate);
        let baseline = timed.baseline.timing.as_ref()?;
        Some((timed.weight * baseline.median_us, timed.weight * candidate.median_us))
    });
    let (baseline, candidate) =
        times.fold((0.0, 0.0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
    (candidate > 0.0).then(|| baseline / candidate)
}

/// Returns the geometric means of the lower and of the upper bounds of the cases in the headline.
fn interval(timed: &[Timed<'_>], n_long: usize) -> Option<[f64; 2]> {
    let kept = timed.iter().filter(|timed| n_long == 0 || !timed.baseline.overhead_dominated);
    let bounds: Vec<([f64; 2], f64)> = kept
        .filter_map(|timed| timed.baseline.comparison.map(|found| (found.ci, timed.weight)))
        .collect();
    let mean = |end: usize| {
        kgen_measure::weighted_geometric_mean(bounds.iter().map(|(ci, weight)| (ci[end], *weight)))
    };
    Some([mean(0)?, mean(1)?])
}

/// Joins the measurements of several processes on one GPU: the cases that all of them timed in the same
/// way, each baseline that all of them measured by [`Measured::across`].
///
/// The description of the case and its GPU is that of the first process.
#[must_use]
pub fn across(parts: &[&[CaseTiming]]) -> Vec<CaseTiming> {
    let Some(first) = parts.first() else { return Vec::new() };
    let of_all = |case: &CaseTiming| {
        let same = |other: &&CaseTiming| other.case == case.case && other.mode == case.mode;
        let found = parts.iter().map(|part| part.iter().find(same));
        found.collect::<Option<Vec<&CaseTiming>>>().and_then(|cases| join(&cases))
    };
    first.iter().filter_map(of_all).collect()
}

fn join(cases: &[&CaseTiming]) -> Option<CaseTiming> {
    let first = cases.first()?;
    let mut joined = CaseTiming { baselines: Vec::new(), ..(*first).clone() };
    let samples = cases.iter().flat_map(|case| case.candidate.samples_us.iter().copied());
    joined.candidate = Timing::of(samples.collect())?;
    joined.flags = cases.iter().flat_map(|case| case.flags.iter().copied()).collect();
    joined.flags.sort_unstable();
    joined.flags.dedup();
    joined.baselines =
        first.baselines.iter().map(|baseline| join_baseline(baseline, cases)).collect();
    Some(joined)
}

fn join_baseline(first: &BaselineTiming, cases: &[&CaseTiming]) -> BaselineTiming {
    let parts: Vec<Option<&BaselineTiming>> =
        cases.iter().map(|case| case.baseline(&first.name)).collect();
    let measured = cases.iter().zip(&parts).map(|(case, part)| measured(case, (*part)?));
    let joined = measured.collect::<Option<Vec<Measured>>>().and_then(Measured::across);
    let Some(joined) = joined else {
        let note = parts.iter().flatten().find(|part| part.comparison.is_none());
        let note = note.and_then(|part| part.note.clone());
        let note = note.unwrap_or_else(|| "not measured in every process".to_owned());
        let verdict = parts.iter().flatten().filter_map(|part| part.verdict).find(|v| !v.is_pass());
        let lost = BaselineTiming::not_measured(&first.name, note);
        return BaselineTiming { verdict: verdict.or(first.verdict), ..lost };
    };
    let parts = || parts.iter().flatten();
    let has_own = parts().any(|part| part.candidate.is_some());
    BaselineTiming {
        name: first.name.clone(),
        timing: Some(joined.baseline),
        candidate: has_own.then_some(joined.candidate),
        comparison: Some(joined.comparison),
        // Time that may be launching in one of them is no claim.
        overhead_dominated: parts().any(|part| part.overhead_dominated),
        note: parts().find_map(|part| part.note.clone()),
        flags: joined.flags,
        verdict: first.verdict,
        usage: first.usage,
    }
}

fn measured(case: &CaseTiming, baseline: &BaselineTiming) -> Option<Measured> {
    Some(Measured {
        candidate: baseline.candidate.as_ref().unwrap_or(&case.candidate).clone(),
        baseline: baseline.timing.clone()?,
        comparison: baseline.comparison?,
        flags: case.flags.clone(),
        // A stored timing counts no chunks.
        chunks: 0,
        discarded: 0,
        sm_mhz: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeVerdict;
    use crate::testing::case;

    #[test]
    fn overhead_stays_out_of_the_headline_and_is_shown_beside_it() {
        let mut cases = vec![
            case(&[("aten", 4.0, false), ("builtin", 2.0, false)]),
            case(&[("aten", 1.0, true), ("builtin", 8.0, false)]),
        ];
        cases[1].baselines.push(BaselineTiming::not_measured("cublas", "there is none"));
        let found = speedups(&cases);
        let names: Vec<&str> = found.iter().map(|speedup| speedup.baseline.as_str()).collect();
        assert_eq!(names, ["aten", "builtin"]);
        assert!((found[0].geomean - 4.0).abs() < 1e-9 && found[0].is_headline());
        assert_eq!((found[0].n, found[0].n_overhead), (1, 1));
        assert!((found[0].geomean_all.unwrap() - 2.0).abs() < 1e-9);
        assert!((found[1].geomean - 4.0).abs() < 1e-9);
        assert_eq!((found[1].n, found[1].geomean_all), (2, None));
    }

    #[test]
    fn a_claim_holds_only_where_it_holds_in_every_process() {
        let part = |factor: f64| vec![case(&[("builtin", factor, false), ("aten", 2.0, false)])];
        let [mut a, b, c] = [2.0, 1.2, 1.5].map(part);
        let joined = across(&[&a, &b, &c]);
        let builtin = joined[0].baseline("builtin").unwrap();
        let found = builtin.comparison.unwrap();
        assert_eq!((found.verdict, found.n_blocks), (TimeVerdict::Faster, 24));
        assert!((found.speedup - 1.5).abs() < 1e-9);
        assert!((found.ci[0] - 1.2).abs() < 1e-9 && (found.ci[1] - 2.0).abs() < 1e-9);
        assert_eq!(joined[0].candidate.samples_us.len(), 24);
        let interval = speedups(&joined)[0].interval.unwrap();
        assert!((interval[0] - 1.2).abs() < 1e-9 && (interval[1] - 2.0).abs() < 1e-9);
        // One process disagrees, and one did not measure PyTorch.
        a[0].baselines[1] = BaselineTiming::not_measured("aten", "it died");
        let joined = across(&[&a, &part(0.9), &c]);
        let verdict = joined[0].primary().unwrap().comparison.unwrap().verdict;
        assert_eq!(verdict, TimeVerdict::Ambiguous);
        let aten = joined[0].baseline("aten").unwrap();
        assert_eq!((aten.comparison, aten.note.as_deref()), (None, Some("it died")));
        assert!(across(&[]).is_empty() && across(&[&a, &[]]).is_empty());
    }

    #[test]
    fn calls_of_a_log_weigh_as_often_as_it_has_them() {
        let mut cases = vec![
            case(&[("aten", 8.0, false)]),
            case(&[("aten", 1.0, false)]),
            case(&[("aten", 4.0, true)]),
        ];
        assert_eq!(speedups(&cases)[0].total, None);
        for (case, count) in cases.iter_mut().zip([1, 2, 7]) {
            case.count = Some(count);
        }
        let found = &speedups(&cases)[0];
        assert!((found.geomean - 2.0).abs() < 1e-9, "{}", found.geomean);
        // The candidate takes 10 us in each case: 80 + 2 * 10 + 7 * 40 over 10 * 10.
        assert!((found.total.unwrap() - 3.8).abs() < 1e-9, "{:?}", found.total);
        let interval = found.interval.unwrap();
        assert!((interval[0] - 2.0).abs() < 1e-9 && (interval[1] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn where_overhead_is_all_there_is_no_headline() {
        let found = speedups(&[case(&[("builtin", 2.0, true)])]);
        assert!(!found[0].is_headline());
        assert!((found[0].geomean - 2.0).abs() < 1e-9);
        assert!(speedups(&[case(&[])]).is_empty());
    }
}
