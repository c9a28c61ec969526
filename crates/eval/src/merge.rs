//! One evaluation out of several of the same request, each made in a process of its own.

use kgen_record::{CaseTiming, Evaluation, speedups};

/// Joins evaluations of one request; `None` without any.
///
/// The findings are those of the first that did not pass, if one did not. Else times are joined as
/// [`speedups::across`] says; those of other GPUs than the first's are left out.
#[must_use]
pub fn across(evaluations: Vec<Evaluation>) -> Option<Evaluation> {
    let failed = evaluations.iter().position(|evaluation| !evaluation.verdict.is_pass());
    if let Some(failed) = failed {
        return evaluations.into_iter().nth(failed);
    }
    let mut evaluations = evaluations.into_iter();
    let mut joined = evaluations.next()?;
    let others: Vec<Evaluation> = evaluations.collect();
    let alike = others.iter().filter(|other| other.target.uuid == joined.target.uuid);
    let parts: Vec<&[CaseTiming]> =
        [&joined].into_iter().chain(alike).map(|part| &part.timings[..]).collect();
    joined.timings = speedups::across(&parts);
    for other in &others {
        joined.sandbox.join(&other.sandbox);
    }
    joined.stage_times.extend(others.into_iter().flat_map(|other| other.stage_times));
    joined.speedups = speedups(&joined.timings);
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_record::{
        BaselineTiming, Flag, Level, Stage, Target, TimeVerdict, Verdict, testing::case,
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
            library_use: None,
            python: None,
            adapters: Vec::new(),
            coverage: None,
            stage_times: Vec::new(),
            profile: None,
            sandbox: Default::default(),
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
    fn times_of_another_gpu_are_left_out() {
        let mut other = passed(9.0);
        other.target.uuid = Some("GPU-b".to_owned());
        let joined = across(vec![passed(1.2), other]).unwrap();
        assert_eq!(joined.timings[0].candidate.samples_us.len(), 8);
        assert!((joined.speedups[0].geomean - 1.2).abs() < 1e-9);
    }

    #[test]
    fn one_that_fails_is_reported() {
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
