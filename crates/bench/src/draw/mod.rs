//! Drawings, for the page and for files: lines over an axis, heat maps, scatter plots.

mod floor;
mod group;
mod heat;
mod lines;
mod panel;

use kgen_compare::html::{
    key::Key,
    plot::{Drawing, roofline},
};

use crate::{
    Bench,
    case::{Case, cases},
};
pub(crate) use group::{Group, groups};
pub(crate) use heat::by_case;
pub(crate) use panel::{Panel, Quantity, Shape, panels};

/// How to read the roofline.
const ROOFLINE: &str = "One mark per timed cell, with a line to its limit: of the memory (slanted), or of the \
                        arithmetic of its type (level).";

/// How to read times over floors.
const FLOOR: &str = "One mark per timed cell: its time over the least time by this GPU's measured peaks. On the \
                     slanted line nothing is left to gain.";

/// A benchmark, prepared for its drawings.
pub(crate) struct Context<'a> {
    pub(crate) bench: &'a Bench,
    pub(crate) cases: Vec<Case<'a>>,
    /// Looks of the implementations, in order.
    pub(crate) keys: Vec<Key>,
}

/// A drawing with its words.
pub(crate) struct Picture {
    pub(crate) title: String,
    /// Its cases, `gelu f32, b = 16`; empty for all.
    pub(crate) place: String,
    /// How to read it, in a sentence.
    pub(crate) words: String,
    /// Its name without its ending; may hold any characters.
    pub(crate) file: String,
    pub(crate) drawing: Drawing,
    /// Whether it names no implementation itself.
    pub(crate) needs_legend: bool,
}

impl Picture {
    /// Its cases, and how to read it.
    pub(crate) fn caption(&self) -> String {
        if self.place.is_empty() {
            self.words.clone()
        } else {
            format!("{}. {}", self.place, self.words)
        }
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(bench: &'a Bench) -> Self {
        let names = bench.implementations.iter().enumerate();
        let keys = names.map(|(at, name)| Key::of_name(name, at)).collect();
        Self { bench, cases: cases(bench), keys }
    }

    /// Name of an axis.
    fn axis(&self, at: usize) -> &'a str {
        &self.bench.axes[at].name
    }

    /// Name of an implementation.
    pub(crate) fn name(&self, at: usize) -> &'a str {
        &self.bench.implementations[at]
    }
}

/// Every timed cell by its arithmetic and by its floor; nothing where neither is known.
pub(crate) fn scatter(context: &Context<'_>) -> Vec<Picture> {
    let roofline = roofline::drawing(&points(context)).map(|drawing| Picture {
        title: "Arithmetic reached, and the limit of the hardware".to_owned(),
        place: String::new(),
        words: ROOFLINE.to_owned(),
        file: "roofline".to_owned(),
        drawing,
        needs_legend: true,
    });
    let floor = floor::drawing(context).map(|drawing| Picture {
        title: "Time over the floor".to_owned(),
        place: String::new(),
        words: FLOOR.to_owned(),
        file: "floor".to_owned(),
        drawing,
        needs_legend: true,
    });
    roofline.into_iter().chain(floor).collect()
}

fn points<'a>(context: &'a Context<'_>) -> Vec<roofline::Point<'a>> {
    let mut points = Vec::new();
    for case in &context.cases {
        for (at, timing) in case.timed() {
            let looks = (Some(&context.keys[at]), format!("{} {case}", context.name(at)));
            let work = (timing.bytes, timing.flops);
            let median_us = timing.time.median_us;
            points.extend(roofline::Point::new(looks, work, median_us, timing.roofline.as_ref()));
        }
    }
    points
}
