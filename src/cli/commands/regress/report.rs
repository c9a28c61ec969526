//! The result of `kgen regress`.

use std::collections::HashMap;

use kgen_history::{ChangePoint, Line, Recorded, Report, Row, Series, Verdict, change_points};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cli::commands::history::EntryItem,
    report::{Screen, TextTable},
};

/// Cases against those of an older entry.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RegressData {
    old: EntryItem,
    new: EntryItem,
    /// Cases by verdict.
    counts: Counts,
    cases: Vec<CaseItem>,
    /// Changes over the history of the cases that have some.
    change_points: Vec<CaseChanges>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct Counts {
    slower: usize,
    /// Right before, wrong now.
    wrong: usize,
    faster: usize,
    same: usize,
    not_comparable: usize,
    not_measured: usize,
    gone: usize,
    new: usize,
}

/// A case with its implementation in both entries.
#[derive(Debug, Serialize, JsonSchema)]
struct CaseItem {
    op: String,
    dtype: String,
    /// Name of the case, for example `f32[16,1024]/normal`.
    case: String,
    args: String,
    implementation: String,
    /// `slower`, `wrong`, `faster`, `same`, `not_comparable`, `not_measured`, `gone` or `new`.
    verdict: String,
    /// Why it could not be compared.
    why: Option<String>,
    old_us: Option<f64>,
    new_us: Option<f64>,
    /// New over old.
    ratio: Option<f64>,
    /// Its 99 % interval.
    interval: Option<[f64; 2]>,
    /// Corrected over all cases by Holm's method.
    p_adjusted: Option<f64>,
    /// `paired`: measured again in alternation; `recorded`: from the samples of both entries.
    method: Option<String>,
}

/// Change points of a case over the history.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CaseChanges {
    case: String,
    implementation: String,
    gpu: String,
    pub(super) points: Vec<ChangePoint>,
}

impl CaseChanges {
    pub(super) fn of(line: &Line) -> Self {
        Self {
            case: name(&line.series),
            implementation: line.series.implementation.clone(),
            gpu: line.gpu.clone(),
            points: change_points(&line.points),
        }
    }
}

fn name(series: &Series) -> String {
    format!("{} {} {}", series.op, series.dtype, series.args)
}

impl CaseItem {
    fn new(row: &Row, names: &HashMap<&Series, &str>) -> Self {
        let why = match &row.verdict {
            Verdict::Wrong { why }
            | Verdict::NotComparable { why }
            | Verdict::NotMeasured { why } => Some(why.clone()),
            Verdict::Slower | Verdict::Faster | Verdict::Same | Verdict::Gone | Verdict::New => {
                None
            }
        };
        let series = &row.series;
        Self {
            op: series.op.clone(),
            dtype: series.dtype.clone(),
            case: names.get(series).copied().unwrap_or_default().to_owned(),
            args: series.args.clone(),
            implementation: series.implementation.clone(),
            verdict: row.verdict.name().replace(' ', "_"),
            why,
            old_us: row.old_us,
            new_us: row.new_us,
            ratio: row.ratio.map(|ratio| ratio.value),
            interval: row.ratio.map(|ratio| [ratio.low, ratio.high]),
            p_adjusted: row.ratio.map(|ratio| ratio.p_adjusted),
            method: row.ratio.map(|ratio| ratio.method.name().to_owned()),
        }
    }
}

const COLUMNS: [&str; 7] =
    ["op", "case", "implementation", "verdict", "old us", "new us", "new/old"];

