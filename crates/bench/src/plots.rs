//! The drawings as SVG files of their own, for papers.

use std::collections::BTreeSet;

use kgen_compare::html::{
    frame::visible,
    key::{Key, shorten},
    plot::{WIDTH, label, mark, px},
    style,
};
use maud::{Markup, PreEscaped, html};

use crate::{
    Bench,
    draw::{Context, Picture, by_case, groups, panels, scatter},
    page,
};

/// Room around a drawing.
const MARGIN: f64 = 14.0;

/// Height of the title.
const TITLE: f64 = 40.0;

/// Height of a line of the legend.
const LINE: f64 = 16.0;

/// Letters of a title and of a line below it that have room.
const LETTERS: (usize, usize) = (50, 62);

/// Colours of implementations in the style sheet.
const COLOURS: usize = 6;

/// Colours of a heat map in the style sheet.
const HEATS: usize = 9;

/// Returns the drawings of a benchmark as SVG documents with the names of their files: lines per op, type
/// and axis, with the other axes at their largest value; heat maps; the roofline.
///
/// Names are of letters, digits, `_`, `-` and `.`, and unique whatever the case of their letters.
#[must_use]
pub fn plots(bench: &Bench) -> Vec<(String, String)> {
    let context = Context::new(bench);
    let mut pictures = Vec::new();
    for group in &groups(&context.cases) {
        for panel in panels(&context, group).into_iter().flatten() {
            pictures.extend(panel.slice.is_default.then(|| panel.draw(&context)).flatten());
        }
    }
    pictures.extend(by_case(&context));
    pictures.extend(scatter(&context));
    let mut names = BTreeSet::new();
    let named =
        |picture: &Picture| (file_name(&picture.file, &mut names), standalone(picture, &context));
    pictures.iter().map(named).collect()
}

/// A name that no other file has.
fn file_name(wish: &str, taken: &mut BTreeSet<String>) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let name: String = wish.chars().map(|c| if is_kept(c) { c } else { '-' }).take(120).collect();
    let name = name.trim_matches(['.', '-']);
    let mut found = format!("{name}.svg");
    let mut n = 2;
    while !taken.insert(found.to_ascii_lowercase()) {
        found = format!("{name}_{n}.svg");
        n += 1;
    }
    found
}

/// A drawing as a document: above it its title, and its cases or the GPU; below it the implementations by their marks where
/// it does not name them in full.
fn standalone(picture: &Picture, context: &Context<'_>) -> String {
    let (keys, device) = (&context.keys, &context.bench.device);
    let has_legend = picture.needs_legend || !keys.iter().all(Key::is_whole);
    let legend: &[Key] = if has_legend { keys } else { &[] };
    let bottom = TITLE + picture.drawing.height + 8.0;
    let height = bottom + LINE * legend.len() as f64 + MARGIN;
    let width = WIDTH + 2.0 * MARGIN;
    let words = format!("{}. {}", picture.title, picture.caption());
    let place = if picture.place.is_empty() { device } else { &picture.place };
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(px(width)) height=(px(height))
            viewBox={ "0 0 " (px(width)) " " (px(height)) } role="img" {
            title { (words) }
            style { (PreEscaped(style_sheet())) }
            rect class="paper" width=(px(width)) height=(px(height)) {}
            g transform={ "translate(" (px(MARGIN)) " 0)" } {
                (label("heading", (0.0, 18.0), &shorten(&picture.title, LETTERS.0)))
                (label("title", (0.0, 33.0), &shorten(place, LETTERS.1)))
                g transform={ "translate(0 " (px(TITLE)) ")" } { (picture.drawing.markup) }
                @for (at, key) in legend.iter().enumerate() {
                    (entry(key, bottom + LINE * (at as f64 + 0.5)))
                }
            }
        }
    };
    visible(svg.into_string())
}

fn entry(key: &Key, y: f64) -> Markup {
    html! {
        g class=(key.class()) { (mark(key, (5.0, y), "")) }
        (label("title", (16.0, y + 4.0), &shorten(key.own(), LETTERS.1)))
    }
}

/// Rules with the colours of the page in light, each written out: converters know no variables.
fn style_sheet() -> String {
    let [ink, soft, rule, grid, paper] =
        ["ink", "soft", "rule", "grid", "paper"].map(|name| colour(style::STYLE, name));
    let mut rules = format!(
        "text {{ font: 11px system-ui, \"Helvetica Neue\", Arial, sans-serif; fill: {soft}; }}\n\
         .heading {{ font-size: 13px; font-weight: 600; fill: {ink}; }}\n\
         .paper {{ fill: {paper}; }}\n\
         .mid {{ text-anchor: middle; }}\n\
         .end {{ text-anchor: end; }}\n\
         .ratio {{ fill: {ink}; }}\n\
         .axis, .one, .roof {{ fill: none; stroke: {soft}; }}\n\
         .one {{ stroke-dasharray: 2 2; }}\n\
         .roof {{ stroke-width: 1.4; }}\n\
         .grid {{ fill: none; stroke: {grid}; }}\n\
         .heat {{ fill: none; stroke: {rule}; }}\n\
         .line {{ fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }}\n\
         .d1 > .line {{ stroke-dasharray: 6 4; }}\n\
         .d2 > .line {{ stroke-dasharray: 1 4; }}\n\
         .band {{ opacity: 0.12; }}\n\
         .mark {{ stroke: {paper}; }}\n\
         .whisker {{ fill: none; stroke-width: 1.2; }}\n\
         .leader {{ fill: none; stroke-width: 0.8; opacity: 0.5; }}\n\
         .name {{ font-weight: 600; }}\n"
    );
    for at in 0..COLOURS {
        let c = colour(style::STYLE, &format!("c{at}"));
        let of_mark = format!(
            ".s{at} .line, .s{at} .whisker, .s{at} .leader {{ stroke: {c}; }}\n\
             .s{at} .mark, .s{at} .name, .band.s{at} {{ fill: {c}; }}\n\
             .s{at}.d1 .mark, .s{at}.d2 .mark {{ fill: {paper}; stroke: {c}; }}\n"
        );
        rules.push_str(&of_mark);
    }
    for at in 0..HEATS {
        let c = colour(page::STYLE, &format!("h{at}"));
        rules.push_str(&[".h", &at.to_string(), " { fill: ", &c, "; stroke: none; }\n"].concat());
    }
    rules
}

/// The first value of a variable of a style sheet, which is that of light pages.
fn colour(sheet: &str, name: &str) -> String {
    let needle = format!("--{name}: #");
    let rest = sheet.split_once(&needle).map_or("", |(_, rest)| rest);
    format!("#{}", rest.get(..6).unwrap_or("000000"))
}
