//! Times of a correct kernel, and what bounds them.

use crate::{
    prompt::{
        context::speedup_words,
        text::{inline, significant},
    },
    record::{BaselineTiming, CaseTiming, Evaluation, Mode},
};

/// Cases that are listed, the slowest against the baseline first.
const MAX_ROWS: usize = 8;

/// Operations per byte above which arithmetic, not memory, is likely to be the limit.
const COMPUTE_INTENSITY: f64 = 32.0;

/// Share of the peak bandwidth that a good memory-bound kernel reaches.
const GOOD_BANDWIDTH: f64 = 0.8;

/// Multiple of an empty kernel's time below which the launch is most of the time.
const OVERHEAD: f64 = 2.0;

/// Describes the timed cases.
pub(super) fn sections(evaluation: &Evaluation) -> Vec<String> {
    if evaluation.timings.is_empty() {
        return vec!["Nothing was timed.".to_owned()];
    }
    let mut timings: Vec<&CaseTiming> = evaluation.timings.iter().collect();
    let speedup = |timing: &CaseTiming| {
        timing.primary().and_then(BaselineTiming::speedup).unwrap_or(f64::INFINITY)
    };
    timings.sort_by(|a, b| speedup(a).total_cmp(&speedup(b)));
    let peak = evaluation.target.peak_bandwidth;
    let primary = timings.iter().find_map(|timing| timing.primary());
    let baseline = primary.map_or("baseline", |baseline| baseline.name.as_str());
    let mut sections = Vec::new();
    let speedups: Vec<String> = evaluation.speedups.iter().map(speedup_words).collect();
    if !speedups.is_empty() {
        sections.push(format!("Geometric mean over the timed cases: {}.", speedups.join(", ")));
    }
    let rows: Vec<String> = timings.iter().take(MAX_ROWS).map(|timing| row(timing, peak)).collect();
    let left_out = timings.len().saturating_sub(MAX_ROWS);
    let more = if left_out == 0 {
        String::new()
    } else {
        format!("\n\n{left_out} faster ones are left out.")
    };
    sections.push(format!(
        "Medians with {}:\n\n\
         | case | µs | {baseline} µs | speedup (99 %) | GB/s | GFLOP/s | % of the floor | bound by |\n\
         |---|---|---|---|---|---|---|---|\n{}{more}",
        mode(&timings),
        rows.join("\n")
    ));
    sections
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

fn row(timing: &CaseTiming, peak: Option<f64>) -> String {
    let us = timing.candidate.median_us;
    let primary = timing.primary();
    let baseline = primary.and_then(|baseline| baseline.timing.as_ref());
    let baseline = baseline.map(|times| significant(times.median_us, 4));
    let speedup = primary.and_then(|baseline| baseline.comparison.as_ref()).map(|comparison| {
        let [low, high] = comparison.ci;
        let [median, low, high] =
            [comparison.speedup, low, high].map(|value| significant(value, 3));
        format!("{median} ({low} to {high})")
    });
    let percent = timing.percent_of_floor().map(|percent| significant(percent, 2));
    let params: Vec<_> =
        timing.params.iter().map(|(name, value)| format!("{}={value}", inline(name, 30))).collect();
    let case = [inline(&timing.args, 100), params.join(" ")].join(" ");
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
        case.trim_end(),
        significant(us, 4),
        baseline.unwrap_or_else(|| "not measured".to_owned()),
        speedup.unwrap_or_else(|| "not measured".to_owned()),
        significant(timing.bytes / us / 1e3, 4),
        significant(timing.flops / us / 1e3, 4),
        percent.unwrap_or_else(|| "-".to_owned()),
        bound(timing, peak)
    )
}

/// Says what limits a case, as far as the numbers tell.
fn bound(timing: &CaseTiming, peak: Option<f64>) -> String {
    let us = timing.candidate.median_us;
    if us < OVERHEAD * timing.floor_us {
        return format!(
            "launch overhead (an empty kernel takes {} µs)",
            significant(timing.floor_us, 3)
        );
    }
    if COMPUTE_INTENSITY < timing.flops / timing.bytes {
        return "arithmetic".to_owned();
    }
    let Some(peak) = peak else { return "memory, by its few operations per byte".to_owned() };
    let share = timing.bytes / (us / 1e6) / peak;
    let percent = significant(100.0 * share, 2);
    if share < GOOD_BANDWIDTH {
        format!("latency: only {percent} % of the peak bandwidth")
    } else {
        format!("memory: {percent} % of the peak bandwidth")
    }
}
