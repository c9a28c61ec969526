//! Full-size cases and where the time of an evaluation went, for people.

use std::fmt::Write as _;

use kgen_record::{Evaluation, FullSize};

/// Returns the comparison of each full-size case; where `verbose`, with where its time went, and that of
/// the evaluation.
pub(super) fn text(evaluation: &Evaluation, verbose: bool) -> String {
    let cases = evaluation.cases.iter();
    let full: Vec<_> =
        cases.filter_map(|case| Some((&case.case, case.full_size.as_ref()?))).collect();
    let mut text = String::new();
    if full.is_empty() {
        return text;
    }
    text.push_str("\nFull-size cases, judged on the device:\n");
    for (case, full) in full {
        let FullSize { data_sets, compared, differing, judged, against_itself, by_module, steps } =
            full;
        let by = match (against_itself, by_module) {
            (true, _) => "itself",
            (_, true) => "PyTorch's module in f64",
            _ => "the builtin kernel",
        };
        writeln!(
            text,
            "  {case}: {compared} elements on {data_sets} data sets compared with {by}, {differing} \
             differ by more than rounding; {judged} held against f64",
        )
        .expect("a string takes any text");
        if verbose {
            let steps = steps.iter().map(|step| (step.step.as_str(), step.seconds));
            writeln!(text, "    {}", seconds(steps)).expect("a string takes any text");
        }
    }
    if !verbose {
        return text;
    }
    let stages = evaluation.stage_times.iter().map(|time| (time.stage.name(), time.seconds));
    writeln!(text, "  all stages: {}", seconds(stages)).expect("a string takes any text");
    text
}

/// Returns the parts that took a millisecond or more.
fn seconds<'a>(parts: impl Iterator<Item = (&'a str, f64)>) -> String {
    let long = parts.filter(|(_, seconds)| *seconds >= 0.0005);
    long.map(|(what, seconds)| format!("{what} {seconds:.3} s")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_took_no_time_is_left_out() {
        let parts = [("inputs", 0.0312), ("poison", 0.0001), ("candidate", 1.5)];
        assert_eq!(super::seconds(parts.into_iter()), "inputs 0.031 s, candidate 1.500 s");
    }
}
