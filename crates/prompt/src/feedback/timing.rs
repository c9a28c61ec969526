//! Times of a correct kernel.

use kgen_record::{BaselineTiming, CaseTiming, Evaluation, FeedbackKind, Flag, Mode};

use super::{Section, Subject};
use crate::text::{inline, significant, speedup_words};

/// Cases that are listed, the slowest against the baseline first.
const MAX_ROWS: usize = 8;

/// Describes the timed cases; says nothing where nothing can be timed.
pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let evaluation = subject.evaluation;
    if evaluation.timings.is_empty() {
        let text = if subject.is_emulated() { "" } else { "Nothing was timed." };
        return vec![Section::new(FeedbackKind::Timing, text)];
    }
    let texts = [headline(evaluation), Some(table(evaluation)), notes(evaluation)];
    let sections = texts.into_iter().flatten();
    sections.map(|text| Section::new(FeedbackKind::Timing, text)).collect()
}

/// Returns the timed cases, the slowest against the baseline first.
pub(super) fn sorted(evaluation: &Evaluation) -> Vec<&CaseTiming> {
    let mut timings: Vec<&CaseTiming> = evaluation.timings.iter().collect();
    let speedup = |timing: &CaseTiming| {
        timing.primary().and_then(BaselineTiming::speedup).unwrap_or(f64::INFINITY)
    };
    timings.sort_by(|a, b| speedup(a).total_cmp(&speedup(b)));
    timings
}

fn headline(evaluation: &Evaluation) -> Option<String> {
    let speedups: Vec<String> = evaluation.speedups.iter().map(speedup_words).collect();
    (!speedups.is_empty())
        .then(|| format!("Geometric mean over the timed cases: {}.", speedups.join(", ")))
}

fn table(evaluation: &Evaluation) -> String {
    let timings = sorted(evaluation);
    let primary = timings.iter().find_map(|timing| timing.primary());
    let baseline = primary.map_or("baseline", |baseline| baseline.name.as_str());
    let rows: Vec<String> = timings.iter().take(MAX_ROWS).map(|timing| row(timing)).collect();
    let left_out = timings.len().saturating_sub(MAX_ROWS);
    let more = match left_out {
        0 => String::new(),
        _ => format!("\n\n{left_out} faster ones are left out."),
    };
    format!(
        "Medians with {}:\n\n\
         | case | µs | {} µs | speedup (99 %) |\n|---|---|---|---|\n{}{more}",
        mode(&timings),
        inline(baseline, 40),
        rows.join("\n")
    )
}

/// Says how the times were taken.
fn mode(timings: &[&CaseTiming]) -> &'static str {
    let all = |mode: Mode| timings.iter().all(|timing| timing.mode == mode);
    if all(Mode::Cold) {
        "a cold L2 cache"
    } else if all(Mode::Hot) {
        "a warm L2 cache"
    } else {
        "a cold L2 cache, short ones inside a CUDA graph"
    }
}

fn row(timing: &CaseTiming) -> String {
    let primary = timing.primary();
    let baseline = primary.and_then(|baseline| baseline.timing.as_ref());
    let baseline = baseline.map(|times| significant(times.median_us, 4));
    let speedup = primary.and_then(|baseline| baseline.comparison.as_ref()).map(|comparison| {
        let [low, high] = comparison.ci;
        let [median, low, high] =
            [comparison.speedup, low, high].map(|value| significant(value, 3));
        format!("{median} ({low} to {high})")
    });
    let overhead = if primary.is_some_and(|baseline| baseline.overhead_dominated) {
        "; mostly launch overhead, not in the mean"
    } else {
        ""
    };
    let params: Vec<_> =
        timing.params.iter().map(|(name, value)| format!("{}={value}", inline(name, 30))).collect();
    let case = [inline(&timing.args, 100), params.join(" ")].join(" ");
    format!(
        "| `{}` | {} | {} | {}{overhead} |",
        case.trim_end(),
        significant(timing.candidate.median_us, 4),
        baseline.unwrap_or_else(|| "not measured".to_owned()),
        speedup.unwrap_or_else(|| "not measured".to_owned()),
    )
}

/// Names the reasons to doubt the times; overhead is named case by case.
fn notes(evaluation: &Evaluation) -> Option<String> {
    let flags = evaluation.flags().into_iter().filter(|flag| *flag != Flag::FloorLimited);
    let notes: Vec<&str> = flags.map(Flag::meaning).collect();
    (!notes.is_empty())
        .then(|| format!("Some were timed {}: small differences mean little.", notes.join(", or ")))
}