impl RegressData {
    /// `recorded`: the old entry and the new one.
    pub(super) fn new(
        [old, new]: &[Recorded; 2],
        report: &Report,
        changes: Vec<CaseChanges>,
    ) -> Self {
        let count = |name: &str| report.count(name);
        let results = old.results.iter().chain(&new.results);
        let names: HashMap<&Series, &str> =
            results.map(|(result, _)| (&result.series, &*result.case)).collect();
        Self {
            old: EntryItem::from(&old.entry),
            new: EntryItem::from(&new.entry),
            counts: Counts {
                slower: count("slower"),
                wrong: count("wrong"),
                faster: count("faster"),
                same: count("same"),
                not_comparable: count("not comparable"),
                not_measured: count("not measured"),
                gone: count("gone"),
                new: count("new"),
            },
            cases: report.rows.iter().map(|row| CaseItem::new(row, &names)).collect(),
            change_points: changes,
        }
    }

    /// Returns the cases that are worth a line: all but those that are the same.
    fn shown(&self) -> impl Iterator<Item = &CaseItem> {
        self.cases.iter().filter(|case| case.verdict != "same")
    }

    fn headline(&self) -> String {
        let entry = |entry: &EntryItem| entry.tag.clone().unwrap_or_else(|| entry.id.clone());
        let Counts { slower, wrong, faster, same, not_comparable, not_measured, gone, new } =
            self.counts;
        let others = [
            (wrong, "wrong now"),
            (not_comparable, "not comparable"),
            (not_measured, "not measured"),
            (gone, "gone"),
            (new, "new"),
        ];
        let others = others.iter().filter(|(n, _)| 0 < *n).map(|(n, word)| format!(", {n} {word}"));
        let n_paired = self.cases.iter().filter(|case| case.method.as_deref() == Some("paired"));
        let how = match n_paired.count() {
            0 => "by recorded samples".to_owned(),
            n => format!("{n} cases measured again, the others by recorded samples"),
        };
        format!(
            "{} against {}: {slower} slower, {faster} faster, {same} the same{} ({how})",
            entry(&self.new),
            entry(&self.old),
            others.collect::<String>()
        )
    }

    fn table(&self) -> TextTable {
        let us =
            |time: Option<f64>| time.map_or("not measured".to_owned(), |us| format!("{us:.2}"));
        let mut table = TextTable::new(&COLUMNS).yielding(&[("case", 24), ("implementation", 12)]);
        for case in self.shown() {
            let ratio = case.ratio.zip(case.interval);
            table.row(vec![
                case.op.clone(),
                case.case.clone(),
                case.implementation.clone(),
                case.verdict.replace('_', " "),
                us(case.old_us),
                us(case.new_us),
                ratio.map_or(String::new(), |(ratio, [low, high])| {
                    format!("{ratio:.3} [{low:.3}, {high:.3}]")
                }),
            ]);
        }
        table
    }

    /// Returns the distinct reasons why cases were not compared, with their number.
    fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<(String, usize)> = Vec::new();
        for case in &self.cases {
            let Some(why) = &case.why else { continue };
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, n)) => *n += 1,
                None => reasons.push((why.clone(), 1)),
            }
        }
        reasons.into_iter().map(|(why, n)| format!("not compared ({n}): {why}")).collect()
    }

    pub(super) fn text(&self, screen: Screen) -> String {
        let mut lines = Vec::new();
        if self.shown().next().is_some() {
            lines.push(self.table().fit(screen).trim_end().to_owned());
        }
        lines.extend(self.reasons());
        for case in &self.change_points {
            let last = case.points.last().map(|point| {
                format!(
                    "{:.2} to {:.2} us at entry {}",
                    point.before_us, point.after_us, point.entry
                )
            });
            let last = last.unwrap_or_default();
            lines.push(format!(
                "changed over the history: {} {}: {last}",
                case.case, case.implementation
            ));
        }
        lines.push(self.headline());
        lines.join("\n")
    }

    pub(super) fn markdown(&self) -> String {
        let mut lines = vec![format!("**{}**", self.headline())];
        if self.shown().next().is_some() {
            lines.push(String::new());
            lines.push(self.table().markdown().trim_end().to_owned());
        }
        if !self.reasons().is_empty() {
            lines.push(String::new());
            lines.extend(self.reasons());
        }
        lines.join("\n")
    }
}
