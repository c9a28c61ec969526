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

fn against(name: &str, timings: &[CaseTiming]) -> Option<Speedup> {
    let measured: Vec<&BaselineTiming> = timings
        .iter()
        .filter_map(|timing| timing.baseline(name))
        .filter(|baseline| baseline.comparison.is_some())
        .collect();
    let mean = |keep: &dyn Fn(&BaselineTiming) -> bool| {
        let kept = measured.iter().filter(|baseline| keep(baseline));
        let speedups: Vec<f64> = kept.filter_map(|baseline| baseline.speedup()).collect();
        (kgen_measure::geometric_mean(&speedups), speedups.len())
    };
    let (all, n_all) = mean(&|_| true);
    let (long, n) = mean(&|baseline| !baseline.overhead_dominated);
    Some(Speedup {
        baseline: name.to_owned(),
        geomean: long.or(all)?,
        n,
        n_overhead: n_all - n,
        geomean_all: all.filter(|_| n < n_all),
        interval: interval(&measured, n),
    })
}

/// Returns the geometric means of the lower and of the upper bounds of the cases in the headline.
fn interval(measured: &[&BaselineTiming], n_long: usize) -> Option<[f64; 2]> {
    let kept = measured.iter().filter(|baseline| n_long == 0 || !baseline.overhead_dominated);
    let (low, high): (Vec<f64>, Vec<f64>) = kept
        .filter_map(|baseline| baseline.comparison.map(|found| (found.ci[0], found.ci[1])))
        .unzip();
    Some([kgen_measure::geometric_mean(&low)?, kgen_measure::geometric_mean(&high)?])
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
        return BaselineTiming::not_measured(&first.name, note);
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
    fn where_overhead_is_all_there_is_no_headline() {
        let found = speedups(&[case(&[("builtin", 2.0, true)])]);
        assert!(!found[0].is_headline());
        assert!((found[0].geomean - 2.0).abs() < 1e-9);
        assert!(speedups(&[case(&[])]).is_empty());
    }
}
