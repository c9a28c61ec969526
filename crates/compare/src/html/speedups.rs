//! Distributions of speedups: every op as a dot, and shares of ops that are faster than so many
//! times the baseline.

use super::{
    context::{Context, speeds_of},
    curves::{note_of_undrawn, series, shares},
    key::Key,
    markup::Markup,
    number::{Percent, Times},
    plot::{
        self, About, Area, Axis, Px, Scale, WIDTH,
        lines::{self, area_for},
        log_domain,
    },
};
use crate::summary::{ArmSummary, Estimate, FACTORS, Speeds};

/// Height of an arm's row.
const ROW: f64 = 40.0;

/// Dots of an arm at most; of more ops, every so many by rank is drawn.
const MOST_DOTS: usize = 240;

/// Writes the section; nothing where nothing was timed.
pub(crate) fn section(markup: &mut Markup, context: &Context<'_>) {
    let measured = context.measured();
    if measured.is_empty() {
        return;
    }
    markup.raw("<section id=\"speedups\" aria-labelledby=\"speedups-h\"><h2 id=\"speedups-h\">");
    markup.raw("Speedups</h2><p>Without the cases that launch overhead dominates. ");
    markup.raw("Dots are ops that are solved and measured.</p><div class=\"plots\">\n");
    // One domain for all, so that baselines can be compared by eye.
    let values = measured.iter().flat_map(|about| {
        let speeds = context.comparison.arms.iter().filter_map(|arm| speeds_of(arm, *about));
        speeds.flat_map(|speeds| &speeds.long.ops).map(|(_, value)| *value)
    });
    let domain = log_domain(values, &[1.0]);
    for (nth, about) in measured.iter().enumerate() {
        // Several stand beside each other, each with its drawings below each other.
        if 1 < measured.len() {
            markup.raw("<div><h3>").text(name_of(*about)).raw("</h3>\n");
        }
        if let Some(domain) = domain {
            strips(markup, context, (nth, *about), domain);
        }
        profile(markup, context, nth, *about);
        if 1 < measured.len() {
            markup.raw("</div>\n");
        }
    }
    markup.raw("</div>");
    note_of_undrawn(markup, context);
    markup.raw("</section>\n");
}

/// `aten`, or `aten on NVIDIA H200`.
fn name_of((baseline, gpu): (&str, Option<&str>)) -> String {
    gpu.map_or_else(|| baseline.to_owned(), |gpu| format!("{baseline} on {gpu}"))
}

/// Draws a row of dots per arm.
fn strips(
    markup: &mut Markup,
    context: &Context<'_>,
    (nth, about): (usize, (&str, Option<&str>)),
    domain: (f64, f64),
) {
    let rows: Vec<(&Key, &ArmSummary, &Speeds)> = context
        .summaries()
        .filter_map(|(key, arm)| Some((key, arm, speeds_of(arm, about)?)))
        .collect();
    let area = Area { x: (8.0, WIDTH - 8.0), y: (10.0, 10.0 + ROW * rows.len() as f64) };
    let scale = Scale::log(domain, area.x);
    let show = |value: f64| format!("{value}×");
    let title = format!("speedup over {}, log scale", about.0);
    let axis = Axis { scale, ticks: scale.ratio_ticks(7), show: &show, title: &title };
    let heading = format!("Speedups over {}", about.0);
    let caption = "One dot per op; the bar is the median with its 95 % interval.";
    let figure = About { id: "strip", nth, title: &heading, caption };
    plot::open(markup, &figure, area.height());
    plot::grid_up(markup, &area, &axis);
    plot::axis_below(markup, &area, &axis);
    if scale.holds(1.0) {
        let x = scale.place(1.0);
        plot::line(markup, "one", (x, area.y.0), (x, area.y.1));
    }
    for (row, (key, arm, speeds)) in rows.iter().enumerate() {
        let top = area.y.0 + ROW * row as f64;
        plot::open_group(markup, key, &arm.name);
        plot::label(
            markup,
            "name",
            (area.x.0, top + 11.0),
            format_args!("{} {}", key.letter, key.short),
        );
        plot::label(markup, "tick end", (area.x.1, top + 11.0), counts(arm, speeds));
        dots(markup, &scale, top + 25.0, &speeds.long.ops);
        if let Some(median) = &speeds.long.median {
            interval(markup, &scale, top + 25.0, median);
        }
        markup.raw("</g>");
    }
    plot::close(markup, |_| {});
}

/// How many ops the dots stand for.
fn counts(arm: &ArmSummary, speeds: &Speeds) -> String {
    format!("{} of {} ops", speeds.long.ops.len(), arm.n_ops)
}

/// Draws ops as dots, moved up and down a little so that equal ones can be seen.
fn dots(markup: &mut Markup, scale: &Scale, y: f64, ops: &[(String, f64)]) {
    let every = ops.len().div_ceil(MOST_DOTS).max(1);
    for (at, (op, value)) in ops.iter().enumerate().step_by(every) {
        // Neighbours by value go to places far apart: the golden ratio's fractional parts.
        let offset = (at as f64 * 0.618_034).fract() * 12.0 - 6.0;
        markup.raw("<circle class=\"dot\" r=\"2.4\"").attr("cx", Px(scale.place(*value)));
        markup.attr("cy", Px(y + offset)).raw("><title>").text(op).raw(" ");
        markup.text(Times(*value)).raw("</title></circle>");
    }
}

/// Draws an estimate as an upright bar with its interval across.
fn interval(markup: &mut Markup, scale: &Scale, y: f64, estimate: &Estimate) {
    if let Some([low, high]) = estimate.interval() {
        plot::line(markup, "span", (scale.place(low), y), (scale.place(high), y));
    }
    let x = scale.place(estimate.value);
    plot::line(markup, "centre", (x, y - 9.0), (x, y + 9.0));
}

/// Draws the shares of right ops, and of those faster than so many times the baseline.
fn profile(markup: &mut Markup, context: &Context<'_>, nth: usize, about: (&str, Option<&str>)) {
    let points = |arm: &ArmSummary| {
        let Some(speeds) = speeds_of(arm, about) else { return Vec::new() };
        let fast = (1u32..).zip(&speeds.long.fast);
        let fast = fast.filter_map(|(at, fast)| Some((f64::from(at), fast.share?)));
        arm.correct.map(|correct| (0.0, correct)).into_iter().chain(fast).collect()
    };
    let series = series(context, &points);
    if series.is_empty() {
        return;
    }
    let area = area_for(&series);
    let show = |at: f64| {
        let factor = (1u32..).zip(FACTORS).find(|(n, _)| f64::from(*n).total_cmp(&at).is_eq());
        factor.map_or_else(|| "correct".to_owned(), |(_, factor)| format!("{factor}×"))
    };
    let places = (0u32..).map(f64::from).take(FACTORS.len() + 1);
    let scale = Scale::linear((0.0, FACTORS.len() as f64), (area.x.0 + 10.0, area.x.1));
    let x = Axis { scale, ticks: places.collect(), show: &show, title: "times as fast, more than" };
    let y = shares(area.up());
    let heading = format!("Correct, and faster than {}", about.0);
    let caption = "What is not solved counts as not fast. Shaded: 95 % interval.";
    let figure = About { id: "profile", nth, title: &heading, caption };
    let percent = |share: f64| Percent(share).to_string();
    lines::draw(markup, &figure, (&x, &y), &series, |markup| {
        lines::table(markup, &heading, "faster than", &series, (&show, &percent));
    });
}
