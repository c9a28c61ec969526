//! The table of a run's ops, and what belongs below it.

use std::{collections::BTreeSet, fmt::Write as _};

use kgen_record::{Flag, LibraryUse, Speedup, Verdict};
use kgen_store::Counts;

use super::{
    NOT_MEASURED, OpSummary, Screen, Summary, TextTable, Tone,
    chart::{bar, sparkline},
    cost_text,
    digits::factor,
    gpu_table, score_table,
};

/// Cells of the longest bar.
const BAR: usize = 12;

/// Returns the table of ops, that of GPUs where there are several, and the scores where something was
/// timed.
#[must_use]
pub fn tables(summary: &Summary, screen: Screen) -> String {
    let ops = op_table(summary, screen).map(|table| table.fit(screen));
    let unfinished = unfinished_line(summary).map(|line| screen.cut(&line));
    let flags = flag_lines(summary).into_iter().map(|line| screen.cut(&line));
    let lines: Vec<String> = ops.into_iter().chain(unfinished).chain(flags).collect();
    let mut text = lines.join("\n");
    for table in [gpu_table(summary), score_table(summary)].into_iter().flatten() {
        write!(text, "\n\n{}", table.fit(screen)).expect("a string takes any text");
    }
    text
}

/// Returns one line for all ops that no attempt was finished at; `None` where there are none, and for a single
/// one, which has a row.
#[must_use]
pub(super) fn unfinished_line(summary: &Summary) -> Option<String> {
    let ops = summary.ops.iter().filter(|op| op.verdict.is_none());
    let ops: Vec<&str> = ops.map(|op| op.op.as_str()).collect();
    let n_ops = ops.len();
    (n_ops > 1).then(|| format!("{n_ops} ops without a finished attempt: {}", ops.join(", ")))
}

/// Returns flags raised while ops were timed, a line per flag. That launching dominates is left
/// out: the speedups say it.
fn flag_lines(summary: &Summary) -> Vec<String> {
    let flags = summary.ops.iter().flat_map(|op| op.flags.iter().copied());
    let flags: BTreeSet<Flag> = flags.filter(|flag| *flag != Flag::FloorLimited).collect();
    let line = |flag: Flag| {
        let with = summary.ops.iter().filter(|op| op.flags.contains(&flag));
        let with: Vec<&str> = with.map(|op| op.op.as_str()).collect();
        format!("timed {}: {}", flag.meaning(), with.join(", "))
    };
    flags.into_iter().map(line).collect()
}

/// The columns that only some runs have.
struct Columns<'a> {
    baselines: Vec<&'a str>,
    plan: bool,
    /// The highest speedup over the primary baseline, which the longest bar stands for.
    bars: Option<f64>,
    trail: bool,
    floor: bool,
    cost: bool,
    gpu: bool,
}

impl<'a> Columns<'a> {
    fn of(summary: &'a Summary) -> Self {
        let mut baselines: Vec<&str> = Vec::new();
        for speedup in &summary.speedups {
            if !baselines.contains(&speedup.baseline.as_str()) {
                baselines.push(&speedup.baseline);
            }
        }
        let ops = &summary.ops;
        let speedups = ops.iter().filter_map(OpSummary::speedup).map(|speedup| speedup.geomean);
        Self {
            baselines,
            plan: ops.iter().any(OpSummary::with_library),
            bars: speedups.reduce(f64::max).filter(|_| 1 < ops.len()),
            trail: ops.iter().any(|op| {
                1 < op.attempt_speedups.len() && op.attempt_speedups.iter().any(Option::is_some)
            }),
            floor: ops.iter().any(|op| op.percent_of_floor.is_some()),
            cost: ops.iter().any(|op| cost_text(&op.spend).is_some()),
            gpu: 1 < summary.gpus.len(),
        }
    }

    fn speedup_headers(&self) -> Vec<String> {
        match self.baselines[..] {
            [] | [_] => vec!["speedup".to_owned()],
            _ => self.baselines.iter().map(|name| format!("speedup over {name}")).collect(),
        }
    }

    fn table(&self) -> TextTable {
        let speedups = self.speedup_headers();
        let scale = self.bars.map(|most| format!("0 to {}x", factor(most)));
        let mut headers = vec!["op", "verdict", ">attempts", "cases"];
        headers.extend(self.plan.then_some("plan"));
        headers.extend(speedups.iter().map(String::as_str));
        headers.extend(scale.as_deref());
        headers.extend(self.trail.then_some("trend"));
        headers.extend(self.floor.then_some(">% of floor"));
        headers.extend(self.cost.then_some(">cost"));
        headers.extend(self.gpu.then_some("GPU"));
        headers.push("best file");
        let mut yielding = vec![("best file", 0), ("plan", 0), ("GPU", 0), ("% of floor", 0)];
        // The longer part of a cell is its interval and its share of overhead.
        let others = speedups.iter().skip(1).rev();
        yielding.extend(others.map(|header| (header.as_str(), 0)));
        yielding.extend([("attempts", 0), ("cost", 0), ("trend", 6)]);
        yielding.extend([(speedups[0].as_str(), 18), (scale.as_deref().unwrap_or_default(), 0)]);
        yielding.extend([("trend", 0), ("op", 20), ("verdict", 14), ("op", 16), ("cases", 5)]);
        TextTable::new(&headers).yielding(&yielding)
    }

