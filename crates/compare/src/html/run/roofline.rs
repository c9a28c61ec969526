//! The roofline: arithmetic reached in each timed case over its intensity, below the roofs that the
//! floors of the cases give.
//!
//! Source: Williams, Waterman and Patterson 2009, "Roofline: an insightful visual performance model".

use kgen_measure::roofline::Limit;
use maud::{Markup, html};

use crate::{
    data::{Run, TimedCase},
    html::{
        number::plain,
        plot::{self, About, Area, Axis, Scale, WIDTH, log_domain, px},
        section as framed,
    },
};

/// Cases that are drawn at most.
const MOST_POINTS: usize = 1500;

/// A case on the drawing.
struct Point<'a> {
    op: &'a str,
    case: &'a TimedCase,
    /// Floating-point operations per byte.
    intensity: f64,
    /// TFLOP/s that the kernel reached, and that its floor allows.
    reached: f64,
    roof: Option<f64>,
}

impl<'a> Point<'a> {
    /// `None` where a case has no place on logarithmic axes.
    fn new(op: &'a str, case: &'a TimedCase) -> Option<Self> {
        let per_us = |us: f64| case.flops / us * 1e-6;
        let intensity = case.flops / case.bytes;
        let reached = per_us(case.kernel.median_us);
        let is_drawn = |value: f64| value.is_finite() && 0.0 < value;
        let roof = case.roofline.as_ref().map(|roofline| per_us(roofline.floor_us));
        let roof = roof.filter(|roof| is_drawn(*roof));
        (is_drawn(intensity) && is_drawn(reached)).then_some(Self {
            op,
            case,
            intensity,
            reached,
            roof,
        })
    }
}

fn points(run: &Run) -> Vec<Point<'_>> {
    let ops = run.ops.iter().filter(|op| op.solved);
    ops.flat_map(|op| op.timed.iter().filter_map(|case| Point::new(&op.name, case))).collect()
}

/// Whether there is anything to draw.
pub(super) fn has_points(run: &Run) -> bool {
    !points(run).is_empty()
}

/// The section; nothing where no case has a place on it.
pub(super) fn section(run: &Run) -> Markup {
    let points = points(run);
    let domains = (
        log_domain(points.iter().map(|point| point.intensity), &[]),
        log_domain(
            points.iter().flat_map(|point| [Some(point.reached), point.roof]).flatten(),
            &[],
        ),
    );
    let (Some(x), Some(y)) = domains else { return Markup::default() };
    let n_timed: usize = run.ops.iter().map(|op| op.timed.len()).sum();
    framed(
        "roofline",
        "Roofline",
        html! {
            div.plots { (figure(&points, x, y)) }
            @if points.len() < n_timed {
                p.note {
                    (n_timed - points.len()) " timed cases have no floating-point arithmetic, or are of ops "
                    "that are not solved; the times of each op have their share of the floor."
                }
            }
        },
    )
}

fn figure(points: &[Point<'_>], x_domain: (f64, f64), y_domain: (f64, f64)) -> Markup {
    let area = Area { x: (48.0, WIDTH - 14.0), y: (26.0, 226.0) };
    let (x, y) = (Scale::log(x_domain, area.x), Scale::log(y_domain, area.up()));
    let show = |value: f64| value.to_string();
    let x_axis = Axis {
        scale: x,
        ticks: x.ticks(6),
        show: &show,
        title: "floating-point operations per byte, log scale",
    };
    let y_axis = Axis { scale: y, ticks: y.ticks(7), show: &show, title: "TFLOP/s, log scale" };
    let place = |(at, value): (f64, f64)| (x.place(at), y.place(value));
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let drawing = html! {
        (plot::axis_left(&area, &y_axis))
        (plot::axis_below(&area, &x_axis))
        @if let Some(ends) = memory_roof(points, x_domain, y_domain) {
            (plot::path("roof", &ends.map(place)))
        }
        @for peak in compute_roofs(points) {
            (plot::path("roof", &[(x_domain.0, peak), (x_domain.1, peak)].map(place)))
        }
        g.s0 {
            @for point in points.iter().step_by(every) {
                @let at = place((point.intensity, point.reached));
                @if let Some(roof) = point.roof {
                    (plot::path("leader", &[at, place((point.intensity, roof))]))
                }
                circle.dot r="3" cx=(px(at.0)) cy=(px(at.1)) { title { (title(point)) } }
            }
        }
    };
    let about = About {
        id: "roof",
        nth: 0,
        title: "Arithmetic reached, and the limit of the hardware",
        caption: "One dot per timed case, with a line to the limit of that case: of the memory (slanted), or of \
                  the arithmetic of its types (level).",
    };
    plot::figure(&about, area.height(), &drawing, &Markup::default())
}

/// `mm self=f32[1024,1024]: 12.8 TFLOP/s, 19.2 % of the floor`.
fn title(point: &Point<'_>) -> String {
    let share = point.roof.map(|roof| 100.0 * point.reached / roof);
    let share = share.map(|share| format!(", {} % of the floor", plain(share)));
    let share = share.unwrap_or_default();
    format!("{} {}: {} TFLOP/s{share}", point.op, point.case.args, plain(point.reached))
}

fn is_limited(point: &Point<'_>, limit: Limit) -> bool {
    point.case.roofline.as_ref().is_some_and(|roofline| roofline.limit == limit)
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
    use kgen_measure::{Timing, roofline::Roofline};

    use super::*;

    fn case(bytes: f64, flops: f64, floor_us: f64, limit: Limit) -> TimedCase {
        TimedCase {
            args: String::new(),
            bytes,
            flops,
            roofline: Some(Roofline { floor_us, limit, impossible_us: None }),
            kernel: Timing::of(vec![2.0 * floor_us]).unwrap(),
            baselines: Vec::new(),
        }
    }

    fn point(case: &TimedCase) -> Point<'_> {
        let roof = case.flops / case.roofline.as_ref().unwrap().floor_us * 1e-6;
        Point {
            op: "a",
            case,
            intensity: case.flops / case.bytes,
            reached: roof / 2.0,
            roof: Some(roof),
        }
    }

    #[test]
    fn roofs_come_from_the_floors_of_the_cases() {
        let memory = case(4e6, 1e6, 1.0, Limit::Memory);
        let (slow, fast) =
            (case(1e6, 6e7, 1.0, Limit::Compute), case(1e6, 9e8, 1.0, Limit::Compute));
        let again = case(1e6, 6.1e7, 1.0, Limit::Compute);
        let points: Vec<Point<'_>> = [&memory, &slow, &fast, &again].map(point).into();
        assert_eq!(compute_roofs(&points).len(), 2);
        let [from, to] = memory_roof(&points, (0.1, 1000.0), (0.01, 1000.0)).unwrap();
        // 4 TB/s: it begins at the left edge and ends where it meets the highest roof.
        assert!(
            (from.1 / from.0 - 4.0).abs() < 1e-9 && (to.1 - 900.0).abs() < 1e-6,
            "{from:?} {to:?}"
        );
    }
}
