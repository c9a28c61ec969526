//! Distributions of samples: a row of strokes for each implementation, on one axis.

use kgen_measure::Timing;
use maud::{Markup, html};

use super::{Area, Axis, Drawing, Scale, WIDTH, axis_below, label, log_domain, path, px, tick};
use crate::html::{key::shorten, number::plain};

/// Height of a row.
const ROW: f64 = 31.0;

/// Strokes of a row at most; of more samples, every so many by rank is drawn.
const MOST_STROKES: usize = 120;

/// The samples of one implementation.
pub struct Row<'a> {
    /// Its name.
    pub name: &'a str,
    /// Class that sets its colour.
    pub class: String,
    /// Its samples.
    pub timing: &'a Timing,
}

/// Draws a row per implementation; `None` without samples.
#[must_use]
pub fn drawing(rows: &[Row<'_>]) -> Option<Drawing> {
    let samples = rows.iter().flat_map(|row| row.timing.samples_us.iter().copied());
    let domain = log_domain(samples, &[])?;
    let area = Area { x: (8.0, WIDTH - 14.0), y: (4.0, 4.0 + ROW * rows.len() as f64) };
    let scale = Scale::log(domain, area.x);
    let axis = Axis { scale, ticks: scale.ticks(4), show: &tick, title: "µs, log scale" };
    let markup = html! {
        (axis_below(&area, &axis))
        @for (at, Row { name, class, timing }) in rows.iter().enumerate() {
            @let top = area.y.0 + ROW * at as f64;
            @let values = format!("{} µs, {} samples", plain(timing.median_us), timing.samples_us.len());
            g class=(class) {
                (label("name", (area.x.0, top + 11.0), &shorten(name, 24)))
                (label("tick end", (area.x.1, top + 11.0), &values))
                (strokes(&scale, top, &timing.samples_us))
                @let median = scale.place(timing.median_us);
                (path("centre", &[(median, top + 15.0), (median, top + 29.0)]))
            }
        }
    };
    Some(Drawing { height: area.height(), markup })
}

/// Samples as upright strokes in one path, which stays small.
fn strokes(scale: &Scale, top: f64, samples: &[f64]) -> Markup {
    let mut ascending = samples.to_vec();
    ascending.sort_by(f64::total_cmp);
    let every = ascending.len().div_ceil(MOST_STROKES).max(1);
    // Both ends are always there.
    let last = ascending.len().checked_sub(1).filter(|last| last % every != 0);
    let drawn = ascending.iter().step_by(every).chain(last.map(|last| &ascending[last]));
    html! {
        path.stroke d={
            @for sample in drawn { "M" (px(scale.place(*sample))) " " (px(top + 17.0)) "v10" }
        } {}
    }
}
