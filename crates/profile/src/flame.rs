//! Stacks as a flame graph with its root at the top, where the wide frames are: one SVG file with its own script, which
//! zooms on a click.

use std::collections::BTreeMap;

use maud::{PreEscaped, html};

/// Width of the picture, and height of a frame, in pixels.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 17.0;

/// Pixels above the frames: the title.
const TOP: f64 = 30.0;

/// Narrower frames are left out.
const MIN_WIDTH: f64 = 0.3;

/// Width of a character, about.
const CHARACTER: f64 = 6.6;

/// Scales what is clicked to the whole width; a click on the root goes back.
const SCRIPT: &str = include_str!("flame.js");

/// A function with the functions that it calls.
#[derive(Default)]
struct Node<'a> {
    samples: u64,
    children: BTreeMap<&'a str, Self>,
}

/// A frame of the picture; places are in samples.
struct Frame<'a> {
    name: &'a str,
    start: u64,
    samples: u64,
    depth: u32,
}

/// Draws stacks, outermost function first and joined by `;`, with their samples; `None` without any.
#[must_use]
pub fn svg(stacks: &BTreeMap<String, u64>, title: &str) -> Option<String> {
    let mut root = Node::default();
    for (stack, samples) in stacks {
        root.samples += samples;
        let mut node = &mut root;
        for name in stack.split(';') {
            node = node.children.entry(name).or_default();
            node.samples += samples;
        }
    }
    let total = root.samples;
    if total == 0 {
        return None;
    }
    let mut frames = vec![Frame { name: "all", start: 0, samples: total, depth: 0 }];
    lay_out(&root, 0, 1, &mut frames);
    frames.retain(|frame| MIN_WIDTH <= width(frame.samples, total));
    let depth = frames.iter().map(|frame| frame.depth).max().unwrap_or(0);
    let height = TOP + HEIGHT * f64::from(depth + 1) + 10.0;
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height)
            viewBox={ "0 0 " (WIDTH) " " (height) } font-family="monospace" font-size="11" {
            style { "g{cursor:pointer} g:hover rect{stroke:#000}" }
            rect width="100%" height="100%" fill="#fff" {}
            text x="8" y="19" font-size="14" { (title) }
            @for frame in &frames { (drawn(frame, total)) }
            script { (PreEscaped("<![CDATA[\n")) (PreEscaped(SCRIPT)) (PreEscaped("]]>")) }
        }
    };
    Some(picture.into_string())
}

fn lay_out<'a>(node: &Node<'a>, start: u64, depth: u32, frames: &mut Vec<Frame<'a>>) {
    let mut start = start;
    for (name, child) in &node.children {
        frames.push(Frame { name, start, samples: child.samples, depth });
        lay_out(child, start, depth + 1, frames);
        start += child.samples;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture has a thousand pixels")]
fn width(samples: u64, total: u64) -> f64 {
    WIDTH * samples as f64 / total as f64
}

fn drawn(frame: &Frame<'_>, total: u64) -> maud::Markup {
    let (x, w) = (width(frame.start, total), width(frame.samples, total));
    let y = TOP + HEIGHT * f64::from(frame.depth);
    let percent = 100.0 * w / WIDTH;
    html! {
        g data-x=(format!("{x:.2}")) data-w=(format!("{w:.2}")) data-d=(frame.depth) data-n=(frame.name) {
            title { (frame.name) ": " (frame.samples) " samples, " (format!("{percent:.2} %")) }
            rect x=(format!("{x:.2}")) y=(y) width=(format!("{w:.2}")) height=(HEIGHT - 1.0)
                rx="2" fill=(colour(frame.name)) {}
            text x=(format!("{:.2}", x + 3.0)) y=(y + 12.0) { (label(frame.name, w)) }
        }
    }
}

/// Shortens a name to a frame's width; the script does the same after a click.
fn label(name: &str, width: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 200")]
    let most = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    match name.chars().count() {
        n if n <= most => name.to_owned(),
        _ if most < 3 => String::new(),
        _ => name.chars().take(most - 2).chain("..".chars()).collect(),
    }
}

/// A warm colour, the same for a name in all pictures.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte));
    let (hue, light) = (hash % 45 + 8, hash / 64 % 14 + 62);
    format!("hsl({hue},85%,{light}%)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_wide_as_their_samples() {
        let stacks = [("sh;main;f", 3), ("sh;main;g<int>", 1)];
        let stacks = stacks.map(|(stack, samples)| (stack.to_owned(), samples)).into();
        let picture = svg(&stacks, "a & b").unwrap();
        let document = roxmltree::Document::parse(&picture).unwrap();
        let frame = |name: &str| {
            let frame = document.descendants().find(|node| node.attribute("data-n") == Some(name));
            let attribute = |key: &str| frame.unwrap().attribute(key).unwrap().to_owned();
            (attribute("data-x"), attribute("data-w"), attribute("data-d"))
        };
        assert_eq!(frame("all"), ("0.00".into(), "1200.00".into(), "0".into()));
        assert_eq!(frame("f"), ("0.00".into(), "900.00".into(), "3".into()));
        assert_eq!(frame("g<int>"), ("900.00".into(), "300.00".into(), "3".into()));
        assert!(picture.contains("a &amp; b") && picture.contains("g&lt;int&gt;: 1 samples"));
    }

    #[test]
    fn no_stacks_are_no_picture() {
        assert_eq!(svg(&BTreeMap::new(), ""), None);
    }

    #[test]
    fn labels_fit() {
        assert_eq!(label("main", 1200.0), "main");
        assert_eq!(label("a_long_name", 50.0), "a_lo..");
        assert_eq!(label("main", 10.0), "");
    }
}
