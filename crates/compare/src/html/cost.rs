//! Cost against quality: what was reached for how much money, and at which price per solved op.

use super::{
    context::{Context, speeds_of},
    curves::{drawn, note_of_undrawn, series, shares},
    key::Key,
    markup::Markup,
    number::{Percent, Usd},
    plot::{
        self, About, Area, Axis, LINE, Scale, WIDTH,
        lines::{self, area_for},
        log_domain, spread,
    },
};
use crate::summary::{ArmSummary, CurvePoint, Estimate};

/// An arm with its price and its quality.
type Point<'a> = (&'a Key, &'a ArmSummary, Estimate, Estimate);

/// Writes the section.
pub(crate) fn section(markup: &mut Markup, context: &Context<'_>) {
    let primary = context.primary().unwrap_or("the baseline");
    markup.raw("<section id=\"cost\" aria-labelledby=\"cost-h\"><h2 id=\"cost-h\">");
    markup.raw("Cost against quality</h2><div class=\"plots\">\n");
    course(markup, context, (0, "Correct kernels for money"), &|point| point.correct);
    let fast = format!("Faster than {primary} for money");
    course(markup, context, (1, &fast), &|point| point.fast_1);
    scatter(markup, context);
    markup.raw("</div>");
    note_of_undrawn(markup, context);
    without_cost(markup, context);
    markup.raw("</section>\n");
}

/// Says which arms no plot of cost can show, and why.
fn without_cost(markup: &mut Markup, context: &Context<'_>) {
    let mut said = false;
    // What the plot of price and speedup is about; where nobody was timed it shows what is correct.
    let first = context.measured().first().copied();
    let is_timed = |about: &(&str, Option<&str>)| {
        context.summaries().any(|(_, arm)| geomean(arm, *about).is_some())
    };
    let about = first.filter(is_timed);
    for (key, arm) in context.summaries() {
        let calls = arm.spend.calls;
        let why = if 0 < arm.spend.unpriced {
            format!("{} of {calls} calls have no known price", arm.spend.unpriced)
        } else if !arm.spend.is_paid() {
            "no calls were paid for".to_owned()
        } else if arm.n_solved == 0 {
            "nothing is solved, so that there is no cost per solved op".to_owned()
        } else if let Some(why) = about.and_then(|about| untimed(arm, about)) {
            why
        } else {
            continue;
        };
        markup.raw(if said { "; " } else { "<p class=\"note\">Not in every plot: " });
        markup.text(&key.letter).raw(" ").text(&arm.name).raw(" (").text(why).raw(")");
        said = true;
    }
    if said {
        markup.raw(".</p>");
    }
}

