//! Did anything become slower from one entry to another?
//!
//! Samples within a session hang together and two sessions of one kernel differ by half a per cent to
//! either side, so that a test alone would find a difference everywhere: one counts only where the near
//! end of its interval lies beyond an effect that matters. Where old and new were measured again in
//! alternation, that decides: both arms share what a session does to them.

mod comparable;
mod ratio;

use std::collections::HashMap;

use kgen_measure::stats::holm;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{PASSED, Recorded, Series, StoredResult};

pub use ratio::{Method, Ratio};

/// How large and how certain a difference must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The smallest effect that matters, as a share: 0.02 is 2 %. Of recorded samples never less than
    /// [`Options::SESSION`].
    pub min_effect: f64,
    /// Chance of any false difference among all cases.
    pub alpha: f64,
}

impl Options {
    /// The difference that two sessions of one kernel may have.
    pub const SESSION: f64 = 0.01;
}

impl Default for Options {
    fn default() -> Self {
        Self { min_effect: 0.02, alpha: 0.01 }
    }
}

/// The verdict on a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// The new one takes longer.
    Slower,
    /// It takes less long.
    Faster,
    /// No difference that matters was found.
    Same,
    /// It was right in the old entry and is judged wrong in the new one.
    Wrong {
        /// The verdict and its finding.
        why: String,
    },
    /// The two were not measured alike.
    NotComparable {
        /// How not.
        why: String,
    },
    /// It is in the old entry alone.
    Gone,
    /// It is in the new entry alone.
    New,
    /// One of them, or both, has no time.
    NotMeasured {
        /// Which, and its reason.
        why: String,
    },
}

impl Verdict {
    /// Its name in tables and files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Same => "same",
            Self::Wrong { .. } => "wrong",
            Self::NotComparable { .. } => "not comparable",
            Self::Gone => "gone",
            Self::New => "new",
            Self::NotMeasured { .. } => "not measured",
        }
    }
}

/// A case in both entries.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The case with its implementation.
    pub series: Series,
    /// The verdict.
    pub verdict: Verdict,
    /// Median of the old one, in microseconds; of a case that was measured again, then.
    pub old_us: Option<f64>,
    /// Median of the new one.
    pub new_us: Option<f64>,
    /// New over old; `None` where they were not compared.
    pub ratio: Option<Ratio>,
}

impl Row {
    fn without_ratio(series: &Series, verdict: Verdict, times: [Option<f64>; 2]) -> Self {
        let [old_us, new_us] = times;
        Self { series: series.clone(), verdict, old_us, new_us, ratio: None }
    }
}

/// All cases of two entries.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// In the order of the new entry; then those that are gone.
    pub rows: Vec<Row>,
}

impl Report {
    /// Replaces rows by those of cases that were measured again, and judges all cases anew.
    pub fn replace(&mut self, measured: Vec<Row>, options: &Options) {
        let mut measured: HashMap<Series, Row> =
            measured.into_iter().map(|row| (row.series.clone(), row)).collect();
        for row in &mut self.rows {
            if let Some(again) = measured.remove(&row.series) {
                *row = again;
            }
        }
        judge(&mut self.rows, options);
    }

    /// Rows of a verdict of this name.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.rows.iter().filter(|row| row.verdict.name() == name).count()
    }
}

/// Compares the recorded samples of two entries.
#[must_use]
pub fn regress(old: &Recorded, new: &Recorded, options: &Options) -> Report {
    let differs = comparable::entries_differ(&old.entry, &new.entry);
    let mut of_old: HashMap<&Series, (&StoredResult, &[f64])> = old
        .results
        .iter()
        .map(|(result, samples)| (&result.series, (result, &**samples)))
        .collect();
    let mut rows = Vec::with_capacity(new.results.len());
    for (result, samples) in &new.results {
        rows.push(match of_old.remove(&result.series) {
            Some(old) => both(old, (result, samples), differs.as_deref()),
            None => Row::without_ratio(&result.series, Verdict::New, [None, median(result)]),
        });
    }
    let is_gone = |(result, _): &&(StoredResult, _)| of_old.contains_key(&result.series);
    rows.extend(old.results.iter().filter(is_gone).map(|(result, _)| {
        Row::without_ratio(&result.series, Verdict::Gone, [median(result), None])
    }));
    judge(&mut rows, options);
    Report { rows }
}

/// The row of a case whose kernels were measured again in alternation, by itself; [`Report::replace`]
/// judges it with the others.
///
/// `comparison`: the old one is its baseline and the new one its candidate; `times_us`: their medians.
#[must_use]
pub fn paired(
    series: &Series,
    comparison: &kgen_measure::Comparison,
    times_us: [f64; 2],
    options: &Options,
) -> Row {
    let mut row = Row::without_ratio(series, Verdict::Same, times_us.map(Some));
    row.ratio = Some(Ratio::paired(comparison));
    judge(std::slice::from_mut(&mut row), options);
    row
}

fn median(result: &StoredResult) -> Option<f64> {
    result.time.map(|time| time.median_us)
}

/// A case that is in both, not judged yet. `differs`: why the entries cannot be compared.
fn both(
    (old, old_samples): (&StoredResult, &[f64]),
    (new, new_samples): (&StoredResult, &[f64]),
    differs: Option<&str>,
) -> Row {
    let times = [median(old), median(new)];
    let without = |verdict| Row::without_ratio(&new.series, verdict, times);
    let is_judged = !["not_offered", "not_run"].contains(&&*new.outcome);
    if old.outcome == PASSED && new.outcome != PASSED && is_judged {
        return without(Verdict::Wrong { why: untimed("new", new) });
    }
    let (Some(old_time), Some(new_time)) = (old.time, new.time) else {
        let of = |name, result: &StoredResult| result.time.is_none().then(|| untimed(name, result));
        let whys: Vec<String> = [of("old", old), of("new", new)].into_iter().flatten().collect();
        return without(Verdict::NotMeasured { why: whys.join("; ") });
    };
    let modes = comparable::modes_differ(old_time.mode, new_time.mode);
    let whys: Vec<String> = differs.map(str::to_owned).into_iter().chain(modes).collect();
    if !whys.is_empty() {
        return without(Verdict::NotComparable { why: whys.join("; ") });
    }
    match Ratio::recorded(old_samples, new_samples) {
        Some(ratio) => Row { ratio: Some(ratio), ..without(Verdict::Same) },
        None => without(Verdict::NotComparable { why: "samples of no length".to_owned() }),
    }
}

fn untimed(name: &str, result: &StoredResult) -> String {
    let outcome = result.outcome.replace('_', " ");
    match &result.reason {
        Some(reason) => format!("{name}: {outcome}, {reason}"),
        None => format!("{name}: {outcome}"),
    }
}

/// Corrects the p values of all rows that were compared, and judges them.
fn judge(rows: &mut [Row], options: &Options) {
    let mut compared: Vec<&mut Row> = rows.iter_mut().filter(|row| row.ratio.is_some()).collect();
    let p: Vec<f64> = compared.iter().filter_map(|row| row.ratio).map(|ratio| ratio.p).collect();
    for (row, adjusted) in compared.iter_mut().zip(holm(&p)) {
        if let Some(ratio) = &mut row.ratio {
            ratio.p_adjusted = adjusted;
            row.verdict = ratio.verdict(options);
        }
    }
}
