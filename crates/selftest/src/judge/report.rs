//! Verdicts on controls and variants, counted.

use std::collections::{BTreeMap, BTreeSet};

use kgen_record::{CaseOutcome, Evaluation, InputDistribution, Level, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Item, Kind};

/// The outcome of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As expected.
    Right,
    /// A control passed.
    FalseAccept,
    /// A variant did not pass.
    FalseReject,
    /// A control failed, but for another reason than its own.
    OtherReason,
    /// A control passed on the emulator, which cannot show what is wrong with it.
    Unseen,
}

/// The results of other projects' comparison rules on the same outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Rules {
    /// `BackendBench` accepts every output that was compared.
    pub backendbench: bool,
    /// `KernelBench` accepts every output that was compared.
    pub kernelbench: bool,
}

/// An item with what the judge made of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ControlResult {
    #[serde(flatten)]
    pub item: Item,
    pub verdict: Verdict,
    /// The outcome of the item.
    pub end: End,
    /// Why the judge refused it, in words; empty where it passed.
    pub reason: String,
    /// The results of other rules on all outputs; `None` where kgen did not refuse the item by
    /// comparing outputs.
    pub all_inputs: Option<Rules>,
    /// The same of the cases with normally distributed values alone.
    pub normal_inputs: Option<Rules>,
    /// How much faster than its first baseline it was, where it passed and was timed.
    pub speedup: Option<f64>,
    /// Wall time of all stages, in seconds.
    pub seconds: f64,
}

/// Concludes what an evaluation says about an item.
#[must_use]
pub fn conclude(item: &Item, evaluation: &Evaluation) -> ControlResult {
    let verdict = evaluation.verdict;
    let end = match (item.kind, verdict) {
        (_, verdict) if item.expect.contains(&verdict) => End::Right,
        (Kind::Control, Verdict::Passed) if item.gpu_only && evaluation.level == Level::Emu => {
            End::Unseen
        }
        (Kind::Control, Verdict::Passed) => End::FalseAccept,
        (Kind::Control, _) => End::OtherReason,
        (Kind::Variant, _) => End::FalseReject,
    };
    let by_comparison = matches!(verdict, Verdict::WrongOutput | Verdict::Nondeterministic);
    let counts = by_comparison || verdict.is_pass();
    ControlResult {
        item: item.clone(),
        verdict,
        end,
        reason: reason(evaluation),
        all_inputs: if counts { rules(evaluation, &|_| true) } else { None },
        normal_inputs: if counts {
            rules(evaluation, &|distribution| distribution == InputDistribution::Normal)
        } else {
            None
        },
        speedup: evaluation.speedup().map(|speedup| speedup.geomean),
        seconds: evaluation.stage_times.iter().map(|time| time.seconds).sum(),
    }
}

/// Returns the first thing that was found wrong.
fn reason(evaluation: &Evaluation) -> String {
    if let Some(case) = evaluation.failed().next() {
        let finding = case.findings.iter().map(|finding| finding.message.clone());
        let mismatch = case.mismatch.iter().map(|mismatch| {
            let pattern = mismatch.pattern.as_deref().unwrap_or("no pattern");
            let ratio = mismatch.worst_ratio;
            format!(
                "{} of {} wrong, {ratio} x the bound; {pattern}",
                mismatch.n_wrong, mismatch.n_elements
            )
        });
        let words: Vec<_> = mismatch.chain(finding).take(2).collect();
        return format!("{}: {}", case.case, words.join("; "));
    }
    if evaluation.verdict.is_pass() {
        return String::new();
    }
    let findings = evaluation.findings.iter().map(|finding| finding.message.clone());
    let diagnostics = evaluation.diagnostics.iter().map(|diagnostic| diagnostic.message.clone());
    findings.chain(diagnostics).take(2).collect::<Vec<_>>().join("; ")
}

/// Joins what other rules say over the cases whose outputs were compared.
fn rules(evaluation: &Evaluation, wanted: &dyn Fn(InputDistribution) -> bool) -> Option<Rules> {
    let judged = |outcome: &CaseOutcome| matches!(outcome, CaseOutcome::Judged(_));
    let cases =
        evaluation.cases.iter().filter(|case| wanted(case.distribution) && judged(&case.outcome));
    let said = cases.filter_map(|case| case.other_rules);
    let said = said
        .map(|rules| Rules { backendbench: rules.backendbench, kernelbench: rules.kernelbench });
    said.reduce(|a, b| Rules {
        backendbench: a.backendbench && b.backendbench,
        kernelbench: a.kernelbench && b.kernelbench,
    })
}

/// Counts of one family, or of all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Count {
    pub n_controls: usize,
    /// Controls that passed.
    pub n_false_accepts: usize,
    /// Controls that failed for another reason than their own.
    pub n_other_reason: usize,
    pub n_variants: usize,
    /// Variants that did not pass.
    pub n_false_rejects: usize,
    /// Controls that came as far as having their outputs compared.
    pub n_compared: usize,
    /// Controls among these that `BackendBench`'s rule accepts on all inputs, and on normal ones.
    pub backendbench: (usize, usize),
    /// The same for `KernelBench`'s rule.
    pub kernelbench: (usize, usize),
}

impl Count {
    fn add(&mut self, row: &ControlResult) {
        match row.item.kind {
            Kind::Variant => {
                self.n_variants += 1;
                self.n_false_rejects += usize::from(row.end == End::FalseReject);
            }
            Kind::Control => {
                self.n_controls += 1;
                self.n_false_accepts += usize::from(row.end == End::FalseAccept);
                self.n_other_reason += usize::from(row.end == End::OtherReason);
                let Some(all) = row.all_inputs else { return };
                let normal = row.normal_inputs.unwrap_or(all);
                self.n_compared += 1;
                self.backendbench.0 += usize::from(all.backendbench);
                self.backendbench.1 += usize::from(normal.backendbench);
                self.kernelbench.0 += usize::from(all.kernelbench);
                self.kernelbench.1 += usize::from(normal.kernelbench);
            }
        }
    }
}

/// The outcomes of all items.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Report {
    /// All items.
    pub rows: Vec<ControlResult>,
}

impl Report {
    /// Returns the counts of all items.
    #[must_use]
    pub fn total(&self) -> Count {
        let mut total = Count::default();
        self.rows.iter().for_each(|row| total.add(row));
        total
    }

    #[must_use]
    pub fn by_family(&self) -> BTreeMap<&str, Count> {
        let mut families: BTreeMap<&str, Count> = BTreeMap::new();
        for row in &self.rows {
            families.entry(&row.item.family).or_default().add(row);
        }
        families
    }

    /// Counts the distinct pairs of a mechanism and a family.
    #[must_use]
    pub fn n_pairs(&self, kind: Kind) -> usize {
        let items = self.rows.iter().map(|row| &row.item).filter(|item| item.kind == kind);
        items.map(|item| (&item.mechanism, &item.family)).collect::<BTreeSet<_>>().len()
    }

    /// Returns the items of which the judge said something unexpected, known mistakes of the judge
    /// among them.
    pub fn surprises(&self) -> impl Iterator<Item = &ControlResult> {
        self.rows.iter().filter(|row| !matches!(row.end, End::Right | End::Unseen))
    }

    /// Returns whether nothing is unexpected but the known gaps.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.surprises().all(|row| row.item.open.is_some())
    }
}
