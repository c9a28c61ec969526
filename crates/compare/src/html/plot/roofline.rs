//! The roofline: arithmetic reached over its intensity, below the roofs that the floors of the cases give.
//!
//! Source: Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance model".

use kgen_measure::roofline::{Limit, Roofline};
use maud::{Markup, html};

use super::{
    Area, Axis, Drawing, Scale, WIDTH, axis_below, axis_left, log_domain, mark, path, px, tick,
};
use crate::html::{key::Key, number::plain};

/// Points that are drawn at most.
const MOST_POINTS: usize = 1500;

/// A timed case on the drawing.
pub struct Point<'a> {
    /// Its looks; a dot without them.
    key: Option<&'a Key>,
    name: String,
    /// Floating-point operations per byte.
    intensity: f64,
    /// TFLOP/s that the kernel reached, and that its floor allows.
    reached: f64,
    roof: Option<f64>,
    limit: Option<Limit>,
}

impl<'a> Point<'a> {
    /// Returns the point of a case that needs `flops` and moves `bytes` in `median_us` microseconds; `None`
    /// where it has no place on logarithmic axes.
    #[must_use]
    pub fn new(
        (key, name): (Option<&'a Key>, String),
        (bytes, flops): (f64, f64),
        median_us: f64,
        roofline: Option<&Roofline>,
    ) -> Option<Self> {
        let per_us = |us: f64| flops / us * 1e-6;
        let intensity = flops / bytes;
        let reached = per_us(median_us);
        let is_drawn = |value: f64| value.is_finite() && 0.0 < value;
        let roof = roofline.map(|roofline| per_us(roofline.floor_us));
        let roof = roof.filter(|roof| is_drawn(*roof));
        let limit = roofline.map(|roofline| roofline.limit);
        (is_drawn(intensity) && is_drawn(reached)).then_some(Self {
            key,
            name,
            intensity,
            reached,
            roof,
            limit,
        })
    }

    /// `mm self=f32[1024,1024]: 12.8 TFLOP/s, 19.2 % of the floor`.
    fn title(&self) -> String {
        let share = self.roof.map(|roof| 100.0 * self.reached / roof);
        let share = share.map(|share| format!(", {} % of the floor", plain(share)));
        let share = share.unwrap_or_default();
        format!("{}: {} TFLOP/s{share}", self.name, plain(self.reached))
    }

    fn draw(&self, at: (f64, f64)) -> Markup {
        let title = self.title();
        html! {
            @match self.key {
                Some(key) => g class=(key.class()) { (mark(key, at, &title)) },
                None => circle.dot r="3" cx=(px(at.0)) cy=(px(at.1)) { title { (title) } },
            }
        }
    }
}

/// Draws the points below their roofs; `None` without points.
#[must_use]
pub fn drawing(points: &[Point<'_>]) -> Option<Drawing> {
    let x_domain = log_domain(points.iter().map(|point| point.intensity), &[])?;
    let heights = points.iter().flat_map(|point| [Some(point.reached), point.roof]).flatten();
    let y_domain = log_domain(heights, &[])?;
    let area = Area { x: (48.0, WIDTH - 14.0), y: (26.0, 226.0) };
    let (x, y) = (Scale::log(x_domain, area.x), Scale::log(y_domain, area.up()));
    let x_axis = Axis {
        scale: x,
        ticks: x.ticks(6),
        show: &tick,
        title: "floating-point operations per byte, log scale",
    };
    let y_axis = Axis { scale: y, ticks: y.ticks(7), show: &tick, title: "TFLOP/s, log scale" };
    let place = |(at, value): (f64, f64)| (x.place(at), y.place(value));
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let markup = html! {
        (axis_left(&area, &y_axis))
        (axis_below(&area, &x_axis))
        @if let Some(ends) = memory_roof(points, x_domain, y_domain) {
            (path("roof", &ends.map(place)))
        }
        @for peak in compute_roofs(points) {
            (path("roof", &[(x_domain.0, peak), (x_domain.1, peak)].map(place)))
        }
        g.s0 {
            @for point in points.iter().step_by(every) {
                @let at = place((point.intensity, point.reached));
                @if let Some(roof) = point.roof {
                    (path("leader", &[at, place((point.intensity, roof))]))
                }
                (point.draw(at))
            }
        }
    };
    Some(Drawing { height: area.height(), markup })
}

fn is_limited(point: &Point<'_>, limit: Limit) -> bool {
    point.limit == Some(limit)
}

/// The ends of the line of the memory's bandwidth inside the drawing.
fn memory_roof(points: &[Point<'_>], x: (f64, f64), y: (f64, f64)) -> Option<[(f64, f64); 2]> {
    let limited = points.iter().filter(|point| is_limited(point, Limit::Memory));
    // TFLOP/s per operation per byte, which is TB/s.
    let slope =
        limited.filter_map(|point| Some(point.roof? / point.intensity)).max_by(f64::total_cmp)?;
    let top = compute_roofs(points).into_iter().fold(f64::NAN, f64::max).min(y.1);
    let (from, to) = (x.0.max(y.0 / slope), x.1.min(top / slope));
    (from < to).then_some([(from, slope * from), (to, slope * to)])
}

/// The peaks of arithmetic, each once: those of different types differ.
fn compute_roofs(points: &[Point<'_>]) -> Vec<f64> {
    let limited = points.iter().filter(|point| is_limited(point, Limit::Compute));
    let mut peaks: Vec<f64> = limited.filter_map(|point| point.roof).collect();
    peaks.sort_by(f64::total_cmp);
    // Runs on several GPUs of one kind measure peaks that differ a little.
    peaks.dedup_by(|a, b| *a < *b * 1.05);
    peaks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(bytes: f64, flops: f64, limit: Limit) -> Point<'static> {
        let roofline = Roofline { floor_us: 1.0, limit, impossible_us: None };
        Point::new((None, String::new()), (bytes, flops), 2.0, Some(&roofline)).unwrap()
    }

    #[test]
    fn roofs_come_from_the_floors_of_the_cases() {
        let points = [
            point(4e6, 1e6, Limit::Memory),
            point(1e6, 6e7, Limit::Compute),
            point(1e6, 9e8, Limit::Compute),
            point(1e6, 6.1e7, Limit::Compute),
        ];
        assert_eq!(compute_roofs(&points).len(), 2);
        let [from, to] = memory_roof(&points, (0.1, 1000.0), (0.01, 1000.0)).unwrap();
        // 4 TB/s: it begins at the left edge and ends where it meets the highest roof.
        assert!(
            (from.1 / from.0 - 4.0).abs() < 1e-9 && (to.1 - 900.0).abs() < 1e-6,
            "{from:?} {to:?}"
        );
    }
}
