//! Counts of agreement and disagreement, per op.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, BufRead},
    panic::{self, AssertUnwindSafe},
};

use rayon::prelude::*;

use crate::calls::{self, Answer};

/// Lines that are compared at once.
const BATCH: usize = 4096;

/// The counts of one op.
#[derive(Debug, Default)]
struct Row {
    agree: usize,
    differ: Vec<String>,
    refused: Vec<String>,
    accepted: Vec<String>,
    unknown: usize,
    skipped: usize,
}

/// The counts of all ops.
#[derive(Debug, Default)]
pub(crate) struct Score {
    rows: BTreeMap<String, Row>,
}

impl Score {
    /// Compares the calls of a file.
    pub(crate) fn read(
        &mut self,
        file: impl BufRead,
        name: &str,
        only: Option<&str>,
    ) -> io::Result<()> {
        let mut lines = file.lines().enumerate();
        loop {
            let batch: Vec<(usize, String)> = lines
                .by_ref()
                .take(BATCH)
                .map(|(index, line)| Ok((index + 1, line?)))
                .collect::<io::Result<_>>()?;
            if batch.is_empty() {
                return Ok(());
            }
            let answers: Vec<_> =
                batch.par_iter().filter_map(|(line, text)| answer(*line, text, only)).collect();
            for answer in answers {
                let (op, answer) = answer.map_err(|reason| {
                    io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {reason}"))
                })?;
                self.add(op, answer);
            }
        }
    }

    fn add(&mut self, op: String, answer: Answer) {
        let row = self.rows.entry(op).or_default();
        match answer {
            Answer::Agrees => row.agree += 1,
            Answer::Differs(text) => row.differ.push(text),
            Answer::Refused(text) => row.refused.push(text),
            Answer::Accepted(text) => row.accepted.push(text),
            Answer::Unknown => row.unknown += 1,
            Answer::Skipped => row.skipped += 1,
        }
    }

    fn totals(&self) -> [usize; 5] {
        let mut totals = [0; 5];
        for row in self.rows.values() {
            let counts =
                [row.agree, row.differ.len(), row.refused.len(), row.accepted.len(), row.unknown];
            for (total, count) in totals.iter_mut().zip(counts) {
                *total += count;
            }
        }
        totals
    }

    /// Returns the percentage of calls of known ops that agree.
    pub(crate) fn percentage(&self) -> f64 {
        let [agree, differ, refused, accepted, _] = self.totals();
        let known = agree + differ + refused + accepted;
        if known == 0 { 100.0 } else { 100.0 * agree as f64 / known as f64 }
    }

    /// Returns the table of the ops that disagree, with examples, and the totals.
    pub(crate) fn table(&self, show: usize) -> String {
        let mut text = format!(
            "{:<42}{:>8}{:>8}{:>9}{:>10}\n",
            "op", "agree", "differ", "refused", "accepted"
        );
        let mut unknown = Vec::new();
        for (op, row) in &self.rows {
            if row.unknown > 0 {
                unknown.push(format!("{op} {}", row.unknown));
            }
            if row.differ.len() + row.refused.len() + row.accepted.len() == 0 {
                continue;
            }
            let (differ, refused, accepted) =
                (row.differ.len(), row.refused.len(), row.accepted.len());
            let _ = writeln!(text, "{op:<42}{:>8}{differ:>8}{refused:>9}{accepted:>10}", row.agree);
            let kinds =
                [("differs", &row.differ), ("refused", &row.refused), ("accepted", &row.accepted)];
            for (kind, examples) in kinds {
                for example in examples.iter().take(show) {
                    let _ = writeln!(text, "    {kind}: {example}");
                }
            }
        }
        let [agree, differ, refused, accepted, unknowns] = self.totals();
        let skipped: usize = self.rows.values().map(|row| row.skipped).sum();
        let _ = writeln!(text, "unknown ops: {}", unknown.join(", "));
        let _ = writeln!(
            text,
            "{agree} agree, {differ} differ, {refused} refused, {accepted} accepted that PyTorch refuses: {:.3} % \
             of the calls of known ops agree; {unknowns} calls of {} unknown ops; {skipped} not compared",
            self.percentage(),
            unknown.len(),
        );
        text
    }
}

/// Compares one line; `None` where the filter leaves it out.
fn answer(line: usize, text: &str, only: Option<&str>) -> Option<Result<(String, Answer), String>> {
    let record = match calls::Record::read(text) {
        Ok(record) => record,
        Err(reason) => return Some(Err(format!("line {line}: {reason}"))),
    };
    if only.is_some_and(|only| !record.op.contains(only)) {
        return None;
    }
    // One panic must not hide the answers of other calls.
    let answer = panic::catch_unwind(AssertUnwindSafe(|| record.compare()));
    let answer =
        answer.unwrap_or_else(|_| Answer::Differs(format!("panicked at {}", record.source)));
    Some(Ok((record.op, answer)))
}
