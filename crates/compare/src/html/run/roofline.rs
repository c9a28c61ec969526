//! The roofline of the timed cases of a run.

use maud::{Markup, html};

use crate::{
    data::{Run, TimedCase},
    html::{
        plot::{self, About, roofline::Point},
        section as framed,
    },
};

fn points(run: &Run) -> Vec<Point<'static>> {
    let point = |op: &str, case: &TimedCase| {
        let name = format!("{op} {}", case.args);
        let work = (case.bytes, case.flops);
        Point::new((None, name), work, case.kernel.median_us, case.roofline.as_ref())
    };
    let ops = run.ops.iter().filter(|op| op.solved);
    ops.flat_map(|op| op.timed.iter().filter_map(move |case| point(&op.name, case))).collect()
}

/// Whether there is anything to draw.
pub(super) fn has_points(run: &Run) -> bool {
    !points(run).is_empty()
}

/// The section; nothing where no case has a place on it.
pub(super) fn section(run: &Run) -> Markup {
    let points = points(run);
    let Some(drawing) = plot::roofline::drawing(&points) else { return Markup::default() };
    let n_timed: usize = run.ops.iter().map(|op| op.timed.len()).sum();
    let about = About {
        id: "roof",
        nth: 0,
        title: "Arithmetic reached, and the limit of the hardware",
        caption: "One dot per timed case, with a line to the limit of that case: of the memory (slanted), or of \
                  the arithmetic of its types (level).",
    };
    framed(
        "roofline",
        "Roofline",
        html! {
            div.plots { (plot::figure(&about, drawing.height, &drawing.markup, &Markup::default())) }
            @if points.len() < n_timed {
                p.note {
                    (n_timed - points.len()) " timed cases have no floating-point arithmetic, or are of ops "
                    "that are not solved; the times of each op have their share of the floor."
                }
            }
        },
    )
}