/// Says why an arm that solved something has no speedup of this baseline on this GPU.
fn untimed(arm: &ArmSummary, about: (&str, Option<&str>)) -> Option<String> {
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

fn geomean(arm: &ArmSummary, about: (&str, Option<&str>)) -> Option<Estimate> {
    speeds_of(arm, about)?.long.geomean
}

/// Draws what was reached against the mean cost so far; nothing where no arm has a price.
fn course(
    markup: &mut Markup,
    context: &Context<'_>,
    (nth, title): (usize, &str),
    value: &dyn Fn(&CurvePoint) -> Option<Estimate>,
) {
    let point = |point: &CurvePoint| Some((point.usd.filter(|usd| 0.0 < *usd)?, value(point)?));
    let series = series(context, &|arm| arm.curve.iter().filter_map(point).collect());
    let costs = series.iter().flat_map(|one| &one.points).map(|point| point.0);
    let Some(domain) = log_domain(costs, &[]) else { return };
    let area = area_for(&series);
    let scale = Scale::log(domain, area.x);
    let show = |usd: f64| format!("${}", short_number(usd));
    let x =
        Axis { scale, ticks: scale.ticks(5), show: &show, title: "US dollars per op, log scale" };
    let y = shares(area.up());
    let caption = "Attempt by attempt, against the mean cost so far. Shaded: 95 % interval.";
    let about = About { id: "course", nth, title, caption };
    let usd = |value: f64| Usd(value).to_string();
    let percent = |share: f64| Percent(share).to_string();
    lines::draw(markup, &about, (&x, &y), &series, |markup| {
        lines::table(markup, title, "US dollars per op", &series, (&usd, &percent));
    });
}

/// A number of a tick, without digits that say nothing.
fn short_number(value: f64) -> String {
    let rounded = format!("{value:.2e}").parse::<f64>().unwrap_or(value);
    rounded.to_string()
}

/// Draws the price of a solved op against the geometric mean of speedups, or against the share of
/// right ops where nothing was timed.
fn scatter(markup: &mut Markup, context: &Context<'_>) {
    let first = context.measured().first().copied();
    let timed = points(context, &|arm| geomean(arm, first?));
    let is_timed = !timed.is_empty();
    let points = if is_timed { timed } else { points(context, &|arm| arm.correct) };
    let Some(costs) = log_domain(points.iter().flat_map(|point| ends(&point.2)), &[]) else {
        return;
    };
    let area = Area { x: (48.0, WIDTH - 10.0), y: (26.0, 206.0) };
    let scale = Scale::log(costs, area.x);
    let show = |usd: f64| format!("${}", short_number(usd));
    let ticks = scale.ticks(5);
    let x = Axis { scale, ticks, show: &show, title: "US dollars per solved op, log scale" };
    let times = |value: f64| format!("{}×", short_number(value));
    let over = first.map(|(baseline, _)| format!("geomean of speedups over {baseline}, log scale"));
    let over = over.unwrap_or_default();
    let domain = log_domain(points.iter().flat_map(|point| ends(&point.3)), &[1.0]);
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
    plot::open(markup, &about, area.height());
    plot::axis_left(markup, &area, &y);
    plot::axis_below(markup, &area, &x);
    crosses(markup, &area, (&x.scale, &y.scale), &points);
    plot::close(markup, |_| {});
}

/// The arms that have a price and the quality asked for.
fn points<'a>(
    context: &'a Context<'a>,
    quality: &dyn Fn(&ArmSummary) -> Option<Estimate>,
) -> Vec<Point<'a>> {
    drawn(context)
        .into_iter()
        .map(|index| (&context.keys[index], &context.comparison.arms[index]))
        .filter_map(|(key, arm)| Some((key, arm, arm.cost_per_solved?, quality(arm)?)))
        .filter(|(_, _, cost, _)| 0.0 < cost.value)
        .collect()
}

/// The values that an axis must hold to show an estimate.
fn ends(estimate: &Estimate) -> impl Iterator<Item = f64> {
    [Some(estimate.value), estimate.low, estimate.high].into_iter().flatten()
}

/// Draws every arm as a mark with its intervals and its name.
fn crosses(markup: &mut Markup, area: &Area, (x, y): (&Scale, &Scale), points: &[Point<'_>]) {
    let places: Vec<(f64, f64)> = points
        .iter()
        .map(|(_, _, cost, value)| (x.place(cost.value), y.place(value.value)))
        .collect();
    let wishes: Vec<f64> = places.iter().map(|place| place.1 - 7.0).collect();
    let heights = spread(&wishes, LINE, (area.y.0, area.y.1 - LINE));
    for (((key, arm, cost, value), place), height) in points.iter().zip(places).zip(heights) {
        plot::open_group(markup, key, &arm.name);
        if let Some(span) = cost.interval() {
            let [from, to] = span.map(|cost| (x.place(cost), place.1));
            plot::line(markup, "whisker", from, to);
        }
        if let Some(span) = value.interval() {
            let [from, to] = span.map(|value| (place.0, y.place(value)));
            plot::line(markup, "whisker", from, to);
        }
        plot::mark(markup, key, "mark", place, "");
        let name = format!("{} {}", key.letter, key.short);
        // Names of points on the right half go to the left of them, where there is room.
        if place.0 < f64::midpoint(area.x.0, area.x.1) {
            plot::label(markup, "name", (place.0 + 7.0, height + 3.0), name);
        } else {
            plot::label(markup, "name end", (place.0 - 7.0, height + 3.0), name);
        }
        markup.raw("</g>");
    }
}
