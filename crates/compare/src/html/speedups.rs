//! Distributions of speedups: every op as a dot, and shares of ops that are faster than so many
//! times the baseline.

use maud::{Markup, html};

use super::{
    context::{Context, Measured, speeds_of},
    curves::{note_of_undrawn, series, shares},
    key::Key,
    number::times,
    plot::{
        self, About, Area, Axis, Scale, WIDTH,
        lines::{self, area_for},
        log_domain, px,
    },
    section as framed,
};
use crate::summary::{ArmSummary, Estimate, FACTORS, Speeds};

/// Height of an arm's row.
const ROW: f64 = 40.0;

/// Dots of an arm at most; of more ops, every so many by rank is drawn.
const MOST_DOTS: usize = 240;

/// The section; nothing where nothing was timed.
pub(crate) fn section(context: &Context<'_>) -> Markup {
    let measured = context.measured();
    if measured.is_empty() {
        return Markup::default();
    }
    // One domain for all, so that baselines can be compared by eye.
    let values = measured.iter().flat_map(|about| {
        let speeds = context.comparison.arms.iter().filter_map(|arm| speeds_of(arm, *about));
        speeds.flat_map(|speeds| &speeds.long.ops).map(|(_, value)| *value)
    });
    let domain = log_domain(values, &[1.0]);
    let drawings = |(nth, about): (usize, &Measured<'_>)| {
        html! {
            @if let Some(domain) = domain { (strips(context, nth, *about, domain)) }
            (profile(context, nth, *about))
        }
    };
    framed(
        "speedups",
        "Speedups",
        html! {
            p {
                "Without the cases that launch overhead dominates. Dots are ops that are solved and "
                "measured."
            }
            div.plots {
                @for (nth, about) in measured.iter().enumerate() {
                    // Several stand beside each other, each with its drawings below each other.
                    @if 1 < measured.len() {
                        div { h3 { (name_of(*about)) } (drawings((nth, about))) }
                    } @else {
                        (drawings((nth, about)))
                    }
                }
            }
            (note_of_undrawn(context))
        },
    )
}

/// `aten`, or `aten on NVIDIA H200`.
fn name_of((baseline, gpu): Measured<'_>) -> String {
    gpu.map_or_else(|| baseline.to_owned(), |gpu| format!("{baseline} on {gpu}"))
}

/// A row of dots per arm.
fn strips(context: &Context<'_>, nth: usize, about: Measured<'_>, domain: (f64, f64)) -> Markup {
    let rows: Vec<(&Key, &ArmSummary, &Speeds)> = context
        .summaries()
        .filter_map(|(key, arm)| Some((key, arm, speeds_of(arm, about)?)))
        .collect();
    let area = Area { x: (8.0, WIDTH - 8.0), y: (10.0, 10.0 + ROW * rows.len() as f64) };
    let scale = Scale::log(domain, area.x);
    let up = |value: f64| [(scale.place(value), area.y.0), (scale.place(value), area.y.1)];
    let show = |value: f64| format!("{value}×");
    let title = format!("speedup over {}, log scale", about.0);
    let axis = Axis { scale, ticks: scale.ratio_ticks(7), show: &show, title: &title };
    let drawing = html! {
        @for tick in &axis.ticks { (plot::path("grid", &up(*tick))) }
        (plot::axis_below(&area, &axis))
        @if scale.holds(1.0) { (plot::path("one", &up(1.0))) }
        @for (row, (key, arm, speeds)) in rows.iter().enumerate() {
            @let top = area.y.0 + ROW * row as f64;
            @let counts = format!("{} of {} ops", speeds.long.ops.len(), arm.n_ops);
            (plot::group(key, &html! {
                (plot::label("name", (area.x.0, top + 11.0), &key.label()))
                (plot::label("tick end", (area.x.1, top + 11.0), &counts))
                (dots(&scale, top + 25.0, &speeds.long.ops))
                @if let Some(median) = &speeds.long.median {
                    (interval(&scale, top + 25.0, median))
                }
            }))
        }
    };
    let heading = format!("Speedups over {}", about.0);
    let caption = "One dot per op; the bar is the median with its 95 % interval.";
    let about = About { id: "strip", nth, title: &heading, caption };
    plot::figure(&about, area.height(), &drawing, &Markup::default())
}

/// Ops as dots, moved up and down a little so that equal ones can be seen.
fn dots(scale: &Scale, y: f64, ops: &[(String, f64)]) -> Markup {
    let every = ops.len().div_ceil(MOST_DOTS).max(1);
    html! {
        @for (at, (op, value)) in ops.iter().enumerate().step_by(every) {
            // Neighbours by value go to places far apart: the golden ratio's fractional parts.
            @let offset = (at as f64 * 0.618_034).fract() * 12.0 - 6.0;
            circle.dot r="2.4" cx=(px(scale.place(*value))) cy=(px(y + offset)) {
                title { (op) " " (times(*value)) }
            }
        }
    }
}

/// An estimate as an upright bar with its interval across.
fn interval(scale: &Scale, y: f64, estimate: &Estimate) -> Markup {
    let x = scale.place(estimate.value);
    html! {
        @if let Some(ends) = estimate.interval() {
            (plot::path("span", &ends.map(|end| (scale.place(end), y))))
        }
        (plot::path("centre", &[(x, y - 9.0), (x, y + 9.0)]))
    }
}

/// The shares of right ops, and of those faster than so many times the baseline.
fn profile(context: &Context<'_>, nth: usize, about: Measured<'_>) -> Markup {
    let points = |arm: &ArmSummary| {
        let Some(speeds) = speeds_of(arm, about) else { return Vec::new() };
        let fast = (1u32..).zip(&speeds.long.fast);
        let fast = fast.filter_map(|(at, fast)| Some((f64::from(at), fast.share?)));
        arm.correct.map(|correct| (0.0, correct)).into_iter().chain(fast).collect()
    };
    let series = series(context, &points);
    if series.is_empty() {
        return Markup::default();
    }
    let area = area_for(&series);
    let show = |at: f64| {
        let factor = (1u32..).zip(FACTORS).find(|(n, _)| f64::from(*n).total_cmp(&at).is_eq());
        factor.map_or_else(|| "correct".to_owned(), |(_, factor)| format!("{factor}×"))
    };
    let places = (0u32..).map(f64::from).take(FACTORS.len() + 1);
    let scale = Scale::linear((0.0, FACTORS.len() as f64), (area.x.0 + 10.0, area.x.1));
    let x = Axis { scale, ticks: places.collect(), show: &show, title: "times as fast, more than" };
    let title = format!("Correct, and faster than {}", about.0);
    let caption = "What is not solved counts as not fast. Shaded: 95 % interval.";
    let about = About { id: "profile", nth, title: &title, caption };
    lines::figure(&about, (&x, &shares(area.up())), &series, ("faster than", &show))
}
