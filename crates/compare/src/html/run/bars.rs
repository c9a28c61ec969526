//! Speedups of the ops as bars from 1, a drawing per baseline.

use maud::{Markup, html};

use crate::{
    data::{Op, Run, Speedup},
    html::{
        context::Context,
        key::shorten,
        number::{plain, times},
        plot::{self, About, Area, Axis, Scale, WIDTH, log_domain},
        section as framed,
    },
};

/// Height of an op's row.
const ROW: f64 = 33.0;

/// Rows of a drawing at most; the table has all ops.
const MOST_ROWS: usize = 100;

/// Letters of an op's name.
const NAME: usize = 30;

/// The section; it says so where nothing was measured.
pub(super) fn section(context: &Context<'_>, run: &Run) -> Markup {
    let baselines = &context.comparison.baselines;
    let values = run.ops.iter().filter(|op| op.solved).flat_map(|op| &op.speedups);
    let values =
        values.flat_map(|speedup| speedup.interval.into_iter().flatten().chain([speedup.shown()]));
    // One domain for all, so that baselines can be compared by eye.
    let domain = log_domain(values, &[1.0]);
    framed(
        "speedups",
        "Speedups",
        html! {
            @match domain {
                Some(domain) => {
                    p {
                        "Times as fast as each baseline; the line across the end of a bar is its 99 % "
                        "interval. Pale: launch overhead dominates all cases of the op."
                    }
                    div.plots {
                        @for (nth, baseline) in baselines.iter().enumerate() {
                            (figure(run, nth, baseline, domain))
                        }
                    }
                    @if MOST_ROWS < run.ops.len() {
                        p.note { "Drawn are " (MOST_ROWS) " ops of " (run.ops.len()) "; the table has all." }
                    }
                }
                None => {
                    p {
                        "Not measured: "
                        (if run.emulated { "the emulator gives no times." } else { "nothing was timed." })
                    }
                }
            }
        },
    )
}

/// A row of the drawing: an op with its speedup, or why it has none.
struct Row<'a> {
    op: &'a Op,
    found: Result<&'a Speedup, String>,
}

impl<'a> Row<'a> {
    fn new(op: &'a Op, baseline: &str) -> Self {
        let found = match op.speedup(baseline) {
            _ if op.attempts.is_empty() => Err("not reached".to_owned()),
            _ if !op.solved => {
                Err(op.best_attempt().map_or("not solved", |best| &best.verdict).to_owned())
            }
            Some(speedup) => Ok(speedup),
            None => Err("not measured".to_owned()),
        };
        Self { op, found }
    }

    /// For an order with the fastest first and what has no number last.
    fn rank(&self) -> f64 {
        self.found.as_ref().map_or(f64::NEG_INFINITY, |speedup| speedup.shown())
    }
}

fn figure(run: &Run, nth: usize, baseline: &str, domain: (f64, f64)) -> Markup {
    let mut rows: Vec<Row<'_>> = run.ops.iter().map(|op| Row::new(op, baseline)).collect();
    rows.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
    rows.truncate(MOST_ROWS);
    let area = Area { x: (8.0, WIDTH - 14.0), y: (4.0, 4.0 + ROW * rows.len() as f64) };
    let scale = Scale::log(domain, area.x);
    let up = |value: f64| [(scale.place(value), area.y.0), (scale.place(value), area.y.1)];
    let show = |value: f64| format!("{value}×");
    let title = format!("speedup over {}, log scale", shorten(baseline, NAME));
    let axis = Axis { scale, ticks: scale.ratio_ticks(7), show: &show, title: &title };
    let drawing = html! {
        @for tick in &axis.ticks { (plot::path("grid", &up(*tick))) }
        (plot::axis_below(&area, &axis))
        (plot::path("one", &up(1.0)))
        @for (at, row) in rows.iter().enumerate() {
            (one(&scale, &area, area.y.0 + ROW * at as f64, row))
        }
    };
    let heading = format!("Over {baseline}");
    let about = About { id: "speedup", nth, title: &heading, caption: "One bar per op, from 1." };
    plot::figure(&about, area.height(), &drawing, &Markup::default())
}

fn one(scale: &Scale, area: &Area, top: f64, row: &Row<'_>) -> Markup {
    let name = shorten(&row.op.name, NAME);
    let value = match &row.found {
        Ok(speedup) => text(speedup),
        Err(reason) => shorten(reason, NAME),
    };
    html! {
        g class="s0" {
            (plot::label("name", (area.x.0, top + 11.0), &name))
            (plot::label("tick end", (area.x.1, top + 11.0), &value))
            @if let Ok(speedup) = &row.found {
                @let ends = (scale.place(1.0), scale.place(speedup.shown()));
                @let class = if speedup.long.is_some() { "bar" } else { "bar pale" };
                (plot::bar(class, (ends.0, top + 16.0), (ends.1, top + 26.0),
                    &format!("{}: {value}", row.op.name)))
                @if let Some(interval) = speedup.interval {
                    (plot::path("error", &interval.map(|end| (scale.place(end), top + 21.0))))
                    @for end in interval.map(|end| scale.place(end)) {
                        (plot::path("error", &[(end, top + 17.0), (end, top + 25.0)]))
                    }
                }
            }
        }
    }
}

/// `1.36× (1.35–1.37)`.
fn text(speedup: &Speedup) -> String {
    let value = times(speedup.shown());
    match speedup.interval {
        Some([low, high]) => format!("{value} ({}–{})", plain(low), plain(high)),
        None => value,
    }
}
