//! Cost against quality: the quality reached for how much money, and the price per solved op.

use maud::{Markup, html};

use super::{
    context::{Context, Measured, speeds_of},
    curves::{drawn, note_of_undrawn, series, shares},
    key::Key,
    number::usd,
    plot::{
        self, About, Area, Axis, LINE, Scale, WIDTH,
        lines::{self, area_for},
        log_domain, spread,
    },
    section as framed,
};
use crate::summary::{ArmSummary, CurvePoint, Estimate};

/// The key of an arm with its price and its quality.
type Point<'a> = (&'a Key, Estimate, Estimate);

/// The section.
pub(crate) fn section(context: &Context<'_>) -> Markup {
    let primary = context.primary().unwrap_or("the baseline");
    let fast = format!("Faster than {primary} for money");
    framed(
        "cost",
        "Cost against quality",
        html! {
            div.plots {
                (course(context, (0, "Correct kernels for money"), &|point| point.correct))
                (course(context, (1, &fast), &|point| point.fast_1))
                (scatter(context))
            }
            (note_of_undrawn(context))
            (without_cost(context))
        },
    )
}

/// The arms that no plot of cost can show, and why.
fn without_cost(context: &Context<'_>) -> Markup {
    // The baseline of the plot of price and speedup; where nobody was timed it shows shares of correct ops.
    let first = context.measured().first().copied();
    let is_timed =
        |about: &Measured<'_>| context.summaries().any(|(_, arm)| geomean(arm, *about).is_some());
    let about = first.filter(is_timed);
    let why = |(key, arm): (&Key, &ArmSummary)| {
        let spend = &arm.spend;
        let why = if 0 < spend.unpriced {
            format!("{} of {} calls have no known price", spend.unpriced, spend.calls)
        } else if !spend.is_paid() {
            "no calls were paid for".to_owned()
        } else if arm.n_solved == 0 {
            "nothing is solved, so that there is no cost per solved op".to_owned()
        } else {
            untimed(arm, about?)?
        };
        Some(format!("{} ({why})", key.letter))
    };
    let missing: Vec<String> = context.summaries().filter_map(why).collect();
    html! {
        @if !missing.is_empty() { p.note { "Not in every plot: " (missing.join("; ")) "." } }
    }
}

/// Why an arm that solved something has no speedup of this baseline on this GPU.
fn untimed(arm: &ArmSummary, about: Measured<'_>) -> Option<String> {
    if geomean(arm, about).is_some() {
        return None;
    }
    let (baseline, gpu) = about;
    let elsewhere = arm.speeds.iter().any(|speeds| {
        speeds.baseline == baseline && speeds.gpu.as_deref() != gpu && speeds.long.geomean.is_some()
    });
    Some(if elsewhere {
        "timed on another GPU".to_owned()
    } else {
        format!("not timed against {baseline}")
    })
}

fn geomean(arm: &ArmSummary, about: Measured<'_>) -> Option<Estimate> {
    speeds_of(arm, about)?.long.geomean
}

/// The quality reached against the mean cost so far; nothing where no arm has a price.
fn course(
    context: &Context<'_>,
    (nth, title): (usize, &str),
    value: &dyn Fn(&CurvePoint) -> Option<Estimate>,
) -> Markup {
    let point = |point: &CurvePoint| Some((point.usd.filter(|usd| 0.0 < *usd)?, value(point)?));
    let series = series(context, &|arm| arm.curve.iter().filter_map(point).collect());
    let costs = series.iter().flat_map(|one| &one.points).map(|point| point.0);
    let Some(domain) = log_domain(costs, &[]) else { return Markup::default() };
    let area = area_for(&series);
    let scale = Scale::log(domain, area.x);
    let show = |usd: f64| format!("${}", short_number(usd));
    let x =
        Axis { scale, ticks: scale.ticks(5), show: &show, title: "US dollars per op, log scale" };
    let caption = "Attempt by attempt, against the mean cost so far. Shaded: 95 % interval.";
    let about = About { id: "course", nth, title, caption };
    lines::figure(&about, (&x, &shares(area.up())), &series, ("US dollars per op", &usd))
}

