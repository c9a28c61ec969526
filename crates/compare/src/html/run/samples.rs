//! The distribution of samples in one case: a row of strokes for the kernel and for each baseline.

use kgen_measure::Timing;
use maud::{Markup, html};

use crate::{
    data::TimedCase,
    html::{
        key::shorten,
        number::plain,
        plot::{self, About, Area, Axis, Scale, WIDTH, log_domain, px},
    },
};

/// Height of a row.
const ROW: f64 = 31.0;

/// Strokes of a row at most; of more samples, every so many by rank is drawn.
const MOST_STROKES: usize = 120;

/// Colours of the style sheet.
const COLOURS: usize = 6;

/// The drawing of a case; nothing where it has no samples. `id` is unique on the page.
pub(super) fn figure(id: &str, case: &TimedCase) -> Markup {
    let baselines =
        case.baselines.iter().filter_map(|one| Some((&*one.name, one.timing.as_ref()?)));
    let rows: Vec<(&str, &Timing)> =
        [("kernel", &case.kernel)].into_iter().chain(baselines).collect();
    let samples = rows.iter().flat_map(|(_, timing)| timing.samples_us.iter().copied());
    let Some(domain) = log_domain(samples, &[]) else { return Markup::default() };
    let area = Area { x: (8.0, WIDTH - 14.0), y: (4.0, 4.0 + ROW * rows.len() as f64) };
    let scale = Scale::log(domain, area.x);
    let show = |us: f64| plain_tick(us);
    let axis = Axis { scale, ticks: scale.ticks(4), show: &show, title: "µs, log scale" };
    let drawing = html! {
        (plot::axis_below(&area, &axis))
        @for (at, (name, timing)) in rows.iter().enumerate() {
            @let top = area.y.0 + ROW * at as f64;
            @let values = format!("{} µs, {} samples", plain(timing.median_us), timing.samples_us.len());
            g class={ "s" (at % COLOURS) } {
                (plot::label("name", (area.x.0, top + 11.0), &shorten(name, 24)))
                (plot::label("tick end", (area.x.1, top + 11.0), &values))
                (strokes(&scale, top, &timing.samples_us))
                @let median = scale.place(timing.median_us);
                (plot::path("centre", &[(median, top + 15.0), (median, top + 29.0)]))
            }
        }
    };
    let about =
        About { id, nth: 0, title: &case.args, caption: "A stroke per sample; heavy: the median." };
    plot::figure(&about, area.height(), &drawing, &Markup::default())
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

/// A number of a tick, without digits that say nothing.
fn plain_tick(value: f64) -> String {
    format!("{value:.3e}").parse::<f64>().unwrap_or(value).to_string()
}