    fn row(&self, op: &OpSummary, screen: Screen) -> Vec<String> {
        let dash = || "-".to_owned();
        let mut cells = vec![
            op.op.clone(),
            screen.paint(tone(op.verdict), &verdict_text(op)),
            op.attempts.to_string(),
            cases_text(&op.counts).unwrap_or_else(dash),
        ];
        if self.plan {
            cells.push(op.library_use.map_or("-", LibraryUse::name).to_owned());
        }
        match &self.baselines[..] {
            [] | [_] => cells.push(speedup_text(op.speedup())),
            names => cells.extend(names.iter().map(|name| factor_text(op.speedup_over(name)))),
        }
        if let Some(most) = self.bars {
            let share = op.speedup().map(|speedup| speedup.geomean / most);
            cells.push(share.map_or_else(String::new, |share| bar(share, BAR)));
        }
        if self.trail {
            cells.push(sparkline(&op.attempt_speedups));
        }
        if self.floor {
            let percent = op.percent_of_floor.map(|percent| format!("{percent:.0}"));
            cells.push(percent.unwrap_or_else(dash));
        }
        if self.cost {
            cells.push(cost_text(&op.spend).unwrap_or_else(dash));
        }
        if self.gpu {
            let uuid = op.gpu.as_ref().map_or("-", |gpu| short(&gpu.uuid));
            cells.push(uuid.to_owned());
        }
        cells.push(op.best_file.clone().unwrap_or_else(dash));
        cells
    }
}

/// Returns the table of the ops that an attempt was finished at; `None` where there are none.
#[must_use]
pub fn op_table(summary: &Summary, screen: Screen) -> Option<TextTable> {
    let columns = Columns::of(summary);
    let mut table = columns.table();
    let (mut rows, unfinished): (Vec<_>, Vec<_>) =
        summary.ops.iter().partition(|op| op.verdict.is_some());
    if let [op] = unfinished[..] {
        // Its row is no longer than a line about it.
        rows.push(op);
    }
    rows.first()?;
    for op in rows {
        table.row(columns.row(op, screen));
    }
    Some(table)
}

/// Returns the tone of a verdict.
#[must_use]
pub fn tone(verdict: Option<Verdict>) -> Tone {
    match verdict {
        Some(Verdict::Passed) => Tone::Good,
        Some(Verdict::Unsupported) | None => Tone::Open,
        Some(_) => Tone::Bad,
    }
}

/// Returns a UUID's first group, which distinguishes the GPUs of a machine: `GPU-1a2b3c4d`.
fn short(uuid: &str) -> &str {
    let end = uuid.match_indices('-').nth(1).map_or(uuid.len(), |(at, _)| at);
    &uuid[..end]
}

/// Returns a verdict with where it was reached: `passed on emu`, never a plain `passed` for ops that
/// only the emulator saw, and with the lines that no case reached.
#[must_use]
pub fn verdict_text(op: &OpSummary) -> String {
    let Some(verdict) = op.verdict else {
        let no_reply = op.no_reply.as_ref().map(|why| format!("no reply: {}", shortened(why)));
        return no_reply.unwrap_or_else(|| "no attempt finished".to_owned());
    };
    let level = op.level.map_or("?", |level| level.name());
    let mut text = if verdict == Verdict::Passed {
        let unreached = match op.counts.unreached {
            0 => String::new(),
            1 => ", 1 line unreached".to_owned(),
            n => format!(", {n} lines unreached"),
        };
        format!("passed on {level}{unreached}")
    } else {
        format!("{verdict} ({level})")
    };
    if op.cached {
        text.push_str(" [kept reply]");
    }
    if op.replayed {
        let what = if op.reused_evaluation { " [replayed, evaluation too]" } else { " [replayed]" };
        text.push_str(what);
    }
    text
}

/// Returns the beginning of a message.
fn shortened(message: &str) -> String {
    const LENGTH: usize = 60;
    match message.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

/// Returns the passed cases of those that ran, and in two words each why the others did not: `48/48, 6
/// too large`; `None` without cases.
#[must_use]
pub fn cases_text(counts: &Counts) -> Option<String> {
    let Counts { cases, passed, skipped, too_large, .. } = *counts;
    let too_large = too_large.min(skipped);
    let mut text = format!("{passed}/{}", cases - skipped);
    for (n, why) in [(too_large, "too large"), (skipped - too_large, "not run")] {
        if n > 0 {
            write!(text, ", {n} {why}").expect("a string takes any text");
        }
    }
    (cases > 0).then_some(text)
}

/// Returns a speedup with its baseline, for example `1.32x vs builtin`, and the one with
/// the cases that launch overhead dominates.
#[must_use]
pub fn speedup_text(speedup: Option<&Speedup>) -> String {
    let Some(speedup) = speedup else { return NOT_MEASURED.to_owned() };
    let interval = interval_text(speedup);
    let text = format!("{}x{interval} vs {}", factor(speedup.geomean), speedup.baseline);
    format!("{text}{}{}", overhead_text(speedup), total_text(speedup))
}

/// Returns a speedup without its baseline, which the table's header names.
fn factor_text(speedup: Option<&Speedup>) -> String {
    let Some(speedup) = speedup else { return NOT_MEASURED.to_owned() };
    let (interval, overhead) = (interval_text(speedup), overhead_text(speedup));
    format!("{}x{interval}{overhead}{}", factor(speedup.geomean), total_text(speedup))
}

fn total_text(speedup: &Speedup) -> String {
    let text = |total| format!(" ({}x in the log's total time)", factor(total));
    speedup.total.map_or_else(String::new, text)
}

fn interval_text(speedup: &Speedup) -> String {
    let text = |[low, high]: [f64; 2]| format!(" [{}, {}]", factor(low), factor(high));
    speedup.interval.map_or_else(String::new, text)
}

fn overhead_text(speedup: &Speedup) -> String {
    if !speedup.is_headline() {
        return " (launch overhead only)".to_owned();
    }
    match speedup.geomean_all {
        Some(all) => {
            format!(" ({}x with {} of launch overhead)", factor(all), speedup.n_overhead)
        }
        None => String::new(),
    }
}
