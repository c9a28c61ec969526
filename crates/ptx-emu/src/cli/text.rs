//! The report as text.

use std::fmt::Write as _;

use ptx_emu::{Launch, LaunchError};

use super::{
    counters,
    run::{Output, RunResult, counts},
    source::Source,
};

/// The report for a person.
pub(super) fn report(result: &RunResult, launch: &Launch, source: &Source) -> String {
    let mut out = String::new();
    let report = &result.report;
    if !report.stdout.is_empty() {
        out.push_str(&report.stdout);
        if !report.stdout.ends_with('\n') {
            out.push('\n');
        }
    }
    for finding in &report.findings {
        line(&mut out, &finding.to_string());
        for quote in source.quotes(finding) {
            line(&mut out, &quote);
        }
        out.push('\n');
    }
    match &report.end {
        // A fault is the last finding.
        Ok(()) | Err(LaunchError::Fault(_)) => {}
        Err(stop @ LaunchError::Launch { .. }) => return format!("{stop}\n"),
        Err(
            stop @ (LaunchError::Unsupported { line: at, .. }
            | LaunchError::Deadlock { line: at, .. }
            | LaunchError::Budget { line: at, .. }),
        ) => {
            line(&mut out, &stop.to_string());
            if let Some(quote) = at.and_then(|at| source.quote(at)) {
                line(&mut out, &quote);
            }
        }
    }
    for output in &result.outputs {
        outputs(&mut out, output, result.whole);
    }
    if let Some(counters) = &report.counters {
        out.push_str(&counters::table(counters, source));
    }
    let [gx, gy, gz] = launch.grid;
    let [bx, by, bz] = launch.block;
    let (errors, findings) = counts(&report.findings);
    let verdict = match (errors, findings) {
        (0, 0) if report.end.is_ok() => "no findings".to_owned(),
        (errors, findings) => {
            format!("{}, {}", number(findings, "finding"), number(errors, "error"))
        }
    };
    let blocks = if result.whole { String::new() } else { number(report.blocks, "block") + " of " };
    let summary = format!(
        "{}: {blocks}grid ({gx},{gy},{gz}), block ({bx},{by},{bz}), {} lane instructions: {verdict}",
        result.kernel, report.lane_instructions
    );
    line(&mut out, &summary);
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn number(n: u64, of: &str) -> String {
    format!("{n} {of}{}", if n == 1 { "" } else { "s" })
}

fn outputs(out: &mut String, output: &Output, whole: bool) {
    let name = &output.name;
    let elements: usize = output.shape.iter().product();
    if let (false, Some(ranges)) = (whole, &output.unwritten) {
        let missing: u64 = ranges.iter().map(|r| r.end - r.start).sum();
        let written = u64::try_from(elements).unwrap_or(u64::MAX) - missing;
        line(
            out,
            &format!("{name}: {written} of {elements} elements written by the chosen blocks"),
        );
    }
    if let Some(c) = &output.comparison {
        let mut text = if c.wrong == 0 {
            format!("{name}: as expected, {} elements, greatest error {:.3e}", c.elements, c.worst)
        } else {
            format!("{name}: {} of {} elements are not as expected", c.wrong, c.elements)
        };
        if let Some((index, got, want)) = c.first {
            _ = write!(
                text,
                ": {name}[{index}] is {got}, expected {want}; greatest error {:.3e}",
                c.worst
            );
        }
        line(out, &text);
    }
    if let Some(file) = &output.file {
        let shape: Vec<String> = output.shape.iter().map(ToString::to_string).collect();
        line(out, &format!("{name}: {} {} in {file}", output.element.name(), shape.join("x")));
    }
}
