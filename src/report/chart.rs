//! Numbers as pictures of one line: bars, and the speedups of attempts one after the other.

/// Eighths of a cell, from the left.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Heights of a cell.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Stands for an attempt without a speedup: a wrong kernel, or one that was not timed.
const NO_SPEEDUP: char = '·';

/// Attempts that a line shows, the last ones.
const MAX_ATTEMPTS: usize = 24;

/// Returns a bar of so many cells, filled by `share`, which is clamped to 0 to 1.
#[must_use]
pub(super) fn bar(share: f64, cells: usize) -> String {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let full = whole(share * 8.0, cells);
    let mut text: String = "█".repeat(full / 8);
    if let Some(rest) = (full % 8).checked_sub(1) {
        text.push(EIGHTHS[rest]);
    }
    text
}

/// Returns the same with its empty part, so that the whole shows.
#[must_use]
pub(super) fn gauge(share: f64, cells: usize) -> String {
    let bar = bar(share, cells);
    let empty = "░".repeat(cells - bar.chars().count());
    bar + &empty
}

/// Returns a cell per attempt, higher for a higher speedup on a logarithmic scale from the lowest to the
/// highest of them.
#[must_use]
pub(super) fn sparkline(speedups: &[Option<f64>]) -> String {
    let logs = || speedups.iter().flatten().map(|speedup| speedup.ln()).filter(|ln| ln.is_finite());
    let (low, high) =
        (logs().fold(f64::INFINITY, f64::min), logs().fold(f64::NEG_INFINITY, f64::max));
    let cell = |speedup: &Option<f64>| {
        let Some(speedup) = speedup.filter(|speedup| speedup.ln().is_finite()) else {
            return NO_SPEEDUP;
        };
        // One speedup alone is neither low nor high.
        let share = if low < high { (speedup.ln() - low) / (high - low) } else { 0.5 };
        HEIGHTS[whole(share, HEIGHTS.len() - 1)]
    };
    let skipped = speedups.len().saturating_sub(MAX_ATTEMPTS);
    let more = if skipped > 0 { "…" } else { "" };
    more.to_owned() + &speedups[skipped..].iter().map(cell).collect::<String>()
}

/// Returns `share * of` as the nearest integer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few cells")]
#[expect(clippy::cast_precision_loss, reason = "a few cells")]
fn whole(share: f64, of: usize) -> usize {
    (share * of as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_exact_to_an_eighth_of_a_cell() {
        for (share, text) in [
            (0.0, ""),
            (0.5, "████"),
            (1.0, "████████"),
            (0.25, "██"),
            (0.3, "██▍"),
            (9.0, "████████"),
        ] {
            assert_eq!(bar(share, 8), text, "{share}");
        }
        assert_eq!(bar(f64::NAN, 8), "");
        assert_eq!(gauge(0.5, 4), "██░░");
        assert_eq!(gauge(1.0, 4), "████");
    }

    #[test]
    fn attempts_are_as_high_as_their_speedups_and_failures_are_dots() {
        assert_eq!(sparkline(&[Some(0.5), None, Some(1.0), Some(2.0)]), "▁·▅█");
        assert_eq!(sparkline(&[Some(3.0)]), "▅");
        assert_eq!(sparkline(&[None, None]), "··");
        let many: Vec<_> = (0..40).map(|n| Some(1.0 + f64::from(n))).collect();
        let line = sparkline(&many);
        assert!(line.starts_with('…') && line.ends_with('█'), "{line}");
        assert_eq!(line.chars().count(), 1 + MAX_ATTEMPTS);
    }
}
