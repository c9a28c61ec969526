//! The times of an evaluation, for people.

use std::{collections::BTreeMap, fmt::Write as _};

use kgen_record::{BaselineTiming, CaseTiming, Evaluation, Flag, Mode};

use crate::report::{NOT_MEASURED, Screen, TextTable, speedup_text};

/// Returns the speedups in one line.
pub(super) fn speedups(evaluation: &Evaluation) -> String {
    let texts = evaluation.speedups.iter().map(|speedup| speedup_text(Some(speedup)));
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { NOT_MEASURED.to_owned() } else { texts.join(", ") }
}

/// Returns a table of the timed cases, with a column per baseline, and its notes; nothing where
/// nothing was timed.
#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
pub(super) fn text(evaluation: &Evaluation, screen: Screen) -> String {
    if evaluation.timings.is_empty() {
        return String::new();
    }
    let names = baselines(evaluation);
    let over: Vec<String> = names.iter().map(|name| format!("vs {name}")).collect();
    let mut headers =
        vec!["timed case", ">median us", ">quartiles", ">GB/s", ">GFLOP/s", ">% of floor"];
    headers.extend(over.iter().map(String::as_str));
    headers.push(">MiB");
    let others = over.iter().skip(1).rev().map(|header| (header.as_str(), 0));
    let yielding: Vec<(&str, usize)> =
        [("MiB", 0), ("GFLOP/s", 0), ("GB/s", 0), ("quartiles", 0), ("timed case", 20)]
            .into_iter()
            .chain(others)
            .collect();
    let mut table = TextTable::new(&headers).yielding(&yielding);
    for timing in &evaluation.timings {
        let candidate = &timing.candidate;
        let us = candidate.median_us;
        let percent = timing.percent_of_floor();
        let mut cells = vec![
            case(timing),
            format!("{us:.2}"),
            format!("{:.2}-{:.2}", candidate.q1_us, candidate.q3_us),
            format!("{:.1}", timing.bytes / us / 1e3),
            format!("{:.1}", timing.flops / us / 1e3),
            percent.map_or("-".to_owned(), |percent| format!("{percent:.0}")),
        ];
        cells.extend(
            names.iter().map(|name| timing.baseline(name).map_or(NOT_MEASURED.to_owned(), cell)),
        );
        cells.push(format!("{:.1}", timing.peak_bytes as f64 / 1_048_576.0));
        table.row(cells);
    }
    let mut text = format!("\n{}\n", table.fit(screen));
    for note in notes(evaluation, &names) {
        writeln!(text, "{note}").expect("a string takes any text");
    }
    text
}

/// The baselines of all cases, in the order they were asked for.
fn baselines(evaluation: &Evaluation) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for baseline in evaluation.timings.iter().flat_map(|timing| &timing.baselines) {
        if !names.contains(&baseline.name.as_str()) {
            names.push(&baseline.name);
        }
    }
    names
}

fn case(timing: &CaseTiming) -> String {
    match timing.mode {
        Mode::Cold => timing.case.clone(),
        Mode::Hot => format!("{} (hot L2)", timing.case),
        Mode::Graph => format!("{} (in a graph)", timing.case),
    }
}

/// `38.02 us: 1.06x [1.05, 1.07] faster`, with a star where launch overhead dominates.
fn cell(baseline: &BaselineTiming) -> String {
    let (Some(timing), Some(comparison)) = (&baseline.timing, &baseline.comparison) else {
        return NOT_MEASURED.to_owned();
    };
    let [low, high] = comparison.ci;
    let verdict = comparison.verdict.name();
    let star = if baseline.overhead_dominated { " *" } else { "" };
    format!(
        "{:.2} us: {:.3}x [{low:.3}, {high:.3}] {verdict}{star}",
        timing.median_us, comparison.speedup
    )
}

/// Notes below the table: stars, baselines without a time, flags.
fn notes(evaluation: &Evaluation, names: &[&str]) -> Vec<String> {
    let timings = &evaluation.timings;
    let mut notes = Vec::new();
    let starred = timings
        .iter()
        .find(|timing| timing.baselines.iter().any(|baseline| baseline.overhead_dominated));
    if let Some(timing) = starred {
        notes.push(format!(
            "* mostly the overhead of the launch (an empty kernel takes {:.2} us): not in the headline",
            timing.floor_us
        ));
    }
    for name in names {
        let mut reasons: Vec<&str> = Vec::new();
        for baseline in timings.iter().filter_map(|timing| timing.baseline(name)) {
            let reason = baseline.note.as_deref();
            reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        }
        notes.extend(reasons.iter().map(|reason| format!("{name}: {reason}")));
    }
    for timing in timings {
        if let Some(times) = &timing.do_bench {
            notes.push(format!(
                "{}: as do_bench times it, mean {:.2} us, median {:.2} us ({} samples)",
                timing.case, times.mean_us, times.median_us, times.n
            ));
        }
    }
    notes.extend(flags(timings));
    notes
}

/// A line per flag with the cases that have it; a star says already that launching dominates.
fn flags(timings: &[CaseTiming]) -> Vec<String> {
    let starred = |timing: &CaseTiming| timing.baselines.iter().any(|b| b.overhead_dominated);
    let mut cases: BTreeMap<Flag, Vec<&str>> = BTreeMap::new();
    for timing in timings {
        for &flag in &timing.flags {
            if flag != Flag::FloorLimited || !starred(timing) {
                cases.entry(flag).or_default().push(&timing.case);
            }
        }
    }
    let line = |(flag, cases): (Flag, Vec<&str>)| {
        let cases = if cases.len() == timings.len() && 1 < cases.len() {
            "all cases".to_owned()
        } else {
            cases.join(", ")
        };
        format!("timed {}: {cases}", flag.meaning())
    };
    cases.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_record::Timing;

    fn timing(case: &str, flags: &[Flag]) -> CaseTiming {
        CaseTiming {
            case: case.to_owned(),
            args: String::new(),
            count: None,
            mode: Mode::Cold,
            candidate: Timing::of(vec![40.0; 9]).unwrap(),
            baselines: Vec::new(),
            bytes: 1.0,
            flops: 1.0,
            peak_bytes: 1,
            floor_us: 2.5,
            roofline: None,
            flags: flags.to_vec(),
            do_bench: None,
            params: Vec::new(),
            usage: kgen_record::Usage::default(),
        }
    }

    #[test]
    fn every_flag_is_a_line_with_its_cases() {
        let timings = [timing("a", &[Flag::Throttled, Flag::Shared]), timing("b", &[Flag::Shared])];
        let expected = [
            "timed while throttled (the GPU was slowed down and did not recover): a",
            "timed while shared (another process used the GPU): all cases",
        ];
        assert_eq!(flags(&timings), expected);
        let all = [
            (Flag::PowerCapped, "while power capped"),
            (Flag::ClockDrift, "with clock drift"),
            (Flag::TimedOut, "timed out"),
        ];
        for (flag, words) in all {
            assert!(flags(&[timing("a", &[flag])])[0].contains(words));
        }
        assert!(flags(&[timing("a", &[])]).is_empty());
    }

    #[test]
    fn a_star_says_that_launching_dominates() {
        let mut short = timing("a", &[Flag::FloorLimited]);
        assert_eq!(flags(&[short.clone()]).len(), 1);
        short.baselines = vec![BaselineTiming {
            overhead_dominated: true,
            ..BaselineTiming::not_measured("builtin", String::new())
        }];
        assert!(flags(&[short]).is_empty());
    }
}
