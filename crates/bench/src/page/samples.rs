//! The distributions of the samples: a figure per case, a row per implementation.

use kgen_compare::html::plot::{self, About, samples::Row};
use maud::{Markup, html};

use crate::{
    case::Case,
    draw::{Context, Group},
};

/// Bytes of the figures at most.
const MOST_BYTES: usize = 1 << 20;

/// The figures of all groups; nothing where nothing was timed.
pub(super) fn figures(context: &Context<'_>, groups: &[Group<'_>]) -> Markup {
    let (mut left, mut left_out, mut nth) = (MOST_BYTES, 0, 0);
    let mut blocks: Vec<(&Group<'_>, Vec<Markup>)> = Vec::new();
    for group in groups {
        let mut figures = Vec::new();
        for case in &group.cases {
            if left == 0 {
                left_out += usize::from(case.timed().next().is_some());
                continue;
            }
            let Some(figure) = figure(context, nth, case) else { continue };
            nth += 1;
            left = left.saturating_sub(figure.0.len());
            figures.push(figure);
        }
        if !figures.is_empty() {
            blocks.push((group, figures));
        }
    }
    if blocks.is_empty() {
        return Markup::default();
    }
    html! {
        p { "A stroke per sample; heavy: the median. Cases have axes of their own." }
        @for (at, (group, figures)) in blocks.iter().enumerate() {
            details open[at == 0] {
                summary { b { (group.op) } " " (group.dtype) ", " (figures.len())
                    @if figures.len() == 1 { " case" } @else { " cases" } }
                div.plots { @for figure in figures { (figure) } }
            }
        }
        @if 0 < left_out {
            p.note { "To keep this page small, the samples of " (left_out) " cases are left out." }
        }
    }
}

fn figure(context: &Context<'_>, nth: usize, case: &Case<'_>) -> Option<Markup> {
    let rows: Vec<Row<'_>> = case
        .timed()
        .map(|(at, timing)| Row {
            name: context.name(at),
            class: context.keys[at].class(),
            timing: &timing.time,
        })
        .collect();
    let drawing = plot::samples::drawing(&rows)?;
    let title = case.place(&context.bench.axes);
    let caption = format!("{} {} {}", case.op, case.dtype, case.args);
    let about = About { id: "samples", nth, title: &title, caption: &caption };
    Some(plot::figure(&about, drawing.height, &drawing.markup, &Markup::default()))
}
