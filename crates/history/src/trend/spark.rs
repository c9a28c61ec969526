//! A series as a small drawing.

use maud::{Markup, html};

use crate::{ChangePoint, Point};

/// Size of the drawing, in its own units.
const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 32.0;

/// Space at its edges, for the width of lines.
const EDGE: f64 = 2.0;

/// Places of a line at most: of more points, those beside each other are drawn as their range.
const MOST_PLACES: usize = 80;

/// Draws the times of a series from left to right, in the order of entries, with a dashed line before each
/// change. `name` is read out.
pub(super) fn spark(points: &[Point], changes: &[ChangePoint], name: &str) -> Markup {
    let (low, high) = range(points);
    // Noise of a per mille does not fill the height.
    let middle = f64::midpoint(low, high);
    let half = (f64::midpoint(high, -low)).max(0.02 * middle);
    let last = points.len().saturating_sub(1).max(1) as f64;
    let x = |at: f64| EDGE + at / last * (WIDTH - 2.0 * EDGE);
    let y = |time: f64| HEIGHT / 2.0 - (time - middle) / half * (HEIGHT / 2.0 - EDGE);
    html! {
        svg.spark.s0 role="img" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
            aria-label=(name) {
            path.line d={ (line(points, x, y)) } {}
            @for change in changes {
                path.change d={ "M" (tenth(x(change.at as f64 - 0.5))) " 0V" (HEIGHT) } {}
            }
        }
    }
}

/// The path of the line.
fn line(points: &[Point], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> Markup {
    let n_each = points.len().div_ceil(MOST_PLACES).max(1);
    html! {
        @for (place, part) in points.chunks(n_each).enumerate() {
            @let at = (place * n_each) as f64 + (part.len() - 1) as f64 / 2.0;
            @let (low, high) = range(part);
            (if place == 0 { "M" } else { "L" }) (tenth(x(at))) " " (tenth(y(low)))
            @if low < high { "V" (tenth(y(high))) }
        }
        @if points.len() == 1 { "h1" }
    }
}

fn range(points: &[Point]) -> (f64, f64) {
    let times = || points.iter().map(|point| point.median_us);
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}

fn tenth(place: f64) -> f64 {
    (place * 10.0).round() / 10.0 + 0.0
}
