//! From the times of the cases to speedups.

use crate::record::{BaselineTiming, CaseTiming, Speedup};

/// Returns one entry per baseline that was measured, in the order they were asked for.
///
/// Cases whose baseline is mostly the overhead of its launch stay out of the headline: there any
/// kernel is as fast as any other. Both means are given, and both counts.
#[must_use]
pub(super) fn speedups(timings: &[CaseTiming]) -> Vec<Speedup> {
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
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::{Comparison, Mode, Timing};

    /// A case with its baselines: name, speedup, whether overhead dominates it.
    pub(in crate::eval) fn case(baselines: &[(&str, f64, bool)]) -> CaseTiming {
        let timing = |us: f64| Timing::of(vec![us; 8]).unwrap();
        let baseline = |&(name, speedup, overhead_dominated): &(&str, f64, bool)| BaselineTiming {
            name: name.to_owned(),
            timing: Some(timing(10.0 * speedup)),
            candidate: None,
            comparison: Comparison::of(&[[10.0 * speedup, 10.0, 10.0, 10.0 * speedup]; 8]),
            overhead_dominated,
            note: None,
        };
        CaseTiming {
            case: "f32[4]/normal".to_owned(),
            args: "self=f32[4]".to_owned(),
            mode: Mode::Cold,
            candidate: timing(10.0),
            baselines: baselines.iter().map(baseline).collect(),
            bytes: 1.0,
            flops: 1.0,
            peak_bytes: 1,
            floor_us: 1.0,
            roofline: None,
            flags: Vec::new(),
            do_bench: None,
            params: Vec::new(),
        }
    }

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
    fn where_overhead_is_all_there_is_no_headline() {
        let found = speedups(&[case(&[("builtin", 2.0, true)])]);
        assert!(!found[0].is_headline());
        assert!((found[0].geomean - 2.0).abs() < 1e-9);
        assert!(speedups(&[case(&[])]).is_empty());
    }
}
