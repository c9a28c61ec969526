//! The page `source`: where in the source the warps were sampled.

use std::collections::{BTreeMap, HashMap};

use crate::csv::{fields, fit};

/// A line of source with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct HotLine {
    /// The file, by the name that the compiler got.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Share of all samples of the kernel, of 1.
    pub share: f64,
    /// The stall reason that most of its samples have, with its share of them.
    pub stall: Option<(String, f64)>,
}

/// Reads the lines of the source with most samples, at most `limit`; empty where the page has no
/// source lines.
///
/// The page lists each file with its lines and below each line its instructions. An instruction
/// that was inlined stands below several lines, so that shares are of the instructions, each
/// counted once.
#[must_use]
pub fn hot_lines(text: &str, limit: usize) -> Vec<HotLine> {
    let page = read(text);
    let n_samples: u64 = page.instructions.values().sum();
    if n_samples == 0 {
        return Vec::new();
    }
    let mut lines: Vec<HotLine> = page
        .lines
        .into_iter()
        .filter(|(_, line)| 0 < line.samples)
        .map(|((file, number), line)| HotLine {
            file,
            line: number,
            share: share(line.samples, n_samples).min(1.0),
            stall: line.worst_stall(),
        })
        .collect();
    lines.sort_by(|a, b| b.share.total_cmp(&a.share));
    lines.truncate(limit);
    lines
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[derive(Default)]
struct Page {
    lines: BTreeMap<(String, u32), Line>,
    /// Samples of each instruction, by its address.
    instructions: HashMap<String, u64>,
}

#[derive(Default)]
struct Line {
    samples: u64,
    stalls: BTreeMap<String, u64>,
}

impl Line {
    fn worst_stall(&self) -> Option<(String, f64)> {
        let (stall, samples) = self.stalls.iter().max_by_key(|(_, samples)| **samples)?;
        (0 < *samples).then(|| (stall.clone(), share(*samples, self.samples).min(1.0)))
    }
}

/// Columns of one file's table.
struct Columns {
    n: usize,
    source: usize,
    line: usize,
    address: Option<usize>,
    samples: usize,
    stalls: Vec<(usize, String)>,
}

impl Columns {
    fn read(header: &[String]) -> Option<Self> {
        let at = |name: &str| header.iter().position(|column| column == name);
        let stall = |(index, column): (usize, &String)| {
            let name = column.strip_prefix("stall_")?;
            // The others count the same samples where no other warp issued either.
            (!name.contains(' ') && name != "selected").then(|| (index, long_name(name).to_owned()))
        };
        Some(Self {
            n: header.len(),
            source: at("Source")?,
            line: at("Line No")?,
            address: at("Address"),
            samples: at("# Samples")?,
            stalls: header.iter().enumerate().filter_map(stall).collect(),
        })
    }
}

/// Returns a stall reason as the metrics spell it; the page shortens some.
fn long_name(stall: &str) -> &str {
    match stall {
        "long_sb" => "long_scoreboard",
        "short_sb" => "short_scoreboard",
        "lg" => "lg_throttle",
        "mio" => "mio_throttle",
        "tex" => "tex_throttle",
        "math" => "math_pipe_throttle",
        "no_inst" => "no_instruction",
        "dispatch" => "dispatch_stall",
        "imc" => "imc_miss",
        "sleep" => "sleeping",
        other => other,
    }
}

fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut file = String::new();
    let mut columns: Option<Columns> = None;
    for line in text.lines().filter(|line| line.starts_with('"')) {
        let record = fields(line);
        match record.first().map(String::as_str) {
            Some("File Path") => file = record.get(1).cloned().unwrap_or_default(),
            Some("Function Name") => {}
            Some("Line No" | "#") => columns = Columns::read(&record),
            _ => {
                if let Some(columns) = &columns {
                    add(&mut page, &file, columns, fit(record, columns.n, columns.source));
                }
            }
        }
    }
    page
}

fn add(page: &mut Page, file: &str, columns: &Columns, record: Vec<String>) {
    let count = |at: usize| record.get(at).and_then(|text| text.parse::<u64>().ok());
    let Some(samples) = count(columns.samples) else { return };
    match record.get(columns.line).and_then(|text| text.parse::<u32>().ok()) {
        Some(number) => {
            let line = page.lines.entry((file.to_owned(), number)).or_default();
            line.samples += samples;
            for (at, stall) in &columns.stalls {
                *line.stalls.entry(stall.clone()).or_default() += count(*at).unwrap_or(0);
            }
        }
        None => {
            let address = columns.address.and_then(|at| record.get(at)).cloned();
            page.instructions.insert(address.unwrap_or_default(), samples);
        }
    }
}
