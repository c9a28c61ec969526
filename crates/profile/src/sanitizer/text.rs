//! The form for people, which every version writes.

use super::{Report, SourceLocation, join, without_folders};

const MARK: &str = "=========";

/// Returns the number of errors that the summary at the end of a log names.
#[must_use]
pub fn n_errors(text: &str) -> Option<u64> {
    let line = text.lines().rfind(|line| line.contains(" SUMMARY: "))?;
    let (_, rest) = line.split_once(" SUMMARY: ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Reads the findings. Lines that the program printed in between are passed over.
#[must_use]
pub fn parse_text(text: &str) -> Vec<Report> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(MARK)).map(str::trim_end);
    let mut reports = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    for line in lines.chain([""]) {
        if line.trim().is_empty() {
            reports.extend(report(&block));
            block.clear();
        } else {
            block.push(line);
        }
    }
    join(reports)
}

/// Reads one block: a headline and, further indented, its details.
fn report(block: &[&str]) -> Option<Report> {
    let is_headline = |line: &&&str| !line.starts_with("     ") && !is_noise(line);
    let headline = block.iter().find(is_headline)?.trim();
    let details: Vec<&str> =
        block.iter().filter(|line| line.starts_with("     ")).map(|line| line.trim()).collect();
    if let Some((race, place)) = race(headline) {
        let other = details.iter().find_map(|line| access(line.strip_prefix("and ")?));
        let n = details.iter().find_map(|line| hazards(line)).unwrap_or(1);
        return Some(Report { what: race, place, other, thread: None, block: None, n });
    }
    let frame = details.iter().rev().find_map(|line| line.strip_prefix("Device Frame: "));
    let place = frame.or_else(|| details.iter().find_map(|line| line.strip_prefix("at ")));
    let who = details.iter().find_map(|line| line.strip_prefix("by thread "));
    let (thread, block) = match who.and_then(|who| who.split_once(" in block ")) {
        Some((thread, block)) => (dims(thread), dims(block)),
        None => (None, None),
    };
    Some(Report {
        what: with_reason(headline, &details),
        place: place.map(place_of)?,
        other: None,
        thread,
        block,
        n: 1,
    })
}

/// Lines that are no report.
fn is_noise(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("COMPUTE-SANITIZER")
        || line.contains(" SUMMARY: ")
        || line.starts_with("Target application")
        || line.starts_with("Program hit")
}

/// Returns the fault of an address, beside the access in the headline.
fn with_reason(headline: &str, details: &[&str]) -> String {
    let reason = details.iter().find_map(|line| {
        let (_, reason) = line.strip_prefix("Access to ")?.split_once(' ')?;
        Some(reason)
    });
    reason.map_or_else(|| headline.to_owned(), |reason| format!("{headline} {reason}"))
}

/// Reads `Error: Race reported between Write access at k+0xe0 in k.cu:13`.
fn race(headline: &str) -> Option<(String, SourceLocation)> {
    let (_, rest) = headline.split_once("Race reported between ")?;
    let (kind, place) = access(rest)?;
    Some((format!("Race condition: {kind}"), place))
}

/// Reads `Write access at k+0xe0 in k.cu:13 [2048 hazards]`.
fn access(text: &str) -> Option<(String, SourceLocation)> {
    let (kind, rest) = text.split_once(" access at ")?;
    let rest = rest.split_once(" [").map_or(rest, |(place, _)| place);
    Some((kind.to_lowercase(), place_of(rest)))
}

fn hazards(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once('[')?;
    rest.strip_suffix(" hazards]")?.parse().ok()
}

/// Reads `kernel+0xd0 in k.cu:11`; older versions put parameters behind the name.
fn place_of(text: &str) -> SourceLocation {
    let (function, rest) = text.split_once(" in ").unwrap_or((text, ""));
    let function = function.split_once("+0x").map_or(function, |(name, _)| name);
    let (file, line) = rest.rsplit_once(':').unwrap_or((rest, ""));
    SourceLocation {
        function: function.split('(').next().unwrap_or_default().to_owned(),
        file: without_folders(file),
        line: line.parse().ok(),
    }
}

/// Reads `(32,0,0)`.
fn dims(text: &str) -> Option<[u32; 3]> {
    let inside = text.trim().strip_prefix('(')?.split(')').next()?;
    let numbers: Vec<u32> =
        inside.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}
