//! One line per arm through its estimates, with the arm's name at its end.

use maud::{Markup, html};

use super::{
    About, Area, Axis, Drawing, LINE, WIDTH, axis_below, axis_left, group, label, mark, path,
    spread,
};
use crate::{
    html::{cell, key::Key, number::percent},
    summary::Estimate,
};

/// Arms whose intervals are drawn as bands; of more, bands hide each other and only the ends get
/// their interval.
const MOST_BANDS: usize = 4;

/// Width of a letter of a name in the widest of the usual fonts.
const LETTER: f64 = 7.4;

/// Points of a line up to which each is marked.
const MOST_MARKS: usize = 12;

/// The estimates of one arm.
pub struct Series<'a> {
    /// Its looks.
    pub key: &'a Key,
    /// Places on the horizontal axis with the estimates there, ascending.
    pub points: Vec<(f64, Estimate)>,
}

/// Where a point lies in the drawing.
type Projection<'a> = dyn Fn(f64, f64) -> (f64, f64) + 'a;

/// Room for the names right of the area.
#[must_use]
pub fn area_for(series: &[Series<'_>]) -> Area {
    let names = 18.0 + series.iter().map(|one| width_of(one.key)).fold(0.0, f64::max);
    Area { x: (34.0, WIDTH - names), y: (26.0, 206.0) }
}

/// A figure of lines. `numbers`: the title of the first column of its table, and how its places are
/// written there.
pub(crate) fn figure(
    about: &About<'_>,
    (x, y): (&Axis<'_>, &Axis<'_>),
    series: &[Series<'_>],
    numbers: (&str, &dyn Fn(f64) -> String),
) -> Markup {
    let Drawing { height, markup } = drawing((x, y), series);
    super::figure(about, height, &markup, &table(about.title, series, numbers))
}

/// The lines with their axes, whose scales lie in the area of [`area_for`].
#[must_use]
pub fn drawing((x, y): (&Axis<'_>, &Axis<'_>), series: &[Series<'_>]) -> Drawing {
    let area = area_for(series);
    let place = |at: f64, value: f64| (x.scale.place(at), y.scale.place(value));
    let has_bands = series.len() <= MOST_BANDS;
    let markup = html! {
        (axis_left(&area, y))
        (axis_below(&area, x))
        @if has_bands { @for one in series { (band(one, &place)) } }
        @for one in series {
            @let places = places_of(one, &place);
            @let marked = if places.len() <= MOST_MARKS { 0 } else { places.len() - 1 };
            (group(one.key, &html! {
                (path("line", &places))
                @for (at, point) in places.iter().zip(&one.points).skip(marked) {
                    @let (value, place) = ((y.show)(point.1.value), (x.show)(point.0));
                    (mark(one.key, *at, &format!("{}: {value} at {place}", one.key.title())))
                }
                @if let (Some((at, end)), false) = (one.points.last(), has_bands)
                    && let Some(ends) = end.interval() {
                    (path("whisker", &ends.map(|value| place(*at, value))))
                }
            }))
        }
        (names(&area, series, &place))
    };
    Drawing { height: area.height(), markup }
}

/// The points of a line in the drawing.
fn places_of(series: &Series<'_>, place: &Projection<'_>) -> Vec<(f64, f64)> {
    series.points.iter().map(|(x, estimate)| place(*x, estimate.value)).collect()
}

/// The interval of a line as an area behind it.
fn band(series: &Series<'_>, place: &Projection<'_>) -> Markup {
    let mut outline = Vec::new();
    for (x, estimate) in &series.points {
        let Some([low, high]) = estimate.interval() else { continue };
        outline.push(place(*x, high));
        outline.insert(0, place(*x, low));
    }
    let class = format!("band {}", series.key.class());
    html! { @if 4 <= outline.len() { (path(&class, &outline)) } }
}

/// Each arm's name right of the area, as high as its line ends there.
fn names(area: &Area, series: &[Series<'_>], place: &Projection<'_>) -> Markup {
    let lines: Vec<Vec<(f64, f64)>> = series.iter().map(|one| places_of(one, place)).collect();
    let ends: Vec<(&Key, (f64, f64))> = series
        .iter()
        .zip(&lines)
        .filter_map(|(one, line)| Some((one.key, *line.last()?)))
        .collect();
    let wishes: Vec<f64> = ends.iter().map(|(_, end)| end.1).collect();
    let together = ends.iter().all(|(_, end)| area.x.1 - 1.0 < end.0);
    let places: Vec<(f64, f64)> = if together {
        let heights = spread(&wishes, LINE, (area.y.0, area.y.1));
        heights.into_iter().map(|y| (area.x.1 + 11.0, y)).collect()
    } else {
        let sizes = ends.iter().map(|(key, end)| (*end, width_of(key)));
        let lines: Vec<(f64, f64)> = lines.iter().flat_map(|line| dotted(line)).collect();
        clear_places(sizes, (area.y.0, area.y.1), &lines)
    };
    html! {
        @for ((key, end), (x, y)) in ends.into_iter().zip(places) {
            g class=(key.class()) {
                @if 2.0 < (y - end.1).abs() {
                    (path("leader", &[(end.0 + 5.0, end.1), (x - 4.0, y), (x - 2.0, y)]))
                }
                (label("name", (x, y + 4.0), &key.label()))
            }
        }
    }
}

/// Width of the text beside a line.
fn width_of(key: &Key) -> f64 {
    LETTER * key.label().chars().count() as f64
}

/// A line as points a few units apart.
fn dotted(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let between = |ends: &[(f64, f64)]| {
        let (from, to) = (ends[0], ends[1]);
        (0..=16)
            .map(f64::from)
            .map(|n| n / 16.0)
            .map(move |part| (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1)))
    };
    line.windows(2).flat_map(between).collect()
}

/// Places right of points, each as near to its point as those before leave room, and off `lines` where
/// that is possible.
fn clear_places(
    ends: impl Iterator<Item = ((f64, f64), f64)>,
    (top, bottom): (f64, f64),
    lines: &[(f64, f64)],
) -> Vec<(f64, f64)> {
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for ((x, y), width) in ends {
        let from = x + 11.0;
        let is_free = |y: f64| {
            top - 1.0 <= y
                && y <= bottom + 1.0
                && taken.iter().all(|(left, right, at)| {
                    from + width < *left || *right < from || LINE <= (y - at).abs() + 0.01
                })
        };
        let is_clear = |y: f64| {
            let on = |(at_x, at_y): &(f64, f64)| {
                from - 4.0 < *at_x && *at_x < from + width && (at_y - y).abs() < LINE / 2.0
            };
            !lines.iter().any(on)
        };
        let wanted = || (0u32..256).map(f64::from).flat_map(|n| [y + n, y - n]);
        let clear = wanted().take(64).find(|y| is_free(*y) && is_clear(*y));
        let free = clear.or_else(|| wanted().find(|y| is_free(*y)));
        taken.push((from, from + width, free.unwrap_or(y)));
    }
    taken.into_iter().map(|(left, _, y)| (left, y)).collect()
}

/// The numbers of a figure as a table, for those who cannot see it or want them.
fn table(
    title: &str,
    series: &[Series<'_>],
    (column, show): (&str, &dyn Fn(f64) -> String),
) -> Markup {
    let mut places: Vec<f64> =
        series.iter().flat_map(|one| one.points.iter().map(|(x, _)| *x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let head = html! {
        tr {
            th scope="col" { (column) }
            @for one in series { th scope="col" { (one.key.label()) } }
        }
    };
    let rows = html! {
        @for x in places {
            tr {
                th scope="row" { (show(x)) }
                @for one in series {
                    @let found = one.points.iter().find(|point| point.0.total_cmp(&x).is_eq());
                    td {
                        @if let Some((_, estimate)) = found {
                            (percent(estimate.value))
                            @if let Some([low, high]) = estimate.interval() {
                                small { (percent(low)) "–" (percent(high)) }
                            }
                        } @else { "–" }
                    }
                }
            }
        }
    };
    html! {
        details.numbers { summary { "Numbers" } (cell::table("", title, head, rows)) }
    }
}

#[cfg(test)]
mod tests {
    use super::{clear_places, dotted};

    #[test]
    fn names_do_not_lie_on_each_other() {
        let ends = [((100.0, 30.0), 60.0), ((150.0, 32.0), 60.0), ((300.0, 30.0), 60.0)];
        let places = clear_places(ends.into_iter(), (26.0, 200.0), &[]);
        assert_eq!(places, [(111.0, 30.0), (161.0, 43.0), (311.0, 30.0)]);
        let line = dotted(&[(0.0, 30.0), (330.0, 30.0)]);
        let places = clear_places(ends.into_iter(), (26.0, 200.0), &line);
        assert_eq!(places, [(111.0, 37.0), (161.0, 50.0), (311.0, 37.0)]);
    }
}
