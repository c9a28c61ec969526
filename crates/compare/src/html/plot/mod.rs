//! Drawing with axes as inline SVG. Every drawing is about as wide as a phone, so that its letters
//! are read there without being scaled down; the page puts several beside each other.

mod labels;
pub mod lines;
pub mod roofline;
pub mod samples;
mod scale;

pub(crate) use labels::spread;
use maud::{Markup, html};
pub use scale::{Scale, log_domain};

use super::key::Key;

/// Width of every drawing, in its own units (about a pixel).
pub const WIDTH: f64 = 360.0;

/// Height of a letter with its line, in units.
pub(crate) const LINE: f64 = 13.0;

/// A coordinate, to a tenth of a unit.
#[must_use]
pub fn px(place: f64) -> f64 {
    // Adding 0 makes a plain zero of a negative one.
    (place * 10.0).round() / 10.0 + 0.0
}

/// A value beside a tick, without digits that say nothing.
#[must_use]
pub fn tick(value: f64) -> String {
    format!("{value:.3e}").parse::<f64>().unwrap_or(value).to_string()
}

/// The area inside the axes.
#[derive(Clone, Copy)]
pub struct Area {
    /// Left and right end.
    pub x: (f64, f64),
    /// Upper and lower end.
    pub y: (f64, f64),
}

impl Area {
    /// The range of an axis upwards.
    #[must_use]
    pub fn up(&self) -> (f64, f64) {
        (self.y.1, self.y.0)
    }

    /// Height of the whole drawing with room for the numbers and the title below.
    #[must_use]
    pub fn height(&self) -> f64 {
        self.y.1 + 38.0
    }
}

/// An axis: where values lie, and which are named.
pub struct Axis<'a> {
    /// Places of values.
    pub scale: Scale,
    /// Values that are named.
    pub ticks: Vec<f64>,
    /// Writes a value.
    pub show: &'a dyn Fn(f64) -> String,
    /// With its unit.
    pub title: &'a str,
}

/// The words of a drawing.
pub struct About<'a> {
    /// Unique on the page.
    pub id: &'a str,
    /// Which of several drawings with this `id`.
    pub nth: usize,
    /// Title above it.
    pub title: &'a str,
    /// How to read it, in a sentence.
    pub caption: &'a str,
}

/// The inside of an SVG image that is [`WIDTH`] wide.
#[derive(Clone)]
pub struct Drawing {
    /// Height in its own units (about a pixel).
    pub height: f64,
    /// Its elements.
    pub markup: Markup,
}

/// A figure: a drawing of a height, and `below` it, more.
#[must_use]
pub fn figure(about: &About<'_>, height: f64, drawing: &Markup, below: &Markup) -> Markup {
    let id = format!("{}-{}", about.id, about.nth);
    html! {
        figure.plot id=(id) {
            figcaption id={ (id) "-t" } { b { (about.title) } " " (about.caption) }
            svg role="img" viewBox={ "0 0 " (px(WIDTH)) " " (px(height)) }
                aria-labelledby={ (id) "-t" } { (drawing) }
            (below)
        }
    }
}

/// The horizontal axis with ticks, numbers and title below the area.
#[must_use]
pub fn axis_below(area: &Area, axis: &Axis<'_>) -> Markup {
    let (_, y) = area.y;
    html! {
        (path("axis", &[(area.x.0, y), (area.x.1, y)]))
        @for tick in &axis.ticks {
            @let x = axis.scale.place(*tick);
            (path("axis", &[(x, y), (x, y + 4.0)]))
            (label("tick mid", (x, y + 16.0), &(axis.show)(*tick)))
        }
        (label("title end", (area.x.1, y + 32.0), axis.title))
    }
}

/// The vertical axis: faint lines across the area, numbers left of it, the title above.
#[must_use]
pub fn axis_left(area: &Area, axis: &Axis<'_>) -> Markup {
    html! {
        @for tick in &axis.ticks {
            @let y = axis.scale.place(*tick);
            (path("grid", &[(area.x.0, y), (area.x.1, y)]))
            (label("tick end", (area.x.0 - 6.0, y + 4.0), &(axis.show)(*tick)))
        }
        (label("title", (0.0, area.y.0 - 14.0), axis.title))
    }
}

/// Straight lines through points.
#[must_use]
pub fn path(class: &str, points: &[(f64, f64)]) -> Markup {
    html! {
        path class=(class) d={
            @for (at, (x, y)) in points.iter().enumerate() {
                (if at == 0 { "M" } else { "L" }) (px(*x)) " " (px(*y))
            }
        } {}
    }
}

/// A rectangle between two corners; `title` is shown under a pointer, and may be empty.
pub(crate) fn bar(class: &str, from: (f64, f64), to: (f64, f64), title: &str) -> Markup {
    let (left, right) = (from.0.min(to.0), from.0.max(to.0));
    let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
    html! {
        rect class=(class) x=(px(left)) y=(px(top)) width=(px((right - left).max(1.0)))
            height=(px(bottom - top)) { @if !title.is_empty() { title { (title) } } }
    }
}

/// Text whose baseline starts at a place.
#[must_use]
pub fn label(class: &str, at: (f64, f64), text: &str) -> Markup {
    html! { text class=(class) x=(px(at.0)) y=(px(at.1)) { (text) } }
}

/// The group of an arm, which has its colour, its dashes, and a name that a pointer shows.
pub(crate) fn group(key: &Key, drawing: &Markup) -> Markup {
    html! { g class=(key.class()) { title { (key.label()) } (drawing) } }
}

/// The mark of an arm; `title` is shown under a pointer, and may be empty.
#[must_use]
pub fn mark(key: &Key, at: (f64, f64), title: &str) -> Markup {
    html! {
        path.mark d=(key.mark()) transform={ "translate(" (px(at.0)) " " (px(at.1)) ")" } {
            @if !title.is_empty() { title { (title) } }
        }
    }
}
