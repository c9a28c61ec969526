//! Time, bandwidth or speedup over one axis: a line per implementation.

use kgen_compare::{
    Estimate,
    html::plot::{
        self, Axis, Drawing, Scale,
        lines::{Series, area_for},
        log_domain,
    },
};
use maud::html;

use super::{
    Context, Picture,
    panel::{Panel, Quantity},
};
use crate::CellTiming;

/// Confidence of the interval of a time.
const CONFIDENCE: f64 = 0.95;

/// Room that a named value of the horizontal axis needs per digit.
const DIGIT: f64 = 7.5;

/// Lines over the axis at a position; `None` without a value.
pub(super) fn picture(
    context: &Context<'_>,
    panel: &Panel<'_, '_>,
    axis: usize,
    quantity: Quantity,
) -> Option<Picture> {
    let name = context.axis(axis);
    let series = series(context, panel, name, quantity);
    if series.is_empty() {
        return None;
    }
    let words = match quantity {
        Quantity::Time => "Median of a call; shaded: 95 %.",
        Quantity::Bandwidth => "Least traffic over the median.",
        Quantity::Speedup => "Shaded: 99 %.",
    };
    let (op, dtype) = (panel.group.op, panel.group.dtype);
    Some(Picture {
        title: format!("{} over {name}", quantity.name()),
        place: panel.place(context),
        words: words.to_owned(),
        file: format!("{op}_{dtype}_{}_over_{name}", quantity.id()),
        drawing: drawing(&series, name, quantity)?,
        needs_legend: false,
    })
}

fn series<'k>(
    context: &'k Context<'_>,
    panel: &Panel<'_, '_>,
    axis: &str,
    quantity: Quantity,
) -> Vec<Series<'k>> {
    let points = |at: usize| {
        let mut points: Vec<(f64, Estimate)> = Vec::new();
        for case in &panel.slice.cases {
            let timing = case.cells[at].and_then(|cell| cell.timing.as_deref());
            let found = timing.and_then(|timing| estimate(timing, quantity));
            let place = case.axes.get(axis).map(|value| *value as f64);
            points.extend(place.zip(found));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| a.0.total_cmp(&b.0).is_eq());
        points
    };
    let keys = context.keys.iter().enumerate();
    keys.map(|(at, key)| Series { key, points: points(at) })
        .filter(|one| !one.points.is_empty())
        .collect()
}

/// The value of a cell; times are in microseconds.
fn estimate(timing: &CellTiming, quantity: Quantity) -> Option<Estimate> {
    let (value, interval) = match quantity {
        Quantity::Time => (timing.time.median_us, timing.time.median_interval(CONFIDENCE)),
        Quantity::Bandwidth => (timing.gbps()?, None),
        Quantity::Speedup => {
            let comparison = timing.comparison.as_ref()?;
            (comparison.speedup, Some(comparison.ci))
        }
    };
    let (low, high) = interval.map(|[low, high]| (low, high)).unzip();
    let is_drawn = value.is_finite() && 0.0 < value;
    is_drawn.then_some(Estimate { value, low, high, n_ops: 1 })
}

fn drawing(series: &[Series<'_>], axis: &str, quantity: Quantity) -> Option<Drawing> {
    let area = area_for(series);
    let all = || series.iter().flat_map(|one| &one.points);
    let mut places: Vec<f64> = all().map(|(place, _)| *place).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let x = Scale::log((*places.first()?, *places.last()?), area.x);
    let whole = |value: f64| format!("{value:.0}");
    let x = Axis { scale: x, ticks: thinned(&places, &x), show: &whole, title: axis };
    let ends = || all().flat_map(|(_, one)| [Some(one.value), one.low, one.high]).flatten();
    let most = ends().fold(0.0, f64::max);
    // Milliseconds where microseconds would have four digits.
    let unit = if quantity == Quantity::Time && 1e3 <= most { 1e3 } else { 1.0 };
    let show = |value: f64| plot::tick(value / unit);
    let (scale, ticks, title) = match quantity {
        Quantity::Time => {
            let (low, high) = log_domain(ends(), &[])?;
            let ticks = Scale::log((low / unit, high / unit), area.up()).ticks(7);
            let ticks = ticks.into_iter().map(|tick| tick * unit).collect();
            let title = if unit > 1.0 { "ms, log scale" } else { "µs, log scale" };
            (Scale::log((low, high), area.up()), ticks, title)
        }
        Quantity::Bandwidth => {
            let scale = Scale::linear((0.0, 1.05 * most), area.up());
            (scale, scale.ticks(6), "GB/s")
        }
        Quantity::Speedup => {
            let scale = Scale::log(log_domain(ends(), &[1.0])?, area.up());
            (scale, scale.ratio_ticks(7), "speedup, log scale")
        }
    };
    let one = scale.place(1.0);
    let y = Axis { scale, ticks, show: &show, title };
    let Drawing { height, markup } = plot::lines::drawing((&x, &y), series);
    let markup = html! {
        @if quantity == Quantity::Speedup {
            (plot::path("one", &[(area.x.0, one), (area.x.1, one)]))
        }
        (markup)
    };
    Some(Drawing { height, markup })
}

/// The values of an axis that can be named without lying on each other: the last one, and those before
/// it that leave room.
fn thinned(places: &[f64], scale: &Scale) -> Vec<f64> {
    let mut named: Vec<f64> = Vec::new();
    let mut left = f64::INFINITY;
    for place in places.iter().rev() {
        let (middle, half) = (scale.place(*place), DIGIT * digits(*place) / 2.0);
        if middle + half < left {
            named.push(*place);
            left = middle - half;
        }
    }
    named
}

fn digits(value: f64) -> f64 {
    value.max(1.0).log10().floor() + 1.0
}