/// A number of a tick, without digits that say nothing.
fn short_number(value: f64) -> String {
    let rounded = format!("{value:.2e}").parse::<f64>().unwrap_or(value);
    rounded.to_string()
}

/// The price of a solved op against the geometric mean of speedups, or against the share of right ops
/// where nothing was timed.
fn scatter(context: &Context<'_>) -> Markup {
    let first = context.measured().first().copied();
    let timed = points(context, &|arm| geomean(arm, first?));
    let is_timed = !timed.is_empty();
    let points = if is_timed { timed } else { points(context, &|arm| arm.correct) };
    let Some(costs) = log_domain(points.iter().flat_map(|point| ends(&point.1)), &[]) else {
        return Markup::default();
    };
    let area = Area { x: (48.0, WIDTH - 10.0), y: (26.0, 206.0) };
    let scale = Scale::log(costs, area.x);
    let show = |usd: f64| format!("${}", short_number(usd));
    let ticks = scale.ticks(5);
    let x = Axis { scale, ticks, show: &show, title: "US dollars per solved op, log scale" };
    let times = |value: f64| format!("{}×", short_number(value));
    let over = first.map(|(baseline, _)| format!("geomean of speedups over {baseline}, log scale"));
    let over = over.unwrap_or_default();
    let domain = log_domain(points.iter().flat_map(|point| ends(&point.2)), &[1.0]);
    let y = match domain.filter(|_| is_timed) {
        Some(domain) => {
            let scale = Scale::log(domain, area.up());
            Axis { scale, ticks: scale.ratio_ticks(5), show: &times, title: &over }
        }
        None => shares(area.up()),
    };
    let title = if is_timed { "Price and speedup" } else { "Price and correct kernels" };
    let caption = "What a solved op costs. Crosses are 95 % intervals.";
    let about = About { id: "price", nth: 0, title, caption };
    let drawing = html! {
        (plot::axis_left(&area, &y))
        (plot::axis_below(&area, &x))
        (crosses(&area, (&x.scale, &y.scale), &points))
    };
    plot::figure(&about, area.height(), &drawing, &Markup::default())
}

/// The arms that have a price and the quality asked for.
fn points<'a>(
    context: &'a Context<'a>,
    quality: &dyn Fn(&ArmSummary) -> Option<Estimate>,
) -> Vec<Point<'a>> {
    drawn(context)
        .into_iter()
        .map(|index| (&context.keys[index], &context.comparison.arms[index]))
        .filter_map(|(key, arm)| Some((key, arm.cost_per_solved?, quality(arm)?)))
        .filter(|(_, cost, _)| 0.0 < cost.value)
        .collect()
}

/// The values that an axis must hold to show an estimate.
fn ends(estimate: &Estimate) -> impl Iterator<Item = f64> {
    [Some(estimate.value), estimate.low, estimate.high].into_iter().flatten()
}

/// Every arm as a mark with its intervals and its name.
fn crosses(area: &Area, (x, y): (&Scale, &Scale), points: &[Point<'_>]) -> Markup {
    let place = |cost: f64, value: f64| (x.place(cost), y.place(value));
    let wishes: Vec<f64> = points.iter().map(|(_, _, value)| y.place(value.value) - 7.0).collect();
    let heights = spread(&wishes, LINE, (area.y.0, area.y.1 - LINE));
    html! {
        @for ((key, cost, value), height) in points.iter().zip(heights) {
            @let at = place(cost.value, value.value);
            // Names of points on the right half go to the left of them, where there is room.
            @let is_left = at.0 < f64::midpoint(area.x.0, area.x.1);
            @let (class, away) = if is_left { ("name", 7.0) } else { ("name end", -7.0) };
            (plot::group(key, &html! {
                @if let Some(span) = cost.interval() {
                    (plot::path("whisker", &span.map(|cost| place(cost, value.value))))
                }
                @if let Some(span) = value.interval() {
                    (plot::path("whisker", &span.map(|value| place(cost.value, value))))
                }
                (plot::mark(key, at, ""))
                (plot::label(class, (at.0 + away, height + 3.0), &key.label()))
            }))
        }
    }
}
