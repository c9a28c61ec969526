//! Drawing with axes as inline SVG. Every drawing is about as wide as a phone, so that its letters
//! are read there without being scaled down; the page puts several beside each other.

mod labels;
pub(crate) mod lines;
mod scale;

use std::fmt;

pub(crate) use labels::spread;
pub(crate) use scale::{Scale, log_domain};

use super::markup::Markup;

/// Width of every drawing, in its own units (about a pixel).
pub(crate) const WIDTH: f64 = 360.0;

/// Height of a letter with its line, in units.
pub(crate) const LINE: f64 = 13.0;

/// A coordinate, to a tenth of a unit.
pub(crate) struct Px(pub(crate) f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        // Adding 0 makes a plain zero of a negative one.
        write!(f, "{}", tenths + 0.0)
    }
}

/// The area inside the axes.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    /// Left and right end.
    pub(crate) x: (f64, f64),
    /// Upper and lower end.
    pub(crate) y: (f64, f64),
}

impl Area {
    /// The range of an axis upwards.
    pub(crate) fn up(&self) -> (f64, f64) {
        (self.y.1, self.y.0)
    }

    /// Height of the whole drawing with room for the numbers and the title below.
    pub(crate) fn height(&self) -> f64 {
        self.y.1 + 38.0
    }
}

/// An axis: where values lie, which are named, and what they are.
pub(crate) struct Axis<'a> {
    pub(crate) scale: Scale,
    pub(crate) ticks: Vec<f64>,
    pub(crate) show: &'a dyn Fn(f64) -> String,
    /// With its unit.
    pub(crate) title: &'a str,
}

/// What is said about a drawing.
pub(crate) struct About<'a> {
    /// Unique on the page.
    pub(crate) id: &'static str,
    /// Which of several drawings with this `id`.
    pub(crate) nth: usize,
    pub(crate) title: &'a str,
    /// How to read it, in a sentence.
    pub(crate) caption: &'a str,
}

/// Opens a figure and its drawing.
pub(crate) fn open(markup: &mut Markup, about: &About<'_>, height: f64) {
    let id = format!("{}-{}", about.id, about.nth);
    markup.raw("<figure class=\"plot\"").attr("id", &id).raw("><figcaption");
    markup.attr("id", format_args!("{id}-t")).raw("><b>").text(about.title).raw("</b> ");
    markup.text(about.caption).raw("</figcaption><svg role=\"img\"");
    markup.attr("viewBox", format_args!("0 0 {} {}", Px(WIDTH), Px(height)));
    markup.attr("aria-labelledby", format_args!("{id}-t")).raw(">");
}

/// Closes the drawing and, after what `more` adds below it, the figure.
pub(crate) fn close(markup: &mut Markup, more: impl FnOnce(&mut Markup)) {
    markup.raw("</svg>");
    more(markup);
    markup.raw("</figure>\n");
}

/// Draws the horizontal axis with ticks, numbers and title below the area.
pub(crate) fn axis_below(markup: &mut Markup, area: &Area, axis: &Axis<'_>) {
    line(markup, "axis", (area.x.0, area.y.1), (area.x.1, area.y.1));
    for tick in &axis.ticks {
        let x = axis.scale.place(*tick);
        line(markup, "axis", (x, area.y.1), (x, area.y.1 + 4.0));
        label(markup, "tick mid", (x, area.y.1 + 16.0), (axis.show)(*tick));
    }
    label(markup, "title end", (area.x.1, area.y.1 + 32.0), axis.title);
}

/// Draws the vertical axis: faint lines across the area, numbers left of it, the title above.
pub(crate) fn axis_left(markup: &mut Markup, area: &Area, axis: &Axis<'_>) {
    for tick in &axis.ticks {
        let y = axis.scale.place(*tick);
        line(markup, "grid", (area.x.0, y), (area.x.1, y));
        label(markup, "tick end", (area.x.0 - 6.0, y + 4.0), (axis.show)(*tick));
    }
    label(markup, "title", (0.0, area.y.0 - 14.0), axis.title);
}

/// Draws faint lines up from the ticks of the horizontal axis.
pub(crate) fn grid_up(markup: &mut Markup, area: &Area, axis: &Axis<'_>) {
    for tick in &axis.ticks {
        let x = axis.scale.place(*tick);
        line(markup, "grid", (x, area.y.0), (x, area.y.1));
    }
}

/// Draws a straight line.
pub(crate) fn line(markup: &mut Markup, class: &'static str, from: (f64, f64), to: (f64, f64)) {
    markup.raw("<path").attr("class", class);
    markup.attr("d", format_args!("M{} {}L{} {}", Px(from.0), Px(from.1), Px(to.0), Px(to.1)));
    markup.raw("/>");
}

/// Draws text whose baseline starts at a place.
pub(crate) fn label(
    markup: &mut Markup,
    class: &'static str,
    at: (f64, f64),
    text: impl fmt::Display,
) {
    markup.raw("<text").attr("class", class).attr("x", Px(at.0)).attr("y", Px(at.1)).raw(">");
    markup.text(text).raw("</text>");
}

/// Opens the group of an arm, which has its colour, its dashes, and a name that a pointer shows.
pub(crate) fn open_group(markup: &mut Markup, key: &super::key::Key, name: &str) {
    markup.raw("<g").attr("class", key.class()).raw("><title>").text(name).raw("</title>");
}

/// Draws the mark of an arm; `said` is what a pointer shows, and may be empty.
pub(crate) fn mark(
    markup: &mut Markup,
    key: &super::key::Key,
    class: &'static str,
    at: (f64, f64),
    said: impl fmt::Display,
) {
    markup.raw("<path").attr("class", class).attr("d", key.mark());
    markup.attr("transform", format_args!("translate({} {})", Px(at.0), Px(at.1)));
    let said = said.to_string();
    if said.is_empty() {
        markup.raw("/>");
    } else {
        markup.raw("><title>").text(said).raw("</title></path>");
    }
}

/// Data of a path through points, as straight lines.
pub(crate) struct Through<'a>(pub(crate) &'a [(f64, f64)]);

impl fmt::Display for Through<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (x, y)) in self.0.iter().enumerate() {
            write!(f, "{}{} {}", if at == 0 { "M" } else { "L" }, Px(*x), Px(*y))?;
        }
        Ok(())
    }
}
