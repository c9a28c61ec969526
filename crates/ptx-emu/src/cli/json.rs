//! The report as one JSON object.

use ptx_emu::{Counters, Finding, Launch, LaunchError};
use serde::Serialize;

use super::{
    Error, Exit, Result,
    compare::Comparison,
    run::{Output, RunResult},
};

#[derive(Serialize)]
struct Document<'a> {
    kernel: &'a str,
    mangled: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    end: End<'a>,
    findings: &'a [Finding],
    lane_instructions: u64,
    /// Blocks that came to their ends.
    blocks: u64,
    counters: Option<&'a Counters>,
    stdout: &'a str,
    outputs: Vec<Array<'a>>,
}

#[derive(Serialize)]
struct End<'a> {
    /// `ok`, `fault`, `unsupported`, `deadlock`, `budget` or `refused`.
    status: &'static str,
    message: Option<&'a str>,
    line: Option<u32>,
}

#[derive(Serialize)]
struct Array<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    element: &'static str,
    shape: &'a [usize],
    /// Ranges `[first, end)` of elements that were not written.
    unwritten: Option<Vec<[u64; 2]>>,
    file: Option<&'a str>,
    comparison: Option<&'a Comparison>,
}

fn end(end: &std::result::Result<(), LaunchError>) -> End<'_> {
    let (status, message, line) = match end {
        Ok(()) => ("ok", None, None),
        Err(LaunchError::Fault(f)) => ("fault", Some(&f.message), f.line),
        Err(LaunchError::Unsupported { message, line, .. }) => {
            ("unsupported", Some(message), *line)
        }
        Err(LaunchError::Deadlock { message, line, .. }) => ("deadlock", Some(message), *line),
        Err(LaunchError::Budget { message, line, .. }) => ("budget", Some(message), *line),
        Err(LaunchError::Launch { message }) => ("refused", Some(message), None),
    };
    End { status, message: message.map(String::as_str), line }
}

fn array(output: &Output) -> Array<'_> {
    let ranges = output.unwritten.as_ref();
    Array {
        name: &output.name,
        element: output.element.name(),
        shape: &output.shape,
        unwritten: ranges.map(|list| list.iter().map(|r| [r.start, r.end]).collect()),
        file: output.file.as_deref(),
        comparison: output.comparison.as_ref(),
    }
}

/// The report for a program.
pub(super) fn report(result: &RunResult, launch: &Launch) -> Result<String> {
    let report = &result.report;
    let document = Document {
        kernel: &result.kernel,
        mangled: &launch.kernel,
        grid: launch.grid,
        block: launch.block,
        end: end(&report.end),
        findings: &report.findings,
        lane_instructions: report.lane_instructions,
        blocks: report.blocks,
        counters: report.counters.as_ref(),
        stdout: &report.stdout,
        outputs: result.outputs.iter().map(array).collect(),
    };
    let text = serde_json::to_string(&document)
        .map_err(|error| Error { exit: Exit::Files, message: error.to_string() })?;
    Ok(text + "\n")
}
