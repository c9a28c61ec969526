//! Times over the least time that the hardware needs.

use kgen_compare::html::{
    number::plain,
    plot::{self, Area, Axis, Drawing, Scale, WIDTH, log_domain},
};
use maud::html;

use super::Context;
use crate::text::duration;

/// Marks that are drawn at most.
const MOST_MARKS: usize = 1500;

/// A timed cell: position of its implementation, floor and median in microseconds, and its name.
struct Point {
    implementation: usize,
    floor: f64,
    time: f64,
    title: String,
}

/// Draws a mark per timed cell whose floor is known; `None` without any.
pub(super) fn drawing(context: &Context<'_>) -> Option<Drawing> {
    let points = points(context);
    let all = || points.iter().flat_map(|point| [point.floor, point.time]);
    let domain = log_domain(all(), &[])?;
    let x_domain = log_domain(points.iter().map(|point| point.floor), &[])?;
    let area = Area { x: (48.0, WIDTH - 14.0), y: (26.0, 226.0) };
    let (x, y) = (Scale::log(x_domain, area.x), Scale::log(domain, area.up()));
    let x_axis =
        Axis { scale: x, ticks: x.ticks(6), show: &plot::tick, title: "floor, µs, log scale" };
    let y_axis =
        Axis { scale: y, ticks: y.ticks(7), show: &plot::tick, title: "time, µs, log scale" };
    let roof = [x_domain.0, x_domain.1].map(|us| (x.place(us), y.place(us)));
    let every = points.len().div_ceil(MOST_MARKS).max(1);
    let markup = html! {
        (plot::axis_left(&area, &y_axis))
        (plot::axis_below(&area, &x_axis))
        (plot::path("roof", &roof))
        @for point in points.iter().step_by(every) {
            @let key = &context.keys[point.implementation];
            g class=(key.class()) {
                (plot::mark(key, (x.place(point.floor), y.place(point.time)), &point.title))
            }
        }
    };
    Some(Drawing { height: area.height(), markup })
}

fn points(context: &Context<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    for case in &context.cases {
        for (implementation, timing) in case.timed() {
            let Some(roofline) = &timing.roofline else { continue };
            let (floor, time) = (roofline.floor_us, timing.time.median_us);
            let is_drawn = [floor, time].iter().all(|us| us.is_finite() && 0.0 < *us);
            let share = plain(roofline.percent_of_floor(time));
            let name = context.name(implementation);
            let title = format!("{name} {case}: {}, {share} % of the floor", duration(time));
            points.extend(is_drawn.then_some(Point { implementation, floor, time, title }));
        }
    }
    points
}
