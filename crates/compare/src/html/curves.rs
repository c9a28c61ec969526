//! Learning curves: how much is right, and how much is fast, after so many attempts at each op.

use maud::{Markup, html};

use super::{
    context::Context,
    plot::{
        About, Axis, Scale,
        lines::{self, Series, area_for},
    },
    section as framed,
};
use crate::summary::{ArmSummary, CurvePoint, Estimate};

/// Arms that are drawn at most; more lines cannot be distinguished.
pub(crate) const MOST_ARMS: usize = 12;

/// The section.
pub(crate) fn section(context: &Context<'_>) -> Markup {
    let primary = context.primary().unwrap_or("the baseline");
    let fast = format!("Correct and faster than {primary}");
    framed(
        "curves",
        "By attempt",
        html! {
            div.plots {
                (figure(context, (0, "Correct kernels"), &|point| point.correct))
                (figure(context, (1, &fast), &|point| point.fast_1))
            }
            (note_of_undrawn(context))
        },
    )
}

/// Which arms have no line.
pub(crate) fn note_of_undrawn(context: &Context<'_>) -> Markup {
    let n_arms = context.comparison.arms.len();
    html! {
        @if MOST_ARMS < n_arms {
            p.note {
                "Drawn are the " (MOST_ARMS) " arms of " (n_arms)
                " with the highest share of correct kernels; the tables have all."
            }
        }
    }
}

/// One curve per arm; nothing where no arm has a point.
fn figure(
    context: &Context<'_>,
    (nth, title): (usize, &str),
    value: &dyn Fn(&CurvePoint) -> Option<Estimate>,
) -> Markup {
    let point = |point: &CurvePoint| Some((f64::from(point.attempts), value(point)?));
    let series = series(context, &|arm| arm.curve.iter().filter_map(point).collect());
    let last = series.iter().flat_map(|one| &one.points).map(|point| point.0).fold(0.0, f64::max);
    if series.is_empty() {
        return Markup::default();
    }
    let area = area_for(&series);
    let scale = Scale::linear((1.0, last), area.x);
    let ticks = scale.ticks(8).into_iter().filter(|tick| (tick - tick.round()).abs() < 1e-9);
    let show = |attempts: f64| format!("{attempts:.0}");
    let x = Axis { scale, ticks: ticks.collect(), show: &show, title: "attempts" };
    let caption = "After so many attempts at each op. Shaded: 95 % interval.";
    let about = About { id: "curve", nth, title, caption };
    lines::figure(&about, (&x, &shares(area.up())), &series, ("attempts", &show))
}

/// The upright axis of shares, always from none to all.
pub(crate) fn shares(range: (f64, f64)) -> Axis<'static> {
    let scale = Scale::linear((0.0, 1.0), range);
    let show = &|share: f64| format!("{:.0}", share * 100.0);
    Axis { scale, ticks: scale.ticks(6), show, title: "% of ops" }
}

/// Positions of the arms that are drawn, ascending: those with the most correct kernels.
pub(crate) fn drawn(context: &Context<'_>) -> Vec<usize> {
    let correct = |index: &usize| context.comparison.arms[*index].correct.map_or(0.0, |c| c.value);
    let mut drawn: Vec<usize> = (0..context.comparison.arms.len()).collect();
    drawn.sort_by(|a, b| correct(b).total_cmp(&correct(a)));
    drawn.truncate(MOST_ARMS);
    drawn.sort_unstable();
    drawn
}

/// The drawn arms that have points, in their order.
pub(crate) fn series<'a>(
    context: &'a Context<'a>,
    points: &dyn Fn(&ArmSummary) -> Vec<(f64, Estimate)>,
) -> Vec<Series<'a>> {
    drawn(context)
        .into_iter()
        .map(|index| {
            let arm = &context.comparison.arms[index];
            Series { key: &context.keys[index], points: points(arm) }
        })
        .filter(|one| !one.points.is_empty())
        .collect()
}
