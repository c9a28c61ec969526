//! The XML form (`--xml --save FILE`).

use roxmltree::{Document, Node};

use super::{Report, SourceLocation, join, without_folders};

/// Reads the findings; `None` where `text` is no report of the tool.
///
/// Errors of the driver after a fault (kind `Api`) are left out: they repeat the fault.
#[must_use]
pub fn parse_xml(text: &str) -> Option<Vec<Report>> {
    let document = Document::parse(text).ok()?;
    let root = document.root_element();
    (root.tag_name().name() == "ComputeSanitizerOutput").then(|| {
        let records = root.children().filter(|node| node.has_tag_name("record"));
        join(records.filter(|record| value(*record, "kind") != "Api").map(report))
    })
}

fn report(record: Node<'_, '_>) -> Report {
    let what = child(record, "what");
    let source = what.and_then(|what| child(what, "source"));
    let destination = what.and_then(|what| child(what, "destination"));
    let text = what.map_or("", |what| value(what, "text"));
    let kind = what.map_or("", |what| value(what, "type"));
    let detail = [text, kind].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    let detail = match access(source) {
        "" => detail.join(": "),
        access => format!("{}: {}", detail.join(": "), access.to_lowercase()),
    };
    let who = child(record, "who");
    Report {
        what: if detail.is_empty() { value(record, "kind").to_owned() } else { detail },
        place: own_frame(record).or_else(|| source.map(place)).unwrap_or_default(),
        other: destination.map(|node| (access(Some(node)).to_lowercase(), place(node))),
        thread: who.and_then(|who| dims(who, "threadIdx")),
        block: who.and_then(|who| dims(who, "blockIdx")),
        n: destination.and_then(|node| value(node, "count").parse().ok()).unwrap_or(1),
    }
}

/// Returns the place in the kernel itself: the outermost frame of the device, where an inlined
/// function of a header is the innermost.
fn own_frame(record: Node<'_, '_>) -> Option<SourceLocation> {
    let stack = child(record, "deviceStack");
    let mut frames = stack.into_iter().flat_map(|stack| stack.children());
    let outermost = frames.rfind(|node| node.has_tag_name("frame"));
    outermost.map(place_of).or_else(|| child(record, "where").map(place_of))
}

fn access<'a>(node: Option<Node<'a, '_>>) -> &'a str {
    node.map_or("", |node| value(node, "direction"))
}

fn place(node: Node<'_, '_>) -> SourceLocation {
    child(node, "where").map(place_of).unwrap_or_default()
}

fn place_of(node: Node<'_, '_>) -> SourceLocation {
    SourceLocation {
        function: value(node, "func").to_owned(),
        file: without_folders(value(node, "path")),
        line: value(node, "line").parse().ok(),
    }
}

fn dims(node: Node<'_, '_>, name: &str) -> Option<[u32; 3]> {
    let node = child(node, name)?;
    let part = |name| value(node, name).parse().ok();
    Some([part("x")?, part("y")?, part("z")?])
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn value<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    child(node, name).and_then(|node| node.text()).unwrap_or_default().trim()
}
