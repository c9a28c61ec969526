//! One evaluation out of several of the same request, each made in a process of its own.

use crate::record::{BaselineTiming, CaseTiming, Comparison, Evaluation, Flag, Timing};

use super::stats::speedups;

/// Joins evaluations of one request; `None` without any.
///
/// What was found is that of the first that did not pass, if one did not. Else times are put one
/// after another, and a comparison claims only what it claims in every process
/// ([`Comparison::across`]).
#[must_use]
pub fn across(evaluations: Vec<Evaluation>) -> Option<Evaluation> {
    let failed = evaluations.iter().position(|evaluation| !evaluation.verdict.is_pass());
    if let Some(failed) = failed {
        return evaluations.into_iter().nth(failed);
    }
    let mut evaluations = evaluations.into_iter();
    let mut joined = evaluations.next()?;
    let others: Vec<Evaluation> = evaluations.collect();
    for timing in &mut joined.timings {
        let same = |other: &&CaseTiming| other.case == timing.case && other.mode == timing.mode;
        let again = others.iter().filter_map(|other| other.timings.iter().find(same));
        let again: Vec<&CaseTiming> = again.collect();
        join_case(timing, &again);
    }
    joined.stage_times.extend(others.into_iter().flat_map(|other| other.stage_times));
    joined.speedups = speedups(&joined.timings);
    Some(joined)
}

fn join_case(timing: &mut CaseTiming, again: &[&CaseTiming]) {
    append(&mut timing.candidate, again.iter().map(|other| &other.candidate));
    for baseline in &mut timing.baselines {
        let others: Vec<Option<&BaselineTiming>> =
            again.iter().map(|other| other.baseline(&baseline.name)).collect();
        join_baseline(baseline, &others);
    }
    let flags = again.iter().flat_map(|other| other.flags.iter().copied());
    let mut flags: Vec<Flag> = timing.flags.iter().copied().chain(flags).collect();
    flags.sort_unstable();
    flags.dedup();
    timing.flags = flags;
}

/// A baseline that one of the processes could not measure is not measured.
fn join_baseline(baseline: &mut BaselineTiming, others: &[Option<&BaselineTiming>]) {
    let Some(first) = baseline.comparison else { return };
    let mut comparisons = vec![first];
    for other in others {
        match other.and_then(|other| other.comparison) {
            Some(comparison) => comparisons.push(comparison),
            None => {
                let note = other.and_then(|other| other.note.clone());
                let note = note.unwrap_or_else(|| "not measured in every process".to_owned());
                *baseline = BaselineTiming::not_measured(&baseline.name, note);
                return;
            }
        }
    }
    let others = || others.iter().copied().flatten();
    baseline.comparison = Comparison::across(&comparisons);
    if let Some(timing) = &mut baseline.timing {
        append(timing, others().filter_map(|other| other.timing.as_ref()));
    }
    if let Some(candidate) = &mut baseline.candidate {
        append(candidate, others().filter_map(|other| other.candidate.as_ref()));
    }
    baseline.overhead_dominated |= others().any(|other| other.overhead_dominated);
}

fn append<'a>(timing: &mut Timing, more: impl Iterator<Item = &'a Timing>) {
    let more = more.flat_map(|other| other.samples_us.iter().copied());
    let samples: Vec<f64> = timing.samples_us.iter().copied().chain(more).collect();
    if let Some(all) = Timing::of(samples) {
        *timing = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        eval::stats::tests::case,
        record::{Level, Stage, Target, TimeVerdict, Verdict},
    };

    fn evaluation(verdict: Verdict, timings: Vec<CaseTiming>) -> Evaluation {
        Evaluation {
            op: "relu".to_owned(),
            verdict,
            level: Level::Cuda,
            stage: Stage::Done,
            findings: Vec::new(),
            diagnostics: Vec::new(),
            resources: Vec::new(),
            cases: Vec::new(),
            speedups: speedups(&timings),
            timings,
            target: Target::h100_class(),
            seed: 1,
            nvrtc: None,
            precision: Default::default(),
            python: None,
            stage_times: Vec::new(),
            profile: None,
        }
    }

    fn passed(speedup: f64) -> Evaluation {
        evaluation(Verdict::Passed, vec![case(&[("builtin", speedup, false)])])
    }

    #[test]
    fn a_claim_holds_only_if_it_holds_in_every_process() {
        let joined = across(vec![passed(1.2), passed(1.3), passed(1.1)]).unwrap();
        let builtin = joined.timings[0].primary().unwrap();
        let comparison = builtin.comparison.unwrap();
        assert!((comparison.speedup - 1.2).abs() < 1e-9);
        assert!(comparison.ci[0] < 1.1001 && 1.2999 < comparison.ci[1]);
        assert_eq!(joined.timings[0].candidate.samples_us.len(), 24);
        assert_eq!(builtin.timing.as_ref().unwrap().samples_us.len(), 24);
        assert!((joined.speedups[0].geomean - 1.2).abs() < 1e-9);

        let joined = across(vec![passed(1.2), passed(0.9), passed(1.2)]).unwrap();
        let verdict = joined.timings[0].primary().unwrap().comparison.unwrap().verdict;
        assert_eq!(verdict, TimeVerdict::Ambiguous);
        assert_eq!(across(Vec::new()), None);
    }

    #[test]
    fn one_that_fails_is_what_is_told() {
        let bad = evaluation(Verdict::WrongOutput, Vec::new());
        let joined = across(vec![passed(1.2), bad.clone(), passed(1.2)]).unwrap();
        assert_eq!(joined, bad);
    }

    #[test]
    fn flags_add_up_and_a_baseline_must_be_measured_everywhere() {
        let (first, mut second) = (passed(1.2), passed(1.2));
        second.timings[0].flags = vec![Flag::Shared];
        second.timings[0].baselines[0] = BaselineTiming::not_measured("builtin", "it hung");
        let joined = across(vec![first, second]).unwrap();
        assert_eq!(joined.timings[0].flags, [Flag::Shared]);
        assert_eq!(joined.timings[0].baselines[0].note.as_deref(), Some("it hung"));
        assert!(joined.speedups.is_empty());
    }
}
