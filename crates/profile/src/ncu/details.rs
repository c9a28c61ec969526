//! The page `details`: advice of the tool's own rules.

use crate::{csv::Table, number::number};

/// Advice of a rule of Nsight Compute.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The kernel.
    pub kernel: String,
    /// The rule's name, for example `UncoalescedGlobalAccess`.
    pub rule: String,
    /// Its first sentence.
    pub text: String,
    /// By how much the launch would be faster at most, in percent, where the rule says so.
    pub speedup_percent: Option<f64>,
}

/// Reads advice of the rules, the most promising first; notes without advice are left out.
#[must_use]
pub fn advice(text: &str) -> Vec<Advice> {
    let Some(table) = Table::find(text, "ID") else { return Vec::new() };
    let column = |name| table.column(name);
    let (Some(rule), Some(kind), Some(description)) =
        (column("Rule Name"), column("Rule Type"), column("Rule Description"))
    else {
        return Vec::new();
    };
    let (kernel, speedup) = (column("Kernel Name"), column("Estimated Speedup"));
    let records = table.records().filter(|record| {
        record.get(rule).is_some_and(|name| !name.is_empty())
            && record.get(kind).is_some_and(|kind| kind == "OPT" || kind == "WRN")
    });
    let mut advice: Vec<Advice> = records
        .map(|record| Advice {
            kernel: kernel.and_then(|at| record.get(at)).cloned().unwrap_or_default(),
            rule: record[rule].clone(),
            text: first_sentence(record.get(description).map_or("", String::as_str)).to_owned(),
            speedup_percent: speedup.and_then(|at| number(record.get(at)?)),
        })
        .collect();
    let promise = |advice: &Advice| advice.speedup_percent.unwrap_or(0.0);
    advice.sort_by(|a, b| promise(b).total_cmp(&promise(a)));
    advice
}

fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}
