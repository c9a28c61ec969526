//! Collects findings: the first occurrence in full, the others as counts.

use crate::finding::{Finding, FindingKind, Severity};

/// The key that occurrences of one finding share: the kind and the lines (or program counters,
/// where there are no lines) of both places.
pub(super) type Key = (FindingKind, u32, u32);

/// The findings of a launch.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<(Key, Finding)>,
    limit: usize,
    /// Errors seen, kept or not.
    pub errors: u64,
}

impl Findings {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Counts another occurrence, by so many threads on these elements; false if it is the first.
    pub(super) fn again(&mut self, key: Key, n_threads: u64, elements: Option<(i64, i64)>) -> bool {
        let Some((_, finding)) = self.list.iter_mut().find(|(k, _)| *k == key) else {
            return false;
        };
        self.errors += u64::from(finding.severity == Severity::Error);
        finding.n_threads += n_threads;
        if let (Some((low, high)), Some(all)) = (elements, &mut finding.elements) {
            *all = (all.0.min(low), all.1.max(high));
        }
        true
    }

    /// Notes that a race whose first occurrence was within a warp is between warps, too: the remedy
    /// that would order its lanes is not enough.
    pub(super) fn widen(&mut self, key: Key) {
        if let Some((_, finding)) = self.list.iter_mut().find(|(k, _)| *k == key)
            && let Some(hint) = &mut finding.hint
            && hint.contains("__syncwarp()")
        {
            *hint = hint.replace("__syncwarp()", "__syncthreads()");
        }
    }

    /// Adds a first occurrence.
    pub(super) fn add(&mut self, key: Key, finding: Finding) {
        self.errors += u64::from(finding.severity == Severity::Error);
        if self.list.len() < self.limit {
            self.list.push((key, finding));
        }
    }

    /// Puts races before the undefined values they brought about: who reads too early finds bytes
    /// that nobody wrote yet.
    pub(super) fn causes_first(&mut self) {
        let races =
            |f: &Finding| matches!(f.kind, FindingKind::SharedRace | FindingKind::GlobalRace);
        let raced: Vec<_> = self
            .list
            .iter()
            .map(|(_, f)| f)
            .filter(|f| races(f))
            .map(|f| f.buffer.clone())
            .collect();
        let effect =
            |f: &Finding| f.kind == FindingKind::UninitialisedRead && raced.contains(&f.buffer);
        self.list.sort_by_key(|(_, f)| effect(f));
    }

    /// Whether no more can be kept.
    pub(super) fn full(&self) -> bool {
        self.list.len() >= self.limit
    }

    /// Adds the findings of another part of the launch, which comes after this one.
    pub(super) fn merge(&mut self, later: Self) {
        for (key, finding) in later.list {
            // Only the first number of a kind is of interest, wherever it arose.
            let number = |k: &Key| k.0 == FindingKind::NonFinite && k.2 == key.2;
            if key.0 == FindingKind::NonFinite && self.list.iter().any(|(k, _)| number(k)) {
                continue;
            }
            if !self.again(key, finding.n_threads, finding.elements) {
                self.add(key, finding);
            } else if finding.hint.is_some_and(|hint| hint.contains("__syncthreads()")) {
                self.widen(key);
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<Finding> {
        self.list.into_iter().map(|(_, finding)| finding).collect()
    }
}
