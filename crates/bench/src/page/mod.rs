//! A benchmark as one HTML file that needs nothing else, of the same look as the page of a comparison.

mod cells;
mod choose;
mod panels;
mod samples;
mod total;

use kgen_compare::html::{
    frame::{Frame, SORTING, Script, document, section},
    plot::{self, About},
};
use maud::{Markup, html};

use crate::{
    Bench,
    draw::{Context, Picture, by_case, groups, panels as panels_of, scatter},
};

/// Rules that other pages do not need.
pub(crate) const STYLE: &str = include_str!("bench.css");

/// Shows the drawings and rows that are chosen.
pub(crate) const CHOOSING: Script<'static> = Script {
    source: include_str!("choose.js"),
    hash: "sha256-YL2Pgv6D84QqLUC50hv/cS9rx2bK5ExTyucFTYdoSJ0=",
};

/// How the numbers were made, in sentences.
const METHOD: [&str; 6] = [
    "Each cell is judged first: only a cell that passed has times.",
    "A time is the median of the samples of one call; its interval is 95 %, from order statistics.",
    "A speedup is the time of the first implementation that passed the case over that of the cell, from \
     samples taken in turn; its interval is 99 %. Faster and slower are more than 1 % and beyond it.",
    "Means of speedups are geometric, over cells that launch overhead does not dominate.",
    "GB/s are the least bytes that the op must move over the median, GFLOP/s its operations.",
    "The floor is the least time in which this GPU can move the bytes of a case, or do its arithmetic, at the \
     peaks that were measured on it; percent of the roofline is that floor over the median.",
];

/// Returns the page of a benchmark.
///
/// Large benchmarks are drawn in part: the largest values of the other axes first. The page says how much is
/// left out; CSV and JSON have every number.
#[must_use]
pub fn page(bench: &Bench) -> String {
    let context = Context::new(bench);
    let groups = groups(&context.cases);
    let mut lines = Vec::new();
    let mut heat = Vec::new();
    for group in &groups {
        let [of_lines, of_heat] = panels_of(&context, group);
        lines.extend(of_lines);
        heat.extend(of_heat);
    }
    let scatter = scatter(&context);
    let by_case = by_case(&context);
    let samples = samples::figures(&context, &groups);
    let heat = panels::section(&context, &groups, &heat, "heat");
    let parts = [
        (true, "overall", "Overall"),
        (!lines.is_empty(), "lines", "Over the axes"),
        (!heat.0.is_empty() || !by_case.is_empty(), "heat", "Speedups"),
        (!scatter.is_empty(), "roofline", "Roofline"),
        (!samples.0.is_empty(), "samples", "Samples"),
        (!bench.cells.is_empty(), "cells", "Cells"),
        (true, "method", "Method"),
    ];
    let bodies = [
        total::overall(&context),
        panels::section(&context, &groups, &lines, "lines"),
        html! { (heat) (figures(&context, "by-case", &by_case)) },
        figures(&context, "roof", &scatter),
        samples,
        cells::table(&context),
        html! { ul { @for line in METHOD { li { (line) } } } },
    ];
    let body = html! {
        @for ((is_there, id, title), body) in parts.iter().zip(bodies) {
            @if *is_there { (section(id, title, body)) }
        }
    };
    let title = format!("{} on {}", bench.id, bench.device);
    let scripts = &[SORTING, CHOOSING];
    document(&Frame { command: "kgen bench", title: &title, style: STYLE, scripts }, &parts, &body)
}

/// Figures beside each other, below the names of the implementations where they need them.
fn figures(context: &Context<'_>, id: &str, pictures: &[Picture]) -> Markup {
    html! {
        @if pictures.iter().any(|picture| picture.needs_legend) { (total::names(context)) }
        @if !pictures.is_empty() {
            div.plots {
                @for (nth, picture) in pictures.iter().enumerate() { (figure(id, nth, picture)) }
            }
        }
    }
}

fn figure(id: &str, nth: usize, picture: &Picture) -> Markup {
    let about = About { id, nth, title: &picture.title, caption: &picture.caption() };
    let drawing = &picture.drawing;
    plot::figure(&about, drawing.height, &drawing.markup, &Markup::default())
}
