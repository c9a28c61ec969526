//! One line per arm through its estimates, with the arm's name at its end.

use super::{About, Area, Axis, LINE, Through, WIDTH, axis_below, axis_left, label, mark};
use super::{close, line, open, open_group, spread};
use crate::{
    html::{key::Key, markup::Markup},
    summary::Estimate,
};

/// Arms whose intervals are drawn as bands; of more, bands hide each other and only the ends get
/// their interval.
const MOST_BANDS: usize = 4;

/// Width of a letter of a name in the widest of the usual fonts.
const LETTER: f64 = 7.4;

/// Points of a line up to which each is marked.
const MOST_MARKS: usize = 12;

/// What one arm contributes.
pub(crate) struct Series<'a> {
    pub(crate) key: &'a Key,
    pub(crate) name: &'a str,
    /// Places on the horizontal axis with what was found there, ascending.
    pub(crate) points: Vec<(f64, Estimate)>,
}

/// Where a point lies in the drawing.
type Projection<'a> = dyn Fn(&(f64, Estimate)) -> (f64, f64) + 'a;

/// Room for the names right of the area.
pub(crate) fn area_for(series: &[Series<'_>]) -> Area {
    let names = 18.0 + series.iter().map(|one| width_of(one.key)).fold(0.0, f64::max);
    Area { x: (34.0, WIDTH - names), y: (26.0, 206.0) }
}

/// Draws a figure of lines; `more` is added below the drawing.
pub(crate) fn draw(
    markup: &mut Markup,
    about: &About<'_>,
    axes: (&Axis<'_>, &Axis<'_>),
    series: &[Series<'_>],
    more: impl FnOnce(&mut Markup),
) {
    let area = area_for(series);
    open(markup, about, area.height());
    axis_left(markup, &area, axes.1);
    axis_below(markup, &area, axes.0);
    let place = |(x, estimate): &(f64, Estimate)| {
        (axes.0.scale.place(*x), axes.1.scale.place(estimate.value))
    };
    if series.len() <= MOST_BANDS {
        for one in series {
            band(markup, one, axes);
        }
    }
    for one in series {
        open_group(markup, one.key, one.name);
        let places: Vec<(f64, f64)> = one.points.iter().map(place).collect();
        markup.raw("<path class=\"line\"").attr("d", Through(&places)).raw("/>");
        let marked = if places.len() <= MOST_MARKS { 0 } else { places.len() - 1 };
        for (at, point) in places.iter().zip(&one.points).skip(marked) {
            let said = format_args!(
                "{}: {} at {}",
                one.name,
                (axes.1.show)(point.1.value),
                (axes.0.show)(point.0)
            );
            mark(markup, one.key, "mark", *at, said);
        }
        if let (Some(end), true) = (one.points.last(), MOST_BANDS < series.len()) {
            whisker(markup, axes, end);
        }
        markup.raw("</g>");
    }
    names(markup, &area, series, &place);
    close(markup, more);
}

/// Draws the interval of a line as an area behind it.
fn band(markup: &mut Markup, series: &Series<'_>, axes: (&Axis<'_>, &Axis<'_>)) {
    let mut outline = Vec::new();
    for (x, estimate) in &series.points {
        let Some([low, high]) = estimate.interval() else { continue };
        let x = axes.0.scale.place(*x);
        outline.push((x, axes.1.scale.place(high)));
        outline.insert(0, (x, axes.1.scale.place(low)));
    }
    if 4 <= outline.len() {
        markup.raw("<path").attr("class", format_args!("band {}", series.key.class()));
        markup.attr("d", Through(&outline)).raw("/>");
    }
}

/// Draws the interval of one point as an upright line.
fn whisker(markup: &mut Markup, axes: (&Axis<'_>, &Axis<'_>), (x, estimate): &(f64, Estimate)) {
    if let Some([low, high]) = estimate.interval() {
        let x = axes.0.scale.place(*x);
        let ends = [low, high].map(|value| (x, axes.1.scale.place(value)));
        line(markup, "whisker", ends[0], ends[1]);
    }
}

/// Writes each arm's name right of the area, as high as its line ends there.
fn names(markup: &mut Markup, area: &Area, series: &[Series<'_>], place: &Projection<'_>) {
    let ends: Vec<(&Series<'_>, (f64, f64))> =
        series.iter().filter_map(|one| Some((one, place(one.points.last()?)))).collect();
    let wishes: Vec<f64> = ends.iter().map(|(_, end)| end.1).collect();
    let together = ends.iter().all(|(_, end)| area.x.1 - 1.0 < end.0);
    let places: Vec<(f64, f64)> = if together {
        let heights = spread(&wishes, LINE, (area.y.0, area.y.1));
        heights.into_iter().map(|y| (area.x.1 + 11.0, y)).collect()
    } else {
        let sizes = ends.iter().map(|(one, end)| (*end, width_of(one.key)));
        let lines = series.iter().map(|one| one.points.iter().map(place).collect::<Vec<_>>());
        let lines: Vec<(f64, f64)> = lines.flat_map(|line| dotted(&line)).collect();
        clear_places(sizes, (area.y.0, area.y.1), &lines)
    };
    for ((one, end), (x, y)) in ends.into_iter().zip(places) {
        markup.raw("<g").attr("class", one.key.class()).raw(">");
        if 2.0 < (y - end.1).abs() {
            let leader = [(end.0 + 5.0, end.1), (x - 4.0, y), (x - 2.0, y)];
            markup.raw("<path class=\"leader\"").attr("d", Through(&leader)).raw("/>");
        }
        label(markup, "name", (x, y + 4.0), label_of(one.key));
        markup.raw("</g>");
    }
}

/// Width of the text beside a line.
fn width_of(key: &Key) -> f64 {
    LETTER * label_of(key).chars().count() as f64
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

/// What stands beside a line.
fn label_of(key: &Key) -> String {
    format!("{} {}", key.letter, key.short)
}

/// Writes the numbers of a figure as a table, for those who cannot see it or want them.
pub(crate) fn table(
    markup: &mut Markup,
    title: &str,
    columns: &str,
    series: &[Series<'_>],
    show: (&dyn Fn(f64) -> String, &dyn Fn(f64) -> String),
) {
    let mut places: Vec<f64> =
        series.iter().flat_map(|one| one.points.iter().map(|(x, _)| *x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    markup.raw("<details class=\"numbers\"><summary>Numbers</summary><div class=\"wide\"");
    markup.raw(" tabindex=\"0\" role=\"region\"").attr("aria-label", title).raw("><table>");
    markup.raw("<caption>").text(title).raw("</caption><thead><tr><th scope=\"col\">");
    markup.text(columns).raw("</th>");
    for one in series {
        markup.raw("<th scope=\"col\">").text(label_of(one.key)).raw("</th>");
    }
    markup.raw("</tr></thead><tbody>");
    for x in places {
        markup.raw("<tr><th scope=\"row\">").text((show.0)(x)).raw("</th>");
        for one in series {
            let found = one.points.iter().find(|point| point.0.total_cmp(&x).is_eq());
            markup.raw("<td>");
            match found.map(|point| (point.1.value, point.1.interval())) {
                None => markup.raw("–"),
                Some((value, None)) => markup.text((show.1)(value)),
                Some((value, Some([low, high]))) => {
                    markup.text((show.1)(value)).raw("<small>").text((show.1)(low));
                    markup.raw("–").text((show.1)(high)).raw("</small>")
                }
            };
            markup.raw("</td>");
        }
        markup.raw("</tr>");
    }
    markup.raw("</tbody></table></div></details>");
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
