//! Reports of compute-sanitizer.

mod text;
mod xml;

use serde::{Deserialize, Serialize};

pub use text::{n_errors, parse_text};
pub use xml::parse_xml;

/// A tool of compute-sanitizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Accesses outside of buffers, misaligned ones, leaks of faults.
    Memcheck,
    /// Races in shared memory.
    Racecheck,
    /// Reads of global memory that nobody wrote.
    Initcheck,
    /// Barriers that not all threads reach.
    Synccheck,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Memcheck, Self::Racecheck, Self::Initcheck, Self::Synccheck];

    /// Returns the name, as the tool's option has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Initcheck => "initcheck",
            Self::Synccheck => "synccheck",
        }
    }
}

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceLocation {
    /// The function.
    pub function: String,
    /// Its file, without folders; empty where the code has no line information.
    pub file: String,
    /// Its line, from 1.
    pub line: Option<u32>,
}

/// The findings of a tool, all reports of one kind at one place together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The headline, for example `Invalid __global__ write of size 4 bytes is out of bounds`.
    pub what: String,
    /// Where.
    pub place: SourceLocation,
    /// The other access of a race: its kind and place.
    pub other: Option<(String, SourceLocation)>,
    /// The thread that was reported first, and its block.
    pub thread: Option<[u32; 3]>,
    /// See [`Self::thread`].
    pub block: Option<[u32; 3]>,
    /// Reports.
    pub n: u64,
}

impl Report {
    /// Returns the report in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!("{}{}", self.what, at(&self.place));
        if let Some((what, place)) = &self.other {
            line = format!("{line}, against {what}{}", at(place));
        }
        if let (Some([x, y, z]), Some([bx, by, bz])) = (self.thread, self.block) {
            line = format!("{line}, by thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})");
        }
        if 1 < self.n { format!("{line} ({} reports)", self.n) } else { line }
    }
}

fn at(place: &SourceLocation) -> String {
    let inside =
        if place.function.is_empty() { String::new() } else { format!(" in {}", place.function) };
    match place.line {
        Some(line) => format!("{inside} at {}:{line}", place.file),
        None => inside,
    }
}

/// The tool itself failed, in its words; nothing the program did is in it.
#[must_use]
pub fn internal_error(text: &str) -> Option<String> {
    let markers = [
        "Internal Sanitizer Error",
        "Error: No attachable process found",
        "Error: Target application terminated before first instrumented API call",
        "Device not supported",
    ];
    let found = text.lines().find(|line| markers.iter().any(|marker| line.contains(marker)))?;
    Some(found.trim_start_matches(['=', ' ']).trim().to_owned())
}

/// Joins reports of one kind at one place.
fn join(reports: impl IntoIterator<Item = Report>) -> Vec<Report> {
    let mut joined: Vec<Report> = Vec::new();
    for report in reports {
        let same = |known: &&mut Report| {
            known.what == report.what && known.place == report.place && known.other == report.other
        };
        match joined.iter_mut().find(same) {
            Some(known) => known.n = known.n.saturating_add(report.n),
            None => joined.push(report),
        }
    }
    joined
}

fn without_folders(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
